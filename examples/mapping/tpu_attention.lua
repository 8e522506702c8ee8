-- SPDX-License-Identifier: MIT
-- Attention on the TPUv4i-like machine: a matrix unit for each of four heads; the vector unit works
-- on 8 rows of 128 values.
--
-- unfused    every tensor goes through the HBM
-- fused      whole rows of scores, for 128 queries of four heads, stay in the vector memory, these
--            queries, and keys and values of these heads, in the common memory
-- pipelined  the same, and the matrix units go on with the next queries while the vector unit works
--            on the last
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local branches = dofile(here .. "tpu_branches.lua")

local order = "QK Max Exp Sum AV Div"

-- On rows of scores; `held` is what there is one of for each row.
local function rowwise(held, input)
  return { on = "VPU", outer = "h tile 1, m tile 8", held = held, reduce = "p tile 128",
    input = input, sublane = "m tile 1", lane = "p tile 1" }
end

-- The einsums, as they are when nothing is fused.
local function einsums()
  return {
    QK = { common = "Q", outer = "h tile 4, p tile 128", held = "QK", input = "Q", weight = "K",
      unit = "h tile 1", row = "e", column = "p", rest = "m" },
    Max = rowwise("M", "QK"),
    Exp = rowwise("M", "QK S"),
    Sum = rowwise("L", "S"),
    AV = { outer = "h tile 4", held = "AV", reduce = "p tile 128", input = "S", weight = "V",
      unit = "h tile 1", row = "p", column = "f", rest = "m" },
    Div = { on = "VPU", outer = "h tile 1, m tile 8", held = "L", input = "AV O",
      sublane = "m tile 1", lane = "f tile 1" },
  }
end

local function fused(split)
  local list = einsums()
  for _, e in pairs(list) do e.held, e.input = false, false end
  list.QK.outer, list.QK.input = "p tile 128", "Q"
  list.AV.outer = false
  list.Div.input = "O"
  return "HBM: Q K V O\nfor h tile 4\n  CMEM: K V\n  for m tile 128\n    VMEM: QK M S L AV\n"
    .. ("    %s\n"):format(split) .. branches(list, order, 3)
end

return {
  unfused = loom.mapping("HBM: Q K QK M S L V AV O\nsequential\n"
    .. branches(einsums(), order, 1)),
  fused = loom.mapping(fused "sequential"),
  pipelined = loom.mapping(fused "pipeline"),
}
