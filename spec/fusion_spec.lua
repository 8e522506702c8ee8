-- SPDX-License-Identifier: MIT
-- Fusion: every reason for which two groups stay apart, and what becomes of a graph.

local core = require "einloom.core"

local function variable(name) return core.symbol(name, { min = 0 }) end
local p0, p1 = variable "p0", variable "p1"

-- A graph of buffers {name, sizes} and operations {name, reads, writes, loops}; an access is
-- {buffer, index}. Buffers that nothing reads leave the graph.
local function graph(buffers, ops, options)
  local g, read = core.graph(options), {}
  for _, op in ipairs(ops) do
    for _, use in ipairs(op.reads) do read[use[1]] = true end
  end
  for _, buffer in ipairs(buffers) do
    assert(g:buffer { name = buffer[1], sizes = { table.unpack(buffer, 2) },
      output = not read[buffer[1]] })
  end
  local function uses(list)
    local found = {}
    for i, use in ipairs(list) do
      found[i] = { buffer = use[1], index = use[2], mode = not use[2] and "whole" or nil }
    end
    return found
  end
  for _, op in ipairs(ops) do
    assert(g:op { name = op.name, kind = op.kind or op.reduction and "reduction",
      reduce = op.reduction and "sum" or nil, pointwise = op.loops or {}, reduction = op.reduction,
      split = op.split, extensible = op.extensible, reads = uses(op.reads),
      writes = uses(op.writes), mutates = op.mutates, after = op.after })
  end
  return g
end

local function pointwise(name, read, write, size)
  return { name = name, loops = { { p0, size or 64 } }, reads = { { read, p0 } },
    writes = { { write, p0 } } }
end

local function reason(g, first, second, options)
  return assert(g:fusion(options)):pair(first, second).reason
end

local function kernels(g, options)
  local list = {}
  for i, kernel in ipairs(g:fusion(options):run():kernels()) do
    list[i] = table.concat(kernel.ops, " ")
  end
  return table.concat(list, " | ")
end

local function chain(n, size)
  local buffers, ops = { { "b0", size or 64 } }, {}
  for i = 1, n do
    buffers[i + 1] = { "b" .. i, size or 64 }
    ops[i] = pointwise("op" .. i, "b" .. i - 1, "b" .. i, size)
  end
  return graph(buffers, ops)
end

describe("a pair of operations is refused:", function()
  it("first_opaque, second_opaque", function()
    local g = graph({ { "a", 64 }, { "b", 64 }, { "c", 64 } },
      { { name = "call", kind = "opaque", reads = { { "a" } }, writes = { { "b" } } },
        pointwise("next", "b", "c") })
    assert.are.equal("first_opaque", reason(g, "call", "next"))
    assert.are.equal("second_opaque", reason(g, "next", "call"))
  end)

  it("wrong_order", function()
    assert.are.equal("wrong_order", reason(chain(3), "op3", "op1"))
  end)

  it("no_shared_data, little_shared_data", function()
    local g = graph({ { "a", 64 }, { "b", 64 }, { "c", 64 }, { "d", 64 } },
      { pointwise("one", "a", "c"), pointwise("other", "b", "d") })
    assert.are.equal("no_shared_data", reason(g, "one", "other"))
    assert.are.equal("little_shared_data", reason(g, "one", "other", { aggressive = true }))
    assert.is_nil(reason(g, "one", "other", { unshared = true }))
    assert.are.equal("one | other", kernels(g))
    assert.are.equal("one other", kernels(g, { unshared = true }))
  end)

  it("too_many_nodes", function()
    assert.are.equal("too_many_nodes", reason(chain(2), "op1", "op2", { max_ops = 1 }))
    assert.are.equal("op1 op2 | op3 op4 | op5", kernels(chain(5), { max_ops = 2 }))
  end)

  it("many_reads", function()
    assert.are.equal("many_reads", reason(chain(2), "op1", "op2", { max_buffers = 2 }))
    assert.is_nil(reason(chain(2), "op1", "op2", { max_buffers = 3 }))
  end)

  it("peak_memory", function()
    -- Each of two reductions reads a large buffer that nothing else needs, and one row in common.
    local big, loops = 4096 * 64, { { p0, 64 } }
    local row = { "row", p0 }
    local function reduce(name, from, to)
      return { name = name, loops = loops, reduction = { { p1, 4096 } },
        reads = { { from, 4096 * p0 + p1 }, row }, writes = { { to, p0 } } }
    end
    local g = graph({ { "a", big }, { "b", big }, { "x", big }, { "y", big }, { "row", 64 },
        { "s", 64 }, { "t", 64 } },
      { pointwise("f", "a", "x", big), pointwise("g", "b", "y", big), reduce("sx", "x", "s"),
        reduce("sy", "y", "t") })
    assert.are.equal("peak_memory", reason(g, "sx", "sy"))
  end)

  it("access_mismatch", function()
    local g = graph({ { "a", 64 }, { "b", 64 }, { "c", 64 } },
      { pointwise("f", "a", "b"),
        { name = "g", loops = { { p0, 64 } }, reads = { { "b", 63 - p0 }, { "a", p0 } },
          writes = { { "c", p0 } } } })
    assert.are.equal("access_mismatch", reason(g, "f", "g"))
  end)

  it("node_between", function()
    local g = graph({ { "a", 64 }, { "b", 64 }, { "s" }, { "c", 64 } },
      { pointwise("f", "a", "b"),
        { name = "s", reduction = { { p0, 64 } }, reads = { { "b", p0 } },
          writes = { { "s", core.int(0) } } },
        { name = "g", loops = { { p0, 64 } }, reads = { { "b", p0 }, { "s", core.int(0) } },
          writes = { { "c", p0 } } } })
    assert.are.equal("node_between", reason(g, "f", "g"))
  end)

  it("too_far", function()
    local buffers, ops = { { "a", 64 } }, {}
    for i = 1, 70 do
      buffers[i + 1] = { "b" .. i, 64 }
      ops[i] = pointwise("op" .. i, "a", "b" .. i)
    end
    local g = graph(buffers, ops)
    assert.is_nil(reason(g, "op1", "op65"))
    assert.are.equal("too_far", reason(g, "op1", "op66"))
  end)

  it("cycle", function()
    -- x and y share `a`; x feeds p, q feeds y, and p and q are one kernel already.
    local g = graph({ { "a", 64 }, { "x", 64 }, { "q", 64 }, { "w", 128 }, { "p", 64 }, { "y", 64 },
        { "z", 64 } },
      { pointwise("x", "a", "x"),
        { name = "q", loops = { { p0, 128 } }, reads = { { "w", p0 } }, writes = { { "q", p0 } } },
        { name = "p", loops = { { p0, 128 } }, reads = { { "w", p0 }, { "x", p0 // 2 } },
          writes = { { "p", p0 } } },
        { name = "y", loops = { { p0, 64 } }, reads = { { "a", p0 }, { "q", 2 * p0 } },
          writes = { { "y", p0 } } } })
    assert.is_nil(reason(g, "x", "y"))
    local fused = g:fusion():run()
    local list = {}
    for i, kernel in ipairs(fused:kernels()) do list[i] = table.concat(kernel.ops, " ") end
    assert.are.equal("x | q p | y", table.concat(list, " | "))
    assert.are.equal("cycle", fused:pair("x", "y").reason)
    local found = {}
    for _, refusal in ipairs(fused:refusals()) do
      found[#found + 1] = ("%s %s %s"):format(list[refusal.first], list[refusal.second],
        refusal.reason)
    end
    assert.are.same({ "x q p no_shared_data", "x y cycle", "q p y no_shared_data" }, found)
  end)
end)

-- Two operations that read `row` or `a` over loops that do not go together.
local function reading(name, loops, reads, reduction)
  local size = 1
  for _, loop in ipairs(loops) do size = size * loop[2] end
  local at = core.int(0)
  for _, loop in ipairs(loops) do at = at * loop[2] + loop[1] end
  return { name = name, loops = loops, reduction = reduction, reads = reads,
    writes = { { name, at } } }, { name, size }
end

local function shapes(first, second, sizes)
  local one, to = reading(table.unpack(first, 1, 4))
  local other, from = reading(table.unpack(second, 1, 4))
  local buffers = { to, from }
  for _, item in ipairs(sizes) do buffers[#buffers + 1] = item end
  return reason(graph(buffers, { one, other }), "one", "other")
end

local p2 = variable "p2"

describe("loops keep a pair of operations apart:", function()
  it("reduction_extents_differ", function()
    assert.are.equal("reduction_extents_differ", shapes(
      { "one", { { p0, 64 } }, { { "a", 64 * p0 + p1 } }, { { p1, 64 } } },
      { "other", { { p0, 16 } }, { { "a", 256 * p0 + p1 } }, { { p1, 256 } } },
      { { "a", 4096 } }))
  end)

  it("extents_differ", function()
    assert.are.equal("extents_differ", shapes({ "one", { { p0, 64 } }, { { "row", p0 } } },
      { "other", { { p0, 64 }, { p1, 2 } }, { { "row", p0 } } }, { { "row", 64 } }))
  end)

  it("tiling_differs", function()
    local function pair(loops, transposed)
      return shapes(
        { "one", { { p0, 64 }, { p1, 96 } }, { { "a", 96 * p0 + p1 }, { "b", 64 * p1 + p0 } } },
        { "other", loops, { { "a", loops[2][2] * p0 + p1 }, { "b", transposed } } },
        { { "a", 6144 }, { "b", 6144 } })
    end
    assert.is_nil(pair({ { p0, 64 }, { p1, 96 } }, 64 * p1 + p0))
    assert.are.equal("tiling_differs", pair({ { p0, 96 }, { p1, 64 } }, 96 * p1 + p0))
  end)

  it("loops_do_not_split", function()
    local function pair(outer, inner)
      return shapes({ "one", { { p0, outer }, { p1, inner } }, { { "a", inner * p0 + p1 } } },
        { "other", { { p0, 6 } }, { { "a", 4 * p0 + p1 } }, { { p1, 4 } } }, { { "a", 24 } })
    end
    assert.is_nil(pair(3, 8))
    assert.are.equal("loops_do_not_split", pair(8, 3))
  end)

  it("tiling_unfit_for_reduction", function()
    local function pair(transposed)
      return shapes(
        { "one", { { p0, 64 }, { p1, 96 }, { p2, 4 } },
          { { "a", 384 * p0 + 4 * p1 + p2 }, { "b", transposed } } },
        { "other", { { p0, 6144 } }, { { "a", 4 * p0 + p1 } }, { { p1, 4 } } },
        { { "a", 24576 }, { "b", 24576 } })
    end
    assert.is_nil(pair(384 * p0 + 4 * p1 + p2))
    assert.are.equal("tiling_unfit_for_reduction", pair(64 * (4 * p1 + p2) + p0))
  end)

  it("outer_extent_differs", function()
    local function pair(inner)
      return shapes({ "one", { { p0, 64 }, { p1, inner } }, { { "row", p0 } } },
        { "other", { { p0, 64 } }, { { "a", 64 * p0 + p1 }, { "row", p0 } }, { { p1, 64 } } },
        { { "a", 4096 }, { "row", 64 } })
    end
    assert.is_nil(pair(1)) -- beside the loop
    assert.is_nil(pair(64)) -- inside it
    assert.are.equal("outer_extent_differs", pair(2))
  end)
end)

describe("every reason", function()
  it("of the core is one that some graph here, or of the lists, gives", function()
    local function text(path)
      local file <close> = assert(io.open(path))
      return file:read "a"
    end
    local spec, n = text "spec/fusion_spec.lua" .. text "spec/lists_spec.lua", 0
    for name in text("core/einloom/fusion.h"):gmatch 'X%(LOOM_FUSE_[A-Z_]+, "([a-z_]+)"%)' do
      if name ~= "ok" and name ~= "error" then
        n = n + 1
        assert.matches('are%.equal%("' .. name .. '", ', spec)
      end
    end
    assert.is_true(n >= 20)
  end)
end)

describe("operations that wait for others without reading them", function()
  it("stand behind them, as do the kernels they are in", function()
    local function op(name, from, size, after)
      local one = pointwise(name, from, name, size)
      one.after = after
      return one
    end
    local g = graph({ { "a", 64 }, { "b", 32 }, { "x", 64 }, { "w", 32 }, { "y", 64 },
        { "z", 32 } },
      { op("x", "a"), op("w", "b", 32), op("y", "x", 64, { "w" }), op("z", "w", 32) })
    assert.are.same({ "x", "w" }, g:ancestors "y")
    assert.are.equal("w z | x y", kernels(g))
  end)

  it("are not fused around what has to run between", function()
    local g = graph({ { "a", 64 }, { "b", 32 }, { "x", 64 }, { "w", 32 }, { "y", 64 } },
      { pointwise("x", "a", "x"),
        { name = "w", loops = { { p0, 32 } }, reads = { { "b", p0 } }, writes = { { "w", p0 } },
          after = { "x" } },
        { name = "y", loops = { { p0, 64 } }, reads = { { "x", p0 } }, writes = { { "y", p0 } },
          after = { "w" } } })
    assert.are.equal("node_between", reason(g, "x", "y"))
    assert.are.equal("x | w | y", kernels(g))
  end)
end)

describe("an update in place", function()
  local function update(name, reads, index, more)
    local op = { name = name, kind = "scatter", loops = { { p0, 64 } }, reads = reads,
      writes = { { "a1", index } }, mutates = { "a" } }
    for key, value in pairs(more or {}) do op[key] = value end
    return op
  end
  local buffers = { { "a", 64 }, { "a1", 64 }, { "x", 64 }, { "y", 64 } }

  it("of what was just written waits until all of it is", function()
    local g = graph(buffers, { pointwise("w", "x", "a"), update("u", { { "x", p0 } }, p0 // 2),
      pointwise("r", "x", "y") })
    assert.are.equal("access_mismatch", reason(g, "w", "u"))
  end)

  it("joins what reads the old elements only where each is updated once", function()
    local function old(kind)
      local g = graph(buffers, {
        { name = "r", loops = { { p0, 64 } }, reads = { { "a", p0 // 2 } },
          writes = { { "y", p0 } } },
        update("u", { { "y", p0 } }, p0 // 2, { kind = kind }) })
      return reason(g, "r", "u")
    end
    assert.are.equal("access_mismatch", old "scatter")
    assert.is_nil(old "pointwise")
  end)

  it("is read when all of it is made, also at the same index", function()
    local function read(kind)
      local g = graph(buffers, { update("u", { { "x", p0 } }, p0 // 2, { kind = kind }),
        { name = "r", loops = { { p0, 64 } }, reads = { { "a1", p0 // 2 }, { "x", p0 } },
          writes = { { "y", p0 } } } })
      return reason(g, "u", "r")
    end
    assert.are.equal("access_mismatch", read "scatter")
    assert.is_nil(read "pointwise")
  end)
end)

describe("a scan in several passes", function()
  it("joins no reduction", function()
    local function scan(name, from, to, split)
      return { name = name, kind = "scan", split = split, loops = { { p0, 8 } },
        reduction = { { p1, 16 } }, reads = { { from, 16 * p0 + p1 } },
        writes = { { to, 16 * p0 + p1 } } }
    end
    local function pair(split)
      return graph({ { "a", 128 }, { "b", 128 }, { "s", 8 } }, { scan("scan", "a", "b", split),
        { name = "sum", loops = { { p0, 8 } }, reduction = { { p1, 16 } },
          reads = { { "a", 16 * p0 + p1 } }, writes = { { "s", p0 } } } })
    end
    assert.is_nil(reason(pair(false), "scan", "sum"))
    assert.are.equal("split_scan", reason(pair(true), "scan", "sum"))
    assert.are.equal("split_scan", reason(pair(true), "sum", "scan"))
  end)
end)

describe("a template", function()
  -- x -> f -> call (with w) -> g -> h, and a reduction of its output.
  local function network(change)
    local ops = { pointwise("f", "x", "fx", 32),
      { name = "call", kind = "opaque", extensible = true, loops = { { p0, 64 } },
        reads = { { "fx" }, { "w" } }, writes = { { "y" } } },
      pointwise("g", "y", "gy"), pointwise("h", "gy", "hy") }
    if change then change(ops) end
    return graph({ { "x", 32 }, { "w", 8 }, { "fx", 32 }, { "y", 64 }, { "gy", 64 }, { "hy", 64 },
      { "s" }, { "other", 32 } }, ops)
  end

  it("takes in what is before and behind it", function()
    assert.are.equal("f call g h", kernels(network()))
    local fused = network():fusion():run():kernels()
    assert.are.equal(core.int(64), fused[1].extents[1])
  end)

  it("leaves what others use as well, reductions, and other extents", function()
    assert.are.equal("f other | call g h", kernels(network(function(ops)
      ops[5] = pointwise("other", "fx", "other", 32)
    end)))
    local g = network(function(ops)
      ops[5] = { name = "s", reduction = { { p0, 64 } }, reads = { { "y", p0 } },
        writes = { { "s", core.int(0) } } }
      ops[6] = { name = "half", loops = { { p0, 32 } }, reads = { { "y", 2 * p0 } },
        writes = { { "other", p0 } } }
    end)
    assert.are.equal("unfit_for_template", reason(g, "call", "s"))
    assert.are.equal("access_mismatch", reason(g, "call", "half"))
  end)

  it("is opaque and has one output", function()
    assert.has_error(function() network(function(ops) ops[2].kind = "pointwise" end) end)
  end)
end)

describe("a fusion", function()
  it("takes operations of its graph, of two groups", function()
    local fused = chain(2):fusion()
    assert.has_error(function() fused:pair("op1", "op3") end, "the graph has no operation 'op3'")
    assert.has_error(function() fused:pair("op1", "op1") end)
    assert.has_error(function() chain(2):fusion { fast = true } end)
  end)

  it("lets an update in place join those that read the element before", function()
    local function update(index)
      local g = core.graph()
      for _, name in ipairs { "a", "b", "a1" } do
        g:buffer { name = name, sizes = { 64 }, output = name ~= "a" }
      end
      g:op { name = "read", pointwise = { { p0, 64 } }, reads = { { buffer = "a", index = index } },
        writes = { { buffer = "b", index = p0 } } }
      g:op { name = "set", pointwise = { { p0, 64 } }, reads = { { buffer = "a", index = p0 } },
        writes = { { buffer = "a1", index = p0 } }, mutates = { "a" } }
      return reason(g, "read", "set", { unshared = true })
    end
    assert.is_nil(update(p0))
    assert.are.equal("access_mismatch", update(63 - p0))
  end)
end)
