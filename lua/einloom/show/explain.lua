-- SPDX-License-Identifier: MIT
-- How the counts of one buffet come about: its tile, the loops that visit it and what each of them
-- does to the counts, and the product behind every count, checked against the count itself.

local arch_module = require "einloom.arch"
local case = require "einloom.case"
local core = require "einloom.core"
local layout = require "einloom.show.layout"
local nest_show = require "einloom.show.nest"
local result = require "einloom.result"

local explain = {}

local function is_loop(node) return node.kind == "temporal" or node.kind == "spatial" end

-- ---- how a loop acts on a tensor -----------------------------------------------------------

local function relevancy(definition, tensor, variable)
  for _, access in ipairs(definition.tensors) do
    for _, form in ipairs(access.tensor == tensor and access.affine or {}) do
      for _, term in ipairs(form.terms) do
        if term[1] == variable then
          return #form.terms == 1 and form.constant == 0 and "relevant" or "partially relevant"
        end
      end
    end
  end
  return "irrelevant"
end

local function may_reuse(view, node)
  local component
  for _, entry in ipairs(view.arch.nodes) do
    if entry.name == node.component then component = entry end
  end
  for _, dimension in ipairs(component.spatial) do
    if dimension.name == node.dim then
      local context = view.workload:context(view.einsum.name)
      return arch_module.reusable(dimension, context, node.component)[view.tensor] == true
    end
  end
  return false
end

-- Position in the nest of the holder (or compute node) of a level.
local function holder_position(nest, level)
  for i, node in ipairs(nest) do
    local stands = node.kind ~= "reservation" and not is_loop(node)
    if stands and node.component == level then return i end
  end
end

local function is_holder(node)
  return not is_loop(node) and node.kind ~= "reservation" and node.kind ~= "compute"
end

-- The loops above the holder, each with its relevancy and whether its units share an access.
local function loops_above(view)
  local loops, outermost = {}, true
  for i = view.position - 1, 1, -1 do
    local node = view.nest[i]
    if is_holder(node) then outermost = false end
    if is_loop(node) then
      local class = relevancy(view.definition, view.tensor, node.variable)
      local shared = node.kind == "spatial" and outermost and class == "irrelevant"
        and may_reuse(view, node)
      table.insert(loops, 1, { node = node, class = class, shared = shared })
    end
  end
  return loops
end

-- ---- products --------------------------------------------------------------------------------

local function product(first, loops, counts)
  local factors, values = { tostring(first) }, { first }
  for _, loop in ipairs(loops) do
    if counts(loop) then
      factors[#factors + 1] = ("(%s: %s)"):format(loop.node.variable, loop.node.trips)
      values[#values + 1] = loop.node.trips
    end
  end
  return table.concat(factors, " x "), core.product(values)
end

local function every() return true end
local function not_shared(loop) return not loop.shared end
local function first_touch(loop)
  if loop.node.kind == "spatial" then return not loop.shared end
  return loop.class == "relevant"
end

local function add(view, label, text)
  local out, margin = view.out, "  " .. label
  layout.row(out, margin, text, nil, view.column)
end

-- A count and the product behind it; where the count is something else the product is left out.
local function add_count(view, field, text, value)
  local count = view.buffet[field]
  if value == count then
    local same = text == tostring(count)
    add(view, field, same and text or ("%s = %s"):format(text, tostring(count)))
  else
    local why = view.patterned and "the first tile and the further ones counted apart" or
      "no plain product of tile and loops"
    add(view, field, ("%s, %s"):format(tostring(count), why))
  end
end

local function extents_at(view, position)
  local extents = {}
  for _, variable in ipairs(view.einsum:variables_of(view.tensor)) do
    extents[variable] = view.einsum:size(variable)
  end
  for i = 1, position do
    local node = view.nest[i]
    if node.variable and extents[node.variable] then extents[node.variable] = node.tile end
  end
  return extents
end

-- Values that go in or out with one visit.
local function fill_of(view)
  if view.nest[view.position].kind == "compute" then return core.int(1) end
  return view.einsum:values_in(view.tensor, extents_at(view, view.position))
end

local function traffic(view)
  local node = view.nest[view.position]
  if node.kind == "toll" then return end
  local fill = fill_of(view)
  local text, value = product(fill, view.loops, not_shared)
  if tostring(view.buffet.total_reads_to_parent) ~= "0" then
    add_count(view, "total_reads_to_parent", text, value)
  end
  if not view.is_output then return end
  if tostring(view.buffet.total_writes_to_parent) ~= "0" then
    add_count(view, "total_writes_to_parent", text, value)
  end
  if tostring(view.buffet.total_skipped_first_reads_to_parent) ~= "0" then
    local first, first_value = product(fill, view.loops, first_touch)
    add_count(view, "total_skipped_first_reads_to_parent", first, first_value)
  end
end

-- The buffet of the tensor next further in.
local function child_of(view)
  local child
  for i = view.position + 1, #view.nest do
    local node = view.nest[i]
    if not child and not is_loop(node) and node.kind ~= "reservation" then child = node end
  end
  return child and view.einsum.levels[child.component][view.tensor]
end

local function rate_text(count, values)
  local rate = count / values
  return rate:is_number() and rate or nil
end

-- An action count as (values of the one kind + values of the other) x actions per value.
local function add_actions(view, field, parts)
  local values, texts = {}, {}
  for _, part in ipairs(parts) do
    if tostring(part[2]) ~= "0" then
      values[#values + 1] = part[2]
      texts[#texts + 1] = ("%s values %s"):format(tostring(part[2]), part[1])
    end
  end
  local count = view.buffet[field]
  if tostring(count) == "0" then return end
  local rate = #values > 0 and rate_text(count, core.sum(values))
  if not rate then return add(view, field, tostring(count)) end
  add(view, field, ("(%s) x %s a value = %s"):format(table.concat(texts, " + "), tostring(rate),
    tostring(count)))
end

local function actions(view)
  local child = child_of(view)
  if not child then return end
  local zero = core.int(0)
  local _, moved = product(fill_of(view), view.loops, every)
  local up = view.parent and view.is_output and moved or zero
  local down = view.parent and tostring(view.buffet.total_reads_to_parent) ~= "0" and moved or zero
  add_actions(view, "total_read_actions", {
    { "read by " .. child.level, child.total_reads_to_parent },
    { "sent to " .. tostring(view.parent), up },
  })
  add_actions(view, "total_write_actions", {
    { "filled from " .. tostring(view.parent), down },
    { "written by " .. child.level, child.total_writes_to_parent },
  })
  for _, name in ipairs { "read", "write" } do
    local field = ("total_skipped_first_%s_actions"):format(name)
    local count = tostring(view.buffet[field])
    if count ~= "0" then add(view, field, count .. ", need not be done") end
  end
end

-- A copy has one count a level, merged over its tensors.
local function copy_counts(view)
  add(view, "a copy", "zero if it is zero for either tensor here, else the smaller of the two")
  for _, field in ipairs(result.fields) do
    local count = view.buffet[field]
    if core.is_expr(count) and tostring(count) ~= "0" and field ~= "max_occupancy" then
      add(view, field, tostring(count))
    end
  end
end

-- ---- the text ----------------------------------------------------------------------------------

local function effect(view, loop)
  local node = loop.node
  local what = ("%s to %s"):format(loop.class, view.tensor)
  if loop.shared then return what .. ", one access serves all units" end
  if tostring(node.trips) == "1" then return what .. ", one trip" end
  return ("%s, x %s"):format(what, tostring(node.trips))
end

local function add_nest(view)
  view.out[#view.out + 1] = ("nest of %s"):format(view.tensor)
  local by_node = {}
  for _, loop in ipairs(view.loops) do by_node[loop.node] = loop end
  local depth = 0
  for i, node in ipairs(view.nest) do
    local text = is_loop(node) and nest_show.loop_text(node) or case.nest_text({ node })[1]
    local note = by_node[node] and effect(view, by_node[node])
    if i == view.position then note = "here" end
    if node.kind == "reservation" and node.component == view.level then note = "its tile" end
    layout.row(view.out, "  " .. ("  "):rep(depth) .. text, note or "", nil,
      math.max(view.column, 2 * depth + #text + 4))
    if is_loop(node) then depth = depth + 1 end
  end
end

local function add_path(view)
  view.out[#view.out + 1] = "path with reservations"
  local text = table.concat(case.nest_text(view.einsum:path()), "; ")
  for _, line in ipairs(layout.wrap(text, layout.width - 2)) do
    view.out[#view.out + 1] = "  " .. line
  end
end

local function add_tile(view)
  local buffet = view.buffet
  local names = view.einsum:variables_of(view.tensor)
  add(view, "tile", layout.assignments(names, buffet.tile))
  local bits = buffet.occupancy / buffet.values
  local node = view.nest[view.position or 0]
  if node and node.kind ~= "compute" and bits:is_number() then
    add(view, "max_occupancy", ("%s values x %s bits = %s bits"):format(tostring(buffet.values),
      tostring(bits), tostring(buffet.occupancy)))
  end
  add(view, "n_loops_above", tostring(buffet.n_loops_above))
end

local function add_point(view, at)
  local point = result.formulas(result.einsum_of(at))
  if not point then return end
  local names = {}
  for name in pairs(point) do names[#names + 1] = name end
  table.sort(names)
  for i, line in ipairs(layout.wrap(layout.assignments(names, point), layout.width - 4)) do
    view.out[#view.out + 1] = (i == 1 and "at " or "   ") .. line
  end
  for _, field in ipairs(result.fields) do
    local formula, number = view.buffet[field], at[field]
    if core.is_expr(formula) and formula ~= number then add(view, field, layout.value(number)) end
  end
end

local function view_of(buffet)
  local einsum = result.einsum_of(buffet)
  local _, formulas = result.formulas(einsum)
  local view = {
    out = {}, einsum = formulas, tensor = buffet.tensor, level = buffet.level, column = 40,
    buffet = formulas.levels[buffet.level][buffet.tensor],
    definition = formulas:definition(), nest = formulas:nest(buffet.tensor),
    is_output = formulas:is_output(buffet.tensor),
  }
  view.workload, view.arch = result.context_of(einsum)
  view.position = holder_position(view.nest, view.level)
  view.parent = nest_show.parent_of(formulas, view.buffet)
  for _, node in ipairs(view.nest) do view.patterned = view.patterned or node.first ~= nil end
  view.loops = view.definition.is_copy and {} or loops_above(view)
  return view
end

local function buffet_of(what)
  if result.is_buffet(what) then return what end
  local buffet, field = result.origin(what)
  if buffet then return buffet, field end
  error("explain takes a buffet (r.GLB.A) or a field read from one (r.GLB.A.reads_to_parent)", 3)
end

--- How the counts of a buffet come about, as text. A field just read from a buffet stands for it.
---@param what einloom.Buffet|userdata
---@return string
function explain.explain(what)
  local buffet, field = buffet_of(what)
  local view = view_of(buffet)
  local title = ("%s in %s, einsum %s"):format(view.tensor, view.level, view.einsum.name)
  if field then title = ("%s: %s = %s"):format(title, field, tostring(what)) end
  view.out[1] = title
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

return explain
