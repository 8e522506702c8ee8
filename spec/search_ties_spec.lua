-- SPDX-License-Identifier: MIT
-- Of the mappings with the least objective the one with the least other figure is found, the same
-- whatever way the search goes.

local brute = require "support.brute"
local core = require "einloom.core"
local files = require "support.files"
local read = require "einloom.case.search"
local small = require "support.small_cases"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
local slack = 1e-12

-- Energy and latency of the best of all mappings by one figure, then by the other, and how many
-- mappings have the least of the one.
local function best_of_all(case, space, key)
  local list, least, other, ties = {}, math.huge, math.huge, {}
  brute.mappings(space, function(mapping)
    local energy, latency = brute.evaluate(case, mapping)
    if energy then
      local own = key == "energy" and energy or latency
      list[#list + 1] = { own, key == "energy" and latency or energy }
      least = math.min(least, own)
    end
  end)
  for _, x in ipairs(list) do
    if x[1] <= least * (1 + slack) then
      other = math.min(other, x[2])
      ties[x[2]] = true
    end
  end
  local n = 0
  for _ in pairs(ties) do n = n + 1 end
  return least, other, n
end

describe("ties of a search", function()
  for _, key in ipairs { "energy", "latency" } do
    it("are decided by the other figure: " .. key, function()
      math.randomseed(seed)
      local n_ties = 0
      for _, kind in ipairs { "product", "window", "pair", "deep", "array" } do
        for round = 1, kind == "pair" and 2 or 4 do
          local raw = small.case(kind)
          raw.minimise = { key }
          local case = read.from_json(raw)
          local space = read.space(case)
          local least, other, n = best_of_all(case, space, key)
          local found = space:search()
          local about = ("seed %d, round %d, %s"):format(seed, round, core.json.encode(raw))
          if n > 1 then n_ties = n_ties + 1 end
          assert.are.equal(least < math.huge, found.points[1] ~= nil, about)
          if found.points[1] then
            local energy, latency = brute.evaluate(case, found:mapping())
            local got = key == "energy" and { energy, latency } or { latency, energy }
            assert.is_true(math.abs(got[1] - least) <= slack * least, about)
            assert.is_true(math.abs(got[2] - other) <= slack * other,
              ("%s of %s: %s"):format(got[2], other, about))
          end
        end
      end
      assert.is_true(key == "energy" or n_ties > 0, "seed " .. seed)
    end)
  end

  local function case_of(id)
    local all = core.json.decode(files.read(files.path "golden/search/cases.json")).cases
    for _, raw in ipairs(all) do
      if raw.id == id then return read.from_json(raw) end
    end
  end

  for _, id in ipairs { "chain2_simple_L", "chain2_two_E", "chain4_simple_E" } do
    it("do not depend on threads or on when the search was interrupted: " .. id, function()
      local case = case_of(id)
      local expected = tostring(read.space(case):search():mapping())
      assert.are.equal(expected, tostring(read.space(case):search { threads = 2 }:run():mapping()))
      local space = read.space(case)
      local search = space:search {}
      for _ = 1, math.random(20, 120) do search:step() end
      local saved = core.json.decode(core.json.encode(search:save()))
      assert.are.equal(expected, tostring(space:resume(saved):run():mapping()))
    end)
  end
end)
