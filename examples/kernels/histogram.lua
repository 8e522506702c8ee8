-- SPDX-License-Identifier: MIT
-- Weights counted into bins in place, then read: the bins are whole only when all is counted, so
-- that the second einsum is a kernel of its own.
--   einloom kernels examples/kernels/histogram.lua --explain

local loom = require "einloom"

return loom.graph {
  einsums = [=[
    weight[i] = relu(x[i]) * scale
    update hist[bin[i]] += weight[i]
    share[b] = hist[b] / N
  ]=],
  sizes = { i = "N" },
  tensors = { hist = { sizes = { 16 } }, bin = { dtype = "i64" } },
  scalars = { scale = 0.5 },
  hints = { N = 4096 },
}
