-- SPDX-License-Identifier: MIT
-- Expressions through the binding: operators, identity, substitution, questions, what is refused.
local core = require "einloom.core"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

describe("expressions", function()
  local M, N = core.symbol "M", core.symbol "N"

  it("are built by operators, with numbers on either side", function()
    for text, e in pairs {
      ["M + 1"] = M + 1,
      ["1 + M"] = 1 + M,
      ["M - N"] = M - N,
      ["2 * M"] = 2 * M,
      ["M / 3"] = M / 3,
      ["3 / M"] = 3 / M,
      ["M // 4"] = M // 4,
      ["M % 4"] = M % 4,
      ["M ^ 3"] = M ^ 3,
      ["-M"] = -M,
    } do
      assert.is_true(core.is_expr(e))
      assert.equal(core.parse(text), e)
    end
  end)

  it("read numbers exactly", function()
    assert.equal(core.number "1/10", core.number(0.1))
    assert.equal(core.int(1000000), core.number(1e6))
    assert.equal(core.int(1), core.number "1")
    assert.equal(core.number "0.1" * 3, core.number "0.3")
    assert.equal(M * 0.5, M / 2)
    assert.equal(M + "1/3", M + core.number "1/3")
    local big = core.int(math.maxinteger) * math.maxinteger
    assert.equal("85070591730234615847396907784232501249", tostring(big))
    assert.is_nil(big:tointeger())
    assert.equal(math.maxinteger, (big / math.maxinteger):tointeger())
    assert.equal(math.mininteger, core.int(math.mininteger):tointeger())
  end)

  it("are identical when equal, so == and table keys work", function()
    local t = { [M + N] = "sum" }
    assert.is_true(rawequal(M + N, N + M))
    assert.equal("sum", t[N + M])
    assert.is_true(M + N ~= M * N)
    assert.is_false(M == 1)
  end)

  it("keep their identity while they are held, whatever the collector does", function()
    local held, seen = {}, {}
    for i = 1, 200 do
      held[i] = (M + i) * (N + i)
      seen[held[i]] = i
      if i % 20 == 0 then collectgarbage() end
    end
    core.default:collect()
    for i = 1, 200 do
      assert.equal(i, seen[(N + i) * (M + i)])
    end
  end)

  it("have no order that Lua could force into a boolean", function()
    assert.matches("compare", message(function() return M < N end))
    assert.matches("compare", message(function() return M <= 3 end))
  end)

  it("answer questions with yes, no or unknown", function()
    assert.is_true(M:le(M + 1))
    assert.is_false(M:lt(M))
    assert.is_nil(M:lt(N))
    assert.is_true(core.int(3):eq(3))
    assert.is_true(core.int(2):divides(2 * M))
    assert.is_true(M:is_integer())
    local lo, hi = M:bounds()
    assert.equal(core.int(1), lo)
    assert.is_nil(hi)
    local modulus, remainder = (4 * M + 3):residue()
    assert.same({ 4, 3 }, { modulus, remainder })
  end)

  it("show their parts", function()
    local e = 3 * M + N + 2
    assert.equal("add", e:kind())
    assert.equal(3, e:arity())
    assert.equal(e, core.sum(e:args()))
    assert.equal(e:arg(1), e:args()[1])
    assert.equal(2, #e:symbols())
    local product = 3 * M ^ 2 * N
    assert.equal("mul", product:kind())
    assert.equal("mul", (3 * M):kind())
    assert.equal(product, core.product(product:args()))
    assert.equal(core.int(3), (3 * M):arg(1))
    assert.equal(M, (3 * M):arg(2))
    assert.equal("M", M:name())
    assert.is_nil(e:name())
    assert.is_false(e:is_number())
    assert.equal(0, M:order(M))
    assert.equal(-M:order(N), N:order(M))
    assert.equal(1, M:size())
    assert.is_true(e:size() > 2)
    assert.matches("no such argument", message(e.arg, e, 4))
    assert.matches("no such argument", message(e.arg, e, 0))
  end)

  it("turn into Lua numbers where they are numbers", function()
    assert.equal("integer", math.type(core.int(7):tointeger()))
    assert.is_nil(core.number("7/2"):tointeger())
    assert.equal(3.5, core.number("7/2"):tonumber())
    assert.same({ 7, 2 }, { core.number("7/2"):ratio() })
    assert.is_nil(M:tointeger())
    assert.is_nil(M:tonumber())
    assert.is_nil(M:ratio())
  end)

  it("substitute by name or by symbol, all at once", function()
    local e = M * N + M
    assert.equal(core.int(20), e { M = 4, N = 4 })
    assert.equal(4 * N + 4, e { M = 4 })
    assert.equal(M * N + N, e { M = N, N = M })
    assert.equal(4 * N + 4, e { [M] = 4 })
    assert.equal(e, e {})
    local wrong = message(e, { M0 = 4 })
    assert.matches("no symbol 'M0'", wrong)
    assert.matches("nearest: M", wrong)
    assert.matches("key", message(e, { [1] = 4 }))
    assert.matches("M", message(e, { M = {} }))
  end)

  it("come from builders of many terms", function()
    local terms = {}
    for i = 1, 64 do terms[i] = core.symbol("x" .. i) end
    local sum = core.sum(terms)
    assert.equal(64, sum:arity())
    assert.equal(sum, core.sum(terms))
    assert.equal(core.int(0), core.sum {})
    assert.equal(core.int(1), core.product {})
    assert.equal(M ^ 2, core.product { M, M })
    assert.equal(core.min(M, N), core.min(N, M))
    assert.equal(core.int(3), core.max(1, 3, 2))
    assert.equal(core.int(-2), core.floor "-3/2")
    assert.equal(core.int(-1), core.ceil "-3/2")
    assert.equal(core.int(-2), core.floor_div(-3, 2))
    assert.equal(core.int(1), core.mod(-3, 2))
    assert.equal(core.int(2), core.mod_index(11, 2, 3))
    assert.equal(core.int(1), core.lt(1, 2))
    assert.equal(core.int(0), core.lt(2, 2))
    assert.equal(core.int(1), core.le(2, 2))
    assert.equal(core.int(1), core.eq(2, 2))
    assert.equal(M, core.select(core.lt(1, 2), M, N))
  end)

  it("carry the assumptions of their symbols", function()
    local k = core.symbol("k", { min = 0, max = 7, multiple = 1 })
    local lo, hi = k:bounds()
    assert.same({ 0, 7 }, { lo:tointeger(), hi:tointeger() })
    assert.equal(core.int(0), k // 8)
    local d = core.symbol("d", { divides = 12 })
    assert.is_true((12 / d):is_integer())
    assert.is_true(core.symbol("k") ~= k)
    assert.equal(7, k:assumptions().max)
    assert.is_nil((k + 1):assumptions())
    assert.matches("maximum", message(core.symbol, "k", { maximum = 7 }))
    assert.matches("integer expected", message(core.symbol, "k", { max = 7.5 }))
  end)

  it("are differentiated, expanded and cut into pieces", function()
    assert.equal(2 * M, (M ^ 2):diff(M))
    assert.equal(core.int(3), (3 * M):difference(M))
    assert.equal(core.int(6), (3 * M):difference(M, 2))
    assert.equal(M ^ 2 + 2 * M + 1, ((M + 1) ^ 2):expand())
    local points = core.max(M, 5):breakpoints(M, 1, 10)
    assert.is_true(#points >= 1)
    for _, p in ipairs(points) do assert.equal("integer", math.type(p)) end
  end)

  it("print in four styles and as text", function()
    assert.equal(tostring(M + 1), (M + 1):print())
    assert.equal(core.parse(tostring(M // 2 + N)), M // 2 + N)
    for _, style in ipairs { "infix", "c", "latex", "lua" } do
      assert.is_true(#core.max(M, N // 2):print(style) > 3)
    end
    assert.equal("tile M", "tile " .. M)
    assert.matches("invalid option", message(M.print, M, "fortran"))
  end)

  it("refuse what is no number", function()
    assert.matches("number expected, got table", message(function() return M + {} end))
    assert.matches("number expected, got nil", message(function() return M + nil end))
    assert.has_error(function() return M + "x" end)
    assert.has_error(function() return M + (0 / 0) end)
    assert.has_error(function() return M + math.huge end)
    assert.has_error(function() return M / 0 end)
    assert.has_error(function() return core.min() end)
    assert.matches("exponent", message(function() return M ^ 0.5 end))
    assert.matches("exponent", message(function() return M ^ N end))
    assert.matches("expression", message(M.kind, {}))
    assert.matches("item 2", message(core.sum, { 1, {} }))
  end)

  it("parse text, with the place of a mistake", function()
    assert.equal(M * 2 + core.min(N, 3), core.parse "2*M + min(N, 3)")
    local ok, err = pcall(core.parse, "M +\n  * 2", "formula.txt")
    assert.is_false(ok)
    assert.equal("syntax", err.kind)
    assert.equal("formula.txt", err.file)
    assert.equal(2, err.line)
    assert.equal(3, err.column)
    assert.matches("^formula.txt:2:3: ", tostring(err))
  end)
end)

describe("programs", function()
  local M, N = core.symbol "M", core.symbol "N"

  it("evaluate columns of points", function()
    local p <close> = core.compile({ M + N, M * N, M // N }, { M, N })
    assert.is_true(#p > 0)
    assert.same({ { 5.0, 9.0 }, { 6.0, 14.0 }, { 1.0, 3.0 } }, p:eval { { 3, 7 }, { 2, 2 } })
  end)

  it("evaluate one point exactly", function()
    local p = core.compile({ M / N }, { M, N })
    assert.equal(core.number "1/3", p:exact({ 1, 3 })[1])
  end)

  it("need no columns for constants", function()
    assert.same({ { 7.0 } }, core.compile({ core.int(7) }, {}):eval {})
  end)

  it("refuse columns that do not fit", function()
    local p = core.compile({ M + N }, { M, N })
    assert.matches("2 columns", message(p.eval, p, { { 1 } }))
    assert.matches("lengths", message(p.eval, p, { { 1 }, { 1, 2 } }))
    assert.matches("numbers", message(p.eval, p, { { 1 }, { "x" } }))
    assert.matches("2 values", message(p.exact, p, { 1 }))
    assert.matches("numbers", message(p.exact, p, { M, 1 }))
    assert.has_error(function() core.compile({ M + N }, { M }) end)
  end)

  it("are closed once and say so", function()
    local alias
    do
      local p <close> = core.compile({ M }, { M })
      alias = p
    end
    assert.matches("closed", message(alias.eval, alias, { { 1 } }))
    alias:close()
    getmetatable(alias).__gc(alias)
  end)
end)

describe("what is assumed of a symbol", function()
  local function refused(assume)
    local ok, text = pcall(core.symbol, "x", assume)
    assert.is_false(ok, tostring(assume.divides))
    assert.matches("symbol 'x'", text)
  end

  it("may not contradict itself", function()
    for _, assume in ipairs {
      { min = 5, max = 4 }, { divides = 0 }, { divides = core.number "1/2" },
      { divides = 12, multiple = 5 }, { divides = 12, multiple = 24 }, { divides = 12, min = 13 },
      { divides = 12, min = 7, max = 11 }, { divides = 13, min = 2, max = 12 },
      { divides = 12, max = -13 }, { multiple = 10, min = 11, max = 19 }, { multiple = -1 },
      { multiple = 2, integer = false }, { divides = 12, integer = false },
      { divides = core.symbol("n", { max = 8 }), min = 9 },
      { divides = core.symbol "n" + core.number "1/2" },
      { divides = 1000003 * 4, min = 5, max = 1000002 },
    } do
      refused(assume)
    end
  end)

  it("is accepted wherever a value is possible", function()
    for divides = 1, 24 do
      for min = -9, 9, 3 do
        for max = min, 12, 5 do
          for multiple = 1, 4 do
            local possible = false
            for v = min, max do
              possible = possible or v ~= 0 and divides % v == 0 and v % multiple == 0
            end
            local ok = pcall(core.symbol, "x",
              { divides = divides, min = min, max = max, multiple = multiple })
            assert.equal(possible, ok, ("%d %d %d %d"):format(divides, min, max, multiple))
          end
        end
      end
    end
    core.symbol("x", { divides = core.number "1e30", min = 7, multiple = 10 })
    core.symbol("x", { divides = math.maxinteger, min = 2, max = math.maxinteger - 1 })
  end)

  it("holds of every number put for it", function()
    local d = core.symbol("d", { divides = 24 })
    for v = -30, 30 do
      local ok, text = pcall(function() return d { d = v } end)
      assert.equal(v >= 1 and 24 % v == 0, ok, v)
      if v > 0 and not ok then assert.matches("the value of d must divide 24", text) end
    end
    assert.is_false(pcall(function() return d { d = core.number "1/2" } end))
    local n = core.symbol "n"
    local t = core.symbol("t", { divides = n })
    assert.equal(core.int(6), t { t = 6 })
    assert.equal(core.int(4), (n / t) { n = 24, t = 6 })
    assert.is_false(pcall(function() return (n / t) { n = 24, t = 5 } end))
    assert.equal(n / 5, (n / t) { t = 5 })
    local u = core.symbol("u", { divides = t })
    assert.equal(core.int(9), (n + t + u) { n = 4, t = 4, u = 1 })
    assert.is_false(pcall(function() return (t + u) { t = 4, u = 3 } end))
    local z = core.symbol("z", { divides = n, min = 0 })
    assert.is_false(pcall(function() return (n + z) { n = 4, z = 0 } end))
  end)
end)

describe("names", function()
  it("have no zero bytes: C would see their beginning only", function()
    local w = core.workload()
    for _, call in ipairs {
      function() return core.symbol "x\0y" end,
      function() return core.symbol "x" { ["x\0y"] = 3 } end,
      function() return w:variable("m\0n", 4) end,
      function() return core.arch():component("memory", "G\0H") end,
      function() return core.mapping():storage(0, "G\0H") end,
    } do
      assert.is_false((pcall(call)))
    end
    assert.error_matches(function() core.symbol "x\0y" end, "zero bytes")
  end)

  it("are as long as 65535 bytes", function()
    assert.equal(65535, #core.symbol(("x"):rep(65535)):name())
    assert.error_matches(function() core.symbol(("x"):rep(100000)) end, "longer than 65535 bytes")
  end)
end)

describe("words for numbers that are none", function()
  it("are reserved in texts", function()
    for _, text in ipairs { "inf", "nan", "2*inf", "nan + x", "min(inf, x)", "inf(3)", "-inf" } do
      local ok, e = pcall(core.parse, text)
      assert.is_false(ok, text)
      assert.matches("is no number", e.message)
      assert.equal(text:find "inf" or text:find "nan", e.column)
    end
    assert.equal("infx", core.parse "infx":name())
    assert.equal("info", core.parse "info":name())
  end)

  it("are names of symbols in quotes, and print so", function()
    for _, name in ipairs { "inf", "nan" } do
      local e = core.symbol(name) + 1
      assert.equal(e, core.parse(tostring(e)))
    end
  end)
end)

describe("a number in the place of a text", function()
  it("is itself, exactly", function()
    for _, x in ipairs { 2 ^ 53, 1 / 3, 0.1, 1e300, 5e-324, 7, -2, math.maxinteger } do
      assert.equal(core.number(x), core.parse(x))
    end
  end)
end)

describe("messages", function()
  it("keep to one line whatever a name holds", function()
    local ok, text = pcall(function() return core.symbol "a" { ["\27[31m\n\1"] = 3 } end)
    assert.is_false(ok)
    assert.is_nil(text:find "%c")
    assert.matches("\\x1B[31m\\n\\x01", text, 1, true)
  end)
end)
