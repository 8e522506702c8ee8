-- SPDX-License-Identifier: MIT
-- Runs every example of doc/manual.md: Lua blocks, with what they print after `-->`, einsums, and
-- loop nests.

local loom = require "einloom"
local einsum = require "einloom.einsum"
local mapping = require "einloom.mapping"

local file = assert(io.open "doc/manual.md")
local manual = file:read "a"
file:close()

-- Blocks of the manual: {language, text, line}.
local function blocks()
  local list, line, block = {}, 0, nil
  for text in manual:gmatch "([^\n]*)\n" do
    line = line + 1
    local fence = text:match "^```(%w*)$"
    if fence and not block then
      block = { language = fence, lines = {}, line = line }
    elseif fence then
      list[#list + 1], block = block, nil
    elseif block then
      block.lines[#block.lines + 1] = text
    end
  end
  assert(block == nil, "a block does not end")
  return list
end

local function run(block)
  local text = table.concat(block.lines, "\n")
  local expected, printed = {}, {}
  for _, line in ipairs(block.lines) do expected[#expected + 1] = line:match "%-%-> (.*)$" end
  local env = setmetatable({ loom = loom, print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    printed[#printed + 1] = table.concat(parts, "\t")
  end }, { __index = _G })
  assert(load(text, "=manual", "t", env))()
  assert.same(expected, printed)
end

describe("the manual", function()
  local count = {}
  for _, block in ipairs(blocks()) do
    local language = block.language
    count[language] = (count[language] or 0) + 1
    if language == "lua" then
      it(("line %d: Lua"):format(block.line), function() run(block) end)
    elseif language == "einsum" then
      for _, line in ipairs(block.lines) do
        it("has the einsum " .. line, function() assert.is_table(einsum.parse(line)) end)
      end
    elseif language == "loom" then
      it(("line %d: loop nest"):format(block.line), function()
        local m = mapping.new(table.concat(block.lines, "\n"))
        assert.is_true(m == mapping.new(tostring(m)))
      end)
    end
  end

  it("has examples of each kind", function()
    assert.is_true(count.lua >= 6 and count.einsum >= 1 and count.loom >= 2)
  end)

  it("names every key of workloads and architectures", function()
    local keys = require "einloom.workload_definition".keys
    for key in pairs(keys) do assert.truthy(manual:find("`" .. key .. "`", 1, true), key) end
    for _, key in ipairs {
      "size", "read", "write", "compute", "direction", "bits_per_value", "values_per_action",
        "keep",
      "may_keep", "back", "skip_initial_output_write", "leak_power", "area", "actions_scale",
      "n_parallel_instances", "latency_rule", "spatial", "may_reuse", "usage_scale",
      "power_gateable",
    } do
      assert.truthy(manual:find("`" .. key, 1, true), key)
    end
  end)
end)
