-- SPDX-License-Identifier: MIT
-- An inverted residual block of MobileNet-v2 on the simple machine: layer by layer, or fused over
-- the widened channels: E0 channels at a time are computed, filtered and added to the output, and
-- the two wide tensors never leave the buffer.
local loom = require "einloom"

return {
  unfused = loom.mapping [[
Main: I WE E WD D WP O
sequential
  branch
    Buffer: I
    for e tile E0
      Buffer: WE
      for h tile 1
        Buffer: E
        for e, w, c
          Expand on MAC
  branch
    for e tile 1
      Buffer: E WD D
      for p, q, r, s
        Filter on MAC
  branch
    Buffer: WP
    for p tile 1
      Buffer: D O
      for q, m, e
        Project on MAC
]],

  fused = loom.mapping [[
Main: I WE WD WP O
Buffer: I O
for e tile E0
  Buffer: E D
  sequential
    branch
      Buffer: WE
      for h, w, e, c
        Expand on MAC
    branch
      Buffer: WD
      for e, p, q, r, s
        Filter on MAC
    branch
      Buffer: WP
      for p, q, m, e
        Project on MAC
]],
}
