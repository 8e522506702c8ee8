-- SPDX-License-Identifier: MIT
-- Families of tilings in simd/1: building them, candidates, blocks, which fit, which is chosen.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"

local tilings = {}

-- ---- comparing -----------------------------------------------------------------------------

--- A recorded tiling [[prefix, extent], ...] as one of the core.
---@param texts einloom.SimdTexts
---@param recorded table
---@return einloom.Tiling
function tilings.read(texts, recorded)
  local tiling = {}
  for i, range in ipairs(recorded) do tiling[i] = { range[1], texts:parse(range[2]) } end
  return tiling
end

local function show(tiling)
  local list = {}
  for i, range in ipairs(tiling) do list[i] = ("%s %s"):format(range[1], range[2]) end
  return "[" .. table.concat(list, ", ") .. "]"
end

--- Compares two tilings.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string
---@param expected table
---@param got einloom.Tiling
function tilings.check(run, texts, at, expected, got)
  if #expected ~= #got then return run.differ(at, show(expected), show(got)) end
  for i, range in ipairs(expected) do
    if range[1] ~= got[i][1] then return run.differ(at, show(expected), show(got)) end
    text.check(run, texts, ("%s.%s"):format(at, range[1]), range[2], got[i][2])
  end
end

local function check_all(run, texts, at, expected, got)
  if #expected ~= #got then
    local shown = {}
    for i, tiling in ipairs(got) do shown[i] = show(tiling) end
    return run.differ(at, core.json.encode(expected), table.concat(shown, " "))
  end
  for i, tiling in ipairs(expected) do
    tilings.check(run, texts, ("%s[%d]"):format(at, i), tiling, got[i])
  end
end

-- ---- building ------------------------------------------------------------------------------

local builders = {}

function builders.create(texts, raw)
  return core.tiling_create(texts:parse_all(raw.pointwise), texts:parse_all(raw.reduction))
end

function builders.partial(texts, raw)
  local splits = texts:parse_all(raw.splits)
  return core.tiling_create(raw.is_pointwise and splits or {}, raw.is_pointwise and {} or splits)
end

function builders.complete(texts, raw)
  return core.tiling_complete(tilings.read(texts, raw.partial),
    { texts:parse(raw.numel), texts:parse(raw.reduction_numel) })
end

local builder_keys = {
  create = text.keys("id", "op", "pointwise", "reduction", "result"),
  partial = text.keys("id", "op", "splits", "is_pointwise", "result"),
  complete = text.keys("id", "op", "partial", "numel", "reduction_numel", "result"),
  good_size = text.keys("id", "op", "n", "result"),
}

function tilings.d_tiling_basic(run, raw)
  local texts, keys = text.reader(raw.sizes), builder_keys[raw.op]
  if not keys then return run.differ("op", "a way to build tilings", tostring(raw.op)) end
  text.check_keys(run, raw, keys)
  if raw.op == "good_size" then
    local good = core.tiling_good_size(texts:parse(raw.n))
    if good ~= raw.result then run.differ("result", tostring(raw.result), tostring(good)) end
    return
  end
  tilings.check(run, texts, "result", raw.result, assert(builders[raw.op](texts, raw)))
end

-- ---- candidates ----------------------------------------------------------------------------

local candidate_keys = text.keys("name", "score", "tiling")

local function check_candidates(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, core.json.encode(expected), #got .. " candidates")
  end
  for i, candidate in ipairs(expected) do
    local here = ("%s[%d]"):format(at, i)
    text.check_keys(run, candidate, candidate_keys)
    local name = got[i].buffer or "none"
    if name ~= candidate.name then run.differ(here .. ".name", candidate.name, name) end
    text.check(run, texts, here .. ".score", candidate.score, got[i].score)
    tilings.check(run, texts, here .. ".tiling", candidate.tiling, got[i].tiling)
  end
end

-- ---- option sets ---------------------------------------------------------------------------

--- What the option sets mean that use no analysis of coalescing.
tilings.options = {
  plain = {},
  one = { max_tiles = 1 },
  three = { max_tiles = 3 },
  nd = { blocks = true },
  nd3 = { blocks = true, max_tiles = 3 },
  red = { reductions = true },
  nd_red = { blocks = true, reductions = true },
}

function tilings.check_plain(run, texts, raw, graph)
  local extents = { texts:parse(raw.numel), texts:parse(raw.reduction_numel) }
  for _, node in ipairs(raw.candidates) do
    check_candidates(run, texts, "candidates." .. node.node, node.list,
      graph:candidates(node.node, extents))
  end
  for _, max in ipairs { 2, 3 } do
    check_all(run, texts, "nd_tilings_max" .. max, raw["nd_tilings_max" .. max],
      graph:block_tilings(raw.schedule, extents, max))
  end
  for i, fit in ipairs(raw.fits) do
    local fits = graph:fits(raw.schedule, extents, tilings.read(texts, fit.tiling))
    if fits ~= fit.fits then
      run.differ(("fits[%d]"):format(i), tostring(fit.fits), tostring(fits))
    end
  end
  for name, options in pairs(tilings.options) do
    local expected = raw.select[name]
    local got, message = graph:tiling(raw.schedule, extents, options)
    if not got then
      run.differ("select." .. name, core.json.encode(expected.tiling), message)
    else
      tilings.check(run, texts, "select." .. name, expected.tiling, got)
    end
  end
end

return tilings
