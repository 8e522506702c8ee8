-- SPDX-License-Identifier: MIT
-- The machines and workloads of the examples against what is published of them, counted by hand.

local loom = require "einloom"
local files = require "support.files"

local function load(path) return dofile(files.root("examples/" .. path .. ".lua")) end

local function number(e) return math.type(e) and e or e:tointeger() or e:tonumber() end

local function sum(result, level, field)
  local total = 0
  for _, einsum in ipairs(result.einsums) do
    for _, buffet in ipairs(einsum.buffets) do
      if buffet.level == level then total = total + number(buffet[field]) end
    end
  end
  return total
end

local function operations(result)
  local total = 0
  for _, einsum in ipairs(result.einsums) do total = total + number(einsum.compute.ops) end
  return total
end

describe("an example machine", function()
  it("has the peak rate that is published", function()
    local function rate(name, units)
      local compute = load("arch/" .. name):component "MAC"
      return 2 * units * compute.actions[1].throughput
    end
    assert.is_true(math.abs(rate("tpu_v4i", 4 * 128 * 128) - 138e3) < 500) -- operations per ns
    assert.is_true(math.abs(rate("cim_macro", 1024) - 372.4) < 0.1)
    assert.equal(2 * 2048, rate("nvdla", 2048))
    for name, units in pairs { nvdla = 2048, simba = 36 * 16 * 64, tpu_v4i = 4 * 128 * 128,
      cim_macro = 1024, eyeriss_like = 168 } do
      local product, nodes = 1, load("arch/" .. name).nodes
      nodes = nodes[#nodes].class == "Fork" and nodes[#nodes].branches[1] or nodes
      for _, node in ipairs(nodes) do
        for _, d in ipairs(node.spatial) do product = product * d.fanout end
      end
      assert.equal(units, product, name)
    end
  end)

  it("keeps a compute-in-memory array busy", function()
    local w = load "workload/matmul_chain" { m = 256, widths = { 256, 64 }, bits = 4 }
    local r = assert(loom.analyze(w, load "arch/cim_macro", load "mapping/cim_matmul"))
    assert.equal(256 * 256 * 64 // 1024, number(r.compute.latency))
    assert.equal(256 * 256 * 4, sum(r, "DAC", "reads")) -- every input once for each 16 columns
    assert.equal(256 * 64 * 4, sum(r, "ADC", "reads")) -- every sum once for each 64 rows
    assert.equal(256 * 64, sum(r, "Cell", "writes"))
  end)

  it("keeps the multipliers busy that a layer is spread over", function()
    local resnet = load "workload/resnet50"
    local r = assert(loom.analyze(resnet("conv3", 8), load "arch/nvdla",
      load "mapping/nvdla_conv")) { P0 = 4 }
    assert.equal(128 * 128 * 9 * 28 * 28, operations(r))
    assert.equal(operations(r) // 2048, number(r.compute.latency))
    assert.is_true(number(r.CACC.O.values) <= 128 * 32)
    r = assert(loom.analyze(resnet("conv4", 8), load "arch/simba", load "mapping/simba_conv"))
    assert.equal(operations(r) // (8 * 16 * 64), number(r.compute.latency))
  end)
end)

describe("an example workload", function()
  it("has the layers of ResNet-50", function()
    local resnet = load "workload/resnet50"
    local function macs(name)
      local product = 1
      for _, size in pairs(resnet(name).rank_variables) do product = product * size end
      return product
    end
    -- Table 1 says 3.8 GFLOPs, multiplications and additions counted as one; here without the
    -- projections and the differing first blocks' details.
    local total = macs "conv1" + macs "fc"
    for i, repeats in ipairs { 3, 4, 6, 3 } do
      local name = "conv" .. i + 1
      total = total + repeats * (macs(name) + macs(name .. "_reduce") + macs(name .. "_expand"))
    end
    assert.is_true(total > 3.4e9 and total < 3.9e9)
    assert.equal(229, resnet "conv1".rank_variables.p * 2 + 7 - 2)
  end)

  it("has the blocks of MobileNet-v2", function()
    local mobilenet = load "workload/mobilenet_v2"
    local w = mobilenet "bottleneck2"
    assert.equal(16 * 6, w.rank_variables.e)
    assert.equal(56, w.rank_variables.p)
    assert.equal(2 * 55 + 3, w.rank_variables.h)
    w = mobilenet("bottleneck4", "repeats")
    assert.equal(3, w.n_instances)
    assert.equal(64, w.rank_variables.c)
    assert.equal(14, w.rank_variables.p)
  end)

  local function block(model, phase, way)
    return assert(loom.analyze(load("workload/" .. model)(phase, phase == "decode" and 8 or 1),
      load "arch/tpu_v4i", load "mapping/tpu_block"(model, phase, way)))
  end

  local d, context = 4096, 2048
  local models = {
    gpt3 = { einsums = 10, kv = d, wide = 4 * d, into = 1 },
    llama3 = { einsums = 11, kv = d // 4, wide = 14336, into = 2 },
  }

  for model, t in pairs(models) do
    local weights = 2 * d * d + 2 * d * t.kv + (t.into + 1) * d * t.wide
    for _, way in ipairs { "unfused", "fused" } do
      it(("has the work of a block of %s, %s"):format(model, way), function()
        local r = block(model, "prefill", way)
        assert.equal(t.einsums, #r.einsums)
        local scores = 32 * context * context
        assert.equal(context * weights + 2 * scores * 128 + scores + context * t.wide,
          operations(r))
        r = block(model, "decode", way)
        assert.equal(8 * (weights + 2 * 32 * context * 128 + 32 * context + t.wide), operations(r))
      end)
    end

    it("costs less the more a block of " .. model .. " is fused", function()
      local unfused, fused = block(model, "prefill", "unfused"), block(model, "prefill", "fused")
      local pipelined = block(model, "prefill", "pipelined")
      assert.is_true(fused:energy():lt(unfused:energy()))
      assert.is_true(pipelined:energy() == fused:energy())
      assert.is_true(fused:latency():lt(unfused:latency()))
      assert.is_true(pipelined:latency():lt(fused:latency()))
      for _, by in ipairs { "einsum", "component", "tensor", "action" } do
        local total = 0
        for _, energy in pairs(fused:energy { by = by }) do total = total + energy end
        assert.is_true(total == fused:energy(), by)
      end
      -- No block is done before its products at the published rate, nor its weights at that of HBM.
      local least = number(fused:actions { by = "component" }.MAC) / (4 * 128 * 128 * 1.05)
      assert.is_true(number(pipelined:latency()) >= least)
      local decode = block(model, "decode", "fused")
      assert.is_true(number(decode:latency()) >= weights * 2 / 614)
    end)

    it("moves only weights, inputs and results of " .. model .. " when fused", function()
      local r = block(model, "prefill", "fused")
      local x = context * d
      assert.equal((weights + 3 * x) * 16 // 64, sum(r, "HBM", "reads"))
      assert.equal(x * 16 // 64, sum(r, "HBM", "writes"))
      r = block(model, "decode", "fused")
      assert.equal((weights + 3 * 8 * d + 2 * 8 * context * t.kv) * 16 // 64,
        sum(r, "HBM", "reads"))
      assert.equal(8 * (d + 2 * t.kv) * 16 // 64, sum(r, "HBM", "writes"))
    end)
  end
end)
