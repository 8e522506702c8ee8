-- SPDX-License-Identifier: MIT
-- Families f_kernel_bytes, f_combine_independent and f_two_pass of simd/1: figures of kernels that
-- need no graph.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"
local two_pass = require "einloom.kernels.two_pass"

local kernels = {}

local prefix_order = { "z", "y", "x", "r0_", "r1_" }

-- ---- bytes ---------------------------------------------------------------------------------

-- The tiling of an object with extents by prefix.
local function tiling_of(extents)
  local tiling, n = {}, 0
  for _, prefix in ipairs(prefix_order) do
    if extents[prefix] then tiling[#tiling + 1] = { prefix, core.int(extents[prefix]) } end
  end
  for _ in pairs(extents) do n = n + 1 end
  return n == #tiling and tiling or nil
end

local itemsize = { f64 = 8, f32 = 4, f16 = 2, bf16 = 2, i64 = 8, i32 = 4, i8 = 1, bool = 1 }

-- How many different indices a buffer has; each use as a whole counts for itself.
local function count_indices(texts, accesses, buffer)
  local seen, n = {}, 0
  for _, access in ipairs(accesses) do
    if access[1] == buffer then
      local index = not text.is_null(access[2]) and texts:parse(access[2])
      if not index or not seen[index] then n = n + 1 end
      if index then seen[index] = true end
    end
  end
  return n
end

local byte_keys = text.keys("id", "tiling", "arguments", "accesses", "bytes")

function kernels.f_kernel_bytes(run, raw)
  text.check_keys(run, raw, byte_keys)
  local texts, in_place, arguments = text.reader(), 0, {}
  for i, argument in ipairs(raw.arguments) do
    local name, elements, dtype = argument[1], argument[2], argument[3]
    if argument[4] then in_place = in_place + 1 end
    arguments[i] = { elements = elements, bytes = itemsize[dtype],
      indices = count_indices(texts, raw.accesses, name) }
  end
  local tiling = tiling_of(raw.tiling)
  if not tiling then return run.differ("tiling", "known prefixes", core.json.encode(raw.tiling)) end
  local bytes = core.moved_bytes(tiling, arguments, in_place)
  if bytes ~= core.int(raw.bytes) then run.differ("bytes", tostring(raw.bytes), tostring(bytes)) end
end

-- ---- groups of kernels ---------------------------------------------------------------------

local combine_keys = text.keys("id", "kernels", "mode", "mixed", "result")
local kernel_keys = text.keys("name", "tiling", "reduction", "one_pass", "no_x", "reads", "writes",
  "rnumel")

local function groups_text(groups)
  local list = {}
  for i, group in ipairs(groups) do list[i] = table.concat(group, " ") end
  return table.concat(list, " | ")
end

function kernels.f_combine_independent(run, raw)
  text.check_keys(run, raw, combine_keys)
  local list = {}
  for i, kernel in ipairs(raw.kernels) do
    text.check_keys(run, kernel, kernel_keys)
    list[i] = { tiling = kernel.tiling, reduction = kernel.reduction, one_pass = kernel.one_pass,
      no_x = kernel.no_x, reduction_extent = kernel.rnumel,
      accesses = kernel.reads + kernel.writes }
  end
  local groups, message =
    core.combine(list, { size_aware = raw.mode == "size_aware", mixed = raw.mixed })
  local expected = raw.result == "assertion" and "assertion" or groups_text(raw.result)
  if not groups then
    if expected ~= "assertion" then run.differ("result", expected, message) end
    return
  end
  for _, group in ipairs(groups) do
    for i, position in ipairs(group) do group[i] = raw.kernels[position].name end
  end
  if groups_text(groups) ~= expected then run.differ("result", expected, groups_text(groups)) end
end

-- ---- two passes ----------------------------------------------------------------------------

local two_pass_keys = text.keys("id", "op", "data", "result", "steps")

local function steps_text(steps)
  local list = {}
  for i, step in ipairs(steps) do list[i] = ("%s %s"):format(step[1], tostring(step[2])) end
  return table.concat(list, ", ")
end

local function close(expected, got)
  return got and math.abs(expected - got) <= 1e-12 * math.max(math.abs(expected), math.abs(got))
end

function kernels.f_two_pass(run, raw)
  text.check_keys(run, raw, two_pass_keys)
  local steps = two_pass.steps(raw.op, #raw.data)
  if not steps then return run.differ("op", "a reduction with two passes", tostring(raw.op)) end
  local ours = {}
  for i, step in ipairs(steps) do ours[i] = { step.operation, step.inside } end
  if steps_text(raw.steps) ~= steps_text(ours) then
    run.differ("steps", steps_text(raw.steps), steps_text(ours))
  end
  local results = two_pass.evaluate(raw.op, raw.data)
  if #results ~= #raw.result then
    return run.differ("result", #raw.result .. " values", #results .. " values")
  end
  for i, value in ipairs(raw.result) do
    if not close(value, results[i]) then
      run.differ(("result[%d]"):format(i), tostring(value), tostring(results[i]))
    end
  end
end

return kernels
