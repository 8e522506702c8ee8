-- SPDX-License-Identifier: MIT
-- Random numbers that depend on their seed alone: a 64-bit counter whose values are mixed
-- (splitmix64). The state is one integer, so that a search can be saved; the global generator of
-- Lua is left alone.

local rng = {}

---@class einloom.Rng
---@field state integer where the sequence stands; may be read, kept and set
local Rng = { __name = "einloom.rng" }
Rng.__index = Rng

--- A sequence of random numbers.
---@param seed integer
---@return einloom.Rng
function rng.new(seed)
  local state = math.type(seed) and math.tointeger(seed)
  if not state then error(("a seed is an integer, not %s"):format(tostring(seed)), 2) end
  return setmetatable({ state = state }, Rng)
end

--- The next 64 bits.
---@return integer
function Rng:bits()
  local x = self.state + 0x9E3779B97F4A7C15
  self.state = x
  x = (x ~ x >> 30) * 0xBF58476D1CE4E5B9
  x = (x ~ x >> 27) * 0x94D049BB133111EB
  return x ~ x >> 31
end

--- A number from 0, included, to 1, excluded.
---@return number
function Rng:real()
  return (self:bits() >> 11) * 0x1p-53
end

--- An integer from 1 to n, each equally likely.
---@param n integer at least 1
---@return integer
function Rng:integer(n)
  if math.type(n) ~= "integer" or n < 1 then
    error(("an integer of at least 1 was expected, not %s"):format(tostring(n)), 2)
  end
  local least = math.maxinteger % n
  while true do
    local x = self:bits() >> 1
    if least == n - 1 or x < math.maxinteger - least then return x % n + 1 end
  end
end

--- One of a list; nil of an empty one.
---@generic T
---@param list T[]
---@return T?
function Rng:pick(list)
  if #list == 0 then return nil end
  return list[self:integer(#list)]
end

--- Puts a list into random order.
---@generic T
---@param list T[]
---@return T[] list the same one
function Rng:shuffle(list)
  for i = #list, 2, -1 do
    local k = self:integer(i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

return rng
