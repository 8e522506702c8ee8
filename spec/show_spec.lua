-- SPDX-License-Identifier: MIT
-- The annotated nest and the explanations: aligned, within 100 columns, and right.

local case = require "einloom.case"
local files = require "support.files"
local layout = require "einloom.show.layout"
local lfs = require "lfs"
local loom = require "einloom"

local function golden_results()
  local list = {}
  for name in lfs.dir(files.path "golden/mapping") do
    if name:match "%.json$" and name ~= "tiles.json" and name ~= "errors.json" then
      for _, c in ipairs(case.load(files.path("golden/mapping/" .. name))) do
        local r = loom.analyze(c.workload, c.arch, c.mapping, c.options)
        if r then list[#list + 1] = { case = c, result = r } end
      end
    end
  end
  return list
end

local function assert_fits(text, id)
  for line in text:gmatch "[^\n]+" do
    assert.is_true(#line <= 100, id .. ": " .. line)
    assert.is_nil(line:find "%s$", id .. ": " .. line)
  end
end

describe("a tile that is larger than its extent", function()
  it("is told in a note", function()
    local w = loom.workload { sizes = { p = 100 }, bits = 8, "O[p] = I[p]" }
    local a = loom.arch { loom.memory { "Main", size = math.huge }, loom.compute { "MAC" } }
    local function notes(tile, options)
      local m = loom.mapping(("Main: I O\nfor p tile %s, p tile 10, p\n  MAC"):format(tile))
      return assert(loom.analyze(w, a, m, options))
    end
    local note = "for p tile 1000: tile 1000 is larger than the extent 100: one piece"
    assert.matches("note: " .. note, tostring(notes(1000)), 1, true)
    assert.same({}, notes(100):notes())
    assert.same({}, notes("P0"):notes())
    assert.same({}, notes("P0") { P0 = 50 }:notes())
  end)
end)

describe("the annotated nest", function()
  it("fits 100 columns for every golden case, with and without a point", function()
    for _, entry in ipairs(golden_results()) do
      assert_fits(tostring(entry.result), entry.case.id)
      local sample = entry.case.samples[1]
      if sample and next(sample) then assert_fits(tostring(entry.result(sample)), entry.case.id) end
    end
  end)

  it("shows a reservation where it is placed", function()
    local r = dofile(files.root "examples/fused.lua")
    local text = tostring(assert(loom.analyze(r.workload, r.arch, r.mapping,
      { model = "reference" })).First)
    local holder = text:find "A is reserved further in"
    local loop = text:find "for m tile 1 "
    local tile = text:find "| A tile +m=1 k=64"
    assert.is_true(holder < loop and loop < tile)
  end)

  it("shows formulas and numbers beside them", function()
    local r = dofile(files.root "examples/matmul.lua")
    assert.truthy(tostring(r):find "m=128 n=128 k=64; model exact\n")
    assert.truthy(tostring(r):find "holds +512%*M0 bits, 64%*M0 values\n")
    assert.truthy(tostring(r):find "| +at least +512 bits live\n")
    assert.truthy(tostring(r { M0 = 16 }):find
      "holds +512%*M0 bits, 64%*M0 values +  = 8192 bits, 1024 values\n")
    assert.is_nil(tostring(r):find " = 8192 bits")
  end)

  it("aligns the columns", function()
    local r = dofile(files.root "examples/matmul.lua") { M0 = 16 }
    local column
    for line in tostring(r):gmatch "[^\n]+" do
      local at = line:find(" = ", 1, true)
      if at and line:find "^[ |]*|" then
        column = column or at
        assert.are.equal(column, at, line)
      end
    end
    assert.is_not_nil(column)
  end)

  it("shows of a toll what passes through", function()
    local c = case.load(files.path "golden/mapping/toll.json")[1]
    local text = tostring(assert(loom.analyze(c.workload, c.arch, c.mapping)))
    local toll = text:match "toll Link: A B Z(.-)\n *%a"
    assert.truthy(toll:find "A tile +m=8 k=4\n|   from Main +32 values\n|   reads +0 actions\n| B")
  end)

  it("shows a copy", function()
    for _, c in ipairs(case.load(files.path "golden/mapping/pointwise.json")) do
      if c.id == "pointwise_005" then
        local text = tostring(assert(loom.analyze(c.workload, c.arch, c.mapping)))
        assert.truthy(text:find "CP: copy Z%[m, n%] = A%[m, n%]")
        assert.truthy(text:find "Z is counted with A")
      end
    end
  end)
end)

describe("an explanation", function()
  it("multiplies to the count, for every buffet of every golden case", function()
    local products = 0
    for _, entry in ipairs(golden_results()) do
      for _, einsum in ipairs(entry.result.einsums) do
        for _, buffet in ipairs(einsum.buffets) do
          local text = loom.explain(buffet)
          assert_fits(text, entry.case.id)
          assert.is_nil(text:find("no plain product", 1, true),
            ("%s %s %s"):format(entry.case.id, buffet.tensor, buffet.level))
          if text:find " x %(" then products = products + 1 end
        end
      end
    end
    assert.is_true(products > 1000)
  end)

  it("tells what every loop does", function()
    local r = dofile(files.root "examples/matmul.lua")
    local text = loom.explain(r.MAC.A)
    assert.truthy(text:find "par n tile 8 on PE.x +irrelevant to A, one access serves all units")
    assert.truthy(text:find "for n tile 1 +irrelevant to A, x 8")
    assert.truthy(text:find("8192 values of the tensor x (n: 8) x (k", 1, true)
      or text:find("8192 values of the tensor x (n: 8) = 65536", 1, true))
    text = loom.explain(r.GLB.A)
    assert.truthy(text:find "tile +m=M0 k=64")
    assert.truthy(text:find "64%*M0 values x 8 bits = 512%*M0 bits")
    assert.truthy(text:find "total_reads_to_parent +8192 values of the tensor\n")
    assert.truthy(text:find "path with reservations\n +store A@DRAM; reserve A@DRAM")
  end)

  it("takes a field just read and gives numbers at a point", function()
    local r = dofile(files.root "examples/matmul.lua")
    assert.truthy(loom.explain(r.GLB.A.reads_to_parent):find(
      "A in GLB, einsum Z: total_reads_to_parent = 8192", 1, true))
    assert.truthy(loom.explain(r { M0 = 16 }.GLB.A):find "at M0=16\n +max_occupancy +8192")
  end)

  it("refuses what is no part of a result", function()
    for _, value in ipairs { loom.symbol "NOWHERE", 3, "GLB", {} } do
      assert.error_matches(function() loom.explain(value) end, "explain takes a buffet")
    end
  end)
end)

describe("layout", function()
  it("wraps at spaces, and long words after operators", function()
    assert.are.same({ "a bb", "ccc" }, layout.wrap("a bb ccc", 5))
    assert.are.same({ "aaaa*", "bbbb/", "cccc" }, layout.wrap("aaaa*bbbb/cccc", 6))
    assert.are.same({ "" }, layout.wrap("", 6))
  end)

  it("shows fractions with a decimal, and counts", function()
    assert.are.equal("7/3 (2.33333)", layout.value(loom.number "7/3"))
    assert.are.equal("1 value", layout.count(loom.number(1), "values"))
    assert.are.equal("2 values", layout.count(loom.number(2), "values"))
  end)
end)
