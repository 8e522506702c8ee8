-- SPDX-License-Identifier: MIT
-- A matrix product with one open tile shape. `einloom eval examples/matmul.lua --at M0=16` prints
-- the annotated loop nest.
local loom = require "einloom"

local w = loom.workload {
  sizes = { m = 128, k = 64, n = 128 },
  bits = { All = 8, Outputs = 16 },
  "Z[m,n] = A[m,k] * B[k,n]",
}

local a = loom.arch {
  loom.memory {
    "DRAM", size = math.huge, read = { energy = 200 }, write = { energy = 200 },
    keep = "~Intermediates",
  },
  loom.memory {
    "GLB", size = 1024 * 1024, read = { energy = 6 }, write = { energy = 6 }, may_keep = "All",
  },
  loom.fanout { "PE", x = 16, y = 16 },
  loom.compute { "MAC", energy = 1, throughput = 1e9 },
}

local m = loom.mapping [[
  DRAM: A B Z
  for m tile M0
    GLB: A Z
    par n tile 8 on PE.x
      for m, n, k          -- tile 1
        MAC
]]

return loom.analyze(w, a, m)
