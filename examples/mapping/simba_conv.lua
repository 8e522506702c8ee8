-- SPDX-License-Identifier: MIT
-- A convolution in the way of Simba: kernels and output rows are spread over the chiplets, channels
-- and kernels over the 4 x 4 elements of a chiplet, and sums of the channels meet in its global
-- buffer; within an element up to 8 kernels times 8 channels at once. Every weight stays in its
-- element. A depthwise convolution has its channels in the place of both, so that one lane of 8
-- works. Open is P0, the output rows of a chiplet that are there at once.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local template, divisors = dofile(here .. "template.lua"), dofile(here .. "divisors.lua")

local chiplets, elements, vector = 6, 4, 8

local text = [[
DRAM: I F O
toll Link: I F O
par $kernel tile $column on Chiplet.x
par p tile $rows on Chiplet.y
par $kernel tile $kernels on Chiplet.y
par p tile $strip on Chiplet.x
par c tile $channels on PE.x
par $kernel tile $each on PE.y
  Weights: F
  for p tile P0
    Global: I O
    for p tile 1
      Inputs: I
      Sums: O
      for r tile 1, s tile 1, $kernel tile $wide
      for c tile $lanes
        par $kernel tile 1 on Vector.k
        par $summed tile 1 on Lane.c
          Weight: F
          for q
            MAC
]]

-- The tile when as much as possible of a size is spread over units, of which `inner` are left to
-- loops further in.
local function spread(size, units, inner)
  return size // divisors(size // inner, units)[1]
end

--- The mapping of a layer (workload/convolution.lua), and values of P0, best first.
---@param layer einloom.workload
return function(layer)
  local size = layer.rank_variables
  local t = { kernel = size.m and "m" or "c", rows = spread(size.p, chiplets, 1) }
  local kernels = size[t.kernel]
  t.wide = divisors(kernels, vector)[1]
  local inner = t.wide * divisors(kernels // t.wide, elements)[1]
  t.column = spread(kernels, chiplets, inner)
  t.kernels = spread(t.column, chiplets * t.rows // size.p, inner)
  t.strip = spread(t.rows, chiplets * t.column // kernels, 1)
  if size.m then
    t.summed, t.lanes = "c", divisors(size.c, vector)[1]
    t.channels = spread(size.c, elements, t.lanes)
    t.each = spread(t.kernels, elements, t.wide)
  else
    t.channels = spread(t.kernels, elements, t.wide)
    t.each = spread(t.channels, elements, t.wide)
  end
  local points = {}
  for i, P0 in ipairs(divisors(t.strip)) do points[i] = { P0 = P0 } end
  return loom.mapping(template(text, t)), points
end
