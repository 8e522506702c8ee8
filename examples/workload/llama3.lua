-- SPDX-License-Identifier: MIT
-- One block of Llama 3 8B: A. Grattafiori et al., "The Llama 3 Herd of Models", 2024, section 3.2
-- and table 3: width 4096, 32 heads of dimension 128 in 8 groups (g) of 4 (n) that share keys and
-- values, a gated feed-forward layer (SwiGLU) 14336 wide. Eleven einsums.
local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local block = dofile(here .. "decoder_block.lua")

local model = {
  sizes = { d = 4096, g = 8, n = 4, e = 128, f = 128, j = 14336 },
  heads = "g,n", keys = "g", weights = "WG | WU | WD",
  feed_forward = {
    "Gate: R[b,m,j] = Z[b,m,d] * WG[d,j]",
    "Up: U[b,m,j] = Z[b,m,d] * WU[d,j]",
    "Act: G[b,m,j] = silu(R[b,m,j]) * U[b,m,j]",
    "Down: Y[b,m,d] = G[b,m,j] * WD[j,d]",
  },
}

--- The block as a workload: "prefill" or "decode", for a number of sequences (1).
---@param phase "prefill"|"decode"
---@param batch? integer
---@param context? integer 2048 unless given; the model was trained on up to 8192
return function(phase, batch, context) return block(model, phase, batch or 1, context or 2048) end
