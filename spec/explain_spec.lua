-- SPDX-License-Identifier: MIT
-- Explanations: of the field that is asked for, never of another one that has the same value.

local files = require "support.files"
local front = require "support.front"
local loom = require "einloom"
local buffets = require "einloom.result.buffet"

local function matmul() return dofile(files.root "examples/matmul.lua") end

-- A result with numbers of its own, so that no other test has read its values.
local function small(memories, m)
  local w = loom.workload {
    sizes = { m = m or 22, k = 26, n = 34 }, bits = 8, "Z[m,n] = A[m,k] * B[k,n]",
  }
  local a = loom.arch {
    loom.memory { "DRAM", size = math.huge }, loom.memory { "G", size = 2^20, read = memories,
      write = memories }, loom.compute { "MAC" },
  }
  return assert(loom.analyze(w, a, loom.mapping [[
    DRAM: A B Z
    for m tile M0
    G: A B Z
    for m, n, k
    MAC]]))
end

describe("explain", function()
  it("names every field of a buffet that a value was read from", function()
    local r = small()
    local reads, writes = r.G.Z.reads_to_parent, r.G.Z.writes_to_parent
    assert.are.equal(reads, writes)
    local title = loom.explain(reads):match "[^\n]*"
    front.mentions(title, { "Z in G", "total_reads_to_parent", "total_writes_to_parent" })
  end)

  it("explains all buffets that a value was read from", function()
    local r = small()
    local e = r.G.A.read_actions
    assert.are.equal(e, r.G.B.read_actions)
    local text = loom.explain(e)
    front.mentions(text, { "A in G", "B in G" })
  end)

  it("explains a field that is named", function()
    local r = small()
    for _, field in ipairs(buffets.fields) do
      local value = r.G.Z[field]
      if loom.is_expr(value) then
        assert.are.equal(("Z in G, einsum Z: %s = %s; model exact"):format(field, value),
          loom.explain(r.G.Z, field):match "[^\n]*")
      end
    end
    for _, wrong in ipairs { "raeds", "persistent", "tensor", "tile" } do
      local ok, message = pcall(loom.explain, r.G.Z, wrong)
      assert.is_false(ok)
      front.mentions(message, { wrong }, { "explain.lua" })
    end
  end)

  it("explains what belongs to no buffet", function()
    local r = matmul()
    front.mentions(loom.explain(r.compute.ops), { "compute.total_ops = 1048576",
      "1 x (m: 128) x (n: 128) x (k: 64) = 1048576" })
    front.mentions(loom.explain(r.temporal_steps), { "temporal_steps = 65536" })
    front.mentions(loom.explain(r.fanout.PE.x), { "fanout.PE.x", "1 x (n: 16) = 16" })
  end)

  it("refuses what was read from no result, though a result shown has the value", function()
    local r = small(nil, 38)
    local text = tostring(r) .. tostring(r.G.A) .. loom.explain(r.G.A) .. loom.write_case(r)
    assert.truthy(text)
    local value = loom.number(38 * 26 * 34 * 8) -- the reads of A in G
    assert.truthy(text:find(tostring(value), 1, true))
    for _, what in ipairs { value, loom.number(38 * 26 * 34), 3, "x", r, {} } do
      local ok, message = pcall(loom.explain, what)
      assert.is_false(ok)
      front.mentions(message, { "explain takes" })
    end
  end)

  it("finds the product for memories with and without actions", function()
    for _, memories in ipairs {
      false, { energy = 1 }, { bits_per_action = 16 }, { values_per_action = 4 },
    } do
      local r = small(memories or nil)
      for _, tensor in ipairs { "A", "B", "Z" } do
        local text = loom.explain(r.G[tensor])
        assert.is_nil(text:find "no plain product", text)
        assert.truthy(text:find "total_read_actions +%(%d+ values read by MAC", text)
      end
    end
  end)

  it("says 1 value, not 1 values", function()
    assert.is_nil(loom.explain(small().G.Z):find "%f[%d]1 values")
  end)
end)
