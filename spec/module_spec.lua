-- SPDX-License-Identifier: MIT
-- The module itself: its names, also of parts that are not loaded yet.

local program = require "support.program"
local loom = require "einloom"

describe("the module", function()
  it("lists every name once, loaded or not", function()
    local status, out = program.run_text [[
      local loom, last = require "einloom", ""
      for name, value in pairs(loom) do
        assert(name > last and value ~= nil, name)
        last = name
        print(name)
      end]]
    assert.are.equal(0, status, out)
    for _, name in ipairs {
      "analyze", "arch", "expr", "explain", "mapping", "read_case", "symbol", "version", "workload",
    } do
      assert.truthy(("\n" .. out):find("\n" .. name .. "\n", 1, true), name)
    end
  end)

  it("shows its names", function()
    local text = tostring(loom)
    for name in pairs(loom) do assert.truthy(text:find(name, 1, true), name) end
    assert.truthy(text:find("^einloom %d"))
  end)
end)
