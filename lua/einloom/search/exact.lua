-- SPDX-License-Identifier: MIT
-- What a search answers, compared by exact figures: doubles choose on the way, but two of them may
-- differ where the figures are equal, or be equal where these differ.
-- Invariant: every point that is given has been evaluated by the analysis.

local candidate = require "einloom.search.candidate"
local errors = require "einloom.errors"
local goals = require "einloom.search.goals"
local objective = require "einloom.search.objective"

local exact = {}

-- From here on neighbouring doubles are not neighbouring integers.
local EXACT <const> = 2 ^ 53

-- Exact figures by point.
local known = setmetatable({}, { __mode = "k" })

--- Exact figures of a point with its candidate, or nil and the rule that it breaks.
---@param space einloom.Space
---@param point table
---@return table? figures
---@return string? rule
function exact.of(space, point)
  local own = known[point]
  if own then return own end
  local figures, rule = candidate.exact(space, point.candidate)
  if not figures then return nil, rule end
  known[point] = figures
  return figures
end

-- What is minimised, as a list of exact numbers and, of usage, doubles.
local function values_of(space, figures)
  local goal = space.case.objective
  if not goal.formula then return goals.values(space.case, figures) end
  figures.formula = figures.formula or objective.exact(goal, figures)
  return { figures.formula }
end

-- -1, 0 or 1; doubles have been compared before.
local function compare(a, b)
  if type(a) == "number" then return a < b and -1 or a > b and 1 or 0 end
  if a:eq(b) then return 0 end
  return a:lt(b) and -1 or 1
end

-- Whether equal doubles may stand for different figures.
local function may_differ(space, x)
  return space.case.objective.formula ~= nil or math.abs(x) >= EXACT
end

-- The order of two points by the i-th figure that is minimised, which is x and y in double.
local function order_of(space, a, x, b, y, i)
  if x > y and x < math.huge then return 1 end
  if x < y and y < math.huge then return -1 end
  if x == y and not may_differ(space, x) then return 0 end
  return compare(values_of(space, exact.of(space, a))[i], values_of(space, exact.of(space, b))[i])
end

-- Of equal values of one objective the least energy counts, then the least latency.
local function is_before_or_same(a, b)
  if a.energy ~= b.energy then return a.energy < b.energy end
  return a.latency <= b.latency
end

-- Whether a point is at most another in all that is minimised; xs and ys have that in double.
local function at_most(space, a, xs, b, ys)
  local order
  for i, x in ipairs(xs) do
    order = order_of(space, a, x, b, ys[i], i)
    if order > 0 then return false end
  end
  return order ~= 0 or space.case.objective.is_front or is_before_or_same(a, b)
end

--- Whether a point is at most another in all that is minimised, and of one objective not behind it
--- where both have the same.
---@param space einloom.Space
---@param a table figures with their candidate
---@param b table
---@return boolean
function exact.at_most(space, a, b)
  return at_most(space, a, goals.values(space.case, a), b, goals.values(space.case, b))
end

-- The figures of a point become those of the analysis.
local function complete(point, figures)
  point.energy, point.latency = figures.energy:tonumber(), figures.latency:tonumber()
  point.usage = figures.usage
  return goals.complete(point)
end

-- Why there is no answer: what doubles let through does not fit.
local function refuse(rule)
  local memory = rule:match "^capacity:(.*)$"
  errors.raise("search", ("%s: the search counts in doubles, which are exact below 2^53 only; what "
    .. "it found breaks the rule %s, and it cannot tell what keeps to it"):format(
    memory and "bits of " .. memory or "limits", rule), { name = memory })
end

-- Points that keep to all rules, with exact figures; the rule that another one breaks.
local function valid(space, points)
  local list, broken = {}, nil
  for _, point in ipairs(points) do
    local figures, rule = exact.of(space, point)
    if figures then list[#list + 1] = complete(point, figures) else broken = rule end
  end
  return list, broken
end

-- Whether a comes before b: by what is minimised, then energy, then latency.
local function is_before(space, a, b)
  local x, y = exact.of(space, a), exact.of(space, b)
  local order = compare(values_of(space, x)[1], values_of(space, y)[1])
  if order == 0 then order = compare(x.energy, y.energy) end
  if order == 0 then order = compare(x.latency, y.latency) end
  return order < 0
end

--- Whether a point keeps to all rules and is at most another one in the one objective.
---@param space einloom.Space
---@param a table figures with their candidate
---@param b table
---@return boolean
function exact.is_as_good(space, a, b)
  local x, y = exact.of(space, a), exact.of(space, b)
  return x ~= nil and y ~= nil and compare(values_of(space, x)[1], values_of(space, y)[1]) <= 0
end

-- Of equal points the first stays.
local function front(space, points)
  local list, values = {}, {}
  for i, point in ipairs(points) do values[i] = goals.values(space.case, point) end
  local function is_at_most(i, k)
    return at_most(space, points[i], values[i], points[k], values[k])
  end
  for i, point in ipairs(points) do
    local beaten = false
    for k = 1, #points do
      beaten = k ~= i and is_at_most(k, i) and (k < i or not is_at_most(i, k))
      if beaten then break end
    end
    if not beaten then list[#list + 1] = point end
  end
  return list
end

--- The points that answer a search, with all their figures: the best one, or all of a front. Raises
--- where the search cannot tell.
---@param space einloom.Space
---@param points table[]
---@param so_far? boolean there is more to come: what breaks a rule is left out
---@return table[]
function exact.best(space, points, so_far)
  local is_front = space.case.objective.is_front
  local list, broken = valid(space, goals.close(space.case, points))
  if broken and not so_far and (is_front or #list == 0) then refuse(broken) end
  if is_front then return front(space, list) end
  local best = list[1]
  for _, point in ipairs(list) do
    if is_before(space, point, best) then best = point end
  end
  return { best }
end

return exact
