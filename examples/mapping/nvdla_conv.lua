-- SPDX-License-Identifier: MIT
-- A convolution in the way of NVDLA: 32 kernels at a time stay in the convolution buffer, and with
-- them rows of the input; 64 channels are multiplied and added at once, while one weight per
-- multiplier stays for all positions of a stripe. Open is P0, the output rows of a stripe.
local loom = require "einloom"

return loom.mapping [[
DRAM: I F O
for m tile 32
  CBUF: F
  for p tile P0
    CBUF: I
    CACC: O
    for c tile 64, r tile 1, s tile 1
      par m tile 1 on Cell.k
      par c tile 1 on Lane.c
        Weight: F
        for p, q
          MAC
]]
