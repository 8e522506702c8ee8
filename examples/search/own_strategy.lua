-- SPDX-License-Identifier: MIT
-- A strategy of one's own: keep going to a mapping next to the best one, and draw a new one where
-- that has not helped for a while. Its result beside the proven best.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local example = dofile(here .. "machine.lua")

local function stubborn(space, search)
  local best, score, failures
  while true do
    local candidate
    if best and failures < 40 then
      candidate = space:neighbour(best, search.rng)
    else
      candidate, score, failures = space:random(search.rng), math.huge, 0
    end
    local figures = candidate and search:try(candidate)
    if figures and search:score(figures) < score then
      best, score, failures = candidate, search:score(figures), 0
    else
      failures = failures + 1
    end
  end
end

local space = loom.space(example.two, example.machine(64 * 1024), { minimise = "energy" })
local search = space:search { strategy = stubborn, seed = 1, evaluations = 2000 }
local last = math.huge
while search:step() do
  local p = search:progress()
  if p.best and p.best.energy < last * 0.8 then
    last = p.best.energy
    print(("after %4d mappings: energy %d"):format(p.evaluated, last))
  end
end

local found, optimum = search:found(), space:search()
print(("found %d, the least is %d"):format(found.points[1].energy, optimum.points[1].energy))
print(found:mapping())
