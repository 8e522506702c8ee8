-- SPDX-License-Identifier: MIT
-- What a node of a graph computes at one point of its loops: an expression tree over its loads and
-- loop variables, checked, of limited depth.
-- Leaves are {op = "load", n}, {op = "loop", name = }, {op = "size", name = } and
-- {op = "number", value = }.

local errors = require "einloom.errors"

local body = {}

--- Operators and calls inside each other up to this depth.
body.max_depth = 150

-- Functions with the number of their arguments; math.huge: one or more.
local functions = {
  exp = 1, log = 1, sqrt = 1, rsqrt = 1, abs = 1, relu = 1, sigmoid = 1, tanh = 1, floor = 1,
  ceil = 1, sin = 1, cos = 1, max = math.huge, min = math.huge, select = 3,
}

local function check_call(node, state)
  local n = functions[node.name]
  if not n then
    state.fail(("unknown function '%s'%s"):format(node.name,
      errors.hint(node.name, errors.keys(functions))), node.position)
  end
  local good = n == math.huge and #node > 0 or #node == n
  if not good then
    state.fail(("%s takes %s, not %d"):format(node.name,
      n == math.huge and "arguments" or n == 1 and "one argument" or n .. " arguments", #node),
      node.position)
  end
  if node.name == "select" then state.lazy = true end
end

local function scalar(name, position, state)
  if name == "inf" then return { op = "number", value = math.huge } end
  if state.is_loop(name) then return { op = "loop", name = name } end
  local value = state.scalars[name]
  if value == nil and state.size_of(name) then return { op = "size", name = name } end
  if value == nil then
    state.fail(("'%s' is no loop variable with a size and no scalar with a value%s"):format(name,
      errors.hint(name, errors.keys(state.scalars))), position)
  end
  return { op = "number", value = value }
end

local function read(node, state, depth)
  if depth > body.max_depth then
    state.fail(("operators nested beyond depth %d"):format(body.max_depth), node.position, "depth")
  end
  if node.op == "number" then return { op = "number", value = tonumber(node.value) } end
  if node.op == "access" then return { op = "load", node[1] } end
  if node.op == "scalar" then return scalar(node.name, node.position, state) end
  if node.op == "call" then check_call(node, state) end
  local result = { op = node.op, name = node.name }
  for i, child in ipairs(node) do result[i] = read(child, state, depth + 1) end
  return result
end

---@class einloom.BodyState
---@field scalars table<string, number>
---@field is_loop fun(name: string): boolean
---@field size_of fun(name: string): integer|true|nil
---@field fail fun(message: string, position?: integer, kind?: string)
---@field lazy? boolean set when a load may be left out: there is a select

--- The tree of the expression of an einsum.
---@param expression table
---@param state einloom.BodyState
---@return table
function body.read(expression, state) return read(expression, state, 1) end

--- The names that stand bare in the expression of an einsum.
---@param expression table
---@return string[]
function body.bare_names(expression)
  local names, stack = {}, { expression }
  while #stack > 0 do
    local node = table.remove(stack)
    if node.op == "scalar" then names[#names + 1] = node.name end
    for i = #node, 1, -1 do
      if type(node[i]) == "table" then stack[#stack + 1] = node[i] end
    end
  end
  return names
end

return body
