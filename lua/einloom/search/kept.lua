-- SPDX-License-Identifier: MIT
-- The best so far of a search that hears of one mapping after the other: one of the best, or the
-- front where several figures are minimised.

local goals = require "einloom.search.goals"

local kept = {}

-- Whether figures a are at most figures b in all that is minimised.
local function at_most(a, b)
  for i, x in ipairs(a) do
    if x > b[i] then return false end
  end
  return true
end

--- A list of points with one more, without those that it beats; the list itself where one there is
--- as good.
---@param case einloom.SearchProblem
---@param points table[] figures, with whatever else belongs to them
---@param point table
---@return table[]
function kept.with(case, points, point)
  local values, list = goals.values(case, point), {}
  for _, other in ipairs(points) do
    local own = goals.values(case, other)
    if at_most(own, values) then return points end
    if not at_most(values, own) then list[#list + 1] = other end
  end
  list[#list + 1] = point
  return list
end

return kept
