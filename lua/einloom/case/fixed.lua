-- SPDX-License-Identifier: MIT
-- Cases of schema fixed/1: one einsum on a few levels, the loops given by how often they run.

local core = require "einloom.core"
local errors = require "einloom.errors"

local fixed = {}

local null, array = core.json.null, core.json.array

fixed.einsum, fixed.compute = "E", "MAC"

local function bad(message, path)
  error(errors.new("bad_case", message, { path = path }), 0)
end

local function object(value, path)
  if type(value) == "table" and value ~= null and getmetatable(value) ~= array then return value end
  return bad(("an object was expected, not %s"):format(core.json.encode(value)), path)
end

local function list(value, path)
  if type(value) == "table" and getmetatable(value) == array then return value end
  return bad(("a list was expected, not %s"):format(core.json.encode(value)), path)
end

local function whole(value, path)
  if math.type(value) == "integer" and value > 0 then return value end
  return bad(("a positive integer was expected, not %s"):format(core.json.encode(value)), path)
end

-- The outermost holder first, as the tensors are listed there.
local function tensor_names(raw)
  local tensors, names = object(raw.tensors, "tensors"), {}
  for _, level in ipairs(list(raw.levels, "levels")) do
    for _, name in ipairs(list(level.holds, "levels.holds")) do
      if not names[name] then
        if not tensors[name] then bad(("no tensor %s"):format(tostring(name)), "levels.holds") end
        names[name] = true
        names[#names + 1] = name
      end
    end
  end
  for name in pairs(tensors) do
    if not names[name] then bad(("no level holds %s"):format(name), "levels") end
  end
  return names
end

local function workload_of(raw, names)
  local sizes, tensors = {}, {}
  for variable, size in pairs(object(raw.iterate, "iterate")) do
    sizes[variable:lower()] = whole(size, "iterate." .. variable)
  end
  for i, name in ipairs(names) do
    local projection = {}
    for _, rank in ipairs(errors.keys(object(raw.tensors[name], "tensors." .. name))) do
      projection[#projection + 1] = { rank, raw.tensors[name][rank]:lower() }
    end
    tensors[i] = {
      tensor = name, projection = projection, output = name == raw.output,
      bits_per_value = raw.bits_per_value,
    }
  end
  return require "einloom.workload".new {
    rank_variables = sizes, einsums = { { name = fixed.einsum, tensors = tensors } },
  }
end

local function array_name(level) return level .. "Array" end

-- Shared: one read serves all units of an array, one sum leaves them.
local function arch_of(raw, shared)
  local arch = require "einloom.arch"
  local nodes = {}
  for _, level in ipairs(raw.levels) do
    local function action(energy, rate)
      return { energy = energy, throughput = rate, values_per_action = 1 }
    end
    nodes[#nodes + 1] = arch.memory {
      level.name,
      size = level.capacity_values == "inf" and math.huge
        or level.capacity_values * raw.bits_per_value,
      read = action(level.read_energy, level.reads_per_cycle),
      write = action(level.write_energy, level.writes_per_cycle),
    }
    local fanout = (raw.fanout_below or {})[level.name]
    if fanout then
      local spatial = {}
      for dim, n in pairs(object(fanout, "fanout_below." .. level.name)) do
        spatial[dim] = { n, multicast = shared, adder_tree = shared }
      end
      nodes[#nodes + 1] = arch.fanout { array_name(level.name), spatial = spatial }
    end
  end
  nodes[#nodes + 1] = arch.compute { fixed.compute, energy = raw.mac_energy }
  return arch.new(nodes)
end

-- A loop that runs `count` times over what is left of its variable.
local function loop_of(part, loop, extents, path)
  local variable, count = tostring(loop.var):lower(), whole(loop.count, path .. ".count")
  local extent = extents[variable]
  if not extent then bad(("no variable %s"):format(tostring(loop.var)), path .. ".var") end
  if extent % count ~= 0 then
    bad(("%s loops over %s do not divide the %s that are left"):format(count, loop.var, extent),
      path)
  end
  extents[variable] = extent // count
  local dim = tostring(part.kind):match "^spatial (%S+)$"
  if not dim and part.kind ~= "temporal" then
    bad(("temporal, spatial X or spatial Y expected, not %s"):format(tostring(part.kind)), path)
  end
  return {
    node = dim and "spatial" or "temporal", rank_variable = variable,
    tile_shape = extents[variable], component = dim and array_name(part.level), dim = dim,
  }
end

-- Each level's holder stands above the level's own loops.
local function mapping_of(raw)
  local extents, nodes, used = {}, {}, 0
  for variable, size in pairs(raw.iterate) do extents[variable:lower()] = size end
  for _, level in ipairs(raw.levels) do
    nodes[#nodes + 1] = { node = "storage", component = level.name,
      tensors = table.move(level.holds, 1, #level.holds, 1, {}) }
    for i, part in ipairs(list(raw.nest, "nest")) do
      if part.level == level.name then
        used = used + 1
        for j, loop in ipairs(list(part.loops, ("nest[%d].loops"):format(i))) do
          local path = ("nest[%d].loops[%d]"):format(i, j)
          nodes[#nodes + 1] = loop_of(part, loop, extents, path)
        end
      end
    end
  end
  if used ~= #raw.nest then bad("a loop stands at a level that there is not", "nest") end
  for variable, extent in pairs(extents) do
    if extent ~= 1 then bad(("the loops leave %s of %s"):format(extent, variable), "nest") end
  end
  nodes[#nodes + 1] = { node = "compute", component = fixed.compute, einsum = fixed.einsum }
  return require "einloom.mapping".new { nodes = nodes }
end

---@class einloom.FixedCase
---@field workload einloom.Workload
---@field mapping einloom.Mapping storage at the top of each level
---@field shared einloom.Arch arrays that multicast and reduce
---@field unshared einloom.Arch arrays in which every unit has its own read and write
---@field tensors string[]
---@field levels string[] outermost first

--- The workload, architectures and mapping of a case. Raises an error object for what is wrong.
---@param raw table decoded case
---@return einloom.FixedCase
function fixed.build(raw)
  local names = tensor_names(raw)
  local levels = {}
  for i, level in ipairs(raw.levels) do levels[i] = level.name end
  return {
    workload = workload_of(raw, names), mapping = mapping_of(raw), tensors = names,
    levels = levels, shared = arch_of(raw, true), unshared = arch_of(raw, false),
  }
end

return fixed
