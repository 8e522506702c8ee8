-- SPDX-License-Identifier: MIT
-- Generated C, compiled and run on random data, against direct evaluation of the graph.

local ccode = require "einloom.kernels.ccode"
local evaluate = require "einloom.kernels.evaluate"
local graph = require "einloom.graph"
local plan = require "einloom.kernels.plan"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

local has_compiler = os.execute "cc --version >/dev/null 2>&1"

-- Random data for what a graph only reads: small integers for integer tensors (`below` by name),
-- values around 1 elsewhere.
local function inputs_of(g, layouts, below)
  local inputs = {}
  for _, name in ipairs(g.order) do
    if not g.tensors[name].writer then
      local list, floats = {}, g.tensors[name].dtype:find "^f"
      for i = 1, layouts[name].storage do
        list[i] = floats and math.random() * 4 - 1.5 or math.random(0, (below[name] or 2) - 1)
      end
      inputs[name] = list
    end
  end
  return inputs
end

local types = { f64 = "double", f32 = "float", i64 = "int64_t", i32 = "int32_t", i8 = "int8_t",
  bool = "_Bool" }

-- A program that holds the inputs and prints all tensors that leave the graph.
local function main_of(g, layouts, inputs, sizes, at)
  local lines, arguments, prints = { "#include <stdio.h>\n#include <stdlib.h>\n" }, {}, {}
  for _, name in ipairs(g.order) do
    local c_type, n = types[g.tensors[name].dtype], math.max(layouts[name].storage, 1)
    local values = {}
    for i, x in ipairs(inputs[name] or {}) do
      values[i] = math.type(x) == "integer" and ("%d"):format(x) or ("%a"):format(x)
    end
    lines[#lines + 1] = ("static %s %s[%d]%s;"):format(c_type, name .. "_data", n,
      #values > 0 and " = {" .. table.concat(values, ",") .. "}" or "")
    arguments[#arguments + 1] = name .. "_data"
    if g.tensors[name].output then
      prints[#prints + 1] = ('  for (int i = 0; i < %d; i++) printf("%%a\\n", (double)%s_data[i]);')
        :format(layouts[name].storage, name)
    end
  end
  for _, size in ipairs(sizes) do arguments[#arguments + 1] = ("%d"):format(at[size]) end
  lines[#lines + 1] = ("int main(void) {\n  run(%s);\n%s\n  return 0;\n}"):format(
    table.concat(arguments, ", "), table.concat(prints, "\n"))
  return table.concat(lines, "\n")
end

local flags = "-std=c11 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover"

local function run_c(text)
  local base = os.tmpname()
  local file = assert(io.open(base .. ".c", "w"))
  file:write(text)
  file:close()
  local command = ("cc %s %s.c -o %s.out -lm 2>%s && %s.out 2>>%s"):format(flags, base, base, base,
    base, base)
  local pipe = assert(io.popen(command))
  local values = {}
  for line in pipe:lines() do values[#values + 1] = assert(tonumber(line) or line) end
  local ok = pipe:close()
  local log = assert(io.open(base)):read "a"
  for _, suffix in ipairs { "", ".c", ".out" } do os.remove(base .. suffix) end
  assert(ok, log .. "\n" .. text)
  return values
end

local function close(a, b, tolerance)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b or math.abs(a - b) <= tolerance * math.max(1, math.abs(a), math.abs(b))
end

-- Runs the C of a graph and compares; returns the programs.
local function check(t)
  math.randomseed(seed)
  local g = graph.new(t.graph)
  local programs = plan.kernels(g, t.options)
  local layouts = evaluate.layouts(g, t.at)
  local inputs = inputs_of(g, layouts, t.below or {})
  local expected = evaluate.run(g, inputs, t.at)
  local text, sizes = ccode.source(g, programs)
  local kept = {}
  for name in pairs(inputs) do kept[name] = expected[name] end
  local values = run_c(text .. main_of(g, layouts, kept, sizes, t.at or {}))
  local n = 0
  for _, name in ipairs(g.order) do
    for i = 1, g.tensors[name].output and layouts[name].storage or 0 do
      n = n + 1
      if not close(values[n], expected[name][i], t.tolerance or 0) then
        error(("seed %d: %s[%d] is %s, expected %s\n%s"):format(seed, name, i - 1,
          tostring(values[n]), tostring(expected[name][i]), text))
      end
    end
  end
  assert.are.equal(n, #values)
  return programs
end

local function members(programs)
  local list = {}
  for i, made in ipairs(programs) do
    local names = {}
    for k, op in ipairs(made.facts.ops) do names[k] = op.op end
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

describe("the C of a kernel", function()
  if not has_compiler then pending "no C compiler" end
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
end)
