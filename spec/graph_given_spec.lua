-- SPDX-License-Identifier: MIT
-- What is given to graphs of einsums beside them: extents that disagree, names that nothing uses,
-- hints, types of indices, elements on one another.

local core = require "einloom.core"
local loom = require "einloom"
local overlap = require "einloom.kernels.overlap"

local function refused(pattern, t)
  local ok, e = pcall(loom.graph, t)
  assert.is_false(ok)
  assert.matches(pattern, tostring(e))
  assert.are.equal("bad_graph", e.kind)
end

local function copy(more)
  local t = { einsums = "y[i] = x[i]", sizes = { i = "N" } }
  for key, value in pairs(more) do t[key] = value end
  return t
end

describe("what is given to a graph", function()
  it("needs a table", function()
    refused("a table with einsums expected", nil)
    refused("table expected, got number", 5)
  end)

  it("agrees on the extent of a variable, or gives it", function()
    local t = { einsums = "y[i] = x[i] + z[i]",
      tensors = { x = { sizes = { 4 } }, z = { sizes = { 5 } } } }
    refused("1:17: i walks dimension 1 of x, which is 4 long, and dimension 1 of z, which is 5", t)
    t.sizes = { i = 4 }
    assert.are.equal("4", tostring(loom.graph(t).sizes.i))
    t.sizes.i = 5
    refused("x is read from 0 to 4", t)
    refused("1:22: k walks dimension 2 of A, .* dimension 1 of B", {
      einsums = "y[m,n] += A[m,k] * B[k,n]",
      tensors = { A = { sizes = { 4, 6 } }, B = { sizes = { 8, 5 } } } })
    refused("2:12: i walks dimension 1 of x, .* of z, which is M", {
      einsums = "y[i] = x[i]\nv[i] = 2*z[i]",
      tensors = { x = { sizes = { "N" } }, z = { sizes = { "M" } } } })
  end)

  it("is used", function()
    refused("sizes.jj: no einsum uses 'jj'", copy { sizes = { i = 4, jj = 3 } })
    refused("scalars.epss: no einsum uses 'epss'; nearest: eps",
      copy { einsums = "y[i] = x[i] + eps", scalars = { eps = 1, epss = 2 } })
    refused("tensors: %[1%]: every tensor needs a name", copy { tensors = { {} } })
    refused("sizes: %[1%]: every value needs a name", copy { sizes = { 3, i = 4 } })
    loom.graph(copy { einsums = "y[i] = x[i + n] * a", scalars = { n = 2, a = 0.5 } })
  end)

  it("has whole sizes and hints of sizes", function()
    refused("sizes.i: N/2 is not known to be an integer", copy { sizes = { i = "N/2" } })
    refused("hints.M: no size is the symbol 'M'; known: N", copy { hints = { M = 3 } })
    refused("hints.N: %-4 is not in the range of N, which is 1 to inf", copy { hints = { N = -4 } })
    refused("hints.N: 2.5 is no whole number", copy { hints = { N = 2.5 } })
    refused("hints.N: .*nan is no whole number", copy { hints = { N = 0 / 0 } })
    refused("hints.N: a whole number expected, got 'a'", copy { hints = { N = "a" } })
    local size = loom.symbol("K", { min = 2, max = 9 })
    for _, hint in ipairs { 1, 10 } do
      refused("hints.K: %d+ is not in the range of K, which is 2 to 9",
        copy { sizes = { i = size }, hints = { K = hint } })
    end
    loom.graph(copy { sizes = { i = size }, hints = { [size] = 9 } })
    loom.graph(copy { hints = { N = 4.0 } })
    loom.graph(copy { hints = { [loom.symbol "N"] = 4 } })
  end)

  it("makes positions and indices whole numbers of 64 bits", function()
    local g = loom.graph {
      einsums = "k[i] = argmax(x[i,j])\nz[i] = x[i,k[i]] + t[n[i]]\nm[i] = x[i,0]\nv[i] = t[m[i]]",
      tensors = { x = { sizes = { 3, 4 } }, t = { sizes = { 9 } } }, dtype = "f64" }
    local found = {}
    for i, name in ipairs { "k", "n", "m", "z", "t" } do found[i] = g.tensors[name].dtype end
    assert.are.equal("i64 i64 i64 f64 f64", table.concat(found, " "))
  end)

  it("has types that hold the positions and indices", function()
    local function positions(dtype, n)
      return { einsums = "k[i] = argmax(x[i,j])",
        tensors = { k = { dtype = dtype }, x = { sizes = { 3, n } } } }
    end
    refused("1:1: k: positions of up to 16777218 do not fit exactly into f32",
      positions("f32", 16777218))
    loom.graph(positions("f32", 16777217))
    refused("into i8", positions("i8", 129))
    loom.graph(positions("i8", 128))
    local function indices(dtype, n)
      return { einsums = "y[i] = t[n[i]]", sizes = { i = 3 },
        tensors = { n = { dtype = dtype }, t = { sizes = { n } } } }
    end
    refused("1:10: n: indices of t of up to 2050 do not fit exactly into f16", indices("f16", 2050))
    loom.graph(indices("f16", 2049))
    refused("into bf16", indices("bf16", 258))
    refused("indices of t of up to N", indices("f32", "N"))
    loom.graph(indices("i8", 1000))
  end)

  it("writes no element twice", function()
    local function strided(strides, sizes, text)
      return { einsums = text or "y[i,j] = x[i,j]", sizes = { i = sizes[1], j = sizes[2] },
        tensors = { y = { strides = strides, sizes = sizes } } }
    end
    refused("tensors.y.strides: y is written", strided({ 0, 1 }, { 4, 3 }))
    refused("tensors.y.strides: y is written", strided({ 1, 1 }, { 4, 3 }))
    refused("tensors.y.strides: y is written", strided({ 1, 1 }, { "N", "M" }))
    refused("tensors.y.strides: y is written",
      strided({ 0, 1 }, { 4, 3 }, "update y[i,j] += x[i,j]"))
    loom.graph(strided({ 3, 2 }, { 2, 4 }))
    loom.graph(strided({ "M", 1 }, { "N", "M" }))
    loom.graph(strided({ 0, 1 }, { 1, 3 }))
    loom.graph { einsums = "y[i,j] = x[i,j]", tensors = { x = { sizes = { 4, 3 },
      strides = { 0, 1 } } } }
  end)
end)

describe("elements on one another", function()
  it("are those that walking finds", function()
    local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000
    math.randomseed(seed)
    local found = { [true] = 0, [false] = 0 }
    for _ = 1, 400 do
      local sizes, strides, seen, twice = {}, {}, {}, false
      local addresses = { 0 }
      for d = 1, math.random(1, 4) do
        local size, stride = math.random(1, 4), math.random(0, 14)
        sizes[d], strides[d] = core.int(size), core.int(stride)
        local more = {}
        for _, address in ipairs(addresses) do
          for k = 0, size - 1 do more[#more + 1] = address + k * stride end
        end
        addresses = more
      end
      for _, address in ipairs(addresses) do
        twice = twice or seen[address] ~= nil
        seen[address] = true
      end
      local got = overlap.within { sizes = sizes, strides = strides }
      assert.are.equal(twice, got, ("seed %d"):format(seed))
      found[twice] = found[twice] + 1
    end
    assert.is_true(found[true] > 20 and found[false] > 20)
  end)
end)
