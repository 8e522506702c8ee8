-- SPDX-License-Identifier: MIT
-- Which of the mappings with the least objective is the answer: of the other figure the least, then
-- of the use of each memory, then the first of the space. A search that minimises one of these
-- knows nothing of the others, so the templates that can have the least objective are explored
-- again, for what comes next and with limits on what is decided (doc/formulas.md#search-ties).
-- Invariant: what is decided depends on the space and the least objective alone.

local engine = require "einloom.search.engine"
local exact = require "einloom.search.exact"

local ties = {}

local join_work, slack = 100000, 1e-9

-- What all uses but one of a shape add at least to each figure, by shape.
local function others_of(space, from, n_figures)
  local least, others = {}, {}
  for shape in ipairs(space.shapes) do least[shape] = from:least(shape) end
  for shape in ipairs(space.shapes) do
    local sums, skipped = {}, false
    for k = 1, n_figures do sums[k] = 0 end
    for _, other in ipairs(space.shape_of) do
      if other == shape and not skipped then
        skipped = true
      else
        for k = 1, n_figures do sums[k] = sums[k] + least[other][k] end
      end
    end
    others[shape] = sums
  end
  return others
end

-- Figures of an engine, by their place in its lists.
local function figures_of(from)
  local names = {}
  for _, name in ipairs { "energy", "latency" } do
    if from.asked[name] then names[#names + 1] = name end
  end
  return names
end

-- What is left of a search where energy and latency have limits: an engine for both, and as wanted
-- for what comes after them, with the templates that can be part of a mapping within the limits.
local function within(work, from, limits, ranked)
  local space, names = work.search.space, figures_of(from)
  local others = others_of(space, from, #names)
  local function is_within(unit)
    local own = from:least(unit.einsum, unit)
    for k, name in ipairs(names) do
      if own[k] + others[unit.einsum][k] > limits[name] * (1 + slack) then return false end
    end
    return true
  end
  local next_engine = engine.new(space, work.search.options.threads,
    { both = true, ranked = ranked }, from)
  next_engine:limit({ limits.energy, limits.latency },
    { ranked or from.asked.energy, ranked or from.asked.latency })
  for shape, sums in ipairs(others) do
    local sum = { energy = 0, latency = 0 }
    for k, name in ipairs(names) do sum[name] = sums[k] end
    next_engine:limit_shape(shape, { sum.energy, sum.latency })
  end
  for i, unit in ipairs(work.units) do
    if from:has(unit) and is_within(unit) then
      next_engine:add(unit, work.engine)
      work.search:pause("ties", i, #work.units)
    end
  end
  for shape in ipairs(space.shapes) do
    while next_engine:some(shape, work.at_once) do work.search:pause "ties" end
  end
  next_engine:begin_join()
  while next_engine:join_some(join_work) do work.search:pause "ties" end
  return next_engine
end

-- Whether a point of another engine is there, no worse than one that is known.
local function check(found, limits)
  for _, name in ipairs { "energy", "latency" } do
    if not found or found[name] > limits[name] * (1 + slack) then
      error("the least " .. name .. " was not found again")
    end
  end
end

--- The point that answers a search for one best mapping, of those that the join gave. Where a share
--- of the best is enough nothing is decided.
---@param work einloom.SearchWork explored and joined
---@param points table[]
---@return table[]
function ties.settle(work, points)
  local space, point, from = work.search.space, points[1], work.engine
  local names = figures_of(from)
  if space.options.objective_tolerance > 0 or space.case.objective.is_front or #names == 0
    or not point then
    return points
  end
  local limits = { energy = point.energy, latency = point.latency }
  if #names == 1 then
    from = within(work, from, limits, false)
    local found = from:least_figures()
    check(found, limits)
    limits = { energy = found.energy, latency = found.latency }
  end
  local last = within(work, from, limits, true)
  local first = last:first(function(other) return exact.is_as_good(space, other, point) end)
  return first and exact.best(space, { first }) or { point }
end

return ties
