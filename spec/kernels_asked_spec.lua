-- SPDX-License-Identifier: MIT
-- What kernels, their C and direct evaluation of graphs are asked for: what makes no sense is told
-- with its place.

local compiled = require "support.compiled"
local loom = require "einloom"

local function raises(pattern, f, ...)
  local ok, e = pcall(f, ...)
  assert.is_false(ok)
  assert.are.equal("table", type(e), tostring(e))
  assert.matches(pattern, tostring(e))
end

local function lookup()
  return loom.graph { einsums = "y[i] = x[i] * t[n[i]]", sizes = { i = 4 },
    tensors = { t = { sizes = { 3 } } } }
end

describe("options of kernels", function()
  it("are checked one by one", function()
    local g = lookup()
    for pattern, options in pairs {
      ["options: table expected, got number"] = 5,
      ["max_tiles: 1 to 3 expected, got .*nan"] = { max_tiles = 0 / 0 },
      ["max_tiles: 1 to 3 expected, got 0"] = { max_tiles = 0 },
      ["max_tiles: 1 to 3 expected, got 99"] = { max_tiles = 99 },
      ["options.combine: true or false expected, got 'yes'"] = { combine = "yes" },
      ["options.combine.mixed: 0 to 2 expected, got 9"] = { combine = { mixed = 9 } },
      ["options.combine.size_aware: true or false"] = { combine = { size_aware = "x" } },
      ["options.groups%[1%]: list of names of nodes"] = { groups = { "y" } },
      ["options.groups: list of groups"] = { groups = "y" },
      ["options.blocks: true or false expected, got 1"] = { blocks = 1 },
      ["unknown key 'coalescing'"] = { coalescing = true },
    } do
      raises(pattern, g.kernels, g, options)
    end
  end)
end)

describe("a kernel", function()
  it("is mapped on machines alone", function()
    local kernel = lookup():kernels()[1]
    for _, arch in ipairs { 5, "DRAM", {} } do
      local ok, problem = pcall(kernel.mapping, kernel, arch)
      assert.is_false(ok)
      assert.matches("an architecture %(loom.arch%) expected, got ", tostring(problem))
    end
  end)
end)

describe("data", function()
  it("is of the tensors that are read, and fits", function()
    local g, x, t, n = lookup(), { 1, 2, 3, 4 }, { 1, 2, 3 }, { 0, 1, 2, 0 }
    raises("inputs: data by tensor expected, got nil", g.evaluate, g)
    for pattern, inputs in pairs {
      ["inputs.x%[3%]: number expected, got nil"] = { x = { 1, 2, nil, 4 }, t = t, n = n },
      ["inputs.x%[2%]: number expected, got '2'"] = { x = { 1, "2", 3, 4 }, t = t, n = n },
      ["x holds 4 elements, 5 were given"] = { x = { 1, 2, 3, 4, 5 }, t = t, n = n },
      ["inputs.n%[2%]: 1.5 is no whole number"] = { x = x, t = t, n = { 0, 1.5, 2, 0 } },
      ["unknown key 'z'; known: n, t, x"] = { x = x, t = t, n = n, z = {} },
      ["unknown key 'y'; known: n, t, x"] = { x = x, t = t, n = n, y = x },
    } do
      raises(pattern, g.evaluate, g, inputs)
    end
    raises("at: unknown key 'N'", g.evaluate, g, { x = x, t = t, n = n }, { N = 3 })
    assert.are.same({ 1.0, 4.0, 9.0, 4.0 }, g:evaluate({ x = x, t = t, n = n }).y)
  end)

  it("has whole sizes", function()
    local g = loom.graph { einsums = "y[i] = x[i]", sizes = { i = "N" } }
    raises("at.N: a whole number from 1 to inf expected, got %-1", g.evaluate, g, { x = {} },
      { N = -1 })
    local size = loom.symbol("K", { max = 2 })
    local small = loom.graph { einsums = "y[i] = x[i]", sizes = { i = size } }
    raises("at.K: .* to 2 expected, got 3", small.evaluate, small, { x = { 1, 2, 3 } }, { K = 3 })
    raises("at.N: .* got 1.5", g.evaluate, g, { x = { 1 } }, { N = 1.5 })
    raises("at: values by size expected", g.evaluate, g, { x = { 1 } }, 5)
  end)

  it("may have whole floats as indices, no others", function()
    local g = loom.graph { einsums = "y[i] = t[n[i]]", sizes = { i = 2 },
      tensors = { n = { dtype = "f32" }, t = { sizes = { 3 } } } }
    assert.are.same({ 1.0, 3.0 }, g:evaluate({ t = { 1, 2, 3 }, n = { 0, 2 } }).y)
    raises("index 1.5 in dimension 1 of t", g.evaluate, g, { t = { 1, 2, 3 }, n = { 0, 1.5 } })
  end)
end)

describe("the C", function()
  it("is of kernels of the graph, with a name that is free", function()
    local g, other = lookup(), lookup()
    raises("kernels%[1%]: kernel1 is a kernel of another graph", g.c_source, g, other:kernels())
    raises("kernels%[1%]: a kernel expected, got number", g.c_source, g, { 1, 2 })
    raises("kernels: list of kernels expected", g.c_source, g, 5)
    raises("options: table expected", g.c_source, g, nil, nil, 5)
    for name, pattern in pairs {
      ["int"] = "C keeps the name", ["exp"] = "name of the headers", ["kernel1"] = "the source has",
      ["sqrtf"] = "name of the headers", ["el_max"] = "the source has", ["2a"] = "no name in C",
      ["a-b"] = "no name in C", ["m_x"] = "names of tensors", ["x0"] = "the source has",
      ["int8_t"] = "name of the headers", ["_Bool"] = "C keeps", [""] = "no name in C",
      ["main"] = "C keeps",
    } do
      raises("^name: .*" .. pattern, g.c_source, g, nil, name)
    end
    raises("name: text expected", g.c_source, g, nil, 5)
    assert.truthy((g:c_source(nil, "include")):find "void include%(")
  end)

  it("grows with the terms of a body", function()
    local function seconds(n)
      local g = loom.graph { einsums = "y[i] = " .. ("x[i] + "):rep(n - 1) .. "x[i]",
        sizes = { i = 4 } }
      local kernels, start = g:kernels(), os.clock()
      local text = g:c_source(kernels)
      return os.clock() - start, #text
    end
    local few, short = seconds(2000)
    local many, long = seconds(32000)
    assert.is_true(long < 17 * short)
    assert.is_true(many < 60 * few + 0.2, ("%g s, %g s"):format(few, many))
  end)

  if not compiled.available then return end

  local function run(g, data, asked)
    local text, sizes = g:c_source()
    return compiled.run(g, text, sizes, {}, data, asked)
  end

  it("has scalars that are no numbers", function()
    local g = loom.graph { einsums = "y[i] = x[i] * a + b", sizes = { i = 1 },
      scalars = { a = -(0 / 0), b = math.huge } }
    local y = run(g, { x = { 1 }, y = { 0 } }, { y = true }).y
    assert.is_true(y[1] ~= y[1])
  end)

  it("folds sums, products and maxima from the left as evaluation does", function()
    local g = loom.graph { einsums = "y[] = max(x[0], x[1] + x[2] + x[3] * x[4] * x[5],"
      .. " x[1], min(x[2], x[3], x[4]))", tensors = { y = { dtype = "f64" } }, dtype = "f64" }
    local x = { 1e-3, 0.1, 1e16, -3.7, 1e16 / 3.7, 1.0000001 }
    local expected = g:evaluate { x = x }.y[1]
    assert.are.equal(expected, run(g, { x = x, y = { 0 } }, { y = true }).y[1])
  end)

  it("carries what is no number through max and min, as evaluation does", function()
    local nan = 0 / 0
    local g = loom.graph {
      einsums = "a[i] max= x[i,j]\nb[i] min= x[i,j]\nc[i] = max(x[i,0], x[i,1])\n"
        .. "d[i] = min(x[i,1], x[i,0])\ne[i] = relu(x[i,0])",
      sizes = { i = 3, j = 2 } }
    local x, asked = { nan, 1, 1, nan, 1, 2 }, {}
    local data = { x = x }
    for _, name in ipairs { "a", "b", "c", "d", "e" } do
      asked[name], data[name] = true, { 0, 0, 0 }
    end
    local expected, got = g:evaluate { x = x }, run(g, data, asked)
    for name in pairs(asked) do
      for i = 1, 3 do
        assert.is_true(compiled.close(got[name][i], expected[name][i], 0), name .. i)
      end
      local second = name ~= "e"
      assert.is_true(got[name][1] ~= got[name][1])
      assert.are.equal(second, got[name][2] ~= got[name][2])
      assert.is_true(got[name][3] == got[name][3])
    end
  end)

  it("keeps what is beyond the range of integers at its end", function()
    local g = loom.graph {
      einsums = "a[i] = x[i]\nb[i] = x[i]\nc[i] = x[i]", sizes = { i = 8 },
      tensors = { a = { dtype = "i8" }, b = { dtype = "i32" }, c = { dtype = "i64" },
        x = { dtype = "f64" } } }
    local x = { 127.9, 128, -128.9, -129, 1e300, -math.huge, 0 / 0, 2147483647.5 }
    local zeros = { 0, 0, 0, 0, 0, 0, 0, 0 }
    local got = run(g, { x = x, a = zeros, b = zeros, c = zeros }, { a = true, b = true, c = true })
    assert.are.same({ 127, 127, -128, -128, 127, -128, 0, 127 }, got.a)
    assert.are.same({ 127, 128, -128, -129, 2147483647, -2147483648, 0, 2147483647 }, got.b)
    assert.are.same({ 127, 128, -128, -129, 2.0 ^ 63, -2.0 ^ 63, 0, 2147483647 }, got.c)
    raises("128.0 is not in the range of i8", g.evaluate, g, { x = { 0, 128, 0, 0, 0, 0, 0, 0 } })
  end)
end)
