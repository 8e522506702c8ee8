-- SPDX-License-Identifier: MIT
-- Cases as JSON: what is read is what is written, number for number; mistakes name their place.

local readonly = require "einloom.readonly"
local case = require "einloom.case"
local core = require "einloom.core"
local files = require "support.files"
local lfs = require "lfs"
local loom = require "einloom"
local verify = require "einloom.verify"

local function decode(text) return core.json.decode(text) end
local function encode(value) return core.json.encode(value, { sort_keys = true }) end

local function golden_cases()
  local list = {}
  for name in lfs.dir(files.path "golden/mapping") do
    if name:match "%.json$" and name ~= "tiles.json" and name ~= "errors.json" then
      for _, raw in ipairs(decode(files.read(files.path("golden/mapping/" .. name))).cases) do
        list[#list + 1] = raw
      end
    end
  end
  return list
end

-- What a case says, in the form in which it is written.
local function written(raw)
  local c = case.from_json(raw)
  return case.to_json(c.workload, c.arch, c.mapping), c
end

describe("reading and writing", function()
  it("is lossless for every golden case", function()
    for _, raw in ipairs(golden_cases()) do
      local once = written(raw)
      local again = written(decode(core.json.encode(once)))
      assert.are.equal(encode(once), encode(again), raw.id)
    end
  end)

  it("keeps every number of a case", function()
    for _, raw in ipairs(golden_cases()) do
      local once = written(raw)
      for variable, size in pairs(raw.workload.rank_variables) do
        assert.are.equal(size, once.workload.rank_variables[variable], raw.id)
      end
      for i, node in ipairs(raw.arch.nodes) do
        local out = once.arch.nodes[i]
        assert.are.equal(node.name, out.name)
        local size, written_size = node.size, out.size
        if math.type(size) == "float" then size = core.number(size):tointeger() or size end
        assert.are.equal(size, written_size, raw.id)
      end
      assert.are.equal(#raw.mapping.nodes, #once.mapping.nodes)
    end
  end)

  it("fills results in that verify", function()
    for _, family in ipairs { "symbolic", "chain_fused", "chain_unfused", "pointwise", "toll",
      "imperfect", "leakage", "special" } do
      local source = decode(files.read(files.path("golden/mapping/" .. family .. ".json")))
      local filled = {}
      for _, raw in ipairs(source.cases) do
        local c = case.from_json(raw)
        local r = assert(loom.analyze(c.workload, c.arch, c.mapping, c.options))
        local out = case.with_results(r, c.samples, true)
        out.id, out.tags = raw.id, raw.tags
        filled[#filled + 1] = out
      end
      local text = core.json.encode { schema = case.schema, cases = filled }
      files.scratch(text, function(path)
        local summary = verify.files({ path }, "all", function(line) error(line) end)
        assert.are.equal(#source.cases, summary.passed, family)
      end)
    end
  end)
end)

describe("numbers", function()
  local function round_trip(value)
    return decode(core.json.encode { case.number_to_json(value) })[1]
  end

  it("stay exact", function()
    assert.are.equal(7, round_trip(core.int(7)))
    assert.are.equal(0.1, round_trip(core.number "0.1"))
    assert.are.equal("1/3", round_trip(core.number "1/3"))
    assert.are.equal("123456789012345678901234567890",
      round_trip(core.number "123456789012345678901234567890"))
    assert.are.equal("inf", round_trip(math.huge))
    assert.are.same({ symbol = "M0" }, round_trip(core.symbol "M0"))
    assert.are.same({ formula = "1 + 2*M0" }, round_trip(core.parse "2*M0 + 1"))
  end)

  it("and facts about symbols survive", function()
    local m0 = loom.symbol("M0", { min = 2, max = 64, multiple = 2, divides = 128 })
    local r = dofile(files.root "examples/matmul.lua")
    local m = loom.mapping({
      loom.storage { "DRAM", "A", "B", "Z" },
      loom.temporal { "m", m0 },
      loom.storage { "GLB", "A", "Z" },
      loom.temporal { "m", 1 }, loom.temporal { "n", 1 }, loom.temporal { "k", 1 },
      loom.compute_node "MAC",
    })
    local text = case.encode(r.workload, r.arch, m)
    local back = case.from_json(decode(text))
    assert.are.equal(m0, back.mapping.nodes[2].tile_shape)
    assert.are.equal(m, back.mapping)
    assert.are.equal(text, case.encode(back.workload, back.arch, back.mapping))
  end)
end)

describe("set expressions", function()
  it("and renames survive", function()
    local w = dofile(files.root "examples/workload/resnet50.lua") "conv3"
    local a = dofile(files.root "examples/arch/eyeriss_like.lua")
    local m = dofile(files.root "examples/mapping/row_stationary.lua")(w)
    local text = case.encode(w, a, m)
    local back = case.from_json(decode(text))
    assert.are.equal(text, case.encode(back.workload, back.arch, back.mapping))
    local r = assert(loom.analyze(w, a, m))
    local again = assert(loom.analyze(back.workload, back.arch, back.mapping))
    assert.are.equal(r.GLB.I.reads_to_parent, again.GLB.I.reads_to_parent)
    local function nest(result) return tostring(result):match "\n(.*)" end
    assert.are.equal(nest(r), nest(again))
  end)
end)

describe("a workload whose tensors are used in part", function()
  it("survives", function()
    local w = loom.workload {
      sizes = { p = 8, r = 3, q = 8 }, bits = 8, partial = "T",
      "A: T[x: q] = I[q]", "B: O[p] = T[x: p + r] * F[r]",
    }
    local r = dofile(files.root "examples/matmul.lua")
    local text = case.encode(w, r.arch, loom.mapping "DRAM: I T O F\nfor q\nA on MAC")
    local back = case.from_json(decode(text))
    assert.are.equal("T", back.workload.partial)
  end)
end)

describe("a workload of which rank sizes were stated", function()
  it("survives, with a stride that leaves a rest", function()
    local w = loom.workload {
      rank_sizes = { H = 10, R = 3 }, bits = 8, "A: T[H: q] = I[q]",
      "B: O[p] = T[H: 2*p + r] * F[r]",
    }
    local r = dofile(files.root "examples/matmul.lua")
    local text = case.encode(w, r.arch, loom.mapping "DRAM: I T O F\nfor q\nA on MAC")
    local back = case.from_json(decode(text))
    assert.are.same({ H = 10, R = 3 }, readonly.raw(back.workload.rank_sizes))
    assert.are.same({ q = 10, p = 4, r = 3 }, readonly.raw(back.workload.rank_variables))
  end)
end)

describe("mistakes", function()
  local function raw()
    return decode(files.read(files.path "golden/mapping/matmul.json")).cases[1]
  end

  local function fails(change, pattern)
    local c = raw()
    change(c)
    local ok, problem = pcall(case.from_json, c)
    assert.is_false(ok)
    assert.are.equal("string", type(problem.kind))
    assert.truthy(tostring(problem):find(pattern, 1, true), tostring(problem))
  end

  it("name their place", function()
    fails(function(c) c.maping = {} end, "unknown key 'maping'; nearest: mapping")
    fails(function(c) c.workload = nil end, "no workload")
    fails(function(c) c.arch.nodes[2].size = "big" end, "arch.nodes[2].size")
    fails(function(c) c.arch.nodes[2].size = core.json.null end, "size")
    fails(function(c) c.arch.nodes[2].sizes = 1 end, "sizes")
    fails(function(c) c.mapping.nodes[3].tile_shape = { symbol = 3 } end, "mapping.nodes[3]")
    fails(function(c) c.mapping.nodes[3].tile_shape = { formula = "2 +" } end, "mapping.nodes[3]")
    fails(function(c) c.mapping.nodes[3].tile_shape = {} end, "mapping.nodes[3].tile_shape")
    fails(function(c) c.samples = { 3 } end, "samples[1]")
    fails(function(c) c.symbols = { M0 = 3 } end, "symbols.M0")
  end)

  it("may stand alone without its schema, for reading and for verify", function()
    local file = core.json.decode(files.read(files.path "golden/mapping/order.json"))
    file.cases[1].model = file.model
    files.scratch(core.json.encode(file.cases[1]), function(path)
      assert.are.equal(file.cases[1].id, case.load(path)[1].id)
      assert.are.equal(0, (files.command("eval", path)))
      local status, out = files.command("verify", path)
      assert.are.equal(0, status, out)
    end)
  end)
end)
