-- SPDX-License-Identifier: MIT
-- What a search found: points with their figures, and the mapping of each.

local found = {}

---@class einloom.Found
---@field points table[] energy, latency, energy_delay_product, usage by memory, candidate
---@field space einloom.Space
---@field n_explored integer einsums that differ in more than names
local Found = {}
Found.__index = Found

--- The answer of a search.
---@param space einloom.Space
---@param points table[]
---@return einloom.Found
function found.new(space, points)
  return setmetatable({ points = points, space = space, n_explored = #space.shapes }, Found)
end

--- The mapping of a point.
---@param point? table one of the points; without it the first
---@return einloom.Mapping
function Found:mapping(point)
  point = point or self.points[1]
  if not point then error("nothing was found, so there is no mapping", 2) end
  return self.space:mapping(point.candidate)
end

return found
