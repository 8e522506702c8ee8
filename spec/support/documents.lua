-- SPDX-License-Identifier: MIT
-- Runs the examples of a document: what a Lua block prints must be what stands after its arrows,
-- blanks at the ends aside.

local assert = require "luassert"
local files = require "support.files"
local loom = require "einloom"

local documents = {}

--- The fenced blocks of a document of the project: list of { language =, text =, line = }.
function documents.blocks(path)
  local list, line, block = {}, 0, nil
  for text in (files.read(files.root(path)) .. "\n"):gmatch "([^\n]*)\n" do
    line = line + 1
    local fence = text:match "^```(%w*)$"
    if fence and not block then
      block = { language = fence, lines = {}, line = line }
    elseif fence then
      block.text = table.concat(block.lines, "\n")
      list[#list + 1], block = block, nil
    elseif block then
      block.lines[#block.lines + 1] = text
    end
  end
  assert(block == nil, "a block does not end")
  return list
end

--- Runs a Lua block in an environment with `loom`, in which `dofile` is relative to the project.
function documents.run(block, name)
  local expected, printed = {}, {}
  for line in block.text:gmatch "%-%-> *([^\n]*)" do expected[#expected + 1] = line end
  local function note(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    for line in table.concat(parts, "\t"):gmatch "[^\n]+" do
      printed[#printed + 1] = line:match "^%s*(.-)%s*$"
    end
  end
  local env = setmetatable({
    loom = loom, print = note, dofile = function(path) return dofile(files.root(path)) end,
  }, { __index = _G })
  assert(load(block.text, "=" .. name, "t", env))()
  assert.are.same(expected, printed)
end

--- Declares one test per Lua block with busted's `it`; returns how many there are.
function documents.check(path, it)
  local count = 0
  for _, block in ipairs(documents.blocks(path)) do
    if block.language == "lua" then
      count = count + 1
      it(("%s line %d"):format(path, block.line), function()
        documents.run(block, path:match "(%w+)%.md$")
      end)
    end
  end
  return count
end

return documents
