-- SPDX-License-Identifier: MIT
-- Families d_coalesce_helpers and d_tiling of simd/1: addresses walked element by element, the
-- analysis of kernels, tilings with and without it.

local core = require "einloom.core"
local errors = require "einloom.errors"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"
local tilings = require "einloom.verify.simd.tilings"

local coalesce = {}

-- ---- helpers -------------------------------------------------------------------------------

local function loops_of(texts, ranges)
  local loops = {}
  for i, name in ipairs(errors.keys(ranges)) do
    loops[i] = { texts:symbol(name), texts:parse(ranges[name]) }
  end
  return loops
end

local helpers = {}

function helpers.zero(texts, raw)
  local e = texts:parse(raw.input)
  local variable = e:symbols()[1]
  return variable and core.zero_of(e, variable)
end

function helpers.factor(texts, raw) return core.unit_factor(texts:parse(raw.input)) end

function helpers.coalescing_var(texts, raw)
  local loops = loops_of(texts, raw.ranges)
  local position = core.unit_loop(texts:parse(raw.input), loops, graphs.given(texts))
  return position and loops[position][1]
end

function helpers.score(texts, raw)
  return core.address_points(texts:parse(raw.input), loops_of(texts, raw.ranges),
    graphs.given(texts))
end

local helper_keys = text.keys("id", "op", "input", "built", "ranges", "result", "sizes")

function coalesce.d_coalesce_helpers(run, raw)
  text.check_keys(run, raw, helper_keys)
  local helper = helpers[raw.op]
  if not helper then return run.differ("op", "a helper", tostring(raw.op)) end
  -- Where a case tells no sizes its symbolic sizes have the hint that the others tell.
  local texts = text.reader(raw.sizes or { s0 = { hint = 6, min = 2 } })
  if raw.built then text.check(run, texts, "built", raw.built, texts:parse(raw.input)) end
  local got = helper(texts, raw)
  if text.is_null(raw.result) or not got then
    if not text.is_null(raw.result) or got then
      run.differ("result", core.json.encode(raw.result), tostring(got))
    end
    return
  end
  text.check(run, texts, "result", raw.result, got)
end

-- ---- the analysis --------------------------------------------------------------------------

local function sorted_names(list)
  local names = table.move(list, 1, #list, 1, {})
  table.sort(names)
  return table.concat(names, " ")
end

-- Addresses are found by their expressions; both sides have the same ones.
local function check_addresses(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, core.json.encode(expected), #got .. " addresses")
  end
  local by_index = {}
  for _, address in ipairs(got) do by_index[address.index] = address end
  for i, address in ipairs(expected) do
    local here = ("%s[%d]"):format(at, i)
    local found = by_index[texts:parse(address[1])] or got[i]
    text.check(run, texts, here .. "[1]", address[1], found.index)
    local names = sorted_names(found.buffers)
    if sorted_names(address[2]) ~= names then
      run.differ(here .. "[2]", sorted_names(address[2]), names)
    end
  end
end

local function check_coalesced(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, core.json.encode(expected), #got .. " variables")
  end
  for i, item in ipairs(expected) do
    local here = ("%s[%d]"):format(at, i)
    text.check(run, texts, here .. "[1]", item[1], got[i].variable)
    if item[2] ~= got[i].score then
      run.differ(here .. "[2]", tostring(item[2]), tostring(got[i].score))
    end
  end
end

local function check_split(run, texts, at, expected, got)
  if text.is_null(expected) or not got then
    if not text.is_null(expected) or got then
      run.differ(at, core.json.encode(expected), got and tostring(got.factor) or "null")
    end
    return
  end
  text.check_keys(run, expected, text.keys("var", "factor", "score"))
  text.check(run, texts, at .. ".var", expected.var, got.variable)
  text.check(run, texts, at .. ".factor", expected.factor, core.int(got.factor))
  text.check(run, texts, at .. ".score", expected.score, core.int(got.score))
end

local analysis_keys = text.keys("pointwise_vars", "reduction_vars", "reads", "writes", "coalesced",
  "split")

--- Compares the analysis of a kernel; null where it gives up.
function coalesce.check_analysis(run, texts, at, expected, got)
  if text.is_null(expected) or not got then
    if not text.is_null(expected) or got then
      run.differ(at, text.is_null(expected) and "null" or "an analysis", got and "one" or "null")
    end
    return
  end
  text.check_keys(run, expected, analysis_keys)
  graphs.check_loops(run, texts, at .. ".pointwise_vars", expected.pointwise_vars, got.pointwise)
  graphs.check_loops(run, texts, at .. ".reduction_vars", expected.reduction_vars, got.reduction)
  check_addresses(run, texts, at .. ".reads", expected.reads, got.reads)
  check_addresses(run, texts, at .. ".writes", expected.writes, got.writes)
  check_coalesced(run, texts, at .. ".coalesced", expected.coalesced, got.coalesced)
  check_split(run, texts, at .. ".split", expected.split, got.split)
end

-- ---- tilings -------------------------------------------------------------------------------

local function show(tiling)
  local list = {}
  for i, range in ipairs(tiling) do list[i] = ("%s %s"):format(range[1], range[2]) end
  return table.concat(list, ", ")
end

local function check_candidates(run, at, expected, got)
  local theirs, ours = {}, {}
  for i, item in ipairs(expected or {}) do
    theirs[i] = ("[%s] %s"):format(show(item.tiling), item.score)
  end
  for i, item in ipairs(got or {}) do
    ours[i] = ("[%s] %d"):format(show(item.tiling), item.total)
  end
  table.sort(theirs)
  table.sort(ours)
  local wanted, found = table.concat(theirs, " "), table.concat(ours, " ")
  if wanted ~= found then run.differ(at, wanted, found) end
end

local function scores_text(scores)
  local list = {}
  for _, score in ipairs(scores) do list[#list + 1] = ("%s %s"):format(score[1], score[2]) end
  return table.concat(list, ", ")
end

local function own_scores(scored)
  local list = {}
  for _, range in ipairs(scored.tiling) do
    local score = scored.scores[range[1]]
    if score then list[#list + 1] = { range[1], score } end
  end
  return list
end

-- Ties: any of the tilings of the same rank is right.
local function is_equally_good(expected, got)
  for _, other in ipairs(expected.equally_good or {}) do
    if show(other.tiling or other) == show(got) then return true end
  end
  return false
end

--- Compares a tiling chosen by the analysis with its scores.
function coalesce.check_choice(run, texts, at, expected, scored)
  text.check_keys(run, expected, text.keys("tiling", "scores", "equally_good"))
  if show(expected.tiling) ~= show(scored.tiling) then
    if not is_equally_good(expected, scored.tiling) then
      tilings.check(run, texts, at .. ".tiling", expected.tiling, scored.tiling)
    end
    return
  end
  local theirs = text.is_null(expected.scores) and "" or scores_text(expected.scores)
  local ours = scores_text(own_scores(scored))
  if theirs ~= ours then run.differ(at .. ".scores", theirs, ours) end
end

coalesce.max_tiles = { coal = 3, coal2 = 2 }

--- Compares the tilings of the option sets that use the analysis.
function coalesce.check_choices(run, texts, at, expected, graph, schedule, extents)
  for name, max_tiles in pairs(coalesce.max_tiles) do
    local here = at .. "." .. name
    local scored, message = graph:coalesced_tiling(schedule, extents, { max_tiles = max_tiles })
    if message then return run.differ(here, "a tiling", message) end
    if not scored then
      scored = { tiling = assert(graph:tiling(schedule, extents, { max_tiles = max_tiles })),
        scores = {} }
    end
    coalesce.check_choice(run, texts, here, expected[name], scored)
  end
end

local case_keys = text.keys("id", "buffers", "nodes", "internal", "numel", "reduction_numel",
  "schedule", "candidates", "nd_tilings_max2", "nd_tilings_max3", "coalesce", "fits", "select",
  "coalesce_candidates", "sizes")

function coalesce.d_tiling(run, raw)
  text.check_keys(run, raw, case_keys)
  local texts = text.reader(raw.sizes)
  local graph = graphs.read(texts, raw)
  local extents = { texts:parse(raw.numel), texts:parse(raw.reduction_numel) }
  graphs.check(run, texts, raw, graph)
  tilings.check_plain(run, texts, raw, graph)
  local analysis, message = graph:coalesce(raw.schedule, extents)
  if message then return run.differ("coalesce", "an analysis", message) end
  coalesce.check_analysis(run, texts, "coalesce", raw.coalesce, analysis)
  check_candidates(run, "coalesce_candidates", raw.coalesce_candidates,
    graph:coalesced_tilings(raw.schedule, extents))
  coalesce.check_choices(run, texts, "select", raw.select, graph, raw.schedule, extents)
end

return coalesce
