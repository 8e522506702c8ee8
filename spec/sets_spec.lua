-- SPDX-License-Identifier: MIT
local sets = require "einloom.sets"
local front = require "support.front"

local function set(...)
  local s = {}
  for _, name in ipairs { ... } do s[name] = true end
  return s
end

local function context()
  return {
    what = "einsum E1", tensors = { "A", "B", "C", "Z" }, known = { "A", "B", "C", "Z", "T9" },
    sets = {
      All = set("A", "B", "C", "Z"), Nothing = {}, Inputs = set("A", "B", "C"), Outputs = set "Z",
      Intermediates = set("C", "T9"), Shared = set("C"), Persistent = set "B", weight = set "B",
    },
  }
end

local function evaluate(text, c)
  local members = sets.evaluate(sets.parse(text), c or context())
  local list = {}
  for name in pairs(members) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

describe("a set expression", function()
  local cases = {
    { "All", "A B C Z" }, { "Nothing", "" }, { "~Inputs", "Z" }, { "~Nothing", "A B C Z" },
    { "Inputs - A", "B C" }, { "Inputs & Shared | Outputs", "C Z" }, { "A ^ Inputs", "B C" },
    { "~(A | B)", "C Z" }, { "~~A", "A" }, { "~A & ~B", "C Z" }, { "weight", "B" },
    { "Persistent", "B" }, { "Intermediates", "C" }, { "T9", "" }, { "All - T9", "A B C Z" },
    { "All - A & Inputs", "B C" }, { "A | B & Nothing", "A" }, { "A | B ^ B", "A" },
    { "All - A - B", "C Z" }, { "(All - (A - B))", "B C Z" },
  }
  for _, case in ipairs(cases) do
    it(("%s is {%s}"):format(case[1], case[2]), function()
      assert.equal(case[2], evaluate(case[1]))
    end)
  end

  it("sees what is held above where a position is given", function()
    local c = context()
    c.above = set("A", "Z")
    assert.equal("B C", evaluate("~Above", c))
    local e = front.raised(evaluate, "A & Above")
    assert.equal(5, e.column)
    front.mentions(e.message, { "Above" })
  end)

  local bad = {
    { "Input", "nearest: Inputs", 1, "unknown_tensor" }, { "A | Bb", "Bb", 5, "unknown_tensor" },
    { "A &", "end of the text", 4 }, { "A B", "'B'", 3 }, { "(A | B", "'('", 7 }, { "", "set", 1 },
    { "A + B", "+", 3 }, { "3", "set", 1 }, { "A)", "')'", 2 },
  }
  for _, case in ipairs(bad) do
    it(("refuses '%s' at column %d"):format(case[1], case[3]), function()
      local e = front.raised(evaluate, case[1])
      assert.equal(case[3], e.column)
      assert.equal(case[4] or "syntax", e.kind)
      front.mentions(e.message, { case[2] })
    end)
  end

  it("of 100000 names is evaluated, and deep brackets are refused", function()
    assert.equal("A Z", evaluate(("A | "):rep(99999) .. "Z"))
    assert.equal("A", evaluate(("("):rep(190) .. "A" .. (")"):rep(190)))
    assert.equal("depth", front.raised(evaluate, ("("):rep(1e5) .. "A" .. (")"):rep(1e5)).kind)
    assert.equal("A", evaluate(("~"):rep(1e4) .. "A"))
  end)

  it("agrees with sets of numbers on random expressions (seed " .. front.seed .. ")", function()
    local r = front.random(front.seed)
    local bits = { A = 1, B = 2, C = 4, Z = 8 }
    local function build(depth)
      local kind = depth == 0 and 1 or r:to(6)
      if kind == 1 then
        local name = r:pick { "A", "B", "C", "Z" }
        return name, bits[name]
      elseif kind == 2 then
        local text, value = build(depth - 1)
        return "~(" .. text .. ")", 15 & ~value
      end
      local a, x = build(depth - 1)
      local b, y = build(depth - 1)
      if kind == 3 then return ("(%s & %s)"):format(a, b), x & y end
      if kind == 4 then return ("(%s | %s)"):format(a, b), x | y end
      if kind == 5 then return ("(%s - %s)"):format(a, b), x & ~y end
      return ("(%s ^ %s)"):format(a, b), x ~ y
    end
    for _ = 1, 300 do
      local text, value = build(5)
      local expected = {}
      for _, name in ipairs { "A", "B", "C", "Z" } do
        if value & bits[name] ~= 0 then expected[#expected + 1] = name end
      end
      assert.equal(table.concat(expected, " "), evaluate(text), text)
    end
  end)
end)

describe("a table keyed by sets", function()
  local function resolve(t) return sets.resolve(t, context(), "bits") end

  it("takes a plain value for all tensors", function()
    assert.same({ A = 8, B = 8, C = 8, Z = 8 }, resolve(8))
  end)

  it("leaves out what no key covers", function()
    assert.same({ Z = 16 }, resolve { Outputs = 16 })
    assert.same({}, resolve {})
  end)

  it("lets a name beat a set and a narrower set a wider one", function()
    assert.same({ A = 2, B = 4, C = 4, Z = 8 }, resolve { All = 8, Inputs = 4, A = 2 })
    assert.same({ A = 1, B = 3, C = 1, Z = 2 }, resolve { ["A | B | C"] = 1, ["B | Z"] = 2, B = 3 })
    assert.same({ A = 7, B = 1, C = 2 }, resolve { ["A | B"] = 1, ["A | C"] = 2, A = 7 })
  end)

  it("takes the narrowest set even where wider ones overlap", function()
    local t = { ["A | B"] = 1, ["A | C"] = 2, ["A & ~Z"] = 3 }
    assert.equal(3, resolve(t).A)
  end)

  it("refuses keys that merely overlap", function()
    local e = front.raised(resolve, { ["A | B"] = 1, ["B | Z"] = 2 })
    assert.equal("ambiguous_set", e.kind)
    front.mentions(tostring(e), { "bits", "A | B", "B | Z", "cover B" })
  end)

  it("refuses two keys for one set with different values", function()
    local e = front.raised(resolve, { Inputs = 1, ["A|B|C"] = 2 })
    front.mentions(e.message, { "Inputs", "A|B|C", "same set" })
    assert.same({ A = 1, B = 1, C = 1 }, resolve { Inputs = 1, ["A|B|C"] = 1 })
  end)

  it("names the key that does not parse", function()
    local e = front.raised(resolve, { ["All &"] = 1 })
    front.mentions(tostring(e), { 'bits["All &"]:1:6' })
  end)
end)
