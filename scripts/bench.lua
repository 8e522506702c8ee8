-- SPDX-License-Identifier: MIT
-- Times of the binding and of analyses: medians of repeats beside a fixed calibration loop.
-- Run by scripts/bench, in the release build.
local core = require "einloom.core"

local REPEATS = 21

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

-- Seconds per call of f, the median of repeats of `count` calls each.
local function time(count, f)
  local times = {}
  for i = 1, REPEATS do
    local start = os.clock()
    for k = 1, count do f(k, i) end
    times[i] = (os.clock() - start) / count
  end
  return median(times)
end

local function report(what, value, unit)
  print(("%-44s %10.1f %s"):format(what, value, unit))
end

local function calibrate()
  local seconds = time(1, function()
    local x = 88172645463325252
    for _ = 1, 1000000 do
      x = x ~ x << 13
      x = x ~ x >> 7
      x = x ~ x << 17
    end
    return x
  end)
  report("calibration: one xorshift step in Lua", seconds * 1e9 / 1e6, "ns")
end

local function bench_expr()
  calibrate()
  local a, b = core.symbol "a", core.symbol "b"
  local held = { a + b, core.sum { a, b, 1, 2 * a, 3 * b, 5 } }
  local many = {}
  for i = 1, 500 do many[i] = core.symbol("s" .. i) end
  local six = { a, b, 1, 2 * a, 3 * b, 5 }
  local point = { a = 3, b = 4 }
  local fresh = 0
  local empty = time(100000, function() end)
  local function op(what, count, f)
    report(what, (time(count, f) - empty) * 1e9, "ns")
  end
  op("Lua: a + b, live result", 100000, function() return a + b end)
  op("Lua: a + b, new node", 4000, function()
    fresh = fresh + 1
    return many[fresh % 499 + 1] + many[fresh % 500 + 1]
  end)
  op("Lua: a == b", 100000, function() return a == b end)
  op("Lua: t[e]", 100000, function() return point[a] end)
  op("Lua: sum of six terms", 50000, function() return core.sum(six) end)
  op("Lua: e{a = 3, b = 4}", 50000, function() return held[2](point) end)
  op("Lua: tostring", 20000, function() return tostring(held[2]) end)
  op("Lua: parse", 20000, function() return core.parse "3*a + 4*b + 8" end)
end

-- In both models, otherwise with the leniency of the options.
local function bench_nest(what, count, w, a, m, options)
  for _, name in ipairs { "reference", "exact" } do
    local chosen = { model = name }
    for key, value in pairs(options or {}) do
      if key:match "^allow_" then chosen[key] = value end
    end
    assert(core.analyze(w, a, m, chosen))
    report(("%s, %s"):format(what, name),
      time(count, function() return core.analyze(w, a, m, chosen) end) * 1e6, "us per analysis")
  end
end

local function bench_reuse(templates)
  calibrate()
  package.path = "spec/?.lua;" .. package.path
  local nests = require "support.nests"
  local w, a = nests.workload { m = 64, n = 32, k = 16 }, nests.arch()
  local M0, N0 = core.symbol("M0", { divides = 64 }), core.symbol("N0", { divides = 32 })
  bench_nest("matmul, 12 nodes, 2 symbols", 500, w, a, nests.mapping { m = M0, n = N0 })
  bench_nest("matmul, 12 nodes, numbers", 500, w, a, nests.mapping { m = 16, n = 8 })
  local fresh = 0
  report("matmul, new mapping and symbols, built too", time(500, function()
    fresh = fresh + 1
    local m = nests.mapping { m = core.symbol("M" .. fresh), n = core.symbol("N" .. fresh) }
    return core.analyze(w, a, m)
  end) * 1e6, "us per analysis")
  local case, model = require "einloom.case", require "einloom.model"
  for _, c in ipairs(case.load(templates)) do
    if #c.raw.mapping.nodes == 23 then
      local cw, ca, cm = model.compile(c.workload, c.arch, c.mapping)
      bench_nest(c.id .. ", 23 nodes", 200, cw, ca, cm, c.options)
    end
  end
end

-- Every breakdown of the costs of a result.
local function all_costs(r)
  for _, by in ipairs { "component", "tensor", "action" } do assert(r:energy { by = by }) end
  for _, by in ipairs { "einsum", "component" } do assert(r:latency { by = by }) end
  for _, by in ipairs { "memory", "tensor", "step", "dimension" } do assert(r:usage { by = by }) end
  assert(r:energy() and r:latency() and r:bound_by() and r:constraints() and r:actions())
end

local function bench_costs()
  calibrate()
  local loom = require "einloom"
  local function load(path) return dofile("examples/" .. path .. ".lua") end
  local machine, mappings = load "arch/tpu_v4i", load "mapping/tpu_block"
  for _, name in ipairs { "gpt3", "llama3" } do
    local workload = load("workload/" .. name) "prefill"
    for _, way in ipairs { "unfused", "fused", "pipelined" } do
      local mapping = mappings(name, "prefill", way)
      local function analyze() return assert(loom.analyze(workload, machine, mapping)) end
      local what = ("%s, %s, %d einsums: "):format(name, way, #analyze().einsums)
      report(what .. "counts", time(20, analyze) * 1e6, "us")
      report(what .. "and costs", time(20, function() all_costs(analyze()) end) * 1e6, "us")
    end
  end
end

-- Seconds the other tool took for a recorded case, the best that was recorded.
local function recorded_seconds(raw)
  local wall = raw.peer.wall_s
  if not wall then return raw.other_peer.wall_s end
  return (wall.make_min or wall.make) + (wall.join_min or wall.join)
end

local function ratio_of(raw, point)
  local key = raw.minimise[1]
  local expected = raw.best_known or raw.peer.best
  return #raw.minimise == 1 and ("%.7f"):format(point[key] / expected[key]) or "front"
end

-- Searches of recorded cases: seconds of the processor, beside the recorded ones; the first figure
-- of the best point relative to the recorded one.
local function bench_map(files)
  local read = require "einloom.case.search"
  local sum, n = 0, 0
  for _, path in ipairs(files) do
    for _, case in ipairs(read.load(path)) do
      collectgarbage()
      local start = os.clock()
      local found = read.space(case):search()
      local seconds, other = os.clock() - start, recorded_seconds(case.raw)
      print(("%-32s %9.4f s, recorded %9.3f s: %6.0f times; result %s"):format(case.id, seconds,
        other, other / seconds, ratio_of(case.raw, found.points[1])))
      sum, n = sum + math.log(other / seconds), n + 1
    end
  end
  report("geometric mean", math.exp(sum / n), "times")
end

-- How many times a second f runs, over a quarter of a second.
local function rate_of(f)
  local n, start = 0, os.clock()
  repeat
    f()
    n = n + 1
  until os.clock() - start > 0.25
  return n / (os.clock() - start)
end

-- What searches of one's own are made of, on some cases: the first mapping drawn, mappings drawn
-- and evaluated one by one, and points of the last template in blocks.
local function bench_candidates(files)
  local read, rng = require "einloom.case.search", require "einloom.search.rng"
  local wanted = { chain1_simple_E = true, chain2_simple_E = true, ws3_mm_E = true, tl_mb_E = true,
    conv1_two_E = true, reg_eyeriss_gpt6p7_dec_fused = true }
  for _, path in ipairs(files) do
    for _, case in ipairs(read.load(path)) do
      if wanted[case.id] then
        local random, start = rng.new(1), os.clock()
        local space = read.space(case)
        local candidate = space:random(random)
        local first = os.clock() - start
        local templates = space:templates()
        local columns = templates[#templates]:blocks()()
        print(("%-32s first drawn %6.1f ms, %6.0f drawn/s, %6.0f evaluated/s, in blocks %9.0f/s")
          :format(case.id, first * 1e3, rate_of(function() space:random(random) end),
          rate_of(function() space:evaluate(candidate) end),
          #columns[1] * rate_of(function() templates[#templates]:evaluate(columns) end)))
      end
    end
  end
end

-- How near strategies come to the least energy within some evaluations, and how fast they go.
local function bench_strategies(files)
  local read, run = require "einloom.case.search", require "einloom.search.run"
  for _, case in ipairs(read.load(files[#files])) do
    local space = read.space(case)
    local least = space:search().points[1].energy
    for _, name in ipairs(run.strategies) do
      if name ~= "optimal" and name ~= "exhaustive" then
        local start = os.clock()
        local search = space:search { strategy = name, seed = 1, evaluations = 5000 }
        local energy = search:run().points[1].energy
        local n = search:progress().evaluated
        print(("%-16s %-15s %5d evaluated, %6.0f/s: %.4f of the least energy"):format(case.id, name,
          n, n / (os.clock() - start), energy / least))
      end
    end
  end
end

local command, file = ...
if command == "expr" then
  bench_expr()
elseif command == "costs" then
  bench_costs()
elseif command == "map" then
  bench_map { select(2, ...) }
  bench_candidates { select(2, ...) }
  bench_strategies { select(2, ...) }
else
  bench_reuse(file)
end
