-- SPDX-License-Identifier: MIT
-- Searches on machines that switch off what is not in use: what leaks depends on the tiles.

local goals = require "einloom.search.goals"
local loom = require "einloom"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()
local rounds = math.tointeger(os.getenv "LOOM_ROUNDS" or "") or 20

local function pick(list) return list[math.random(#list)] end

local function traffic()
  return {
    energy = pick { 1, 3, 5 }, bits_per_action = 8, throughput = pick { math.huge, 1, 3, 10 },
  }
end

local einsums = {
  { "Z[m] = A[m] * B[]" },
  { "Z[m,n] = A[m] * B[n]" },
  { "T[m] = A[m]", "Z[m] = T[m] * B[]" },
}

local function random_space(model)
  local given = pick(einsums)
  local w = { sizes = { m = pick { 2, 3, 4 }, n = 2 }, bits = 8, table.unpack(given) }
  if not w[1]:find "n" then w.sizes.n = nil end
  local text = ("%s, m = %d"):format(table.concat(given, "; "), w.sizes.m)
  local arch = loom.arch {
    loom.memory { "DRAM", size = math.huge, read = traffic(), write = traffic(), keep = "All",
      leak_power = pick { 0, 1 } },
    loom.fanout { "PE", x = {
      pick { 3, 4 }, power_gateable = pick { true, true, false }, multicast = pick { true, false },
    } },
    loom.memory { "Reg", size = pick { 16, 1024 }, read = traffic(), write = traffic(),
      leak_power = pick { 1, 10 }, may_keep = "All" },
    loom.compute { "MAC", energy = 0, throughput = pick { 1, 2 }, leak_power = pick { 0, 0.5 } },
  }
  return loom.space(loom.workload(w), arch, {
    model = model,
    minimise = pick { "energy", "energy_delay_product", { "energy", "latency" } },
  }), text
end

-- What is minimised of the points that a strategy finds, in one order.
local function found(space, strategy)
  local list = {}
  for i, point in ipairs(space:search({ strategy = strategy }):run().points) do
    list[i] = table.concat(goals.values(space.case, point), " ", 1)
  end
  table.sort(list)
  return list
end

describe("a search where instances are switched off", function()
  it("weighs what leaks by the tiles", function()
    local io, reg = { energy = 5, bits_per_action = 8 }, { energy = 1, bits_per_action = 8 }
    local space = loom.space(
      loom.workload { sizes = { m = 4 }, bits = 8, "Z[m] = A[m] * B[]" },
      loom.arch {
        loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "All" },
        loom.fanout { "PE", x = { 4, power_gateable = true, multicast = false } },
        loom.memory { "Reg", size = 1024, read = reg, write = reg, leak_power = 10,
          may_keep = "All" },
        loom.compute { "MAC", energy = 0, throughput = 1 },
      })
    -- B waits in one register: 9 transfers of 5, 5 of 1, and 4 steps that leak 10.
    assert.are.equal(90, space:search().points[1].energy)
  end)

  for _, model in ipairs { "reference", "exact" } do
    it("finds what trying all finds, model " .. model, function()
      math.randomseed(seed)
      for round = 1, rounds do
        local space, text = random_space(model)
        local about = ("LOOM_SEED=%d round %d: %s"):format(seed, round, text)
        assert.are.same(found(space, "exhaustive"), found(space, "optimal"), about)
      end
    end)
  end
end)
