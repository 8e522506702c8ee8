-- SPDX-License-Identifier: MIT
-- Coalescing: addresses that grow by one, splits that make them, the analysis of kernels. Recorded
-- kernels are checked by the golden files.

local core = require "einloom.core"

local function variable(name) return core.symbol(name, { min = 0 }) end
local n, p0, p1 = variable "n", variable "p0", variable "p1"

local function parse(text) return core.parse(text, "index", { n }) end

-- Does e grow by exactly one wherever the outer part of n = factor * outer + inner does?
local function share_of_unit_steps(e, size, factor)
  local unit, all = 0, 0
  for at = 0, size - factor - 1 do
    all = all + 1
    if e { n = at + factor } - e { n = at } == core.int(1) then unit = unit + 1 end
  end
  return unit / all
end

describe("a split", function()
  it("lets the address grow by one along its outer part", function()
    for text, size in pairs {
      ["floor_div(n, 32)"] = 1024,
      ["16*mod_index(n, 1, 8) + floor_div(n, 8)"] = 128,
      ["floor_div(n, 64) + 4*mod_index(n, 1, 64)"] = 256,
      ["128*mod_index(n, 1, 32) + mod_index(n, 32, 128)"] = 4096,
    } do
      local e = parse(text)
      local factor = assert(core.unit_factor(e), text):tointeger()
      assert.are.equal(1, share_of_unit_steps(e, size, factor), text)
    end
  end)

  it("is nothing, never an error, where there is none", function()
    for _, text in ipairs { "2*n", "7", "mod_index(mod_index(n - 12, 1, 5), 1, 5)",
      "mod_index(floor_div(n, 3) + 1, 2, 5)", "floor_div(mod_index(n, 2, 6) + n, 4)",
      "mod_index(mod_index(mod_index(n, 1, 60), 5, 12), 3, 4)", "n*n", "n + 3" } do
      local factor = core.unit_factor(parse(text))
      if factor then assert.is_true(factor:tointeger() > 0, text) end
    end
    assert.is_nil(core.unit_factor(n * p0))
  end)
end)

describe("the analysis of a kernel", function()
  -- Row sums of a matrix and what they are subtracted from, read by rows and by columns.
  local function kernel()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 48, 64 } }
    g:buffer { name = "b", sizes = { 64, 48 } }
    g:buffer { name = "c", sizes = { 48, 64 }, output = true }
    g:buffer { name = "d", sizes = { 48, 64 }, output = true }
    local at, loops = 64 * p0 + p1, { { p0, 48 }, { p1, 64 } }
    assert(g:op { name = "one", pointwise = loops, reads = { { buffer = "a", index = at } },
      writes = { { buffer = "c", index = at } } })
    assert(g:op { name = "two", pointwise = { { p0, 3072 } },
      reads = { { buffer = "c", index = p0 },
        { buffer = "b", index = 48 * (p0 % 64) + p0 // 64 } },
      writes = { { buffer = "d", index = p0 } } })
    return g
  end

  it("puts all operations into common loops", function()
    local found = kernel():coalesce({ "one", "two" }, { 3072, 1 })
    assert.are.equal(2, #found.pointwise)
    assert.are.equal(core.int(48), found.pointwise[1][2])
    assert.are.equal(2, #found.reads)
    assert.are.same({ "a" }, found.reads[1].buffers)
    assert.are.equal(4 * 3072 * (1 + 2 + 2), found.coalesced[1].score)
    assert.are.equal(4 * 3072, found.coalesced[2].score)
    assert.is_nil(found.split)
  end)

  it("reads what the kernel writes only where it is not the value just written", function()
    local function buffers_read(index)
      local g = core.graph()
      g:buffer { name = "a", sizes = { 64 } }
      g:buffer { name = "c", sizes = { 64 }, output = true }
      g:buffer { name = "d", sizes = { 64 }, output = true }
      for _, op in ipairs { { "one", "a", p0, "c" }, { "two", "c", index, "d" } } do
        assert(g:op { name = op[1], pointwise = { { p0, 64 } },
          reads = { { buffer = op[2], index = op[3] } },
          writes = { { buffer = op[4], index = p0 } } })
      end
      local names = {}
      for _, read in ipairs(g:coalesce({ "one", "two" }, { 64, 1 }).reads) do
        for _, name in ipairs(read.buffers) do names[#names + 1] = name end
      end
      return names
    end
    assert.are.same({ "a" }, buffers_read(p0))
    assert.are.same({ "a", "c" }, buffers_read(63 - p0))
  end)

  it("ranks tilings as doubles fall where they differ by the factor of a range alone", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 400 } }
    g:buffer { name = "s", sizes = { 20 } }
    g:buffer { name = "c", sizes = { 20, 20 }, output = true }
    g:op { name = "flip", pointwise = { { p0, 20 }, { p1, 20 } },
      reads = { { buffer = "a", index = 20 * p0 - p1 + 19 }, { buffer = "s", index = p0 } },
      writes = { { buffer = "c", index = 20 * p0 + p1 } } }
    local best = g:coalesced_tiling({ "flip" }, { 400, 1 })
    assert.are.equal(3200 / 1.025 / 1.025 < 3280 / 1.025 / 1.025 / 1.025, #best.tiling == 3)
    assert.are.equal(3, #best.tiling)
  end)

  it("suggests a split of a loop", function()
    local found = kernel():coalesce({ "two" }, { 3072, 1 })
    assert.are.equal(1, #found.pointwise)
    assert.are.equal(64, found.split.factor)
    assert.are.equal(4 * 3072, found.split.score)
  end)

  it("tiles along what is walked", function()
    local best = kernel():coalesced_tiling({ "one", "two" }, { 3072, 1 })
    local list = {}
    for i, range in ipairs(best.tiling) do list[i] = ("%s %s"):format(range[1], range[2]) end
    assert.are.equal("y 48, x 64, r0_ 1", table.concat(list, ", "))
  end)

  it("gives up on gathers", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 64 } }
    g:buffer { name = "c", sizes = { 64 }, output = true }
    g:op { name = "get", pointwise = { { p0, 64 } },
      reads = { { buffer = "a", index = variable "indirect0" } },
      writes = { { buffer = "c", index = p0 } } }
    local found, message = g:coalesce({ "get" }, { 64, 1 })
    assert.is_nil(found)
    assert.is_nil(message)
  end)
end)
