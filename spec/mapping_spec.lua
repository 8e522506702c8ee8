-- SPDX-License-Identifier: MIT
local core = require "einloom.core"
local mapping = require "einloom.mapping"
local readonly = require "einloom.readonly"
local front = require "support.front"

local function refused(x, kind, words)
  local e = front.raised(mapping.new, x)
  assert.equal(kind, e.kind, tostring(e))
  front.mentions(tostring(e), words)
end

describe("a mapping", function()
  it("is the same from constructors, normal form and text", function()
    local from_constructors = mapping.new {
      mapping.storage { "DRAM", "A", "B", "Z" },
      mapping.temporal { "m", "M0" },
      mapping.storage { "GLB", "A", "Z", persistent = true, may_lower = false },
      mapping.toll_node { "Link", "A" },
      mapping.custom { "GLB", "B", kind = "compressed" },
      mapping.spatial { "n", 8, on = "PE.x", first = 4 },
      mapping.temporal { "m" }, mapping.temporal { "n" }, mapping.temporal { "k", tile = 1 },
      mapping.compute_node "MAC",
    }
    local from_fields = mapping.new { nodes = {
      { node = "storage", component = "DRAM", tensors = { "A", "B", "Z" } },
      { node = "temporal", rank_variable = "m", tile_shape = core.symbol "M0" },
      { node = "storage", component = "GLB", tensors = { "A", "Z" }, persistent = true,
        may_lower = false },
      { node = "toll", component = "Link", tensors = { "A" } },
      { node = "custom", kind = "compressed", component = "GLB", tensors = { "B" } },
      { node = "spatial", rank_variable = "n", tile_shape = 8, initial_tile_shape = 4,
        component = "PE", dim = "x" },
      { node = "temporal", rank_variable = "m", tile_shape = 1 },
      { node = "temporal", rank_variable = "n", tile_shape = 1.0 },
      { node = "temporal", rank_variable = "k", tile_shape = 1 },
      { node = "compute", component = "MAC" },
    } }
    local from_text = mapping.new [[
      DRAM: A B Z
      for m tile M0
        GLB: A, Z (persistent, no lowering)
        toll Link: A
        custom compressed GLB: B
        par n tile 8 first 4 on PE.x
          for m, n, k          -- tile 1
            MAC
    ]]
    assert.is_true(from_constructors == from_fields)
    assert.is_true(from_constructors == from_text)
    assert.same({ M0 = core.symbol "M0" }, readonly.raw(from_text.symbols))
  end)

  it("differs where a node differs", function()
    local base = mapping.new "A: X\nfor m tile 2\nMAC"
    for _, text in ipairs {
      "A: X\nfor m tile 3\nMAC", "A: X\nfor n tile 2\nMAC", "A: X Y\nfor m tile 2\nMAC",
        "A: X\nMAC",
      "B: X\nfor m tile 2\nMAC", "A: X\nfor m tile 2\nE on MAC",
        "A: X (persistent)\nfor m tile 2\nMAC",
      "A: X (no lowering)\nfor m tile 2\nMAC", "A: X\nfor m tile 2 first 1\nMAC",
        "toll A: X\nfor m tile 2\nMAC",
      "A: X\nfor m tile M\nMAC", "A: X\nfor (E: m) tile 2\nMAC",
    } do
      assert.is_false(base == mapping.new(text), text)
    end
  end)

  it("takes variables by einsum and branches", function()
    local m = mapping.new {
      mapping.temporal { { E1 = "m", E2 = "p" }, 4 },
      mapping.sequential {
        { mapping.storage { "Buf", "T" }, mapping.compute_node { "MAC", einsum = "E1" } },
        { mapping.compute_node { "MAC", einsum = "E2" } },
      },
    }
    assert.is_true(m == mapping.new [[
for (E2: p, E1: m) tile 4
sequential
 branch
  Buf: T
  E1 on MAC
 branch
  E2 on MAC]])
    local kinds = {}
    m:walk(function(node) kinds[#kinds + 1] = node.node end)
    assert.equal("temporal sequential storage compute compute", table.concat(kinds, " "))
  end)

  it("keeps where each node was written", function()
    local m = mapping.new("A: X\nfor m, n\n  MAC", { name = "f.loom" })
    assert.equal("f.loom:1:1", m.nodes[1].where)
    assert.equal("f.loom:2:8", m.nodes[3].where)
    m = mapping.new { mapping.sequential { { mapping.compute_node "MAC" },
      { mapping.compute_node "MAC" } } }
    assert.equal("mapping.nodes[1].branches[2][1]", m.nodes[1].branches[2][1].where)
    assert.equal("f.loom:2:5",
      mapping.new(mapping.new("A: X\nfor m\nMAC", { name = "f.loom" })).nodes[2].where)
  end)

  it("takes symbols with assumptions from its options", function()
    local m0 = core.symbol("M0", { divides = 128 })
    local m = mapping.new("for m tile M0\nfor n tile (2*M0 + 1)\nMAC", { symbols = { M0 = m0 } })
    assert.equal(m0, m.nodes[1].tile_shape)
    assert.equal(2 * m0 + 1, m.nodes[2].tile_shape)
    assert.is_true(m == mapping.new(tostring(m), { symbols = m.symbols }))
    refused({ mapping.temporal { "m", m0 }, mapping.temporal { "m", core.symbol "M0" } },
      "bad_tile_shape",
      { "mapping.nodes[2]", "two symbols", "M0" })
  end)

  it("does not change when the tables it was made from do", function()
    local nodes = { mapping.storage { "A", "X" }, mapping.compute_node "MAC" }
    local m = mapping.new(nodes)
    nodes[1].tensors[1], nodes[1].component = "Y", "B"
    assert.equal("A: X\nMAC\n", tostring(m))
  end)

  local function loop(t)
    t.node, t.rank_variable = "temporal", t.rank_variable or "m"
    return { { node = "storage", component = "A", tensors = {} }, t }
  end

  it("refuses bad tile shapes", function()
    for _, x in ipairs { 0, -2, 2.5, math.huge, 0 / 0, true, "", "3 +", core.int(0) } do
      refused(loop { tile_shape = x }, "bad_tile_shape", { "mapping.nodes[2]", "tile shape" })
      refused(loop { tile_shape = 4, initial_tile_shape = x }, "bad_tile_shape",
        { "mapping.nodes[2]", "first tile shape" })
    end
    refused(loop { tile_shape = -2 }, "bad_tile_shape", { "-2" })
    refused(loop {}, "bad_tile_shape", { "without a tile shape" })
  end)

  it("refuses tiles of single einsums that say nothing or too much", function()
    local shared = { E = "m", F = "n" }
    for _, case in ipairs {
      { { { einsum = "G", tile_shape = 1 } }, "no variable of einsum G" },
      { { { tile_shape = 1 } }, "no variable of einsum nil" },
      { { { einsum = "E" } }, "tiles of E without a tile shape" },
      { { { einsum = "E", overlap = "keeep" } }, "keep or recompute expected, got keeep" },
      { { { einsum = "E", overlap = "keep", tile_shape = 2 } }, "give no shapes" },
      { { { einsum = "E", overlap = "keep" }, { einsum = "E", overlap = "keep" } }, "twice" },
      { { { einsum = "E", til = 3 } }, "unknown key 'til'" },
      { { 3 }, "a record for an einsum expected" },
      { 3, "tiles" },
    } do
      local e = front.raised(mapping.new, loop { rank_variable = shared, tile_shape = 4,
        tiles = case[1] })
      front.mentions(tostring(e), { "mapping.nodes[2]", case[2] })
    end
    refused(loop { tile_shape = 4, tiles = { { einsum = "E", tile_shape = 1 } } }, "bad_mapping",
      { "no variable of einsum E" })
    refused({ { node = "storage", component = "A", tensors = {}, lifetime = "kept" } },
      "bad_mapping", { "lifetime: scope or retain expected, got kept" })
    refused({ { node = "toll", component = "A", tensors = {}, lifetime = "scope" } },
      "bad_mapping", { "unknown key 'lifetime'" })
  end)

  it("refuses unknown kinds and keys with the nearest known", function()
    refused({ { node = "storge" } }, "unknown_node_kind",
      { "mapping.nodes[1]", "storge", "nearest: storage" })
    refused({ { node = "reservation" } }, "unknown_node_kind", { "inserted" })
    refused({ { node = nil } }, "unknown_node_kind", { "nil" })
    refused(loop { tile_shape = 1, tile = 3 }, "bad_mapping",
      { "mapping.nodes[2]", "'tile'", "tile_shape" })
    refused({ nodez = {} }, "bad_mapping", { "nodez", "nearest: nodes" })
  end)

  it("refuses fields of wrong types", function()
    refused({ 3 }, "bad_mapping", { "mapping.nodes[1]", "number" })
    refused({ { node = "storage", tensors = {} } }, "bad_mapping", { "component", "nil" })
    refused({ { node = "storage", component = "", tensors = {} } }, "bad_mapping",
      { "component", "''" })
    refused({ { node = "storage", component = "A" } }, "bad_mapping", { "tensors" })
    refused({ { node = "storage", component = "A", tensors = { 3 } } }, "bad_mapping", { "tensor" })
    refused({ { node = "storage", component = "A", tensors = {}, persistent = 1 } }, "bad_mapping",
      { "persistent" })
    refused({ { node = "temporal", tile_shape = 1 } }, "bad_mapping", { "rank_variable" })
    refused({ { node = "temporal", tile_shape = 1, rank_variable = {} } }, "bad_mapping",
      { "rank_variable" })
    refused({ { node = "spatial", tile_shape = 1, rank_variable = "m", component = "PE" } },
      "bad_mapping", { "dim" })
    refused({ { node = "custom", component = "A", tensors = {} } }, "bad_mapping", { "kind" })
    refused({ { node = "sequential" } }, "bad_mapping", { "branches" })
    refused({ { node = "sequential", branches = { 1 } } }, "bad_mapping", { "branch" })
    assert.equal("bad_argument", front.raised(mapping.new, 3).kind)
    assert.equal("bad_argument", front.raised(mapping.storage, "A").kind)
    assert.equal("bad_mapping", front.raised(mapping.spatial, { "m", on = "PE" }).kind)
    assert.equal("bad_argument", front.raised(mapping.new, "MAC", { nam = "x" }).kind)
    for _, options in ipairs { 3, "name", false } do
      local e = front.raised(mapping.new, "MAC", options)
      assert.equal("bad_argument", e.kind)
      assert.equal("options of mapping: table expected, got " .. type(options), e.message)
    end
    front.mentions(tostring(front.raised(mapping.new, ("MAC"):gsub("A", "A"))), { "got number" })
    front.mentions(tostring(front.raised(mapping.new, "MAC", { name = 3 })), { "name", "number" })
  end)

  it("refuses nodes after a compute or sequential node", function()
    refused({ mapping.compute_node "MAC", mapping.temporal { "m" } }, "bad_mapping",
      { "mapping.nodes[2]", "compute" })
    refused({ mapping.sequential { { mapping.compute_node "MAC" } }, mapping.compute_node "MAC" },
      "bad_mapping",
      { "mapping.nodes[2]", "sequential" })
  end)
end)
