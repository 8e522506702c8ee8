-- SPDX-License-Identifier: MIT
-- A node kind made in Lua: a compressed store keeps half of every tile and moves half of it.

local loom = require "einloom"

local function subject(holder)
  local w = loom.workload {
    sizes = { m = 8, k = 4, n = 6 }, bits = { All = 8 }, "Z[m,n] = A[m,k] * B[k,n]",
  }
  local a = loom.arch {
    loom.memory { "Main", size = math.huge },
    loom.memory { "Buf", size = math.huge },
    loom.compute { "MAC" },
  }
  local m = loom.mapping {
    loom.storage { "Main", "A", "B", "Z" },
    loom.temporal { "m", loom.symbol "M0" },
    holder { "Buf", "A", kind = "compressed" },
    loom.temporal { "m", 1 }, loom.temporal { "n", 1 }, loom.temporal { "k", 1 },
    loom.compute_node "MAC",
  }
  return w, a, m
end

local function storage(t)
  t.kind = nil
  return loom.storage(t)
end

local halved = {
  "total_reads_to_parent", "max_per_parent_reads_to_parent", "total_write_actions",
  "max_per_unit_write_actions", "max_occupancy",
}

local function compressed(node, shape, stats, as)
  assert(node.component == "Buf" and node.tensor == "A" and shape.k)
  local before = as("storage")
  local buffet = before.buffets[#before.buffets]
  for _, field in ipairs(halved) do buffet[field] = buffet[field] / 2 end
  return before, stats
end

describe("an analyzer in Lua", function()
  it("makes a node kind, as an option", function()
    local plain = assert(loom.analyze(subject(storage)))
    local w, a, m = subject(loom.custom)
    local r = assert(loom.analyze(w, a, m, { analyzers = { compressed = compressed } }))
    for _, field in ipairs(halved) do
      assert.are.equal(plain.Buf.A[field] / 2, r.Buf.A[field], field)
    end
    assert.are.equal(plain.Buf.A.total_read_actions, r.Buf.A.total_read_actions)
    assert.truthy(tostring(r):find("compressed Buf: A", 1, true))
    assert.truthy(loom.explain(r.Buf.A):find "total_reads_to_parent")
  end)

  it("makes a node kind for every analysis, once registered", function()
    local w, a, m = subject(loom.custom)
    local none, message, kind = loom.analyze(w, a, m)
    assert.is_nil(none)
    assert.are.equal("unknown_node_kind", kind)
    assert.truthy(message:find "compressed")
    loom.analyzer("compressed", compressed)
    finally(function() loom.analyzer("compressed", nil) end)
    assert.are.equal("16", tostring(assert(loom.analyze(w, a, m)).Buf.A.total_reads_to_parent))
  end)

  it("reports its own mistakes", function()
    local w, a, m = subject(loom.custom)
    local ok, message = pcall(loom.analyze, w, a, m, {
      analyzers = { compressed = function() error "broken analyzer" end },
    })
    if ok then
      local none
      none, message = loom.analyze(w, a, m, {
        analyzers = { compressed = function() error "broken analyzer" end },
      })
      assert.is_nil(none)
    end
    assert.truthy(tostring(message):find "broken analyzer")
    assert.error_matches(function() loom.analyzer(3, compressed) end, "name")
    assert.error_matches(function() loom.analyzer("x", 3) end, "function")
  end)
end)
