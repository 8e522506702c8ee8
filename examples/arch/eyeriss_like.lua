-- SPDX-License-Identifier: MIT
-- An Eyeriss-like machine: DRAM, a global buffer, and 14 x 12 processing elements with a scratchpad
-- each for inputs, filters and partial sums.
--
-- Sizes: Y.-H. Chen, T. Krishna, J. S. Emer, V. Sze, "Eyeriss: An Energy-Efficient Reconfigurable
-- Accelerator for Deep Convolutional Neural Networks", IEEE Journal of Solid-State Circuits 52(1),
-- 2017: 168 processing elements in 12 rows of 14, 16-bit data, a 108 kB global buffer, and per
-- element 12 inputs, 224 filter weights and 24 partial sums; 64 bits per cycle to the DRAM and to
-- the global buffer.
-- Energies: Y.-H. Chen, J. Emer, V. Sze, "Eyeriss: A Spatial Architecture for Energy-Efficient
-- Dataflow for Convolutional Neural Networks", ISCA 2016: for one 16-bit value, relative to one
-- multiplication and accumulation, 200 for the DRAM, 6 for the global buffer, 1 for a scratchpad.
local loom = require "einloom"

local word = 16

-- Read and write of one word.
local function access(energy, words_per_cycle)
  return { energy = energy, bits_per_action = word, throughput = words_per_cycle }
end

local function scratchpad(name, words, tensor)
  return loom.memory {
    name, size = words * word, read = access(1, 1), write = access(1, 1), keep = tensor,
  }
end

return loom.arch {
  loom.memory { "DRAM", size = math.huge, read = access(200, 4), write = access(200, 4) },
  loom.memory { "GLB", size = 108 * 1024 * 8, read = access(6, 4), write = access(6, 4) },
  loom.fanout { "PE", x = 14, y = 12 },
  scratchpad("InputSpad", 12, "input"),
  scratchpad("FilterSpad", 224, "weight"),
  scratchpad("PsumSpad", 24, "output"),
  loom.compute { "MAC", energy = 1, throughput = 1 },
}
