-- SPDX-License-Identifier: MIT
-- Layers of ResNet-50 by stage: K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image
-- Recognition", CVPR 2016, table 1. One image; inputs are padded, so that stage conv3_x with 28 x
-- 28 outputs and 3 x 3 filters reads 30 x 30 inputs. In each stage the blocks after the first are
-- alike: a 1 x 1 layer (`reduce`), a 3 x 3 layer, and a 1 x 1 layer with four times the channels
-- (`expand`).
local loom = require "einloom"

local layers = {
  conv1 = { m = 64, c = 3, p = 112, q = 112, r = 7, s = 7, stride = 2 },
  fc = { m = 1000, c = 2048, p = 1, q = 1, r = 1, s = 1 },
}

for i, width in ipairs { 64, 128, 256, 512 } do
  local name, size = "conv" .. i + 1, 112 // 2 ^ i
  local function layer(m, c, filter)
    return { m = m, c = c, p = size, q = size, r = filter, s = filter }
  end
  layers[name] = layer(width, width, 3)
  layers[name .. "_reduce"] = layer(width, 4 * width, 1)
  layers[name .. "_expand"] = layer(4 * width, width, 1)
end

--- A layer as a workload, O = I * F: "conv1", "fc", and for the stages 2 to 5 "conv3" (the 3 x 3
--- layer), "conv3_reduce" and "conv3_expand".
---@param name string
---@param bits? integer 16 unless given
return function(name, bits)
  local layer = assert(layers[name], "no such layer")
  local sizes, stride = {}, layer.stride or 1
  for key, size in pairs(layer) do
    if key ~= "stride" then sizes[key] = size end
  end
  return loom.workload {
    sizes = sizes,
    bits = { All = bits or 16 },
    renames = { input = "I", weight = "F", output = "O" },
    stride == 1 and "Conv: O[m,p,q] = I[c, H: p + r, W: q + s] * F[m,c,r,s]"
      or ("Conv: O[m,p,q] = I[c, H: %d*p + r, W: %d*q + s] * F[m,c,r,s]"):format(stride, stride),
  }
end
