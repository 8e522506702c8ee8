-- SPDX-License-Identifier: MIT
-- Figures of kernels at the ends of their range: large, empty and negative sizes, and what is told
-- of them.

local core = require "einloom.core"
local files = require "support.files"
local listing = require "einloom.kernels.listing"
local loom = require "einloom"
local show = require "einloom.show.kernels"

local function data_of(definition) return (listing.of(loom.graph(definition))) end

local function refused(pattern, f, ...)
  local ok, e = pcall(f, ...)
  assert.is_false(ok)
  assert.matches(pattern, tostring(e))
end

describe("bytes of kernels", function()
  it("are exact beyond 64 bits for calls", function()
    local large = 1000000000
    local data = data_of { einsums = { "C[m,n] = mm(A[m,k], B[k,n])" },
      sizes = { m = large, k = large, n = large } }
    assert.are.equal("12000000000000000000", data.kernels[1].bytes)
    assert.are.equal("12000000000000000000", data.totals.bytes)
    assert.truthy(show.text(data):find("moves         12000000000000000000 bytes", 1, true))
  end)

  it("of calls are those at the hints, or not known", function()
    local definition = { einsums = { "C[m,n] = mm(A[m,k], B[k,n])" },
      sizes = { m = "S", k = "S", n = "S" }, hints = { S = 1 << 40 } }
    assert.are.equal(tostring(core.parse "12*2^80"), data_of(definition).kernels[1].bytes)
    definition.hints = nil
    local data = data_of(definition)
    assert.is_nil(data.kernels[1].bytes)
    assert.is_nil(data.totals.bytes)
    assert.truthy(show.text(data):find("not known: a size has no hint", 1, true))
  end)

  it("have totals beyond 64 bits", function()
    local data = data_of { einsums = { "y[i] = x[i] + 1" }, sizes = { i = "N" },
      hints = { N = 1 << 62 } }
    assert.are.equal(tostring(core.parse "2^65"), data.totals.bytes)
  end)
end)

describe("empty loops", function()
  it("are told where a kernel cannot have them", function()
    local graph = loom.graph { einsums = { "y[m,n] = x[m,n] + 1" }, sizes = { m = 0, n = 4 } }
    refused("sizes.m: node 'y' runs over m, whose size is 0", graph.kernels, graph)
  end)

  it("cannot be mapped", function()
    local kernel = loom.graph { einsums = { "y[i] = x[i] * x[i]" }, sizes = { i = 0 } }:kernels()[1]
    local w, message, kind = kernel:mapping(dofile(files.root "spec/support/kernel_machine.lua"))
    assert.is_nil(w)
    assert.are.equal("no_mapping", kind)
    assert.matches("kernel1 runs over i, whose size is 0", message)
  end)
end)

describe("sizes that are negative at their hints", function()
  it("are refused with the hint", function()
    local definition = { einsums = { "y[i] = x[i] + N" }, sizes = { i = "N - 5" },
      hints = { N = 3 } }
    refused("'[xy]' has a size of %-5 %+ N, which is %-2 at the hint N = 3", loom.graph, definition)
    definition.hints.N = 5
    assert.are.equal(0, data_of(definition).totals.bytes)
  end)
end)

describe("what a kernel is mapped with", function()
  it("is checked, and named where it is wrong", function()
    local arch = dofile(files.root "spec/support/kernel_machine.lua")
    local graph = loom.graph { einsums = { "y[m] = x[m] * x[m]" }, sizes = { m = 64 } }
    local kernel = graph:kernels()[1]
    local function bad(pattern, blocks)
      refused(pattern, kernel.mapping, kernel, arch, { blocks = blocks })
    end
    bad("blocks.GLB.m: a block of 1000 is more than the 64 of m", { GLB = { m = 1000 } })
    bad("blocks.RF.m: a block of 16 is more than the 8 of m", { GLB = { m = 8 }, RF = { m = 16 } })
    for _, block in ipairs { 0, -1, 1.5, math.huge, "m", true } do
      bad("blocks.GLB.m: a positive whole number or an expression expected, got "
        .. tostring(block):gsub("%p", "%%%0"), { GLB = { m = block } })
    end
    bad("blocks.GLB: a table expected, got 5", { GLB = 5 })
    bad("blocks: a table expected, got m", "m")
    assert(kernel:mapping(arch, { blocks = { GLB = { m = 64 }, RF = { m = core.symbol "b" } } }))
    refused("parallel: a table expected", kernel.mapping, kernel, arch, { parallel = 5 })
    refused("an architecture %(loom.arch%) expected, got nothing", kernel.mapping, kernel)
    refused("an architecture %(loom.arch%) expected, got 5", kernel.mapping, kernel, 5)
    refused("a table of options expected, got 5", kernel.mapping, kernel, arch, 5)
  end)
end)

describe("what is told of accesses", function()
  it("gives steps at the origin of the ranges", function()
    local data = data_of { einsums = { "s[i] += w[(i+j)%7]" }, sizes = { i = 8, j = 9 },
      tensors = { w = { sizes = { 7 } } } }
    assert.are.same({ x = 1, r0_ = 1 },
      data.kernels[1].operations[1].accesses[1].strides)
  end)

  it("names of what is not yet made only what the other kernel makes", function()
    local data = data_of { einsums = { "update h[b[i]] += x[i]", "update h[b[i]] += y[i]" },
      sizes = { i = 64 }, tensors = { h = { sizes = { 16 } }, b = { dtype = "i64" } } }
    local refusal = data.refusals[1]
    assert.are.equal("access_mismatch", refusal.reason)
    assert.truthy(refusal.sentence:find("reads elements of h that", 1, true), refusal.sentence)
  end)
end)
