-- SPDX-License-Identifier: MIT
-- Attention with its softmax spelled out, numerically stable: the maximum of each row of scores,
-- the exponentials, their sum, and the division at the end, where it is done once per output. A.
-- Vaswani et al., "Attention Is All You Need", NeurIPS 2017, section 3.2.1; the late division as in
-- T. Dao et al., "FlashAttention", NeurIPS 2022, section 3.1.
local loom = require "einloom"

--- Attention of m queries over p keys in h heads of dimension e as a workload.
---@param t { h: integer, m: integer, p: integer, e: integer, bits: integer? }
return function(t)
  return loom.workload {
    sizes = { h = t.h, m = t.m, p = t.p, e = t.e, f = t.e },
    bits = t.bits or 16,
    "QK[h,m,p] = Q[h,m,e] * K[h,p,e]",
    "Max: M[h,m] max= QK[h,m,p]",
    "Exp: S[h,m,p] = exp(QK[h,m,p] - M[h,m])",
    "Sum: L[h,m] = S[h,m,p]",
    "AV[h,m,f] = S[h,m,p] * V[h,p,f]",
    "Div: O[h,m,f] = AV[h,m,f] / L[h,m]",
  }
end
