-- SPDX-License-Identifier: MIT
-- Mappings with holes: reading, printing, what is refused.

local core = require "einloom.core"
local fails = require "support.fails"
local loom = require "einloom"

local text = [[
DRAM: A B Z
for m tile ?
  for *
  GLB: A? Z *
  ...
  par n tile {4, 8, 16} on PE.x
    par *
    *
    for k tile 4..32
      MAC
]]

describe("a mapping with holes", function()
  it("prints back to itself", function()
    local m = loom.mapping(text)
    assert.are.equal(text, tostring(m))
    assert.are.equal(m, loom.mapping(tostring(m)))
    assert.is_true(m.holes)
    assert.is_false(loom.mapping("for m\n  MAC\n").holes)
  end)

  it("has constructors and a normal form that is JSON", function()
    local m = loom.mapping {
      loom.storage { "DRAM", "A", "B", "Z" }, loom.temporal { "m", "?" },
      loom.any_loops "temporal",
      loom.storage { "GLB", "A", "Z", optional = { "A" }, more = true }, loom.anything(),
      loom.spatial { "n", { 16, 4, 8, 8 }, on = "PE.x" }, loom.any_loops "spatial",
      loom.any_loops(), loom.temporal { "k", tile = " 4 .. 32" }, loom.compute_node "MAC",
    }
    assert.are.equal(text, tostring(m))
    local w = loom.workload { sizes = { m = 2 }, bits = { All = 8 }, "Z[m] = A[m]" }
    local a = loom.arch { loom.memory { "DRAM", size = math.huge }, loom.compute { "MAC" } }
    local data = core.json.decode(loom.write_case(w, a, m))
    assert.are.equal(m, loom.mapping { nodes = data.mapping.nodes })
  end)

  it("names what is wrong and where", function()
    for _, case in ipairs {
      { "for m tile {}", "syntax", "mapping:1:13", "expected a tile shape, found '}'" },
      { "for m tile {0}", "bad_tile_shape", "mapping:1:13", "0 is not a positive integer" },
      { "for m tile {4, 3", "syntax", "mapping:1:17", "',' or '}'" },
      { "for m tile 8..4", "bad_tile_shape", "mapping:1:12", "8..4 is no range" },
      { "for m tile 4..", "syntax", "mapping:1:15", "expected a tile shape" },
      { "for m tile ? step 2", "bad_tile_shape", "mapping:1:5", "one tile shape" },
      { "GLB: A ? ?", "syntax", "mapping:1:10", "end of the line, found '?'" },
      { "... A", "syntax", "mapping:1:5", "end of the line" },
    } do
      fails.with(case[2], { case[3], case[4] }, function() loom.mapping(case[1]) end)
    end
    for _, case in ipairs {
      { { "m", {} }, "a set of tile shapes is not empty" },
      { { "m", { 4, "x" } }, "x is not a positive integer" },
      { { "m", "9..1" }, "9..1 is no range" },
    } do
      fails.with("bad_tile_shape", { case[2] },
        function() loom.mapping { loom.temporal(case[1]), loom.compute_node "MAC" } end)
    end
    fails.with("bad_mapping", { "optional: B is none of its tensors" },
      function() loom.mapping { loom.storage { "GLB", "A", optional = { "B" } } } end)
    fails.with("bad_mapping", { "kind: temporal or spatial expected, got tempral; nearest: temp" },
      function() loom.mapping { loom.any_loops "tempral" } end)
  end)

  it("is not analysed", function()
    local w = loom.workload {
      sizes = { m = 8, k = 4, n = 8 }, bits = { All = 8 }, "Z[m,n] = A[m,k] * B[k,n]",
    }
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge }, loom.memory { "GLB", size = 64 },
      loom.fanout { "PE", x = 4 }, loom.compute { "MAC" },
    }
    local r, message, kind = loom.analyze(w, a, loom.mapping(text))
    assert.is_nil(r)
    assert.are.equal("open_mapping", kind)
    assert.truthy(message:find("mapping:2:5: this is left open", 1, true))
  end)
end)
