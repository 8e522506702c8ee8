-- SPDX-License-Identifier: MIT
-- MobileNet-v2: M. Sandler, A. Howard, M. Zhu, A. Zhmoginov, L.-C. Chen, "MobileNetV2: Inverted
-- Residuals and Linear Bottlenecks", CVPR 2018, table 2. A block widens its input t times by 1 x 1
-- convolutions (`expand`, left out where t is 1), filters every channel by 3 x 3 with stride s
-- (`filter`), and narrows the result (`project`). One image; what a 3 x 3 filter reads is padded.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local convolution = dofile(here .. "convolution.lua")

-- Rows of table 2: input size, input channels, expansion t, output channels, repeats n, stride s of
-- the first block.
local rows = {
  bottleneck1 = { 112, 32, 1, 16, 1, 1 },
  bottleneck2 = { 112, 16, 6, 24, 2, 2 },
  bottleneck3 = { 56, 24, 6, 32, 3, 2 },
  bottleneck4 = { 28, 32, 6, 64, 4, 2 },
  bottleneck5 = { 14, 64, 6, 96, 3, 1 },
  bottleneck6 = { 14, 96, 6, 160, 3, 2 },
  bottleneck7 = { 7, 160, 6, 320, 1, 1 },
}

-- Its other layers, of which the classifier works on the averages of the channels.
local single = {
  first = { m = 32, c = 3, p = 112, r = 3, stride = 2 },
  last = { m = 1280, c = 320, p = 7 },
  classifier = { m = 1000, c = 1280, p = 1 },
}

-- The block of a row: its first one, or one of the `repeats` that follow.
local function shape(name, which)
  local row = assert(rows[name], "no such row")
  local size, c, t, m, n, s = table.unpack(row)
  if which ~= "repeats" then return { size = size, c = c, e = t * c, m = m, s = s, count = 1 } end
  assert(n > 1, "the row has one block")
  return { size = size // s, c = m, e = t * m, m = m, s = 1, count = n - 1 }
end

-- All of a block, as einsums that can be fused.
local function block(b, bits)
  local out, expands = b.size // b.s, b.e > b.c
  local padded = b.s * (out - 1) + 3
  local def = {
    n_instances = b.count,
    sizes = { e = b.e, m = b.m, p = out, q = out, r = 3, s = 3 },
    bits = bits,
    renames = { input = "Inputs - weight", output = "Outputs" },
    ("Filter: D[e, p, q] = E[e, H: %d*p + r, W: %d*q + s] * WD[e, r, s]"):format(b.s, b.s),
    "Project: O[m, p, q] = D[e, p, q] * WP[m, e]",
  }
  def.renames.weight = expands and "WE | WD | WP" or "WD | WP"
  if expands then
    def.sizes.c, def.sizes.h, def.sizes.w = b.c, padded, padded
    table.insert(def, 1, "Expand: E[e, h, w] = I[c, h, w] * WE[e, c]")
  end
  return loom.workload(def)
end

-- A layer of a block, alone.
local layer = {
  expand = function(b) return b.e > b.c and { m = b.e, c = b.c, p = b.size } end,
  filter = function(b) return { c = b.e, p = b.size // b.s, r = 3, stride = b.s } end,
  project = function(b) return { m = b.m, c = b.e, p = b.size // b.s } end,
}

--- "first", "last" and "classifier" are convolutions; a row, "bottleneck4", is the block as three
--- einsums; "bottleneck4_expand", "bottleneck4_filter" and "bottleneck4_project" are its layers as
--- convolutions. `which` says whether the first block of a row is meant or one that follows.
---@param name string
---@param bits? integer 8 unless given
---@param which? "first"|"repeats"
return function(name, bits, which)
  bits = bits or 8
  if single[name] then return convolution(single[name], bits) end
  local row, part = name:match "^(%w+)_?(%a*)$"
  local b = shape(row, which)
  if part == "" then return block(b, bits) end
  local made = assert(layer[part], "no such layer")(b)
  return convolution(assert(made, "the block has no such layer"), bits)
end
