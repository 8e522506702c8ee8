-- SPDX-License-Identifier: MIT
local core = require "einloom.core"
local mapping = require "einloom.mapping"
local front = require "support.front"

describe("the loop-nest text", function()
  it("prints one node a line, unit loops together", function()
    local m = mapping.new [[
DRAM: A B Z   -- outermost
for m tile M0, k tile 16
 GLB: A Z
 par n tile 8 on PE.x, m tile 2 on PE.y
 for m
 for n, k
 MAC]]
    assert.equal([[
DRAM: A B Z
for m tile M0
  for k tile 16
    GLB: A Z
    par n tile 8 on PE.x
      par m tile 2 on PE.y
        for m, n, k
          MAC
]], tostring(m))
  end)

  it("carries branches by indentation", function()
    local text = [[
Main: T0 T1 T2
for m tile 4
  Buf: T1 (no lowering)
  sequential
    branch
      for n
        sequential
          branch
            E1 on MAC
          branch
            E2 on MAC
    branch
      E3 on MAC
]]
    local m = mapping.new(text)
    assert.equal(text, tostring(m))
    local outer = m.nodes[4]
    assert.equal(2, #outer.branches)
    assert.equal(2, #outer.branches[1][2].branches)
    assert.equal("E3", outer.branches[2][1].einsum)
  end)

  it("takes tabs, blank lines, carriage returns and comments", function()
    local m = mapping.new("\r\n-- first\r\n\tA: X -- X here\r\n\r\n\tsequential\r\n\tbranch\r\n"
      .. "\t\tMAC\r\n\tbranch\r\n\t  E on MAC")
    assert.equal("A: X\nsequential\n  branch\n    MAC\n  branch\n    E on MAC\n", tostring(m))
  end)

  it("quotes names that are words of the grammar or no identifiers", function()
    local m = mapping.new {
      mapping.storage { "for", "on", "a b" }, mapping.temporal { "tile", "first" },
      mapping.compute_node { 'x"y\\', einsum = "branch" },
    }
    assert.equal('"for": "on" "a b"\nfor "tile" tile (first)\n  "branch" on "x\\"y\\\\"\n',
      tostring(m))
    assert.is_true(m == mapping.new(tostring(m)))
    assert.equal("toll", mapping.new("toll: A").nodes[1].component)
  end)

  it("takes tile shapes of any length and kind", function()
    local m = mapping.new [[
for m tile 123456789012345678901234567890
for m tile (M0 // 2 + min(K, 3))
MAC]]
    assert.equal("123456789012345678901234567890", tostring(m.nodes[1].tile_shape))
    assert.equal(core.parse "M0 // 2 + min(K, 3)", m.nodes[2].tile_shape)
    assert.is_true(m == mapping.new(tostring(m)))
    assert.equal(4, mapping.new("for m tile (2*2)\nMAC").nodes[1].tile_shape)
  end)

  it("prints what reads back, for random mappings (seed " .. front.seed .. ")", function()
    local r = front.random(front.seed)
    local shapes = {
      1, 1, 2, 7, 1 << 40, core.symbol "M0", core.symbol "tile", core.symbol "K",
      core.symbol "M0" * 2 + 3, core.ceil(core.symbol "K" / 3), core.max(core.symbol "M0", 4),
      core.symbol "M0" // core.symbol "K" + 1,
    }
    for _ = 1, 300 do
      local m = mapping.new(front.random_nodes(r, shapes, 3))
      local text = tostring(m)
      local again = mapping.new(text)
      assert.is_true(m == again, text)
      assert.equal(text, tostring(again))
    end
  end)

  it("reads or refuses any text, and never crashes (seed " .. front.seed .. ")", function()
    local r = front.random(front.seed)
    local words = {
      "for", "par", "tile", "first", "on", "toll", "custom", "sequential", "branch", "A", "m", "PE",
        ".",
      ":", ",", "(", ")", "1", "0", "M0", '"q"', '"', "\n", "\n", "\n  ", "\n    ", "\t", "--",
        "persistent", "retain", "scope", "step", "keep", "recompute",
      "no", "lowering", "#", "2.5", "-",
    }
    for _ = 1, 2000 do
      local parts = {}
      for i = 1, r:to(14) do parts[i] = r:pick(words) end
      local text = table.concat(parts, " ")
      local ok, e = pcall(mapping.new, text)
      if ok then
        assert.is_true(e == mapping.new(tostring(e)), text)
      else
        assert.is_true(require("einloom.errors").is(e), text .. "\n" .. tostring(e))
        assert.is_number(e.column)
      end
    end
  end)

  it("says lifetimes, overlapping tiles and tiles of single einsums", function()
    local text = [[
Main: I O (retain)
for m tile 6 step 4
  for (A: t recompute, B: q, C: p tile 1 first 3) tile 4
    GLB: T (persistent, scope, no lowering)
    for m
      A on MAC
]]
    local m = mapping.new(text)
    assert.equal(text, tostring(m))
    assert.equal("retain", m.nodes[1].lifetime)
    assert.equal(4, m.nodes[2].step)
    assert.equal("recompute", m.nodes[3].tiles[1].overlap)
    assert.equal(3, m.nodes[3].tiles[2].initial_tile_shape)
    assert.is_true(m == mapping.new {
      mapping.storage { "Main", "I", "O", lifetime = "retain" },
      mapping.temporal { "m", 6, step = 4 },
      mapping.temporal { { A = "t", B = "q", C = "p" }, 4,
        tiles = { A = "recompute", C = { tile = 1, first = 3 } } },
      mapping.storage { "GLB", "T", persistent = true, may_lower = false, lifetime = "scope" },
      mapping.temporal { "m" },
      mapping.compute_node { "MAC", einsum = "A" },
    })
  end)

  it("of 20000 lines is read in linear time", function()
    local before = os.clock()
    local m = mapping.new(("for m tile 4\n"):rep(20000) .. "MAC")
    assert.equal(20001, #m.nodes)
    assert.equal("mapping:20001:1", m.nodes[20001].where)
    assert.is_true(mapping.new(tostring(m)) == m)
    assert.is_true(os.clock() - before < 10)
  end)

  local bad = {
    { "A: X\nfor m tile 0", 2, 12, "bad_tile_shape", "0" },
    { "for m tile -2", 1, 12, "bad_tile_shape", "-2" },
    { "for m tile 2.5", 1, 12, "bad_tile_shape", "2.5" },
    { "for m tile", 1, 11, "syntax", "tile shape" },
    { "for m tile on", 1, 12, "syntax", "'on'" },
    { "for m tile (M0", 1, 12, "syntax", "')'" },
    { "for m tile (M0 +)", 1, 17, "syntax", "tile shape" },
    { "for m first", 1, 12, "syntax", "tile shape" },
    { "for", 1, 4, "syntax", "rank variable" },
    { "for m,", 1, 7, "syntax", "rank variable" },
    { "for m n", 1, 7, "syntax", "'n'" },
    { "for (E m)", 1, 8, "syntax", "':'" },
    { "for (E: m, E: n)", 1, 12, "syntax", "E" },
    { "par m tile 4", 1, 13, "syntax", "'on'" },
    { "par m tile 4 on PE", 1, 19, "syntax", "dimension" },
    { "par m tile 4 on PE.", 1, 20, "syntax", "dimension" },
    { "DRAM A", 1, 6, "syntax", "'A'" },
    { "DRAM: A,", 1, 9, "syntax", "','" },
    { "for m step", 1, 11, "syntax", "tile shape" },
    { "for m tile 4 step 5", 1, 5, "bad_tile_shape", "larger than the tile shape 4" },
    { "for m tile 4 step M0 first 2", 1, 22, "syntax", "first" },
    { "for m tile 4 first 2 step 2", 1, 5, "bad_tile_shape", "not both" },
    { "for (E: m recompte, F: n) tile 4", 1, 11, "syntax", "nearest: recompute" },
    { "for (E: m keep tile 4, F: n) tile 4", 1, 16, "syntax", "'tile'" },
    { "for (E: m tile 0, F: n) tile 4", 1, 16, "bad_tile_shape", "0" },
    { "DRAM: A (retain, scope)", 1, 18, "syntax", "the flags retain and scope exclude each other" },
    { "DRAM: A (retain, retain)", 1, 18, "syntax", "twice" },
    { "toll L: A (retain)", 1, 12, "syntax", "no lowering" },
    { "DRAM: A (persist)", 1, 10, "syntax", "persistent" },
    { "toll L: A (persistent)", 1, 12, "syntax", "no lowering" },
    { "DRAM: A (no)", 1, 10, "syntax", "no lowering" },
    { "DRAM: A (persistent", 1, 20, "syntax", "')'" },
    { "toll", 1, 5, "syntax", "component" },
    { "toll L", 1, 7, "syntax", "':'" },
    { "custom k", 1, 9, "syntax", "component" },
    { "sequential", 1, 1, "syntax", "branch" },
    { "sequential\nfor m", 2, 1, "syntax", "branch" },
    { "branch\n  MAC", 1, 1, "syntax", "sequential" },
    { "sequential\n  branch\n    MAC\n branch\n    MAC", 4, 2, "syntax", "line up" },
    { "sequential\n  branch\n    MAC\nfor m", 4, 1, "syntax", "deeper" },
    { "DRAM: A\nsequntial\n  branch\n    MAC", 2, 1, "syntax", "nearest: sequential" },
    { "pipline\n  branch\n    MAC", 1, 1, "syntax", "'pipline' is no statement" },
    { "sequential\n  branch\n    paralel\n      branch\n        MAC", 3, 5, "syntax",
      "nearest: parallel" },
    { "paralel\nbranch\n  MAC", 1, 1, "syntax", "nearest: parallel" },
    { "MAC\n  branch\n    MAC", 2, 3, "syntax", "line up" },
    { "sequential\n  branch\n  MAC", 3, 3, "syntax", "deeper" },
    { "MAC\nfor m", 2, 5, "bad_mapping", "compute" },
    { "E on", 1, 5, "syntax", "compute unit" },
    { 'DRAM: "A', 1, 7, "syntax", "quoted" },
    { "DRAM: A\n  #", 2, 3, "syntax", "'#'" },
    { "for 3", 1, 5, "syntax", "'3'" },
    { ": A", 1, 1, "syntax", "':'" },
  }
  for _, case in ipairs(bad) do
    it(("refuses %q at %d:%d"):format(case[1], case[2], case[3]), function()
      local e = front.raised(mapping.new, case[1], { name = "f.loom" })
      assert.same({ case[2], case[3] }, { e.line, e.column }, tostring(e))
      assert.equal(case[4], e.kind)
      assert.equal("f.loom", e.file)
      front.mentions(e.message, { case[5] })
    end)
  end
end)
