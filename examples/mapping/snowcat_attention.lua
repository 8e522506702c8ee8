-- SPDX-License-Identifier: MIT
-- Attention on the Snowcat-like machine. What is not held in the buffer goes through the backing
-- store.
--
-- unfused  one einsum after the other
-- rows     all six fused over M0 queries; whole rows of scores stay in the buffer (as in S.-C. Kao
--          et al., "FLAT: An Optimized Dataflow for Mitigating Attention Bottlenecks", ASPLOS 2023)
-- late     scores and exponentials are fused as in `rows`, the products with V come afterwards, so
--          that the exponentials, but not the scores, go through the backing store
local loom = require "einloom"

return {
  unfused = loom.mapping [[
Backing: Q K QK M S L V AV O
sequential
  branch
    for h tile 1, m tile M0
      Buffer: Q
      for p tile 1
        Buffer: K QK
        for m, e
          QK on Unit
  branch
    for h tile 1, m tile 1
      Buffer: QK M
      for p
        Max on Unit
  branch
    for h tile 1, m tile 1
      Buffer: QK M S
      for p
        Exp on Unit
  branch
    for h tile 1, m tile 1
      Buffer: S L
      for p
        Sum on Unit
  branch
    for h tile 1, m tile M0
      Buffer: AV
      for p tile 1
        Buffer: S V
        for m, f
          AV on Unit
  branch
    for h tile 1, m tile 1
      Buffer: AV L O
      for f
        Div on Unit
]],

  rows = loom.mapping [[
Backing: Q K V O
for h tile 1
  Buffer: K V
  for m tile M0
    Buffer: QK M S L AV
    sequential
      branch
        Buffer: Q
        for m, p, e
          QK on Unit
      branch
        for m, p
          Max on Unit
      branch
        for m, p
          Exp on Unit
      branch
        for m, p
          Sum on Unit
      branch
        for m, p, f
          AV on Unit
      branch
        Buffer: O
        for m, f
          Div on Unit
]],

  late = loom.mapping [[
Backing: Q K S V O
for h tile 1
  Buffer: L AV
  sequential
    branch
      Buffer: K
      for m tile M0
        Buffer: QK M
        sequential
          branch
            Buffer: Q
            for m, p, e
              QK on Unit
          branch
            for m, p
              Max on Unit
          branch
            for m, p
              Buffer: S
              Exp on Unit
    branch
      for m, p
        Buffer: S
        Sum on Unit
    branch
      Buffer: V
      for m tile M0
        Buffer: S
        for m, p, f
          AV on Unit
    branch
      for m tile 1
        Buffer: O
        for f
          Div on Unit
]],
}
