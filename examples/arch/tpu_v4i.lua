-- SPDX-License-Identifier: MIT
-- A TPUv4i-like machine. Energies in pJ, time in ns.
--
-- N. P. Jouppi et al., "Ten Lessons From Three Generations Shaped Google's TPUv4i", ISCA 2021.
-- Table 1: 7 nm, 1050 MHz, 138 TFLOPS in bfloat16, 8 GB of HBM at 614 GB/s, 144 MB on the chip, of
-- which 128 MB are the common memory (CMEM) and 16 MB the vector memory; four matrix units of 128 x
-- 128. Table 2, read in notes on the paper: in 7 nm 14 pJ for 64 bits of an SRAM of 1 MB (here the
-- larger memories cost that too), 250 to 450 pJ for 64 bits of HBM2 (the lower end stands here),
-- 0.21 pJ for a bfloat16 product, 0.38 pJ for a 32-bit sum. Figure 12, read there too: 2000 GB/s
-- from and 1000 GB/s to the common memory, at the same time.
-- The vector unit beside them: T. Norrie et al., "The Design Process for Google's Training Chips:
-- TPUv2 and TPUv3", IEEE Micro 41(2), 2021: 128 lanes of 8 sublanes, two operations each; read in
-- notes on the authors' talk at Hot Chips 2020, and taken to be the same in TPUv4i.
-- Two weights per cell, so that the next ones come in while one is used: N. P. Jouppi et al.,
-- "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, section 2.
-- Assumed: rows of a matrix unit add up towards the vector memory; an operation of the vector unit
-- costs a 32-bit sum.
local loom = require "einloom"

local megabyte = 8 * 1024 * 1024
local clock = 1.05
local free = { energy = 0, bits_per_action = 16 }

-- Accesses of 64 bits, as many of a kind per ns as are given.
local function memory(name, size, energy, reads, writes, latency_rule)
  local function access(per_ns)
    return { energy = energy, bits_per_action = 64, throughput = per_ns }
  end
  return loom.memory {
    name, size = size, read = access(reads), write = access(writes), latency_rule = latency_rule,
  }
end

return loom.arch {
  memory("HBM", 8 * 1024 * megabyte, 250, 614 / 8, 614 / 8),
  memory("CMEM", 128 * megabyte, 14, 2000 / 8, 1000 / 8, "max_count_over_throughput"),
  memory("VMEM", 16 * megabyte, 14),
  loom.fork {
    {
      loom.fanout { "MXU", unit = 4 },
      loom.fanout { "Array", column = 128, row = 128 },
      loom.memory { "Cell", size = 2 * 16, read = free, write = free },
      loom.compute { "MAC", energy = 0.21 + 0.38, throughput = clock },
    },
    {
      loom.fanout { "Vector", spatial = { lane = 128, sublane = 8 } },
      loom.compute { "VPU", energy = 0.38, throughput = 2 * clock },
    },
  },
}
