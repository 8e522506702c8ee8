-- SPDX-License-Identifier: MIT
-- Kernels around a template in the core: which operations each input comes from, on which ranges,
-- what is stored and moved, and what a template cannot take in.

local core = require "einloom.core"

local p0 = core.symbol("p0", { min = 0 })

-- A graph from a list of operations {name, extent, reads...}, each of which writes a buffer of its
-- name; a template or another call reads and writes as a whole. Buffers that nothing reads leave
-- the graph.
local function graph(inputs, ops)
  local g, read = core.graph(), {}
  for _, op in ipairs(ops) do
    for i = 3, #op do read[op[i]] = true end
  end
  for name, size in pairs(inputs) do
    assert(g:buffer { name = name, sizes = { size }, dtype = ops.dtypes and ops.dtypes[name] })
  end
  for _, op in ipairs(ops) do
    local name, size, reads = op[1], op[2], {}
    assert(g:buffer { name = name, sizes = { size }, dtype = ops.dtypes and ops.dtypes[name],
      output = op.output or not read[name] })
    for i = 3, #op do
      reads[i - 2] = (op.template or op.call) and { buffer = op[i], mode = "whole" }
        or { buffer = op[i], index = op.index or p0 }
    end
    assert(g:op { name = name, kind = (op.template or op.call) and "opaque" or nil,
      extensible = op.template, call = op.call, inputs = op.inputs, keeps_zero = op.keeps_zero,
      keeps_type = op.keeps_type, pointwise = { { p0, size } },
      reads = reads,
      writes = { (op.template or op.call) and { buffer = name, mode = "whole" }
        or { buffer = name, index = p0 } } })
  end
  return g
end

local function fused(g)
  local list = {}
  for i, kernel in ipairs(g:fusion():run():kernels()) do
    list[i] = table.concat(kernel.ops, " ")
  end
  return table.concat(list, " | ")
end

-- Plans all kernels of a graph as they are fused.
local function planned(g)
  local plan = g:plan()
  for _, kernel in ipairs(g:fusion():run():kernels()) do
    local schedule = assert(g:schedule(kernel.ops, kernel.extents))
    assert(plan:kernel { schedule = schedule, extents = kernel.extents,
      tiling = assert(g:tiling(schedule, kernel.extents)) })
  end
  return plan:kernels()
end

local function arguments(kernel)
  local list = {}
  for i, a in ipairs(kernel.arguments) do
    list[i] = a.buffer .. (a.kind == "in_place" and "!" or a.written and ">" or "")
  end
  return table.concat(list, " ")
end

-- "role buffer: operation(tree index of each access) ..." of each part.
local function parts(kernel)
  local list = {}
  for i, part in ipairs(kernel.parts) do
    local ops = {}
    for k = part.first, part.last do
      local accesses = {}
      for j, a in ipairs(kernel.ops[k].accesses) do
        accesses[j] = ("%s[%s]"):format(a.buffer, a.simplified)
      end
      ops[#ops + 1] = kernel.ops[k].op .. "(" .. table.concat(accesses, " ") .. ")"
    end
    list[i] = ("%s %s: %s"):format(part.role, part.buffer, table.concat(ops, " "))
  end
  return list
end

-- x(32) -> a -> b -> T, w(8) -> c -> T, T(64) -> e -> f.
local function network(change)
  local ops = {
    { "a", 32, "x" }, { "c", 8, "w", keeps_zero = true }, { "b", 32, "a" },
    { "T", 64, "b", "c", template = true, call = "mm", inputs = { { 8, 4 }, { 4, 2 } } },
    { "e", 64, "T" }, { "f", 64, "e", "r" },
  }
  if change then change(ops) end
  return graph({ x = 32, w = 8, r = 64 }, ops)
end

describe("a kernel around a template", function()
  it("runs what each input comes from on its elements, and what is behind on those of the output",
    function()
      local g = network()
      assert.are.equal("a b c T e f", fused(g):gsub("c a b", "a b c"))
      local kernel = planned(g)[1]
      assert.are.same({ "a", "b", "c", "T", "e", "f" }, kernel.schedule)
      assert.are.same({ "input b: a(x[x0] a[x0]) b(a[x0] b[x0])", "input c: c(w[x0] c[x0])",
        "output T: e(T[x0] e[x0]) f(e[x0] r[x0] f[x0])" }, parts(kernel))
      assert.are.equal("T opaque", kernel.template .. " " .. kernel.kind)
      assert.are.equal(core.int(32), kernel.parts[1].tiling[1][2])
      assert.are.equal(core.int(8), kernel.parts[2].tiling[1][2])
      assert.are.equal(core.int(64), kernel.parts[3].tiling[1][2])
    end)

  it("stores what leaves it and moves each element once", function()
    local kernel = planned(network())[1]
    assert.are.same({ "a", "b", "c", "T", "e" }, kernel.never_stored)
    assert.are.equal("x w r f>", arguments(kernel))
    assert.are.equal(core.int(4 * (32 + 8 + 64 + 64)), kernel.bytes)
    assert.are.equal(core.int(2 * 64 * 4), kernel.flops)
    kernel = planned(network(function(ops) ops[4].output = true end))[1]
    assert.are.equal("x w r T> f>", arguments(kernel))
    assert.are.equal(core.int(4 * (32 + 8 + 64 + 2 * 64)), kernel.bytes)
  end)

  it("tells where a part keeps zero and the type of its storage", function()
    local kernel = planned(network())[1]
    assert.is_false(kernel.parts[1].keeps_zero)
    assert.is_true(kernel.parts[2].keeps_zero)
    assert.is_false(kernel.parts[2].keeps_type)
    local function typed(dtypes)
      return planned(network(function(ops)
        ops.dtypes = dtypes
        for _, op in ipairs(ops) do op.keeps_type = true end
      end))[1].parts
    end
    assert.is_true(typed({})[1].keeps_type)
    assert.is_true(typed({ x = "f16", a = "f16", b = "f16" })[1].keeps_type)
    assert.is_false(typed({ x = "f16", b = "f32" })[1].keeps_type)
  end)

  it("makes what two inputs come from for both", function()
    local g = graph({ x = 16 }, { { "s", 16, "x" }, { "a", 16, "s" }, { "b", 16, "s" },
      { "T", 4, "a", "b", template = true } })
    local kernel = planned(g)[1]
    assert.are.same({ "input a: s(x[x0] s[x0]) a(s[x0] a[x0])",
      "input b: s(x[x0] s[x0]) b(s[x0] b[x0])" }, parts(kernel))
    assert.are.same({ "s", "a", "b" }, kernel.never_stored)
    assert.are.equal(core.int(4 * (16 + 4)), kernel.bytes)
  end)

  it("stands alone with the ranges of its output if it has a tiling", function()
    local g = graph({ x = 16 }, { { "T", 4, "x", template = true } })
    local plan = g:plan()
    assert(plan:kernel { schedule = { "T" }, extents = { 4, 1 },
      tiling = { { "x", 4 }, { "r0_", 1 } } })
    local kernel = plan:kernels()[1]
    assert.are.equal("T 0", kernel.template .. " " .. #kernel.parts)
    assert.are.equal("x T>", arguments(kernel))
    assert.are.equal(core.int(4 * (16 + 4)), kernel.bytes)
  end)

  it("overwrites what nothing before it in the kernel reads", function()
    -- r is made in the graph; only the epilogue reads it: its storage serves the result.
    local g = graph({ x = 64, y = 8 }, { { "r", 64, "x", call = "sort" },
      { "T", 64, "y", template = true }, { "e", 64, "T", "r" } })
    local kernels = planned(g)
    assert.are.equal("r | T e", fused(g))
    assert.are.same({ { "r", "e" } }, kernels[2].in_place)
    assert.are.equal("e! y", arguments(kernels[2]))
    assert.are.equal(core.int(4 * (2 * 64 + 8)), kernels[2].bytes)
    -- here the template's input is made of r too, at any time while results are stored.
    g = graph({ x = 64 }, { { "r", 64, "x", call = "sort" },
      { "i", 64, "r" }, { "T", 64, "i", template = true }, { "e", 64, "T", "r" } })
    kernels = planned(g)
    assert.are.equal("r | i T e", fused(g))
    assert.are.same({}, kernels[2].in_place)
    assert.are.equal("r e>", arguments(kernels[2]))
  end)

  it("does not take in what its epilogue reads as well", function()
    local g = graph({ x = 64 }, { { "i", 64, "x" }, { "T", 64, "i", template = true },
      { "e", 64, "T", "i" } })
    assert.are.equal("i | T e", fused(g))
  end)
end)

describe("what a template cannot take in", function()
  local function refused(g, ops, extent)
    local schedule = assert(g:schedule(ops, { extent, 1 }))
    local plan = g:plan()
    local number, message = plan:kernel { schedule = schedule, extents = { extent, 1 },
      tiling = { { "x", extent }, { "r0_", 1 } } }
    assert.is_nil(number)
    assert.are.same({}, plan:kernels())
    return message
  end

  it("is named with the reason", function()
    local g = network(function(ops) ops[1].output = true end)
    assert.are.equal("operation 'a' cannot be in the kernel of template 'T': something other than "
      .. "the template needs a", refused(g, { "a", "b", "T" }, 64))
    g = graph({ x = 64 }, { { "i", 64, "x" }, { "T", 64, "i", template = true },
      { "e", 64, "T", "i" } })
    assert.are.equal("operation 'i' cannot be in the kernel of template 'T': something other than "
      .. "the template needs i", refused(g, { "i", "T", "e" }, 64))
    g = graph({ x = 64 }, { { "i", 64, "x" }, { "T", 64, "x", template = true } })
    assert.is_truthy(refused(g, { "i", "T" }, 64):find("operation 'i'", 1, true))
    g = graph({ x = 64 }, { { "T", 64, "x", template = true }, { "e", 64, "T", index = 63 - p0 } })
    assert.are.equal("operation 'e' cannot be in the kernel of template 'T': it does not read in "
      .. "the order of its making T", refused(g, { "T", "e" }, 64))
    g = graph({ x = 64 }, { { "T", 64, "x", template = true }, { "e", 64, "x" } })
    assert.are.equal("operation 'e' cannot be in the kernel of template 'T': it is behind the "
      .. "template, but does not need it", refused(g, { "T", "e" }, 64))
    g = graph({ x = 64 }, { { "T", 64, "x", template = true },
      { "U", 64, "T", template = true } })
    assert.are.equal("operation 'U' cannot be in the kernel of template 'T': it is not pointwise",
      refused(g, { "T", "U" }, 64))
  end)
end)
