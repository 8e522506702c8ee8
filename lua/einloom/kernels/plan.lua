-- SPDX-License-Identifier: MIT
-- The kernels of a graph of einsums: fused or as given, each with schedule, tiling and facts.

local core = require "einloom.core"
local errors = require "einloom.errors"
local program = require "einloom.kernels.program"

local plan = {}

local KIND = "bad_plan"
local option_keys = {
  groups = true, max_tiles = true, blocks = true, reductions = true, coalescing = true,
}

local function checked(result, message, kind)
  if result == nil then errors.raise(kind or KIND, message) end
  return result
end

-- Groups given by hand with their extents: those of the first reduction, else of the first node.
local function given_groups(graph, groups)
  local by_name, list = {}, {}
  for _, op in ipairs(graph.core:ops()) do by_name[op.name] = op end
  for i, names in ipairs(groups) do
    local leader
    for _, name in ipairs(names) do
      graph:node(name)
      local op = by_name[name]
      if not leader or leader.kind == "pointwise" and op.kind ~= "pointwise" then leader = op end
    end
    if not leader then errors.raise(KIND, ("groups[%d]: a node expected"):format(i)) end
    list[i] = { ops = names, extents = { leader.extent, leader.reduction_extent } }
  end
  return list
end

local function fused_groups(graph)
  local fusion = checked(graph.core:fusion())
  return checked(fusion:run()):kernels()
end

-- Each node is in one group, behind the groups that make what it reads or in the same.
local function check_members(graph, groups)
  local place = {}
  for i, group in ipairs(groups) do
    for _, name in ipairs(group.ops) do
      if place[name] then errors.raise(KIND, ("node '%s' is in two groups"):format(name)) end
      place[name] = i
    end
  end
  for _, node in ipairs(graph.nodes) do
    if not place[node.name] then
      errors.raise(KIND, ("node '%s' is in no group"):format(node.name))
    end
    for _, read in ipairs(node.reads) do
      local writer = graph.tensors[read.tensor].writer
      if writer and place[writer.name] > place[node.name] then
        errors.raise(KIND, ("node '%s' reads %s, which a later group makes"):format(node.name,
          read.tensor))
      end
    end
  end
end

-- Whether the reduction of a kernel is what the tiling reduces over: where tilings of reductions
-- are asked for the rules also give one that puts all loops on the grid.
local function keeps_reduction(tiling, reduction)
  local product = core.int(1)
  for _, tile in ipairs(tiling) do
    if tile[1]:sub(1, 1) == "r" then product = product * tile[2] end
  end
  return product:eq(reduction) == true
end

-- By coalescing where it can be analysed and is asked for, else by the rules.
local function choose_tiling(graph, schedule, extents, options)
  if options.coalescing then
    local scored, message, kind =
      graph.core:coalesced_tiling(schedule, extents, options.max_tiles)
    if message then errors.raise(kind or KIND, message) end
    if scored then return scored.tiling end
  end
  local rules = {
    max_tiles = options.max_tiles, blocks = options.blocks, reductions = options.reductions,
  }
  local tiling = checked(graph.core:tiling(schedule, extents, rules))
  if keeps_reduction(tiling, extents[2]) then return tiling end
  rules.reductions = nil
  return checked(graph.core:tiling(schedule, extents, rules))
end

local function add_kernel(graph, made, group, options)
  local schedule, message, kind = graph.core:schedule(group.ops, group.extents)
  if not schedule then
    errors.raise(kind or KIND, message or ("%s do not run in one kernel"):format(
      table.concat(group.ops, ", ")))
  end
  local tiling = choose_tiling(graph, schedule, group.extents, options)
  checked(made:kernel { schedule = schedule, extents = group.extents, tiling = tiling })
end

--- The kernels of a graph in the order in which they run: what the core knows of each and its
--- program. groups: lists of names of nodes that become one kernel, in order; without it they are
--- fused. max_tiles, blocks, reductions, coalescing: how tilings are chosen.
---@param graph einloom.Graph
---@param options? { groups?: string[][], max_tiles?: integer, blocks?: boolean,
--- reductions?: boolean, coalescing?: boolean }
---@return einloom.Program[]
function plan.kernels(graph, options)
  options = options or {}
  errors.check_keys(KIND, options, option_keys, "options")
  local groups = options.groups and given_groups(graph, options.groups) or fused_groups(graph)
  check_members(graph, groups)
  local made = checked(graph.core:plan())
  for _, group in ipairs(groups) do add_kernel(graph, made, group, options) end
  local programs = {}
  for i, facts in ipairs(made:kernels()) do
    programs[i] = program.new(graph, facts, "kernel" .. i)
  end
  return programs
end

return plan
