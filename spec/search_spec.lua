-- SPDX-License-Identifier: MIT
-- Searching: nothing is better among all mappings of small random cases, nothing worse than what
-- other tools recorded.

local brute = require "support.brute"
local core = require "einloom.core"
local engine = require "einloom.search.engine"
local files = require "support.files"
local loom = require "einloom"
local nothing = require "einloom.search.nothing"
local read = require "einloom.case.search"
local small = require "support.small_cases"
local verify = require "einloom.verify"

local function golden(name) return files.path("golden/search/" .. name .. ".json") end

local function decode(name) return core.json.decode(files.read(golden(name))) end

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()

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

describe("a search of small cases", function()
  for k, kind in ipairs(small.all) do
    it("finds the best of all mappings: " .. kind, function()
      math.randomseed(seed + k)
      local n_all = 0
      for round = 1, small.is_pair(kind) and 3 or kind == "bounded" and 12 or 6 do
        local raw = small.case(kind)
        local case = read.from_json(raw)
        local s = read.space(case)
        local best, n = best_of_all(case, s)
        local found = s:search()
        local point = found.points[1]
        local got = point and point[case.minimise[1]] or math.huge
        local about = ("seed %d, round %d, %d mappings, %s"):format(seed + k, round, n,
          core.json.encode(raw))
        n_all = n_all + n
        assert.is_true(got <= best * (1 + 1e-12) and got >= best * (1 - 1e-12),
          ("%s found, %s best: %s"):format(got, best, about))
        if point then
          local energy, latency = brute.evaluate(case, found:mapping(point))
          assert.are.equal(got, objective(case, energy, latency), about)
        end
      end
      assert.is_true(n_all > 0, "seed " .. seed + k)
    end)
  end
end)

describe("private holders above loops that einsums share", function()
  local function access(tensor, bits, ranks)
    return { tensor = tensor, index = ranks, bits_per_value = bits }
  end

  -- W wants n above it and m below, Z the other way round: they meet below both holders.
  it("meet in an order that neither would choose alone", function()
    math.randomseed(1)
    local raw = small.case "pair"
    raw.minimise, raw.limits.max_shared_loops = { "energy" }, "inf"
    raw.workload.einsums[1].iterate, raw.workload.einsums[2].iterate =
      { m = 2, k = 2, n = 2 }, { m = 2, n = 2, q = 1 }
    local one, two = raw.workload.einsums[1], raw.workload.einsums[2]
    one.reads = { access("X", 16, { M = "m", K = "k" }), access("W", 8, { K = "k", N = "n" }) }
    one.writes = { access("Y", 16, { M = "m", N = "n" }) }
    two.reads = { access("Y", 16, { M = "m", N = "n" }), access("V", 8, { N = "n", Q = "q" }) }
    two.writes = { access("Z", 16, { M = "m", Q = "q" }) }
    for i, energy in ipairs { 5, 2 } do
      local level = raw.hardware.levels[i]
      level.leak_power_per_instance = 0
      level.actions = {
        read = { energy = energy, per_second = "inf", bits = 1 },
        write = { energy = 1.5 * energy, per_second = "inf", bits = 1 },
      }
    end
    raw.hardware.levels[2].capacity_bits = 64
    for i, name in ipairs { "W", "Z" } do
      raw.hardware.paths[i].hold.Buf.must_hold = { "Y", name }
    end
    local found = read.space(read.from_json(raw)):search()
    assert.are.equal(2396, found.points[1].energy)
  end)

  -- Y is above the split in the mapping, so that W, held in the memory above it, sinks to k and r.
  it("sink past a holder that goes above a split", function()
    math.randomseed(1)
    local raw = small.case "stacked"
    raw.minimise, raw.limits.max_shared_loops = { "energy" }, 1
    raw.workload.einsums = {
      { name = "A", iterate = { p = 4, k = 2, r = 2 }, persistent = {},
        reads = { access("X", 8, { H = "p + r" }), access("W", 16, { R = "r", K = "k" }) },
        writes = { access("Y", 8, { P = "p", K = "k" }) } },
      { name = "B", iterate = { p = 4, k = 2 }, persistent = {},
        reads = { access("Y", 8, { P = "p", K = "k" }), access("V", 16, { K = "k" }) },
        writes = { access("Z", 8, { P = "p" }) } },
    }
    for i, energy in ipairs { 5, 2, 0.5 } do
      local level = raw.hardware.levels[i]
      level.leak_power_per_instance, level.capacity_bits = 0, ({ "inf", 64, 32 })[i]
      level.actions = {
        read = { energy = energy, per_second = "inf", bits = 1 },
        write = { energy = energy, per_second = "inf", bits = 1 },
      }
    end
    for i, own in ipairs { { "X", "W" }, { "V", "Z" } } do
      local hold = raw.hardware.paths[i].hold
      hold.Main = { must_hold = own, may_hold = own }
      hold.Buf.must_hold = { own[3 - i] }
      hold.Reg.must_hold = { "Y", own[2] }
    end
    local case = read.from_json(raw)
    local s = read.space(case)
    assert.are.equal(4056, best_of_all(case, s))
    assert.are.equal(4056, s:search().points[1].energy)
  end)
end)

describe("a space without mappings", function()
  local bits = 1e6

  local function with_buffer(raw, size)
    raw.hardware.levels[2].capacity_bits = size
    return read.from_json(raw)
  end

  -- The least that a mapping needs of the second memory while everything else fits.
  local function least_of_all(raw)
    local case, least = with_buffer(raw, bits), math.huge
    brute.mappings(read.space(case), function(mapping)
      local energy, _, r = brute.evaluate(case, mapping)
      if energy then
        least = math.min(least, r:usage { by = "memory" }.Buf:tonumber() * bits)
      end
    end)
    return least
  end

  for k, kind in ipairs { "product", "window", "pair", "deep" } do
    it("says how much would do: " .. kind, function()
      math.randomseed(seed + 100 + k)
      for _ = 1, kind == "pair" and 2 or 4 do
        local raw = small.case(kind)
        local about = ("seed %d, %s"):format(seed + 100 + k, core.json.encode(raw))
        local least = least_of_all(raw)
        local s = read.space(with_buffer(raw, 1))
        local tried = engine.new(s)
        tried:run()
        local falls, sum = tried:falls(), 0
        for name, n in pairs(falls.rules) do
          if not name:find "^capacity_joint" then sum = sum + n end
        end
        assert.are.equal(falls.size, sum + falls.points, about)
        if least < math.huge then
          assert.are.equal(0, tried.built:results(), about)
          local why = nothing.explain(s, falls)[1]
          assert.are.same({ "Buf", least }, { why.subject, math.floor(why.least + 0.5) }, about)
          assert.is_truthy(why.rule:find "^capacity", about)
          assert.are.equal(1, #read.space(with_buffer(raw, least)):search().points, about)
          assert.are.equal(0, #read.space(with_buffer(raw, least - 1)):search().points, about)
        end
      end
    end)
  end

  it("says how many instances would do", function()
    math.randomseed(seed)
    local raw = small.case "array"
    raw.hardware.levels[2].capacity_bits, raw.hardware.levels[4].capacity_bits = bits, bits
    local dims = raw.hardware.paths[1].fanout.Array
    dims[1].loops_must_reuse = {}
    dims[1].loop_bounds = { { variables = { "k", "m" }, op = "product==", value = 4 } }
    raw.workload.einsums[1].iterate.m, raw.hardware.levels[3].fanout[1].count = 2, 3
    dims[1].count = 3
    local s = read.space(read.from_json(raw))
    local tried = engine.new(s)
    tried:run()
    local found
    for _, fall in ipairs(nothing.explain(s, tried:falls())) do
      if fall.rule == "fanout" and fall.subject == "Array.X" then found = fall.least end
    end
    assert.are.equal(0, tried.built:results())
    assert.are.equal(4, found, core.json.encode(raw))
  end)
end)

describe("recorded searches", function()
  -- Those that are quick under a sanitizer too; scripts/bench map takes all.
  it("are matched", function()
    for _, name in ipairs { "cases", "cases_random", "cases_timeloop" } do
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
    local summary = verify.files(
      { golden "cases", golden "cases_random", golden "cases_timeloop" }, "totals",
      function(l) lines[#lines + 1] = l end)
    assert.are.equal("", table.concat(lines, "\n"))
    assert.are.equal(121, summary.passed)
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

  it("takes what a path says of a level for what the level says", function()
    local function energy(widths, own)
      local raw = case_of "chain1_simple_E"
      local level, path = raw.hardware.levels[2], raw.hardware.paths[1]
      level.bits_per_value, path.overrides = widths, own and { [level.name] = own }
      return read.space(read.from_json(raw)):search().points[1].energy
    end
    local plain, wide = energy(), energy { T0 = 16, W0 = 16 }
    assert.is_true(wide > plain)
    assert.are.equal(plain, energy({ T0 = 16, W0 = 16 }, { bits_per_value = { T0 = 8 } }))
    assert.are.equal(plain, energy({ T0 = 16, W0 = 16 }, { bits_per_value = {} }))
    assert.are.equal(wide, energy({ T0 = 16, W0 = 16 }, {}))
  end)

  it("refuses bounds of loops that differ by einsum", function()
    local raw = case_of "nvdla_matmuls_E"
    local function bound(i, value)
      raw.hardware.paths[i].fanout.ProcessingElement[1].loop_bounds = {
        { variables = { "m" }, op = "<=", value = value },
      }
    end
    bound(1, 2)
    assert.has_error(function() read.from_json(raw) end)
    bound(2, 3)
    assert.has_error(function() read.from_json(raw) end)
    bound(2, 2)
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

  it("names rules as the options that they come from", function()
    local function rules(case)
      local tried, list = engine.new(read.space(case)), {}
      tried:run()
      for name in pairs(tried:falls().rules) do list[#list + 1] = name end
      table.sort(list)
      return list
    end
    assert.are.same({ "bounded", "dominated", "fanout:ProcessingElement.reuse_input",
      "max_fused_loops", "max_fused_loops_per_rank_variable", "min_usage" },
      rules(read.from_json(case_of "nvdla_matmuls_E")))
    local case = read.from_json(decode "cases_timeloop".cases[1])
    case.options.one_spatial_dim_per_variable = true
    assert.are.same({ "bounded", "dominated", "fanout:Array.X", "fanout:Array.Y",
      "one_spatial_dim_per_variable" }, rules(case))
  end)

  it("takes einsums of one shape once", function()
    local found = read.space(read.from_json(case_of "chain8_simple_E")):search()
    assert.are.equal(3, found.n_explored)
    local result = loom.analyze(found.space.workload, found.space.arch,
      found:mapping(found.points[1]), { model = "reference" })
    assert.are.equal(found.points[1].energy, result:energy():tonumber())
  end)
end)
