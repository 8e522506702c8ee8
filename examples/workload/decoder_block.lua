-- SPDX-License-Identifier: MIT
-- One block of a decoder of text: attention over the tokens so far, then a feed-forward layer. The
-- softmax is one einsum; biases, normalisations, position embeddings and residual additions are
-- left out. Variables: b sequences, m tokens that are computed, p tokens that are looked at, d
-- width, e and f dimensions of a head, j width of the feed-forward layer, and those that number the
-- heads.
local loom = require "einloom"

-- Keys and values of all tokens, computed by the block; or of one more, next to those of the
-- context, which are read.
local keys_and_values = {
  prefill = {
    "K[b,$keys,p,e] = X[b,p,d] * WK[$keys,d,e]", "V[b,$keys,p,f] = X[b,p,d] * WV[$keys,d,f]",
  },
  decode = {
    "NewK: KN[b,$keys,m,e] = X[b,m,d] * WK[$keys,d,e]",
    "NewV: VN[b,$keys,m,f] = X[b,m,d] * WV[$keys,d,f]",
  },
}

---@class decoder
---@field sizes table<string, integer> of d, e, f, j and the variables of the heads
---@field heads string variables that number the heads of queries
---@field keys string those of keys and values
---@field weights string weights of the feed-forward layer as a set
---@field feed_forward string[] its einsums, from Z to Y

--- The block as a workload: all of the context at once, or one more token.
---@param t decoder
---@param phase "prefill"|"decode"
---@param batch integer
---@param context integer
return function(t, phase, batch, context)
  local new = assert(keys_and_values[phase], "no such phase")
  local def = {
    "Q[b,$heads,m,e] = X[b,m,d] * WQ[$heads,d,e]",
    new[1],
    new[2],
    "QK[b,$heads,m,p] = Q[b,$heads,m,e] * K[b,$keys,p,e]",
    "Soft: S[b,$heads,m,p] = softmax(QK[b,$heads,m,p])",
    "AV[b,$heads,m,f] = S[b,$heads,m,p] * V[b,$keys,p,f]",
    "Z[b,m,d] = AV[b,$heads,m,f] * WZ[$heads,f,d]",
    table.unpack(t.feed_forward),
  }
  for i, einsum in ipairs(def) do def[i] = einsum:gsub("%$(%a+)", t) end
  def.sizes = { b = batch, m = phase == "decode" and 1 or context, p = context }
  for variable, size in pairs(t.sizes) do def.sizes[variable] = size end
  def.bits = 16
  def.renames = {
    weight = "WQ | WK | WV | WZ | " .. t.weights, input = "Inputs - weight", output = "Outputs",
  }
  return loom.workload(def)
end
