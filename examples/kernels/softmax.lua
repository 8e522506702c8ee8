-- SPDX-License-Identifier: MIT
-- Softmax over rows: one kernel that walks a row three times.
--   einloom kernels examples/kernels/softmax.lua

local loom = require "einloom"

return loom.graph {
  einsums = [[
    m[i] max= x[i,j]
    e[i,j] = exp(x[i,j] - m[i])
    s[i] += e[i,j]
    y[i,j] = e[i,j] / s[i]
  ]],
  sizes = { i = 32, j = 128 },
}
