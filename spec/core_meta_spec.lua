-- SPDX-License-Identifier: MIT
-- The description of einloom.core for editors names exactly what there is.
local core = require "einloom.core"
local nests = require "support.nests"

local function read_description()
  local file = assert(io.open "lua/meta/einloom/core.lua")
  local text = file:read "a"
  file:close()
  return text
end

local function sorted(t)
  table.sort(t)
  return t
end

local function function_names(t)
  local names = {}
  for name, value in pairs(t) do
    if type(value) == "function" then names[#names + 1] = name end
  end
  return sorted(names)
end

local function methods_of(object)
  return function_names(getmetatable(object).__index)
end

-- Names described for a class: `function Class:name` and `@field name fun` below `@class`.
local function described(text, class, variable)
  local names = {}
  for name in text:gmatch("function " .. variable .. ":([%w_]+)") do names[#names + 1] = name end
  local block = text:match("%-%-%-@class " .. class:gsub("%.", "%%.") .. "[ :][^\n]*\n(.-)\n[^%-]")
  for name in (block or ""):gmatch "@field ([%w_]+) fun" do names[#names + 1] = name end
  return sorted(names)
end

describe("lua/meta/einloom/core.lua", function()
  local text = read_description()

  it("describes every function of the module", function()
    local description = assert(load(text))()
    assert.same(function_names(core), function_names(description))
    assert.same(function_names(core.json), function_names(description.json))
  end)

  it("describes every method", function()
    local M = core.symbol "M"
    local w, a = nests.workload { m = 4, n = 4, k = 4 }, nests.arch()
    local m = nests.mapping { m = 2, n = 2 }
    local r = assert(core.analyze(w, a, m))
    for class, object in pairs {
      ["einloom.Expr"] = M,
      ["einloom.Program"] = core.compile({ M }, { M }),
      ["einloom.Context"] = core.context(),
      ["einloom.CoreWorkload"] = core.workload(),
      ["einloom.CoreArch"] = core.arch(),
      ["einloom.CoreMapping"] = core.mapping(),
      ["einloom.CoreSpace"] = core.space {},
      ["einloom.CoreResult"] = r,
      ["einloom.CoreCosts"] = assert(core.cost(r, w, a, m)),
      ["einloom.CoreRanges"] = assert(core.ranges { x = 4 }),
      ["einloom.CoreGraph"] = assert(core.graph()),
      ["einloom.CorePlan"] = assert(core.graph():plan()),
      ["einloom.CoreFusion"] = assert(core.graph():fusion()),
    } do
      assert.same(methods_of(object), described(text, class, class:match "%.(%w+)$"), class)
    end
  end)
end)
