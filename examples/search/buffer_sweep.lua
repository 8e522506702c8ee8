-- SPDX-License-Identifier: MIT
-- How large a buffer is worth having: for each size the mapping that moves least to and from the
-- DRAM, two products one by one and fused. One search for each row: only what moves costs energy.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local example = dofile(here .. "machine.lua")

local free, moved = { energy = 0 }, { energy = 1, bits_per_action = 1 }

local function machine(bits)
  return loom.arch {
    loom.memory {
      "DRAM", size = math.huge, read = moved, write = moved,
      keep = "~Intermediates", may_keep = "All",
    },
    loom.memory {
      "Buffer", size = bits, read = free, write = free, keep = "~DRAM", may_keep = "All",
    },
    loom.compute { "MAC", energy = 0 },
  }
end

local function least(bits, options)
  local found = loom.space(example.two, machine(bits), options):search()
  return found.points[1] and found.points[1].energy // 8
end

print "buffer [bytes]   fused [bytes moved]   one by one"
for _, bytes in ipairs { 64, 256, 1024, 4096, 16384, 65536 } do
  local fused = least(bytes * 8, {})
  local single = least(bytes * 8, { max_fused_loops = 0 })
  print(("%14d   %19s   %10s"):format(bytes, fused and ("%d"):format(fused) or "-",
    single and ("%d"):format(single) or "-"))
end
