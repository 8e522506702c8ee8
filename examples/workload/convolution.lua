-- SPDX-License-Identifier: MIT
-- A convolution of one image, O = I * F, with the same names whatever network it is from, so that a
-- mapping serves all layers of its kind: m kernels of c channels, p x q outputs, r x s filters. A
-- depthwise one filters each channel alone and has no m. The input is padded: for p outputs at
-- stride 1 and r filter rows it has p + r - 1 rows. What a 1 x 1 filter skips at stride 2 is no
-- part of its input.
local loom = require "einloom"

local texts = {
  full = "Conv: O[m,p,q] = I[c, H: %sp + r, W: %sq + s] * F[m,c,r,s]",
  depthwise = "Conv: O[c,p,q] = I[c, H: %sp + r, W: %sq + s] * F[c,r,s]",
}

---@class convolution
---@field m? integer none for a depthwise one
---@field c integer
---@field p integer rows and columns of the output
---@field r? integer rows and columns of the filter, 1 unless given
---@field stride? integer 1 unless given

--- A convolution as a workload.
---@param t convolution
---@param bits integer
return function(t, bits)
  local r = t.r or 1
  local step = r > 1 and (t.stride or 1) > 1 and t.stride .. "*" or ""
  return loom.workload {
    sizes = { m = t.m, c = t.c, p = t.p, q = t.p, r = r, s = r },
    bits = { All = bits },
    renames = { input = "I", weight = "F", output = "O" },
    texts[t.m and "full" or "depthwise"]:format(step, step),
  }
end
