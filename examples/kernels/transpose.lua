-- SPDX-License-Identifier: MIT
-- A sum with a transposed matrix, stored in both orders by one einsum: the rules give it two tiles.
--   einloom kernels examples/kernels/transpose.lua

local loom = require "einloom"

return loom.graph {
  einsums = {
    "rows[i,j], columns[j,i] = a[i,j] + b[j,i]",
    "scaled[i,j] = rows[i,j] * 2",
  },
  sizes = { i = 64, j = 128 },
  outputs = { "rows" },
}
