-- SPDX-License-Identifier: MIT
-- What a search says no mapping is below: there as soon as all templates are, never above the best,
-- never less than it was, and the best itself at the end.

local core = require "einloom.core"
local files = require "support.files"
local goals = require "einloom.search.goals"
local read = require "einloom.case.search"
local small = require "support.small_cases"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()

-- Follows a search of one best mapping; how much of the best its first bound was, or nil.
local function follow(case, about)
  local space = read.space(case)
  local search, bounds = space:search {}, {}
  while search:step() do
    local p = search:progress()
    if p.bound then
      bounds[#bounds + 1] = goals.values(space.case, p.bound)[1]
    else
      assert.is_true(p.phase == "einsums" or p.phase == "templates", about)
    end
  end
  local point = search:found().points[1]
  if not point then return nil end
  local best = goals.values(space.case, point)[1]
  local before = 0
  for _, bound in ipairs(bounds) do
    assert.is_true(bound >= before, ("%s after %s: %s"):format(bound, before, about))
    assert.is_true(bound <= best * (1 + 1e-12), ("%s above %s: %s"):format(bound, best, about))
    before = bound
  end
  local last = goals.values(space.case, search:progress().bound)[1]
  assert.is_true(#space.case.objective.names > 1 or space.case.objective.product
    or math.abs(last - best) <= 1e-12 * best, ("%s, not %s: %s"):format(last, best, about))
  return (bounds[1] or 0) / best
end

describe("the bound of a search", function()
  it("never is above the best: small random cases", function()
    math.randomseed(seed)
    local kinds = table.move(small.special, 1, #small.special, #small.kinds + 1,
      table.move(small.kinds, 1, #small.kinds, 1, {}))
    local n_found = 0
    for _, kind in ipairs(kinds) do
      for round = 1, 12 do
        local raw = small.case(kind)
        local about = ("seed %d, round %d, %s"):format(seed, round, core.json.encode(raw))
        if follow(read.from_json(raw), about) then n_found = n_found + 1 end
      end
    end
    assert.is_true(n_found > 0, "seed " .. seed)
  end)

  it("never is above the best: recorded searches", function()
    local n, n_first = 0, 0 -- searches, and those with a bound before the first sketch
    for _, name in ipairs { "cases", "cases_timeloop" } do
      local all = core.json.decode(files.read(files.path("golden/search/" .. name .. ".json")))
      for _, raw in ipairs(all.cases) do
        local wall = raw.peer and raw.peer.wall_s
        local seconds = wall and wall.make + wall.join or math.huge
        if #raw.minimise == 1 and (seconds < 15 or raw.other_peer and raw.id ~= "tl_gpt_E") then
          local first = follow(read.from_json(raw), raw.id)
          n, n_first = n + 1, n_first + (first > 0 and 1 or 0)
        end
      end
    end
    assert.is_true(n_first > 0.8 * n)
  end)
end)
