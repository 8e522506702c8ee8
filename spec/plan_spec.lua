-- SPDX-License-Identifier: MIT
-- Plans of kernels: rewritten accesses, memory, arguments, what is refused. The numbers of recorded
-- graphs are checked by the golden files.

local core = require "einloom.core"
local two_pass = require "einloom.kernels.two_pass"

local function variable(name) return core.symbol(name, { min = 0 }) end
local p0, p1, i0 = variable "p0", variable "p1", variable "indirect0"

local function names(arguments)
  local list = {}
  for i, argument in ipairs(arguments) do
    list[i] = argument.buffer or tostring(argument.symbol)
  end
  return table.concat(list, " ")
end

-- A chain a -> b -> c -> d of pointwise operations on 64 elements; d leaves the graph.
local function chain(options)
  local g = core.graph(options)
  for _, name in ipairs { "a", "b", "c", "d" } do
    g:buffer { name = name, sizes = { 64 }, output = name == "d" }
  end
  for _, step in ipairs { "ab", "bc", "cd" } do
    assert(g:op { name = step, pointwise = { { p0, 64 } },
      reads = { { buffer = step:sub(1, 1), index = p0 } },
      writes = { { buffer = step:sub(2, 2), index = p0 } } })
  end
  return g
end

local flat = { { "x", 64 }, { "r0_", 1 } }

describe("a plan", function()
  it("keeps what lives in one kernel out of memory", function()
    local plan = chain():plan()
    assert.are.equal(1, plan:kernel { schedule = { "ab", "bc", "cd" }, extents = { 64, 1 },
      tiling = flat })
    local kernel = plan:kernels()[1]
    assert.are.same({ { "b", "c", "d" } }, kernel.in_place)
    assert.are.same({}, kernel.never_stored)
    assert.are.equal("d a", names(kernel.arguments))
    assert.are.equal(core.int(64 * 4), kernel.memory.one_pass.reads.bytes)
    assert.are.equal(core.int(64 * 4), kernel.memory.one_pass.writes.bytes)
    assert.is_true(kernel.narrow and kernel.narrow_proved)
  end)

  it("counts a read of one loop apart from the same one of several", function()
    local function reads(kind, options)
      local g = core.graph(options)
      for name, sizes in pairs { a = { 4, 24 }, b = { 24 }, c = { 4, 24 }, d = { 4, 24 } } do
        g:buffer { name = name, sizes = sizes, output = name > "b" }
      end
      local row = kind == "reduction" and { { "x", 4 }, { "r0_", 24 } } or
        { { "x", 96 }, { "r0_", 1 } }
      local at, loops = 24 * p0 + p1, { { p0, 4 }, { p1, 24 } }
      g:op { name = "flat", pointwise = { { p0, 96 } }, reads = { { buffer = "a", index = p0 } },
        writes = { { buffer = "c", index = p0 } } }
      g:op { name = "rows", pointwise = loops,
        reads = { { buffer = "a", index = at }, { buffer = "b", index = p1 } },
        writes = { { buffer = "d", index = at } } }
      local plan = g:plan()
      plan:kernel { schedule = { "flat", "rows" }, tiling = row,
        extents = { row[1][2], row[2][2] } }
      return plan:kernels()[1].memory.one_pass.reads
    end
    -- One loop over all points is what the two loops of the other put together.
    assert.are.equal(3, reads "pointwise".accesses)
    assert.are.equal(core.int(4 * (96 + 96)), reads "pointwise".bytes)
    assert.are.equal(2, reads("pointwise", { strict = true }).accesses)
    -- Over the extents of the kernel both are the same two variables.
    assert.are.equal(2, reads "reduction".accesses)
  end)

  it("stores what a later kernel reads, and lets it overwrite that", function()
    local plan = chain():plan()
    plan:kernel { schedule = { "ab", "bc" }, extents = { 64, 1 }, tiling = flat }
    plan:kernel { schedule = { "cd" }, extents = { 64, 1 }, tiling = flat }
    local kernels = plan:kernels()
    assert.are.same({ { "b", "c" } }, kernels[1].in_place)
    assert.are.same({ { "c", "d" } }, kernels[2].in_place)
    assert.are.equal("d", names(kernels[2].arguments))
    assert.are.equal(1, #plan:kernels(2))
  end)

  it("keeps what a loop over a reduction reads again", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 8, 16 } }
    g:buffer { name = "e", sizes = { 8, 16 }, dtype = "f64" }
    g:buffer { name = "s", sizes = { 8 } }
    g:buffer { name = "q", sizes = { 8, 16 }, output = true }
    local at, loops = 16 * p0 + p1, { { p0, 8 }, { p1, 16 } }
    g:op { name = "exp", pointwise = loops, reads = { { buffer = "a", index = at } },
      writes = { { buffer = "e", index = at } } }
    g:op { name = "sum", kind = "reduction", reduce = "sum", pointwise = { loops[1] },
      reduction = { loops[2] }, reads = { { buffer = "e", index = at } },
      writes = { { buffer = "s", index = p0 } } }
    g:op { name = "div", pointwise = loops,
      reads = { { buffer = "e", index = at }, { buffer = "s", index = p0 } },
      writes = { { buffer = "q", index = at } } }
    local info = { schedule = { "exp", "sum", "reduction_off", "reduction_on", "div" },
      extents = { 8, 16 }, tiling = { { "x", 8 }, { "r0_", 16 } } }
    local plan = g:plan()
    assert(plan:kernel(info))
    local looped = plan:kernels()[1]
    assert.are.same({ "s" }, looped.never_stored)
    assert.are.equal("a e q", names(looped.arguments))
    assert.are.equal(2, looped.memory.looped.reads.accesses)
    assert.are.equal("inner", looped.hint)
    info.one_pass, plan = true, g:plan()
    assert(plan:kernel(info))
    local held = plan:kernels()[1]
    assert.are.same({ "e", "s" }, held.never_stored)
    assert.are.equal("a q", names(held.arguments))
  end)

  it("rewrites accesses in the variables of the ranges", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 4, 10 }, dtype = "i64" }
    g:buffer { name = "b", sizes = { 100, 4 } }
    g:buffer { name = "c", sizes = { 40 }, output = true }
    g:op { name = "get", pointwise = { { p0, 4 }, { p1, 10 } },
      reads = { { buffer = "a", index = 10 * p0 + p1 }, { buffer = "b", index = 4 * i0 + p0 } },
      writes = { { buffer = "c", index = 10 * p0 + p1 } } }
    local plan = g:plan()
    assert(plan:kernel { schedule = { "get" }, extents = { 40, 1 },
      tiling = { { "x", 40 }, { "r0_", 1 } } })
    local kernel = plan:kernels()[1]
    local accesses = kernel.ops[1].accesses
    assert.are.equal("x2", tostring(accesses[1].simplified))
    assert.is_true(accesses[2].indirect)
    assert.is_nil(accesses[2].strides)
    assert.is_true(accesses[2].narrow) -- the loaded value leads to one of 400 elements
    assert.are.equal(core.int(1), accesses[3].strides.x)
    assert.are.equal("store", accesses[3].kind)
    assert.is_true(kernel.narrow)
    assert.is_true(kernel.narrow_proved)
  end)

  it("proves the width of indices by the addresses, not by the sizes of buffers", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 16 }, offset = 3000000000 }
    g:buffer { name = "b", sizes = { 16 }, output = true }
    g:op { name = "far", pointwise = { { p0, 16 } }, reads = { { buffer = "a", index = p0 } },
      writes = { { buffer = "b", index = p0 } } }
    local plan = g:plan()
    assert(plan:kernel { schedule = { "far" }, extents = { 16, 1 },
      tiling = { { "x", 16 }, { "r0_", 1 } } })
    local accesses = plan:kernels()[1].ops[1].accesses
    assert.is_false(accesses[1].narrow)
    assert.is_true(accesses[2].narrow)
    assert.is_false(plan:kernels()[1].narrow_proved)
  end)

  it("tells inputs that are laid out in different orders", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 4, 1, 8 } }
    g:buffer { name = "b", sizes = { 4, 1, 8 }, strides = { 1, 4, 4 } }
    g:buffer { name = "c", sizes = { 4, 1, 8 }, output = true }
    g:op { name = "add", pointwise = { { p0, 4 }, { p1, 8 } },
      reads = { { buffer = "a", index = 8 * p0 + p1 }, { buffer = "b", index = p0 + 4 * p1 } },
      writes = { { buffer = "c", index = 8 * p0 + p1 } } }
    local plan = g:plan()
    assert(plan:kernel { schedule = { "add" }, extents = { 32, 1 },
      tiling = { { "x", 32 }, { "r0_", 1 } } })
    assert.are.same({ { "a", "b" } }, plan:kernels()[1].mixed_layouts)
  end)

  it("counts the operations of calls", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 16, 64 } }
    g:buffer { name = "b", sizes = { 32, 64 } }
    g:buffer { name = "c", sizes = { 16, 32 }, output = true }
    g:op { name = "product", kind = "opaque", call = "mm", inputs = { { 16, 64 }, { 64, 32 } },
      reads = { { buffer = "a", mode = "whole" }, { buffer = "b", mode = "whole" } },
      writes = { { buffer = "c", mode = "whole" } } }
    local plan = g:plan()
    assert(plan:kernel { schedule = { "product" } })
    assert.are.equal(core.int(2 * 16 * 32 * 64), plan:kernels()[1].flops)
    assert.are.equal("opaque", plan:kernels()[1].kind)
    assert.are.equal(core.int(0), core.call_flops("sort", { { 4 } }, { 4 }))
  end)

  it("refuses schedules and tilings that do not fit, and can go on", function()
    local plan = chain():plan()
    local function refused(kind, info)
      local number, _, got = plan:kernel(info)
      assert.is_nil(number)
      assert.are.equal(kind, got)
    end
    refused("bad_graph", { schedule = {}, tiling = flat })
    refused("bad_graph", { schedule = { "ab", "ab" }, extents = { 64, 1 }, tiling = flat })
    refused("incomplete_split", { schedule = { "ab" }, extents = { 128, 1 },
      tiling = { { "x", 128 }, { "r0_", 1 } } })
    refused("cannot_split", { schedule = { "ab" }, extents = { 63, 1 },
      tiling = { { "y", 9 }, { "x", 7 }, { "r0_", 1 } } })
    assert.are.equal(1, plan:kernel { schedule = { "ab" }, extents = { 64, 1 }, tiling = flat })
    refused("bad_graph", { schedule = { "ab" }, extents = { 64, 1 }, tiling = flat })
  end)

  it("holds its graph", function()
    local g = chain()
    local plan = g:plan()
    g:close()
    assert.are.equal(1, plan:kernel { schedule = { "ab", "bc", "cd" }, extents = { 64, 1 },
      tiling = flat })
  end)
end)

describe("a reduction in two passes", function()
  it("is nothing for other reductions", function() assert.is_nil(two_pass.steps "sum") end)

  it("does not lose what is small beside the mean", function()
    local r = two_pass.evaluate("mean_m2", { 1e9 + 1, 1e9 + 2, 1e9 + 3 })
    assert.are.same({ 1e9 + 2, 2.0, 3.0 }, r)
  end)
end)
