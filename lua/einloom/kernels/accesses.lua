-- SPDX-License-Identifier: MIT
-- Accesses of the nodes of a graph: sizes, strides and versions of tensors, and indices as
-- expressions over the symbols of the loops.

local affine = require "einloom.affine"
local core = require "einloom.core"
local errors = require "einloom.errors"
local shapes = require "einloom.kernels.shapes"

local accesses = {}

local KIND = "bad_graph"

-- ---- indices -------------------------------------------------------------------------------

local function pop(stack) return table.remove(stack) end

local operations = {
  variable = function(stack, symbols, name) stack[#stack + 1] = symbols[name] end,
  constant = function(stack, _, n) stack[#stack + 1] = core.int(n) end,
  size = function(stack, _, name) stack[#stack + 1] = core.symbol(name) end,
  add = function(stack)
    local right = pop(stack)
    stack[#stack] = stack[#stack] + right
  end,
  scale = function(stack, _, n) stack[#stack] = n * stack[#stack] end,
  floor_div = function(stack, _, n) stack[#stack] = core.floor_div(stack[#stack], n) end,
  mod = function(stack, _, n) stack[#stack] = core.mod(stack[#stack], n) end,
  product = function(stack)
    local right = pop(stack)
    stack[#stack] = stack[#stack] * right
  end,
  floor_div_by = function(stack)
    local right = pop(stack)
    stack[#stack] = core.floor_div(stack[#stack], right)
  end,
  mod_by = function(stack)
    local right = pop(stack)
    stack[#stack] = core.mod(stack[#stack], right)
  end,
}

local function index_expr(index, symbols)
  local stack = {}
  for _, step in ipairs(affine.steps(index.affine or index.tree)) do
    operations[step[1]](stack, symbols, step[2])
  end
  return stack[1]
end

local function read_access(state, node, access, fail)
  local tensor = state.tensors[access.tensor]
  if #access.indices ~= #tensor.sizes then
    fail(("%s has %d dimensions, not %d"):format(access.named, #tensor.sizes, #access.indices),
      access.position)
  end
  local flat, dims = core.int(0), {}
  for d, index in ipairs(access.indices) do
    dims[d] = index_expr(index, node.symbols)
    flat = flat + tensor.strides[d] * dims[d]
  end
  return { tensor = access.tensor, index = flat, dims = dims }
end

--- Gives a node the symbols of its loop variables and of the values that are loaded for indices.
---@param node einloom.GraphNode
---@param list einloom.Access[] reads, then writes
function accesses.make_symbols(node, list)
  node.symbols, node.loaded = {}, {}
  local n = 0
  for _, loops in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(loops) do
      node.symbols[name] = core.symbol("p" .. n, { min = 0 })
      n = n + 1
    end
  end
  n = 0
  for _, access in ipairs(list) do
    for _, index in ipairs(access.indices) do
      for _, name in ipairs(index.names) do
        if name:sub(1, 1) == "$" and not node.symbols[name] then
          local symbol = core.symbol("indirect" .. n, { min = 0 })
          node.symbols[name], node.loaded[symbol:name()] = symbol, tonumber(name:sub(2))
          n = n + 1
        end
      end
    end
  end
end

-- How far an index steps from the origin when a loop does.
local function step_of(index, symbol, origin)
  local at = {}
  for own, value in pairs(origin) do at[own] = value end
  at[symbol] = 1
  return index(at) - index(origin)
end

-- Whether no loop over the reduction steps by one element or none.
local function strides_far(node, index)
  local origin, used = {}, {}
  for _, symbol in ipairs(index:symbols()) do used[symbol:name()] = symbol end
  for _, loops in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(loops) do
      local symbol = used[node.symbols[name]:name()]
      if symbol then origin[symbol] = 0 end
    end
  end
  for _, name in ipairs(node.reduction) do
    local symbol = used[node.symbols[name]:name()]
    if not symbol or step_of(index, symbol, origin):le(1) == true then return false end
  end
  return true
end

--- How a reduction is best spread: "inner" if each read steps by one element or none along a loop
--- that is reduced, "outer" if none does, else nil.
---@param node einloom.GraphNode
---@return string?
function accesses.hint(node)
  if node.kind ~= "reduction" or #node.reads == 0 then return nil end
  local far = 0
  for _, read in ipairs(node.reads) do far = far + (strides_far(node, read.index) and 1 or 0) end
  return far == 0 and "inner" or far == #node.reads and "outer" or nil
end

-- ---- tensors -------------------------------------------------------------------------------

local function row_major(sizes)
  local strides, step = {}, core.int(1)
  for d = #sizes, 1, -1 do
    strides[d] = step
    step = step * sizes[d]
  end
  return strides
end

--- Gives a tensor whose sizes are known what was not said of its layout.
---@param tensor table
function accesses.finish(tensor)
  tensor.strides = tensor.strides or row_major(tensor.sizes)
  tensor.offset = tensor.offset or core.int(0)
  if #tensor.strides ~= #tensor.sizes then
    errors.raise(KIND, "strides: one for each size expected", { path = "tensors." .. tensor.name })
  end
end

local function check_extent(state, tensor, access, d, index)
  local size = state.sizes[shapes.variable_of(index)]
  if tensor.sizes and tensor.sizes[d] and tensor.sizes[d]:eq(size) ~= true then
    return ("%s is %s long in dimension %d, but the loop over %s is %s"):format(access.named,
      tensor.sizes[d], d, index.text, size)
  end
  return nil, size
end

--- Sizes of what a node writes.
---@param state table
---@param node einloom.GraphNode
---@param writes einloom.Access[]
---@param fail fun(message: string, position?: integer, kind?: string)
function accesses.settle_outputs(state, node, writes, fail)
  for _, access in ipairs(writes) do
    local tensor, sizes = state.tensors[access.tensor], {}
    if tensor.writer or state.reads[access.tensor] then
      fail(("tensor %s is %s before; to change it in place: update %s[...]"):format(access.named,
        tensor.writer and "written" or "read", access.named), access.position)
    end
    for d, index in ipairs(access.indices) do
      local problem
      problem, sizes[d] = check_extent(state, tensor, access, d, index)
      if problem then fail(problem, index.position) end
    end
    tensor.sizes, tensor.writer = tensor.sizes or sizes, node
    accesses.finish(tensor)
  end
end

--- The tensor that stands for what a tensor holds behind an update; its sizes are those before.
---@param state table
---@param access einloom.Access
---@param fail fun(message: string, position?: integer, kind?: string)
---@return table
function accesses.new_version(state, access, fail)
  local old = state.tensors[state.current[access.tensor] or access.tensor]
  if not old or not old.sizes then
    fail(("%s is updated, but its sizes are not known: give tensors.%s.sizes"):format(
      access.tensor, access.tensor), access.position)
  end
  accesses.finish(old)
  local base = state.tensors[old.base or old.name]
  base.versions = (base.versions or 0) + 1
  local tensor = {
    name = ("%s'%d"):format(base.name, base.versions), base = base.name, updates = old.name,
    sizes = old.sizes, strides = old.strides, offset = old.offset, given = old.given,
    place = #state.order + 1,
  }
  old.updated_by = tensor.name
  state.tensors[tensor.name], state.order[tensor.place] = tensor, tensor.name
  return tensor
end

-- ---- finished accesses ---------------------------------------------------------------------

-- Accesses that reach beyond their tensor, reads unless a select may leave them out.
local function check_reach(state, list, what, fail)
  for _, access in ipairs(list) do
    for d, index in ipairs(access.indices) do
      local low, high = shapes.reach(index, state.sizes)
      local size = state.tensors[access.tensor].sizes[d]
      if low and (low:lt(0) == true or size:le(high) == true) then
        fail(("%s is %s from %s to %s in dimension %d, but is %s long"):format(access.named, what,
          low, high, d, size), index.position)
      end
    end
  end
end

--- The accesses of a node over its symbols, when all sizes are known.
---@param state table
---@param made { node: einloom.GraphNode, reads: einloom.Access[], writes: einloom.Access[],
--- fail: function }
function accesses.settle(state, made)
  local node = made.node
  node.reads, node.writes = {}, {}
  for i, access in ipairs(made.reads) do
    node.reads[i] = read_access(state, node, access, made.fail)
  end
  for i, access in ipairs(made.writes) do
    node.writes[i] = read_access(state, node, access, made.fail)
  end
  check_reach(state, node.lazy and {} or made.reads, "read", made.fail)
  check_reach(state, made.writes, "written", made.fail)
end

return accesses
