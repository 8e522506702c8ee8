-- SPDX-License-Identifier: MIT
-- Keeps a number of mappings and goes, round after round, to the best of them, of all that are next
-- to them and of some more that are drawn, until some rounds bring nothing better.

local beam = {
  defaults = { width = 8, patience = 4 }, ranges = { width = { 1 }, patience = { 1 } },
}

-- Adds candidates to a list with their scores, each once.
local function adder(space, search, list)
  local seen = {}
  for _, entry in ipairs(list) do seen[space:key(entry.candidate)] = true end
  return function(candidate)
    local key = space:key(candidate)
    if seen[key] then return end
    seen[key] = true
    local figures = search:try(candidate)
    if figures then list[#list + 1] = { candidate = candidate, score = search:score(figures) } end
  end
end

-- The best of a list, of equal ones those that came first.
local function narrow(list, width)
  for i, entry in ipairs(list) do entry.order = i end
  table.sort(list, function(a, b)
    if a.score ~= b.score then return a.score < b.score end
    return a.order < b.order
  end)
  return table.move(list, 1, math.min(#list, width), 1, {})
end

local function round(space, search, list)
  local all, width = table.move(list, 1, #list, 1, {}), search.options.width
  local add = adder(space, search, all)
  for _, entry in ipairs(list) do
    for other in space:neighbours(entry.candidate) do add(other) end
  end
  for _ = 1, width do
    local candidate = space:random(search.rng)
    if candidate then add(candidate) end
  end
  return narrow(all, width)
end

function beam.search(space, search)
  local state = search.state or { rounds = 0, without = 0, list = {} }
  while state.without < search.options.patience do
    search:checkpoint(state)
    local before = state.list[1] and state.list[1].score or math.huge
    state.list = round(space, search, state.list)
    local after = state.list[1] and state.list[1].score or math.huge
    state.without = after < before and 0 or state.without + 1
    state.rounds = state.rounds + 1
    search.done, search.phase = state.rounds, "rounds"
  end
end

return beam
