-- SPDX-License-Identifier: MIT
-- Several einsums whose buffers stand below dimensions: what is no mapping is no candidate, what is
-- one costs what its analysis says, and the strategies agree on the best.

local goals = require "einloom.search.goals"
local loom = require "einloom"
local rng = require "einloom.search.rng"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()
local rounds = math.tointeger(os.getenv "LOOM_ROUNDS" or "") or 4

local function pick(list) return list[math.random(#list)] end

local function traffic(energy)
  return { energy = energy, bits_per_action = 8, throughput = pick { math.huge, 1, 4 } }
end

local einsums = {
  { "T[m,n] = A[m] * C[n]", "Z[m] = T[m,n] * B[n]" },
  { "T[m] = A[m,n]", "Z[m,n] = T[m] * B[n]" },
  { "T[m] = A[m]", "U[m] = T[m] * W[n]", "Z[m] = U[m] * T[m]" },
}

-- A random space with its text.
local function random_space()
  local given, sizes = pick(einsums), { m = pick { 2, 3, 4 }, n = pick { 2, 4 } }
  local w = { sizes = sizes, bits = 8, table.unpack(given) }
  local nodes = { loom.memory { "DRAM", size = math.huge, read = traffic(pick { 1, 20 }),
    write = traffic(pick { 1, 20 }), keep = pick { "All", "~Intermediates" }, may_keep = "All" } }
  local count, bits = pick { 2, 3 }, pick { 16, 32, 48, 1000 }
  nodes[2] = loom.fanout { "CL", u = { count, multicast = pick { true, false } } }
  nodes[3] = loom.memory { "GLB", size = bits, read = traffic(1), write = traffic(1),
    keep = pick { "~DRAM", "Nothing" }, may_keep = "All" }
  nodes[4] = loom.compute { "MAC", energy = 0, throughput = 1 }
  local options = { minimise = pick { "energy", "latency", "energy_delay_product" },
    max_fused_loops = pick { 1, 2, math.huge },
    one_spatial_dim_per_variable = pick { true, false } }
  local ok, space = pcall(loom.space, loom.workload(w), loom.arch(nodes), options)
  assert(ok, tostring(space))
  local text = ("%s, m = %d, n = %d, CL = %d, GLB = %d, %s"):format(table.concat(given, "; "),
    sizes.m, sizes.n, count, bits, options.minimise)
  return space, text
end

local function analysed(space, mapping)
  local r = assert(loom.analyze(space.workload, space.arch, mapping, { model = "reference" }))
  local usage = {}
  for _, component in ipairs(space.arch.components) do
    if component.class == "Memory" then usage[component.name] = 0 end
  end
  for name, x in pairs(r:usage()) do usage[name] = x:tonumber() end
  return goals.complete {
    energy = assert(r:energy()):tonumber(), latency = r:latency():tonumber(), usage = usage,
  }
end

-- The best value, or nil, and what stopped the search.
local function best(space, options)
  local search = space:search(options)
  local point = search:run().points[1]
  return point and goals.values(space.case, point)[1] or nil, search:progress().stopped
end

describe("several einsums with a dimension above a buffer", function()
  it("have a best mapping on which strategies agree", function()
    math.randomseed(seed)
    local compared = 0
    for round = 1, rounds do
      local space, text = random_space()
      local about = ("LOOM_SEED=%d round %d: %s"):format(seed, round, text)
      local expected, stopped = best(space, { strategy = "exhaustive", evaluations = 5000 })
      if not stopped then
        compared = compared + 1
        local found = best(space, { strategy = "optimal" })
        assert.are.equal(expected == nil, found == nil, about)
        if expected then
          assert.is_true(math.abs(found - expected) <= 1e-9 * expected,
            ("%s: %.17g, not %.17g"):format(about, found, expected))
        end
      end
    end
    assert.is_true(compared > 0)
  end)

  it("have candidates that cost what their mapping costs", function()
    math.randomseed(seed)
    for round = 1, rounds do
      local space, text = random_space()
      local about = ("LOOM_SEED=%d round %d: %s"):format(seed, round, text)
      local random = rng.new(seed + round)
      local c = space:random(random)
      for _ = 1, 10 do
        if not c then break end
        local figures = space:evaluate(c)
        if figures then
          assert.are.same(analysed(space, space:mapping(c)), figures, about)
        end
        c = space:neighbour(c, random) or c
      end
    end
  end)

  it("are searched by every strategy", function()
    local io = { energy = 1, bits_per_action = 8 }
    local space = loom.space(
      loom.workload { sizes = { m = 4, n = 4 }, bits = 8, table.unpack(einsums[1]) },
      loom.arch {
        loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "~Intermediates",
          may_keep = "All" },
        loom.fanout { "CL", u = 3 },
        loom.memory { "GLB", size = 1000, read = io, write = io, may_keep = "All" },
        loom.compute { "MAC", energy = 0, throughput = 1 },
      }, { minimise = "energy" })
    local least = best(space, { strategy = "optimal" })
    assert.are.equal(84, least)
    assert.are.equal(least, (best(space, { strategy = "exhaustive" })))
    for _, name in ipairs { "annealing", "beam", "genetic", "hill_climbing", "random" } do
      local energy = best(space, { strategy = name, evaluations = 500 })
      assert.is_true(energy and energy >= least and energy < 2 * least, name)
    end
  end)
end)
