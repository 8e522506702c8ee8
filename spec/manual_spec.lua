-- SPDX-License-Identifier: MIT
-- Runs every example of doc/manual.md: Lua blocks, with what they print after `-->`, einsums, and
-- loop nests.

local documents = require "support.documents"
local einsum = require "einloom.einsum"
local files = require "support.files"
local mapping = require "einloom.mapping"

local manual = files.read(files.root "doc/manual.md")

describe("the manual", function()
  local count = {}
  count.lua = documents.check("doc/manual.md", it)
  for _, block in ipairs(documents.blocks "doc/manual.md") do
    local language = block.language
    if language ~= "lua" then count[language] = (count[language] or 0) + 1 end
    if language == "einsum" then
      for _, line in ipairs(block.lines) do
        it("has the einsum " .. line, function() assert.is_table(einsum.parse(line)) end)
      end
    elseif language == "loom" then
      it(("line %d: loop nest"):format(block.line), function()
        local m = mapping.new(block.text)
        assert.is_true(m == mapping.new(tostring(m)))
      end)
    end
  end

  it("has examples of each kind", function()
    assert.is_true(count.lua >= 6 and count.einsum >= 1 and count.loom >= 2)
  end)

  it("has every option of spaces", function()
    for _, row in ipairs(require "einloom.search.options".rows()) do
      assert.truthy(manual:find(row, 1, true), row)
    end
  end)

  it("names every key of workloads and architectures", function()
    local keys = require "einloom.workload_definition".keys
    for key in pairs(keys) do assert.truthy(manual:find("`" .. key .. "`", 1, true), key) end
    for _, key in ipairs {
      "size", "read", "write", "compute", "direction", "bits_per_value",
      "values_per_action", "keep", "may_keep", "back", "skip_initial_output_write",
      "leak_power", "area", "actions_scale", "n_parallel_instances", "latency_rule",
      "no_refetch_from_above", "no_resend_to_below", "einsums", "reuse", "min_usage",
      "spatial", "may_reuse", "usage_scale", "power_gateable",
    } do
      assert.truthy(manual:find("`" .. key, 1, true), key)
    end
  end)
end)
