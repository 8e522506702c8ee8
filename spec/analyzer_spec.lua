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
    for tile = 1, 8 do
      for _, field in ipairs(halved) do
        local half = plain { M0 = tile }.Buf.A[field] / 2
        assert.are.equal(half, r { M0 = tile }.Buf.A[field], field)
      end
    end
    assert.are.equal(plain { M0 = 3 }.Buf.A.reads, r { M0 = 3 }.Buf.A.reads)
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
    local reads = assert(loom.analyze(w, a, m)).Buf.A.total_reads_to_parent
    assert.are.equal("16", tostring(reads { M0 = 4 }))
    assert.are.equal("16", tostring(reads { M0 = 3 }))
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
    assert.error_matches(function() loom.analyzer("", compressed) end, "name")
    for _, kind in ipairs { "storage", "toll", "temporal", "reservation", "compute" } do
      assert.error_matches(function() loom.analyzer(kind, compressed) end, "built%-in")
    end
    loom.analyzer("compressed", compressed)
    finally(function() loom.analyzer("compressed", nil) end)
    assert.error_matches(function() loom.analyze(w, a, m, "x") end, "table expected")
  end)

  local function failed(analyze)
    local w, a, m = subject(loom.custom)
    local ok, e = pcall(loom.analyze, w, a, m, { analyzers = { compressed = analyze } })
    assert.is_false(ok)
    return e
  end

  it("that fails is told with its kind and place", function()
    for pattern, analyze in pairs {
      ["stats expected, got nil"] = function() end,
      ["broken analyzer"] = function() error "broken analyzer" end,
      ["attempt to index a nil value"] = function(_, shape) return shape.x.y end,
      ["total_reads_to_parent: nan is not a number"] = function(_, _, _, as)
        local stats = as "storage"
        stats.buffets[1].total_reads_to_parent = 0 / 0
        return stats
      end,
    } do
      local e = failed(analyze)
      assert.are.equal("callback", e.kind)
      local prefix = "^mapping[^ ]*: the analyzer of 'compressed' failed: "
      assert.truthy(e.message:find(prefix), e.message)
      assert.truthy(e.message:find(pattern, 1, true), e.message)
      assert.is_nil(e.message:find "%[C%]: in %?")
      assert.is_nil(e.message:find "model%.lua")
    end
    local own = setmetatable({}, {})
    assert.are.equal(own, failed(function() error(own) end))
  end)

  it("gives back the fields it was given, none of them negative", function()
    local function change(f)
      return function(_, _, _, as)
        local stats = as "storage"
        f(stats, stats.buffets[#stats.buffets])
        return stats
      end
    end
    for pattern, f in pairs {
      ["a buffet has no field 'max_occupncy'"] = function(_, b) b.max_occupncy = 3 end,
      ["a buffet has no field '1'"] = function(_, b) b[1] = 3 end,
      ["stats has no field 'bufets'"] = function(s) s.bufets = {} end,
      ["stats.compute has no field 'ops'"] = function(s) s.compute.ops = 1 end,
      ["n_loops_above and persistent of a buffet may not change"] = function(_, b)
        b.n_loops_above = b.n_loops_above + 1
      end,
      ["persistent of a buffet may not"] = function(_, b) b.persistent = not b.persistent end,
      ["gave a negative max_occupancy: -3"] = function(_, b) b.max_occupancy = -3 end,
      ["gave a negative total_read_actions"] = function(_, b)
        b.total_read_actions = -loom.symbol "q"
      end,
    } do
      local w, a, m = subject(loom.custom)
      local ok, e, message = pcall(loom.analyze, w, a, m,
        { analyzers = { compressed = change(f) } })
      local text = ok and message or tostring(e)
      assert.truthy(text:find(pattern, 1, true), text)
      assert.truthy(text:find "compressed", text)
    end
  end)
end)
