-- SPDX-License-Identifier: MIT
-- Index arithmetic from Lua: what methods and functions take, give and refuse.

local core = require "einloom.core"
local front = require "support.front"
local loom = require "einloom"

local function variable(name) return core.symbol(name, { min = 0 }) end

describe("loom.simplify", function()
  it("reads texts with variables from 0 and sizes", function()
    assert.equal(variable "x" % 4, loom.simplify("(8*y + x) % 4", { x = 5, y = 3 }))
    assert.equal("x", tostring(loom.simplify("x % n", { x = "n" })))
    assert.equal("x % n", tostring(loom.simplify("x % n", { x = "n + 1" })))
    assert.equal("a*c + b*c", tostring(loom.simplify "(a + b)*c"))
  end)

  it("takes symbols and names of an expression", function()
    local x = variable "x"
    local e = x // 8 + x % 8
    assert.equal(x, loom.simplify(e, { x = 8 }))
    assert.equal(x, loom.simplify(e, { [x] = 8 }))
    assert.equal(x, e:simplify { x = 8, other = 3 })
    assert.equal(e, e:simplify { x = 9 })
  end)

  it("keeps to what symbols assume beside the extents", function()
    local x = core.symbol("x", { min = -4 })
    assert.equal(x // 4, (x // 4):simplify())
    assert.equal(core.int(0), (x // 4):simplify { x = 4 })
  end)

  it("joins quotients that building keeps the other way round", function()
    local n = { x = 1000 }
    assert.equal(-variable "x", loom.simplify("(-x) % 20 + 20*((-x) // 20)", n))
    assert.equal((-variable "x") // 2, loom.simplify("mod_index(-x, 2, 7) + 7*((-x) // 14)", n))
    assert.equal(loom.simplify("s*((3*x - 4) // 4)", n),
      loom.simplify("s*mod_index(3*x - 4, 4, 32) + 32*s*((3*x - 4) // 128)", n))
    assert.equal(-variable "x" * core.symbol("s", { min = 1 }),
      loom.simplify("(-x) % s*s + s^2*((-x) // s)", { x = "s^3" }))
  end)

  it("leaves no remainder beside a quotient that its number is there for", function()
    assert.equal("4*x + 3*(x // 3)", tostring(loom.simplify("4*(x % 3) + 15*(x // 3)", { x = 99 })))
    assert.equal("3*(x // 2) + 3*(x // 8)",
      tostring(loom.simplify("x // 2 + 2*mod_index(x, 2, 4) + 11*(x // 8)", { x = 99 })))
  end)

  it("joins what is outside before what is inside", function()
    local digits = "(8*mod_index(x, 4, 16) + mod_index(x, 4, 8))"
    local e = ("8*mod_index(%s, 4, 4) + 32*(%s // 16)"):format(digits, digits)
      .. " + 4*mod_index(x, 8, 2)"
    assert.equal("16*(x // 4) + 4*(x // 8)", tostring(loom.simplify(e, { x = 32 })))
  end)

  it("does not look into opaque nodes", function()
    local x = variable "x"
    local e = core.opaque(x // 8)
    assert.equal(e, e:simplify { x = 8 })
    assert.equal(core.int(0), e:reveal():simplify { x = 8 })
    assert.equal("opaque", e:kind())
    assert.equal(e, core.parse(tostring(e), nil, { x }))
    assert.equal(core.int(7), core.opaque(7))
  end)

  it("says what is wrong", function()
    front.mentions(front.raised(loom.simplify, {}, {}).message, { "index", "table" })
    front.mentions(front.raised(loom.simplify, "x", 3).message, { "variable = size", "number" })
    front.mentions(front.raised(loom.simplify, "x", { ["x+1"] = 3 }).message, { "'x+1'" })
    assert.has_error(function() core.symbol("x"):simplify { x = {} } end)
    local r = core.symbol("r", { integer = false })
    local ok, problem = pcall(function() return (r // 2):simplify { r = 4 } end)
    assert.is_false(ok)
    front.mentions(tostring(problem), { "r has an extent but is no integer" })
  end)
end)

describe("facts", function()
  local s, u = core.symbol("s", { min = 2 }), core.symbol("u", { min = 0 })

  it("are proved, never taken from hints", function()
    assert.is_true(s:known("le", s * s))
    assert.is_false(s:known("eq", 12, { hints = { s = 12 } }))
    assert.is_true((s // 128):known("eq", 0, { extents = { s = 101 } }))
    assert.is_false((s // 128):known("eq", 0, { extents = { s = 1001 } }))
  end)

  it("are those of the reference unless strict", function()
    local e = variable "x" * variable "y"
    local given = { extents = { x = 4, y = 4 } }
    assert.is_false(e:known("lt", 10, given))
    given.strict = true
    assert.is_true(e:known("lt", 10, given))
    assert.is_false(e:known("lt", 9, given))
  end)

  it("about multiples need hints for sizes that are listed", function()
    assert.is_true((4 * u):known("multiple", 4))
    assert.is_false((4 * u):known("multiple", 4, { hints = { u = false } }))
    assert.is_true((4 * u):known("multiple", 4, { hints = { u = false }, strict = true }))
    assert.is_true(((s + 1) * u):known("multiple", s + 1))
  end)

  it("refuse relations and options that do not exist", function()
    assert.has_error(function() s:known("about", 3) end)
    assert.has_error(function() s:known("eq", 3, { hint = {} }) end)
  end)

  it("give values at hints, or what stands in for them", function()
    assert.equal(core.int(37), (3 * s + 1):hint { s = 12 })
    assert.is_nil((3 * s + u):hint { s = 12, u = false })
    assert.equal(core.int(8192), (3 * u):hint({ u = false }, 8192))
    assert.equal(core.int(6), (3 * s):hint({}, 1))
    local ok, problem = pcall(function() return s:hint { s = 1 } end)
    assert.is_false(ok)
    front.mentions(tostring(problem), { "s must be at least 2" })
  end)
end)

describe("strides and merging", function()
  it("take names and symbols", function()
    local x = variable "x"
    assert.same({ core.int(3) }, loom.strides("3*x + y", { "x" }))
    assert.same({ core.int(3) }, loom.strides(3 * x, { "x" }))
    assert.same({ core.int(3) }, (3 * x):strides { x })
    assert.same({ core.int(0) }, (3 * x):strides { 0 })
    assert.equal(core.int(5), (3 * x + 5):offset { x })
  end)

  it("count gathered values and sizes without hints as nothing", function()
    local x, g, n = variable "x", variable "indirect0", core.symbol "n"
    local e = n * x + 8 * x + x * g
    assert.same({ core.int(13) }, e:stride_hints({ x }, { n = 5 }))
    assert.same({ core.int(0) }, e:stride_hints({ x }, {}))
  end)

  it("give loops that are left", function()
    local left = loom.merge_loops({ { "i", "n" }, { "j", 8 } }, { "8*i + j" })
    assert.equal(1, #left)
    assert.equal("j", tostring(left[1][1]))
    assert.equal("8*n", tostring(left[1][2]))
  end)

  it("say what is wrong", function()
    front.mentions(front.raised(loom.merge_loops, { { "i" } }, {}).message, { "variable, size" })
    front.mentions(front.raised(loom.merge_loops, {}, {}, { order = true }).message, { "'order'" })
    assert.has_error(function() core.merge_loops({ variable "x" }, {}, {}) end)
  end)
end)

describe("blocks", function()
  it("are found, or there are none", function()
    local blocks = loom.match_blocks("16*(x // 8) + x % 8", "x", 64, 2)
    assert.same({ core.int(8), core.int(8) }, blocks.dims)
    assert.same({ core.int(16), core.int(1) }, blocks.strides)
    assert.is_nil(loom.match_blocks("3*(x % 8)", "x", 60, 2))
    assert.is_nil(loom.match_blocks("x", "x", 64, 2))
  end)

  it("are for at least one dimension", function()
    assert.has_error(function() loom.match_blocks("x % 8", "x", 64, 0) end)
  end)

  it("are made of the terms with a variable", function()
    local x, y = variable "x", variable "y"
    local e = 5 * x + core.opaque(x + y) + 2 * y
    assert.equal(6 * x, e:terms_of(x))
    assert.equal(core.int(4), (4 * x):affine(x))
    assert.is_nil((4 * x + 1):affine(x))
  end)
end)
