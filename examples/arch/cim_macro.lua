-- SPDX-License-Identifier: MIT
-- A compute-in-memory macro: weights stay in the array, inputs come in as pulses on the rows,
-- products are added on the columns, each sum is converted once. Energies in pJ, time in ns.
--
-- Q. Dong et al., "A 351TOPS/W and 372.4GOPS Compute-in-Memory SRAM Macro in 7nm FinFET CMOS for
-- Machine-Learning Applications", ISSCC 2020; M. E. Sinangil et al., JSSC 56(1), 2021: 1024
-- multiplications and additions of 4 by 4 bits at once, 64 rows by 16 columns of weights, 5.5 ns
-- per access; 351 tera-operations per joule, two for each multiplication and addition, all of the
-- macro included. So the tolls of the converters only count conversions, and the memory around the
-- macro is free.
local loom = require "einloom"

local free = { energy = 0, bits_per_action = 4 }

return loom.arch {
  loom.memory { "Host", size = math.huge, read = free, write = free },
  loom.toll { "DAC", direction = "down", read = { energy = 0, bits_per_action = 4 } },
  loom.toll { "ADC", direction = "up", read = { energy = 0, bits_per_action = 4 } },
  loom.fanout { "Column", c = { 16, may_reuse = "input" } },
  loom.fanout { "Row", r = { 64, may_reuse = "output" } },
  loom.memory { "Cell", size = 4, read = free, write = free, keep = "weight" },
  loom.compute { "MAC", energy = 2 / 351, throughput = 1 / 5.5 },
}
