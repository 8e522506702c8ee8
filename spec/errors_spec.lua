-- SPDX-License-Identifier: MIT
local errors = require "einloom.errors"
local front = require "support.front"

describe("errors", function()
  it("say file, line, column, the line and a caret", function()
    local source = { name = "a.loom", text = "first\n\tsecond line\nthird" }
    local e = front.raised(errors.raise_at, "syntax", source, 15, "no such word", { name = "line" })
    assert.equal("syntax", e.kind)
    assert.equal("a.loom", e.file)
    assert.equal(2, e.line)
    assert.equal(9, e.column)
    assert.equal("line", e.name)
    local lines = {}
    for line in tostring(e):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("a.loom:2:9: no such word", lines[1])
    assert.equal("  \tsecond line", lines[2])
    assert.equal("  \t       ^", lines[3])
  end)

  it("name the script that passed the text in", function()
    local e = front.raised(function() errors.raise("kind", "message") end)
    assert.truthy(e.caller:find "errors_spec.lua:%d+$")
    assert.truthy(tostring(e):find("in " .. e.caller, 1, true))
  end)

  it("say the path where there is no text", function()
    local e = errors.new("bad_arch", "negative size", { path = "arch[2].size" })
    assert.equal("arch[2].size: negative size", tostring(e))
    assert.equal("x: arch[2].size: negative size", "x: " .. e)
  end)

  it("point to the end of a text", function()
    local e = front.raised(errors.raise_at, "syntax", { name = "t", text = "ab\n" }, 4,
      "more expected")
    assert.equal(2, e.line)
    assert.equal(1, e.column)
  end)

  it("show only a part of a long line, with the caret under the right byte", function()
    local source = { name = "t", text = ("x"):rep(5000) .. "!" .. ("y"):rep(5000) }
    local e = front.raised(errors.raise_at, "syntax", source, 5001, "bang")
    local _, text, caret = tostring(e):match "^(.-)\n(.-)\n(.-)\n"
    assert.is_true(#text <= 102)
    assert.equal("!", text:sub(#caret, #caret))
    assert.equal(5001, e.column)
  end)

  it("find the nearest names first", function()
    local known = { "Main", "Glb", "Reg", "GlobalBuffer" }
    assert.same({ "Glb" }, errors.nearest("Gbl", known))
    assert.same({ "Main" }, errors.nearest("main", known))
    assert.same({ "GlobalBuffer" }, errors.nearest("Global", known))
    assert.same({}, errors.nearest("DRAM", known))
    assert.same({ "throughput" }, errors.nearest("troughputs", { "throughput", "energy" }))
    assert.same({}, errors.nearest("x", { "y", "z" }))
  end)

  it("list all known names where none is near, each once", function()
    assert.equal("; nearest: Glb", errors.hint("Gbl", { "Main", "Glb" }))
    assert.equal("; known: Glb, Main", errors.hint("DRAM", { "Main", "Glb", "Main" }))
    assert.equal("; given: m", errors.hint("k", { "m" }, "given"))
    assert.equal("", errors.hint("DRAM", {}))
  end)

  it("refuse unknown keys with the nearest known", function()
    local e = front.raised(errors.check_keys, "bad_arch", { sise = 3 },
      { size = true, name = true }, "arch[1]")
    assert.equal("arch[1]: unknown key 'sise'; nearest: size", (tostring(e):match "^[^\n]*"))
    assert.has_no.errors(function() errors.check_keys("k", { size = 1, 5 }, { size = true },
      "p", 1) end)
  end)

  it("refuse values without a key beyond those expected", function()
    for _, case in ipairs {
      { { 1 }, 0 }, { { 1, 2 }, 1 }, { { [2] = 1 }, 3 }, { { [1.5] = 1 }, math.huge },
      { { [0] = 1 }, math.huge }, { { [true] = 1 }, math.huge }, { { 1, nil, 3 }, math.huge },
    } do
      assert.equal("k", front.raised(errors.check_keys, "k", case[1], {}, "p", case[2]).kind)
    end
    assert.has_no.errors(function() errors.check_keys("k", { 1, 2, 3 }, {}, "p", 3) end)
  end)

  it("keep to their line whatever names and texts hold", function()
    local source = { name = "a\27[31m\nb", text = "for \27[2J\7m" }
    local e = front.raised(errors.raise_at, "k", source, 5, "no '\27[31m\n\r\0\127' here")
    local text = tostring(e)
    assert.is_nil(text:find "[\0-\9\11-\31\127]")
    assert.equal("a\\x1B[31m\\nb:1:5: no '\\x1B[31m\\n\\r\\x00\\x7F' here",
      (text:match "^[^\n]*"))
    local _, lines = text:gsub("\n", "")
    assert.equal(3, lines)
  end)

  it("shorten long places", function()
    local e = errors.new("k", "m", { path = "nodes" .. (".branches[1]"):rep(1000) .. ".last" })
    assert.is_true(#tostring(e) < 250)
    front.mentions(tostring(e), { "nodes.branches[1]", " ... ", ".last: m" })
  end)
end)
