-- SPDX-License-Identifier: MIT
-- Two matrix products on a machine with one buffer: one after the other, with T1 in the main memory
-- between them, or fused over rows, with M0 rows of T1 in the buffer. The weights stay in the
-- buffer.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local template = dofile(here .. "template.lua")

local texts = {
  unfused = [[
$main: T0 W1 T1 W2 T2
sequential
  branch
    Buffer: W1
    for m tile M0
      Buffer: T0 T1
      for m, n1, n0
        Mul1 on $unit
  branch
    Buffer: W2
    for m tile M0
      Buffer: T1 T2
      for m, n2, n1
        Mul2 on $unit
]],

  fused = [[
$main: T0 W1 W2 T2
Buffer: W1 W2
for m tile M0
  Buffer: T1
  sequential
    branch
      Buffer: T0
      for m, n1, n0
        Mul1 on $unit
    branch
      Buffer: T2
      for m, n2, n1
        Mul2 on $unit
]],
}

--- The mapping on a machine whose main memory and compute unit are called so.
---@param way "unfused"|"fused"
---@param main string
---@param unit string
return function(way, main, unit)
  return loom.mapping(template(texts[way], { main = main, unit = unit }))
end
