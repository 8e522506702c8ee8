-- SPDX-License-Identifier: MIT
-- Families a4 and a5 of simd/1: provable facts and hints of sizes, blocks of divisions and
-- remainders.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"

local facts = {}

-- ---- facts ---------------------------------------------------------------------------------

local relations = text.keys("eq", "le", "lt", "ge", "gt", "multiple")
local relation_keys = text.keys("id", "sizes", "op", "left", "right", "known")
local hint_keys = text.keys("id", "sizes", "op", "left", "fallback", "value")

local function check_known(run, texts, raw)
  text.check_keys(run, raw, relation_keys)
  local left, right = texts:parse(raw.left), texts:parse(raw.right)
  local known = left:known(raw.op, right, { extents = texts:extents(), hints = texts:hints() })
  if known ~= raw.known then run.differ("known", tostring(raw.known), tostring(known)) end
end

local function check_hint(run, texts, raw)
  text.check_keys(run, raw, hint_keys)
  local value = texts:parse(raw.left):hint(texts:hints(), raw.fallback)
  if value ~= core.number(raw.value) then
    run.differ("value", tostring(raw.value), tostring(value))
  end
end

function facts.a4_known(run, raw)
  local texts = text.reader(raw.sizes)
  if relations[raw.op] then return check_known(run, texts, raw) end
  if raw.op == "hint" or raw.op == "hint_with_fallback" then return check_hint(run, texts, raw) end
  run.differ("op", "a relation or a hint", tostring(raw.op))
end

-- ---- blocks --------------------------------------------------------------------------------

local blocks = {}

function blocks.terms_of(run, texts, raw, input, variable)
  text.check(run, texts, "result", raw.result, input:terms_of(variable))
end

-- Differs and returns true where one side has no result.
local function one_is_null(run, raw, got)
  local expects_null = text.is_null(raw.result)
  if expects_null ~= (got == nil) then
    run.differ("result", core.json.encode(raw.result), got == nil and "null" or "a result")
  end
  return expects_null or got == nil
end

function blocks.affine(run, texts, raw, input, variable)
  local stride = input:affine(variable)
  if one_is_null(run, raw, stride) then return end
  text.check(run, texts, "result", raw.result, stride)
end

local match_keys = text.keys("dims", "strides", "index_exprs")

function blocks.match(run, texts, raw, input, variable)
  local got = input:match_blocks(variable, texts:parse(raw.extent), raw.num_dims)
  if one_is_null(run, raw, got) then return end
  text.check_keys(run, raw.result, match_keys)
  text.check_list(run, texts, "result.dims", raw.result.dims, got.dims)
  text.check_list(run, texts, "result.strides", raw.result.strides, got.strides)
  text.check_list(run, texts, "result.index_exprs", raw.result.index_exprs, got.pieces)
end

local block_keys = {
  terms_of = text.keys("id", "op", "input", "var", "result", "sizes"),
  affine = text.keys("id", "op", "input", "var", "result", "sizes"),
  match = text.keys("id", "op", "input", "var", "extent", "num_dims", "result", "sizes"),
}

function facts.a5_block(run, raw)
  local block = blocks[raw.op]
  if not block then return run.differ("op", "terms_of, affine or match", tostring(raw.op)) end
  text.check_keys(run, raw, block_keys[raw.op])
  local texts = text.reader(raw.sizes)
  block(run, texts, raw, texts:parse(raw.input), texts:symbol(raw.var))
end

return facts
