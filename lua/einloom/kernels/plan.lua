-- SPDX-License-Identifier: MIT
-- The kernels of a graph of einsums: fused or as given, each with schedule, tiling and facts.

local core = require "einloom.core"
local errors = require "einloom.errors"
local launches = require "einloom.kernels.launches"
local program = require "einloom.kernels.program"

local plan = {}

local KIND = "bad_plan"
local option_keys = {
  groups = true, tiling = true, max_tiles = true, blocks = true, reductions = true,
  combine = true,
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
      if not leader or op.extensible
        or leader.kind == "pointwise" and op.kind ~= "pointwise" then
        leader = op
      end
    end
    if not leader then errors.raise(KIND, ("groups[%d]: a node expected"):format(i)) end
    list[i] = { ops = names, extents = { leader.extent, leader.reduction_extent } }
  end
  return list
end

local function fused_groups(graph)
  local fusion = checked(graph.core:fusion())
  checked(fusion:run())
  return fusion:kernels(), fusion:refusals()
end

-- An update comes behind what makes and what reads the tensor as it was.
local function check_update(graph, node, place)
  local old = graph.tensors[node.updates]
  for _, before in ipairs(table.move(graph.readers[old.name], 1, #graph.readers[old.name], 2,
    { old.writer or node })) do
    if place[before.name] > place[node.name] then
      errors.raise(KIND, ("node '%s' updates %s, which node '%s' of a later group %s"):format(
        node.name, program.named(old.name), before.name, before == old.writer and "makes"
        or "reads"))
    end
  end
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
          program.named(read.tensor)))
      end
    end
    if node.updates then check_update(graph, node, place) end
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

local function by_rules(graph, schedule, extents, options)
  local rules = {
    max_tiles = options.max_tiles, blocks = options.blocks, reductions = options.reductions,
  }
  local tiling = checked(graph.core:tiling(schedule, extents, rules))
  if keeps_reduction(tiling, extents[2]) then return tiling end
  rules.reductions = nil
  return checked(graph.core:tiling(schedule, extents, rules))
end

-- Exactly where sizes are symbols; where the accesses cannot be analysed by the rules.
local function by_coalescing(graph, schedule, extents, options)
  for _, exact in ipairs { false, true } do
    local scored, message, kind = graph.core:coalesced_tiling(schedule, extents,
      { max_tiles = options.max_tiles, exact = exact })
    if message then errors.raise(kind or KIND, message) end
    if scored then return scored.tiling end
  end
  return by_rules(graph, schedule, extents, options)
end

-- Where the fewest memory sectors are touched; and what the core says of them.
local function by_sectors(graph, schedule, extents, options)
  local found = checked(graph.core:best_tiling(schedule, extents,
    { max_tiles = options.max_tiles, reductions = options.reductions }))
  return found.tiling, found
end

--- How tilings may be chosen, by name.
plan.tilings = { rules = by_rules, coalescing = by_coalescing, best = by_sectors }

--- The name of how tilings are chosen.
---@param options? table
---@return string
function plan.name_of(options)
  return options and options.tiling or "rules"
end

local function chooser(options)
  local name = plan.name_of(options)
  local choose = plan.tilings[name]
  if choose then return choose end
  errors.raise(KIND, ("no way to choose tilings is called '%s'%s"):format(tostring(name),
    errors.hint(tostring(name), errors.keys(plan.tilings))), { path = "options.tiling" })
end

-- Finds schedule and tiling of a group with loops.
local function prepare(graph, group, options)
  local around = false
  for _, name in ipairs(group.ops) do
    around = around or program.is_call(graph:node(name))
  end
  if around and #group.ops == 1 then return end
  local schedule, message, kind = graph.core:schedule(group.ops, group.extents)
  if not schedule then
    errors.raise(kind or KIND, message or ("%s do not run in one kernel"):format(
      table.concat(group.ops, ", ")))
  end
  group.schedule = schedule
  local choose = around and by_rules or options.choose
  group.tiling, group.counted = choose(graph, schedule, group.extents, options)
end

local function add_kernel(made, group)
  if not group.tiling then
    checked(made:kernel { schedule = group.ops })
    return
  end
  checked(made:kernel { schedule = group.schedule, extents = group.extents,
    tiling = group.tiling, launch = group.launch })
end

-- Tells which loop of a node is empty where the core says that it divides by zero.
local function explain_empty(graph, problem)
  local message = errors.is(problem) and problem.message or tostring(problem)
  if message:find("division by zero", 1, true) then
    for _, node in ipairs(graph.nodes) do
      for _, loops in ipairs { node.pointwise or {}, node.reduction or {} } do
        for _, name in ipairs(loops) do
          local size = type(name) == "string" and graph.sizes and graph.sizes[name]
          if size and size:eq(0) == true then
            errors.raise(KIND, ("node '%s' runs over %s, whose size is 0, so that it has no kernel"
              .. " with these loops"):format(node.name, name), { path = "sizes." .. name })
          end
        end
      end
    end
  end
  error(problem, 0)
end

-- Refusals by the places of the groups in another order.
local function moved(refusals, groups, arranged)
  local place, list = {}, {}
  for i, group in ipairs(arranged) do place[group] = i end
  for i, refusal in ipairs(refusals) do
    list[i] = { first = place[groups[refusal.first]], second = place[groups[refusal.second]],
      reason = refusal.reason }
  end
  return list
end

local combine_keys = { size_aware = true, mixed = true }

local function fail(key, message) errors.raise(KIND, message, { path = "options." .. key }) end

local function check_flag(given, key)
  if given ~= nil and type(given) ~= "boolean" then
    fail(key, ("true or false expected, got %s"):format(type(given) == "string"
      and "'" .. given .. "'" or tostring(given)))
  end
end

-- A whole number of the range, or nothing.
local function check_number(given, key, low, high)
  if given ~= nil and not (math.type(given) == "integer" and given >= low and given <= high) then
    fail(key, ("%d to %d expected, got %s"):format(low, high, tostring(given)))
  end
end

local function combination(given)
  if type(given) ~= "table" then
    check_flag(given, "combine")
    return given and {} or nil
  end
  errors.check_keys(KIND, given, combine_keys, "options.combine")
  check_flag(given.size_aware, "combine.size_aware")
  check_number(given.mixed, "combine.mixed", 0, 2)
  return given
end

local function check_groups(groups)
  if groups == nil then return end
  for i, names in ipairs(errors.list(KIND, groups, "options.groups", "groups")) do
    errors.list(KIND, names, ("options.groups[%d]"):format(i), "names of nodes")
  end
end

-- A copy of the options, each of which has a value that it may have.
local function read_options(given)
  if given ~= nil and type(given) ~= "table" then
    errors.raise(KIND, ("table expected, got %s"):format(type(given)), { path = "options" })
  end
  local options = {}
  for key, value in pairs(given or {}) do options[key] = value end
  errors.check_keys(KIND, options, option_keys, "options")
  check_number(options.max_tiles, "max_tiles", 1, 3)
  for _, key in ipairs { "blocks", "reductions" } do check_flag(options[key], key) end
  check_groups(options.groups)
  options.choose = chooser(options)
  options.combine = combination(options.combine)
  return options
end

local function make_programs(graph, options)
  local groups, refusals
  if options.groups then
    groups = given_groups(graph, options.groups)
  else
    groups, refusals = fused_groups(graph)
  end
  check_members(graph, groups)
  local made, programs = checked(graph.core:plan()), {}
  for _, group in ipairs(groups) do prepare(graph, group, options) end
  local arranged = launches.arrange(graph, groups, options.combine)
  refusals = refusals and moved(refusals, groups, arranged)
  groups = arranged
  for _, group in ipairs(groups) do add_kernel(made, group) end
  for i, facts in ipairs(made:kernels()) do
    programs[i] = program.new(graph, facts, "kernel" .. i)
    programs[i].counted = groups[i].counted
  end
  return programs, refusals
end

--- The kernels of a graph in the order in which they run: what the core knows of each and its
--- program. groups: lists of names of nodes that become one kernel, in order; without it they are
--- fused. tiling: how tilings are chosen, by "rules" (also with max_tiles, blocks and reductions),
--- by "coalescing", or "best": the fewest memory sectors are touched (then `counted` of a program
--- is what the core counted: tiling, blocks, sectors, accesses). combine: independent kernels are
--- launched at once, large ones alone and long reductions apart if size_aware, and those of
--- different y together as far as mixed says (0, 1 or 2).
---@param graph einloom.Graph
---@param given? { groups?: string[][], tiling?: string, max_tiles?: integer, blocks?: boolean,
--- reductions?: boolean,
--- combine?: boolean|{ size_aware?: boolean, mixed?: integer } }
---@return einloom.Program[]
---@return { first: integer, second: integer, reason: string }[]? refusals of fusion
function plan.kernels(graph, given)
  local options = read_options(given)
  local ok, programs, refusals = pcall(make_programs, graph, options)
  if not ok then explain_empty(graph, programs) end
  return programs, refusals
end

return plan
