-- SPDX-License-Identifier: MIT
-- Keys of components and dimensions that say what a search may do: which tensors a level holds,
-- which loops a dimension takes. They mean nothing to the analysis of a given mapping.

local errors = require "einloom.errors"
local sets = require "einloom.sets"
local value = require "einloom.value"

local fields = {}

local KIND = "bad_arch"

local function fail(message, path) errors.raise(KIND, message, { path = path }) end

--- A set expression, checked for its grammar.
---@param x any
---@param path string
---@return string
function fields.set(x, path)
  if type(x) ~= "string" then fail(("set expression expected, got %s"):format(type(x)), path) end
  sets.parse(x, path)
  return x
end

local set = fields.set

local function names(what)
  return function(x, path)
    if type(x) == "string" then x = { x } end
    local list = {}
    for i, name in ipairs(errors.list(KIND, x, path, what)) do
      if type(name) ~= "string" then
        fail(("name expected, got %s"):format(type(name)), ("%s[%d]"):format(path, i))
      end
      list[i] = name
    end
    return list
  end
end

local variables = names "variables"

-- A share of all instances: a number from 0 to 1.
local function share(x, path)
  x = value.check(x, KIND, path, { min = 0 })
  if value.at_most(x, 1) == false then fail(("%s is more than 1"):format(tostring(x)), path) end
  return x
end

local comparisons = {}
for _, op in ipairs { "==", "<=", ">=", "<", ">" } do
  comparisons[op], comparisons["product" .. op] = true, true
end

local function comparison(x, path)
  if type(x) == "string" then x = x:gsub("%s", "") end
  if comparisons[x] then return x end
  return fail(("==, <=, >=, < or > expected, with or without product before it, got %s")
    :format(tostring(x)), path)
end

local bound_fields = { variables = true, indexing = true, op = true, value = true }

-- {variables, op, value}, positions or keys.
local function loop_bound(x, path)
  if type(x) ~= "table" then fail(("bound of loops expected, got %s"):format(type(x)), path) end
  errors.check_keys(KIND, x, bound_fields, path, math.huge)
  local given = x.variables == nil and x.indexing == nil and x[1] or x.variables
  local first = (x.variables ~= nil or x.indexing ~= nil) and 1 or 2
  local bound = {
    op = comparison(x.op == nil and x[first] or x.op, path .. ".op"),
    value = value.check(x.value == nil and x[first + 1] or x.value, KIND, path .. ".value",
      { min = 0 }),
  }
  if given ~= nil then bound.variables = variables(given, path .. ".variables") end
  if bound.variables and #bound.variables == 0 then
    fail("a bound of loops names at least one variable", path .. ".variables")
  end
  if x.indexing ~= nil then bound.indexing = set(x.indexing, path .. ".indexing") end
  if (bound.variables == nil) == (bound.indexing == nil) then
    fail("a bound of loops names variables, or the tensors that they index", path)
  end
  return bound
end

-- A list of bounds, or one bound alone.
local function loop_bounds(x, path)
  local list = {}
  if type(x) == "table" and (x.op ~= nil or x.value ~= nil or comparisons[x[2]]) then x = { x } end
  for i, bound in ipairs(errors.list(KIND, x, path, "bounds of loops")) do
    list[i] = loop_bound(bound, ("%s[%d]"):format(path, i))
  end
  return list
end

--- Keys of a memory: what it must and may hold, and what is not moved again.
fields.memory = {
  keep = set, may_keep = set, back = set, no_refetch_from_above = set, no_resend_to_below = set,
}

fields.toll = { keep = set, may_keep = set }

fields.compute = { einsums = names "einsums" }

fields.dimension = { reuse = set, loop_bounds = loop_bounds, min_usage = share }

return fields
