-- SPDX-License-Identifier: MIT
-- Kernels that are launched at once: which independent ones are put together, and which block of
-- points runs which of them.

local core = require "einloom.core"
local errors = require "einloom.errors"

local launches = {}

local KIND = "bad_plan"

--- Points of the grid in a block, unless another number is asked for.
launches.block = 256

-- ---- which kernels ---------------------------------------------------------------------------

-- How many steps in a row lead to each launch: those of one step do not need each other.
local function levels_of(graph, units)
  local unit_of, levels, needs = {}, {}, {}
  for _, op in ipairs(graph.core:ops()) do needs[op.name] = op.needs end
  for i, unit in ipairs(units) do
    for _, group in ipairs(unit) do
      for _, name in ipairs(group.ops) do unit_of[name] = i end
    end
  end
  for i, unit in ipairs(units) do
    levels[i] = 1
    for _, group in ipairs(unit) do
      for _, name in ipairs(group.ops) do
        for _, need in ipairs(needs[name]) do
          local other = unit_of[need]
          if other ~= i then levels[i] = math.max(levels[i], levels[other] + 1) end
        end
      end
    end
  end
  return levels
end

-- Groups in the units in which they are launched as fused.
local function units_of(groups)
  local units, last = {}, nil
  for _, group in ipairs(groups) do
    if last and group.launch and group.launch == last then
      local unit = units[#units]
      unit[#unit + 1] = group
    else
      units[#units + 1] = { group }
    end
    last = group.launch
  end
  return units
end

local function buffers_of(graph, group)
  local seen, n = {}, 0
  for _, name in ipairs(group.ops) do
    local node = graph:node(name)
    for _, list in ipairs { node.reads, node.writes } do
      for _, use in ipairs(list) do
        n = n + (seen[use.tensor] and 0 or 1)
        seen[use.tensor] = true
      end
    end
  end
  return n
end

-- Units of one kernel with loops, put together by the core.
local function combined(graph, units, how)
  local kernels = {}
  for i, unit in ipairs(units) do
    local group = unit[1]
    kernels[i] = {
      tiling = group.tiling, reduction = core.int(1):eq(group.extents[2]) ~= true,
      reduction_extent = group.extents[2], accesses = buffers_of(graph, group),
    }
  end
  local groups, message, kind = core.combine(kernels, how)
  if not groups then errors.raise(kind or KIND, message) end
  local found = {}
  for _, group in ipairs(groups) do
    local unit = {}
    for k, place in ipairs(group) do unit[k] = units[place][1] end
    if #unit > 0 then found[#found + 1] = unit end
  end
  return found
end

-- Whether the core may put the unit together with others: it is one kernel with loops, and more
-- than three tiles are launched with others only if they may be mixed.
local function is_free(unit, how)
  local tiling = #unit == 1 and unit[1].tiling
  local mixed = how.mixed == 2 or how.mixed == 1 and how.size_aware
  return tiling and (mixed or #tiling <= 3)
end

--- Puts independent kernels together: the groups in an order in which they may run, each with the
--- number of its launch if others are launched with it. Lists stay as they are.
---@param graph einloom.Graph
---@param groups { ops: string[], extents: any[], tiling?: any, launch?: integer }[]
---@param how? { size_aware?: boolean, mixed?: integer } without it only lists are launched at once
---@return table[] groups
function launches.arrange(graph, groups, how)
  local units = units_of(groups)
  if how then
    local levels, by_level, arranged = levels_of(graph, units), {}, {}
    for i, unit in ipairs(units) do
      local level = by_level[levels[i]] or { free = {}, fixed = {} }
      by_level[levels[i]] = level
      local list = is_free(unit, how) and level.free or level.fixed
      list[#list + 1] = unit
    end
    for _, level in ipairs(by_level) do
      table.move(level.fixed, 1, #level.fixed, #arranged + 1, arranged)
      local free = combined(graph, level.free, how)
      table.move(free, 1, #free, #arranged + 1, arranged)
    end
    units = arranged
  end
  local list, number = {}, 0
  for _, unit in ipairs(units) do
    if #unit > 1 then number = number + 1 end
    for _, group in ipairs(unit) do
      group.launch = #unit > 1 and number or nil
      list[#list + 1] = group
    end
  end
  return list
end

-- ---- which blocks ----------------------------------------------------------------------------

local function points_of(made)
  local points = core.int(1)
  for _, tree in ipairs(made.grid) do points = points * tree.extent end
  return points
end

--- The launches of kernels in order: of kernels launched at once the blocks of the first run first,
--- then those of the second. masked: the last block of a kernel may have less points than the
--- others; not where all kernels have the same extents, which the blocks divide.
---@param programs einloom.Program[]
---@param block? integer points in a block
---@return { block: integer, masked: boolean, parts: { kernel: integer, points: einloom.Expr }[] }[]
function launches.of(programs, block)
  local size = block or launches.block
  if math.type(size) ~= "integer" or size < 1 then
    errors.raise(KIND, ("block: a number of points expected, got %s"):format(tostring(size)))
  end
  local list, number = {}, nil
  for i, made in ipairs(programs) do
    local part = { kernel = i, points = points_of(made) }
    if number and made.facts.launch == number then
      local launch = list[#list]
      launch.parts[#launch.parts + 1] = part
    else
      list[#list + 1] = { block = size, parts = { part } }
    end
    number = made.facts.launch
  end
  for _, launch in ipairs(list) do
    local first = launch.parts[1].points
    launch.masked = (first % size):eq(0) ~= true
    for _, part in ipairs(launch.parts) do
      launch.masked = launch.masked or part.points:eq(first) ~= true
    end
  end
  return list
end

return launches
