-- SPDX-License-Identifier: MIT
local affine = require "einloom.affine"
local einsum = require "einloom.einsum"
local front = require "support.front"

local function index_texts(access)
  local list = {}
  for i, index in ipairs(access.indices) do
    list[i] = (index.rank and index.rank .. ": " or "") .. index.text
  end
  return table.concat(list, " | ")
end

local function tensors(e, output)
  local list = {}
  for _, access in ipairs(e.accesses) do
    if access.output == output then list[#list + 1] = access.tensor end
  end
  return table.concat(list, " ")
end

describe("an index expression", function()
  local cases = {
    { "m", "m" }, { "2*p + 3*r - 1", "2*p + 3*r - 1" }, { "-(p - r)", "-p + r" },
    { "p*2+r", "2*p + r" }, { "(p + r) * 2 - 2*p", "2*r" }, { "m - m", "0" }, { "7", "7" },
    { "((m))", "m" }, { "- - m", "m" }, { "+m", "m" }, { "2*(3*(m + 1) - k)", "6*m - 2*k + 6" },
    { "(4*m + 2*k) // 2", "2*m + k" }, { "(4*m) % 2", "0" }, { "7 // 2 + m", "m + 3" },
    { "-7 % 3", "2" }, { "m-1", "m - 1" }, { "-1 - m", "-m - 1" },
  }
  for _, case in ipairs(cases) do
    it(("%s is %s"):format(case[1], case[2]), function()
      local index = affine.parse(case[1])
      assert.equal(case[2], index.text)
      assert.is_table(index.affine)
      assert.equal(case[2], affine.parse(index.text).text)
    end)
  end

  it("with // or % is kept as written, with its variables", function()
    local index = affine.parse " (p + 2*r) // 4 % 2 + s "
    assert.is_nil(index.affine)
    assert.equal("(p + 2*r) // 4 % 2 + s", index.text)
    assert.same({ "p", "r", "s" }, index.names)
    assert.same({ "m" }, affine.parse("-(m // 2) * 3 - 1").names)
  end)

  it("with // or % is steps on a stack that give its value", function()
    local run = {
      variable = function(stack, x, at) stack[#stack + 1] = at[x] end,
      constant = function(stack, x) stack[#stack + 1] = x end,
      add = function(stack)
        local top = table.remove(stack)
        stack[#stack] = stack[#stack] + top
      end,
      scale = function(stack, x) stack[#stack] = stack[#stack] * x end,
      floor_div = function(stack, x) stack[#stack] = stack[#stack] // x end,
      mod = function(stack, x) stack[#stack] = stack[#stack] % x end,
    }
    for _, text in ipairs {
      "p // 2", "(p + 2*r) // 4 % 2 + r", "-(p // 2) * 3 - 1", "7 - p % 3 - r // 2 - (r % 2)",
      "(1 - p) % 3 // 2", "((p + 1) // 2 + (r - 3) // 2) * -2",
    } do
      local steps = affine.steps(affine.parse(text).tree)
      local value = assert(load("local p, r = ...; return " .. text))
      for p = 0, 7 do
        for r = 0, 5 do
          local stack = {}
          for _, step in ipairs(steps) do run[step[1]](stack, step[2], { p = p, r = r }) end
          assert.equal(1, #stack)
          assert.equal(value(p, r), stack[1], text)
        end
      end
    end
  end)

  local bad = {
    { "m*k", "m*k", 2 }, { "(m + 1)*(k - 2)", "(m + 1)*(k - 2)", 8 }, { "m //k", "//", 3 },
    { "m % 0", "%", 3 }, { "m // -2", "//", 3 }, { "2.5*m", "2.5", 1 }, { "2k", "2k", 1 },
    { "m / 2", "//", 3 }, { "m +", "end of the text", 4 }, { "", "index expression", 1 },
    { "(m", "'('", 3 }, { "m)", "')'", 2 }, { "m k", "'k'", 3 }, { "f(m)", "f(", 1 },
    { "A[m]", "A[", 1 }, { "m # 2", "#", 3 }, { "9223372036854775808*m", "9223372036854775808", 1 },
    { "4611686018427387904 + m", "4611686018427387904", 1 },
    { "3000000000*3000000000*m", "too large", 11 }, { "()", "')'", 2 }, { "m, k", "','", 2 },
  }
  for _, case in ipairs(bad) do
    it(("refuses '%s' at column %d"):format(case[1], case[3]), function()
      local e = front.raised(affine.parse, case[1], "x")
      assert.equal(case[3], e.column)
      assert.equal(1, e.line)
      front.mentions(e.message, { case[2] })
    end)
  end
end)

describe("a random index expression (seed " .. front.seed .. ")", function()
  local r = front.random(front.seed)

  -- Text, its value for given variables, and whether it is a constant.
  local function build(depth)
    local kind = depth == 0 and r:to(2) or r:to(7)
    if kind == 1 then
      local name = r:pick { "m", "k", "p" }
      return name, function(at) return at[name] end, false
    elseif kind == 2 then
      local n = r:to(9) - 1
      return tostring(n), function() return n end, true
    end
    local a, x, fixed = build(depth - 1)
    if kind == 3 then return "-(" .. a .. ")", function(at) return -x(at) end, fixed end
    if kind == 4 then
      local n = r:to(5)
      return ("(%s)*%d"):format(a, n), function(at) return x(at) * n end, fixed
    elseif kind == 5 then
      local n = r:to(5)
      return ("%d * (%s)"):format(n, a), function(at) return n * x(at) end, fixed
    end
    local b, y, other = build(depth - 1)
    if kind == 6 then
      return ("%s + (%s)"):format(a, b), function(at) return x(at) + y(at) end, fixed and other
    end
    return ("%s - (%s)"):format(a, b), function(at) return x(at) - y(at) end, fixed and other
  end

  it("has the value of its canonical form", function()
    for _ = 1, 300 do
      local text, value = build(6)
      local index = affine.parse(text)
      local again = affine.parse(index.text)
      assert.equal(index.text, again.text)
      for _ = 1, 3 do
        local at = { m = r:to(100) - 50, k = r:to(100) - 50, p = r:to(100) - 50 }
        local sum = index.affine.constant
        for name, coefficient in pairs(index.affine.terms) do sum = sum + coefficient * at[name] end
        assert.equal(value(at), sum, text)
      end
    end
  end)
end)

describe("an einsum", function()
  it("names its tensors, variables and what is reduced", function()
    local e = einsum.parse "Z[m, n] = A[m, k] * B[k, n]"
    assert.equal("Z", e.name)
    assert.equal("=", e.op)
    assert.is_false(e.is_copy)
    assert.equal("A B", tensors(e, false))
    assert.equal("Z", tensors(e, true))
    assert.same({ "m", "n", "k" }, e.variables)
    assert.same({ "k" }, e.reduced)
    assert.equal("*", e.expression.op)
    assert.same({ "access", 2 }, { e.expression[2].op, e.expression[2][1] })
  end)

  it("takes a label, rank names and strided indices", function()
    local e = einsum.parse "Conv: O[n, P: p] += I[n, H: 2*p + 3*r - 1, -(q - s)] * F[r, s]"
    assert.equal("Conv", e.name)
    assert.equal("+=", e.op)
    assert.equal("n | H: 2*p + 3*r - 1 | -q + s", index_texts(e.accesses[1]))
    assert.equal("n | P: p", index_texts(e.accesses[3]))
    assert.same({ "r", "q", "s" }, e.reduced)
  end)

  it("takes every reduction", function()
    for _, op in ipairs { "=", "+=", "*=", "max=", "min=" } do
      assert.equal(op, einsum.parse("Z[m] " .. op .. " A[m,k]").op)
    end
    assert.equal("max=", einsum.parse("Z[m]max =A[m,k]").op)
  end)

  it("takes sums, products, calls, powers and scalars", function()
    local e = einsum.parse "Y[m] = exp(A[m] - max(B[m], 0)) / (1 + alpha) * -C[m]^2 + 0.5"
    assert.equal("A B C", tensors(e, false))
    assert.equal("+", e.expression.op)
    assert.equal("number", e.expression[2].op)
  end)

  it("takes scalars as tensors of no rank", function()
    local e = einsum.parse "S[] = A[m] * T[]"
    assert.equal("A T", tensors(e, false))
    assert.equal(0, #e.accesses[3].indices)
    assert.equal("S", einsum.parse("S = A[m]").name)
  end)

  it("takes several outputs", function()
    local e = einsum.parse "X[m], Y[m] = A[m, k]"
    assert.equal("X Y", tensors(e, true))
    assert.equal("X", e.name)
  end)

  it("takes a copy", function()
    local e = einsum.parse "L: copy Z[m] = A[m]"
    assert.is_true(e.is_copy)
    assert.equal("L", e.name)
    assert.is_false(einsum.parse("copy[m] = A[m]").is_copy)
  end)

  it("reads a tensor mentioned twice once", function()
    assert.equal("A", tensors(einsum.parse "Z[m] = A[m] * A[m] + A[m]", false))
  end)

  local bad = {
    { "Z[m] = A[m*k]", "m*k", 11, "bad_workload" },
    { "Z[m] = A[m] * A[k]", "A", 15, "bad_workload" },
    { "Z[m] = Z[m] + A[m]", "Z", 8, "bad_workload" },
    { "Z[m] = A", "A[]", 8, "bad_workload" },
    { "Z[m], Z[n] = A[m,n]", "Z", 7, "bad_workload" },
    { "copy Z[m] = A[m] * 2", "copy", 1, "bad_workload" },
    { "copy Z[m] += A[m]", "copy", 1, "bad_workload" },
    { "Z[m] A[m]", "max=", 6 }, { "Z[m] = ", "end of the text", 8 }, { "", "output", 1 },
    { "Z[m = A[m]", "'['", 5 }, { "Z[m] = A[m", "'['", 11 }, { "Z[m,] = A[m]", "','", 5 },
    { "Z[m] = f(A[m]", "call", 14 }, { "Z[m] = (A[m]", "'('", 13 },
      { "Z[m] = A[m] B[m]", "'B'", 13 },
    { "Z[m] = A[m]]", "']'", 12 }, { "Z[m] = A[m] , B[m]", "','", 13 },
      { "Z[m] = A[m/2]", "//", 11 },
    { "Z[m] == A[m]", "'='", 7 }, { "3 = A[m]", "output", 1 }, { "Z[m] = * A[m]", "'*'", 8 },
    { "Z[m] = A[m] $", "'$'", 13 }, { "Z[m] = f()(A[m])", "'('", 11 }, { "Z[m] = \1", "0x01", 8 },
  }
  for _, case in ipairs(bad) do
    it(("refuses '%s' at column %d"):format(case[1]:gsub("%c", "?"), case[3]), function()
      local e = front.raised(einsum.parse, case[1], "chunk")
      assert.equal(case[3], e.column)
      assert.equal("chunk", e.file)
      assert.equal(case[4] or "syntax", e.kind)
      front.mentions(e.message, { case[2] })
    end)
  end

  it("counts lines", function()
    local e = front.raised(einsum.parse, "Z[m] =\n  A[m]\n  * B[m*k]")
    assert.equal(3, e.line)
    assert.equal(8, e.column)
  end)

  it("of random words is read or refused, and never crashes (seed " .. front.seed .. ")", function()
    local r = front.random(front.seed)
    local words = {
      "Z", "A", "B", "m", "k", "[", "]", "[", "]", "(", ")", ",", ":", "=", "+=", "max", "+", "-",
      "*", "//", "%", "/", "^", "2", "0.5", "copy", "f", "\n", "#",
    }
    for _ = 1, 3000 do
      local parts = { r:to(2) == 1 and "Z[m] =" or "Z" }
      for i = 1, r:to(14) do parts[i + 1] = r:pick(words) end
      local text = table.concat(parts, " ")
      local ok, e = pcall(einsum.parse, text)
      if not ok then
        assert.is_true(require("einloom.errors").is(e), text .. "\n" .. tostring(e))
        assert.is_true(e.column >= 1 and e.column <= #text + 1)
      end
    end
  end)

  it("of 100000 terms, or with 100000 arguments, is read", function()
    local e = einsum.parse("Z[m] = " .. ("A[m] + "):rep(99999) .. "B[m]")
    assert.equal(100000, #e.expression)
    e = einsum.parse("Z[m] = f(" .. ("A[m], "):rep(99999) .. "B[m])")
    assert.equal(100000, #e.expression)
  end)
end)
