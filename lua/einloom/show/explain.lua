-- SPDX-License-Identifier: MIT
-- How the counts of one buffet come about, as text: its tile, what each loop above does to the
-- counts, and the product behind every count. A product is shown only if it is the count.

local buffets = require "einloom.result.buffet"
local case = require "einloom.case"
local conventions = require "einloom.conventions"
local core = require "einloom.core"
local counts = require "einloom.show.counts"
local layout = require "einloom.show.layout"
local nest_show = require "einloom.show.nest"
local origins = require "einloom.result.origins"
local result = require "einloom.result"

local explain = {}

local column = 40

local function add(view, label, text) layout.row(view.out, "  " .. label, text, nil, column) end

local function is_zero(value) return tostring(value) == "0" end
local function equal(a, b) return a == b or is_zero((a - b):expand()) end

-- A count that is no product of what is known here: said so, never explained wrongly.
local function add_plain(view, field)
  local why = view.patterned and "the first tile and the further ones counted apart" or
    view.exact and "what is clipped, shared or retained counted apart" or
    "no plain product of tile and loops"
  add(view, field, ("%s, %s"):format(tostring(view.buffet[field]), why))
end

local function add_product(view, field, text, value)
  local count = view.buffet[field]
  if is_zero(count) then return end
  if not value or not equal(value, count) then return add_plain(view, field) end
  local shown = tostring(count)
  local same = text:match "^%S+" == shown and not text:find(" x ", 1, true)
  add(view, field, same and text or ("%s = %s"):format(text, shown))
end

-- ---- traffic -----------------------------------------------------------------------------------

-- A toll passes on what the next inner level asks for and sends.
local function passed_on(view)
  local child = counts.child(view)
  for _, field in ipairs {
    "total_reads_to_parent", "total_writes_to_parent", "total_skipped_first_reads_to_parent",
  } do
    local count, inner = view.buffet[field], child[field]
    if not is_zero(count) then
      local how = inner == count and "" or (" (%s), shared by units"):format(tostring(inner))
      add(view, field, ("%s, passed on from %s%s"):format(tostring(count), child.level, how))
    end
  end
end

-- Tiles that are clipped add up to the whole: each value once, for each iteration of the loops that
-- do not index the tensor.
local function exact_traffic(view)
  local whole, again = counts.whole(view), counts.again(view)
  local text, value = counts.product(whole, again, counts.every)
  text = text and ("%s values of the tensor%s"):format(whole, text:match "^%S+(.*)$")
  for _, field in ipairs { "total_reads_to_parent", "total_writes_to_parent" } do
    add_product(view, field, text, value)
  end
  add_product(view, "total_skipped_first_reads_to_parent",
    ("%s values of the tensor"):format(whole), whole)
end

local function traffic(view)
  if view.nest[view.position].kind == "toll" then return passed_on(view) end
  if view.exact then return exact_traffic(view) end
  local fill = counts.fill(view)
  local text, value = counts.product(fill, view.loops, counts.not_shared)
  add_product(view, "total_reads_to_parent", text, value)
  add_product(view, "total_writes_to_parent", text, value)
  text, value = counts.product(fill, view.loops, counts.first_touch)
  add_product(view, "total_skipped_first_reads_to_parent", text, value)
end

-- ---- actions -----------------------------------------------------------------------------------

-- An action count as (values of one kind + values of another) x actions a value.
local function add_actions(view, field, rate, parts)
  local count = view.buffet[field]
  if is_zero(count) then return end
  local values, texts = {}, {}
  for _, part in ipairs(parts) do
    if part and not is_zero(part[2]) then
      values[#values + 1] = part[2]
      texts[#texts + 1] = ("%s %s"):format(layout.count(part[2], "values"), part[1])
    end
  end
  if not equal(core.sum(values) * rate, count) then return add_plain(view, field) end
  add(view, field, ("(%s) x %s a value = %s"):format(table.concat(texts, " + "), tostring(rate),
    tostring(count)))
end

local function toll_actions(view, child)
  local direction = counts.direction(view)
  add_actions(view, "total_read_actions", counts.rate(view, "read"), {
    direction ~= "up" and { "down to " .. child.level, child.total_reads_to_parent },
    direction ~= "down" and { "up from " .. child.level, child.total_writes_to_parent },
  })
end

-- Values that come to all units from above, and that are read to go there.
local function moved_values(view)
  if not view.exact then
    local _, moved = counts.product(counts.fill(view), view.loops, counts.every)
    return moved, moved
  end
  local counted = result.conventions_of(view.einsum).drain_reads
  return view.buffet.total_deliveries, counted and view.buffet.total_drains or core.int(0)
end

local function memory_actions(view, child)
  local filled, drained = moved_values(view)
  local from_above = not is_zero(view.buffet.total_reads_to_parent)
  local sent = not is_zero(view.buffet.total_writes_to_parent)
  add_actions(view, "total_read_actions", counts.rate(view, "read"), {
    { "read by " .. child.level, child.total_reads_to_parent },
    sent and { "sent to " .. view.parent, drained },
  })
  add_actions(view, "total_write_actions", counts.rate(view, "write"), {
    from_above and { "filled from " .. view.parent, filled },
    { "written by " .. child.level, child.total_writes_to_parent },
  })
end

local function actions(view)
  local child = counts.child(view)
  if not child then return end
  local kind = view.nest[view.position].kind
  if kind == "toll" then toll_actions(view, child) else memory_actions(view, child) end
  for _, name in ipairs { "read", "write" } do
    local field = ("total_skipped_first_%s_actions"):format(name)
    local count = view.buffet[field]
    if not is_zero(count) then add(view, field, tostring(count) .. ", need not be done") end
  end
end

-- A copy has one count a level, merged over its tensors.
local function copy_counts(view)
  add(view, "a copy", "zero if it is zero for either tensor here, else the smaller of the two")
  for _, field in ipairs(buffets.fields) do
    local count = view.buffet[field]
    if core.is_expr(count) and not is_zero(count) and field ~= "max_occupancy" then
      add(view, field, tostring(count))
    end
  end
end

-- ---- the text ----------------------------------------------------------------------------------

local function effect(view, loop)
  local trips = loop.node.trips and tostring(loop.node.trips) or "trips by tile"
  local what = ("%s to %s"):format(loop.class, view.tensor)
  if loop.shared then return what .. ", one access serves all units" end
  if trips == "1" then return what .. ", one trip" end
  return ("%s, x %s"):format(what, trips)
end

local function add_nest(view)
  view.out[#view.out + 1] = ("nest of %s"):format(view.tensor)
  local notes, depth = {}, 0
  for _, loop in ipairs(view.loops) do notes[loop.node] = effect(view, loop) end
  for i, node in ipairs(view.nest) do
    local loop = counts.is_loop(node)
    local text = ("  "):rep(depth + 1) ..
      (loop and nest_show.loop_text(node) or case.nest_text({ node })[1])
    local note = i == view.position and "here" or notes[node]
    if node.kind == "reservation" and node.component == view.level then note = "its tile" end
    layout.row(view.out, text, note or "", nil, math.max(column, #text + 2))
    if loop then depth = depth + 1 end
  end
end

local function add_wrapped(view, first, text)
  for i, line in ipairs(layout.wrap(text, layout.width - #first)) do
    view.out[#view.out + 1] = (i == 1 and first or (" "):rep(#first)) .. line
  end
end

local function add_path(view)
  view.out[#view.out + 1] = "path with reservations"
  add_wrapped(view, "  ", table.concat(case.nest_text(view.einsum:path()), "; "))
end

local function add_tile(view)
  local buffet = view.buffet
  add(view, "tile", layout.assignments(view.einsum:variables_of(view.tensor), buffet.tile))
  local node, bits = view.nest[view.position or 0], buffet.occupancy / buffet.values
  if is_zero(bits) then
    add(view, "max_occupancy", "0, passes through")
  elseif node and node.kind ~= "compute" and bits:is_number() then
    add(view, "max_occupancy", ("%s x %s = %s"):format(layout.count(buffet.values, "values"),
      layout.count(bits, "bits"), layout.count(buffet.occupancy, "bits")))
  end
  add(view, "n_loops_above", tostring(buffet.n_loops_above))
end

local function add_point(view, at)
  local point = result.formulas(buffets.einsum_of(at))
  if not point then return end
  local names = {}
  for name in pairs(point) do names[#names + 1] = name end
  table.sort(names)
  add_wrapped(view, "at ", layout.assignments(names, point))
  for _, field in ipairs(buffets.fields) do
    local formula, number = view.buffet[field], at[field]
    if core.is_expr(formula) and formula ~= number then add(view, field, layout.value(number)) end
  end
end

-- ---- what is asked for --------------------------------------------------------------------------

local function explain_buffet(buffet, fields, value)
  local view = counts.view(buffet)
  local title = ("%s in %s, einsum %s"):format(view.tensor, view.level, view.einsum.name)
  if fields then title = ("%s: %s = %s"):format(title, table.concat(fields, ", "), value) end
  local said = conventions.text(result.conventions_of(view.einsum))
  title = ("%s; %s"):format(title, said)
  view.out = { title }
  add_tile(view)
  if view.definition.is_copy then
    copy_counts(view)
  else
    traffic(view)
    actions(view)
  end
  add_nest(view)
  add_path(view)
  add_point(view, buffet)
  return table.concat(view.out, "\n")
end

-- Which loops of the path make a number that belongs to no buffet.
local function loops_of(field)
  if field == "compute.total_ops" then return counts.is_loop end
  local component, dim = field:match "^fanout%.(.+)%.([^.]+)$"
  if not component then return function(node) return node.kind == "temporal" end end
  return function(node)
    return node.kind == "spatial" and node.component == component and node.dim == dim
  end
end

-- The variables of an einsum as loops over all of each.
local function whole_variables(einsum)
  local list = {}
  for i, variable in ipairs(einsum:definition().variables) do
    list[i] = { node = { variable = variable, trips = einsum:size(variable) } }
  end
  return list
end

local function explain_einsum(einsum, field, value)
  local view = { out = { ("einsum %s: %s = %s"):format(einsum.name, field, value) } }
  local counted, chosen, depth = loops_of(field), {}, 0
  local lines = {}
  for _, node in ipairs(einsum:path()) do
    if counts.is_loop(node) then
      if counted(node) and node.trips then chosen[#chosen + 1] = { node = node } end
      local note = counted(node) and (node.trips and "x " .. tostring(node.trips)
        or "x trips by tile") or ""
      local text = ("  "):rep(depth + 1) .. nest_show.loop_text(node)
      layout.row(lines, text, note, nil, math.max(column, #text + 2))
      depth = depth + 1
    end
  end
  local text, product = counts.product(core.int(1), chosen, counts.every)
  if field == "compute.total_ops" and not equal(product, value) then
    text, product = counts.product(core.int(1), whole_variables(einsum), counts.every)
  end
  local shown = equal(product, value) and ("%s = %s"):format(text, value)
    or ("%s, no plain product of loops"):format(value)
  add(view, field, shown)
  view.out[#view.out + 1] = "loops"
  table.move(lines, 1, #lines, #view.out + 1, view.out)
  return table.concat(view.out, "\n")
end

-- Origins with the same buffet together: list of {owner =, fields =}.
local function by_owner(read)
  local list, found = {}, {}
  for _, origin in ipairs(read) do
    local owner = origin.owner
    local key = buffets.is(owner) and owner or origin
    if not found[key] then
      found[key] = { owner = owner, fields = {} }
      list[#list + 1] = found[key]
    end
    table.insert(found[key].fields, 1, origin.field)
  end
  return list
end

local shown_at_most = 3

-- A value says nothing of where it is from: all fields that were read with it are explained.
local function explain_value(value)
  local list, texts = by_owner(origins.of(value)), {}
  for i, entry in ipairs(list) do
    if i <= shown_at_most then
      texts[i] = buffets.is(entry.owner)
        and explain_buffet(entry.owner, entry.fields, tostring(value))
        or explain_einsum(entry.owner, entry.fields[1], value)
    end
  end
  if #list > shown_at_most then
    texts[#texts + 1] = ("%s was read from more places; loom.explain(buffet, field) explains one")
      :format(value)
  end
  return table.concat(texts, "\n\n")
end

local function read_field(buffet, field)
  local value = buffet[field]
  if not core.is_expr(value) then error(("%s is no count"):format(field), 0) end
  return value
end

--- How the counts of a buffet come about, as text: of all its fields, or of one. A number read from
--- a result stands for the fields that it was read from.
---@param what einloom.Buffet|userdata
---@param field? string of the buffet
---@return string
function explain.explain(what, field)
  if buffets.is(what) then
    if field == nil then return origins.quietly(explain_buffet, what) end
    local ok, value = pcall(origins.quietly, read_field, what, field)
    if not ok then error((tostring(value):gsub("^[^\n]-:%d+: ", "")), 2) end
    local fields = { buffets.short_names[field] or field }
    return origins.quietly(explain_buffet, what, fields, tostring(value))
  end
  if #origins.of(what) == 0 then
    error("explain takes a buffet (r.GLB.A), with the name of a field or without, or a number " ..
      "read from a result (r.GLB.A.reads_to_parent)", 2)
  end
  return origins.quietly(explain_value, what)
end

return explain
