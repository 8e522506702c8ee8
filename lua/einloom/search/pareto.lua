-- SPDX-License-Identifier: MIT
-- Fronts: of many points those that no other one beats, in any number of figures, smaller better.

local errors = require "einloom.errors"

local pareto = {}

---@class einloom.Front
---@field keys (string|fun(point: any): number)[] what is compared
---@field points any[] that no other one beats, in the order in which they came
---@field seen integer points that were shown to it
local Front = { __name = "einloom.front" }
Front.__index = Front

local function key_error(message, name)
  errors.raise("bad_argument", message, { path = "loom.pareto", name = name })
end

-- The figures of a point; each has to be a number.
local function values_of(self, point)
  local values = {}
  for i, key in ipairs(self.keys) do
    local x
    if type(key) == "string" then x = point[key] else x = key(point) end
    if math.type(x) == nil or x ~= x then
      key_error(("the figure %s of a point is %s, not a number"):format(
        type(key) == "string" and key or "number " .. i, tostring(x)), key)
    end
    values[i] = x
  end
  return values
end

local function at_most(a, b)
  for i, x in ipairs(a) do
    if x > b[i] then return false end
  end
  return true
end

--- Takes a point in unless one that is there is at most it in every figure; what it beats goes. Of
--- points that are equal the first stays.
---@param point any
---@return boolean kept
function Front:add(point)
  local values, points, list = values_of(self, point), {}, {}
  self.seen = self.seen + 1
  for _, other in ipairs(self.values) do
    if at_most(other, values) then return false end
  end
  for i, other in ipairs(self.values) do
    if not at_most(values, other) then
      points[#points + 1], list[#list + 1] = self.points[i], other
    end
  end
  points[#points + 1], list[#list + 1] = point, values
  self.points, self.values = points, list
  return true
end

--- Its points in the order of their first figure, then of the next ones.
---@return any[]
function Front:sorted()
  local order = {}
  for i in ipairs(self.points) do order[i] = i end
  table.sort(order, function(a, b)
    for k, x in ipairs(self.values[a]) do
      if x ~= self.values[b][k] then return x < self.values[b][k] end
    end
    return a < b
  end)
  for k, i in ipairs(order) do order[k] = self.points[i] end
  return order
end

Front.__len = function(self) return #self.points end

--- A front without points.
---@param keys (string|fun(point: any): number)[] fields of points, or functions of them
---@return einloom.Front
function pareto.new(keys)
  if type(keys) ~= "table" or #keys == 0 then
    key_error("a list of figures was expected: fields of the points or functions of them")
  end
  for _, key in ipairs(keys) do
    if type(key) ~= "string" and type(key) ~= "function" then
      key_error(("a figure is a field or a function, not %s"):format(type(key)))
    end
  end
  return setmetatable({ keys = keys, points = {}, values = {}, seen = 0 }, Front)
end

--- Of a list of points those that no other one beats, in the order of the first figure. Without a
--- list an empty front that takes points one by one.
---@param list any[]?
---@param keys (string|fun(point: any): number)[]
---@return any[]|einloom.Front
function pareto.of(list, keys)
  local front = pareto.new(keys)
  if list == nil then return front end
  for _, point in ipairs(list) do front:add(point) end
  return front:sorted()
end

return pareto
