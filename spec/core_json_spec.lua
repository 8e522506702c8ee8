-- SPDX-License-Identifier: MIT
-- JSON through the binding: exact both ways, mistakes with their place.
local core = require "einloom.core"
local json = core.json

local function failure(text)
  local ok, err = pcall(json.decode, text, "case.json")
  assert.is_false(ok)
  return err
end

describe("json.decode", function()
  it("keeps integers and floats apart", function()
    local t = json.decode [[
      {"i": 9223372036854775807, "f": 1.0, "n": -9223372036854775808, "e": 1e3}]]
    assert.equal(math.maxinteger, t.i)
    assert.equal(math.mininteger, t.n)
    assert.equal("integer", math.type(t.i))
    assert.equal("float", math.type(t.f))
    assert.equal("float", math.type(t.e))
  end)

  it("marks arrays, so that empty ones stay arrays", function()
    local t = json.decode '{"a": [], "o": {}, "l": [1, [2]]}'
    assert.equal(json.array, getmetatable(t.a))
    assert.equal(json.array, getmetatable(t.l[2]))
    assert.is_nil(getmetatable(t.o))
  end)

  it("reads every kind of value", function()
    assert.same({ true, false, "x\n\u{e9}\0", json.null }, { table.unpack(
      json.decode '[true, false, "x\\n\\u00e9\\u0000", null]') })
    assert.equal(3, json.decode " 3 ")
  end)

  it("refuses duplicates, overflow, depth and rests with line and column", function()
    for text, about in pairs {
      ['{"a": 1,\n "a": 2}'] = "duplicate",
      ["\n[9223372036854775808]"] = "integer",
      ["[1]\n x"] = "end of file",
      ['{"a":\n'] = "end of file",
      ["\n{a: 1}"] = "expected",
      ["\n[1e999]"] = "real",
      ['["a\nb"]'] = "newline",
    } do
      local err = failure(text)
      assert.equal("syntax", err.kind)
      assert.matches(about, err.message)
      assert.equal("case.json", err.file)
      assert.is_true(err.line >= 1 and err.column >= 1)
      assert.matches("^case.json:%d+:%d+: ", tostring(err))
    end
    assert.equal(2, failure("\n[1,]").line)
    assert.matches("depth", failure(("["):rep(100000)).message)
    assert.equal("table", type(json.decode(("["):rep(1000) .. ("]"):rep(1000))))
    assert.has_error(function() json.decode '"\xff"' end)
    assert.has_error(function() json.decode "" end)
  end)
end)

describe("json.encode", function()
  it("gives equal text for equal tables", function()
    local a, b = {}, {}
    for i = 1, 50 do a["k" .. i] = i end
    for i = 50, 1, -1 do b["k" .. i] = i end
    assert.equal(json.encode(a), json.encode(b))
    assert.equal('{"a":1,"b":[1,2.5,"x"],"c":null}',
      json.encode { c = json.null, b = { 1, 2.5, "x" }, a = 1 })
  end)

  it("tells an empty array from an empty object", function()
    assert.equal('{"a":[],"o":{}}', json.encode { a = setmetatable({}, json.array), o = {} })
  end)

  it("writes floats that read back, in few digits", function()
    for _, x in ipairs { 0.1, 1 / 3, 1e6, 1e300, 5e-324, 123456789.125, -0.5, 2 ^ 53, 1e22 } do
      local text = json.encode(x)
      assert.equal(x, json.decode(text))
      assert.equal("float", math.type(json.decode(text)))
    end
    assert.equal("0.1", json.encode(0.1))
    assert.equal('"inf"', json.encode(math.huge))
    assert.equal('"-inf"', json.encode(-math.huge))
    assert.has_error(function() json.encode(0 / 0) end)
  end)

  it("writes exact numbers: integers whole, large ones as strings, others rounded once", function()
    assert.equal("12", json.encode(core.int(12)))
    assert.equal('"18446744073709551614"', json.encode(core.int(math.maxinteger) * 2))
    assert.equal("0.3333333333333333", json.encode(core.number "1/3"))
    assert.has_error(function() json.encode(core.symbol "M") end)
  end)

  it("indents", function()
    assert.equal('{\n  "a": [\n    1,\n    2\n  ],\n  "b": {}\n}',
      json.encode({ a = { 1, 2 }, b = {} }, { indent = 2 }))
  end)

  it("escapes what must be", function()
    local text = 'quote " backslash \\ newline \n tab \t zero \0 del \127 \u{e9}\u{1f600}'
    assert.equal(text, json.decode(json.encode(text)))
    assert.has_error(function() json.encode "\xff" end)
    assert.has_error(function() json.encode "\xed\xa0\x80" end)
  end)

  it("refuses what has no text", function()
    local cycle = {}
    cycle[1] = cycle
    for _, value in ipairs { cycle, { 1, nil, 3 }, { 1, a = 2 }, { [2] = 1 }, { [1.5] = 1 }, print,
      setmetatable({ a = 1 }, json.array), io.stdout, coroutine.create(print) } do
      assert.has_error(function() json.encode(value) end)
    end
    assert.has_error(function() json.encode(1, { index = 2 }) end)
  end)

  it("returns what it was given, for values of every shape", function()
    local seed = os.time()
    math.randomseed(seed)
    local function random(depth)
      local kind = math.random(depth > 0 and 6 or 4)
      if kind == 1 then return math.random(0) end
      if kind == 2 then return math.random() * 10.0 ^ math.random(-300, 300) end
      if kind == 3 then return math.random() < 0.5 end
      if kind == 4 then return ("k"):rep(math.random(0, 3)) .. "\u{20ac}" end
      local t = {}
      for i = 1, math.random(0, 5) do t[kind == 5 and i or "f" .. i] = random(depth - 1) end
      return kind == 5 and setmetatable(t, json.array) or t
    end
    for _ = 1, 300 do
      local value = random(4)
      assert.same(value, json.decode(json.encode(value)), "seed " .. seed)
    end
  end)
end)
