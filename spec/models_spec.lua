-- SPDX-License-Identifier: MIT
local loom = require "einloom"
local front = require "support.front"

local models = loom.models
local kB = 8 * 1024

local function near(expected, got)
  assert.is_true(math.abs(got - expected) <= 1e-5 * math.abs(expected),
    ("%s expected, got %s"):format(expected, got))
end

local function refused(words, f, ...)
  local e = front.raised(f, ...)
  assert.equal("bad_argument", e.kind)
  front.mentions(tostring(e), words)
end

describe("the library of costs", function()
  it("gives what is published at the points of its tables", function()
    for size, energy in pairs { [8] = 10, [32] = 20, [1024] = 100 } do
      assert.equal(energy, models.sram { size = size * kB, width = 64 }())
    end
    for name, kinds in pairs { adder = { int = { [8] = 0.03, [16] = 0.05, [32] = 0.1 },
      float = { [16] = 0.4, [32] = 0.9 } },
      multiplier = { int = { [8] = 0.2, [32] = 3.1 }, float = { [16] = 1.1, [32] = 3.7 } },
      adder_area = { int = { [16] = 67 }, float = { [32] = 4184 } },
      multiplier_area = { int = { [8] = 282 }, float = { [16] = 1640 } } } do
      for kind, points in pairs(kinds) do
        for bits, value in pairs(points) do
          assert.equal(value, models[name] { kind, bits = bits }(), name .. kind .. bits)
        end
      end
    end
    assert.equal(1300, models.dram { "DDR4", width = 64 }())
    assert.equal(3.92, models.dram "HBM2"())
    assert.equal(0.346, models.sram_area { node = 45, size = 1 }())
  end)

  it("follows the power law between two points", function()
    near(10 * 2 ^ 0.5, models.sram { size = 16 * kB, width = 64 }())
    near((0.2 * 3.1) ^ 0.5, models.multiplier { bits = 16 }())
    local between = models.sram { size = 512 * kB, width = 64 }()
    near(20 * 16 ^ (math.log(5) / math.log(32)), between)
  end)

  it("goes beyond the ends of a table only when told", function()
    refused({ "size 8192 is outside the table, 65536 to 8388608", "extrapolate" },
      models.sram { size = 1024 * 8, width = 64 })
    near(10 / 8 ^ 0.5, models.sram { size = kB, width = 64, extrapolate = true }())
    near(20 * 128 ^ (math.log(5) / math.log(32)),
      models.sram { size = 4096 * kB, width = 64, extrapolate = true }())
    refused({ "bits 64 is outside" }, models.adder, { bits = 64 })
    refused({ "node 3 is outside" }, models.area_ratio, 45, 3)
    local e = front.raised(models.energy_ratio, 45, 3)
    front.mentions(tostring(e), { "node 3 is outside the table, 7 to 180" }, { "extrapolate" })
  end)

  it("counts bits of an access and widths of operators", function()
    assert.equal(2.5, models.sram { size = 8 * kB, width = 16 }())
    assert.equal(62.72, models.dram "HBM2"(nil, { bits_per_action = 16 }))
    near(0.3, models.mac { bits = 8, sum = 32 }())
    near(1.5, models.mac { "float", bits = 16 }())
    assert.equal(282 + 137, models.mac_area { bits = 8, sum = 32 }())
  end)

  it("scales energies and areas between technology nodes", function()
    local function energy(a, b, c, v) return a * v * v + b * v + c end
    near(energy(0.1776, -0.09097, 0.02447, 0.7) / energy(1.018, -0.3107, 0.1539, 1),
      models.energy_ratio(45, 7))
    near(energy(0.1776, -0.09097, 0.02447, 0.7) / energy(1.018, -0.3107, 0.1539, 0.9),
      models.energy_ratio(45, 7, { from = 0.9 }))
    near(10 * models.energy_ratio(45, 16, { from = 0.9, to = 0.8 }),
      models.sram { size = 8 * kB, width = 64, node = 16, voltage = 0.8 }())
    assert.equal(10, models.sram { size = 8 * kB, width = 64, node = 45 }())
    near(0.059 / 1.5, models.area_ratio(65, 7))
    near(282 * 0.19, models.multiplier_area { bits = 8, node = 16 }())
    local last = math.huge
    for node = 7, 180 do
      local energy_here, area_here = models.energy_ratio(7, node), models.area_ratio(7, node)
      assert.is_true(energy_here >= 1 and area_here >= 1)
      if node > 7 then
        assert.is_true(energy_here > models.energy_ratio(7, node - 1))
        assert.is_true(area_here > models.area_ratio(7, node - 1))
      end
      last = math.min(last, energy_here)
    end
    assert.equal(1, last)
    refused({ "0.5 V is below", "180 nm" }, models.energy_ratio, 45, 180, { to = 0.5 })
  end)

  it("stands in an architecture", function()
    local a = loom.arch {
      loom.memory { "DRAM", size = math.huge,
        read = { energy = models.dram "LPDDR4", bits_per_action = 32 } },
      loom.memory { "GLB", size = 32 * kB, area = models.sram_area { node = 45, efficiency = 0.5 },
        read = { energy = models.sram(), bits_per_action = 16 },
        write = { energy = models.sram(), bits_per_action = 128 } },
      loom.compute { "MAC", energy = models.mac { bits = 8, sum = 32 } },
    }
    assert.equal(448, a:component("DRAM").actions[1].energy)
    local glb = a:component "GLB"
    assert.equal(5, glb.actions[1].energy)
    assert.equal(40, glb.actions[2].energy)
    near(32 * kB * 0.346 / 0.5, glb.area)
    near(0.3, a:component("MAC").actions[1].energy)
  end)

  it("takes a width that is a formula, not a size", function()
    local w = loom.symbol "w"
    assert.is_true(models.dram { "DDR4", width = w }() == loom.number "1300/64" * w)
    assert.is_true(models.sram { size = 8 * kB, width = w }() == loom.number "10/64" * w)
    refused({ "size: a number expected", "w" }, models.sram, { size = w })
  end)

  it("says where in an architecture a table ends", function()
    local e = front.raised(loom.arch, {
      loom.memory { "Spad", size = 128, read = { energy = models.sram() } },
      loom.compute { "MAC" },
    })
    front.mentions(tostring(e), { "arch[1] (Spad).read.energy", "size 128 is outside the table" })
    e = front.raised(loom.arch, {
      loom.memory { "DRAM", size = math.huge, read = { energy = models.sram() } },
      loom.compute { "MAC" },
    })
    front.mentions(tostring(e), { "(DRAM).read.energy", "size must be positive and finite" })
  end)

  it("refuses what it does not know", function()
    refused({ "no multiplier flaot", "float" }, models.multiplier, { "flaot", bits = 8 })
    refused({ "no multiplier node", "known: float, int" }, models.multiplier, { "node", bits = 8 })
    refused({ "no DRAM HBM", "HBM2" }, models.dram, "HBM")
    refused({ "unknown key 'bit'", "bits" }, models.adder, { bit = 8 })
    refused({ "bits is missing" }, models.adder, {})
    refused({ "unknown key 'srma'", "sram" }, models.from, { srma = {} })
  end)

  it("takes tables of one's own", function()
    local own = models.from {
      sram = { node = 7, points = { [8 * kB] = 7.5, [32 * kB] = 8.5, [1024 * kB] = 14 } },
      dram = { HBM3 = 3 },
      multiplier = { node = 7, int = { points = { [8] = 0.07, [32] = 1.48 } } },
    }
    assert.equal(8.5, own.sram { size = 32 * kB, width = 64 }())
    assert.equal(8.5, own.sram { size = 32 * kB, width = 64, node = 7 }())
    assert.equal(3, own.dram "HBM3"())
    assert.equal(3.92, own.dram "HBM2"())
    assert.equal(0.07, own.multiplier { bits = 8 }())
    assert.equal(0.03, own.adder { bits = 8 }())
    assert.equal(20, models.sram { size = 32 * kB, width = 64 }())
    refused({ "no DRAM HBM3" }, models.dram, "HBM3")
    local both = own.from { dram = { HBM4 = 2 } }
    assert.equal(3, both.dram "HBM3"())
  end)

  it("shows its tables, and a change of them changes nothing published", function()
    assert.equal(0.2, models.tables.multiplier.int.points[8])
    local own = models.from {}
    own.tables.multiplier.int.points[8] = 5
    assert.equal(0.2, models.multiplier { bits = 8 }())
  end)

  it("names the argument that is no positive number", function()
    refused({ "voltage must be positive", "-1" }, models.adder, { bits = 8, voltage = -1 })
    refused({ "voltage must be positive" }, models.sram, { voltage = 0 })
    refused({ "efficiency must be positive", "0" }, models.sram_area, { node = 45, efficiency = 0 })
    refused({ "efficiency must be at most 1", "1.5" }, models.sram_area,
      { node = 45, efficiency = 1.5 })
    refused({ "efficiency: a number expected" }, models.sram_area,
      { node = 45, efficiency = "half" })
    refused({ "size must be positive" }, models.sram, { size = -8 })
    refused({ "width must be positive" }, models.sram, { width = 0 })
    refused({ "sum must be positive" }, models.mac, { bits = 8, sum = 0 })
    refused({ "sum 64 is outside" }, models.mac, { bits = 8, sum = 64 })
    refused({ "bits is missing" }, models.mac, {})
    refused({ "extrapolate", "true or false", '"no"' }, models.adder,
      { bits = 8, extrapolate = "no" })
    refused({ 'to: a number expected, got "7nm"' }, models.energy_ratio, 45, "7nm")
    refused({ "from: a number expected" }, models.energy_ratio, "7nm", "7nm")
    refused({ "to is missing" }, models.area_ratio, 45)
    refused({ "voltages.to must be positive", "0" }, models.energy_ratio, 45, 7, { to = 0 })
    refused({ "unknown key 'form'", "from" }, models.energy_ratio, 45, 7, { form = 1 })
    refused({ "voltages: a table" }, models.energy_ratio, 45, 7, 0.7)
  end)

  it("refuses tables of one's own that no cost can come from", function()
    local function own(words, t) refused(words, models.from, t) end
    own({ "sram.points has no points" }, { sram = { points = {} } })
    own({ "sram.points[8] must be positive", "-1" }, { sram = { points = { [8] = -1, [16] = 2 } } })
    own({ "sram.points: a key must be positive", "-8" }, { sram = { points = { [-8] = 1 } } })
    own({ "sram.points[1]: a number expected", "table" }, { sram = { points = { { 8, 1 } } } })
    own({ "unknown key 'nodes'", "node" }, { sram = { nodes = 7 } })
    own({ "sram.voltage must be positive" }, { sram = { voltage = 0 } })
    own({ "dram.HBM3 must be positive" }, { dram = { HBM3 = 0 } })
    own({ "adder.int.points has no points" }, { adder = { int = { points = {} } } })
    own({ "adder.int", "a table with points" }, { adder = { int = 3 } })
    own({ "sram: a table" }, { sram = 3 })
    own({ "node_energy.points[5]", "volts" }, { node_energy = { points = { [5] = 3 } } })
    own({ "node_energy.points[5][2]", '"x"' },
      { node_energy = { points = { [5] = { 1, "x", 1, 1 } } } })
    local steep = models.from { sram = { points = { [1] = 1e-300, [2] = 1e300 } } }
    refused({ "not a positive number" }, steep.sram { size = 4, extrapolate = true })
    assert.equal(3, models.from { dram = { HBM3 = 3 } }.dram "HBM3"())
  end)

  it("says where a model stands that was not called", function()
    for name, call in pairs { sram = "loom.models.sram{}", adder = "loom.models.adder{ bits = 8 }",
      dram = 'loom.models.dram "HBM2"' } do
      local e = front.raised(loom.arch, {
        loom.memory { "GLB", size = 1024, read = { energy = models[name] } },
        loom.compute { "MAC" },
      })
      assert.equal("arch[1] (GLB).read.energy", e.path)
      front.mentions(e.message, { "call it", call })
    end
  end)

  it("has no other models", function()
    refused({ "loom.models has no 'sarm'; nearest: sram" }, function() return models.sarm end)
  end)
end)
