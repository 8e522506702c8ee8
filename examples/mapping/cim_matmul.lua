-- SPDX-License-Identifier: MIT
-- A matrix product in the array: 64 x 16 weights stay for all rows of the input; sums of more than
-- 64 products are added up outside.
local loom = require "einloom"

return loom.mapping [[
Host: T0 W1 T1
toll DAC: T0
toll ADC: T1
for n1 tile 16, n0 tile 64
  par n1 tile 1 on Column.c
  par n0 tile 1 on Row.r
    Cell: W1
    for m
      MAC
]]
