-- SPDX-License-Identifier: MIT
-- Simulated annealing: goes to a mapping next to the present one when that is better, and now and
-- then when it is worse, the less so the more and the later. A temperature of t takes a mapping
-- that is worse by the factor exp(t) with a probability of 1/e. Some steps jump anywhere, since not
-- all mappings can be reached from one.

local annealing = {
  defaults = { hot = 1.0, cold = 0.001, steps = 5000, jump = 0.02 },
  ranges = { hot = { 1e-9 }, cold = { 1e-9 }, steps = { 1 }, jump = { 0, 1 } },
}

local function taken(search, before, after, temperature)
  local worse = math.log(after / before)
  return worse <= 0 or search.rng:real() < math.exp(-worse / temperature)
end

local function draw_next(space, search, candidate)
  local other
  if search.rng:real() >= search.options.jump then
    other = space:neighbour(candidate, search.rng)
  end
  return other or space:random(search.rng)
end

function annealing.search(space, search)
  local hot, cold, steps = search.options.hot, search.options.cold, search.options.steps
  local state = search.state or { step = 0 }
  if not state.candidate then
    local candidate = space:random(search.rng)
    if not candidate then return end
    state.score, state.candidate = search:score(search:try(candidate)), candidate
  end
  while state.step < steps do
    search:checkpoint(state)
    local other = draw_next(space, search, state.candidate)
    local figures = other and search:try(other)
    local temperature = hot * (cold / hot) ^ (state.step / steps)
    if figures and taken(search, state.score, search:score(figures), temperature) then
      state.candidate, state.score = other, search:score(figures)
    end
    state.step = state.step + 1
    search.done, search.total, search.phase = state.step, steps, "steps"
  end
end

return annealing
