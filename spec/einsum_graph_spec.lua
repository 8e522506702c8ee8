-- SPDX-License-Identifier: MIT
-- Graphs of einsums: what is read, what follows, what is refused, and direct evaluation.

local loom = require "einloom"

local function refused(t, pattern)
  local ok, e = pcall(loom.graph, t)
  assert.is_false(ok)
  assert.matches(pattern, tostring(e))
end

local function one(text, more)
  local t = { einsums = { text }, sizes = { i = 4, j = 6 } }
  for key, value in pairs(more or {}) do t[key] = value end
  return t
end

describe("a graph of einsums", function()
  it("gives the core loops, accesses and kinds", function()
    local g = loom.graph {
      einsums = { "total: s[i] += x[i,j]^2", "c[i,j] = scan_max(x[i,j] * s[i], i)" },
      tensors = { x = { sizes = { 8, 3 }, strides = { 1, 10 } } },
    }
    local ops = g.core:ops()
    assert.are.equal("total", ops[1].name)
    assert.are.equal("reduction sum scan max", table.concat({ ops[1].kind, ops[1].reduce,
      ops[2].kind, ops[2].reduce }, " "))
    assert.are.equal("p0 + 10*p1", tostring(ops[1].reads[1].index))
    assert.are.equal("3 8", ops[2].extent .. " " .. ops[2].reduction_extent)
    assert.are.same({ "total" }, g.core:ancestors(ops[2].name))
  end)

  it("finds sizes of tensors and loops", function()
    local g = loom.graph { einsums = { "y[i,j] = x[2*i + j] * w[j]" }, sizes = { i = 5 },
      tensors = { w = { sizes = { 3 } } } }
    assert.are.equal("11", tostring(g.tensors.x.sizes[1]))
    assert.are.equal("3", tostring(g.tensors.y.sizes[2]))
    assert.is_true(g.tensors.y.output)
  end)

  it("reads an access that is repeated once", function()
    local g = loom.graph(one("y[i] = x[i] * x[i] + x[3 - i] + t[n[i]] + t[n[i]]",
      { tensors = { t = { sizes = { 9 } }, n = { dtype = "i64" } } }))
    assert.are.equal(4, #g.nodes[1].reads)
  end)

  it("refuses with the place", function()
    refused(one "y[i] = x[i,j]", "1:1: j is not on the left")
    refused(one "y[i,j] += x[i,j]", "every loop variable is on the left")
    refused(one("y[i] = x[i+1]", { tensors = { x = { sizes = { 4 } } } }),
      "1:10: x is read from 1 to 4 in dimension 1, but is 4 long")
    refused(one "y[i//2] = x[i]", "1:3: an output is indexed by loop variables")
    refused(one "y[i,i] = x[i]", "1:5: an output is indexed by loop variables")
    refused(one "y[i], z[j] = x[i]", "outputs have the same loop variables")
    refused(one "y[i] = ex(x[i])", "unknown function 'ex'")
    refused(one "y[i] = exp(x[i], 1)", "exp takes one argument, not 2")
    refused(one "y[i] = x[i] + eps", "'eps' is no loop variable with a size and no scalar")
    refused(one "y[k] = x[k]", "give sizes.k")
    refused(one "y[i] = y[i] + 1", "both written and read")
    refused(one "y[i] = x[n[i]]", "the sizes of x do not follow")
    refused(one "y[i] = scan_sum(x[i], j)", "scan_sum takes a value and the loop variable")
    refused(one("y[i] = x[i]", { tensors = { y = { sizes = { 5 } } } }), "y is 5 long")
    refused(one("y[i] = x[i]", { tensors = { z = {} } }), "no einsum mentions 'z'")
    refused(one("y[i] = x[i]", { outputs = { "x" } }), "'x' is not written")
    refused(one("y[i] = x[i]", { dtype = "f33" }), "unknown dtype 'f33'")
    refused(one("y[i] = x[i]", { size = {} }), "unknown .*'size'")
    refused({ einsums = { "y[i] = x[i]" }, sizes = { i = "x0" } }, "cannot be called x0")
    refused({ einsums = { "y[i] = x[i]", "y[i] = z[i]" }, sizes = { i = 4 } },
      "tensor y is written before")
    refused({ einsums = { "y[i] = x[i]", "x[i] = z[i]" }, sizes = { i = 4 } },
      "tensor x is read before")
    refused(one("y[i] = x[i]" .. (" - 1"):rep(200)), "operators nested beyond depth 150")
  end)

  it("leaves the grammar of workloads as it is", function()
    local einsum = require "einloom.einsum"
    for text, pattern in pairs {
      ["y[i] = x[i] + x[i+1]"] = "two different index lists",
      ["y[i] = x[n[i]]"] = "an index is made of rank variables",
      ["y[i] = a[i] < b[i]"] = "unexpected '<'",
    } do
      local ok, e = pcall(einsum.parse, text)
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
  end)
end)

describe("direct evaluation", function()
  local function values(t, inputs, name, at)
    return table.concat(loom.graph(t):evaluate(inputs, at)[name], " ")
  end

  it("computes what is written", function()
    local x = { 1, 5, 2, 4 }
    assert.are.equal("1.0 6.0 8.0 12.0", values(one "y[i] = scan_sum(x[i], i)", { x = x }, "y"))
    assert.are.equal("5.0", values(one "y[] max= x[i]", { x = x }, "y"))
    assert.are.equal("40.0", values(one "y[] *= x[i]", { x = x }, "y"))
    assert.are.equal("0.0 1.0 10.0 2.0",
      values(one("y[i] = select(i > 0, x[i-1], 0) * 2 ^ (i == 2)",
        { tensors = { x = { sizes = { 4 } } } }), { x = x }, "y"))
    assert.are.equal("0.0 0.0 -1.0 -1.0", values(one "y[i] = -x[i] % 5 // 4 - 1 + (x[i] == 5)",
      { x = x }, "y"))
    assert.are.equal("3.0", values(one "m[], d[] = welford(x[i])", { x = x }, "m"))
    assert.are.equal("10.0", values(one "m[], d[] = welford(x[i])", { x = x }, "d"))
  end)

  it("keeps what the type of a tensor can hold", function()
    local t = one("y[i] = x[i] / 10",
      { tensors = { y = { dtype = "i32" }, x = { dtype = "f64" } } })
    assert.are.equal("-1 0 2 3", values(t, { x = { -19, 9, 20, 31 } }, "y"))
    t = one("y[i] = x[i] + 1", { tensors = { x = { dtype = "f64" } } })
    assert.are.equal(16777216.0, loom.graph(t):evaluate { x = { 16777216, 0, 0, 0 } }.y[1])
  end)

  it("follows strides, offsets and symbolic sizes", function()
    local t = {
      einsums = { "y[i,j] = x[j,i]" }, sizes = { i = "s0", j = 2 },
      tensors = { x = { sizes = { 2, "s0" }, strides = { 1, 3 }, offset = 1 } },
    }
    assert.are.equal("1.0 2.0 4.0 5.0",
      values(t, { x = { 0, 1, 2, 3, 4, 5 } }, "y", { s0 = 2 }))
  end)

  it("refuses indices out of range and data that is missing", function()
    local g = loom.graph(one("y[i] = t[n[i]]",
      { tensors = { t = { sizes = { 3 } }, n = { dtype = "i64" } } }))
    local function fails(inputs, pattern)
      local ok, e = pcall(g.evaluate, g, inputs)
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
    fails({ t = { 1, 2, 3 }, n = { 0, 1, 2, 3 } }, "y: index 3 in dimension 1 of t, .* 3 long")
    fails({ t = { 1, 2, 3 }, n = { 0, -1, 2, 2 } }, "index %-1")
    fails({ t = { 1, 2 }, n = { 0, 0, 0, 0 } }, "t holds 3 elements, 2 were given")
    fails({ t = { 1, 2, 3 } }, "data of n expected")
  end)
end)
