-- SPDX-License-Identifier: MIT
-- One block of GPT-3 6.7B: T. B. Brown et al., "Language Models are Few-Shot Learners", NeurIPS
-- 2020, section 2.1 and table 2.1: width 4096, 32 heads of dimension 128, a feed-forward layer four
-- times as wide, contexts of 2048 tokens. Ten einsums; the softmax is one of them, biases,
-- normalisations and residual additions are left out.
local loom = require "einloom"

-- Variables: b sequences, m tokens that are computed, p tokens that are looked at, d width, h
-- heads, e and f dimensions of a head, j width of the feed-forward layer.
local sizes = { d = 4096, h = 32, e = 128, f = 128, j = 4 * 4096 }

local function block(b, m, p, keys, values)
  local def = {
    sizes = { b = b, m = m, p = p }, bits = 16,
    renames = {
      weight = "WQ | WK | WV | WZ | WU | WD", input = "Inputs - weight", output = "Outputs",
    },
    "Q[b,h,m,e] = X[b,m,d] * WQ[h,d,e]",
    keys,
    values,
    "QK[b,h,m,p] = Q[b,h,m,e] * K[b,h,p,e]",
    "Soft: S[b,h,m,p] = softmax(QK[b,h,m,p])",
    "AV[b,h,m,f] = S[b,h,m,p] * V[b,h,p,f]",
    "Z[b,m,d] = AV[b,h,m,f] * WZ[h,f,d]",
    "Up: U[b,m,j] = Z[b,m,d] * WU[d,j]",
    "Act: G[b,m,j] = gelu(U[b,m,j])",
    "Down: Y[b,m,d] = G[b,m,j] * WD[j,d]",
  }
  for variable, size in pairs(sizes) do def.sizes[variable] = size end
  return loom.workload(def)
end

local phases = {
  -- All tokens at once; their keys and values are computed by the block.
  prefill = function(b, context)
    return block(b, context, context,
      "K[b,h,p,e] = X[b,p,d] * WK[h,d,e]", "V[b,h,p,f] = X[b,p,d] * WV[h,d,f]")
  end,
  -- One more token; the keys and values of the context are read.
  decode = function(b, context)
    return block(b, 1, context,
      "NewK: KN[b,h,m,e] = X[b,m,d] * WK[h,d,e]", "NewV: VN[b,h,m,f] = X[b,m,d] * WV[h,d,f]")
  end,
}

--- The block as a workload: "prefill" or "decode", for a number of sequences (1).
---@param phase "prefill"|"decode"
---@param batch? integer
---@param context? integer 2048 unless given
return function(phase, batch, context)
  return assert(phases[phase], "no such phase")(batch or 1, context or 2048)
end
