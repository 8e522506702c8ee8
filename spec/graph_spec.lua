-- SPDX-License-Identifier: MIT
-- Graphs of loop nests: what is derived of buffers and operations, and what is refused.

local core = require "einloom.core"

local function symbols(...)
  local list = {}
  for i, name in ipairs { ... } do list[i] = core.symbol(name, { min = 0 }) end
  return table.unpack(list)
end

local p0, p1, c0, c1 = symbols("p0", "p1", "c0", "c1")

-- Softmax of the rows of a 32 x 128 matrix, as far as the sum.
local function softmax()
  local g = core.graph()
  g:buffer { name = "a", sizes = { 32, 128 } }
  g:buffer { name = "most", sizes = { 32 } }
  g:buffer { name = "e", sizes = { 32, 128 }, dtype = "f16" }
  g:buffer { name = "sum", sizes = { 32 }, output = true }
  local row, each = { buffer = "a", index = 128 * p0 + p1 }, { { p0, 32 }, { p1, 128 } }
  assert(g:op { name = "op0", kind = "reduction", reduce = "max", pointwise = { each[1] },
    reduction = { each[2] }, reads = { row }, writes = { { buffer = "most", index = p0 } } })
  assert(g:op { name = "op1", pointwise = each,
    reads = { row, { buffer = "most", index = p0 }, row },
    writes = { { buffer = "e", index = 128 * p0 + p1 } } })
  assert(g:op { name = "op2", kind = "reduction", reduce = "sum", pointwise = { each[1] },
    reduction = { each[2] }, reads = { { buffer = "e", index = 128 * p0 + p1 } },
    writes = { { buffer = "sum", index = p0 } }, hint = "inner" })
  return g
end

local function refused(g, info, pattern)
  local result, message, kind = g:op(info)
  assert.is_nil(result)
  assert.are.equal("bad_graph", kind)
  assert.matches(pattern, message)
end

describe("a graph", function()
  it("merges the loops of accesses and knows what they touch", function()
    local ops = softmax():ops()
    local all, rows = ops[1].dep_reads[1], ops[2].dep_reads[2]
    assert.are.equal(c0, all.index)
    assert.are.same({ c0, core.int(4096) }, all.loops[1])
    assert.are.equal(16384, all.bytes)
    assert.is_true(all.contiguous)
    assert.are.equal(c0, rows.index)
    assert.are.same({ { c0, core.int(32) } }, rows.loops)
    assert.are.equal(core.int(32), rows.elements)
    assert.are.equal(8192, ops[3].dep_reads[1].bytes)
    assert.are.equal(core.int(128), ops[3].reduction_extent)
  end)

  it("keeps equal accesses once", function()
    local ops = softmax():ops()
    assert.are.equal(2, #ops[2].reads)
    assert.are.equal(ops[1].dep_reads[1].id, ops[2].dep_reads[1].id)
    assert.are_not.equal(ops[2].dep_reads[1].id, ops[2].dep_writes[1].id)
  end)

  it("keeps loops that the index does not walk as one", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 8, 4 } }
    g:buffer { name = "b", sizes = { 4, 8 } }
    g:op { name = "t", pointwise = { { p0, 4 }, { p1, 8 } },
      reads = { { buffer = "a", index = 4 * p1 + p0 } },
      writes = { { buffer = "b", index = 8 * p0 + p1 } } }
    local read = g:ops()[1].dep_reads[1]
    assert.are.equal(c0 + 4 * c1, read.index)
    assert.is_false(read.contiguous)
    assert.is_false(read.stride1_last)
  end)

  it("follows dependencies and users", function()
    local g = softmax()
    assert.are.same({ "op0", "op1" }, g:ancestors "op2")
    assert.is_true(g:depends("op2", "op0"))
    assert.is_false(g:depends("op0", "op2"))
    local a = g:buffers()[1]
    assert.are.same({ { op = "op0", order = false }, { op = "op1", order = false } }, a.users)
    assert.is_nil(a.writer)
    assert.are.equal("op1", g:buffers()[3].writer)
  end)

  it("puts an update in place behind the readers of the old content", function()
    local g = core.graph()
    for _, name in ipairs { "a", "b", "c" } do g:buffer { name = name, sizes = { 64 } } end
    g:op { name = "read", pointwise = { { p0, 64 } }, reads = { { buffer = "a", index = p0 } },
      writes = { { buffer = "b", index = p0 } } }
    g:op { name = "update", pointwise = { { p0, 64 } }, writes = { { buffer = "c", index = p0 } },
      mutates = { "a" } }
    local update = g:ops()[2]
    assert.are.same({ "read" }, g:ancestors "update")
    assert.are.same({ "whole", "a", "order", "b" }, { update.dep_reads[1].mode,
      update.dep_reads[1].buffer, update.dep_reads[2].mode, update.dep_reads[2].buffer })
    assert.are.equal("c", g:buffers()[1].updated_by)
    assert.are.equal("a", g:buffers()[3].updates)
    refused(g, { name = "late", reads = { { buffer = "a", index = p0 } } },
      "behind its update.*'c'")
  end)

  it("counts symbolic sizes by their hints", function()
    local s0 = core.symbol("s0", { min = 2 })
    local g = core.graph { hints = { [s0] = 33 } }
    g:buffer { name = "a", sizes = { s0, 4 } }
    g:op { name = "op0", pointwise = { { p0, 4 * s0 } }, reads = { { buffer = "a", index = p0 } } }
    local dep = g:ops()[1].dep_reads[1]
    assert.are.equal(4 * s0, dep.elements)
    assert.are.equal(33 * 16, dep.bytes)
  end)

  it("knows the storage of buffers with holes and offsets", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 3, 4 }, strides = { 10, 2 }, offset = 5 }
    g:buffer { name = "none", sizes = { 0, 4 } }
    assert.are.equal(core.int(12), g:buffers()[1].elements)
    assert.are.equal(core.int(5 + 20 + 6 + 1), g:buffers()[1].storage)
    assert.are.equal(core.int(0), g:buffers()[2].storage)
  end)

  it("refuses what makes no sense", function()
    local g = softmax()
    refused(g, { name = "op0" }, "'op0' is given twice")
    refused(g, { name = "x", writes = { { buffer = "sum", index = p0 } } }, "which 'op2' wrote")
    refused(g, { name = "x", writes = { { buffer = "a", index = p0 } } }, "behind 'op0'")
    refused(g, { name = "x", reduction = { { p0, 4 } } }, "no reduction")
    refused(g, { name = "x", pointwise = { { p0, 4 }, { p0, 4 } } }, "loop 'p0' twice")
    refused(g, { name = "x", reads = { { buffer = "a", index = p0 / 2 } } }, "must be an integer")
    assert.has_error(function() g:op { name = "x", reads = { { buffer = "q", index = p0 } } } end,
      "the graph has no buffer 'q'")
    local result, message = g:buffer { name = "a", sizes = {} }
    assert.is_nil(result)
    assert.matches("'a' is given twice", message)
    assert.are.equal(3, #g:ops())
  end)
end)
