-- SPDX-License-Identifier: MIT
-- One block of GPT-3 6.7B: T. B. Brown et al., "Language Models are Few-Shot Learners", NeurIPS
-- 2020, section 2.1 and table 2.1: width 4096, 32 heads (h) of dimension 128, a feed-forward layer
-- four times as wide, contexts of 2048 tokens. Ten einsums.
local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local block = dofile(here .. "decoder_block.lua")

local model = {
  sizes = { d = 4096, h = 32, e = 128, f = 128, j = 4 * 4096 },
  heads = "h", keys = "h", weights = "WU | WD",
  feed_forward = {
    "Up: U[b,m,j] = Z[b,m,d] * WU[d,j]",
    "Act: G[b,m,j] = gelu(U[b,m,j])",
    "Down: Y[b,m,d] = G[b,m,j] * WD[j,d]",
  },
}

--- The block as a workload: "prefill" or "decode", for a number of sequences (1).
---@param phase "prefill"|"decode"
---@param batch? integer
---@param context? integer 2048 unless given
return function(phase, batch, context) return block(model, phase, batch or 1, context or 2048) end
