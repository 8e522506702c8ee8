-- SPDX-License-Identifier: MIT
-- Goes to the best of the mappings next to one for as long as that is better, then starts again
-- from a mapping drawn.

local hill_climbing = {
  defaults = { starts = math.huge }, ranges = { starts = { 1 } }, evaluations = 10000,
}

-- The best of the candidates next to one.
local function best_near(space, search, candidate)
  local best, least
  for other in space:neighbours(candidate) do
    local figures = search:try(other)
    local score = figures and search:score(figures)
    if score and (not least or score < least) then best, least = other, score end
  end
  return best, least
end

local function draw(space, search)
  local candidate = space:random(search.rng)
  if not candidate then return nil end
  return candidate, search:score(search:try(candidate))
end

function hill_climbing.search(space, search)
  local state = search.state or { starts = 0 }
  while true do
    if not state.candidate then
      if state.starts >= search.options.starts then return end
      search:checkpoint(state)
      state.candidate, state.score = draw(space, search)
      if not state.candidate then return end
      state.starts = state.starts + 1
    end
    search:checkpoint(state)
    local best, score = best_near(space, search, state.candidate)
    if best and score < state.score then
      state.candidate, state.score = best, score
    else
      state.candidate = nil
    end
  end
end

return hill_climbing
