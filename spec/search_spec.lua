-- SPDX-License-Identifier: MIT
-- Searching: nothing is better among all mappings of small random cases, nothing worse than what
-- other tools recorded.

local brute = require "support.brute"
local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"
local read = require "einloom.case.search"
local small = require "support.small_cases"
local verify = require "einloom.verify"

local function golden(name) return files.path("golden/search/" .. name .. ".json") end

local function decode(name) return core.json.decode(files.read(golden(name))) end

describe("a search of small cases", function()
  local seed = os.time()

  local function objective(case, energy, latency)
    local key = case.minimise[1]
    return key == "energy" and energy or key == "latency" and latency or energy * latency
  end

  -- The best of all mappings, and how many there are.
  local function best_of_all(case, s)
    local best, n = math.huge, 0
    brute.mappings(s, function(mapping)
      n = n + 1
      local energy, latency = brute.evaluate(case, mapping)
      if energy then best = math.min(best, objective(case, energy, latency)) end
    end)
    return best, n
  end

  for k, kind in ipairs(small.kinds) do
    it("finds the best of all mappings: " .. kind, function()
      math.randomseed(seed + k)
      for round = 1, kind == "pair" and 3 or 6 do
        local raw = small.case(kind)
        local case = read.from_json(raw)
        local s = read.space(case)
        local best, n = best_of_all(case, s)
        local found = s:search()
        local point = found.points[1]
        local got = point and point[case.minimise[1]] or math.huge
        local about = ("seed %d, round %d, %d mappings, %s"):format(seed + k, round, n,
          core.json.encode(raw))
        assert.is_true(n > 0, about)
        assert.is_true(got <= best * (1 + 1e-12) and got >= best * (1 - 1e-12),
          ("%s found, %s best: %s"):format(got, best, about))
        if point then
          local energy, latency = brute.evaluate(case, found:mapping(point))
          assert.are.equal(got, objective(case, energy, latency), about)
        end
      end
    end)
  end
end)

describe("recorded searches", function()
  -- Those that are quick under a sanitizer too; scripts/bench map takes all.
  it("are matched", function()
    for _, name in ipairs { "cases", "cases_timeloop" } do
      local raw, quick = decode(name), setmetatable({}, core.json.array)
      for _, case in ipairs(raw.cases) do
        local counts = case.peer.counts
        if not counts or counts.partial_evaluated < 100000 then quick[#quick + 1] = case end
      end
      raw.cases = quick
      files.scratch(core.json.encode(raw), function(path)
        local lines = {}
        local summary = verify.files({ path }, "search", function(l) lines[#lines + 1] = l end)
        assert.are.equal("", table.concat(lines, "\n"))
        assert.are.equal(#quick, summary.passed)
      end)
    end
  end)

  it("cost what was recorded", function()
    local lines = {}
    local summary = verify.files({ golden "cases", golden "cases_timeloop" }, "totals",
      function(l) lines[#lines + 1] = l end)
    assert.are.equal("", table.concat(lines, "\n"))
    assert.are.equal(81, summary.passed)
  end)

  it("fail when they are spoiled", function()
    local raw = decode "cases"
    local case = raw.cases[1]
    raw.cases = setmetatable({ case }, core.json.array)
    local function failures(layer)
      return files.scratch(core.json.encode(raw), function(path)
        return verify.files({ path }, layer, function() end).failed
      end)
    end
    case.peer.best.energy = case.peer.best.energy * (1 - 1e-4)
    assert.are.equal(1, failures "search")
    assert.are.equal(1, failures "totals")
    case.peer.best.energy = case.peer.best.energy / (1 - 1e-4)
    assert.are.equal(0, failures "search")
    case.limits.max_shared_lops = 1
    assert.are.equal(1, failures "search")
  end)
end)

describe("a search", function()
  local function case_of(id)
    for _, raw in ipairs(decode "cases".cases) do
      if raw.id == id then return raw end
    end
  end

  it("gives the same answer again", function()
    local function text()
      local found = read.space(read.from_json(case_of "chain4_simple_E")):search()
      return tostring(found:mapping(found.points[1]))
    end
    assert.are.equal(text(), text())
  end)

  it("finds nothing where nothing fits", function()
    local raw = case_of "chain1_two_M128K64G8192_E"
    raw.hardware.levels[2].capacity_bits = 16
    assert.are.same({}, read.space(read.from_json(raw)):search().points)
  end)

  it("refuses limits that it does not know", function()
    local raw = case_of "nvdla_matmuls_E"
    local path = raw.hardware.paths[1]
    path.hold[path.levels[1]].no_refetch = {}
    assert.has_error(function() read.from_json(raw) end)
    path.hold[path.levels[1]].no_refetch = nil
    assert.is_table(read.from_json(raw))
  end)

  it("spreads a variable over one dimension of a level where that is asked for", function()
    local case = read.from_json(decode "cases_timeloop".cases[1])
    local all = read.space(case):search().points[1]
    case.options.one_spatial_dim_per_variable = true
    local found = read.space(case):search()
    local text = tostring(found:mapping(found.points[1]))
    assert.is_true(found.points[1].energy > all.energy)
    assert.is_nil(text:find("Array.X.*Array.Y") and text:find("par k.*par k"))
  end)

  it("takes einsums of one shape once", function()
    local found = read.space(read.from_json(case_of "chain8_simple_E")):search()
    assert.are.equal(3, found.n_explored)
    local result = loom.analyze(found.space.workload, found.space.arch,
      found:mapping(found.points[1]), { model = "reference" })
    assert.are.equal(found.points[1].energy, result:energy():tonumber())
  end)
end)
