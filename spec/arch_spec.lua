-- SPDX-License-Identifier: MIT
local arch = require "einloom.arch"
local core = require "einloom.core"
local readonly = require "einloom.readonly"
local front = require "support.front"

local function refused(nodes, words, kind)
  local e = front.raised(function() return arch.new(type(nodes) == "function" and nodes()
    or nodes) end)
  assert.equal(kind or "bad_arch", e.kind, tostring(e))
  front.mentions(tostring(e), words)
end

local mac = arch.compute { "MAC", energy = 1 }

local function memory(t)
  t[1] = t[1] or "Glb"
  t.size = t.size or 1024
  return { arch.memory(t), mac }
end

describe("an architecture", function()
  it("is the same from constructors and from the normal form", function()
    local a = arch.new {
      arch.memory { "DRAM", size = math.huge, read = { energy = 200, throughput = math.huge },
        write = { energy = 200, bits_per_action = 8 }, keep = "~Intermediates" },
      arch.memory { "GLB", size = 1024 * 1024, read = { energy = 6, values_per_action = { A = 2 } },
        write = { energy = 6 }, may_keep = "All", skip_initial_output_write = false,
        bits_per_value = { Outputs = 32 }, values_per_action = 4, leak_power = 0.5, area = 3,
        actions_scale = 2, n_parallel_instances = 2, latency_rule = { sum_count_over = 10 } },
      arch.fanout { "PE", y = 12,
        x = { 14, may_reuse = { "A" }, usage_scale = 2, power_gateable = true } },
      arch.toll { "Link", direction = { A = "up", ["All - A"] = "down" }, read = { energy = 1 } },
      arch.compute { "MAC", energy = 1, throughput = 1e9, leak_power = 0.1 },
    }
    local b = arch.new { nodes = {
      { class = "Memory", name = "DRAM", size = "inf", keep = "~Intermediates", actions = {
        { name = "read", energy = 200, throughput = "inf" },
        { name = "write", energy = 200, bits_per_action = 8 } } },
      { class = "Memory", name = "GLB", size = 1048576.0, may_keep = "All",
        skip_initial_output_write = false, bits_per_value = { Outputs = 32 }, values_per_action = 4,
        leak_power = 0.5, area = 3, actions_scale = 2, n_parallel_instances = 2,
        latency_rule = { sum_count_over = 10 }, actions = {
          { name = "read", energy = 6, values_per_action = { A = 2 } },
            { name = "write", energy = 6 } } },
      { class = "Container", name = "PE", spatial = {
        { name = "x", fanout = 14, may_reuse = { "A" }, usage_scale = 2, power_gateable = true },
        { name = "y", fanout = 12, may_reuse = "all", usage_scale = 1, power_gateable = false } } },
      { class = "Toll", name = "Link", direction = { A = "up", ["All - A"] = "down" },
        actions = { { name = "read", energy = 1 } } },
      { class = "Compute", name = "MAC", leak_power = 0.1,
        actions = { { name = "compute", energy = 1, throughput = 1000000000 } } },
    } }
    assert.same(b.nodes, a.nodes)
    assert.same(a.nodes, arch.new({ nodes = a.nodes }).nodes)
    assert.equal(math.huge, b.nodes[1].size)
    assert.equal("integer", math.type(b.nodes[2].size))
    assert.same({ "DRAM", "GLB", "PE", "Link", "MAC" }, a:names())
    assert.equal(14, a:component("PE").spatial[1].fanout)
    assert.is_nil(a:component "Pe")
    assert.equal("Memory DRAM size=inf\nMemory GLB size=1048576\n"
      .. "Container PE x=14 (may_reuse A) y=12\n"
      .. "Toll Link\nCompute MAC",
      tostring(a))
  end)

  it("takes dimensions on any component, as list or by name", function()
    local a = arch.new { arch.memory { "Reg", size = 8,
      spatial = { X = 4, Y = { fanout = 2, may_reuse = "Inputs" } } },
      arch.compute { "MAC", spatial = { { name = "Z", fanout = 2 } } } }
    assert.equal("X", a.nodes[1].spatial[1].name)
    assert.equal("Inputs", a.nodes[1].spatial[2].may_reuse)
    assert.equal(2, a.nodes[2].spatial[1].fanout)
  end)

  it("takes multicast and adder_tree as short for may_reuse", function()
    local a = arch.new {
      arch.fanout { "PE", a = { 2, multicast = false }, b = { 2, adder_tree = false },
        c = { 2, multicast = false, adder_tree = false }, d = { 2, multicast = true } },
      arch.compute { "MAC" },
    }
    local shared = {}
    for i, d in ipairs(a.nodes[1].spatial) do shared[i] = d.may_reuse end
    assert.same({ "Outputs", "Inputs", "Nothing", "all" }, shared)
    assert.equal("Container PE a=2 (may_reuse Outputs) b=2 (may_reuse Inputs) "
      .. "c=2 (may_reuse Nothing) d=2\nCompute MAC", tostring(a))
  end)

  it("takes symbols and expressions as numbers", function()
    local s = core.symbol "S"
    local a = arch.new { arch.memory { "M", size = s, read = { energy = "E0" } },
      arch.fanout { "PE", x = core.symbol "X" }, mac }
    assert.equal(s, a.nodes[1].size)
    assert.equal(core.symbol "E0", a.nodes[1].actions[1].energy)
    assert.equal(core.symbol "X", a.nodes[2].spatial[1].fanout)
  end)

  it("takes compute actions in every spelling", function()
    local function action(t)
      return readonly.raw(arch.new({ arch.compute(t) }).nodes[1].actions[1])
    end
    assert.same({ name = "compute", energy = 2 }, action { "M", energy = 2 })
    assert.same({ name = "compute", energy = 2 }, action { "M", compute = { energy = 2 } })
    assert.same({ name = "compute", energy = 2 },
      action { "M", actions = { { name = "compute", energy = 2 } } })
    assert.same({ name = "compute" }, action { "M" })
  end)

  it("ends in a compute unit", function()
    refused({ arch.memory { "DRAM", size = 8 } }, { "no compute unit", "DRAM" })
    refused({ mac, arch.memory { "DRAM", size = 8 } }, { "no compute unit", "DRAM" })
    refused({}, { "no compute unit" })
  end)

  it("has one component of a name and one dimension of a name", function()
    refused({ arch.memory { "A", size = 1 }, arch.memory { "A", size = 1 }, mac },
      { "arch[2]", "two", "A" })
    refused({ arch.memory { "A", size = 1,
      spatial = { { name = "X", fanout = 1 }, { name = "X", fanout = 2 } } }, mac },
      { "arch[1] (A).spatial[2]", "two", "X" })
  end)

  local bad = {
    { "unknown key", { leak_powr = 1 }, { "arch[1] (Glb)", "leak_powr", "nearest: leak_power" } },
    { "unknown action", { reed = { energy = 1 } }, { "reed", "nearest: read" } },
    { "unknown key of an action", { read = { energi = 1 } },
      { "Glb).read", "energi", "nearest: energy" } },
    { "negative size", { size = -1 }, { "Glb).size", "-1" } },
    { "zero size", { size = 0 }, { "Glb).size", "0" } },
    { "negative energy", { read = { energy = -1 } }, { "read.energy", "-1" } },
    { "zero throughput", { read = { throughput = 0 } }, { "read.throughput", "0" } },
    { "zero bits per action", { read = { bits_per_action = 0 } }, { "read.bits_per_action", "0" } },
    { "negative leak power", { leak_power = -0.5 }, { "leak_power", "-0.5" } },
    { "infinite leak power", { leak_power = math.huge }, { "leak_power", "finite" } },
    { "size of a wrong type", { size = {} }, { "Glb).size", "table" } },
    { "size that does not parse", { size = "3 +" }, { "Glb).size", "3 +" } },
    { "skip of a wrong type", { skip_initial_output_write = 1 },
      { "skip_initial_output_write", "number" } },
    { "set that does not parse", { keep = "~" }, { "keep:1:2" }, "syntax" },
    { "set of a wrong type", { keep = 3 }, { "keep", "number" } },
    { "bits keyed by a bad set", { bits_per_value = { ["A |"] = 3 } },
      { 'bits_per_value["A |"]:1:4' },
      "syntax" },
    { "bits by position", { bits_per_value = { 3 } }, { "bits_per_value", "keys" } },
    { "negative bits", { bits_per_value = { A = -3 } }, { "bits_per_value.A", "-3" } },
    { "unknown latency rule", { latency_rule = "max_count" },
      { "max_count", "nearest: max_count_over_throughput" } },
    { "latency rule without value", { latency_rule = {} }, { "latency_rule", "one of" } },
    { "unknown valued rule", { latency_rule = { constnt = 1 } },
      { "constnt", "nearest: constant" } },
    { "fraction of a fanout", { spatial = { X = 1.5 } }, { "spatial.X.fanout", "1.5" } },
    { "zero fanout", { spatial = { X = 0 } }, { "spatial.X.fanout", "0" } },
    { "dimension without a fanout", { spatial = { X = {} } }, { "spatial.X", "X has no fanout" } },
    { "dimension without a name", { spatial = { { fanout = 2 } } }, { "spatial[1]", "name" } },
    { "unknown key of a dimension", { spatial = { X = { 2, may_reus = "all" } } },
      { "may_reus", "nearest: may_reuse" } },
    { "multicast of a wrong type", { spatial = { X = { 2, multicast = 1 } } },
      { "spatial.X.multicast", "true or false expected" } },
    { "may_reuse and multicast", { spatial = { X = { 2, multicast = true, may_reuse = "A" } } },
      { "may_reuse says what multicast and adder_tree say" } },
    { "may_reuse of a wrong type", { spatial = { X = { 2, may_reuse = 1 } } },
      { "may_reuse", "number" } },
    { "read twice", { read = {}, actions = { { name = "read" } } }, { "read", "twice" } },
    { "class of its own", { class = "Memry", name = "Glb" }, { "Memry", "nearest: Memory" } },
  }
  for _, case in ipairs(bad) do
    it("refuses: " .. case[1], function()
      if case[2].class then return refused({ nodes = { case[2], mac } }, case[3]) end
      refused(memory(case[2]), case[3], case[4])
    end)
  end

  it("refuses what a component cannot have", function()
    refused({ arch.toll { "L", write = {} }, mac }, { "write" })
    refused({ arch.toll { "L", direction = "upp" }, mac }, { "direction", "upp", "nearest: up" })
    refused({ arch.toll { "L", direction = { A = 1 } }, mac }, { "direction.A", "1" })
    refused(function() return { arch.memory { "A" }, mac } end, { "A", "no size" })
    refused({ arch.memory { size = 3 }, mac }, { "without a name" })
    refused(function() return { arch.fanout { "PE" }, mac } end, { "PE", "no dimension" })
    refused(function() return { arch.fanout { "PE", x = 2, leak_powr = 3 }, mac } end,
      { "leak_powr", "nearest: leak_power" })
    refused(function() return { arch.memory { "A", "B", size = 3 }, mac } end,
      { "memory", "one name" })
    refused(function() return { arch.fanout { "PE", x = 2, read = { energy = 1 } }, mac } end,
      { "read" })
    refused({ 3, mac }, { "arch[1]", "number" })
    refused({ mac, nodes = {} }, { "nodes" })
    refused({ mac, nodez = {} }, { "nodez", "nearest: nodes" })
    assert.equal("bad_argument", front.raised(arch.new, mac).kind)
    assert.equal("bad_argument", front.raised(arch.memory, "DRAM").kind)
    local e = front.raised(arch.new, { mac }, 3)
    assert.equal("bad_argument", e.kind)
    assert.equal("loom.arch takes one table and nothing else, got a number as argument 2",
      e.message)
    assert.equal(1, #arch.new({ mac }, nil).nodes)
  end)

  it("may name tensors in a list that a workload lacks", function()
    local context = { what = "einsum E", tensors = { "A", "Z" }, known = {},
      sets = { weight = { A = true } } }
    assert.same({ A = true }, arch.reusable({ may_reuse = { "A", "W" } }, context, "p"))
    assert.same({ A = true }, arch.reusable({ may_reuse = { "weight" } }, context, "p"))
    assert.equal("unknown_tensor",
      front.raised(arch.reusable, { may_reuse = "A | W" }, context, "p").kind)
  end)
end)
