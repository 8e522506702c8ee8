-- SPDX-License-Identifier: MIT
-- A convolution in the way of Simba, for stage conv4_x of ResNet-50: kernels and output rows are
-- spread over 4 x 2 chiplets, channels and kernels over the 4 x 4 elements of a chiplet, sums of
-- the channels meet in its global buffer; within an element 8 kernels times 8 channels at once.
local loom = require "einloom"

return loom.mapping [[
DRAM: I F O
toll Link: I F O
par m tile 64 on Chiplet.x
par p tile 7 on Chiplet.y
  Global: I O
  par c tile 64 on PE.x
  par m tile 16 on PE.y
    Weights: F
    for p tile 1
      Inputs: I
      Sums: O
      for r tile 1, s tile 1, m tile 8, c tile 8
        par m tile 1 on Vector.k
        par c tile 1 on Lane.c
          Weight: F
          for q
            MAC
]]
