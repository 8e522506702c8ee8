-- SPDX-License-Identifier: MIT
-- Result objects: names, short names, points, and errors for names that do not exist.

local files = require "support.files"
local loom = require "einloom"

local function matmul() return dofile(files.root "examples/matmul.lua") end
local function fused() return dofile(files.root "examples/fused.lua") end

describe("a result of one einsum", function()
  it("gives the fields of buffets by level and tensor", function()
    local r = matmul()
    assert.are.equal("65536", tostring(r.GLB.A.max_occupancy { M0 = 128 }))
    assert.are.equal("8192", tostring(r.GLB.A.total_reads_to_parent))
    assert.are.equal(1, r.GLB.A.n_loops_above)
    assert.is_false(r.GLB.A.persistent)
    assert.are.equal("A", r.GLB.A.tensor)
    assert.are.equal("GLB", r.GLB.A.level)
  end)

  it("knows short names and net counts", function()
    local r = matmul()
    assert.are.equal(r.GLB.A.total_reads_to_parent, r.GLB.A.reads_to_parent)
    assert.are.equal(r.GLB.A.max_occupancy, r.GLB.A.occupancy)
    local z = r.GLB.Z
    assert.are.equal(z.total_read_actions - z.total_skipped_first_read_actions, z.reads)
    assert.are.equal(z.total_write_actions - z.total_skipped_first_write_actions, z.writes)
    assert.are.equal(r.GLB.A.occupancy / 8, r.GLB.A.values)
  end)

  it("gives the tile by rank variable", function()
    local tile = matmul().GLB.A.tile
    assert.are.equal("M0", tostring(tile.m))
    assert.are.equal("64", tostring(tile.k))
    assert.is_nil(tile.n)
  end)

  it("has compute, fanout, steps, symbols, path and nests", function()
    local r = matmul()
    assert.are.equal("1048576", tostring(r.compute.total_ops))
    assert.are.equal(r.compute.total_ops, r.compute.ops)
    assert.are.equal("16", tostring(r.fanout.PE.x))
    assert.are.equal("65536", tostring(r.temporal_steps))
    assert.are.same({ "M0" }, { r.symbols[1]:name() })
    assert.are.equal("compute", r:path()[#r:path()].kind)
    assert.are.equal("compute", r:nest("A")[#r:nest "A"].kind)
    assert.are.equal(r.einsums[1].GLB.A.occupancy, r.GLB.A.occupancy)
  end)

  it("goes over fields and levels with pairs", function()
    local r, seen, levels = matmul(), {}, {}
    for field, value in pairs(r.GLB.A) do seen[field] = value end
    assert.are.equal(r.GLB.A.max_occupancy, seen.max_occupancy)
    assert.is_false(seen.persistent)
    for level in pairs(r.einsums[1]) do levels[#levels + 1] = level end
    assert.are.same({ "DRAM", "GLB", "MAC" }, levels)
    for name, einsum in pairs(r) do assert.are.equal(name, einsum.name) end
  end)

  it("cannot be changed", function()
    local r = matmul()
    for _, object in ipairs { r, r.GLB, r.GLB.A, r.compute, r.fanout, r.einsums[1] } do
      assert.error_matches(function() object.x = 1 end, "cannot be changed")
    end
  end)
end)

describe("a result at a point", function()
  it("has numbers", function()
    local r = matmul()
    local at = r { M0 = 16 }
    assert.are.equal("8192", tostring(at.GLB.A.max_occupancy))
    assert.is_true(at.GLB.A.max_occupancy:is_number())
    assert.are.equal("16", tostring(at.GLB.A.tile.m))
    assert.are.equal("512*M0", tostring(r.GLB.A.max_occupancy))
  end)

  it("takes formulas and symbols as keys, and points in steps", function()
    local r = matmul()
    local n = loom.symbol "N"
    assert.are.equal("512*N", tostring(r { M0 = n }.GLB.A.max_occupancy))
    assert.are.equal("8192", tostring(r { [loom.symbol "M0"] = 16 }.GLB.A.max_occupancy))
    assert.are.equal("8192", tostring(r {} { M0 = 16 }.GLB.A.max_occupancy))
  end)

  it("refuses symbols that the result does not have", function()
    assert.error_matches(function() return matmul() { M9 = 16 } end,
      "the result has no 'M9'; nearest: M0")
    assert.error_matches(function() return matmul()(16) end, "table of symbols")
  end)
end)

describe("names that do not exist", function()
  it("are errors with the nearest known name", function()
    local r = matmul()
    assert.error_matches(function() return r.GLBB end, "has no 'GLBB'; nearest: GLB")
    assert.error_matches(function() return r.GLB.C end, "level GLB has no 'C'")
    assert.error_matches(function() return r.GLB.A.ocupancy end, "nearest: occupancy")
    assert.error_matches(function() return r.compute.opps end, "nearest: ops")
    assert.error_matches(function() return r.fanout.PE.z end, "fanout of PE has no 'z'")
    assert.error_matches(function() return r:nest "Q" end, "has no 'Q'")
    assert.error_matches(function() return loom.analyse end, "nearest: analyze")
  end)
end)

describe("a result of several einsums", function()
  it("is asked by einsum", function()
    local r = fused()
    assert.are.equal("First", r.First.name)
    assert.are.equal(r.einsums.Second.GLB.T.occupancy, r.Second.GLB.T.occupancy)
    assert.are.equal("512*M0", tostring(r.First.GLB.T.occupancy))
    assert.error_matches(function() return r.GLB end, "result of 2 einsums has no 'GLB'")
    local names = {}
    for name in pairs(r) do names[#names + 1] = name end
    assert.are.same({ "First", "Second" }, names)
  end)
end)

describe("what is no mapping", function()
  it("gives nil, a message and the kind", function()
    local r = matmul()
    local short = loom.mapping [[
      DRAM: A B Z
      MAC
    ]]
    local none, message, kind = loom.analyze(r.workload, r.arch, short)
    assert.is_nil(none)
    assert.are.equal("missing_loop", kind)
    assert.are.equal("string", type(message))
  end)
end)
