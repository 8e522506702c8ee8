-- SPDX-License-Identifier: MIT
-- Plans of kernels in cases of simd/1: accesses in the variables of a kernel, memory traffic, what
-- is stored, arguments, bytes.

local core = require "einloom.core"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"

local plans = {}

local function check_value(run, at, expected, got)
  if expected == got then return end
  run.differ(at, expected == nil and "nothing" or core.json.encode(expected), tostring(got))
end

-- ---- accesses ------------------------------------------------------------------------------

local access_keys = text.keys("kind", "buf", "index", "simplified", "indirect", "broadcasted",
  "tile_strides")

local function check_strides(run, texts, at, expected, got)
  if text.is_null(expected) or not got then
    if not (text.is_null(expected) and not got) then
      run.differ(at, core.json.encode(expected), got and "strides" or "null")
    end
    return
  end
  for name, stride in pairs(expected) do
    local prefix = name:match "^(.*)index$"
    if not got[prefix] then return run.differ(at, name, "no such range") end
    text.check(run, texts, at .. "." .. name, stride, got[prefix])
  end
  for prefix in pairs(got) do
    if not expected[prefix .. "index"] then run.differ(at, "nothing", prefix) end
  end
end

local function check_access(run, texts, at, expected, got)
  text.check_keys(run, expected, access_keys)
  if expected.kind ~= got.kind or expected.buf ~= got.buffer then
    return run.differ(at, expected.kind .. " of " .. expected.buf,
      got.kind .. " of " .. got.buffer)
  end
  text.check(run, texts, at .. ".index", expected.index, got.index)
  text.check(run, texts, at .. ".simplified", expected.simplified, got.simplified)
  check_value(run, at .. ".indirect", expected.indirect, got.indirect)
  check_value(run, at .. ".broadcasted", expected.broadcasted, got.broadcasted)
  check_strides(run, texts, at .. ".tile_strides", expected.tile_strides, got.strides)
end

-- A node has each of its accesses once; a recorded kernel lists a load wherever it is used again.
local function without_repeats(accesses)
  local seen, list = {}, {}
  for _, access in ipairs(accesses) do
    local key = ("%s %s %s"):format(access.kind, access.buf, access.index)
    if not seen[key] then list[#list + 1] = access end
    seen[key] = true
  end
  return list
end

local node_keys = text.keys("node", "vars", "accesses")

local function check_op(run, texts, at, expected, got)
  text.check_keys(run, expected, node_keys)
  check_value(run, at .. ".node", expected.node, got.op)
  text.check_list(run, texts, at .. ".vars[1]", expected.vars[1], got.pointwise)
  text.check_list(run, texts, at .. ".vars[2]", expected.vars[2], got.reduction)
  local accesses = without_repeats(expected.accesses)
  if #accesses ~= #got.accesses then
    return run.differ(at .. ".accesses", #accesses .. " entries", #got.accesses .. " entries")
  end
  for i, access in ipairs(accesses) do
    check_access(run, texts, ("%s.accesses[%d]"):format(at, i), access, got.accesses[i])
  end
end

function plans.check_accesses(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, #expected .. " operations", #got .. " operations")
  end
  for i, op in ipairs(expected) do
    check_op(run, texts, ("%s[%d]"):format(at, i), op, got[i])
  end
end

local entry_keys = text.keys("name", "tree", "divisor", "length", "expr")

function plans.check_entries(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, #expected .. " entries", #got .. " entries")
  end
  for i, entry in ipairs(expected) do
    local here = ("%s[%d]"):format(at, i)
    text.check_keys(run, entry, entry_keys)
    check_value(run, here .. ".name", entry.name, got[i].name)
    check_value(run, here .. ".tree", entry.tree, got[i].tree)
    for _, key in ipairs { "divisor", "length", "expr" } do
      text.check(run, texts, here .. "." .. key, entry[key], got[i][key])
    end
  end
end

-- ---- memory --------------------------------------------------------------------------------

local side_keys = text.keys("ops_per_element", "bytes_per_element", "bytes",
  "bytes_contiguous_or_broadcast", "bytes_non_contiguous", "dims", "loops")
local dim_keys = text.keys("contiguous", "broadcast", "other", "bytes_contiguous_or_broadcast",
  "bytes_other")
local loop_keys = text.keys("ops", "bytes")

local function check_dim(run, texts, at, expected, got)
  text.check_keys(run, expected, dim_keys)
  for _, key in ipairs { "contiguous", "broadcast", "other" } do
    check_value(run, at .. "." .. key, expected[key], got[key])
  end
  for _, key in ipairs { "bytes_contiguous_or_broadcast", "bytes_other" } do
    text.check(run, texts, at .. "." .. key, expected[key], got[key])
  end
end

local function check_traffic_loops(run, at, expected, got)
  if #expected ~= #got then return run.differ(at, #expected .. " loops", #got .. " loops") end
  for i, loop in ipairs(expected) do
    text.check_keys(run, loop, loop_keys)
    check_value(run, ("%s[%d].ops"):format(at, i), loop.ops, got[i].accesses)
    check_value(run, ("%s[%d].bytes"):format(at, i), loop.bytes, got[i].bytes)
  end
end

local function check_side(run, texts, at, expected, got)
  text.check_keys(run, expected, side_keys)
  check_value(run, at .. ".ops_per_element", expected.ops_per_element, got.accesses)
  check_value(run, at .. ".bytes_per_element", expected.bytes_per_element, got.bytes_per_element)
  text.check(run, texts, at .. ".bytes", expected.bytes, got.bytes)
  text.check(run, texts, at .. ".bytes_contiguous_or_broadcast",
    expected.bytes_contiguous_or_broadcast, got.bytes_contiguous_or_broadcast)
  text.check(run, texts, at .. ".bytes_non_contiguous", expected.bytes_non_contiguous,
    got.bytes_other)
  if #expected.dims ~= 2 then run.differ(at .. ".dims", #expected.dims .. " dims", "2 dims") end
  for i, dim in ipairs(expected.dims) do
    check_dim(run, texts, ("%s.dims[%d]"):format(at, i), dim, got.dims[i])
  end
  check_traffic_loops(run, at .. ".loops", expected.loops, got.loops)
end

local memory_keys = text.keys("one_pass", "looped")
local sides = text.keys("reads", "writes")

function plans.check_memory(run, texts, at, expected, got)
  text.check_keys(run, expected, memory_keys)
  for _, key in ipairs { "one_pass", "looped" } do
    text.check_keys(run, expected[key], sides)
    for _, side in ipairs { "reads", "writes" } do
      check_side(run, texts, ("%s.%s.%s"):format(at, key, side), expected[key][side],
        got[key][side])
    end
  end
end

-- ---- facts ---------------------------------------------------------------------------------

local function argument_names(arguments)
  local names = {}
  for i, argument in ipairs(arguments) do
    names[i] = argument.buffer or tostring(argument.symbol)
  end
  return names
end

local function check_groups(run, at, expected, got)
  if #expected ~= #got then return run.differ(at, #expected .. " groups", #got .. " groups") end
  for i, group in ipairs(expected) do
    graphs.check_names(run, ("%s[%d]"):format(at, i), group, got[i])
  end
end

--- Compares what is known of a kernel with loops, but for its tilings and coalescing analysis.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string
---@param expected table
---@param got table
function plans.check_kernel(run, texts, at, expected, got)
  graphs.check_names(run, at .. ".schedule", expected.schedule, got.schedule)
  text.check_list(run, texts, at .. ".extents", expected.extents, got.extents)
  plans.check_accesses(run, texts, at .. ".accesses", expected.accesses, got.ops)
  plans.check_entries(run, texts, at .. ".entries", expected.entries, got.entries)
  check_value(run, at .. ".index_dtype", expected.index_dtype, got.narrow and "i32" or "i64")
  local hint = not text.is_null(expected.reduction_hint) and expected.reduction_hint or nil
  check_value(run, at .. ".reduction_hint", hint, got.hint)
  plans.check_memory(run, texts, at .. ".memory", expected.memory, got.memory)
  text.check(run, texts, at .. ".flops", expected.flops, got.flops)
  graphs.check_names(run, at .. ".arguments", expected.arguments, argument_names(got.arguments))
  check_groups(run, at .. ".updated_in_place", expected.updated_in_place, got.in_place)
  graphs.check_names(run, at .. ".never_stored", expected.never_stored, got.never_stored)
  if got.bytes ~= core.int(expected.bytes) then
    run.differ(at .. ".bytes", tostring(expected.bytes), tostring(got.bytes))
  end
end

return plans
