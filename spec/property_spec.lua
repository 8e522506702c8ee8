-- SPDX-License-Identifier: MIT
-- Random nests: the enumerator against the model `reference` where that is right, the model `exact`
-- against the enumerator.  SEED repeats a run, EINLOOM_CASES says how many cases (300).

local front = require "support.front"
local model = require "einloom.model"
local nests = require "support.random_nests"

local cases = tonumber(os.getenv "EINLOOM_CASES") or 300
local seed = front.seed

local function with(options, more)
  local all = { allow_growing_tiles = true }
  for key, x in pairs(options) do all[key] = x end
  for key, x in pairs(more) do all[key] = x end
  return all
end

-- What differs between the walk of a case and another way to count it; nil where either refuses.
local function differences(case, analyze)
  local made, w, a, m, options = pcall(nests.make, case)
  if not made then return nil end
  local walked = model.simulate(w, a, m, with(options, { model = "exact" }))
  return walked and analyze(walked, case, w, a, m, options)
end

local function told(case, list)
  local lines = { "SEED=" .. seed, nests.source(case) }
  for i, x in ipairs(list) do
    lines[i + 2] = ("%s %s: analysed %s, walked %s"):format(x.where, x.field, tostring(x.exact),
      tostring(x.walked))
  end
  return table.concat(lines, "\n")
end

-- Draws cases until enough could be walked; fails with the first one that differs, made smaller.
local function compare(name, limits, analyze)
  local done = 0
  for i = 1, 3 * cases do
    local case = nests.case(front.random(seed * 1000003 + i), limits)
    local list = differences(case, analyze)
    if list then done = done + 1 end
    if list and #list > 0 then
      local small = nests.minimise(case, function(c)
        local found = differences(c, analyze)
        return found and found[1] and found[1].field == list[1].field
      end)
      error(name .. " " .. told(small, differences(small, analyze)), 0)
    end
    if done == cases then return end
  end
  error("most cases could not be walked", 0)
end

local function exact_at(point, walked, w, a, m, options)
  local analysed, message = model.analyze(w, a, m, with(options, { model = "exact" }))
  if not analysed then return { { where = message, field = "refused" } } end
  return nests.differences(analysed, walked, point)
end

local function exact(walked, _, ...) return exact_at(nil, walked, ...) end

local function symbolic(walked, case)
  local w, a, m, options, point = nests.make_symbolic(case)
  return exact_at(point, walked, w, a, m, options)
end

-- What is per parent unit is of all of them in the reference once a loop spreads the parents.
local not_in_reference = {
  max_per_parent_reads_to_parent = true, max_per_parent_writes_to_parent = true,
  min_per_parent_skipped_first_reads_to_parent = true, max_occupancy = true,
  n_loops_above = true, total_deliveries = true, total_departures = true,
  total_drains = true, fewest_live = true, instances = true,
}

-- The reference has one convention of each pair.  It refuses more: a reservation that sinks may
-- stand between loops that would have to be put in order.
local function reference(walked, _, w, a, m)
  local analysed = model.analyze(w, a, m, with({}, { model = "reference" }))
  if not analysed then return nil end
  local list = {}
  for _, x in ipairs(nests.differences(analysed, walked)) do
    if not not_in_reference[x.field] then list[#list + 1] = x end
  end
  return list
end

describe("random nests", function()
  it("of even tiles and plain indices are walked as the model reference says", function()
    compare("reference", { hardness = 1, even = true, lifetime = "scope", usual = true,
      fused = false }, reference)
  end)

  it("are counted by the model exact as they are walked", function()
    compare("exact", {}, exact)
  end)

  it("have formulas in the model exact that give what is walked at the point", function()
    compare("exact, symbolic,", {}, symbolic)
  end)
end)
