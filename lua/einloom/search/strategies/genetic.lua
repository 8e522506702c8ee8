-- SPDX-License-Identifier: MIT
-- A population of mappings: of each generation the best go on, the others are descended from two
-- that won a draw, einsum by einsum, and changed here and there.

local genetic = {
  defaults = { population = 40, elite = 4, mutation = 0.7, generations = 50 },
  ranges = { population = { 2 }, elite = { 0 }, mutation = { 0, 0.99 }, generations = { 0 } },
}

local function by_score(a, b) return a.score < b.score end

local function first_generation(space, search)
  local people = {}
  while #people < search.options.population do
    local candidate = space:random(search.rng)
    if not candidate then return nil end
    people[#people + 1] = { candidate = candidate, score = search:score(search:try(candidate)) }
  end
  table.sort(people, by_score)
  return people
end

-- The better one of two.
local function draw_parent(people, rng)
  return people[math.min(rng:integer(#people), rng:integer(#people))].candidate
end

-- The first parent with the choices of the second one for some einsums, the others following.
local function cross(space, a, b, rng)
  for i in ipairs(space.steps) do
    if rng:integer(2) == 1 then a = space:replace(a, i, b.choices[i]) or a end
  end
  return a
end

local function descend(space, search, people)
  local rng = search.rng
  local child = cross(space, draw_parent(people, rng), draw_parent(people, rng), rng)
  while rng:real() < search.options.mutation do child = space:neighbour(child, rng) or child end
  return child
end

function genetic.search(space, search)
  local state = search.state or { generation = 0 }
  state.people = state.people or first_generation(space, search)
  if not state.people then return end
  while state.generation < search.options.generations do
    search:checkpoint(state)
    local elite = math.min(search.options.elite, search.options.population - 1)
    local people = table.move(state.people, 1, elite, 1, {})
    while #people < search.options.population do
      local child = descend(space, search, state.people)
      local figures = search:try(child)
      if figures then people[#people + 1] = { candidate = child, score = search:score(figures) } end
    end
    table.sort(people, by_score)
    state.people, state.generation = people, state.generation + 1
    search.done, search.total = state.generation, search.options.generations
    search.phase = "generations"
  end
end

return genetic
