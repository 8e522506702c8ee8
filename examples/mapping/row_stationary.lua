-- SPDX-License-Identifier: MIT
-- A row-stationary mapping: every element keeps one row of filters (r) and works on one row of
-- outputs (p); rows of the array are filter rows times groups of four input channels. Open are M1,
-- the filters of one pass through the global buffer, and C1, the input channels of one pass.
local loom = require "einloom"

return loom.mapping [[
DRAM: I F O
for m tile M1
  for p tile 14
    GLB: O
    for c tile C1
      GLB: I
      for m tile 16
        par p tile 1 on PE.x
        par c tile 4 on PE.y
        par r tile 1 on PE.y
          FilterSpad: F
          for q tile 1
            InputSpad: I
            PsumSpad: O
            for c, s, m
              MAC
]]
