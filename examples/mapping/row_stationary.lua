-- SPDX-License-Identifier: MIT
-- Row-stationary mappings: every element keeps one row (r) of up to 16 filters of up to 4 channels
-- and works on one row of outputs (p); rows of the array are filter rows times groups of input
-- channels, columns are rows of outputs and, where there are few of them, groups of filters. A
-- depthwise convolution has its channels in the place of both. Open are M1, the filters of one pass
-- through the global buffer, and C1, the input channels of one pass.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local template, divisors = dofile(here .. "template.lua"), dofile(here .. "divisors.lua")

-- The array, and how many inputs and weights an element holds.
local columns, rows, inputs, weights = 14, 12, 12, 224

local text = [[
DRAM: I F O
for $kernel tile M1
  for p tile $strip
    GLB: O
    for $summed tile C1
      GLB: I
      for $kernel tile $pass
        par $shared on PE.x
        par p tile 1 on PE.x
        par c tile $channels on PE.y
        par r tile 1 on PE.y
          FilterSpad: F
          for q tile 1
            InputSpad: I
            PsumSpad: O
            for c, s
            for $single
              MAC
]]

--- The mapping of a layer (workload/convolution.lua), and values of M1 and C1, best first.
---@param layer einloom.workload
return function(layer)
  local size = layer.rank_variables
  local strip = divisors(size.p, columns)[1]
  local groups = divisors(size.c, rows // size.r)[1]
  local t = { kernel = "c", strip = strip, channels = 1 }
  local each = groups
  if size.m then
    t.kernel, t.single, t.summed = "m", "m", "c"
    t.channels = divisors(size.c // groups, math.min(4, inputs // size.s))[1]
    each = divisors(size.m, math.min(16, weights // (t.channels * size.s)))[1]
  end
  local kernels = size[t.kernel]
  local sharing = divisors(kernels // each, columns // strip)[1]
  t.pass = each * sharing
  t.shared = sharing > 1 and ("%s tile %d"):format(t.kernel, each)
  local points = {}
  for i, M1 in ipairs(divisors(kernels, nil, t.pass)) do
    points[i] = { M1 = M1, C1 = t.summed and groups * t.channels }
  end
  return loom.mapping(template(text, t)), points
end
