-- SPDX-License-Identifier: MIT
-- From a graph to energy: the kernels of attention on a machine whose local memory holds more or
-- less, and for the first one what a block of the grid should be.
--   einloom run examples/kernel_energy.lua

local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*)kernel_energy%.lua$" or ""
local graph = dofile(here .. "kernels/attention.lua")

local function machine(bits)
  return loom.arch {
    loom.memory { "DRAM", size = math.huge, read = { energy = 100 }, write = { energy = 100 } },
    loom.memory { "Local", size = bits, read = { energy = 2 }, write = { energy = 2 } },
    loom.compute { "Unit", energy = 8 },
  }
end

local function analyze(kernel, arch, blocks)
  local workload, mapping = assert(kernel:mapping(arch, { blocks = blocks }))
  return assert(loom.analyze(workload, arch, mapping))
end

local function dram_bytes(r)
  local moved = r:actions { by = { "component", "action" } }.DRAM
  return (moved.read + moved.write) / 8
end

print "kernel    bits     DRAM bytes  energy"
for _, kernel in ipairs(graph:kernels()) do
  for _, bits in ipairs { 2 ^ 8, 2 ^ 12, 2 ^ 20 } do
    local r = analyze(kernel, machine(math.tointeger(bits)), {})
    print(("%-9s %-8d %-11s %s"):format(kernel.name, bits, dram_bytes(r), r:energy()))
  end
end

print "\nkernel1 in blocks of i and j, each read once for all of the other"
local kernel = graph:kernels()[1]
local r = analyze(kernel, machine(2 ^ 20), nil)
print("DRAM bytes", dram_bytes(r))
for _, block in ipairs { 1, 4, 32 } do
  local at = r { h_Local = 1, i_Local = block, j_Local = block }
  print(("i = j = %-2d"):format(block), dram_bytes(at), at:energy())
end
