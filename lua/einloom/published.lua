-- SPDX-License-Identifier: MIT
-- Published costs, as they stand in their sources: energies in pJ, areas in um2, nodes in nm,
-- supply voltages in V, capacities and widths in bits. Tables with `points` are interpolated.
-- Where a number was read in another place than the one it comes from, that place is named too.

local kilobyte = 8 * 1024

-- M. Horowitz, "Computing's Energy Problem (and what we can do about it)", ISSCC 2014, figure
-- 1.1.9: rough energies in 45 nm at 0.9 V. Caches are read 64 bits at a time.
local horowitz = { node = 45, voltage = 0.9 }

-- The areas beside those energies: W. Dally, "High-Performance Hardware for Machine Learning", NIPS
-- tutorial 2015: synthesised in TSMC 45 nm. Read in S. Kim et al., "Full Stack Optimization of
-- Transformer Inference: a Survey", 2023, figure 15.
local dally = { node = 45 }

return {
  sram = {
    node = horowitz.node, voltage = horowitz.voltage, width = 64,
    points = { [8 * kilobyte] = 10, [32 * kilobyte] = 20, [1024 * kilobyte] = 100 },
  },

  adder = {
    node = horowitz.node, voltage = horowitz.voltage,
    int = { points = { [8] = 0.03, [16] = 0.05, [32] = 0.1 } },
    float = { points = { [16] = 0.4, [32] = 0.9 } },
  },

  multiplier = {
    node = horowitz.node, voltage = horowitz.voltage,
    int = { points = { [8] = 0.2, [32] = 3.1 } },
    float = { points = { [16] = 1.1, [32] = 3.7 } },
  },

  adder_area = {
    node = dally.node,
    int = { points = { [8] = 36, [16] = 67, [32] = 137 } },
    float = { points = { [16] = 1360, [32] = 4184 } },
  },

  multiplier_area = {
    node = dally.node,
    int = { points = { [8] = 282, [32] = 3495 } },
    float = { points = { [16] = 1640, [32] = 7700 } },
  },

  -- Energy per bit, interface included.
  dram = {
    -- N. Jouppi et al., "Ten Lessons From Three Generations Shaped Google's TPUv4i", ISCA 2021,
    -- table 2 (read in notes on the paper that give the whole table): 1300 for 64 bits of DDR3 or
    -- DDR4, the lower end of Horowitz' 1.3 to 2.6 nJ.
    DDR3 = 1300 / 64, DDR4 = 1300 / 64,
    -- H. Ha, "Understanding and Improving the Energy Efficiency of DRAM", PhD thesis, Stanford
    -- University, 2018: a 32 Gb LPDDR4 package at 3.2 Gb/s per pin, simulated. Read in
    -- github.com/Dongyunkam/DRAM_info.
    LPDDR4 = 14,
    -- M. O'Connor et al., "Fine-Grained DRAM: Energy-Efficient DRAM for Extreme Bandwidth Systems",
    -- MICRO 2017, sections 1 and 2.
    GDDR5 = 14, HBM2 = 3.92,
  },

  -- The area of one six-transistor cell: the announcements of the processes by Intel (P. Bai 65, K.
  -- Mistry 45, S. Natarajan 32 and 14, C. Auth 22 and 10 nm; IEDM 2004, 2007, 2008 and 2014, VLSI
  -- 2012, IEDM 2017) and TSMC (S.-Y. Wu 7 nm, G. Yeap 5 nm; IEDM 2016 and 2019). Those of 65, 32,
  -- 22, 14 and 10 nm were read in news of the announcements: of Intel (2004), Tom's Hardware
  -- (IEDM 2008), The Tech Report (September 2009: the denser of two cells), WikiChip ("14 nm
  -- lithography process") and Semiconductor Digest (December 2017: the densest of its cells).
  sram_cell = {
    points = {
      [65] = 0.57, [45] = 0.346, [32] = 0.171, [22] = 0.092, [14] = 0.0588, [10] = 0.0312,
      [7] = 0.027, [5] = 0.021,
    },
  },

  -- A. Stillmaker, B. Baas, "Scaling equations for the accurate prediction of CMOS device
  -- performance from 180 nm to 7 nm", Integration 58, 2017: energy at V volts, but for a factor,
  -- a V^2 + b V + c, high-performance transistors below 65 nm; and the supply voltage of the
  -- predictive transistor model (ptm.asu.edu; read in the heads of its model files and a list of
  -- them, for high performance where there is a choice): {a, b, c, volts}.
  node_energy = {
    points = {
      [180] = { 0, 24.64, -17.98, 1.8 },
      [130] = { 7.171, -6.709, 2.904, 1.3 },
      [90] = { 4.762, -4.781, 2.092, 1.2 },
      [65] = { 3.755, -4.398, 1.975, 1.1 },
      [45] = { 1.018, -0.3107, 0.1539, 1.0 },
      [32] = { 0.8367, -0.4341, 0.1701, 0.9 },
      [20] = { 0.373, -0.1582, 0.04104, 0.9 },
      [16] = { 0.2958, -0.1241, 0.03024, 0.85 },
      [14] = { 0.2363, -0.09675, 0.02239, 0.8 },
      [10] = { 0.2068, -0.09311, 0.02375, 0.75 },
      [7] = { 0.1776, -0.09097, 0.02447, 0.7 },
    },
  },

  -- The same paper: area of a circuit relative to 45 nm.
  node_area = {
    points = {
      [180] = 19, [130] = 6.4, [90] = 2.8, [65] = 1.5, [45] = 1, [32] = 0.46, [20] = 0.21,
      [16] = 0.19, [14] = 0.17, [10] = 0.1, [7] = 0.059,
    },
  },
}
