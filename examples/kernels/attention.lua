-- SPDX-License-Identifier: MIT
-- Attention of several heads with a causal mask: scores, softmax over those that are allowed, and
-- the weighted sum of values.
--   einloom kernels examples/kernels/attention.lua --explain

local loom = require "einloom"

return loom.graph {
  einsums = [[
    score[h,i,j] += Q[h,i,d] * K[h,j,d]
    masked[h,i,j] = select(j <= i, score[h,i,j] * scale, -inf)
    most[h,i] max= masked[h,i,j]
    weight[h,i,j] = exp(masked[h,i,j] - most[h,i])
    total[h,i] += weight[h,i,j]
    attention[h,i,j] = weight[h,i,j] / total[h,i]
    out[h,i,d] += attention[h,i,j] * V[h,j,d]
  ]],
  sizes = { h = 4, i = 32, j = 32, d = 16 },
  scalars = { scale = 16 ^ -0.5 },
}
