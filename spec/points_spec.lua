-- SPDX-License-Identifier: MIT
-- Points of a result: values are checked when they are given. Remarks on what the numbers mean.

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

describe("the notes of a result", function()
  it("tell of tiles that do not divide, at a point and in a mapping of numbers", function()
    local r = result(nested)
    assert.are.same({}, r:notes())
    assert.are.same({}, r{ M0 = 16, M1 = 4, N0 = 8 }:notes())
    local uneven = r{ M0 = 16, M1 = 3, N0 = 5 }
    front.mentions(uneven:notes()[1], { "for m tile 3", "16", "average" })
    front.mentions(uneven:notes()[2], { "par n tile 5 on PE.x", "32" })
    assert.are.equal(2, #uneven:notes())
    local numbers = result "DRAM: A B Z\nfor m tile 7\nG: A B Z\nfor m, n, k\nMAC"
    front.mentions(numbers:notes()[1], { "for m tile 7", "64" })
    front.mentions(tostring(numbers), { "\nnote: for m tile 7" })
    front.mentions(tostring(uneven), { "\nnote: for m tile 3", "\nnote: par n tile 5" })
    assert.is_nil(tostring(r):find "note:")
  end)

  it("tell of constants in an index", function()
    local _, a = setting { m = 1, k = 1, n = 1 }
    local w = loom.workload { sizes = { m = 8 }, bits = 8, "Z[m] = A[m+1000] * B[m]" }
    local r = assert(loom.analyze(w, a, loom.mapping "DRAM: A B Z\nfor m\nMAC"))
    assert.are.equal(1, #r:notes())
    front.mentions(r:notes()[1], { "m + 1000", "A", "1000" })
  end)

  it("name the einsum where there are several", function()
    local r = dofile(files.root "examples/fused.lua"){ M0 = 7 }
    front.mentions(r:notes()[1], { "First: " })
    assert.is_nil(r.einsums.First:notes()[1]:find "First")
  end)
end)
