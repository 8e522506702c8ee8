-- SPDX-License-Identifier: MIT
-- Tiles that need not divide, of temporal loops, spatial loops and both: nothing is better among
-- all mappings of small random cases, and all that searches make of such spaces stays in them.

local brute = require "support.brute"
local certificates = require "support.certificates"
local every_tile = require "support.every_tile"
local goals = require "einloom.search.goals"
local loom = require "einloom"
local read = require "einloom.case.search"
local rng = require "einloom.search.rng"
local uneven = require "support.uneven"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time() % 1000000

local function value_of(space, point) return goals.values(space.case, point)[1] end

local function is_close(a, b) return a == b or math.abs(a - b) <= 1e-12 * b end

-- The least of the objective over all mappings, and how many there are.
local function best_of_all(space)
  local best, n = math.huge, 0
  brute.mappings(space, function(mapping)
    n = n + 1
    local energy, latency = brute.evaluate(space.case, mapping)
    if energy then
      local figures = goals.complete { energy = energy, latency = latency }
      best = math.min(best, value_of(space, figures))
    end
  end)
  return best, n
end

-- Fails unless the point costs what its mapping costs, to the last digit.
local function check_figures(space, point, about)
  local energy, latency = brute.evaluate(space.case, space:mapping(point.candidate))
  assert.is_truthy(energy, about)
  if point.energy then assert.are.equal(energy, point.energy, about) end
  if point.latency then assert.are.equal(latency, point.latency, about) end
end

describe("uneven tiles (LOOM_SEED=" .. seed .. ")", function()
  for k, kind in ipairs(uneven.kinds) do
    it("are searched to the best of all mappings: " .. kind, function()
      math.randomseed(seed + k)
      for round = 1, kind == "pair" and 1 or 2 do
        for _, setting in ipairs(uneven.settings) do
          local raw = uneven.case(kind, setting)
          local about = uneven.text(seed, round, raw)
          local space = read.space(read.from_json(raw))
          local best, n = best_of_all(space)
          local found = space:search()
          local got = found.points[1] and value_of(space, found.points[1]) or math.huge
          assert.is_true(is_close(got, best), ("%s found, %s best of %d: %s"):format(got, best, n,
            about))
          if found.points[1] then check_figures(space, found.points[1], about) end
          local report =
            assert(certificates.check(assert(certificates.lines(space, found.points))), about)
          local claimed = report.claims[1] and report.claims[1][1] or math.huge
          assert.is_true(is_close(claimed, best), about)
        end
      end
    end)
  end

  it("fill dimensions with a least share", function()
    math.randomseed(seed + 20)
    local n = 0
    for round = 1, 2 do
      for _, setting in ipairs(uneven.settings) do
        local raw = uneven.ask(uneven.case(round % 2 == 0 and "array" or "bounded", setting))
        local about = uneven.text(seed, round, raw)
        local space = read.space(read.from_json(raw))
        local found, best = space:search(), every_tile.best(space)
        local got = found.points[1] and value_of(space, found.points[1]) or math.huge
        assert.is_true(is_close(got, best), ("%s found, %s best: %s"):format(got, best, about))
        if found.points[1] then
          n = n + 1
          check_figures(space, found.points[1], about)
        end
        local candidate = space:random(rng.new(seed))
        if candidate then
          assert.is_true(value_of(space, space:evaluate(candidate)) >= best * (1 - 1e-12), about)
        end
      end
    end
    assert.is_true(n > 0)
  end)

  it("are gone through one by one, drawn, and changed within the space", function()
    math.randomseed(seed + 30)
    for round = 1, 2 do
      for k, kind in ipairs { "product", "array", "bounded", "pair" } do
        local raw = uneven.case(kind, uneven.settings[(round + k) % 3 + 1])
        local about = uneven.text(seed, round, raw)
        local space, random = read.space(read.from_json(raw)), rng.new(seed + k)
        local found = space:search()
        local best = found.points[1] and value_of(space, found.points[1]) or math.huge
        if kind ~= "pair" then
          local all = space:search{ strategy = "exhaustive" }:run().points[1]
          local value = all and value_of(space, all) or math.huge
          assert.is_true(is_close(value, best), ("%s of all, %s: %s"):format(value, best, about))
        end
        local c = space:random(random)
        if c then
          check_figures(space, goals.complete(setmetatable({ candidate = c },
            { __index = space:evaluate(c) })), about)
          for other in space:neighbours(c) do
            local figures, rule = space:evaluate(other)
            assert.is_true(figures ~= nil or rule:find "^capacity:" ~= nil or rule == "join", about)
            assert.is_true(not figures or value_of(space, figures) >= best * (1 - 1e-12), about)
          end
        end
      end
    end
  end)

  it("are found by changing others", function()
    math.randomseed(seed + 40)
    local uneven_found = 0
    for round = 1, 10 do
      local raw = uneven.case("array", uneven.settings[3])
      raw.workload.einsums[1].iterate = { m = 5, k = 1, n = 3 }
      local space = read.space(read.from_json(raw))
      local about = uneven.text(seed, round, raw)
      local start = space:search().points[1]
      local seen, waiting, n = {}, { start and start.candidate }, 0
      while #waiting > 0 and n < 60 do
        local c = table.remove(waiting, 1)
        n = n + 1
        for other in space:neighbours(c) do
          local key = space:key(other)
          if not seen[key] then
            seen[key] = true
            waiting[#waiting + 1] = other
            local text = tostring(space:mapping(other))
            for tile in text:gmatch "m tile (%d+)" do
              if 5 % math.tointeger(tile) ~= 0 then uneven_found = uneven_found + 1 end
            end
          end
        end
      end
      assert.is_true(not start or n > 0, about)
    end
    assert.is_true(uneven_found > 0)
  end)
end)

describe("coarse tiles (LOOM_SEED=" .. seed .. ")", function()
  it("are searched to the best of every choice of them", function()
    math.randomseed(seed + 50)
    local settings = table.move(uneven.settings, 1, 3, 2, { { "perfect", "perfect" } })
    for k, kind in ipairs { "product", "window", "array", "deep", "bounded" } do
      for _, setting in ipairs(settings) do
        local raw = uneven.case(kind, setting)
        local asked = kind == "bounded" and math.random(2) == 1
        if asked then uneven.ask(raw) end
        local e = raw.workload.einsums[1]
        local v = kind == "window" and "c" or "m"
        e.iterate[v] = math.random(4, 9)
        if v == "m" then e.iterate.n = 2 end
        local case, coarseness = read.from_json(raw), ({ 1.5, 2, 2.5, 3 })[math.random(4)]
        case.options.tiling_coarseness = coarseness
        local about = coarseness .. " " .. uneven.text(seed, k, raw)
        local space = read.space(case)
        local found, best = space:search(), every_tile.best(space)
        local got = found.points[1] and value_of(space, found.points[1]) or math.huge
        assert.is_true(is_close(got, best), ("%s found, %s best: %s"):format(got, best, about))
        local c = space:random(rng.new(seed))
        for other in c and space:neighbours(c) or function() end do
          local figures, rule = space:evaluate(other)
          assert.is_true(figures ~= nil or rule:find "^capacity:" ~= nil, about)
          assert.is_true(not figures or value_of(space, figures) >= best * (1 - 1e-12), about)
        end
        if not asked then
          local all = space:search{ strategy = "exhaustive" }:run().points[1]
          assert.is_true(is_close(all and value_of(space, all) or math.huge, best), about)
          assert(certificates.check(assert(certificates.lines(space, found.points))), about)
        end
      end
    end
  end)

  it("are shared by einsums", function()
    math.randomseed(seed + 60)
    for round = 1, 3 do
      local raw = uneven.case("pair", uneven.settings[round])
      for _, e in ipairs(raw.workload.einsums) do
        e.iterate.m, e.iterate.n, e.iterate.k = 4, 2, nil
      end
      raw.workload.einsums[1].iterate.k, raw.workload.einsums[2].iterate.q = 1, 1
      local case = read.from_json(raw)
      case.options.tiling_coarseness = 3
      local space = read.space(case)
      local found = space:search().points[1]
      local all = space:search{ strategy = "exhaustive" }:run().points[1]
      assert.is_true(is_close(all and value_of(space, all) or math.huge,
        found and value_of(space, found) or math.huge), uneven.text(seed, round, raw))
    end
  end)

  it("of which a mapping with holes says which are not left out", function()
    local w = loom.workload { sizes = { m = 8 }, bits = { All = 8 }, "Z[m] = A[m]" }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge, keep = "All", read = { energy = 9 },
        write = { energy = 9 } },
      loom.memory { "Buf", size = 64, keep = "All", read = { energy = 1 }, write = { energy = 1 } },
      loom.compute { "MAC", energy = 1, throughput = 1 },
    }
    local mapping = loom.mapping "DRAM: A Z\nfor m tile 2\nBuf: A Z\n*\nMAC"
    local space = assert(loom.space(w, a, { tiling_coarseness = 3, mapping = mapping }))
    assert.is_truthy(tostring(space:search():mapping()):find("m tile 2", 1, true))
    assert.has_error(function() loom.space(w, a, { tiling_coarseness = 0.5 }) end)
  end)
end)

describe("what is within a tolerance (LOOM_SEED=" .. seed .. ")", function()
  local function searched(raw, minimise, options, threads)
    local case = read.from_json(raw)
    for name, x in pairs(options or {}) do case.options[name] = x end
    case.options.minimise = minimise
    local space = read.space(case)
    return space, space:search{ strategy = "optimal", threads = threads or 1 }:run()
  end

  -- Whether a point is at most so many times another one in everything that is minimised.
  local function matches(space, p, x, up, usage_up)
    local a, b = goals.values(space.case, p), goals.values(space.case, x)
    local names = space.case.objective.names
    for k, value in ipairs(a) do
      local share = names[math.min(k, #names)] == "usage" and usage_up or up
      if value > b[k] * (1 + share) * (1 + 1e-12) then return false end
    end
    return true
  end

  it("is matched by what is given, and proved", function()
    math.randomseed(seed + 70)
    for round, kind in ipairs { "product", "array", "deep", "pair", "window", "bounded" } do
      for _, minimise in ipairs { { "energy" }, { "latency" }, { "energy_delay_product" },
        { "energy", "latency" }, { "energy", "usage" } } do
        local raw = uneven.case(kind, uneven.settings[round % 3 + 1])
        local options = {
          objective_tolerance = ({ 0.05, 0.2, 0.5 })[math.random(3)],
          resource_usage_tolerance = 0.25,
        }
        local about = table.concat(minimise, ",") .. uneven.text(seed, round, raw)
        local space, all = searched(raw, minimise)
        local loose, given = searched(raw, minimise, options)
        for _, x in ipairs(all.points) do
          local matched = false
          for _, p in ipairs(given.points) do
            matched = matched or matches(space, p, x, options.objective_tolerance, 0.25)
          end
          assert.is_true(matched, about)
        end
        for _, p in ipairs(given.points) do check_figures(loose, p, about) end
        local _, again = searched(raw, minimise, options, 2)
        assert.are.equal(#given.points, #again.points)
        for i, p in ipairs(given.points) do
          assert.are.equal(loose:key(p.candidate), loose:key(again.points[i].candidate), about)
        end
        if all.points[1] and (#loose.steps == 1 or minimise[2] ~= "usage") then
          local lines = assert(certificates.lines(loose, given.points), about)
          local report = assert(certificates.check(lines), about)
          assert.are.equal(options.objective_tolerance, report.tolerance)
          -- What is further from the best is no claim, nor is this one of a narrower tolerance.
          local point = certificates.random_point(loose, rng.new(seed + round))
          if point and #minimise == 1
            and not matches(space, point, all.points[1], options.objective_tolerance + 1e-6, 0) then
            assert.is_nil(certificates.lines(loose, { point }), about)
          end
          if not matches(space, given.points[1], all.points[1], 1e-6, 0) and #minimise == 1 then
            lines[1].options.objective_tolerance = 0
            assert.is_nil(certificates.check(lines), about)
          end
        end
      end
    end
  end)
end)

describe("a mapping with holes and uneven tiles", function()
  local w = loom.workload {
    sizes = { m = 7, k = 2, n = 3 }, bits = { All = 8 }, "Z[m,n] = A[m,k] * B[k,n]",
  }
  local a = loom.arch {
    loom.memory { "DRAM", size = math.huge, keep = "All", read = { energy = 100 },
      write = { energy = 100 } },
    loom.memory { "Buf", size = 256, keep = "All", read = { energy = 1 }, write = { energy = 1 } },
    loom.fanout { "PE", x = 4 },
    loom.compute { "MAC", energy = 1, throughput = 1 },
  }

  -- What is best of the loops over m with some tiles, which stand in the mapping; nil: nothing.
  local function best(outer, inner, options)
    local text = ("DRAM: A B Z; Buf: A B Z; for m tile %s; par m tile %s on PE.x; *; MAC")
      :format(outer, inner)
    local space = loom.space(w, a, {
      minimise = "edp", mapping = loom.mapping((text:gsub("; ", "\n"))),
      temporal_factors = options[1], spatial_factors = options[2],
    })
    local point = space and space:search().points[1]
    if not point then return nil end
    check_figures(space, point, text)
    return point.energy_delay_product
  end

  it("is completed by the best of all tiles of the loops that it names", function()
    for _, setting in ipairs(uneven.settings) do
      local least, n = math.huge, 0
      for outer = 1, 7 do
        for inner = 1, outer do
          local value = best(outer, inner, setting)
          -- A loop that stands there with one trip is the outermost one all the same.
          assert.is_true(value == nil or outer % inner == 0, outer .. " " .. inner)
          n = n + (value and 1 or 0)
          least = math.min(least, value or math.huge)
        end
      end
      assert.is_true(n > 4)
      assert.are.equal(least, best("?", "?", setting))
    end
  end)
end)
