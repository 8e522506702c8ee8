-- SPDX-License-Identifier: MIT
-- The enumerator on loop nests that were counted point by point elsewhere, and on nests small
-- enough to count by hand.

local core = require "einloom.core"
local counted = require "support.counted"
local files = require "support.files"
local loom = require "einloom"
local reports = require "support.reports"

describe("loom.simulate counts what is there in report", function()
  for _, report in ipairs(reports) do
    for _, variant in ipairs(report.variants) do
      for _, expected in ipairs(variant.counts) do
        local network = ({ [true] = ", multicast", [false] = ", unicast" })[expected.multicast]
        it(("%s %s (%s%s)"):format(report.id, variant.name, expected.lifetime, network or ""),
          function() counted.check_report(loom.simulate, report, variant, expected) end)
      end
    end
  end
end)

describe("loom.simulate counts what is there in golden/exact", function()
  local data = core.json.decode(files.read(files.path "golden/exact/fixed_mappings.json"))
  for _, case in ipairs(data.cases) do
    for _, rule in ipairs { "delta", "whole" } do
      it(("%s (%s)"):format(case.id, rule), function()
        counted.check_fixed(loom.simulate, case, rule)
      end)
    end
  end
end)

-- Main and Glb; an array of Regs below Glb; below its array a compute unit.
local function machine(network)
  local x = { 8 }
  for key, value in pairs(network or {}) do x[key] = value end
  return loom.arch {
    loom.memory { "Main", size = math.huge },
    loom.memory { "Glb", size = math.huge },
    loom.memory { "Reg", size = math.huge, spatial = { X = x, Y = x } },
    loom.compute { "MAC" },
  }
end

local function simulate(workload, mapping, options, network)
  return loom.simulate(loom.workload(workload), machine(network), loom.mapping(mapping), options)
end

local function check(expected, buffet)
  for name, value in pairs(expected) do
    assert.equal(value, buffet[name]:tointeger(), name)
  end
end

describe("loom.simulate by hand", function()
  local window = { sizes = { p = 4, r = 2 }, bits = 1, "O[p] = I[p + r] * W[r]" }

  it("lets a unit idle where its clipped interval has no piece", function()
    -- 5 values in pieces of 3: units with 3 and 2; the last walks 3 steps, the other idles in one.
    local r = assert(simulate({ sizes = { m = 5 }, bits = 1, "Z[m] = A[m]" }, [[
      Main: A Z
      par m tile 3 on Reg.X
        Reg: A Z
        for m
          MAC
    ]]))
    assert.equal(5, r.compute.total_ops:tointeger())
    assert.equal(3, r.compute.max_per_unit_ops:tointeger())
    assert.equal(3, r.compute.max_latency:tointeger())
    assert.equal(2, r.compute.instances:tointeger())
    check({ total_reads_to_parent = 5, max_occupancy = 3, total_deliveries = 5 }, r.Reg.A)
  end)

  it("keeps the overlap of windows where contents are retained", function()
    local mapping = "Main: I W O\nfor p\n Glb: I W O\n for r\n  MAC"
    local dropped = assert(simulate(window, mapping))
    check({ total_reads_to_parent = 8, total_deliveries = 8 }, dropped.Glb.I)
    local r = assert(simulate(window, mapping, { lifetime = "retain" }))
    check({ total_reads_to_parent = 5, total_deliveries = 5, max_occupancy = 2 }, r.Glb.I)
    check({ total_reads_to_parent = 2 }, r.Glb.W)
    check({ total_writes_to_parent = 4, total_departures = 4, total_reads_to_parent = 4,
      total_skipped_first_reads_to_parent = 4 }, r.Glb.O)
  end)

  it("lets a node say what it retains", function()
    local mapping = "Main: I W O\nfor p\n Glb: I (retain)\n Glb: W O\n for r\n  MAC"
    local r = assert(simulate(window, mapping))
    check({ total_reads_to_parent = 5 }, r.Glb.I)
    check({ total_reads_to_parent = 8 }, r.Glb.W)
  end)

  it("reads once for all units where the network multicasts", function()
    local mapping = "Main: I W O\npar p tile 2 on Reg.X\n Reg: I W O\n for p, r\n  MAC"
    local r = assert(simulate(window, mapping))
    check({ total_reads_to_parent = 5, total_deliveries = 6 }, r.Reg.I)
    check({ total_reads_to_parent = 2, total_deliveries = 4 }, r.Reg.W)
    r = assert(simulate(window, mapping, nil, { multicast = false }))
    check({ total_reads_to_parent = 6, total_deliveries = 6 }, r.Reg.I)
    check({ total_reads_to_parent = 4, total_deliveries = 4 }, r.Reg.W)
  end)

  it("adds partial sums on the way where the network does", function()
    -- Two units reduce into the same 4 values, twice: the second time they get the old sums.
    local w = { sizes = { m = 4, k = 4 }, bits = 1, "Z[m] = A[m, k]" }
    local mapping = "Main: A Z\nfor k tile 2\n par k on Reg.X\n  Reg: A Z\n  for m\n   MAC"
    local both = { total_reads_to_parent = 8, total_skipped_first_reads_to_parent = 4,
      total_deliveries = 16, total_writes_to_parent = 8, total_departures = 16 }
    check(both, assert(simulate(w, mapping)).Reg.Z)
    local no_tree = assert(simulate(w, mapping, nil, { adder_tree = false }))
    check({ total_reads_to_parent = 16, total_skipped_first_reads_to_parent = 8,
      total_writes_to_parent = 16 }, no_tree.Reg.Z)
    check({ total_reads_to_parent = 8, total_skipped_first_reads_to_parent = 4,
      total_deliveries = 8, total_departures = 16 },
      assert(simulate(w, mapping, { partial_sums = "one_unit" })).Reg.Z)
  end)

  it("counts reads for writing back, or does not", function()
    local w = { sizes = { m = 4 }, bits = 1, "Z[m] = A[m]" }
    local mapping = "Main: A Z\nGlb: A Z\nfor m\n MAC"
    check({ total_read_actions = 8, total_drains = 4, total_skipped_first_read_actions = 4 },
      assert(simulate(w, mapping)).Glb.Z)
    check({ total_read_actions = 4, total_drains = 4 },
      assert(simulate(w, mapping, { drain_reads = false })).Glb.Z)
  end)

  -- Unit 0 has the most reads, 10 and all first ones; unit 1 has 5, one of them first.
  it("knows the unit that is busiest without first touches, in both models", function()
    local w = loom.workload { sizes = { p = 3, r = 5 }, bits = 8, "O[p - 2*r] = I[p] * W[r]" }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge },
      loom.fanout { "PE", x = 2 },
      loom.memory { "L1", size = math.huge, read = { bits_per_action = 8, throughput = 1 } },
      loom.compute { "MAC" },
    }
    local m = loom.mapping [[
      DRAM: I, W, O
      par p tile 2 on PE.x
      L1: O
      for r, p
      MAC
    ]]
    for _, count in ipairs { loom.simulate, loom.analyze } do
      local r = count(w, a, m, { drain_reads = false })
      assert.equal("4 4 10 6", table.concat({ tostring(r.L1.O.reads),
        tostring(r.L1.O.max_per_unit_reads), tostring(r.L1.O.max_per_unit_read_actions),
        tostring(r.L1.O.min_per_unit_skipped_first_read_actions) }, " "))
      assert.equal("4", tostring(r:latency()))
    end
  end)

  it("takes any index", function()
    local function elements(index, sizes)
      local w = { sizes = sizes or { p = 4, r = 3 }, bits = 1, ("O[p] = I[%s]"):format(index) }
      w.sizes = sizes or { p = 4, r = 3 }
      local loops = w.sizes.r and "for p, r" or "for p"
      if w.sizes.r then w[1] = ("O[p] = I[%s] * W[r]"):format(index) end
      local holders = w.sizes.r and "I W O" or "I O"
      local r = assert(simulate(w, ("Main: %s\nGlb: %s\n%s\n MAC"):format(holders, holders, loops)))
      assert.equal(r.Glb.I.max_occupancy, r.Glb.I.total_reads_to_parent)
      return r.Glb.I.max_occupancy:tointeger()
    end
    assert.equal(6, elements "p + r")
    assert.equal(6, elements "p - r + 7")
    assert.equal(12, elements "3*p + r")
    assert.equal(12, elements "4*p + r")
    assert.equal(6, elements "3*p - 3*r")
    assert.equal(12, elements "p, p + r")
    assert.equal(4, elements("p, p", { p = 4 }))
    assert.equal(2, elements("p // 2", { p = 4 }))
    assert.equal(3, elements("p % 3", { p = 4 }))
    assert.equal(3, elements "(p + r) // 2")
    assert.equal(2, elements "(p - r) % 2")
    assert.equal(3, elements("p // 2 + p % 2", { p = 4 }))
  end)

  it("computes an einsum again in loops over variables that it does not have", function()
    local w = {
      sizes = { t = 3, q = 2 }, bits = 1, "T[t] = I[t]", "O[q] = T[t] * W[q]",
    }
    local text = "Main: I W O\nfor q\n Glb: T\n sequential\n  branch\n   for t\n    T on MAC\n"
      .. "  branch\n   for t\n    O on MAC"
    local r = assert(simulate(w, text))
    assert.equal(6, r.T.compute.total_ops:tointeger())
    check({ total_reads_to_parent = 6, total_skipped_first_reads_to_parent = 6,
      total_writes_to_parent = 6 }, r.T.MAC.T)
    check({ total_reads_to_parent = 6 }, r.T.MAC.I)
  end)

  it("walks overlapping tiles again", function()
    -- 5 values, tiles of 3 every 2: 0-2, 2-4.
    local w = { sizes = { m = 5 }, bits = 1, "Z[m] = A[m]" }
    local r = assert(simulate(w, "Main: A Z\nfor m tile 3 step 2\n Glb: A Z\n for m\n  MAC"))
    assert.equal(6, r.compute.total_ops:tointeger())
    check({ total_reads_to_parent = 6, max_occupancy = 3 }, r.Glb.A)
    -- What is in both tiles was updated when the second one comes.
    check({ total_reads_to_parent = 6, total_skipped_first_reads_to_parent = 5 }, r.Glb.Z)
  end)

  it("passes on what a toll is asked for", function()
    local a = loom.arch {
      loom.memory { "Main", size = math.huge },
      loom.toll { "Bus" },
      loom.memory { "Reg", size = math.huge, spatial = { X = { 4, multicast = false } } },
      loom.compute { "MAC" },
    }
    local r = assert(loom.simulate(loom.workload { sizes = { m = 4, k = 2 }, bits = 1,
      "Z[m] = A[m, k] * B[k]" }, a, loom.mapping [[
      Main: A B Z
      toll Bus: B
      par m on Reg.X
        Reg: B
        for k
          MAC
    ]]))
    check({ total_reads_to_parent = 8, total_deliveries = 8, max_occupancy = 0,
      total_read_actions = 8 }, r.Bus.B)
    check({ total_reads_to_parent = 8, total_deliveries = 8 }, r.Reg.B)
  end)

  it("wants numbers, and not too many points", function()
    local r, message, kind = simulate({ sizes = { m = loom.symbol "M" }, bits = 1, "Z[m] = A[m]" },
      "Main: A Z\nfor m\n MAC")
    assert.is_nil(r)
    assert.equal("domain", kind)
    assert.truthy(message:find("the size of 'm' is M", 1, true))
    local none, large, limit = simulate({ sizes = { m = 100000, k = 100000 }, bits = 1,
      "Z[m] = A[m, k]" }, "Main: A Z\nfor m, k\n MAC")
    assert.is_nil(none)
    assert.equal("limit", limit)
    assert.truthy(large:find("10000000000 points", 1, true))
  end)

  it("takes symbols at a point", function()
    local w = { sizes = { m = loom.symbol "M" }, bits = 1, "Z[m] = A[m]" }
    local text = "Main: A Z\nfor m tile M0\n Glb: A Z\n for m\n  MAC"
    local r = assert(simulate(w, text, { at = { M = 7, M0 = 3 } }))
    check({ max_occupancy = 3, total_reads_to_parent = 7 }, r.Glb.A)
    assert.equal(7, r.compute.total_ops:tointeger())
    assert.has_error(function() simulate(w, text, { at = { M = 7, M0 = 0 } }) end)
    assert.has_error(function() simulate(w, text, { at = { M1 = 7 } }) end)
    assert.has_error(function() simulate(w, text, { at = 3 }) end)
  end)

  it("has options of its own", function()
    local w = { sizes = { m = 4 }, bits = 1, "Z[m] = A[m]" }
    for message, options in pairs {
      ["options of simulate: unknown key 'junk'; known: allow_growing_tiles"] = { junk = 1 },
      ["options of simulate: unknown key 'model'"] = { model = "reference" },
      ["options of simulate: table expected, got number"] = 3,
      ["options of simulate: lifetime: scope or retain expected, got 1"] = { lifetime = 1 },
      ["options of simulate: allow_unknown_tensors: boolean expected, got number"] =
        { allow_unknown_tensors = 1 },
    } do
      local ok, problem = pcall(simulate, w, "Main: A Z\nfor m\n MAC", options)
      assert.is_false(ok)
      assert.equal("bad_argument", problem.kind)
      assert.matches(message, tostring(problem), 1, true)
    end
  end)

  it("refuses kinds of holders of one's own", function()
    local w = { sizes = { m = 4 }, bits = 1, "Z[m] = A[m]" }
    local r, message = simulate(w, "Main: A Z\ncustom cache Glb: A\nfor m\n MAC",
      { analyzers = { cache = function(_, _, stats) return stats end } })
    assert.is_nil(r)
    assert.truthy(message:find("cache", 1, true))
  end)
end)
