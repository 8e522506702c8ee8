-- SPDX-License-Identifier: MIT
-- Two layers with a bias and a residual: each matrix product takes in what follows it.
--   einloom kernels examples/kernels/mlp.lua --c mlp.c

local loom = require "einloom"

return loom.graph {
  einsums = [[
    h[m,f] += x[m,k] * w1[k,f]
    a[m,f] = relu(h[m,f] + b1[f])
    o[m,n] += a[m,f] * w2[f,n]
    y[m,n] = o[m,n] + b2[n] + x[m,n]
  ]],
  sizes = { m = 32, k = 24, f = 48, n = 24 },
}
