-- SPDX-License-Identifier: MIT
-- Comparison of recorded JSON with a computed tree of the same shape: tables, names, truth values,
-- integers and expressions, which are recorded as texts.

local core = require "einloom.core"
local errors = require "einloom.errors"
local text = require "einloom.verify.simd.text"

local tree = {}

local array = core.json.array

local function show(got)
  if got == nil then return "null" end
  if type(got) == "table" then return #got > 0 and ("a list of %d"):format(#got) or "a table" end
  return tostring(got)
end

local function is_text(recorded)
  return type(recorded) == "string" or math.type(recorded) == "integer"
end

local check

local function check_list(run, texts, at, recorded, got)
  if #recorded ~= #got then
    return run.differ(at, core.json.encode(recorded), ("%d entries"):format(#got))
  end
  for i, item in ipairs(recorded) do check(run, texts, ("%s[%d]"):format(at, i), item, got[i]) end
end

local function check_object(run, texts, at, recorded, got)
  local keys = {}
  for key in pairs(recorded) do keys[key] = true end
  for key in pairs(got) do keys[key] = true end
  for _, key in ipairs(errors.keys(keys)) do
    local place = at == "" and key or ("%s.%s"):format(at, key)
    check(run, texts, place, recorded[key], got[key], recorded[key] == nil)
  end
end

--- Differs where a recorded value is not the computed one. Keys of objects count on both sides;
--- null is nothing computed.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string where in the case
---@param recorded any decoded JSON
---@param got any table, text, boolean, integer, expression or nil
---@param absent? boolean nothing was recorded
function check(run, texts, at, recorded, got, absent)
  if absent then return run.differ(at, "no such key", show(got)) end
  if text.is_null(recorded) or got == nil then
    if text.is_null(recorded) and got == nil then return end
  elseif core.is_expr(got) then
    if is_text(recorded) then return text.check(run, texts, at, recorded, got) end
  elseif type(got) ~= "table" then
    if math.type(recorded) == math.type(got) and recorded == got then return end
  elseif type(recorded) == "table" then
    local is_list = getmetatable(recorded) == array
    local compare = is_list and check_list or check_object
    return compare(run, texts, at, recorded, got)
  end
  run.differ(at, core.json.encode(recorded), show(got))
end

tree.check = check

--- Compares the recorded answers of a case, which are all its keys that are not named, with the
--- computed ones.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param raw table
---@param inputs table<string, boolean>
---@param got table
function tree.check_case(run, texts, raw, inputs, got)
  local recorded = {}
  for key, value in pairs(raw) do
    if not inputs[key] then recorded[key] = value end
  end
  check(run, texts, "", recorded, got)
end

return tree
