-- SPDX-License-Identifier: MIT
-- A machine with two memories below the one at the top, both without limit.

local loom = require "einloom"

local cost = { read = { energy = 1 }, write = { energy = 1 } }

local function memory(name)
  return loom.memory { name, size = math.huge, read = cost.read, write = cost.write }
end

return loom.arch { memory "DRAM", memory "GLB", memory "RF", loom.compute { "MAC", energy = 1 } }
