-- SPDX-License-Identifier: MIT
-- A Simba-like machine: one package of chiplets. Energies in pJ, time in cycles.
--
-- Sizes: Y. S. Shao et al., "Simba: Scaling Deep-Learning Inference with Multi-Chip-Module-Based
-- Architecture", MICRO 2019: 36 chiplets of 16 processing elements; each chiplet has a 64 kB global
-- buffer, each element a 32 kB weight buffer, an 8 kB input buffer, a 3 kB accumulation buffer and
-- 8 vector units that multiply 8 pairs of 8 bits and add them to 24 bits; 16 nm. The buffers were
-- read in the model of Simba in github.com/EMJzero/FactorFlow, which has them in numbers of values.
-- Links between chiplets: B. Zimmer et al., VLSI Circuits 2019 and JSSC 2020: 0.82 to 1.75 pJ per
-- bit (ground-referenced signaling); the upper end stands here.
-- Assumed: each vector unit reads and writes one sum a cycle, the other buffers 64 bits a cycle;
-- LPDDR4 with 64 bits a cycle behind the package; costs of loom.models, scaled to 16 nm.
local loom = require "einloom"
local models = loom.models

local node = 16
local kilobyte = 8 * 1024
local sram = models.sram { node = node, extrapolate = true }

-- Sums have 24 bits until they leave the package.
local function buffer(name, kilobytes, bits, keep, per_cycle)
  local access = { energy = sram, bits_per_action = bits, throughput = per_cycle or 1 }
  return loom.memory {
    name, size = kilobytes * kilobyte, read = access, write = access, keep = keep,
    bits_per_value = { output = 24 },
  }
end

local free = { energy = 0, bits_per_action = 8 }
local dram = { energy = models.dram "LPDDR4", bits_per_action = 64, throughput = 1 }

return loom.arch {
  loom.memory { "DRAM", size = math.huge, read = dram, write = dram },
  loom.toll { "Link", read = { energy = 1.75 } },
  loom.fanout { "Chiplet", x = 6, y = 6 },
  buffer("Global", 64, 64, "input | output"),
  loom.fanout { "PE", x = 4, y = 4 },
  buffer("Weights", 32, 64, "weight"),
  buffer("Inputs", 8, 64, "input"),
  buffer("Sums", 3, 24, "output", 16),
  loom.fanout { "Vector", k = { 8, may_reuse = "input" } },
  loom.fanout { "Lane", c = { 8, may_reuse = "output" } },
  loom.memory { "Weight", size = 8, read = free, write = free, keep = "weight" },
  loom.compute { "MAC", energy = models.mac { bits = 8, sum = 24, node = node }, throughput = 1 },
}
