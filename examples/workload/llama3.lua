-- SPDX-License-Identifier: MIT
-- One block of Llama 3 8B: A. Grattafiori et al., "The Llama 3 Herd of Models", 2024, section 3.2
-- and table 3: width 4096, 32 heads of dimension 128 in 8 groups that share keys and values, a
-- gated feed-forward layer (SwiGLU) 14336 wide. Eleven einsums; the softmax is one of them,
-- normalisations, position embeddings and residual additions are left out.
local loom = require "einloom"

-- Variables: b sequences, m tokens that are computed, p tokens that are looked at, d width, g
-- groups of n heads, e and f dimensions of a head, j width of the feed-forward layer.
local sizes = { d = 4096, g = 8, n = 4, e = 128, f = 128, j = 14336 }

local function block(b, m, p, keys, values)
  local def = {
    sizes = { b = b, m = m, p = p }, bits = 16,
    renames = {
      weight = "WQ | WK | WV | WZ | WG | WU | WD", input = "Inputs - weight", output = "Outputs",
    },
    "Q[b,g,n,m,e] = X[b,m,d] * WQ[g,n,d,e]",
    keys,
    values,
    "QK[b,g,n,m,p] = Q[b,g,n,m,e] * K[b,g,p,e]",
    "Soft: S[b,g,n,m,p] = softmax(QK[b,g,n,m,p])",
    "AV[b,g,n,m,f] = S[b,g,n,m,p] * V[b,g,p,f]",
    "Z[b,m,d] = AV[b,g,n,m,f] * WZ[g,n,f,d]",
    "Gate: R[b,m,j] = Z[b,m,d] * WG[d,j]",
    "Up: U[b,m,j] = Z[b,m,d] * WU[d,j]",
    "Act: G[b,m,j] = silu(R[b,m,j]) * U[b,m,j]",
    "Down: Y[b,m,d] = G[b,m,j] * WD[j,d]",
  }
  for variable, size in pairs(sizes) do def.sizes[variable] = size end
  return loom.workload(def)
end

local phases = {
  -- All tokens at once; their keys and values are computed by the block.
  prefill = function(b, context)
    return block(b, context, context,
      "K[b,g,p,e] = X[b,p,d] * WK[g,d,e]", "V[b,g,p,f] = X[b,p,d] * WV[g,d,f]")
  end,
  -- One more token; the keys and values of the context are read.
  decode = function(b, context)
    return block(b, 1, context,
      "NewK: KN[b,g,m,e] = X[b,m,d] * WK[g,d,e]", "NewV: VN[b,g,m,f] = X[b,m,d] * WV[g,d,f]")
  end,
}

--- The block as a workload: "prefill" or "decode", for a number of sequences (1).
---@param phase "prefill"|"decode"
---@param batch? integer
---@param context? integer 2048 unless given; the model was trained on up to 8192
return function(phase, batch, context)
  return assert(phases[phase], "no such phase")(batch or 1, context or 2048)
end
