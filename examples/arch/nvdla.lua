-- SPDX-License-Identifier: MIT
-- An NVDLA-like machine in its largest configuration. Energies in pJ, time in cycles.
--
-- Sizes: the NVDLA open source hardware, spec/defs/nv_full.spec (github.com/nvdla/hw): 2048
-- multipliers of 8 bits, 64 input channels (MAC_ATOMIC_C_SIZE) by 32 kernels (MAC_ATOMIC_K_SIZE); a
-- convolution buffer of 16 banks (CBUF_BANK_NUMBER) with 512 rows (CBUF_BANK_DEPTH) of 64 bytes
-- (CBUF_BANK_WIDTH). Products of 64 channels are added before they reach the accumulators
-- (nvdla.org, Unit Description, convolution pipeline). Assumed: accumulators for 128 positions of
-- 32 kernels, 32 bits per sum; LPDDR4 with 64 bits a cycle; costs of loom.models, scaled to 16 nm.
local loom = require "einloom"
local models = loom.models

local node = 16

local function access(bits, energy, per_cycle)
  return { energy = energy, bits_per_action = bits, throughput = per_cycle }
end

local function both(t, action)
  t.read, t.write = action, action
  return loom.memory(t)
end

local sram = models.sram { node = node, extrapolate = true }

return loom.arch {
  both({ "DRAM", size = math.huge }, access(64, models.dram "LPDDR4", 1)),
  both({ "CBUF", size = 16 * 512 * 64 * 8, keep = "input | weight" }, access(512, sram, 16)),
  both({ "CACC", size = 128 * 32 * 32, keep = "output", bits_per_value = { output = 32 } },
    access(32, sram, 64)),
  loom.fanout { "Cell", k = { 32, may_reuse = "input" } },
  loom.fanout { "Lane", c = { 64, may_reuse = "output" } },
  both({ "Weight", size = 8, keep = "weight" }, access(8, 0, 1)),
  loom.compute { "MAC", energy = models.mac { bits = 8, sum = 16, node = node }, throughput = 1 },
}
