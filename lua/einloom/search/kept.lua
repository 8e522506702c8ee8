-- SPDX-License-Identifier: MIT
-- The best so far of a search that hears of one mapping after the other: one of the best, or the
-- front where several figures are minimised.

local goals = require "einloom.search.goals"

local kept = {}

-- Whether figures are at most others in all that is minimised, in double.
local function in_double(case)
  return function(a, b)
    local xs, ys = goals.values(case, a), goals.values(case, b)
    for i, x in ipairs(xs) do
      if x > ys[i] then return false end
    end
    return true
  end
end

--- A list of points with one more, without those that it beats; the list itself where one there is
--- as good.
---@param case einloom.SearchProblem
---@param points table[] figures, with whatever else belongs to them
---@param point table
---@param at_most? fun(a: table, b: table): boolean whether a point is at most another in all that
--- is minimised; in double without it
---@return table[]
function kept.with(case, points, point, at_most)
  local list = {}
  at_most = at_most or in_double(case)
  for _, other in ipairs(points) do
    if at_most(other, point) then return points end
    if not at_most(point, other) then list[#list + 1] = other end
  end
  list[#list + 1] = point
  return list
end

return kept
