-- SPDX-License-Identifier: MIT
-- Families a1 to a3 of simd/1: building index expressions, simplifying them under ranges, helpers.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"

local index = {}

local function check_boolean(run, at, expected, got)
  if expected ~= got then run.differ(at, tostring(expected), tostring(got)) end
end

-- ---- construction and simplification -------------------------------------------------------

local construct_keys = text.keys("id", "input", "result", "form", "samples", "sizes")

function index.a1_construct(run, raw)
  text.check_keys(run, raw, construct_keys)
  local texts = text.reader(raw.sizes)
  text.check(run, texts, "result", raw.result, texts:parse(raw.input), raw)
end

local simplify_keys =
  text.keys("id", "input", "ranges", "built", "result", "form", "samples", "sizes")

function index.a2_simplify_with_ranges(run, raw)
  text.check_keys(run, raw, simplify_keys)
  local texts = text.reader(raw.sizes)
  local built = texts:parse(raw.input)
  if raw.built then text.check(run, texts, "built", raw.built, built, { samples = raw.samples }) end
  local result = built:simplify(texts:extents(raw.ranges))
  text.check(run, texts, "result", raw.result, result, raw)
end

-- ---- helpers -------------------------------------------------------------------------------

local helpers = {}

local function check_rewriting(run, texts, raw, built, result)
  if raw.changed ~= nil then check_boolean(run, "changed", raw.changed, result ~= built) end
  text.check(run, texts, "result", raw.result, result, raw)
end

function helpers.pair_mod(run, texts, raw, built)
  check_rewriting(run, texts, raw, built, built:pair_mod())
end

function helpers.join(run, texts, raw, built)
  check_rewriting(run, texts, raw, built, built:join())
end

function helpers.expand_div(run, texts, raw, built)
  local numerator, divisor = built:expand_div()
  if text.is_null(raw.result) or not numerator then
    if not text.is_null(raw.result) or numerator then
      run.differ("result", core.json.encode(raw.result),
        numerator and ("%s over %s"):format(numerator, divisor) or "null")
    end
    return
  end
  text.check_keys(run, raw.result, text.keys("numerator", "divisor"))
  text.check(run, texts, "result.numerator", raw.result.numerator, numerator)
  text.check(run, texts, "result.divisor", raw.result.divisor, divisor)
  text.check(run, texts, "result", raw.input, numerator // divisor,
    { samples = raw.samples, form = text.form(numerator // divisor) })
end

local function variables_of(texts, names)
  local variables = {}
  for i, name in ipairs(names) do variables[i] = texts:parse(name) end
  return variables
end

function helpers.strides(run, texts, raw, built)
  local variables = variables_of(texts, raw.vars)
  local support = raw.support and variables_of(texts, raw.support)
  local strides = built:strides(variables, support)
  text.check_list(run, texts, "strides", raw.strides, strides)
  local hints = built:stride_hints(variables, texts:hints(), support)
  text.check_list(run, texts, "hints", raw.hints, hints)
  if raw.offset ~= nil then
    text.check(run, texts, "offset", raw.offset, built:offset(variables))
  end
end

-- What the old variables become: those left new ones in order, the others 0.
local function renaming(texts, n, kept)
  local list = {}
  for i = 1, n do list[i] = core.int(0) end
  for i, position in ipairs(kept) do list[position] = texts:symbol("y" .. i - 1) end
  return list
end

function helpers.loops(run, texts, raw)
  local variables = {}
  for i = 1, #raw.sizes_in do variables[i] = texts:symbol("x" .. i - 1) end
  local merged = core.merge_loops(variables, texts:parse_all(raw.sizes_in),
    texts:parse_all(raw.formulas), raw.keep_order)
  text.check_list(run, texts, "sizes_out", raw.sizes_out, merged.sizes)
  local kept = {}
  for i, position in ipairs(merged.kept) do kept[i] = core.int(position - 1) end
  text.check_list(run, texts, "kept", raw.kept, kept)
  text.check_list(run, texts, "old_vars_as_new", raw.old_vars_as_new,
    renaming(texts, #variables, merged.kept))
end

local rewriting_keys =
  text.keys("id", "op", "input", "built", "result", "changed", "form", "samples", "sizes")
local helper_keys = {
  pair_mod = rewriting_keys,
  join = rewriting_keys,
  expand_div = rewriting_keys,
  strides = text.keys("id", "op", "input", "vars", "support", "strides", "hints", "offset",
    "sizes"),
  loops = text.keys("id", "op", "sizes_in", "formulas", "keep_order", "sizes_out",
    "old_vars_as_new", "kept", "sizes"),
}

function index.a3_helpers(run, raw)
  local helper = helpers[raw.op]
  if not helper then return run.differ("op", "a helper", tostring(raw.op)) end
  text.check_keys(run, raw, helper_keys[raw.op])
  local texts = text.reader(raw.sizes)
  local built = raw.input and texts:parse(raw.input)
  if raw.built then text.check(run, texts, "built", raw.built, built, { samples = raw.samples }) end
  helper(run, texts, raw, built)
end

return index
