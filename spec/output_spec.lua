-- SPDX-License-Identifier: MIT
-- Runs every Lua example of README.md and doc/output.md and holds the tables of the latter against
-- the module.

local files = require "support.files"
local loom = require "einloom"
local result = require "einloom.result"

local text = files.read(files.root "doc/output.md")

-- What a block prints must be what stands after its arrows, blanks at the ends aside.
local function run(block)
  local expected, printed = {}, {}
  for line in block:gmatch "%-%-> *([^\n]*)" do expected[#expected + 1] = line end
  local env = setmetatable({ loom = loom, print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    for line in table.concat(parts, "\t"):gmatch "[^\n]+" do
      printed[#printed + 1] = line:match "^%s*(.-)%s*$"
    end
  end, dofile = function(path) return dofile(files.root(path)) end }, { __index = _G })
  assert(load(block, "=output", "t", env))()
  assert.are.same(expected, printed)
end

describe("the README", function()
  it("has an example that runs", function()
    local readme = files.read(files.root "README.md")
    run(assert(readme:match "\n```lua\n(.-)\n```"))
  end)
end)

describe("the manual of the output", function()
  local count = 0
  for block in text:gmatch "\n```lua\n(.-)\n```" do
    count = count + 1
    it("has example " .. count, function() run(block) end)
  end

  it("has examples", function() assert.is_true(count >= 4) end)

  it("names every field", function()
    for _, field in ipairs(result.fields) do
      assert.truthy(text:find("`" .. field .. "`", 1, true), field)
    end
  end)

  it("names every command", function()
    local _, help = files.command "--help"
    for command in help:gmatch "\n   (%l+) +%u" do
      assert.truthy(text:find("einloom " .. command, 1, true), command)
    end
  end)
end)
