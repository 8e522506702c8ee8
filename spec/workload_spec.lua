-- SPDX-License-Identifier: MIT
local core = require "einloom.core"
local raw = require "einloom.readonly".raw
local workload = require "einloom.workload"
local front = require "support.front"

local function matmul(extra)
  local def = { sizes = { m = 128, k = 64, n = 32 }, bits = { All = 8, Outputs = 16 },
    "Z[m,n] = A[m,k] * B[k,n]" }
  for key, x in pairs(extra or {}) do def[key] = x end
  return def
end

local function refused(def, kind, words, column)
  local e = front.raised(workload.new, def)
  assert.equal(kind, e.kind, tostring(e))
  front.mentions(tostring(e), words)
  if column then assert.equal(column, e.column) end
end

local function conv(extra)
  local def = { bits = 8, "O[p] = I[H: p + r] * F[r]" }
  for key, x in pairs(extra) do def[key] = x end
  return def
end

describe("a workload", function()
  it("gives its einsums in the normal form", function()
    local w = workload.new(matmul())
    assert.same({ m = 128, k = 64, n = 32 }, raw(w.rank_variables))
    assert.same({ "m", "n", "k" }, raw(w.variables))
    assert.equal(1, w.n_instances)
    local e = w.einsums[1]
    assert.equal("Z", e.name)
    assert.is_false(e.is_copy)
    assert.equal(1, e.n_instances)
    assert.same({
      tensor = "A", projection = { { "M", "m" }, { "K", "k" } }, output = false, bits_per_value = 8,
      persistent = false,
      affine = { { constant = 0, terms = { { "m", 1 } } },
        { constant = 0, terms = { { "k", 1 } } } },
    }, raw(e.tensors[1]))
    assert.equal("Z", e.tensors[3].tensor)
    assert.is_true(e.tensors[3].output)
    assert.equal(16, e.tensors[3].bits_per_value)
  end)

  it("is the same from text and from its own normal form", function()
    local w = workload.new(matmul { n_instances = 3 })
    local tensors = {}
    for i, t in ipairs(w.einsums[1].tensors) do
      tensors[i] = {
        tensor = t.tensor, projection = t.projection, output = t.output,
        bits_per_value = t.bits_per_value, persistent = t.persistent,
      }
    end
    local again = workload.new {
      rank_variables = w.rank_variables, n_instances = 3,
      einsums = { { name = "Z", is_copy = false, n_instances = 1, tensors = tensors } },
    }
    assert.same(w.einsums[1].tensors, again.einsums[1].tensors)
    assert.equal(tostring(w), tostring(again))
    assert.equal(3, again.n_instances)
  end)

  it("takes several einsums, labels, copies and repeat counts", function()
    local w = workload.new {
      sizes = { m = 4, k = 4, n = 4, q = 4 }, bits = 8, n_instances = 2,
      "copy A[m,k] = A0[m,k]",
      { "E1: X[m,n] = A[m,k] * B[k,n]", n_instances = 5 },
      { "Y[m,q] = X[m,n] * C[n,q]", name = "E2" },
      { "D[m,q] = Y[m,q]", is_copy = true },
    }
    local names, copies, repeats = {}, {}, {}
    for i, e in ipairs(w.einsums) do
      names[i], copies[i], repeats[i] = e.name, e.is_copy, e.n_instances
    end
    assert.same({ "A", "E1", "E2", "D" }, names)
    assert.same({ true, false, false, true }, copies)
    assert.same({ 1, 5, 1, 1 }, repeats)
    assert.same({ "A", "A0", "B", "C", "D", "X", "Y" }, (function()
      local list = w:tensors()
      table.sort(list)
      return list
    end)())
    assert.equal("E2", w:einsum("E2").name)
    front.mentions(front.raised(w.einsum, w, "E3").message, { "E3", "nearest", "E1", "E2" })
  end)

  it("takes symbolic sizes, bits and repeats", function()
    local n = core.symbol "N"
    local w = workload.new { sizes = { m = n, k = "K" }, bits = { All = core.symbol "b" },
      n_instances = "R", "Z[m] = A[m,k]" }
    assert.equal(n, w.rank_variables.m)
    assert.equal(core.symbol "K", w.rank_variables.k)
    assert.equal(core.symbol "b", w.einsums[1].tensors[1].bits_per_value)
    assert.equal(core.symbol "R", w.n_instances)
  end)

  it("prints its einsums and sizes", function()
    local w = workload.new { sizes = { p = 8, r = 3 }, bits = 8, "O[p] = I[H: 2*p + r] * F[r]" }
    assert.equal("O: O[p] = I[H: 2*p + r] * F[r]\np=8 r=3", tostring(w))
  end)

  it("takes one name in several einsums as one variable", function()
    refused({ sizes = { m = 4, n = 5 }, bits = 8, "X[m] = A[m]", "Y[n] = X[n]" }, "bad_workload",
      { "rank M of tensor X", "5", "4" }, 10)
    local w = workload.new { sizes = { m = 4, n = 4 }, bits = 8, "X[m] = A[m]", "Y[n] = X[n]" }
    assert.same({ { "M", "n" } }, raw(w.einsums[2].tensors[1].projection))
  end)
end)

describe("rank names", function()
  local function projection(w, einsum, tensor)
    for _, t in ipairs(w:einsum(einsum).tensors) do
      if t.tensor == tensor then return raw(t.projection) end
    end
  end

  it("come from the variables where none are given", function()
    local w = workload.new { sizes = { p = 8, r = 3, m = 2 }, bits = 8,
      "O[p] = I[p + r, m, m, 0] * F[r]" }
    assert.same({ { "P_R", "p + r" }, { "M", "m" }, { "M_2", "m" }, { "RANK4", "0" } },
      projection(w, "O", "I"))
  end)

  it("of a tensor are the same in every einsum", function()
    local w = workload.new { sizes = { q = 10, p = 8, r = 3 }, bits = 8, "T[q] = A[q]",
      "O[p] = T[p + r] * F[r]" }
    assert.same({ { "Q", "p + r" } }, projection(w, "O", "T"))
    w = workload.new { sizes = { q = 10, p = 8, r = 3 }, bits = 8, "T[q] = A[q]",
      "O[p] = T[H: p + r] * F[r]" }
    assert.same({ { "H", "q" } }, projection(w, "T", "T"))
  end)

  it("may come in another order only if all are given", function()
    local w = workload.new { sizes = { m = 4, n = 5 }, bits = 8, "T[M: m, N: n] = A[m,n]",
      "Y[m] = T[N: n, M: m]" }
    assert.same({ { "N", "n" }, { "M", "m" } }, projection(w, "Y", "T"))
    refused({ sizes = { m = 4, n = 4 }, bits = 8, "T[M: m, N: n] = A[m,n]", "Y[m] = T[N: n, m]" },
      "bad_workload", { "rank 1 of tensor T", "N", "M" }, 13)
  end)

  it("that contradict are errors", function()
    refused({ sizes = { m = 4, n = 4 }, bits = 8, "T[m,n] = A[m,n]", "Y[m] = T[m]" },
      "bad_workload",
      { "tensor T", "1 rank", "2 ranks" }, 8)
    refused({ sizes = { m = 4 }, bits = 8, "T[H: m] = A[m]", "Y[m] = T[W: m]" }, "bad_workload",
      { "tensor T", "W", "H" }, 13)
    refused({ sizes = { m = 4 }, bits = 8, "T[H: m, H: m] = A[m]" }, "bad_workload",
      { "tensor T", "H" }, 12)
  end)
end)

describe("sizes", function()
  it("that are zero, negative, fractions or missing are errors naming the variable", function()
    refused(matmul { sizes = { m = 0, k = 64, n = 32 } }, "bad_workload", { "sizes.m", "0" })
    refused(matmul { sizes = { m = -4, k = 64, n = 32 } }, "bad_workload", { "sizes.m", "-4" })
    refused(matmul { sizes = { m = 2.5, k = 64, n = 32 } }, "bad_workload", { "sizes.m", "2.5" })
    refused(matmul { sizes = { m = 0 / 0, k = 64, n = 32 } }, "bad_workload", { "sizes.m", "nan" })
    refused(matmul { sizes = { m = math.huge, k = 64, n = 32 } }, "bad_workload",
      { "sizes.m", "finite" })
    refused(matmul { sizes = { m = true, k = 64, n = 32 } }, "bad_workload",
      { "sizes.m", "boolean" })
    refused(matmul { sizes = { m = 4, k = 64 } }, "bad_workload", { "variable n", "given: k, m" },
      23)
  end)

  it("of unknown variables are errors with the nearest known", function()
    refused(matmul { sizes = { m = 4, k = 64, n = 32, kk = 3 } }, "unknown_rank_variable",
      { "kk", "nearest: k" })
  end)

  it("are derived from rank sizes", function()
    assert.same({ m = 4, k = 8, n = 2 }, raw(workload.new {
      bits = 8, rank_sizes = { M = 4, K = 8, N = 2 }, "Z[m,n] = A[m,k] * B[k,n]",
    }.rank_variables))
    assert.same({ m = 128, k = 64, n = 32 },
      raw(workload.new(matmul { rank_sizes = { M = 128 } }).rank_variables))
  end)

  it("of affine ranks are derived: the largest that fits", function()
    local function sizes(extra) return raw(workload.new(conv(extra)).rank_variables) end
    assert.same({ p = 8, r = 3 }, sizes { rank_sizes = { H = 10, R = 3 } })
    assert.same({ p = 4, r = 3 },
      sizes { rank_sizes = { H = 10, R = 3 }, [1] = "O[p] = I[H: 2*p + r] * F[r]" })
    assert.same({ p = 8, r = 3 }, sizes { rank_sizes = { H = 10 }, sizes = { p = 8 } })
    assert.same({ p = 8, r = 3 },
      sizes { rank_sizes = { H = 10, R = 3 }, [1] = "O[p] = I[H: p - r + 2] * F[r]" })
    assert.same({ p = 5, r = 3 },
      sizes { rank_sizes = { H = 10, R = 3 }, [1] = "O[p] = I[H: p + r + 3] * F[r]",
        partial = "Nothing" })
    assert.same({ p = 8, r = 3 }, sizes { rank_sizes = { H = 10, P = 8, R = 3 } })
    local all = raw(workload.new {
      bits = 8, rank_sizes = { H = 20, R = 3, G = 9 }, "O[p,q] = I[H: p + q + r] * F[r] * K[G: q]",
    }.rank_variables)
    assert.same({ p = 10, q = 9, r = 3 }, all)
  end)

  it("are derived with symbols", function()
    local n = core.symbol "N"
    local w = workload.new { bits = 8, rank_sizes = { M = n, K = 4 }, "Z[m] = A[m,k]" }
    assert.equal(n, w.rank_variables.m)
    local h = core.symbol("H", { min = 3 })
    w = workload.new(conv { rank_sizes = { H = h, R = 3 } })
    assert.equal(h - 2, w.rank_variables.p)
  end)

  it("that contradict rank sizes are errors naming rank, variable and both numbers", function()
    refused(matmul { rank_sizes = { M = 100 } }, "bad_workload",
      { "rank M is 100", "variable m is 128" }, 12)
    refused(conv { rank_sizes = { H = 10, R = 3 }, sizes = { p = 9 } }, "bad_workload",
      { "H = p + r", "10", "from 0 to 10" }, 13)
    refused(conv { rank_sizes = { H = 10, R = 3 }, sizes = { p = 7 } }, "bad_workload",
      { "H = p + r", "10", "p, r", "to 8" }, 13)
    refused(conv { rank_sizes = { H = 2, R = 3 } }, "bad_workload",
      { "H = p + r", "2", "variable p" }, 13)
    refused({ bits = 8, rank_sizes = { M = 4, N = 5 }, "Z[m] = A[m] * B[N: m]" }, "bad_workload",
      { "rank N is 5", "variable m is 4", "by rank M" })
    refused(conv { rank_sizes = { H = 10, R = 3 }, [1] = "O[p] = I[H: p + r - 1] * F[r]",
      sizes = { p = 10 } },
      "bad_workload", { "H = p + r - 1", "from -1 to 10" })
  end)

  it("that stay unknown are errors", function()
    refused(conv { rank_sizes = { H = 10 } }, "bad_workload", { "variable p" })
    refused(conv { rank_sizes = { H = 10, R = 3, HH = 3 } }, "unknown_rank", { "HH", "nearest: H" })
  end)

  it("of a tensor used only in part, or beyond its edges, need `partial`", function()
    local def = { sizes = { q = 8, p = 8, r = 3 }, bits = 8, "T[q] = A[q]",
      "O[p] = T[p + r - 1] * F[r]" }
    refused(def, "bad_workload", { "rank Q of tensor T", "10", "8" })
    def.partial = "T"
    assert.equal(8, workload.new(def).rank_variables.p)
    assert.equal(7, workload.new(conv { rank_sizes = { H = 10, R = 3 }, sizes = { p = 7 },
      partial = "Inputs - F" })
      .rank_variables.p)
  end)
end)

describe("bits per value", function()
  it("are needed for every tensor", function()
    refused(matmul { bits = false }, "bad_workload", { "bits" })
    refused({ sizes = { m = 1 }, "Z[m] = A[m]" }, "bad_workload", { "bits", "tensor A" })
    refused({ sizes = { m = 1 }, bits = { Z = 8 }, "Z[m] = A[m]" }, "bad_workload",
      { "bits", "tensor A" })
    refused({ sizes = { m = 1 }, bits = 0, "Z[m] = A[m]" }, "bad_workload", { "bits", "0" })
  end)

  it("are keyed by sets over the whole workload", function()
    local w = workload.new {
      sizes = { m = 2 }, bits = { Inputs = 1, Outputs = 2, Intermediates = 3 }, "T[m] = A[m]",
        "Z[m] = T[m]",
    }
    local bits = {}
    for _, e in ipairs(w.einsums) do
      for _, t in ipairs(e.tensors) do bits[t.tensor] = t.bits_per_value end
    end
    assert.same({ A = 1, Z = 2, T = 3 }, bits)
    refused({ sizes = { m = 1 }, bits = { Al = 8 }, "Z[m] = A[m]" }, "unknown_tensor",
      { "Al", "nearest: A, All" }, 1)
  end)
end)

describe("renames and persistence", function()
  local function two(renames)
    return {
      sizes = { m = 2, k = 2, n = 2 }, bits = 8, renames = renames, persistent = "W0 | W1",
      "T[m,k] = I[m,k] * W0[k,m]", "Z[m,n] = T[m,k] * W1[k,n]",
    }
  end

  it("are sets of each einsum", function()
    local w = workload.new(two { weight = { "Persistent", expected_count = 1 },
      input = "Inputs - weight", output = "Outputs" })
    assert.same({ "I" }, w:set("input", "T"))
    assert.same({ "T" }, w:set("input", "Z"))
    assert.same({ "W1" }, w:set("weight", "Z"))
    assert.same({ "W0", "W1" }, w:set "weight")
    assert.same({ "T" }, w:set "Intermediates")
    assert.same({ "T" }, w:set("Shared", "Z"))
    assert.same({ "Z" }, w:set("Outputs", "Z"))
    assert.same({}, w:set("I", "Z"))
    assert.is_true(w.einsums[1].tensors[2].persistent)
    assert.is_false(w.einsums[1].tensors[1].persistent)
  end)

  it("with another count than expected are errors", function()
    refused(two { weight = { "Inputs", expected_count = 1 } }, "bad_workload",
      { "renames.weight", "einsum T", "2 tensors", "expected 1" })
  end)

  it("may differ for one einsum", function()
    local def = two { weight = { "Persistent", expected_count = 1 } }
    def[2] = { def[2], renames = { weight = { "Nothing", expected_count = 0 } } }
    assert.same({}, workload.new(def):set("weight", "Z"))
  end)

  it("refuse circles, taken names and unknown ones", function()
    refused(two { a = "b", b = "a" }, "bad_workload", { "defined by itself" })
    refused(two { Inputs = "All" }, "bad_workload", { "Inputs" })
    refused(two { T = "Inputs" }, "bad_workload", { "T", "tensor" })
    refused(two { a = "Al" }, "unknown_tensor", { "renames.a:1:1", "All" })
    refused(two { a = { "All", expected = 1 } }, "bad_workload",
      { "expected", "nearest: expected_count" })
  end)
end)

describe("a definition", function()
  it("with unknown keys is refused with the nearest known", function()
    refused(matmul { size = {} }, "bad_workload", { "workload", "'size'", "nearest: sizes" })
    refused({ sizes = { m = 1 }, bits = 8, { "Z[m] = A[m]", n_instance = 2 } }, "bad_workload",
      { "workload[1]", "n_instance", "nearest: n_instances" })
  end)

  it("needs einsums with outputs", function()
    refused({}, "bad_workload", { "no einsums" })
    refused({ rank_variables = { m = 1 }, einsums = { { name = "E", tensors = {
      { tensor = "A", projection = { { "M", "m" } }, output = false, bits_per_value = 8 },
    } } } }, "bad_workload", { "einsum E", "output" })
    refused({ 42 }, "bad_workload", { "workload[1]", "number" })
  end)

  it("refuses two einsums of one name, and reading before writing", function()
    refused({ sizes = { m = 1 }, bits = 8, "Z[m] = A[m]", "Z[m] = B[m]" }, "bad_workload",
      { "workload[2]", "Z", "label" })
    refused({ sizes = { m = 1 }, bits = 8, "Z[m] = T[m]", "T[m] = B[m]" }, "bad_workload",
      { "einsum Z reads T before einsum T writes it" })
  end)

  it("refuses repeat counts that are no counts", function()
    refused(matmul { n_instances = 0 }, "bad_workload", { "n_instances", "0" })
    refused({ sizes = { m = 1 }, bits = 8, { "Z[m] = A[m]", n_instances = 1.5 } }, "bad_workload",
      { "workload[1].n_instances", "1.5" })
  end)

  it("in the normal form points into its tables", function()
    local function normal(index)
      return { rank_variables = { m = 4 }, einsums = { { name = "E", tensors = {
        { tensor = "A", projection = { { "M", index } }, output = false, bits_per_value = 8 },
        { tensor = "Z", projection = { { "M", "m" } }, output = true, bits_per_value = 8 },
      } } } }
    end
    refused(normal "m*m", "bad_workload",
      { "workload.einsums[1].tensors[1].projection[1]:1:2", "m*m" }, 2)
    refused(normal "q", "bad_workload", { "variable q" }, 1)
    refused(normal(3), "bad_workload", { "projection[1]", "pair" })
    assert.equal(4, workload.new(normal "m").rank_variables.m)
  end)

  it("keeps quasi-affine indices as text", function()
    local w = workload.new { sizes = { m = 8, k = 2 }, bits = 8, "Z[m] = A[m // 2, k]" }
    local form = w.einsums[1].tensors[1].affine[1]
    assert.equal("m", form.terms[1][1])
    assert.equal(1, #form.terms)
    assert.equal("floor_div", form.steps[#form.steps][1])
    assert.is_nil(w.einsums[1].tensors[1].affine[2].steps)
    assert.equal("m // 2", w.einsums[1].tensors[1].projection[1][2])
  end)
end)

describe("an einsum as text", function()
  local function printed(text, extra)
    local written = type(text) == "table" and text[1] or text
    local def = { sizes = { m = 4, k = written:find "k" and 4 }, bits = 8, text }
    for key, x in pairs(extra or {}) do def[key] = x end
    return workload.new(def).einsums[1].text
  end

  it("is what was written, on one line, with its label", function()
    for _, case in ipairs {
      { "Z[m] = exp(A[m]) + B[m]/2", "Z: Z[m] = exp(A[m]) + B[m]/2" },
      { "E: Z[m]=A[m,k]*eps", "E: Z[m]=A[m, k]*eps" },
      { "Z[m] max= \n  A[m , k]\t", "Z: Z[m] max= A[m, k]" },
      { "copy Z[m] = A[m]", "Z: copy Z[m] = A[m]" },
      { "E :copy Z[m] = A[m]", "E: copy Z[m] = A[m]" },
      { { "Z[m] = A[m]", name = "N", is_copy = true }, "N: copy Z[m] = A[m]" },
      { { "copy Z[m] = A[m]", is_copy = false }, "Z: Z[m] = A[m]" },
      { "S[] += A[M: m] - B[m]^2", "S: S[] += A[M: m] - B[m]^2" },
    } do
      assert.equal(case[2], printed(case[1]))
      assert.equal(case[2], printed(case[2]))
    end
  end)

  it("is a product where only tensors are known", function()
    local tensors = {}
    for i, x in ipairs(workload.new(matmul()).einsums[1].tensors) do
      tensors[i] = { tensor = x.tensor, projection = x.projection, output = x.output,
        bits_per_value = 8 }
    end
    local w = workload.new { rank_variables = { m = 128, k = 64, n = 32 },
      einsums = { { name = "E", tensors = tensors } } }
    assert.equal("E: Z[m, n] = A[m, k] * B[k, n]", w.einsums[1].text)
    assert.equal(w.einsums[1].text, printed(w.einsums[1].text, { sizes = { m = 1, k = 1, n = 1 } }))
  end)

  it("takes one table", function()
    local e = front.raised(workload.new, matmul(), { bits = 8 })
    assert.equal("bad_argument", e.kind)
    front.mentions(e.message, { "loom.workload takes one table", "argument 2", "table" })
  end)

  it("of a copy that computes is refused", function()
    refused({ sizes = { m = 4 }, bits = 8, { "Z[m] = A[m] * 2", is_copy = true } }, "bad_workload",
      { "copy Out[...] = In[...]" })
  end)
end)
