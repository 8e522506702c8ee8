-- SPDX-License-Identifier: MIT
-- Loop nests that were counted point by point (support/reports.lua, golden/exact): what a function
-- that counts mappings as loom.analyze does must give for them.

local assert = require "luassert"

local core = require "einloom.core"
local loom = require "einloom"

local counted = {}

-- Levels from the outside in; a table's keys are the dimensions of the array that stands there.
local function machine(levels, multicast)
  local components = {}
  for i, level in ipairs(levels) do
    local spatial = {}
    for dim, fanout in pairs(type(level) == "table" and level or {}) do
      if dim ~= 1 then
        spatial[dim] = { fanout, multicast = multicast, adder_tree = multicast }
      end
    end
    components[i] = loom.memory {
      type(level) == "table" and level[1] or level, size = math.huge, spatial = spatial,
    }
  end
  components[#components + 1] = loom.compute { "Compute" }
  return loom.arch(components)
end

-- "Glb.A 8 8 0, ..." as lists of numbers by name; "-" is false.
local function rows(text)
  local found = {}
  for row in text:gmatch "[^,\n]+" do
    local name, numbers = row:match "^%s*(%S+)(.*)$"
    local list = {}
    for number in numbers:gmatch "%S+" do list[#list + 1] = tonumber(number) or false end
    found[name] = list
  end
  return found
end

-- name -> numbers of what was counted, for the names that are asked for.
local function figures(r, names, numbers_of)
  local found = {}
  for name, wanted in pairs(names) do
    local level, tensor = name:match "^(.-)%.(.+)$"
    local list = numbers_of(r.levels[level][tensor], level)
    for i, number in ipairs(list) do
      list[i] = wanted[i] and (core.is_expr(number) and number:tointeger() or tostring(number))
    end
    found[name] = list
  end
  return found
end

local function net_reads(b)
  return b.total_reads_to_parent - b.total_skipped_first_reads_to_parent
end

-- Values of one bit, one bit an action: what is written for nothing is as many values.
local function net_fills(b) return b.total_deliveries - b.total_skipped_first_write_actions end

local function moves_of(b, level)
  if level == "Compute" then return { net_reads(b), false, b.total_writes_to_parent } end
  return { net_reads(b), net_fills(b), b.total_writes_to_parent }
end

--- Fails unless a report's nest is counted as it says.
---@param count function as loom.analyze, for one einsum
---@param report table
---@param variant table
---@param expected table
function counted.check_report(count, report, variant, expected)
  local mapping = loom.mapping((variant.mapping:gsub("MAC", "Compute")))
  local r = assert(count(loom.workload(report.workload),
    machine(report.levels, expected.multicast ~= false), mapping, { lifetime = expected.lifetime }))
  local moves, tiles = rows(expected.moves), rows(expected.tiles)
  local live = rows(variant.fewest_live or "")
  assert.same(moves, figures(r, moves, moves_of))
  assert.same(tiles, figures(r, tiles, function(b) return { b.max_occupancy } end))
  assert.same(live, figures(r, live, function(b) return { b.fewest_live } end))
  assert.same({ expected.computes, expected.steps, expected.instances },
    { r.compute.total_ops:tointeger(), r.compute.max_latency:tointeger(),
      r.compute.instances:tointeger() })
end

-- ---- golden/exact -----------------------------------------------------------------------------

local function fixed_workload(case)
  local tensors = {}
  for tensor, ranks in pairs(case.tensors) do
    local projection = {}
    for rank, index in pairs(ranks) do projection[#projection + 1] = { rank, index:lower() } end
    table.sort(projection, function(a, b) return a[1] < b[1] end)
    tensors[#tensors + 1] = { tensor = tensor, projection = projection, bits_per_value = 1,
      output = tensor == case.output }
  end
  local sizes = {}
  for name, size in pairs(case.iterate) do sizes[name:lower()] = size end
  return loom.workload { rank_variables = sizes, einsums = { { name = "E", tensors = tensors } } }
end

local function fixed_machine(case, shared)
  local components = {}
  for _, level in ipairs(case.levels) do
    components[#components + 1] = loom.memory { level.name, size = math.huge }
    local dims = {}
    for dim, fanout in pairs(case.fanout_below[level.name] or {}) do
      dims[dim] = { fanout, multicast = shared, adder_tree = shared }
    end
    if next(dims) then
      dims[1] = "PE_" .. level.name
      components[#components + 1] = loom.fanout(dims)
    end
  end
  components[#components + 1] = loom.compute { "MAC" }
  return loom.arch(components)
end

local function uses(case, tensor, variable)
  for _, index in pairs(case.tensors[tensor]) do
    for name in index:gmatch "%a+" do
      if name == variable then return true end
    end
  end
  return false
end

-- The last store of a list rises past other tensors' stores and the loops that leave its tile in
-- place; where a spatial loop is, the hardware says.
local function lift(case, items)
  for i = #items, 2, -1 do
    local store, above = items[i], items[i - 1]
    local stays = above.tensor == store.tensor
    if above.variable then
      stays = not above.dim and uses(case, store.tensor, above.variable)
    end
    if stays then return end
    items[i], items[i - 1] = above, store
  end
end

-- Each level's stores above the level's own loops, or lifted.
local function fixed_mapping(case, lifted)
  local items, extent, nodes = {}, {}, {}
  for name, size in pairs(case.iterate) do extent[name] = size end
  for _, level in ipairs(case.levels) do
    for _, tensor in ipairs(level.holds) do
      items[#items + 1] = { level = level.name, tensor = tensor }
      if lifted then lift(case, items) end
    end
    for _, part in ipairs(case.nest) do
      for _, loop in ipairs(part.level == level.name and part.loops or {}) do
        extent[loop.var] = extent[loop.var] // loop.count
        items[#items + 1] = { variable = loop.var, tile = extent[loop.var],
          dim = part.kind:match "^spatial (%w+)$", level = level.name }
      end
    end
  end
  for i, x in ipairs(items) do
    if x.tensor then
      nodes[i] = loom.storage { x.level, x.tensor }
    elseif x.dim then
      local place = ("PE_%s.%s"):format(x.level, x.dim)
      nodes[i] = loom.spatial { x.variable:lower(), x.tile, on = place }
    else
      nodes[i] = loom.temporal { x.variable:lower(), x.tile }
    end
  end
  nodes[#nodes + 1] = loom.compute_node { "MAC" }
  return loom.mapping(nodes)
end

-- What was counted at a holder: its own traffic, and what the next inner one asks of it.
local function fixed_row(own, child, unicast_child)
  local row = { read = net_reads(child), read_uni = net_reads(unicast_child),
    upd = child.total_writes_to_parent, upd_uni = unicast_child.total_writes_to_parent,
    fill = net_fills(own), drain = own.total_drains }
  for key, x in pairs(row) do row[key] = x:tointeger() end
  return row
end

local function innermost_below(levels, i, tensor)
  for k = i + 1, #levels do
    for _, held in ipairs(levels[k].holds) do
      if held == tensor then return levels[k].name end
    end
  end
  return "MAC"
end

--- Fails unless a case of golden/exact is counted as it says under a rule.
---@param count function as loom.analyze
---@param case table
---@param rule "delta"|"whole"
function counted.check_fixed(count, case, rule)
  local w = fixed_workload(case)
  local m = fixed_mapping(case, rule == "whole")
  local options = { lifetime = rule == "delta" and "retain" or "scope" }
  local shared = assert(count(w, fixed_machine(case, true), m, options))
  local apart = assert(count(w, fixed_machine(case, false), m, options))
  for i, level in ipairs(case.levels) do
    for _, tensor in ipairs(level.holds) do
      local child = innermost_below(case.levels, i, tensor)
      local row = fixed_row(shared[level.name][tensor], shared[child][tensor], apart[child][tensor])
      local expected = case.enumeration[rule][level.name .. "." .. tensor]
      row.tile = i == 1 and 0 or shared[level.name][tensor].max_occupancy:tointeger()
      assert.same(expected, row, ("%s %s.%s"):format(case.id, level.name, tensor))
    end
  end
end

return counted
