-- SPDX-License-Identifier: MIT
-- A Snowcat-like machine: a backing store, one buffer of an open size S, one compute unit. What it
-- tells of a mapping is how much data moves between the two and how large the buffer has to be,
-- which bounds every machine that has more levels.
--
-- Q. Huang, P.-A. Tsai, J. S. Emer, A. Parashar, "Mind the Gap: Attainable Data Movement and
-- Operational Intensity Bounds for Tensor Algorithms", ISCA 2024. The energy counts bits to and
-- from the backing store; everything else is free.
local loom = require "einloom"

local counted, free = { energy = 1 }, { energy = 0 }

return loom.arch {
  loom.memory { "Backing", size = math.huge, read = counted, write = counted },
  loom.memory { "Buffer", size = loom.symbol "S", read = free, write = free },
  loom.compute { "Unit", energy = 0, throughput = 1 },
}
