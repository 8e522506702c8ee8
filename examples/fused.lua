-- SPDX-License-Identifier: MIT
-- Two matrix products fused over rows: the intermediate T never leaves the buffer, and only M0 rows
-- of it are there at a time.
local loom = require "einloom"

local w = loom.workload {
  sizes = { m = 256, k = 64, n = 64, l = 64 },
  bits = { All = 8 },
  "First: T[m,n] = A[m,k] * B[k,n]",
  "Second: Z[m,l] = T[m,n] * C[n,l]",
}

local a = loom.arch {
  loom.memory { "DRAM", size = math.huge, read = { energy = 200 }, write = { energy = 200 } },
  loom.memory { "GLB", size = 64 * 1024 * 8, read = { energy = 6 }, write = { energy = 6 } },
  loom.compute { "MAC", energy = 1, throughput = 1 },
}

local m = loom.mapping [[
DRAM: A B C Z
GLB: B C
for m tile M0
  GLB: T
  sequential
    branch
      GLB: A
      for m, n, k
        First on MAC
    branch
      GLB: Z
      for m, l, n
        Second on MAC
]]

return loom.analyze(w, a, m)
