-- SPDX-License-Identifier: MIT
-- What the examples of searching search: a matrix product on a machine with one buffer of some bits
-- and a row of 8 multipliers. Energies relative to one multiplication, time in cycles.
local loom = require "einloom"

local example = {}

--- Z = A B of these sizes.
---@return einloom.Workload
function example.product(m, k, n)
  return loom.workload {
    sizes = { m = m, k = k, n = n }, bits = { All = 8, Outputs = 16 },
    "Z[m,n] = A[m,k] * B[k,n]",
  }
end

--- Two products, the second of what the first one gives.
example.two = loom.workload {
  sizes = { m = 128, a = 64, b = 256, c = 64 }, bits = 8,
  "First: T[m,b] = X[m,a] * U[a,b]",
  "Second: Y[m,c] = T[m,b] * V[b,c]",
}

local function access(energy, per_cycle)
  return { energy = energy, bits_per_action = 8, throughput = per_cycle }
end

--- The machine with a buffer of so many bits.
---@param bits number
---@return einloom.Arch
function example.machine(bits)
  return loom.arch {
    loom.memory {
      "DRAM", size = math.huge, read = access(200, 4), write = access(200, 4),
      keep = "~Intermediates", may_keep = "All",
    },
    loom.memory {
      "Buffer", size = bits, read = access(6, 16), write = access(6, 16),
      keep = "~DRAM", may_keep = "All",
    },
    loom.fanout { "PE", x = 8 },
    loom.compute { "MAC", energy = 1, throughput = 1 },
  }
end

return example
