-- SPDX-License-Identifier: MIT
-- A 3 x 3 convolution of ResNet-50 (stage conv3_x) on an Eyeriss-like machine: the annotated loop
-- nest with formulas in the open tile shapes, with their values at one point, and how one of the
-- formulas comes about.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local machine = dofile(here .. "arch/eyeriss_like.lua")
local layer = dofile(here .. "workload/resnet50.lua") "conv3"
local mapping = dofile(here .. "mapping/row_stationary.lua")(layer)

local r = assert(loom.analyze(layer, machine, mapping))

print(r { M1 = 64, C1 = 16 })
print()
print(loom.explain(r.GLB.I.reads_to_parent))
return r
