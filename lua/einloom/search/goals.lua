-- SPDX-License-Identifier: MIT
-- What a search minimises: which figures of a mapping are asked for, which of two mappings is
-- better, and which of many are kept.

local objective = require "einloom.search.objective"
local readonly = require "einloom.readonly"
local value = require "einloom.value"

local goals = {}

--- The figures that are needed to know what is minimised.
---@param case einloom.SearchProblem
---@return { energy: boolean, latency: boolean, usage: boolean, product: boolean }
function goals.asked(case)
  local goal = case.objective
  local figures = goal.figures
  return {
    energy = figures.energy or false, latency = figures.latency or false,
    usage = figures.usage or false, product = goal.product,
  }
end

--- Adds the product where both its factors are known.
---@param figures table
---@return table figures
function goals.complete(figures)
  if figures.energy and figures.latency then
    figures.energy_delay_product = figures.energy * figures.latency
  end
  return figures
end

--- What is minimised of some figures, as a list in which smaller numbers are better.
---@param case einloom.SearchProblem
---@param figures table
---@return number[]
function goals.values(case, figures)
  local values, goal = {}, case.objective
  if goal.formula then return { objective.value(goal, figures) } end
  for _, name in ipairs(goal.names) do
    if name == "energy_delay_product" then
      values[#values + 1] = figures.energy * figures.latency
    elseif name == "usage" then
      for _, memory in ipairs(goals.memories(case)) do
        values[#values + 1] = figures.usage[memory.name] or 0
      end
    else
      values[#values + 1] = figures[name]
    end
  end
  return values
end

--- One number for strategies that follow one: the product of what is minimised.
---@param case einloom.SearchProblem
---@param figures table
---@return number
function goals.score(case, figures)
  local score = 1
  for _, x in ipairs(goals.values(case, figures)) do score = score * x end
  return score
end

-- Sums in another order may differ by that much; what is closer than `close` is compared exactly.
local slack, close = 1e-12, 1e-9

-- The points with the least value of a figure, as far as they are known to differ.
local function least(points, value_of)
  local least_value, kept = math.huge, {}
  for _, point in ipairs(points) do least_value = math.min(least_value, value_of(point)) end
  for _, point in ipairs(points) do
    if value_of(point) <= least_value * (1 + slack) then kept[#kept + 1] = point end
  end
  return kept
end

--- Memories with a size, in the order in which their use decides between equal mappings.
---@param case einloom.SearchProblem
---@return einloom.Component[]
function goals.memories(case)
  local list = {}
  for _, component in ipairs(readonly.raw(case.arch).components) do
    if component.class == "Memory" and value.nearest(component.size) < math.huge then
      list[#list + 1] = component
    end
  end
  return list
end

-- The point with the least value of the objective; of several that with the least energy, then
-- latency, then use of each memory, as far as they are known, then the first.
local function first_of_least(case, points)
  points = least(points, function(point) return goals.values(case, point)[1] end)
  for _, key in ipairs { "energy", "latency" } do
    if points[1] and points[1][key] then
      points = least(points, function(point) return point[key] end)
    end
  end
  for _, memory in ipairs(#points > 1 and goals.memories(case) or {}) do
    points = least(points, function(point) return point.usage and point.usage[memory.name] or 0 end)
  end
  return { points[1] }
end

--- The points that may answer a search once they are compared exactly: all of a front, else those
--- whose value is close to the least one or no number.
---@param case einloom.SearchProblem
---@param points table[]
---@return table[]
function goals.close(case, points)
  if case.objective.is_front then return points end
  local values, list, lowest = {}, {}, math.huge
  for i, point in ipairs(points) do
    values[i] = goals.values(case, point)[1]
    if values[i] < lowest then lowest = values[i] end
  end
  local most = lowest + math.abs(lowest) * close
  for i, point in ipairs(points) do
    local x = values[i]
    if x <= most or x ~= x or x == math.huge then list[#list + 1] = point end
  end
  return list
end

--- The points that answer a search as far as doubles tell: the best one, or all of a front.
---@param case einloom.SearchProblem
---@param points table[]
---@return table[]
function goals.best(case, points)
  if case.objective.is_front then return points end
  return first_of_least(case, points)
end

return goals
