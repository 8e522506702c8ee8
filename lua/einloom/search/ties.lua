-- SPDX-License-Identifier: MIT
-- Which of the mappings with the least energy, or latency, is the answer: of the other figure the
-- least. A search that minimises one of the two knows nothing of the other, so the templates that
-- can have the least objective are explored once more, for both figures and with limits on them
-- (doc/formulas.md#search-ties).
-- Invariant: what is decided depends on the space and the least objective alone.

local engine = require "einloom.search.engine"

local ties = {}

local join_work, slack = 100000, 1e-9

-- What all uses but one of a shape add at least to the objective, by shape.
local function others_of(space, first)
  local least, others = {}, {}
  for shape in ipairs(space.shapes) do least[shape] = first:least(shape) end
  for shape in ipairs(space.shapes) do
    local sum, skipped = 0, false
    for _, other in ipairs(space.shape_of) do
      if other == shape and not skipped then skipped = true else sum = sum + least[other] end
    end
    others[shape] = sum
  end
  return others
end

-- An engine for both figures with the templates that can be part of a mapping within the limits.
local function second_engine(work, key, best, most)
  local space, first = work.search.space, work.engine
  local second = engine.new(space, work.search.options.threads, { both = true })
  local function pair(own, other)
    if key == "energy" then return { own, other } end
    return { other, own }
  end
  local others = others_of(space, first)
  second:limit(pair(best, most * (1 + slack)))
  for shape, sum in ipairs(others) do second:limit_shape(shape, pair(sum, 0)) end
  for i, unit in ipairs(work.units) do
    if first:least(unit.einsum, unit) + others[unit.einsum] <= best * (1 + slack) then
      second:add(unit, first)
      work.search:pause("ties", i, #work.units)
    end
  end
  return second
end

--- The point that answers a search which minimises energy or latency alone, of those that the first
--- join gave.
---@param work einloom.SearchWork explored and joined
---@param points table[]
---@return table[]
function ties.settle(work, points)
  local search, case = work.search, work.search.space.case
  local key, point = case.objective.names[1], points[1]
  if search.space.options.objective_tolerance > 0 then return points end
  if #case.objective.names > 1 or key ~= "energy" and key ~= "latency" or not point then
    return points
  end
  local figures = search.space:evaluate(point.candidate)
  local other = key == "energy" and "latency" or "energy"
  local second = second_engine(work, key, point[key], figures[other])
  for shape in ipairs(search.space.shapes) do
    while second:some(shape, work.at_once) do search:pause "ties" end
  end
  second:begin_join()
  while second:join_some(join_work) do search:pause "ties" end
  local settled = second:points()
  local found = settled[1]
  if not found or found[key] > point[key] * (1 + slack) then
    error "the least objective was not found again"
  end
  found[other], found.energy_delay_product = nil, nil
  return settled
end

return ties
