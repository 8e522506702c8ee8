-- SPDX-License-Identifier: MIT
-- Layers of ResNet-50 by stage: K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image
-- Recognition", CVPR 2016, table 1. In each stage the blocks after the first are alike: a 1 x 1
-- layer (`reduce`), a 3 x 3 layer, and a 1 x 1 layer with four times the channels (`expand`). The
-- first block has other 1 x 1 layers: its `entry` in the place of `reduce`, and a `shortcut` beside
-- the three. Both have stride 2 behind stage 2 (the shortcut by section 3.3, the entry as in the
-- authors' models, github.com/KaimingHe/deep-residual-networks).
local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local convolution = dofile(here .. "convolution.lua")

local layers = {
  conv1 = { m = 64, c = 3, p = 112, r = 7, stride = 2 },
  fc = { m = 1000, c = 2048, p = 1 },
}

for i, width in ipairs { 64, 128, 256, 512 } do
  local name, size = "conv" .. i + 1, 112 // 2 ^ i
  local before, stride = i == 1 and 64 or 2 * width, i == 1 and 1 or 2
  layers[name] = { m = width, c = width, p = size, r = 3 }
  layers[name .. "_reduce"] = { m = width, c = 4 * width, p = size }
  layers[name .. "_expand"] = { m = 4 * width, c = width, p = size }
  layers[name .. "_entry"] = { m = width, c = before, p = size, stride = stride }
  layers[name .. "_shortcut"] = { m = 4 * width, c = before, p = size, stride = stride }
end

--- A layer as a workload: "conv1", "fc", and for the stages 2 to 5 "conv3" (the 3 x 3 layer),
--- "conv3_reduce", "conv3_expand", "conv3_entry" and "conv3_shortcut".
---@param name string
---@param bits? integer 16 unless given
return function(name, bits)
  return convolution(assert(layers[name], "no such layer"), bits or 16)
end
