-- SPDX-License-Identifier: MIT
-- Figures without a formula: named functions of sizes and tiles that become the counted number.

local loom = require "einloom"
local core = require "einloom.core"

local machine = loom.arch {
  loom.memory { "Main", size = math.huge },
  loom.fanout { "PE", X = 16 },
  loom.memory { "Reg", size = math.huge },
  loom.compute { "MAC" },
}
local mapping = [[
  Main: I, W, O
  par p tile 4 on PE.X
  for r tile 1
  for p tile t
  Reg: I, W, O
  for p tile 1
  MAC
]]

local function workload(p)
  return loom.workload { sizes = { p = p, r = 3 }, bits = 8, "O[p] += I[2*p + r] * W[r]" }
end

local function reads(p, t, lifetime)
  local text = mapping:gsub("tile t", "tile " .. t)
  local options = { model = "exact", lifetime = lifetime }
  return loom.analyze(workload(p), machine, loom.mapping(text), options).Reg.I.reads_to_parent
end

describe("a counted figure", function()
  local P = loom.symbol "P"
  for _, lifetime in ipairs { "scope", "retain" } do
    it("of a symbolic size is a call that becomes the number: " .. lifetime, function()
      local formula = reads(P, 3, lifetime)
      assert.equal("call", formula:kind())
      assert.truthy(formula:called():find "^reads_I")
      assert.equal(formula:called() .. "(P)", tostring(formula))
      assert.is_true(formula:is_integer())
      for p = 1, 40 do
        assert.equal(reads(p, 3, lifetime), formula { P = p })
      end
    end)
  end

  it("is computed in programs, exactly and in double", function()
    local formula = reads(P, 3, "scope") + P
    local program = core.compile({ formula }, { P })
    assert.equal(reads(13, 3, "scope") + 13, program:exact({ 13 })[1])
    local column = program:eval({ { 7, 13, 21 } })[1]
    for i, p in ipairs { 7, 13, 21 } do
      assert.equal((reads(p, 3, "scope") + p):tonumber(), column[i])
    end
  end)

  it("has no derivative and no breakpoints, and says so", function()
    local formula = reads(P, 3, "scope")
    assert.has_error(function() formula:diff(P) end)
    local _, message = pcall(formula.diff, formula, P)
    assert.truthy(tostring(message):find("reads_I", 1, true))
    _, message = pcall(formula.breakpoints, formula, P, 1, 9)
    assert.truthy(tostring(message):find("tells no pieces", 1, true))
  end)
end)
