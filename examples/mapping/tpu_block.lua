-- SPDX-License-Identifier: MIT
-- Transformer blocks on the TPUv4i-like machine, as loop-nest text written from a table of einsums.
--
-- unfused    every tensor goes through the HBM; what an einsum reads again stays in the common
--            memory
-- fused      the scores of some queries, and the widened values of some columns of the feed-forward
--            layer, stay in the vector memory; all other intermediates in the common memory
-- pipelined  the same, and the matrix units go on with the next queries while the vector unit works
--            on the last
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local branches = dofile(here .. "tpu_branches.lua")

-- Heads of the models: those that the matrix units share and the one of a unit, for queries and for
-- keys.
local models = {
  gpt3 = {
    heads = "h tile 4", head = "h", key_heads = "h tile 4", key_head = "h", each = "h",
    inner = "Up Act Down", widened = "U G", act = "U",
    weights = "WQ WK WV WZ WU WD",
  },
  llama3 = {
    heads = "g tile 1", head = "n", key_heads = "g tile 4", key_head = "g", each = "g, n",
    inner = "Gate Up Act Down", widened = "R U G", act = "R U",
    weights = "WQ WK WV WZ WG WU WD",
  },
}

-- The einsums of a block, as they are when nothing is fused.
local function einsums(model, phase)
  local passing = phase == "prefill" and "b, p" or "b, m"
  local function projection(name, output, column)
    return { name = name, input = "X", weight = "W" .. output:sub(1, 1), held = output,
      common = "X", outer = model.key_heads, reduce = "d tile 128", unit = model.key_head,
      row = "d", column = column, rest = passing }
  end
  local function widening(weight, output)
    return { input = "Z", weight = weight, held = output, common = "Z", outer = "j tile 512",
      reduce = "d tile 128", unit = "j tile 128", row = "d", column = "j", rest = "b, m" }
  end
  local new = phase == "decode"
  return {
    Q = { input = "X", weight = "WQ", held = "Q", common = "X", outer = model.heads,
      reduce = "d tile 128", unit = model.head, row = "d", column = "e", rest = "b, m" },
    K = projection(new and "NewK" or "K", new and "KN" or "K", "e"),
    V = projection(new and "NewV" or "V", new and "VN" or "V", "f"),
    QK = { input = "Q", weight = "K", held = "QK", common = "Q",
      outer = "b, " .. model.heads .. ", p tile 128", unit = model.head, row = "e", column = "p",
      rest = "m" },
    Soft = { on = "VPU", input = "QK", held = "S",
      outer = "b, " .. model.heads .. ", p tile 128", sublane = model.head, lane = "p",
      rest = "m" },
    AV = { input = "S", weight = "V", held = "AV", outer = "b, " .. model.heads,
      reduce = "p tile 128", unit = model.head, row = "p", column = "f", rest = "m" },
    Z = { input = "AV", weight = "WZ", held = "Z", common = "AV", outer = "d tile 512",
      reduce = model.each, unit = "d tile 128", row = "f", column = "d", rest = "b, m" },
    Gate = widening("WG", "R"),
    Up = widening("WU", "U"),
    Act = { on = "VPU", input = model.act, held = "G", outer = "j tile 512",
      sublane = "j tile 128", lane = "j", rest = "b, m" },
    Down = { input = "G", weight = "WD", held = "Y", common = "G", outer = "d tile 512",
      reduce = "j tile 128", unit = "d tile 128", row = "j", column = "d", rest = "b, m" },
  }
end

local function unfused(model, phase)
  local kept = phase == "decode" and "K V KN VN" or "K V"
  return ("HBM: X %s Q %s QK S AV Z %s Y\nsequential\n"):format(model.weights, kept, model.widened)
    .. branches(einsums(model, phase), "Q K V QK Soft AV Z " .. model.inner, 1)
end

-- An einsum inside fused loops: other values for some of its fields, false for none.
local function inside(e, changes)
  for key, value in pairs(changes) do e[key] = value end
  e.common = nil
end

local function fused(model, phase, split)
  local list = einsums(model, phase)
  for _, e in pairs(list) do e.common = nil end
  inside(list.QK, { outer = "p tile 128", held = false })
  inside(list.Soft, { outer = "p tile 128", held = false, input = false })
  inside(list.AV, { outer = false, input = false })
  inside(list.Gate, { outer = false, held = false })
  inside(list.Up, { outer = false, held = false })
  inside(list.Act, { outer = false, held = false, input = false })
  inside(list.Down, { input = false })
  local decode = phase == "decode"
  return ("HBM: X %s %s Y\n"):format(model.weights, decode and "K V KN VN" or "")
    .. ("CMEM: X Q %s AV Z\nsequential\n"):format(decode and "" or "K V")
    .. branches(list, "Q K V", 1)
    .. ("  branch\n    for b, %s, m tile %d\n"):format(model.heads, decode and 1 or 128)
    .. ("      VMEM: QK S\n      %s\n"):format(split)
    .. branches(list, "QK Soft AV", 4)
    .. branches(list, "Z", 1)
    .. "  branch\n    CMEM: Y\n    for j tile 512\n"
    .. ("      VMEM: %s\n      sequential\n"):format(model.widened)
    .. branches(list, model.inner, 4)
end

local ways = {
  unfused = unfused,
  fused = function(model, phase) return fused(model, phase, "sequential") end,
  pipelined = function(model, phase) return fused(model, phase, "pipeline") end,
}

--- The mapping of a block.
---@param model "gpt3"|"llama3"
---@param phase "prefill"|"decode"
---@param way "unfused"|"fused"|"pipelined"
return function(model, phase, way)
  return loom.mapping(ways[way](assert(models[model], "no such model"), phase))
end
