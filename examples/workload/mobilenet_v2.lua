-- SPDX-License-Identifier: MIT
-- Inverted residual blocks of MobileNet-v2: M. Sandler, A. Howard, M. Zhu, A. Zhmoginov, L.-C.
-- Chen, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, table 2. A block
-- widens its input t times by 1 x 1 convolutions, filters every channel by 3 x 3 with stride s, and
-- narrows the result. One image; the filtered tensor is padded by one on each side.
local loom = require "einloom"

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

--- The block of a row as a workload: its first one, or one of the `repeats` that follow.
---@param name string
---@param which? "first"|"repeats"
return function(name, which)
  local row = assert(rows[name], "no such row")
  local size, c, t, m, n, s = table.unpack(row)
  local count = 1
  if which == "repeats" then
    assert(n > 1, "the row has one block")
    size, c, s, count = size // s, m, 1, n - 1
  end
  local out = size // s
  local padded = s * (out - 1) + 3
  return loom.workload {
    n_instances = count,
    sizes = { c = c, e = t * c, m = m, p = out, q = out, r = 3, s = 3, h = padded, w = padded },
    bits = 8,
    renames = { input = "Inputs - weight", weight = "WE | WD | WP", output = "Outputs" },
    "Expand: E[e, h, w] = I[c, h, w] * WE[e, c]",
    ("Filter: D[e, p, q] = E[e, H: %d*p + r, W: %d*q + s] * WD[e, r, s]"):format(s, s),
    "Project: O[m, p, q] = D[e, p, q] * WP[m, e]",
  }
end
