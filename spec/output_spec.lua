-- SPDX-License-Identifier: MIT
-- Runs every Lua example of README.md, doc/tutorial.md and doc/output.md and holds the tables of
-- the latter against the module.

local documents = require "support.documents"
local files = require "support.files"
local buffets = require "einloom.result.buffet"

local text = files.read(files.root "doc/output.md")

describe("the README", function()
  local count = documents.check("README.md", it)
  it("has an example", function() assert.is_true(count >= 1) end)

  it("shows what eval prints of it", function()
    local script, shown
    for _, block in ipairs(documents.blocks "README.md") do
      if block.language == "lua" then script = script or block.text end
      if script and block.language == "" then shown = shown or block.text end
    end
    local status, out = files.scratch(script, function(path)
      return files.command("eval", path, "--at", "M0=16")
    end, ".lua")
    assert.are.equal(0, status)
    local lines = 0
    for line in shown:gmatch "[^\n]+" do
      if not line:find "^ *%.%.%.$" then
        assert.truthy(out:find("\n" .. line .. "\n", 1, true), line)
        lines = lines + 1
      end
    end
    assert.is_true(lines >= 5)
  end)
end)

describe("the tutorial", function()
  local count = documents.check("doc/tutorial.md", it)
  it("has examples", function() assert.is_true(count >= 6) end)
end)

describe("the manual of the output", function()
  local count = documents.check("doc/output.md", it)

  it("has examples", function() assert.is_true(count >= 4) end)

  it("names every field", function()
    for _, field in ipairs(buffets.fields) do
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
