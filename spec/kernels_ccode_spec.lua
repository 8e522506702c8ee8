-- SPDX-License-Identifier: MIT
-- Generated C, compiled and run on random data, against direct evaluation of the graph.

local ccode = require "einloom.kernels.ccode"
local compiled = require "support.compiled"
local evaluate = require "einloom.kernels.evaluate"
local files = require "support.files"
local graph = require "einloom.graph"
local plan = require "einloom.kernels.plan"
local program = require "einloom.kernels.program"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

-- Random data for what a graph only reads: small integers for integer tensors (`below` by name),
-- values around 1 elsewhere.
local function inputs_of(g, layouts, below)
  local inputs = {}
  for _, name in ipairs(g.order) do
    if not g.tensors[name].writer then
      local list, floats = {}, g.tensors[name].dtype:find "f%d"
      for i = 1, layouts[name].storage do
        list[i] = layouts[name].keep(floats and math.random() * 4 - 1.5
          or math.random(0, (below[name] or 2) - 1))
      end
      inputs[name] = list
    end
  end
  return inputs
end

-- Runs the C of a graph and compares; returns the programs.
local function check(t)
  math.randomseed(seed)
  local g = t.built or graph.new(t.graph)
  local programs = plan.kernels(g, t.options)
  local layouts = evaluate.layouts(g, t.at)
  local inputs = inputs_of(g, layouts, t.below or {})
  local expected = evaluate.run(g, inputs, t.at)
  local text, sizes = ccode.source(g, programs, nil, t.c)
  local data, asked = {}, {}
  for name, layout in pairs(layouts) do
    asked[name] = g.tensors[name].output or nil
    data[name] = inputs[name] or {}
    for i = 1, inputs[name] and 0 or layout.storage do data[name][i] = 0 end
  end
  local got = compiled.run(g, text, sizes, t.at or {}, data, asked)
  for name in pairs(asked) do
    for i, x in ipairs(expected[name]) do
      if not compiled.close(got[name][i], x, t.tolerance or 0) then
        error(("seed %d: %s[%d] is %s, expected %s\n%s"):format(seed, name, i - 1, got[name][i], x,
          text))
      end
    end
  end
  return programs, text
end

local function members(programs)
  local list = {}
  for i, made in ipairs(programs) do
    local names = {}
    for _, step in ipairs(made.facts.schedule) do
      if not step:find "^reduction_" then names[#names + 1] = step end
    end
    list[i] = table.concat(names, " ")
  end
  return table.concat(list, " | ")
end

local softmax = {
  "m[i] max= x[i,j]", "e[i,j] = exp(x[i,j] - m[i])", "s[i] += e[i,j]", "y[i,j] = e[i,j] / s[i]",
}

local cases = {
  softmax = { graph = { einsums = softmax, sizes = { i = 7, j = 20 } }, kernels = "m e s y" },
  layernorm = {
    graph = {
      einsums = {
        "mean[i] += x[i,j] / 33", "c[i,j] = x[i,j] - mean[i]", "var[i] += c[i,j]^2 / 33",
        "y[i,j] = c[i,j] * rsqrt(var[i] + eps) * w[j] + b[j]",
      },
      sizes = { i = 5, j = 33 }, scalars = { eps = 1e-5 },
    },
    kernels = "mean c var y",
  },
  rmsnorm = {
    graph = {
      einsums = { "s[i] += x[i,j]^2", "y[i,j] = x[i,j] * rsqrt(s[i] / 24 + 1e-6) * w[j]" },
      sizes = { i = 6, j = 24 },
    },
    kernels = "s y",
  },
  ["attention scores with a mask"] = {
    graph = {
      einsums = {
        "q[h,i,j] += Q[h,i,d] * K[h,j,d]",
        "p[h,i,j] = select(j <= i, q[h,i,j] / sqrt(8), -inf)",
        "m[h,i] max= p[h,i,j]", "e[h,i,j] = exp(p[h,i,j] - m[h,i])", "s[h,i] += e[h,i,j]",
        "a[h,i,j] = e[h,i,j] / s[h,i]",
      },
      sizes = { h = 2, i = 9, j = 9, d = 8 },
    },
  },
  ["transpose and add"] = {
    graph = { einsums = "y[i,j] = x[j,i] + z[i,j]", sizes = { i = 32, j = 48 } },
    kernels = "y", tiles = "y x r0_",
  },
  ["two outputs"] = {
    graph = {
      einsums = "a[i,j] = relu(x[i,j])\nb[i,j] = x[i,j] * 2 + a[i,j]", sizes = { i = 6, j = 10 },
      outputs = { "a" },
    },
    kernels = "a b",
  },
  ["several outputs of one einsum"] = {
    graph = { einsums = "a[i,j], b[j,i] = x[i,j] + 1", sizes = { i = 6, j = 10 } },
  },
  ["cat and split views"] = {
    graph = {
      einsums = {
        "c[i,j] = select(j < 5, a[i,j], b[i,j-5])", "l[i,k] = c[i,k]", "r[i,k] = c[i,k+6] * 2",
        "f[n] = c[n//12, n%12] + 1",
      },
      sizes = { i = 4, j = 12, k = 6, n = 48 },
      tensors = { a = { sizes = { 4, 5 } }, b = { sizes = { 4, 7 } } },
    },
  },
  ["outer reduction"] = {
    graph = { einsums = { "s[j] += x[i,j]^2", "y[j] = sqrt(s[j])" }, sizes = { i = 30, j = 11 } },
    kernels = "s y",
  },
  scan = {
    graph = {
      einsums = { "c[i,j] = scan_sum(x[i,j] * w[j], j)", "y[i,j] = c[i,j] + 1" },
      sizes = { i = 5, j = 17 },
    },
  },
  gather = {
    graph = {
      einsums = "y[i,j] = table[idx[i], j] * w[idx[i]]", sizes = { i = 9, j = 6 },
      tensors = {
        table = { sizes = { 20, 6 } }, w = { sizes = { 20 } }, idx = { dtype = "i64" },
      },
    },
    below = { idx = 20 },
  },
  welford = {
    graph = {
      einsums = {
        "mean[i], m2[i], n[i] = welford(x[i,j])",
        "y[i,j] = (x[i,j] - mean[i]) * rsqrt(m2[i] / n[i] + 1e-5)",
      },
      sizes = { i = 6, j = 40 }, outputs = { "mean" },
    },
    tolerance = 1e-5,
  },
  ["positions of extremes"] = {
    graph = {
      einsums = { "k[i] = argmax(x[i,j])", "l[i] = argmin(x[i,j] * 2)", "y[i] = x[i,k[i]] - l[i]" },
      sizes = { i = 6, j = 9 },
      tensors = { k = { dtype = "i64" }, l = { dtype = "i32" }, x = { sizes = { 6, 9 } } },
    },
  },
  ["fused MLP"] = {
    graph = {
      einsums = {
        "h[m,f] += x[m,k] * w1[k,f]", "g[m,f] = relu(h[m,f] + b1[f])",
        "o[m,n] += g[m,f] * w2[f,n]", "y[m,n] = o[m,n] + b2[n] + r[m,n]",
      },
      sizes = { m = 6, k = 5, f = 8, n = 7 },
    },
    kernels = "h g | o y",
  },
  ["calls of libraries"] = {
    graph = {
      einsums = {
        "a[i,k] = relu(x[i,k])", "h[i,j] = mm(a[i,k], w[k,j])",
        "g[i,j] = addmm(b[j], h[i,k], v[k,j])",
        "c[n,o,p] = conv(img[n,q,p+r], f[o,q,r])", "y[i,j] = g[i,j] + h[i,j]",
        "s[b1,i,j] = bmm(q[b1,i,d], t[b1,j,d])",
      },
      sizes = { i = 4, j = 3, k = 3, n = 2, o = 3, p = 5, q = 2, r = 3, b1 = 2, d = 4 },
    },
    kernels = "a | h | g | c | y | s",
  },
  ["a call with its neighbours"] = {
    graph = {
      einsums = { "a[m,k] = relu(x[m,k]) * s[m]", "b[k,n] = w[k,n] * 2",
        "c[m,n] = mm(a[m,k], b[k,n])", "d[m,n] = c[m,n] + bias[n]",
        "e[m,n] = relu(d[m,n]) + r[m,n]" },
      sizes = { m = 5, n = 7, k = 6 }, templates = true,
    },
    kernels = "a b c d e",
  },
  ["a call of one tensor with itself"] = {
    graph = {
      einsums = { "a[m,k] = x[m,k] - t[idx[m],k]", "b[m] = v[m] * 0.5",
        "c[m,n] = addmm(b[m], a[m,k], a[n,k])", "d[m,n] = select(n <= m, c[m,n], 0) * (m + 1)" },
      sizes = { m = 4, n = 4, k = 3 }, templates = { "c" }, outputs = { "c" },
      tensors = { t = { sizes = { 6, 3 } }, idx = { dtype = "i64" }, a = { sizes = { 4, 3 } } },
    },
    below = { idx = 6 }, kernels = "b a c d",
  },
  ["calls of one point"] = {
    graph = {
      einsums = { "a[m,k] = x[m,k] + 1", "c[m,n] = mm(a[m,k], w[k,n])", "d[m,n] = c[m,n] * 2" },
      sizes = { m = 1, n = 3, k = 1 }, templates = true,
    },
  },
  ["updates in place"] = {
    graph = {
      einsums = [[
        y[i,j] = x[i,j] * 2 + z[i,j]
        update x[i,j] = y[i,j] - x[i,j]
        s[i] += x[i,j]
        update x[i,j] += s[i]
        update z[j,i] max= x[i,j]
      ]],
      sizes = { i = 5, j = 6 }, tensors = { x = { sizes = { 5, 6 } }, z = { sizes = { 6, 6 } } },
    },
  },
  ["an update behind readers at other places"] = {
    graph = {
      einsums = { "y[i] = x[i+1]", "update x[i] = y[i] * 2", "z[i] = x[i] + x[9-i]" },
      sizes = { i = 9 }, tensors = { x = { sizes = { 10 } } },
    },
    kernels = "y | x | z",
  },
  scatter = {
    graph = {
      einsums = [=[
        w[i] = v[i] * 3
        update hist[bin[i]] += w[i]
        update top[bin[i],j] max= t[i,j]
        update last[bin[i]] = i
        twice: update hist[bin[i]] = hist[bin[i]] * 2 - v[i]
        most: update hist[bin[i]] max= hist[bin[i]] * v[i]
        update rows[i] += t[i,j]
        y[k] = hist[k] * 2 + last[k]
      ]=],
      sizes = { i = 20, j = 3, k = 6 },
      tensors = {
        hist = { sizes = { 6 } }, top = { sizes = { 6, 3 } }, bin = { dtype = "i64" },
        last = { sizes = { 6 }, dtype = "i32" }, rows = { sizes = { 20 } },
      },
    },
    below = { bin = 6 },
  },
  ["half-size numbers"] = {
    graph = {
      einsums = {
        "m[i] max= x[i,j]", "e[i,j] = exp(x[i,j] - m[i])", "s[i] += e[i,j]",
        "y[i,j] = e[i,j] / s[i]", "b[i,j] = y[i,j] * w[j] * 1e-3", "o[i,j] = b[i,j] * 1e30 * 1e12",
        "update x[i,j] *= 3000 * x[i,j]",
      },
      sizes = { i = 7, j = 20 }, dtype = "f16", outputs = { "m", "e", "y", "b" },
      tensors = {
        x = { sizes = { 7, 20 } }, b = { dtype = "bf16" }, w = { dtype = "bf16" },
        o = { dtype = "bf16" },
      },
    },
  },
  ["symbolic sizes in indices"] = {
    graph = {
      einsums = {
        "f[n] = x[n // N, n % N]", "y[i,j] = f[i*N + j] * 2 + N - M",
        "t[j,i] = f[(j*M + i) // M * M + i]", "b[n] = t[(n + N*STEP) // M % N, 0]",
      },
      sizes = { i = "M", j = "N", n = "M*N" }, tensors = { x = { sizes = { "M", "N" } },
        f = { sizes = { "M*N" } }, t = { sizes = { "N", "M" } } },
      scalars = { STEP = 2 }, outputs = { "f" }, hints = { M = 16, N = 8 },
    },
    at = { M = 5, N = 7 },
  },
  ["strides, offsets and integers"] = {
    graph = {
      einsums = { "y[i,j] = x[i,j] // 3 + x[i,j] % 4", "c[] += x[i,j] > 2" },
      sizes = { i = 6, j = 4 },
      tensors = {
        x = { sizes = { 6, 4 }, strides = { 1, 8 }, offset = 3, dtype = "i32" },
        y = { dtype = "i8" }, c = { dtype = "i64" },
      },
    },
    below = { x = 9 },
  },
  ["sizes that are symbols"] = {
    graph = {
      einsums = softmax, sizes = { i = "s0", j = "s1" }, hints = { s0 = 16, s1 = 64 },
    },
    at = { s0 = 5, s1 = 13 }, kernels = "m e s y",
  },
}

local function any(list) return list[math.random(#list)] end

-- A random chain of einsums over tensors of two dimensions and their rows and columns.
local function random_graph()
  local matrices, rows, columns, texts, dtypes = { "x" }, {}, {}, {}, {}
  local updated
  local function operand()
    local n = updated and 5 or math.random(8)
    if updated then return any { "z[i,j]", "z[j,i]", "1", "i - j" } end
    if n == 1 and #rows > 0 then return any(rows) .. "[i]" end
    if n == 2 and #columns > 0 then return any(columns) .. "[j]" end
    if n == 3 then return any(matrices) .. "[j,i]" end
    if n == 4 then return any(matrices) .. any { "[i//2,(j+3)%N]", "[i//2,j]" } end
    if n == 5 then return ("select(j < i, %s[i,j], i)"):format(any(matrices)) end
    return any(matrices) .. "[i,j]"
  end
  for k = 1, math.random(3, 8) do
    local name, n = "t" .. k, math.random(8)
    updated = n > 6 and any(matrices)
    local value = ("%s * 0.5 - %s"):format(operand(), operand())
    if n == 1 then
      texts[k] = ("%s[i] %s %s"):format(name, any { "+=", "max=", "min=" }, value .. " + 0 * j")
      rows[#rows + 1] = name
    elseif n == 2 then
      texts[k] = ("%s[j] += %s"):format(name, value .. " + 0 * i")
      columns[#columns + 1] = name
    elseif n == 3 then
      texts[k] = ("%s[i,j] = scan_sum(%s, %s)"):format(name, value, any { "i", "j" })
      matrices[#matrices + 1] = name
    elseif updated then
      local place = any { "i,j", "j,i", "(i+2)%N,j", "i//2,j" }
      texts[k] = ("update %s[%s] %s %s"):format(updated, place, any { "=", "+=", "max=" }, value)
    else
      texts[k] = ("%s[i,j] = %s"):format(name, value)
      matrices[#matrices + 1] = name
      dtypes[name] = { dtype = any { "f32", "f32", "f64", "f16", "bf16" } }
    end
  end
  local n = math.random(1, 9)
  dtypes.x = { sizes = { n, n }, strides = any { { n, 1 }, { 1, n } } }
  for k, text in ipairs(texts) do texts[k] = text:gsub("N", tostring(n)) end
  return {
    einsums = texts, sizes = { i = n, j = n },
    tensors = dtypes,
  }
end

local tilings = {
  {}, { tiling = "coalescing" }, { tiling = "best" },
  { max_tiles = 3 }, { blocks = true }, { reductions = true },
  { blocks = true, reductions = true, max_tiles = 3 },
}

describe("the C of a kernel", function()
  if not compiled.available then return pending "no C compiler" end
  for name, case in pairs(cases) do
    it("computes " .. name, function()
      local programs = check(case)
      if case.kernels then assert.are.equal(case.kernels, members(programs)) end
      if case.tiles then
        local tiles = {}
        for i, tile in ipairs(programs[1].facts.tiling) do tiles[i] = tile[1] end
        assert.are.equal(case.tiles, table.concat(tiles, " "))
      end
    end)
  end

  for _, name in ipairs { "softmax", "layernorm", "attention", "mlp", "transpose",
    "templates" } do
    it("computes the example " .. name, function()
      check { built = dofile(files.root(("examples/kernels/%s.lua"):format(name))),
        tolerance = name == "layernorm" and 1e-5 or 0 }
    end)
  end

  it("computes the same with every choice of tilings", function()
    local base = cases["attention scores with a mask"]
    local rows = { einsums = softmax, sizes = { i = 32, j = 128 } }
    for _, options in ipairs(tilings) do
      check { graph = base.graph, options = options }
      check { graph = rows, options = options }
    end
    local t = { einsums = "y[i,j,k] = x[k,j,i] + z[i,j,k]", sizes = { i = 16, j = 12, k = 20 } }
    local seen = {}
    for _, options in ipairs(tilings) do
      seen[#check({ graph = t, options = options })[1].facts.tiling] = true
    end
    assert.is_true(seen[3])
  end)

  it("computes the same with each node as its own kernel", function()
    local case = {
      graph = cases.softmax.graph, options = { groups = { { "m" }, { "e" }, { "s" }, { "y" } } },
    }
    assert.are.equal("m | e | s | y", members(check(case)))
  end)

  it("computes loops of every size", function()
    math.randomseed(seed)
    for _, name in ipairs { "softmax", "layernorm", "welford", "scan", "outer reduction" } do
      local case = cases[name]
      local copy = {}
      for key, value in pairs(case.graph) do copy[key] = value end
      copy.sizes = { i = math.random(1, 3), j = math.random(1, 3) }
      check { graph = copy, tolerance = case.tolerance }
    end
    check { graph = { einsums = { "y[] += x[i]", "z[] = y[] * 2" }, sizes = { i = 1 } } }
  end)

  it("stores only what is read from memory or leaves", function()
    local programs = check { graph = { einsums = { "a[i] = relu(x[i])", "b[i] = a[i] * 2",
      "s[i] += m[i,j] * b[i]", "z[i] = s[i] + b[i]" }, sizes = { i = 8, j = 5 } },
      options = { groups = { { "a", "b" }, { "s", "z" } } } }
    assert.are.equal("x b", table.concat(programs[1].tensors, " "))
    assert.are.equal("m b z", table.concat(programs[2].tensors, " "))
    assert.are.same({ b = true }, programs[1].stored)
    assert.are.same({ z = true }, programs[2].stored)
    assert.are.same({ e = true, y = true }, check(cases.softmax)[1].stored)
    programs = check { graph = { einsums = { "e[i,j] = exp(x[i,j])", "s[i] += e[i,j]" },
      sizes = { i = 8, j = 5 } } }
    assert.are.equal("e s", members(programs))
    assert.are.same({ s = true }, programs[1].stored)
  end)

  it("computes random neighbours of a call", function()
    local function chain(list, prefix, index, last, most)
      for i = 1, math.random(0, most) do
        local name = prefix .. i
        local row = index:match "%w"
        local other = any { ("%s_%d[%s]"):format(prefix, i, index),
          ("%s_%d[%s]"):format(prefix, i, row), "0.5" }
        list[#list + 1] = ("%s[%s] = %s"):format(name, index,
          (any { "relu(%s) + %s", "%s * %s", "max(%s, %s)", "%s - %s" }):format(
            ("%s[%s]"):format(last, index), other))
        last = name
      end
      return last
    end
    for k = 1, tonumber(os.getenv "EINLOOM_ROUNDS") or 6 do
      math.randomseed(seed + k)
      local list = {}
      local a, b = chain(list, "a", "m,k", "x", 2), chain(list, "b", "k,n", "w", 2)
      list[#list + 1] = ("c[m,n] = mm(%s[m,k], %s[k,n])"):format(a, b)
      chain(list, "e", "m,n", "c", 3)
      local t = { einsums = list, templates = true, outputs = any { {}, { "c" } },
        sizes = { m = math.random(4), n = math.random(4), k = math.random(4) },
        dtype = any { "f32", "f64", "f16" } }
      local ok, e = pcall(check, { graph = t })
      if not ok then
        error(("seed %d, round %d: %s\n%s"):format(seed, k, table.concat(list, "\n"), tostring(e)))
      end
    end
  end)

  it("computes random graphs", function()
    for k = 1, tonumber(os.getenv "EINLOOM_ROUNDS") or 6 do
      math.randomseed(seed + k)
      local t, options = random_graph(), {}
      for key, value in pairs(tilings[k % #tilings + 1]) do options[key] = value end
      options.combine = k % 3 == 0 or nil
      local ok, e = pcall(check, { graph = t, options = options,
        c = { in_place = k % 2 == 0, block = 3 } })
      if not ok then
        error(("seed %d, round %d: %s\n%s"):format(seed, k, table.concat(t.einsums, "\n"),
          tostring(e)))
      end
    end
  end)

  it("goes over values twice for means and deviations, as evaluation does", function()
    math.randomseed(seed)
    local graphs = {
      cases.welford.graph,
      { einsums = { "z[i,j] = exp(x[i,j]) * w[j]", "u[i,j] = z[i,j] - x[i,j]",
          "mean[i], m2[i], n[i] = welford(u[i,j])", "a[i], b[i] = welford(x[i,j] - z[i,j])",
          "y[i,j] = (u[i,j] - mean[i]) * m2[i] / n[i] + a[i] * b[i]" },
        sizes = { i = 4, j = 9 }, outputs = { "z" }, dtype = "f32" },
      { einsums = { "mean[j], m2[j] = welford(x[i,j])", "y[i,j] = x[i,j] - mean[j] / m2[j]" },
        sizes = { i = 7, j = 5 } },
      { einsums = { "mean[i], m2[i], n[i] = welford(x[i,j])", "y[i] = mean[i] + m2[i]" },
        sizes = { i = 6, j = 1 }, outputs = { "n" } },
    }
    for _, g in ipairs(graphs) do
      local _, text = check { graph = g, c = { two_passes = true } }
      assert.truthy(text:find("_sum / a_", 1, true), text)
      assert.is_nil(text:find("_mean +=", 1, true))
      if g.sizes.j > 1 then
        local copy = {}
        for key, value in pairs(g) do copy[key] = value end
        copy.sizes = { i = math.random(3), j = math.random(3) }
        check { graph = copy, c = { two_passes = true } }
      end
    end
  end)

  it("refuses to go twice over values that are not there any more", function()
    local function refused(einsums, pattern, options, tensors)
      local g = graph.new { einsums = einsums, sizes = { i = 4, j = 6 }, tensors = tensors }
      local programs = plan.kernels(g, options)
      assert.is_string((ccode.source(g, programs)))
      local ok, problem = pcall(ccode.source, g, programs, nil,
        { two_passes = true, in_place = true })
      assert.is_false(ok)
      assert.matches(pattern, tostring(problem))
    end
    refused({ "c[i,j] = scan_sum(x[i,j], j)", "m[i], d[i] = welford(c[i,j] * 2)" },
      "kernel1: m goes over its values twice, but c is a scan in the same loop",
      { groups = { { "c", "m" } } })
    refused({ "update x[i,j] += u[i,j]", "m[i], d[i] = welford(x[i,j])" },
      "kernel1: m goes over its values twice, but the same loop overwrites x",
      { groups = { { "x", "m" } } }, { x = { sizes = { 4, 6 } } })
  end)

  it("computes the same where results take over the storage of what they are made of", function()
    local alone = { groups = { { "m" }, { "e" }, { "s" }, { "y" } } }
    local programs, text = check { graph = cases.softmax.graph, options = alone,
      c = { in_place = true } }
    assert.are.same({ { "e", "y" } }, programs[4].facts.in_place)
    assert.is_nil(text:find("m_e[", 1, true))
    assert.is_truthy(text:find("m_y[", 1, true))
    local chain = { einsums = { "a[i] = relu(x[i])", "s[] += a[i]", "b[i] = a[i] - s[]",
      "t[] += b[i]", "c[i] = b[i] * t[]" }, sizes = { i = 50 } }
    programs, text = check { graph = chain, c = { in_place = true }, options = {
      groups = { { "a" }, { "s" }, { "b" }, { "t" }, { "c" } } } }
    assert.are.same({ { "b", "c" } }, programs[5].facts.in_place)
    assert.is_nil(text:find("m_a[", 1, true) or text:find("m_b[", 1, true))
    for _, name in ipairs { "attention scores with a mask", "fused MLP", "scan", "layernorm" } do
      check { graph = cases[name].graph, c = { in_place = true } }
    end
  end)

  local apart = { einsums = { "a[i] = x[i] * 2", "b[j] = y[j] + 1", "s[k] += z[k,l]",
    "u[i] = a[i] - 3", "p[k,l] = z[k,l] * s[k]", "q[l,k] = z[k,l] + 1" },
    sizes = { i = 300, j = 40, k = 5, l = 64 }, outputs = { "a" } }
  local alone = { { "a" }, { "b" }, { "s" }, { "u" }, { "p" }, { "q" } }

  it("computes kernels that are launched at once", function()
    for _, how in ipairs { true, { size_aware = true }, { size_aware = true, mixed = 1 },
      { mixed = 2 } } do
      local programs, text = check { graph = apart, c = { block = 7, in_place = true },
        options = { groups = alone, combine = how } }
      assert.are.equal(6, #programs)
      assert.is_truthy(text:find("block++", 1, true))
      check { graph = apart, options = { combine = how, tiling = "best" } }
    end
    local programs = check { graph = apart, options = { groups = alone, combine = true } }
    assert.are.equal("a | b | s | q | u | p", members(programs))
    local numbers = {}
    for i, made in ipairs(programs) do numbers[i] = made.facts.launch or 0 end
    assert.are.same({ 1, 1, 1, 0, 2, 2 }, numbers)
  end)

  it("leaves out masks where all kernels have extents that the blocks divide", function()
    local function masked(sizes, block)
      local _, text = check { graph = { einsums = { "a[i] = x[i] * 2", "b[j] = y[j] + 1" },
        sizes = sizes }, options = { combine = true }, c = { block = block } }
      return text:find("? (own + 1)", 1, true) ~= nil
    end
    assert.is_false(masked({ i = 64, j = 64 }, 16))
    assert.is_true(masked({ i = 64, j = 64 }, 24))
    assert.is_true(masked({ i = 64, j = 32 }, 16))
    assert.has_error(function() masked({ i = 4, j = 4 }, 0) end)
  end)

  it("computes lists, fused member by member", function()
    local t = { einsums = { "a1[i] = x1[i] * 2", "a2[j] = x2[j] * 3", "b1[i] = a1[i] + 1",
      "b2[j] = a2[j] + 2" }, sizes = { i = 33, j = 20 },
      lists = { { "a1", "a2" }, { "b1", "b2" } } }
    local programs = check { graph = t, c = { block = 8 } }
    assert.are.equal("a1 b1 | a2 b2", members(programs))
    assert.are.same({ 1, 1 }, { programs[1].facts.launch, programs[2].facts.launch })
    t.lists = { { "a1", "b1" } }
    assert.has_error(function() graph.new(t) end)
    t.lists = { { "a1", "other" } }
    assert.has_error(function() graph.new(t) end)
  end)

  it("is refused where a tiling puts a reduction on the grid", function()
    local g = graph.new { einsums = { "s[i] += x[i,j]" }, sizes = { i = 4, j = 8 } }
    local made = g.core:plan()
    assert(made:kernel { schedule = { "s" }, extents = { 4, 8 },
      tiling = { { "x", 32 }, { "r0_", 1 } } })
    local ok, e = pcall(program.new, g, made:kernels()[1], "kernel")
    assert.is_false(ok)
    assert.matches("the tiling puts the loops of s that are reduced on x0", tostring(e))
  end)

  it("is refused where a kernel reads elements that it has not made", function()
    local g = graph.new { einsums = { "a[i,j] = x[i,j]", "b[i,j] = a[j,i]" },
      sizes = { i = 8, j = 8 } }
    local function refused(groups, pattern)
      local ok, e = pcall(plan.kernels, g, { groups = groups })
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
    refused({ { "a", "b" } }, "they cannot be one kernel")
    refused({ { "b" }, { "a" } }, "node 'b' reads a, which a later group makes")
    refused({ { "b", "a" } }, "b reads a before its kernel has made it")
    refused({ { "a" } }, "node 'b' is in no group")
    refused({ { "a", "b" }, { "a" } }, "node 'a' is in two groups")
    assert.are.equal(2, #plan.kernels(g))
  end)

  it("is refused where an update meets other elements", function()
    local function refused(pattern, einsums, groups)
      local g = graph.new { einsums = einsums, sizes = { i = 8 },
        tensors = { x = { sizes = { 9 } } } }
      local ok, e = pcall(plan.kernels, g, { groups = groups })
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
    local shifted = { "y[i] = x[i+1]", "update x[i] = y[i] * 2", "z[i] = x[i] + 1" }
    refused("x updates x while its kernel uses other elements", shifted, { { "y", "x", "z" } })
    refused("node 'x' updates x, which node 'y' of a later group reads",
      { "y[i] = x[i]", "update x[i] = 2" }, { { "x" }, { "y" } })
    refused("node 'z' reads x, which a later group makes", shifted, { { "y" }, { "z" }, { "x" } })
    refused("y reads x as it was before its kernel updated it",
      { "y[i] = x[i]", "update x[i] = 2" }, { { "x", "y" } })
    refused("b_2 updates b while its kernel uses other elements",
      { "b[i] = x[i]", "update b[7-i] += 1" }, { { "b", "b_2" } })
    refused("u updates a while", { "a[i] = x[i]", "u: update a[i//2] += 1" }, { { "a", "u" } })
    local g = graph.new { einsums = { "y[i] = x[i]", "update x[i] += 2", "z[i] = x[i]" },
      sizes = { i = 8 }, tensors = { x = { sizes = { 9 } } } }
    assert.are.equal(1, #plan.kernels(g, { groups = { { "y", "x", "z" } } }))
  end)
end)
