-- SPDX-License-Identifier: MIT
-- Two matrix products on the simple machine: one after the other, with T1 in the main memory
-- between them, or fused over rows, with M0 rows of T1 in the buffer. The weights stay in the
-- buffer.
local loom = require "einloom"

return {
  unfused = loom.mapping [[
Main: T0 W1 T1 W2 T2
sequential
  branch
    Buffer: W1
    for m tile M0
      Buffer: T0 T1
      for m, n1, n0
        Mul1 on MAC
  branch
    Buffer: W2
    for m tile M0
      Buffer: T1 T2
      for m, n2, n1
        Mul2 on MAC
]],

  fused = loom.mapping [[
Main: T0 W1 W2 T2
Buffer: W1 W2
for m tile M0
  Buffer: T1
  sequential
    branch
      Buffer: T0
      for m, n1, n0
        Mul1 on MAC
    branch
      Buffer: T2
      for m, n2, n1
        Mul2 on MAC
]],
}
