-- SPDX-License-Identifier: MIT
-- Graphs of einsums: what is read, what follows, what is refused, and direct evaluation.

local loom = require "einloom"

local function refused(t, pattern)
  local ok, e = pcall(loom.graph, t)
  assert.is_false(ok)
  assert.matches(pattern, tostring(e))
end

-- A graph of an einsum with the sizes of those of i and j that it has.
local function one(text, more)
  local t = { einsums = { text }, sizes = {} }
  for name, size in pairs { i = 4, j = 6 } do
    t.sizes[name] = text:find("%f[%w]" .. name .. "%f[%W]") and size
  end
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

  it("prints as it was written", function()
    local g = loom.graph { einsums = { "s: y[i] += x[i,j]^2", "update  y[i]  *= N" },
      sizes = { i = "N", j = 6 } }
    assert.are.equal("s: y[i] += x[i, j]^2\ny: update y[i] *= N\ni=N j=6", tostring(g))
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
    refused(one "y[i] = x[i,j]", "1:12: j is not on the left")
    refused(one "y[i] = x[i] + 2 * j", "1:19: j is not on the left")
    refused(one "y[i,j] += x[i,j]", "1:8: %+= reduces, but every loop variable is on the left")
    refused(one("y[i] = x[i+1]", { tensors = { x = { sizes = { 4 } } } }),
      "1:10: x is read from 1 to 4 in dimension 1, but is 4 long")
    refused(one "y[i//2] = x[i]", "1:3: an output is indexed by loop variables")
    refused(one "y[i,i] = x[i]", "1:5: an output is indexed by loop variables")
    refused(one "y[i], z[j] = x[i]", "outputs have the same loop variables")
    refused(one "y[i] = 1 + ex(x[i])", "1:12: unknown function 'ex'")
    refused(one "y[i] = exp(x[i], 1)", "1:8: exp takes one argument, not 2")
    refused(one "y[i] = x[i] + eps", "1:15: 'eps' is no loop variable with a size and no scalar")
    refused({ einsums = "a[i] = x[i]\n\n  b[i] = a[i] *\t-ex(1)", sizes = { i = 4 } },
      "einsums:3:18: unknown function 'ex'.*\n    b%[i%] = a%[i%] %*\t%-ex%(1%)\n +\t +^\n")
    refused(one "y[k] = x[k]", "give sizes.k")
    refused(one "y[i] = y[i] + 1", "both written and read")
    refused(one "y[i] = x[n[i]]", "the sizes of x do not follow")
    refused(one "y[i] = scan_sum(x[i], j)", "1:8: scan_sum takes a value and the loop variable")
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

  it("refuses calls of libraries that are none", function()
    refused(one "y[i,k] = mm(x[i,j])", "1:10: mm takes 2 tensors and gives one")
    refused(one "y[i,j] = mm(relu(x[i,k]), w[k,j])", "1:13: mm takes tensors as they are")
    refused(one "y[i,j] = mm(x[i], w[j])", "1:10: mm sums over an index that its result does not")
    refused(one "y[i] = addmm(b[j], x[i,j], w[j])", "1:16: what addmm adds is not indexed by j")
    refused(one "y[i] = x[i] + mm(x[i], w[i])", "1:15: unknown function 'mm'")
  end)

  it("refuses templates that are no calls", function()
    refused(one("y[i] = x[i]", { templates = { "y" } }), "templates%[1%]: 'y' is no call")
    refused(one("y[i] = x[i]", { templates = { "z" } }), "'z' is no call; known: y")
    refused(one("y[i] = x[i]", { templates = 3 }), "templates: table expected, got number")
  end)

  it("refuses updates that are none", function()
    refused(one "update y[i] = x[i]", "1:8: y is updated, but its sizes are not known")
    local y = { tensors = { y = { sizes = { 4 } } } }
    refused(one("update y[i] = y[3-i]", y), "1:15: an update reads y only where it writes it")
    refused(one("update y[i+1] = x[i]", y), "1:10: y is written from 1 to 4 in dimension 1, but")
    refused(one("update y[i], z[i] = x[i]", y), "1:14: an update has one output")
    refused(one("update y[i,j] = x[i]", y), "1:8: y has 1 dimensions, not 2")
    refused({ einsums = { "y[i] = x[i]", "y[i] = 2 * x[i]" }, sizes = { i = 4 } },
      "y is written before; to change it in place: update y%[")
    refused(one("update update[i] = x[i]"), "update is updated, but its sizes")
  end)

  it("tells the core what is called and what is updated", function()
    local g = loom.graph {
      einsums = { "C[i,j] = mm(A[i,k], B[k,j])", "update h[n[i]] += C[i,0]", "y[i] = h[i]",
        "update h[i] = h[i] * 2" },
      sizes = { i = 4, j = 5, k = 3 },
      tensors = { h = { sizes = { 4 } }, n = { dtype = "i64" }, C = { sizes = { 4, 5 } } },
    }
    local ops = g.core:ops()
    assert.are.equal("opaque mm 120", ("%s %s %s"):format(ops[1].kind, ops[1].call, ops[1].flops))
    assert.are.equal("scatter h", ops[2].kind .. " " .. ops[2].mutates[1])
    assert.is_true(ops[2].writes[1].accumulates)
    assert.are.equal("h'1", ops[3].reads[1].buffer)
    assert.are.equal("pointwise h'1", ops[4].kind .. " " .. ops[4].mutates[1])
    assert.are.equal("h h_2", ops[2].name .. " " .. ops[4].name)
    assert.is_true(g.tensors["h'2"].output)
    assert.is_false(g.tensors["h'1"].output)
  end)

  it("tells the core how a reduction is best spread", function()
    local g = loom.graph {
      einsums = { "a[i] += x[i,j] * v[j]", "b[j] += x[i,j] * w[i]", "c[j] += x[i,j]",
        "d[] += t[3*n]", "e[i] += x[i,j] * z[j,i]", "f[q] += u[p,q]", "g[i,j] = x[i,j]" },
      sizes = { i = 4, j = 6, n = 5, p = 8, q = "N" },
    }
    local hints = {}
    for i, op in ipairs(g.core:ops()) do hints[i] = op.hint end
    -- w is walked along i, x across it; a step of N is taken to be more than one.
    assert.are.equal("inner default outer outer default outer default", table.concat(hints, " "))
  end)

  it("has sizes in indices", function()
    local g = loom.graph {
      einsums = { "y[i] = x[(i*N + K) // M % N, 2*K] / N" }, sizes = { i = "M" },
      tensors = { x = { sizes = { "N", "N" } } }, scalars = { K = 3 },
    }
    assert.are.equal("6 + N*mod_index(3 + N*p0, M, N)", tostring(g.nodes[1].reads[1].index))
    refused({ einsums = { "y[i] = x[i*j]" }, sizes = { i = 2, j = 3 } },
      "1:11: index i%*j multiplies rank variables")
    refused({ einsums = { "y[i] = x[i//j]" }, sizes = { i = 2, j = 3 } },
      "1:11: the right side of // in an index must be a positive integer")
  end)

  it("leaves the grammar of workloads as it is", function()
    local einsum = require "einloom.einsum"
    for text, pattern in pairs {
      ["y[i] = x[i] + x[i+1]"] = "two different index lists",
      ["y[i] = x[n[i]]"] = "an index is made of rank variables",
      ["y[i] = a[i] < b[i]"] = "unexpected '<'",
      ["update y[i] = a[i]"] = "expected =, %+=",
      ["y[i] = a[i*N]"] = "multiplies rank variables",
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

  it("calls and updates", function()
    local calls = { einsums = { "C[i,j] = addmm(b[j], A[i,k], B[k,j])" },
      sizes = { i = 2, j = 2, k = 2 } }
    assert.are.equal("12.0 24.0 14.0 28.0",
      values(calls, { b = { 10, 20 }, A = { 1, 1, 2, 2 }, B = { 1, 2, 1, 2 } }, "C"))
    local t = one([=[
      update h[n[i]] += v[i]
      before[k] = h[k]
      update h[k] = h[k] * 10
      update last[n[i]] = i
    ]=], { tensors = { h = { sizes = { 3 } }, n = { dtype = "i64" }, last = { sizes = { 3 } } },
      sizes = { i = 4, k = 3 } })
    t.einsums = t.einsums[1]
    local inputs = { h = { 1, 1, 1 }, n = { 0, 2, 2, 0 }, v = { 1, 2, 3, 4 }, last = { 9, 9, 9 } }
    assert.are.equal("60.0 10.0 60.0", values(t, inputs, "h"))
    assert.are.equal("6.0 1.0 6.0", values(t, inputs, "before"))
    assert.are.equal("3.0 9.0 2.0", values(t, inputs, "last"))
    assert.are.equal("1 1 1", table.concat(inputs.h, " "))
    inputs.n[1] = 3
    local ok, e = pcall(values, t, inputs, "h")
    assert.is_false(ok)
    assert.matches("h: index 3 in dimension 1 of h, which is 3 long", tostring(e))
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
