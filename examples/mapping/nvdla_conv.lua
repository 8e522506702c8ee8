-- SPDX-License-Identifier: MIT
-- A convolution in the way of NVDLA: rows of the input stay in the convolution buffer while up to
-- 32 kernels at a time come in; up to 64 channels are multiplied and added at once, while one
-- weight per multiplier stays for all positions of a stripe, of which the accumulators hold the
-- sums. The few channels of an image share the multipliers with a row of the filter (nvdla.org,
-- In-memory Data Formats, channel pre-extension). A depthwise convolution has one channel for each
-- kernel, so that one multiplier of 64 works. Open is P1, the output rows whose input is there at
-- once.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local template, divisors = dofile(here .. "template.lua"), dofile(here .. "divisors.lua")

-- Multipliers: kernels, and channels of each; positions for which there are accumulators.
local cells, lanes, positions = 32, 64, 128

local text = [[
DRAM: I F O
for p tile P1
  CBUF: I
  for $kernel tile $kernels
    CBUF: F
    for p tile $stripe
      CACC: O
      for c tile $channels
      for r tile 1, s tile $pixels
        par $kernel tile 1 on Cell.k
        par $summed tile 1 on Lane.c
        par $row tile 1 on Lane.c
          Weight: F
          for p, q
            MAC
]]

--- The mapping of a layer (workload/convolution.lua), and values of P1, best first.
---@param layer einloom.workload
return function(layer)
  local size = layer.rank_variables
  local stripe = divisors(size.p, positions // size.q)[1]
  local t = { kernel = "c", pixels = 1, stripe = stripe }
  if size.m then
    t.kernel, t.summed, t.channels = "m", "c", divisors(size.c, lanes)[1]
    if size.c <= 4 and size.c * size.s <= lanes then t.row, t.pixels = "s", size.s end
  end
  t.kernels = divisors(size[t.kernel], cells)[1]
  local points = {}
  for i, P1 in ipairs(divisors(size.p, nil, stripe)) do points[i] = { P1 = P1 } end
  return loom.mapping(template(text, t)), points
end
