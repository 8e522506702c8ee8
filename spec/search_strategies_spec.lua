-- SPDX-License-Identifier: MIT
-- Strategies: all find the best of tiny spaces, none says anything that is not so, and each goes on
-- where it was.

local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"
local read = require "einloom.case.search"
local run = require "einloom.search.run"
local small = require "support.small_cases"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

local space_of = require "support.recorded_searches".space

-- Strategies that draw, with options that make them short.
local drawing = {
  random = { evaluations = 200 },
  hill_climbing = { evaluations = 300 },
  annealing = { steps = 300 },
  genetic = { population = 16, generations = 10 },
  beam = { width = 12 },
}

local function with(name, more)
  local options = { strategy = name }
  for key, x in pairs(drawing[name] or {}) do options[key] = x end
  for key, x in pairs(more or {}) do options[key] = x end
  return options
end

local function value(s, point) return point and point[s.case.objective.names[1]] end

describe("strategies", function()
  it("are all tried here", function()
    local names = { "exhaustive", "optimal" }
    for name in pairs(drawing) do names[#names + 1] = name end
    table.sort(names)
    assert.are.same(names, run.strategies)
  end)

  it("are short", function()
    for _, name in ipairs(run.strategies) do
      local text = files.read(files.root("lua/einloom/search/strategies/" .. name .. ".lua"))
      local _, lines = text:gsub("\n", "")
      assert.is_true(lines < 120, name)
    end
  end)

  it("find the best of tiny spaces", function()
    math.randomseed(11)
    for _, kind in ipairs(small.kinds) do
      for round = 1, 2 do
        local s = read.space(read.from_json(small.case(kind)))
        local best = value(s, s:search().points[1])
        for name in pairs(drawing) do
          local point = s:search(with(name, { seed = round })):run().points[1]
          assert.are.equal(best, value(s, point), ("%s %s %d"):format(name, kind, round))
        end
      end
    end
  end)

  it("find the best of all there is when they try all there is", function()
    math.randomseed(seed)
    for _, kind in ipairs(small.all) do
      for round = 1, 5 do
        local raw = small.case(kind)
        local s = read.space(read.from_json(raw))
        local search = s:search { strategy = "exhaustive" }
        local all, best = search:run().points[1], s:search().points[1]
        local about = ("LOOM_SEED=%d %s %d %s"):format(seed, kind, round, core.json.encode(raw))
        assert.are.equal(best == nil, all == nil, about)
        if all then
          local a, b = value(s, all), value(s, best)
          assert.is_true(math.abs(a - b) <= 1e-12 * b, ("%s and %s: %s"):format(a, b, about))
        end
      end
    end
  end)

  -- Three einsums: chains, and tensors that two later einsums use.
  local shapes = {
    { "A: T[m,n] = X[m,k] * W[k,n]", "B: U[m,p] = T[m,n] * V[n,p]", "C: Z[m] = U[m,p]" },
    { "A: T[m,n] = X[m,k] * W[k,n]", "B: U[m,n] = T[m,n] * V[n]", "C: Z[m,n] = U[m,n] * T[m,n]" },
    { "A: T[m,n] = X[m,k] * W[k,n]", "B: U[m,p] = X[m,k] * V[k,p]", "C: Z[n,p] = T[m,n] * U[m,p]" },
    { "A: T[m] = X[m,k]", "B: U[m,k] = X[m,k] * T[m]", "C: Z[k] = U[m,k]" },
  }

  local function draw_three()
    local function pick(list) return list[math.random(#list)] end
    local function rate() return { energy = pick { 1, 5, 50 }, throughput = pick { 1, 4 } } end
    local shape = pick(shapes)
    local def, text = { sizes = {}, bits = pick { 8, 16 } }, table.concat(shape, " ")
    for i, einsum in ipairs(shape) do def[i] = einsum end
    for v in text:gmatch "%f[%w]%l" do def.sizes[v] = pick { 1, 2, v == "m" and 4 or 2 } end
    local machine = loom.arch {
      loom.memory { "Main", size = math.huge, read = rate(), write = rate(),
        keep = "~Intermediates", may_keep = "All" },
      loom.memory { "Buf", size = 8 * pick { 4, 6, 8, 12, 20, 40 }, read = rate(), write = rate(),
        keep = pick { "Intermediates & ~Main", "~Main", "Inputs" },
        may_keep = pick { "All", "Nothing" } },
      loom.compute { "MAC", energy = 1, throughput = pick { 1, 4 } },
    }
    return loom.space(loom.workload(def), machine, {
      minimise = pick { "energy", "latency", "edp" }, max_fused_loops = pick { math.huge, 1, 2 },
    })
  end

  it("agree on three einsums with fused loops", function()
    math.randomseed(seed)
    local compared = 0
    for round = 1, 25 do
      local s = draw_three()
      local search = s:search { strategy = "exhaustive", evaluations = 1000 }
      local all, best = search:run().points[1], s:search().points[1]
      local about = ("LOOM_SEED=%d %d"):format(seed, round)
      if not search.stopped then
        compared = compared + 1
        assert.are.equal(best == nil, all == nil, about)
        local a, b = value(s, all) or 0, value(s, best) or 0
        assert.is_true(math.abs(a - b) <= 1e-12 * b, ("%s and %s: %s"):format(a, b, about))
      elseif all then
        assert.is_true(value(s, all) >= value(s, best) * (1 - 1e-12), about)
      end
    end
    assert.is_true(compared >= 5)
  end)

  it("report what evaluating again confirms, and get better only", function()
    for name in pairs(drawing) do
      for _, id in ipairs { "chain2_simple_E", "ws3_mm_E", "conv1_two_E",
        "prime_two_imperfect_E" } do
        local s = space_of(id)
        local search, last = s:search(with(name, { seed = seed, evaluations = 100 })), math.huge
        local least = value(s, s:search().points[1])
        while search:step() do
          local best = search:progress().best
          if best then
            assert.is_true(value(s, best) <= last)
            last = value(s, best)
          end
        end
        local about = ("LOOM_SEED=%d %s %s"):format(seed, name, id)
        local point = search:found().points[1]
        local figures = s:evaluate(point.candidate)
        assert.are.equal(figures.energy, point.energy, about)
        assert.is_true(point.energy >= least * (1 - 1e-9), about)
        assert.is_true(search:progress().evaluated <= 100)
      end
    end
  end)

  it("give the same answer for the same seed, whole or in two parts", function()
    for name in pairs(drawing) do
      local function search(n) return space_of "chain2_two_E":search(with(name, { seed = n })) end
      local whole = search(5)
      local first = whole:run().points[1]
      local again = search(5):run().points[1]
      assert.are.same(first, again, name)
      local part = search(5)
      for _ = 1, 40 do part:step() end
      local saved = core.json.decode(core.json.encode(part:save()))
      local resumed = space_of "chain2_two_E":resume(saved)
      assert.are.same(first, resumed:run().points[1], name)
      assert.are.equal(whole:progress().evaluated, resumed:progress().evaluated, name)
      assert.are.equal(whole.rng.state, resumed.rng.state, name)
    end
  end)

  it("find points of a front", function()
    local s = space_of "trade_mm_EL"
    local front = s:search().points
    for name in pairs(drawing) do
      local points = s:search(with(name, { seed = 2, evaluations = 120 })):run().points
      assert.is_true(#points > 1, name)
      for _, point in ipairs(points) do
        local reached = false
        for _, other in ipairs(front) do
          reached = reached or other.energy <= point.energy * (1 + 1e-12)
            and other.latency <= point.latency * (1 + 1e-12)
        end
        assert.is_true(reached, name)
      end
    end
  end)

  it("search mappings with holes", function()
    local w = loom.workload {
      sizes = { m = 8, k = 4, n = 8 }, bits = 8, "Z[m,n] = A[m,k] * B[k,n]",
    }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge, read = { energy = 200 }, write = { energy = 200 },
        keep = "All" },
      loom.memory { "GLB", size = 512, read = { energy = 6 }, write = { energy = 6 },
        may_keep = "All" },
      loom.compute { "MAC", energy = 1 },
    }
    local s = loom.space(w, a, {
      mapping = loom.mapping "DRAM: A B Z\nfor m tile {2, 4}\nGLB: A Z\n*\nMAC",
    })
    local best = s:search().points[1]
    drawing.exhaustive = {}
    for name in pairs(drawing) do
      local found = s:search(with(name)):run()
      assert.are.equal(best.energy, found.points[1].energy, name)
      assert.is_truthy(tostring(found:mapping()):find "for m tile [24]\n")
      local c = found.points[1].candidate
      c.choices[1].tiles[1] = 8
      assert.are.equal("tiles:m", select(2, s:evaluate(c)))
    end
    drawing.exhaustive = nil
  end)

  it("refuse options that they do not have", function()
    local s = space_of "chain2_two_E"
    local function message(options)
      local ok, problem = pcall(s.search, s, options)
      assert.is_false(ok)
      return problem.message
    end
    assert.are.equal("no option 'widht'; nearest: width",
      message { strategy = "beam", widht = 3 })
    assert.are.equal("no strategy 'genetics'; nearest: genetic", message { strategy = "genetics" })
    assert.are.equal("width is an integer of at least 1, not 0",
      message { strategy = "beam", width = 0 })
    assert.are.equal("mutation is a finite number from 0 to 0.99, not 1",
      message { strategy = "genetic", mutation = 1 })
  end)
end)
