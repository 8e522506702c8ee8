-- SPDX-License-Identifier: MIT
-- Workloads, architectures, mappings and analyses through the binding; analyzers written in Lua.
local core = require "einloom.core"
local nests = require "support.nests"

local sizes = { m = 64, n = 32, k = 16 }
local M0, N0 = core.symbol("M0", { divides = 64 }), core.symbol("N0", { divides = 32 })

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

local function analyze(analyzers, tiles)
  local m = nests.mapping(tiles or { m = M0, n = N0 }, analyzers and "own")
  return core.analyze(nests.workload(sizes), nests.arch(), m, { analyzers = analyzers })
end

describe("builders", function()
  it("return indices from 0 and themselves", function()
    local w = core.workload()
    assert.equal(w, w:variable("m", 8))
    assert.equal(0, w:einsum "E")
    assert.equal(0, w:access(0, "A", false, 8))
    assert.equal(1, w:access(0, "Z", true, 8))
    assert.equal(w, w:rank(0, 0, "M", 1, { { "m", 2 } }))
    assert.equal(w, w:repeats(3))
    local a = core.arch()
    assert.equal(0, a:component("memory", "Main"))
    assert.equal(1, a:component("compute", "MAC"))
    assert.equal(0, a:dimension(1, "x", 4))
    assert.equal(a, a:may_reuse(1, 0, nil, nil))
    local m = core.mapping()
    local split = m:sequential(0)
    assert.is_true(m:branch(split) > 0)
  end)

  it("give geometry", function()
    local w = nests.workload(sizes)
    assert.equal("relevant", w:relevancy(0, 0, "m"))
    assert.equal("irrelevant", w:relevancy(0, 0, "n"))
    local stride, halo = w:stride_halo(0, 0, 0, "m")
    assert.equal(core.int(1), stride)
    assert.is_true(core.is_expr(halo))
    assert.equal(16 * M0, w:tile_occupancy(0, 0, { m = M0 }))
    assert.is_boolean(w:used_alone(0, "m"))
  end)

  it("cut tiles", function()
    local tiles = core.tile_sequence("first_tile", 10, 3, 4)
    assert.equal(core.int(3), tiles.stride)
    assert.equal(core.int(4), tiles.pairs[1][1])
    assert.equal(core.int(2), tiles.pairs[2][2])
    assert.matches("whole_trips", message(core.tile_sequence, "half_trips", 10, 3))
  end)

  it("answer nil, message and kind for names that do not exist", function()
    local w = nests.workload(sizes)
    local result, text, kind = w:relevancy(0, 0, "q")
    assert.is_nil(result)
    assert.matches("q", text)
    assert.equal("unknown_rank_variable", kind)
  end)

  it("raise for misuse", function()
    local w, a = core.workload(), core.arch()
    assert.matches("expected", message(w.variable, w, "m", {}))
    assert.matches("expected", message(w.variable, a, "m", 3))
    assert.matches("term 1", message(w.rank, w, 0, 0, "M", 0, { "m" }))
    assert.matches("one of memory", message(a.component, a, "cache", "L1"))
    assert.matches("one of size", message(a.number, a, 0, "weight", 3))
    assert.matches("index", message(w.access, w, -1, "A", false, 8))
    assert.matches("expected", message(core.analyze, w, w, w))
    assert.matches("one of", message(core.analyze, w, a, core.mapping(), { lenient = true }))
  end)
end)

describe("analysis", function()
  it("gives records of expressions", function()
    local r = assert(analyze())
    assert.same({ "Z" }, r:einsums())
    local list = r:buffets "Z"
    assert.equal(9, #list)
    for _, b in ipairs(list) do
      assert.is_string(b.tensor)
      assert.is_string(b.level)
      assert.is_boolean(b.persistent)
      assert.equal("integer", math.type(b.n_loops_above))
      assert.is_true(core.is_expr(b.total_reads_to_parent))
      assert.is_true(core.is_expr(b.max_occupancy))
    end
    local buffet = r:buffet("Z", "Buffer", "A")
    assert.equal(buffet.max_occupancy, 8 * 16 * M0)
    assert.equal(core.int(64 * 16 * 8), buffet.total_reads_to_parent { N0 = 4 })
    assert.is_nil(r:buffet("Z", "Buffer", "Q"))
    assert.equal(core.int(64 * 32 * 16), r:compute("Z").total_ops)
    assert.equal(core.int(64 * 32 * 16), r:temporal_steps "Z")
    assert.same({ M0, N0 }, r:symbols "Z")
    assert.same({ "A", "B", "Z" }, r:tensors "Z")
    assert.equal("compute", r:nest("Z", "A")[#r:nest("Z", "A")].kind)
    assert.equal("storage", r:path("Z")[1].kind)
    assert.same({}, r:fanout "Z")
    assert.matches("no einsum", message(r.buffets, r, "Q"))
    assert.matches("no tensor", message(r.nest, r, "Z", "Q"))
  end)

  it("outlives what it was made from", function()
    local w, a, m = nests.workload(sizes), nests.arch(), nests.mapping { m = M0, n = 8 }
    local r = assert(core.analyze(w, a, m))
    w:close()
    a:close()
    m:close()
    collectgarbage()
    core.default:collect()
    assert.equal(8 * 16 * M0, r:buffet("Z", "Buffer", "A").max_occupancy)
    assert.equal("Main", r:path("Z")[1].component)
    assert.matches("closed", message(core.analyze, w, a, m))
    r:close()
    assert.matches("closed", message(r.einsums, r))
  end)

  it("answers nil, message and kind for a mapping that is wrong", function()
    local m = core.mapping()
    local result, text, kind = core.analyze(nests.workload(sizes), nests.arch(), m)
    assert.is_nil(result)
    assert.is_string(text)
    assert.equal("no_compute", kind)
  end)
end)

describe("an analyzer in Lua", function()
  it("sees node, shape and the child's statistics, and may pass them through", function()
    local seen = {}
    local plain = assert(analyze())
    local r = assert(analyze { own = function(node, shape, stats, as)
      seen[#seen + 1] = node.tensor
      assert.equal("custom", node.kind)
      assert.equal("own", node.custom)
      assert.equal("Buffer", node.component)
      assert.is_true(core.is_expr(shape.m))
      assert.equal("MAC", stats.compute.level)
      return as "storage"
    end })
    table.sort(seen)
    assert.same({ "A", "B", "Z" }, seen)
    for i, b in ipairs(plain:buffets "Z") do assert.same(b, r:buffets("Z")[i]) end
  end)

  it("changes what it returns: a store that keeps values at half their size", function()
    local plain = assert(analyze())
    local r = assert(analyze { own = function(node, _, stats, as)
      stats = as("storage", stats)
      local b = stats.buffets[#stats.buffets]
      assert.equal(node.tensor, b.tensor)
      b.max_occupancy = b.max_occupancy / 2
      b.total_read_actions = b.total_read_actions * 0.5
      return stats
    end })
    for _, t in ipairs { "A", "B", "Z" } do
      local before, after = plain:buffet("Z", "Buffer", t), r:buffet("Z", "Buffer", t)
      assert.equal(before.max_occupancy / 2, after.max_occupancy)
      assert.equal(before.total_read_actions / 2, after.total_read_actions)
      assert.equal(before.total_reads_to_parent, after.total_reads_to_parent)
    end
  end)

  it("passes its error on as it was, with a traceback if it is text", function()
    local mine = setmetatable({}, { __tostring = function() return "mine" end })
    local ok, err = pcall(analyze, { own = function() error(mine) end })
    assert.is_false(ok)
    assert.equal(mine, err)
    local text = message(analyze, { own = function() error "broken store" end })
    assert.matches("broken store", text)
    assert.matches("traceback:\n[^\n]*'error'\n[^\n]*core_model_spec[^\n]*$", text)
    assert.is_nil(message(analyze, { own = function() end }):find "traceback")
    assert.is_truthy(analyze { own = function(_, _, _, as) return as "storage" end })
  end)

  it("is refused when it returns something else", function()
    for text, f in pairs {
      ["stats expected, got nil"] = function() end,
      ["stats.buffets"] = function(_, _, stats) stats.buffets[1] = nil return stats end,
      ["may not change"] = function(_, _, stats) stats.buffets[1].tensor = "Q" return stats end,
      ["total_ops"] = function(_, _, stats) stats.compute.total_ops = {} return stats end,
      ["one of storage, toll"] = function(_, _, _, as) return as "compute" end,
      ["yield"] = function() coroutine.yield() end,
    } do
      assert.matches(text, message(analyze, { own = f }), 1, true)
    end
  end)

  it("cannot pull away what the analysis works with", function()
    local w, a, m = nests.workload(sizes), nests.arch(), nests.mapping({ m = 8, n = 8 }, "own")
    local refused = {}
    local r = core.analyze(w, a, m, { analyzers = { own = function(_, _, _, as)
      for i, x in ipairs { w, a, m, core.default } do
        refused[i] = message(x.close, x)
      end
      collectgarbage()
      return as "storage"
    end } })
    assert.is_truthy(r)
    assert.equal(4, #refused)
    for _, text in ipairs(refused) do assert.matches("in use", text) end
    w:close()
  end)

  it("may analyse, compute and collect on its own", function()
    local before = tostring(assert(analyze()):buffet("Z", "Buffer", "A").total_reads_to_parent)
    local r = assert(analyze { own = function(_, _, _, as)
      assert(analyze(nil, { m = 16, n = N0 }))
      for i = 1, 3000 do local _ = M0 * i + N0 end
      core.default:collect()
      return as "storage"
    end })
    assert.equal(before, tostring(r:buffet("Z", "Buffer", "A").total_reads_to_parent))
  end)

  it("has an `as` that ends with it", function()
    local kept
    assert(analyze { own = function(_, _, _, as) kept = as return as "storage" end })
    assert.matches("over", message(kept, "storage"))
    pcall(analyze, { own = function(_, _, _, as) kept = as error "no" end })
    assert.matches("over", message(kept, "storage"))
  end)

  it("missing for its kind is an error", function()
    local m = nests.mapping({ m = M0, n = N0 }, "own")
    local r, text, kind = core.analyze(nests.workload(sizes), nests.arch(), m)
    assert.is_nil(r)
    assert.matches("own", text)
    assert.equal("unknown_node_kind", kind)
  end)

  it("works with the collector stepping at every call", function()
    local expected = tostring(assert(analyze()):buffet("Z", "Buffer", "Z").total_write_actions)
    debug.sethook(function() collectgarbage "step" end, "cr")
    local own = function(_, _, stats, as) return as("storage", stats) end
    local ok, r = pcall(analyze, { own = own })
    debug.sethook()
    assert.is_true(ok, r)
    assert.equal(expected, tostring(r:buffet("Z", "Buffer", "Z").total_write_actions))
  end)
end)
