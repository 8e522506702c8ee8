-- SPDX-License-Identifier: MIT
-- Machines with branches, and branches of mappings that run together: written in every way, and
-- what they cost.

local arch = require "einloom.arch"
local case = require "einloom.case"
local core = require "einloom.core"
local loom = require "einloom"
local mapping = require "einloom.mapping"
local model = require "einloom.model"

local machine = {
  loom.memory { "Main", size = math.huge },
  loom.fork {
    { loom.memory { "Buf", size = 4096 }, loom.fanout { "PE", X = 4 },
      loom.compute { "MAC", throughput = 1 } },
    { loom.fanout { "Lane", L = 8 }, loom.compute { "ALU", throughput = 0.5, leak_power = 3 } },
  },
}

local workload = loom.workload {
  sizes = { m = 8, k = 4, n = 6 },
  bits = { All = 8 },
  "E0: Z[m,n] = A[m,k] * B[k,n]",
  "E1: Y[m,n] = Z[m,n]",
}

local text = [[
Main: A B Z Y
for m
  %s
    branch
      for n, k
        E0 on MAC
    branch
      for n
        E1 on ALU
]]

local function costs(kind)
  local a, m = loom.arch(machine), loom.mapping(text:format(kind))
  local result = assert(model.analyze(workload, a, m))
  return model.cost(result, workload, a, m)
end

describe("machines with branches", function()
  it("list their components and print their tree", function()
    local a = loom.arch(machine)
    assert.equal("Main Buf PE MAC Lane ALU", table.concat(a:names(), " "))
    assert.equal("ALU", a:component("ALU").name)
    assert.equal([[
Memory Main size=inf
Fork
  branch
    Memory Buf size=4096
    Container PE X=4
    Compute MAC
  branch
    Container Lane L=8
    Compute ALU]], tostring(a))
  end)

  it("come back from cases", function()
    local a, m = loom.arch(machine), loom.mapping(text:format "pipeline")
    local raw = core.json.decode(case.encode(workload, a, m))
    raw.id = "branches"
    local again = case.from_json(raw)
    assert.equal(tostring(a), tostring(again.arch))
    assert.equal(tostring(m), tostring(again.mapping))
    assert.same(raw.arch, core.json.decode(case.encode(again.workload, again.arch,
      again.mapping)).arch)
  end)

  it("give every einsum its own way", function()
    local c = assert(costs "sequential")
    local e = c:einsum "E1"
    assert.equal(1, #e.spatial)
    assert.equal("Lane", e.spatial[1].component)
    local latency = 8 * 6 * 2
    assert.equal(core.int(latency), e.latency)
    assert.equal(core.int(3 * 8 * latency), e.leak_energy)
  end)

  it("refuse what is not on the way", function()
    local a = loom.arch(machine)
    local m = loom.mapping [[
Main: A B Z Y
for m
  Buf: Z
  sequential
    branch
      for n, k
        E0 on MAC
    branch
      for n
        E1 on ALU
]]
    local result, message, kind = model.analyze(workload, a, m)
    assert.is_nil(result)
    assert.equal("bad_mapping", kind)
    assert.truthy(message:find("'Buf'", 1, true))
  end)
end)

describe("forks", function()
  local function refused(def, ...)
    local ok, e = pcall(arch.new, def)
    assert.is_false(ok)
    assert.equal("bad_arch", e.kind)
    for _, word in ipairs { ... } do
      assert.truthy(tostring(e):find(word, 1, true), tostring(e))
    end
  end
  local function mac(name) return loom.compute { name, throughput = 1 } end
  local function buf(name) return loom.memory { name, size = 8 } end

  it("need branches that end in units", function()
    refused({ loom.fork {} }, "branches")
    refused({ loom.fork { { buf "B" } } }, "arch[1].branches[1]", "not B")
    refused({ loom.fork { {} } }, "no compute unit")
    refused({ loom.fork { { mac "X" } }, buf "B" }, "arch[2]", "follow")
    refused({ loom.fork { { mac "X" }, { mac "X" } } }, "two components are called X")
    refused({ { class = "Fork", branches = { { mac "X" } }, name = "F" } }, "name")
    refused({ loom.fork { { mac "X" }, 3 } }, "branches[2]")
  end)

  it("nest", function()
    local def = { mac "X0" }
    for i = 1, arch.max_depth do def = { loom.fork { def, { mac("X" .. i) } } } end
    assert.equal(arch.max_depth + 1, #arch.new(def):names())
    refused({ loom.fork { def } }, "depth")
  end)
end)

describe("branches that run together", function()
  it("are written as text, by constructors and in the normal form", function()
    for _, kind in ipairs { "sequential", "pipeline", "parallel" } do
      local m = mapping.new(text:format(kind))
      assert.equal(text:format(kind), tostring(m))
      local unit = { mapping.temporal { "n" }, mapping.compute_node { "ALU", einsum = "E1" } }
      local made = mapping.new { loom[kind] { unit } }
      assert.equal(kind, made.nodes[1].node)
      assert.equal("E1", made.nodes[1].branches[1][2].einsum)
      local normal = mapping.new { nodes = { { node = kind, branches = { unit } } } }
      assert.equal(tostring(made), tostring(normal))
      local ok, e = pcall(mapping.new, { { node = kind } })
      assert.is_false(ok)
      assert.truthy(tostring(e):find(kind, 1, true))
    end
  end)

  it("take the time of a pipeline", function()
    assert.equal(core.int(8 * 24 + 8 * 12), costs("sequential"):total().latency)
    assert.equal(core.int(8 * 24 + 12), costs("pipeline"):total().latency)
  end)

  it("leak for the whole time", function()
    local t = costs("pipeline"):total()
    assert.equal(3 * 8 * t.latency, t.leak_energy)
  end)

  it("hand nothing over when they run at once", function()
    local c, message, kind = costs "parallel"
    assert.is_nil(c)
    assert.equal("bad_mapping", kind)
    assert.truthy(message:find("'Z'", 1, true))
  end)
end)
