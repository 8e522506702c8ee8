-- SPDX-License-Identifier: MIT
-- How much of the grid of a kernel is where on a machine: blocks for each memory, given or symbols,
-- and loops that run side by side.

local core = require "einloom.core"
local errors = require "einloom.errors"
local points = require "einloom.points"

local blocks = {}

local KIND = "bad_argument"

local one = core.int(1)

local as_expr = points.exact

local function grid_names(variables)
  local names = {}
  for _, variable in ipairs(variables) do names[variable.name] = not variable.reduced or nil end
  return names
end

local function table_at(x, path)
  if type(x) ~= "table" then
    errors.raise(KIND, ("a table expected, got %s"):format(errors.printable(tostring(x))),
      { path = path })
  end
  return x
end

-- A block is a positive whole number, or an expression that may be one.
local function check_block(x, path)
  local number = core.is_expr(x) and x or type(x) == "number" and x == x and math.abs(x) < math.huge
    and core.number(x)
  local fits = number and (not number:is_number() or number:is_integer() and one:le(number) == true)
  if not fits or number:le(0) == true then
    errors.raise(KIND, ("a positive whole number or an expression expected, got %s"):format(
      errors.printable(tostring(x))), { path = path })
  end
end

local function check_blocks(given, arch, grid)
  local memories = {}
  for i, component in ipairs(arch.nodes) do
    if i > 1 and component.class == "Memory" then memories[component.name] = true end
  end
  errors.check_keys(KIND, table_at(given, "blocks"), memories, "blocks")
  for _, name in ipairs(errors.keys(given)) do
    local block, path = given[name], "blocks." .. name
    errors.check_keys(KIND, table_at(block, path), grid, path)
    for _, variable in ipairs(errors.keys(block)) do
      check_block(block[variable], path .. "." .. variable)
    end
  end
end

local function check_parallel(given, arch, grid)
  local dims, seen = {}, {}
  for i, component in ipairs(arch.nodes) do
    for _, dim in ipairs(i > 1 and component.spatial or {}) do
      dims[component.name .. "." .. dim.name] = true
    end
  end
  errors.check_keys(KIND, table_at(given, "parallel"), dims, "parallel")
  for _, dim in ipairs(errors.keys(given)) do
    local name = given[dim]
    if not grid[name] or seen[name] then
      errors.raise(KIND, ("'%s' is %s%s"):format(tostring(name),
        seen[name] and "side by side twice" or "no loop of the grid",
        errors.hint(tostring(name), errors.keys(grid))), { path = "parallel." .. dim })
    end
    seen[name] = true
  end
end

--- Raises an error object where the options name what is not there.
---@param options { blocks?: table, parallel?: table }
---@param arch einloom.Arch
---@param variables einloom.KernelVariable[]
function blocks.check(options, arch, variables)
  local grid = grid_names(variables)
  if options.blocks then check_blocks(options.blocks, arch, grid) end
  check_parallel(options.parallel or {}, arch, grid)
end

-- Whether a loop over the variable runs side by side.
local function is_parallel(state, name)
  for _, own in pairs(state.parallel) do
    if own == name then return true end
  end
  return false
end

--- The block of a variable at a memory: given, all there is, or a symbol, which divides its size
--- unless the loop runs side by side too.
---@param state table
---@param level string
---@param variable einloom.KernelVariable
---@return einloom.Expr
function blocks.of(state, level, variable)
  local around = state.tile[variable.name]
  if state.blocks then
    local given = (state.blocks[level] or {})[variable.name]
    local block = given and as_expr(given) or around
    if around:lt(block) == true then
      errors.raise(KIND, ("a block of %s is more than the %s of %s that are there"):format(
        tostring(block), tostring(around), variable.name),
        { path = ("blocks.%s.%s"):format(level, variable.name) })
    end
    return block
  end
  if around:eq(one) == true then return around end
  local name = variable.name .. "_" .. level
  local size = variable.size:tointeger()
  local divides = not is_parallel(state, variable.name) and size or nil
  local symbol = core.symbol(name, { min = 1, max = size, divides = divides })
  state.symbols[name] = symbol
  return symbol
end

--- The loops that run side by side at a component: {dimension, variable, tile of each unit}.
---@param state table
---@param component einloom.Component
---@return table[]
function blocks.parallel(state, component)
  local list = {}
  for _, dim in ipairs(component.spatial or {}) do
    local name = state.parallel[component.name .. "." .. dim.name]
    if name then list[#list + 1] = { dim.name, name, core.ceil(state.tile[name] / dim.fanout) } end
  end
  return list
end

--- The memories below everything that runs side by side: those in which a unit may hold its own.
---@param state table
---@return einloom.KernelMemory[]
function blocks.own_memories(state)
  local list, below = {}, 0
  for i, component in ipairs(state.arch.nodes) do
    if #blocks.parallel(state, component) > 0 then list = {} end
    if i > 1 and component.class == "Memory" then
      below = below + 1
      list[#list + 1] = state.memories[below]
    end
  end
  return list
end

return blocks
