-- SPDX-License-Identifier: MIT
-- A matrix product of a library that takes in its neighbours: the scaled input is computed where
-- the product reads it, bias, activation and residual where its result is made.
--   einloom kernels examples/kernels/templates.lua --loops

local loom = require "einloom"

return loom.graph {
  einsums = [[
    scaled[m,k] = x[m,k] * scale[m]
    product[m,n] = mm(scaled[m,k], w[k,n])
    active[m,n] = relu(product[m,n] + bias[n])
    y[m,n] = active[m,n] + residual[m,n]
  ]],
  sizes = { m = 24, n = 32, k = 16 },
  templates = { "product" },
}
