-- SPDX-License-Identifier: MIT
-- A mapping of which some is given and the rest searched: the weights stay in the buffer while rows
-- go by, eight columns are computed at once; how large the tiles are, and what else the buffer
-- holds, is for the search.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local example = dofile(here .. "machine.lua")
local product, machine = example.product(128, 64, 128), example.machine(32 * 1024)

local given = loom.mapping [[
  DRAM: A B Z
  for k tile ?
    for n tile {16, 32, 64}
      Buffer: B
      for m tile ?
        Buffer: A? Z?
        par n tile ? on PE.x
          *
            MAC
]]

for _, figure in ipairs { "energy", "latency" } do
  local free = loom.space(product, machine, { minimise = figure }):search()
  local space = assert(loom.space(product, machine, { minimise = figure, mapping = given }))
  local found = space:search()
  print(("least %s: %d of these mappings, %d of all"):format(figure, found.points[1][figure],
    free.points[1][figure]))
  print(found:mapping())
end
