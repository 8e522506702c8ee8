-- SPDX-License-Identifier: MIT
-- Convolution layers of ResNet-50 by stage: K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual
-- Learning for Image Recognition", CVPR 2016, table 1. One image; inputs are padded, so that stage
-- conv3_x with 28 x 28 outputs and 3 x 3 filters reads 30 x 30 inputs.
local loom = require "einloom"

local layers = {
  conv2 = { m = 64, c = 64, p = 56, q = 56, r = 3, s = 3 },
  conv3 = { m = 128, c = 128, p = 28, q = 28, r = 3, s = 3 },
  conv4 = { m = 256, c = 256, p = 14, q = 14, r = 3, s = 3 },
  conv5 = { m = 512, c = 512, p = 7, q = 7, r = 3, s = 3 },
}

--- The 3 x 3 convolution of a stage as a workload: O = I * F in 16 bits.
return function(stage)
  return loom.workload {
    sizes = assert(layers[stage], "no such stage"),
    bits = { All = 16 },
    renames = { input = "I", weight = "F", output = "O" },
    "Conv: O[m,p,q] = I[c, H: p + r, W: q + s] * F[m,c,r,s]",
  }
end
