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

-- The layer at the first point that fits.
local function convolution(machine, mapping, layer)
  local map, points = load("mapping/" .. mapping)(layer)
  local r = assert(loom.analyze(layer, load("arch/" .. machine), map))
  for _, point in ipairs(points) do
    if r(point):energy() then return r(point) end
  end
  error(select(2, r(points[#points]):energy()))
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

  local function busy(r, units) return operations(r) / (units * number(r.compute.latency)) end

  it("keeps the multipliers busy that a layer is spread over", function()
    local resnet, mobilenet = load "workload/resnet50", load "workload/mobilenet_v2"
    -- Layers, and the parts of the multipliers that they can use, counted by hand.
    for _, t in ipairs {
      { resnet("conv3", 8), 4 * 3 / 12, 1, 16 / 36 }, -- Simba: 4 x 4 chiplets
      { resnet("conv1", 8), 7 / 12, 21 / 64, 16 / 36 * 1 / 4 * 3 / 8 }, -- 3 channels, 7 x 7
      { resnet("conv5_reduce", 8), 8 / 12, 1, 16 / 36 }, -- columns: 7 rows by 2 filters
      { mobilenet "bottleneck5_filter", 1, 1 / 64, 6 / 36 * 1 / 8 }, -- depthwise: 3 x 2 chiplets
      { mobilenet "classifier", 10 * 10 / 168, 25 / 32, 25 / 36 * 1 / 4 }, -- 1000 = 8 * 125
    } do
      local r = convolution("eyeriss_like", "row_stationary", t[1])
      assert.near(t[2], busy(r, 168), 1e-9)
      r = convolution("nvdla", "nvdla_conv", t[1])
      assert.near(t[3], busy(r, 2048), 1e-9)
      r = convolution("simba", "simba_conv", t[1])
      assert.near(t[4], busy(r, 36 * 16 * 64), 1e-9)
    end
  end)

  it("moves what NVDLA has room for once", function()
    local r = convolution("nvdla", "nvdla_conv", load "workload/resnet50"("conv3", 8))
    assert.equal((128 * 30 * 30 + 128 * 128 * 9) // 8, sum(r, "DRAM", "reads"))
    assert.equal(128 * 28 * 28 // 8, sum(r, "DRAM", "writes"))
    assert.equal(128 * 30 * 30 * 8 + 32 * 128 * 9 * 8, number(r:usage { by = "memory" }.CBUF
      * (16 * 512 * 64 * 8)))
    assert.equal(32 * 4 * 28, number(r.CACC.O.values))
  end)

  it("moves less of a chain and of attention the more of it is fused", function()
    local tpu = load "arch/tpu_v4i"
    local chain = load "workload/matmul_chain" {
      m = 200, widths = { 2048, 2048, 2048, 2048, 2048, 2048 }, bits = 16,
    }
    local weights, between = 5 * 2048 * 2048, 200 * 2048
    for way, times in pairs { unfused = 5, fused = 1 } do
      local r = assert(loom.analyze(chain, tpu, load "mapping/tpu_chain"(chain, way)))
      assert.equal(200 * weights, operations(r))
      assert.equal((weights + times * between) * 16 // 64, sum(r, "HBM", "reads"))
      assert.equal(times * between * 16 // 64, sum(r, "HBM", "writes"))
      assert.near((weights + 2 * times * between) * 2 / 614, number(r:latency()), 1e-6)
    end
    local h, m, e = 32, 2048, 128
    local attention = load "workload/attention" { h = h, m = m, p = m, e = e }
    local result = {}
    for way, map in pairs(load "mapping/tpu_attention") do
      local r = assert(loom.analyze(attention, tpu, map))
      result[way] = r
      assert.equal(h * m * (2 * m * e + 3 * m + e), operations(r))
      if way ~= "unfused" then
        assert.equal(3 * h * m * e * 16 // 64, sum(r, "HBM", "reads"))
        assert.equal(h * m * e * 16 // 64, sum(r, "HBM", "writes"))
      end
    end
    assert.is_true(result.fused:energy():lt(result.unfused:energy()))
    assert.is_true(result.fused:latency():lt(result.unfused:latency()))
    -- Behind the products everything else is hidden.
    assert.near(2 * h * m * m * e / (4 * 128 * 128 * 1.05), number(result.pipelined:latency()),
      1e-6)
    for way, times in pairs { unfused = 1, fused = 0 } do
      local snowcat = load "workload/matmul_chain" { m = 1024, widths = { 256, 256, 256 } }
      local r = assert(loom.analyze(snowcat, load "arch/snowcat",
        load "mapping/chain"(way, "Backing", "Unit"))) { M0 = 64 }
      assert.equal((1024 * 256 * (1 + times) + 2 * 256 * 256) * 8, sum(r, "Backing", "reads"))
      assert.equal(1024 * 256 * (1 + times) * 8, sum(r, "Backing", "writes"))
    end
  end)
end)

describe("an example workload", function()
  -- The layers of a network by name, and how often each runs.
  local networks = {}

  function networks.resnet50()
    local layers, times = {}, {}
    local function add(name, n)
      layers[name], times[name] = load "workload/resnet50"(name, 8), n
    end
    add("conv1", 1)
    add("fc", 1)
    for stage, blocks in ipairs { 3, 4, 6, 3 } do
      local name = "conv" .. stage + 1
      add(name, blocks)
      add(name .. "_reduce", blocks - 1)
      add(name .. "_expand", blocks)
      add(name .. "_entry", 1)
      add(name .. "_shortcut", 1)
    end
    return layers, times
  end

  function networks.mobilenet_v2()
    local layers, times = {}, {}
    local function add(name, which, n)
      local key = name .. " " .. which
      layers[key], times[key] = load "workload/mobilenet_v2"(name, 8, which), n
    end
    for _, name in ipairs { "first", "last", "classifier" } do add(name, "first", 1) end
    for row, blocks in ipairs { 1, 2, 3, 4, 3, 3, 1 } do
      for _, part in ipairs { "expand", "filter", "project" } do
        local name = ("bottleneck%d_%s"):format(row, part)
        if name ~= "bottleneck1_expand" then add(name, "first", 1) end
        if blocks > 1 then add(name, "repeats", blocks - 1) end
      end
    end
    return layers, times
  end

  local function macs(layer)
    local product = 1
    for _, size in pairs(layer.rank_variables) do product = product * size end
    return product
  end

  it("has all multiplications of its network", function()
    local function total(name)
      local layers, times = networks[name]()
      local macs_, n = 0, 0
      for key, layer in pairs(layers) do
        macs_, n = macs_ + times[key] * macs(layer), n + times[key]
      end
      return macs_, n
    end
    -- Table 1 says 3.8e9 and 50 layers without the shortcuts.
    local resnet, layers = total "resnet50"
    assert.equal(50 + 4, layers)
    assert.is_true(resnet > 3.8e9 and resnet < 3.9e9)
    -- Table 4 says 300e6 multiplications and additions.
    local mobilenet, layers_ = total "mobilenet_v2"
    assert.equal(3 + 2 + 3 * 16, layers_)
    assert.is_true(mobilenet > 300e6 and mobilenet < 301e6)
  end)

  -- By name: the mapping, multipliers, bits of an access to the DRAM.
  local machines = {
    eyeriss_like = { "row_stationary", 168, 16 }, nvdla = { "nvdla_conv", 2048, 64 },
    simba = { "simba_conv", 36 * 16 * 64, 64 },
  }

  for machine, t in pairs(machines) do
    it("fits into " .. machine .. ", every layer of it", function()
      for _, network in pairs(networks) do
        for name, layer in pairs(network()) do
          local r = convolution(machine, t[1], layer)
          assert.equal(macs(layer), operations(r), name)
          assert.is_true(number(r.compute.latency) * t[2] >= macs(layer), name)
          local size, values = layer.rank_variables, { I = 0, F = 0, O = 0 }
          for _, buffet in ipairs(r.einsums[1].buffets) do
            if buffet.level == "DRAM" then values[buffet.tensor] = number(buffet.values) end
          end
          assert.equal((size.m or size.c) * size.p * size.q, values.O, name)
          -- Every input and weight is read at least once, every result written once.
          assert.is_true(sum(r, "DRAM", "reads") * t[3] >= (values.I + values.F) * 8, name)
          assert.equal(values.O * 8, sum(r, "DRAM", "writes") * t[3], name)
        end
      end
    end)
  end

  it("has the blocks of MobileNet-v2", function()
    local mobilenet = load "workload/mobilenet_v2"
    local w = mobilenet "bottleneck2"
    assert.equal(16 * 6, w.rank_variables.e)
    assert.equal(56, w.rank_variables.p)
    assert.equal(2 * 55 + 3, w.rank_variables.h)
    w = mobilenet("bottleneck4", 8, "repeats")
    assert.equal(3, w.n_instances)
    assert.equal(64, w.rank_variables.c)
    assert.equal(14, w.rank_variables.p)
    w = mobilenet "bottleneck1"
    assert.equal(2, #w.einsums)
    assert.equal(32, w.rank_variables.e)
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
