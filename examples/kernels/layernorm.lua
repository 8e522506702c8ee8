-- SPDX-License-Identifier: MIT
-- Layer normalisation with mean and variance in one pass over each row.
--   einloom kernels examples/kernels/layernorm.lua --loops

local loom = require "einloom"

return loom.graph {
  einsums = [[
    mean[i], m2[i], n[i] = welford(x[i,j])
    y[i,j] = (x[i,j] - mean[i]) * rsqrt(m2[i] / n[i] + eps) * weight[j] + bias[j]
  ]],
  sizes = { i = 64, j = 256 },
  scalars = { eps = 1e-5 },
}
