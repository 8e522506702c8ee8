-- SPDX-License-Identifier: MIT
-- A simple machine: one main memory, one buffer, one multiplier. Nothing of it is built; costs are
-- those of loom.models. Energies in pJ, time in cycles.
local loom = require "einloom"
local models = loom.models

-- Reads and writes of 64 bits.
local function accesses(energy, per_cycle)
  return { energy = energy, bits_per_action = 64, throughput = per_cycle }
end

local function memory(name, size, energy, per_cycle)
  return loom.memory {
    name, size = size, read = accesses(energy, per_cycle), write = accesses(energy, per_cycle),
  }
end

return loom.arch {
  memory("Main", math.huge, models.dram "DDR4", 0.25),
  memory("Buffer", 256 * 1024 * 8, models.sram(), 1),
  loom.compute { "MAC", energy = models.mac { bits = 16, sum = 32 }, throughput = 1 },
}
