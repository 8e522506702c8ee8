-- SPDX-License-Identifier: MIT
-- Points of a result: values are checked when they are given. Remarks on what the numbers mean.

local core = require "einloom.core"
local files = require "support.files"
local front = require "support.front"
local loom = require "einloom"

local function setting(sizes)
  local w = loom.workload { sizes = sizes, bits = 8, "Z[m,n] = A[m,k] * B[k,n]" }
  local a = loom.arch {
    loom.memory { "DRAM", size = math.huge }, loom.memory { "G", size = 2^20 },
    loom.fanout { "PE", x = 8 }, loom.compute { "MAC" },
  }
  return w, a
end

local function result(text, options, symbols)
  local w, a = setting { m = 64, k = 32, n = 32 }
  return assert(loom.analyze(w, a, loom.mapping(text, { symbols = symbols }), options))
end

local nested = "DRAM: A B Z\nfor m tile M0\nfor m tile M1\nG: A B Z\npar n tile N0 on PE.x\n"
  .. "for m, n, k\nMAC"

describe("a point", function()
  local r = result(nested)

  it("is refused at once where a tile is larger than the extent around it", function()
    for _, case in ipairs {
      { { M0 = 65 }, { "M0 = 65", "for m tile M0", "64", "mapping:2:5" } },
      { { M0 = 8, M1 = 16 }, { "M1 = 16", "for m tile M1", "8", "mapping:3:5" } },
      { { N0 = 33 }, { "N0 = 33", "par n tile N0", "32", "mapping:5:5" } },
      { { M0 = "2*M1 + 64" }, { "for m tile M0", "M1", "64" } },
    } do
      local e = front.raised(r, case[1])
      assert.are.equal("bad_tile_shape", e.kind)
      front.mentions(tostring(e), case[2])
    end
    front.mentions(tostring(front.raised(r{ M0 = 8 }, { M1 = 9 })), { "M1 = 9" })
    front.mentions(tostring(front.raised(r{ M1 = 9 }, { M0 = 8 })), { "for m tile M1" })
  end)

  it("is refused where a tile is less than 1", function()
    local free = result("DRAM: A B Z\nfor m tile (M0 - 3)\nG: A B Z\nfor m, n, k\nMAC")
    for _, value in ipairs { 1, 2, 3 } do
      local e = front.raised(free, { M0 = value })
      assert.are.equal("bad_tile_shape", e.kind)
      front.mentions(tostring(e), { "for m tile", "M0 = ", "mapping:2:5" })
    end
    assert.are.equal("256", tostring(free{ M0 = 4 }.G.A.occupancy))
  end)

  it("is refused where tiles that overlap leave values out", function()
    local open = result("DRAM: A B Z\nfor m tile M0 step S0\nfor m, n, k\nMAC")
    assert.are.equal("bad_tile_shape", front.raised(open, { M0 = 4, S0 = 5 }).kind)
    front.mentions(tostring(front.raised(open, { M0 = 4, S0 = 5 })),
      { "M0 = 4, S0 = 5", "the step 5", "larger than the tile, 4", "mapping:2:5" })
    front.mentions(tostring(front.raised(open{ S0 = 4 }, { M0 = 3 })), { "the step 4" })
    local less = result("DRAM: A B Z\nfor m tile 4 step (S0 - 2)\nfor m, n, k\nMAC")
    front.mentions(tostring(front.raised(less, { S0 = 2 })), { "the step 0", "less than 1" })
    assert.are.equal(tostring(2 * 64 * 32 * 32 - 2 * 32 * 32),
      tostring(open{ M0 = 2, S0 = 1 }.compute.ops))
  end)

  it("is refused where a fact does not hold or there is no value", function()
    local m = loom.symbol("M", { min = 4, max = 32, multiple = 4 })
    local facts = result("DRAM: A B Z\nfor m tile M\nG: A B Z\nfor m, n, k\nMAC", nil, { M = m })
    for _, value in ipairs {
      0, -4, 2, 36, 6, 4.5, "1/3", "x +", "", true, math.huge, -math.huge, 0 / 0, {}, print,
    } do
      local e = front.raised(facts, { M = value })
      assert.are.equal("bad_point", e.kind, tostring(value))
      front.mentions(tostring(e), { "M" })
    end
  end)

  it("is refused where the symbol is not there", function()
    for _, name in ipairs { "m0", "M00", "Q", 1, true } do
      assert.are.equal("bad_point", front.raised(r, { [name] = 4 }).kind)
    end
    front.mentions(front.raised(r, { MO = 4 }).message, { "no 'MO'", "M0" })
  end)

  it("may be larger where the analysis allowed growing tiles", function()
    local grown = result(nested, { allow_growing_tiles = true })
    assert.are.equal("100", tostring(grown{ M0 = 100 }.path and grown{ M0 = 100 }:path()[7].tile))
    assert.are.equal("bad_point", front.raised(grown, { M0 = 0 }).kind)
  end)

  it("takes numbers, texts and formulas", function()
    for _, value in ipairs { 16, 16.0, "16", "4*4", loom.number(16), loom.expr "16" } do
      assert.are.equal("16", tostring(r{ M0 = value }:path()[7].tile))
    end
    assert.are.equal("2*q", tostring(r{ M0 = "2*q" }:path()[7].tile))
    assert.are.equal(r{ M0 = "2*M1" }:path()[7].tile, r{ M0 = 2 * loom.symbol "M1" }:path()[7].tile)
  end)
end)

describe("a point of a result at a point", function()
  local r = result(nested)

  local function names(at)
    local list = {}
    for i, symbol in ipairs(at.symbols) do list[i] = symbol:name() end
    return table.concat(list, " ")
  end

  it("applies to the formulas of the first", function()
    for _, case in ipairs {
      { { M1 = "M0" }, { M0 = 4 }, { M0 = 4, M1 = 4 } },
      { { M1 = "M0//2" }, { M0 = 8 }, { M0 = 8, M1 = 4 } },
      { { M1 = "Q" }, { Q = 2, M0 = 8, N0 = 4 }, { M0 = 8, M1 = 2, N0 = 4 } },
      { { M0 = "2*Q", M1 = "Q" }, { Q = 3 }, { M0 = 6, M1 = 3 } },
      { { M0 = "N0", N0 = "M0" }, { M0 = 4 }, { N0 = 4, M0 = "N0" } },
      { { M1 = "M0" }, { M0 = 3 }, { M0 = 3, M1 = 3 } },
    } do
      local steps, once = r(case[1])(case[2]), r(case[3])
      assert.are.equal(once.G.A.occupancy, steps.G.A.occupancy)
      assert.are.equal(once:energy(), steps:energy())
      assert.are.same(once:notes(), steps:notes())
      assert.are.equal(once.temporal_steps, steps.temporal_steps)
      if not case[2].Q then
        assert.are.equal(tostring(once), tostring(steps))
        assert.are.same(once.point, steps.point)
      end
    end
  end)

  it("is written to JSON as a point of the formulas", function()
    local function written(at, samples)
      local filled = require "einloom.case".with_results(at, samples)
      return core.json.encode(filled, { sort_keys = true })
    end
    local at = r{ M1 = "M0", N0 = 4 }
    local once = written(r, { { M0 = 4, M1 = 4, N0 = 4 } })
    assert.are.equal(once, written(at, { { M0 = 4 } }))
    local there = at{ M0 = 4 }
    assert.are.equal(once, written(there, { there.point }))
  end)

  it("is of the symbols that are left", function()
    assert.are.equal("M0 M1 N0", names(r))
    assert.are.equal("M0 N0", names(r{ M1 = "M0" }))
    assert.are.equal("M0 N0 Q", names(r{ M1 = "2*Q" }))
    assert.are.equal("Q", names(r{ M1 = "2*Q", N0 = 4 }{ M0 = "2*Q" }))
    assert.are.equal("", names(r{ M0 = 4, M1 = 2, N0 = 4 }))
    assert.are.equal(1, #r{ M1 = "Q", M0 = "Q", N0 = 4 }.einsums[1].symbols)
    front.mentions(front.raised(r{ M0 = 8 }, { M0 = 4 }).message, { "no 'M0' any more", "M0 = 8" })
    front.mentions(front.raised(r{ M0 = "2*Q" }, { q = 4 }).message, { "no 'q'", "Q" })
  end)

  it("is checked like the first", function()
    local m = loom.symbol("M", { multiple = 4 })
    local facts = result("DRAM: A B Z\nfor m tile M\nG: A B Z\nfor m, n, k\nMAC", nil, { M = m })
    local e = front.raised(facts{ M = "Q" }, { Q = 6 })
    assert.are.equal("bad_point", e.kind)
    front.mentions(e.message, { "M = 6" })
    assert.are.equal("bad_tile_shape", front.raised(r{ M1 = "2*Q" }, { M0 = 2, Q = 2 }).kind)
  end)
end)

describe("formulas at a point", function()
  local r = result(nested)

  it("are known to be integers", function()
    for _, point in ipairs { { M0 = "N0/2" }, { M1 = "3/2" }, { N0 = loom.symbol "Q" / 4 } } do
      local e = front.raised(r, point)
      assert.truthy(e.kind == "bad_tile_shape" or e.kind == "bad_point")
      front.mentions(e.message, { "integer" })
    end
    front.mentions(tostring(front.raised(r, { M1 = "M0/2" })),
      { "M0/2", "for m tile M1", "not known to be an integer", "mapping:3:5" })
    assert.are.equal("bad_tile_shape", front.raised(r{ M1 = "M0" }, { M0 = "Q/2" }).kind)
    local even = loom.symbol("E", { multiple = 2 })
    assert.are.equal(even / 2, r{ M1 = even / 2 }.G.A.tile.m)
  end)

  it("are integers for sizes too", function()
    local w, a = setting { m = loom.symbol "N", k = 4, n = 4 }
    local open = assert(loom.analyze(w, a, loom.mapping "DRAM: A B Z\nG: A B Z\nfor m, n, k\nMAC"))
    local e = front.raised(open, { N = "Q/2" })
    assert.are.equal("bad_point", e.kind)
    front.mentions(e.message, { "N = Q/2", "not known to be an integer" })
  end)

  it("have no value where they are divided by 0", function()
    local w = setting { m = 64, k = 32, n = 32 }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge,
        read = { throughput = loom.symbol("T", { min = 0, integer = false }) } },
      loom.compute { "MAC" },
    }
    local open = assert(loom.analyze(w, a, loom.mapping "DRAM: A B Z\nfor m, n, k\nMAC"))
    assert.is_true(open{ T = 2 }:latency():is_number())
    local e = front.raised(function() return open{ T = 0 }:latency() end)
    assert.are.equal("bad_point", e.kind)
    assert.are.equal("at T = 0: division by zero", e.message)
    assert.is_nil(tostring(e):find "points.lua")
  end)
end)

-- The notes that tell of no storage that could be lifted.
local function counting_notes(r)
  local list = {}
  for _, note in ipairs(r:notes()) do
    if not note:find "stands below" then list[#list + 1] = note end
  end
  return list
end

describe("the notes of a result", function()
  local reference = { model = "reference" }

  it("tell of tiles that do not divide, at a point and in a mapping of numbers", function()
    assert.are.same({}, counting_notes(result(nested){ M0 = 16, M1 = 3, N0 = 5 }))
    local r = result(nested, reference)
    assert.are.same({}, counting_notes(r))
    assert.are.same({}, counting_notes(r{ M0 = 16, M1 = 4, N0 = 8 }))
    local uneven = r{ M0 = 16, M1 = 3, N0 = 5 }
    front.mentions(uneven:notes()[1], { "for m tile 3", "16", "average" })
    front.mentions(uneven:notes()[2], { "par n tile 5 on PE.x", "32" })
    assert.are.equal(2, #counting_notes(uneven))
    local numbers = result("DRAM: A B Z\nfor m tile 7\nG: A B Z\nfor m, n, k\nMAC", reference)
    front.mentions(numbers:notes()[1], { "for m tile 7", "64" })
    front.mentions(tostring(numbers), { "\nnote: for m tile 7" })
    front.mentions(tostring(uneven), { "\nnote: for m tile 3", "\nnote: par n tile 5" })
    assert.is_nil(tostring(r):find "note: for")
  end)

  it("tell of constants in an index", function()
    local _, a = setting { m = 1, k = 1, n = 1 }
    local w = loom.workload { sizes = { m = 8 }, bits = 8, "Z[m] = A[m+1000] * B[m]" }
    local m = loom.mapping "DRAM: A B Z\nfor m\nMAC"
    local r = assert(loom.analyze(w, a, m, { model = "reference" }))
    assert.are.equal(1, #r:notes())
    front.mentions(r:notes()[1], { "m + 1000", "A", "1000" })
    assert.are.equal(0, #assert(loom.analyze(w, a, m)):notes())
  end)

  it("name the einsum where there are several", function()
    local open = dofile(files.root "examples/fused.lua")
    local r = assert(loom.analyze(open.workload, open.arch, open.mapping, reference)){ M0 = 7 }
    front.mentions(r:notes()[1], { "First: " })
    assert.is_nil(r.einsums.First:notes()[1]:find "First")
  end)
end)
