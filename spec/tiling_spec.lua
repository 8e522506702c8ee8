-- SPDX-License-Identifier: MIT
-- Tilings of kernels: candidates of operations, what fits, what is chosen. Recorded kernels are
-- checked by the golden files.

local core = require "einloom.core"

local function variable(name) return core.symbol(name, { min = 0 }) end
local p0, p1 = variable "p0", variable "p1"

-- c = a + b transposed, 64 x 96.
local function transpose()
  local g = core.graph()
  g:buffer { name = "a", sizes = { 64, 96 } }
  g:buffer { name = "b", sizes = { 96, 64 } }
  g:buffer { name = "c", sizes = { 64, 96 }, output = true }
  assert(g:op { name = "add", pointwise = { { p0, 64 }, { p1, 96 } },
    reads = { { buffer = "a", index = 96 * p0 + p1 }, { buffer = "b", index = 64 * p1 + p0 } },
    writes = { { buffer = "c", index = 96 * p0 + p1 } } })
  return g
end

local function show(tiling)
  local list = {}
  for i, range in ipairs(tiling) do list[i] = ("%s %s"):format(range[1], range[2]) end
  return table.concat(list, ", ")
end

describe("a tiling", function()
  it("is built from one side", function()
    assert.are.equal("y 8, x 16, r0_ 4", show(core.tiling_create({ 8, 16 }, { 4 })))
    assert.are.equal("x 128, r0_ 2, r1_ 4",
      show(core.tiling_complete({ { "r0_", 2 }, { "r1_", 4 } }, { 128, 8 })))
    assert.error_matches(function() core.tiling_create({ 1, 2, 3, 4 }, {}) end, "at most 3")
  end)

  it("suits the access that steps by one in an outer loop", function()
    local list = transpose():candidates("add", { 6144, 1 })
    assert.are.equal(2, #list)
    assert.is_nil(list[1].buffer)
    assert.are.equal("b", list[2].buffer)
    assert.are.equal("y 64, x 96, r0_ 1", show(list[2].tiling))
    assert.are.equal(core.int(6144 * 4), list[2].score) -- 64 and 96 are good sizes
  end)

  it("forgets candidates of buffers that are removed", function()
    local g = transpose()
    assert.are.equal(2, #g:candidates("add", { 6144, 1 }))
    g:remove "b"
    assert.are.equal(1, #g:candidates("add", { 6144, 1 }))
  end)

  it("is chosen by what fits", function()
    local g = transpose()
    local schedule, extents = { "add" }, { 6144, 1 }
    assert.is_true(g:fits(schedule, extents, { { "y", 64 }, { "x", 96 }, { "r0_", 1 } }))
    assert.is_false(g:fits(schedule, extents, { { "y", 48 }, { "x", 128 }, { "r0_", 1 } }))
    assert.are.equal("y 64, x 96, r0_ 1", show(g:tiling(schedule, extents)))
    assert.are.equal("x 6144, r0_ 1", show(g:tiling(schedule, extents, { max_tiles = 1 })))
    assert.are.equal("y 64, x 96, r0_ 1", show(g:tiling(schedule, extents, { max_tiles = 3 })))
  end)

  it("follows the blocks of an index", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 96 } }
    g:buffer { name = "b", sizes = { 96 }, output = true }
    g:op { name = "swap", pointwise = { { p0, 96 } },
      reads = { { buffer = "a", index = 8 * (p0 % 12) + p0 // 12 } },
      writes = { { buffer = "b", index = p0 } } }
    local list = g:block_tilings({ "swap" }, { 96, 1 })
    assert.are.equal("y 8, x 12, r0_ 1", show(list[1]))
    assert.are.equal("x 96, r0_ 1", show(list[2]))
    assert.are.equal("y 8, x 12, r0_ 1", show(g:tiling({ "swap" }, { 96, 1 }, { blocks = true })))
  end)

  describe("from the blocks of accesses", function()
    local function of_sum(pointwise, reduction, index)
      local g, extent, reduced, list = core.graph(), 1, 1, {}
      for _, loop in ipairs(pointwise) do extent = extent * loop[2] end
      for _, loop in ipairs(reduction) do reduced = reduced * loop[2] end
      g:buffer { name = "a", sizes = { extent * reduced } }
      g:buffer { name = "s", sizes = { extent }, output = true }
      g:op { name = "sum", kind = #reduction > 0 and "reduction" or "pointwise",
        reduce = #reduction > 0 and "sum" or nil, pointwise = pointwise, reduction = reduction,
        reads = { { buffer = "a", index = index } },
        writes = { { buffer = "s", index = #pointwise > 0 and p0 or core.int(0) } } }
      for i, tiling in ipairs(g:block_tilings({ "sum" }, { extent, reduced }, 3)) do
        list[i] = show(tiling)
      end
      return table.concat(list, " | ")
    end

    it("take no access whose first loop is longer than the pointwise extent", function()
      assert.are.equal("x 1, r0_ 12", of_sum({}, { { p0, 12 } }, p0 // 2))
    end)

    it("are one of 1 where there are no loops", function()
      assert.are.equal("x 1, r0_ 1", of_sum({}, {}, core.int(0)))
    end)

    it("leave a third range of a reduction to the other side", function()
      local index = 64 * (p1 // 1280) + p1 % 64 + 1536 * ((p1 // 64) % 20) + 30720 * p0
      assert.are.equal("x 512, r0_ 24, r1_ 20 | x 8, r0_ 30720",
        of_sum({ { p0, 8 } }, { { p1, 30720 } }, index))
    end)
  end)

  it("leaves reductions whole unless told", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 8, 4, 6 } }
    g:buffer { name = "s", sizes = { 8 }, output = true }
    local p2 = variable "p2"
    g:op { name = "sum", kind = "reduction", reduce = "sum", pointwise = { { p0, 8 } },
      reduction = { { p1, 4 }, { p2, 6 } },
      reads = { { buffer = "a", index = 48 * p1 + 8 * p2 + p0 } },
      writes = { { buffer = "s", index = p0 } } }
    assert.are.equal("x 8, r0_ 24", show(g:tiling({ "sum" }, { 8, 24 })))
    assert.are.equal("x 8, r0_ 4, r1_ 6",
      show(g:tiling({ "sum" }, { 8, 24 }, { reductions = true, blocks = true })))
  end)
end)
