-- SPDX-License-Identifier: MIT
-- The annotated loop nest: the path of each einsum as in the mapping text and, where a tile is
-- reserved, its extents, its occupancy and its reads and writes, as formulas and at a point.

local arch_module = require "einloom.arch"
local buffets = require "einloom.result.buffet"
local conventions = require "einloom.conventions"
local core = require "einloom.core"
local layout = require "einloom.show.layout"
local loops = require "einloom.show.loops"
local result = require "einloom.result"

local nest = {}

local label_width = 8

local function is_loop(node) return node.kind == "temporal" or node.kind == "spatial" end

--- A loop as in the mapping text.
nest.loop_text = loops.loop

-- ---- sections: what stands between two loops -----------------------------------------------

-- Holders of one component in a row, and the reservations that follow in the section.
local function new_section() return { groups = {}, by_component = {}, late = {} } end

local function add_holder(section, node)
  local last = section.groups[#section.groups]
  if not last or last.component ~= node.component or last.kind ~= node.kind
    or last.lifetime ~= node.lifetime then
    last = { component = node.component, kind = node.kind, custom = node.custom, tensors = {},
      lifetime = node.lifetime }
    section.groups[#section.groups + 1] = last
  end
  last.tensors[#last.tensors + 1] = node
  section.by_component[node.component .. "\0" .. node.tensor] = node
end

local function add_reservation(section, node)
  local holder = section.by_component[node.component .. "\0" .. node.tensor]
  if holder then
    holder.reserved = true
  else
    section.late[#section.late + 1] = node
  end
end

-- ---- blocks: one reserved tile ---------------------------------------------------------------

local count = layout.count

local function tile_text(einsum, buffet)
  return layout.assignments(einsum:variables_of(buffet.tensor), buffet.tile)
end

local function holds_text(buffet)
  return ("%s, %s"):format(count(buffet.occupancy, "bits"), count(buffet.values, "values"))
end

local function is_shared(workload, tensor)
  local users = 0
  for _, einsum in ipairs(workload.einsums) do
    for _, access in ipairs(einsum.tensors) do
      if access.tensor == tensor then users = users + 1 end
    end
  end
  return users > 1
end

-- Whether it is worth telling what must be there at least: in a memory of limited size, of a tensor
-- that no other einsum waits for.
local function tells_live(einsum, buffet)
  local workload, arch = result.context_of(einsum)
  if is_shared(workload, buffet.tensor) then return false end
  local live, size = buffets.live_of(buffet), arch:component(buffet.level).size
  return live and live:is_number() and live ~= buffet.occupancy and size and size ~= math.huge
end

local function is_zero(value) return tostring(value) == "0" end

local function passes_through(einsum, buffet)
  for _, node in ipairs(einsum:path()) do
    if node.kind == "toll" and node.component == buffet.level then return true end
  end
  return false
end

-- The rows of a buffet: label and a function from the buffet to its text.
local function rows_of(einsum, buffet)
  local rows = { { "tile", tile_text } }
  local toll = passes_through(einsum, buffet)
  if not toll then rows[2] = { "holds", function(_, b) return holds_text(b) end } end
  if not toll and tells_live(einsum, buffet) then
    rows[3] = { "at least", function(_, b) return count(buffets.live_of(b), "bits") .. " live" end }
  end
  local function add(label, values)
    if not is_zero(values(buffet)) then
      rows[#rows + 1] = { label, function(_, b) return count(values(b), "values") end }
    end
  end
  if buffet.persistent then rows[#rows + 1] = { "stays", function() return "persistent" end } end
  local parent = nest.parent_of(einsum, buffet)
  if parent then
    add("from " .. parent, function(b)
      return b.total_reads_to_parent - b.total_skipped_first_reads_to_parent
    end)
    add("to " .. parent, function(b) return b.total_writes_to_parent end)
  end
  rows[#rows + 1] = { "reads", function(_, b) return count(b.reads, "actions") end }
  if not toll then
    rows[#rows + 1] = { "writes", function(_, b) return count(b.writes, "actions") end }
  end
  return rows
end

--- The component that holds a tensor next further out, or nil for the outermost.
---@param einsum einloom.EinsumResult
---@param buffet einloom.Buffet
---@return string?
function nest.parent_of(einsum, buffet)
  local parent
  for _, node in ipairs(einsum:path()) do
    local holds = node.tensor == buffet.tensor and node.kind ~= "reservation"
    if holds and node.component == buffet.level then return parent end
    if holds then parent = node.component end
  end
  return parent
end

-- The tensor under whose name a tensor is counted: in a copy all are counted as the source.
local function counted_as(einsum, tensor)
  local definition = einsum:definition()
  for _, access in ipairs(definition.is_copy and definition.tensors or {}) do
    if not access.output then return access.tensor end
  end
  return tensor
end

local function block(view, margin, tensor, level)
  local name = counted_as(view.einsum, tensor)
  if name ~= tensor then
    view.out[#view.out + 1] = ("%s| %s is counted with %s"):format(margin, tensor, name)
    return
  end
  local buffet = view.einsum.levels[level][tensor]
  local there = view.there and view.there.levels[level][tensor]
  for i, row in ipairs(rows_of(view.einsum, buffet)) do
    local formula = row[2](view.einsum, buffet)
    local number = there and row[2](view.there, there)
    local shown = i == 1 and tensor or ""
    local text = ("%s| %-" .. view.name_width .. "s %s"):format(margin, shown, row[1])
    local right = number and number ~= formula and "= " .. number or nil
    layout.row(view.out, text, formula, right, view.column, view.second)
  end
end

local function group_line(group)
  local names = {}
  for i, node in ipairs(group.tensors) do names[i] = node.tensor end
  local word = group.kind == "toll" and "toll " or group.custom and group.custom .. " " or ""
  local kept = group.lifetime == "retain" and " (retain)" or ""
  return ("%s%s: %s%s"):format(word, group.component, table.concat(names, " "), kept)
end

local function print_section(view, section, margin)
  for _, node in ipairs(section.late) do block(view, margin, node.tensor, node.component) end
  for _, group in ipairs(section.groups) do
    view.out[#view.out + 1] = margin .. group_line(group)
    for _, node in ipairs(group.tensors) do
      if node.reserved then
        block(view, margin, node.tensor, node.component)
      else
        view.out[#view.out + 1] = ("%s| %s is reserved further in"):format(margin, node.tensor)
      end
    end
  end
end

-- ---- the nest ------------------------------------------------------------------------------

-- How often a loop runs; where that differs between the tiles around it, at most.
local function trips_text(node, unit, extent)
  if node.trips then return count(node.trips, unit) end
  if node.step or node.first then return unit .. " by tile" end
  return "up to " .. count(core.ceil(extent / node.tile), unit)
end

-- What the loop leaves of the arrays' networks unused for some tensors, as text.
local function network_text(view, node)
  if node.kind ~= "spatial" then return "" end
  local workload, arch = result.context_of(view.einsum)
  local apart = {}
  for _, dimension in ipairs(arch:component(node.component).spatial) do
    if dimension.name == node.dim and dimension.may_reuse ~= "all" then
      local shared = arch_module.reusable(dimension, workload:context(view.einsum.name),
        node.component)
      for _, tensor in ipairs(view.einsum:tensors()) do
        if not shared[tensor] then apart[#apart + 1] = tensor end
      end
    end
  end
  return #apart > 0 and ", apart for " .. table.concat(apart, " ") or ""
end

-- The loops of an einsum by their place in its path, each with the extent around it.
local function extents_around(einsum, path)
  local around, extents = {}, {}
  for i, node in ipairs(path) do
    if node.variable then
      around[i] = extents[node.variable] or einsum:size(node.variable)
      extents[node.variable] = node.tile
    end
  end
  return around
end

-- A loop in its place, of formulas and, at a point, of numbers: {node =, extent = around it}.
local function loop_line(view, here, there, margin)
  local node = here.node
  local unit = node.kind == "spatial" and "units" or "trips"
  local formula = trips_text(node, unit, here.extent)
  local number = there and trips_text(there.node, unit, there.extent)
  local right = number and number ~= formula and "= " .. number or nil
  local trips = formula .. (node.fused and ", fused" or "") .. network_text(view, node)
  layout.row(view.out, margin .. nest.loop_text(node), trips, right, view.column, view.second)
end

local function print_path(view)
  local section, depth = new_section(), 0
  local path, there = view.einsum:path(), view.there and view.there:path()
  local around = extents_around(view.einsum, path)
  local around_there = there and extents_around(view.there, there)
  for i, node in ipairs(path) do
    local margin = ("  "):rep(depth)
    if is_loop(node) then
      print_section(view, section, margin)
      section = new_section()
      loop_line(view, { node = node, extent = around[i] },
        there and { node = there[i], extent = around_there[i] }, margin)
      depth = depth + 1
    elseif node.kind == "reservation" then
      add_reservation(section, node)
    elseif node.kind == "compute" then
      print_section(view, section, margin)
      nest.compute_lines(view, node, margin)
    else
      add_holder(section, node)
    end
  end
end

local compute_rows = {
  { "does", "ops", "operations" },
  { "a unit", "max_per_unit", "operations" },
  { "takes", "latency", "steps" },
}

--- The compute line with operations and steps.
function nest.compute_lines(view, node, margin)
  view.out[#view.out + 1] = ("%s%s"):format(margin, node.component)
  local here, there = view.einsum.compute, view.there and view.there.compute
  for _, row in ipairs(compute_rows) do
    local unit, label = row[3], ("%s| %s"):format(margin, row[1])
    local formula = count(here[row[2]], unit)
    local number = there and count(there[row[2]], unit)
    local right = number and number ~= formula and "= " .. number or nil
    layout.row(view.out, label, formula, right, view.column, view.second)
  end
end

local function sizes_text(einsum, definition)
  local names, values = {}, {}
  for i, variable in ipairs(definition.variables) do
    names[i], values[variable] = variable, einsum:size(variable)
  end
  return layout.assignments(names, values)
end

local function point_text(point)
  local names = {}
  for name in pairs(point) do names[#names + 1] = name end
  table.sort(names)
  return layout.assignments(names, point)
end

local function header(view, definition, point)
  local out = view.out
  for i, part in ipairs(layout.wrap(definition.text, layout.width - 4)) do
    out[#out + 1] = (i > 1 and "    " or "") .. part
  end
  local facts = sizes_text(view.einsum, definition)
  local counted = conventions.text(result.conventions_of(view.einsum))
  facts = facts .. "; " .. counted
  if point and next(point) then facts = facts .. "; at " .. point_text(point) end
  for _, part in ipairs(layout.wrap(facts, layout.width - 2)) do out[#out + 1] = "  " .. part end
end

-- Where the columns begin: after the longest label at the deepest place it stands at.
local function measure(view)
  local widest, depth = 1, 0
  for _, node in ipairs(view.einsum:path()) do
    if node.tensor then widest = math.max(widest, #node.tensor) end
    if is_loop(node) then
      view.column = math.max(view.column, 2 * depth + #nest.loop_text(node) + 2)
      depth = depth + 1
    elseif node.component then
      local label = math.max(label_width, #node.component + 5)
      view.column = math.max(view.column, 2 * depth + 2 + widest + 1 + label + 2)
    end
  end
  view.name_width = widest
  view.column = math.min(view.column, 44)
  view.second = math.max(view.column + 26, 72)
end

--- The annotated nest of one einsum of a result; at a point, formulas and numbers.
---@param einsum einloom.EinsumResult
---@return string
function nest.einsum(einsum)
  local point, formulas = result.formulas(einsum)
  local view = { out = {}, einsum = formulas, there = point and einsum or nil, column = 0 }
  measure(view)
  header(view, formulas:definition(), point)
  print_path(view)
  for _, note in ipairs(einsum:notes()) do
    for i, part in ipairs(layout.wrap("note: " .. note, layout.width - 6)) do
      view.out[#view.out + 1] = (i > 1 and "      " or "") .. part
    end
  end
  return table.concat(view.out, "\n")
end

--- The annotated nests of all einsums.
---@param r einloom.Result
---@return string
function nest.result(r)
  local parts = {}
  for _, einsum in ipairs(r.einsums) do parts[#parts + 1] = nest.einsum(einsum) end
  return table.concat(parts, "\n\n")
end

return nest
