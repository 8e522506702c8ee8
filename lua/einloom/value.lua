-- SPDX-License-Identifier: MIT
-- Values in workloads, architectures and mappings: a Lua number or an exact expression.  Whole
-- floats become integers, "inf" becomes math.huge, other strings are parsed as expressions.

local core = require "einloom.core"
local errors = require "einloom.errors"

local value = {}

---@alias einloom.Value number|einloom.Expr

local function fail(kind, path, message)
  errors.raise(kind, message, { path = path })
end

local function parse(text, kind, path)
  if text == "inf" then return math.huge end
  local ok, e, message = pcall(core.parse, text)
  if not ok then fail(kind, path, ("'%s': %s"):format(text, tostring(e))) end
  if not e then fail(kind, path, ("'%s': %s"):format(text, tostring(message))) end
  return e
end

-- Whether a comparison with a number is known to be false.
local function refuted(x, method, bound)
  if type(x) == "number" then
    if method == "le" then return bound > x end
    return bound >= x
  end
  local b = core.int(bound)
  return b[method](b, x) == false
end

--- A number as plain Lua number, a whole one beyond 64 bits as an exact one, anything else
--- unchanged.
---@param x any
---@return any
function value.plain(x)
  if math.type(x) == "float" then
    local integer = math.tointeger(x)
    if integer then return integer end
    local whole = math.abs(x) >= 2 ^ 63 and math.abs(x) < math.huge
    return whole and core.number(x) or x
  end
  if core.is_expr(x) and x:is_number() then return x:tointeger() or x end
  return x
end

---@class einloom.Range
---@field min? integer least value allowed
---@field above? integer values must be greater
---@field integer? boolean
---@field inf? boolean math.huge is allowed

--- Checks and normalises a value.
---@param x any
---@param kind string kind of the error
---@param path string place of the value, for messages
---@param range einloom.Range
---@return einloom.Value
function value.check(x, kind, path, range)
  if type(x) == "string" then x = parse(x, kind, path) end
  if type(x) ~= "number" and not core.is_expr(x) then
    fail(kind, path, ("number or expression expected, got %s"):format(type(x)))
  end
  x = value.plain(x)
  if x ~= x then fail(kind, path, "not a number (nan)") end
  if x == math.huge and range.inf then return x end
  if x == math.huge or x == -math.huge then fail(kind, path, "must be finite") end
  if range.integer and (math.type(x) == "float" or core.is_expr(x) and x:is_integer() == false) then
    fail(kind, path, ("%s is not an integer"):format(tostring(x)))
  end
  if range.min and refuted(x, "le", range.min) then
    fail(kind, path, ("%s is less than %d"):format(tostring(x), range.min))
  end
  if range.above and refuted(x, "lt", range.above) then
    fail(kind, path, ("%s is not greater than %d"):format(tostring(x), range.above))
  end
  return x
end

--- The double nearest to a value that is a number.
---@param x einloom.Value
---@return number
function value.nearest(x)
  return type(x) == "number" and x or x:tonumber()
end

--- Whether two values are equal: true, false, or nil when that is not known.
---@param a einloom.Value
---@param b einloom.Value
---@return boolean?
function value.equal(a, b)
  if rawequal(a, b) then return true end
  if type(a) == "number" and type(b) == "number" then return a == b end
  if a == math.huge or b == math.huge then return false end
  if type(a) == "number" then a, b = b, a end
  return a:eq(b)
end

--- Whether a <= b: true, false, or nil when that is not known.
---@param a einloom.Value
---@param b einloom.Value
---@return boolean?
function value.at_most(a, b)
  if type(a) == "number" and type(b) == "number" then return a <= b end
  if type(a) == "number" then a = core.int(a) end
  return a:le(b)
end

return value
