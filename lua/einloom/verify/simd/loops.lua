-- SPDX-License-Identifier: MIT
-- Families of simd/1 about loop nests without a kernel: c_split, f_accesses, f_index_width.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"
local tree = require "einloom.verify.simd.tree"

local loops = {}

-- ---- splits --------------------------------------------------------------------------------

-- The groups' pieces as variables v0, v1, ... by group, and all of them in one list.
local function piece_variables(split)
  local by_group, all = {}, {}
  for i, pieces in ipairs(split.pieces) do
    by_group[i] = {}
    for k = 1, #pieces do
      all[#all + 1] = core.symbol("v" .. #all, { min = 0 })
      by_group[i][k] = all[#all]
    end
  end
  return by_group, all
end

-- The value of a loop: its pieces are the digits of a mixed radix.
local function value_of(getter, variables, sizes)
  local value = core.int(0)
  for i = getter.first, getter.first + getter.count - 1 do
    value = value * sizes[i] + variables[i]
  end
  return value
end

local function values_of(split)
  local _, variables = piece_variables(split)
  local sizes = {}
  for _, pieces in ipairs(split.pieces) do table.move(pieces, 1, #pieces, #sizes + 1, sizes) end
  local lists = {}
  for i, list in ipairs { split.pointwise, split.reduction } do
    lists[i] = {}
    for k, getter in ipairs(list) do lists[i][k] = value_of(getter, variables, sizes) end
  end
  return lists
end

local kinds = { cannot_split = "cannot_split", incomplete_split = "assertion" }

-- A nest without loops has no lists of values at all, unless each list is a group.
local function split_result(groups, pointwise, reduction, options)
  local empty = #pointwise + #reduction == 0
  local split, message, kind = core.split_loops(groups, pointwise, reduction, options)
  if not split then return { status = assert(kinds[kind], message) } end
  local mapped = assert(core.map_loops(groups, pointwise, reduction, options))
  return {
    status = "ok", new_ranges = split.pieces, vars = piece_variables(split),
    getters = empty and {} or values_of(split),
    mapped = empty and not mapped.direct and {} or values_of(mapped),
    set_lengths = mapped.pieces, direct = mapped.direct or empty,
  }
end

local function compatibility(groups, pointwise, reduction, extent, options)
  local fits, kind = core.loops_fit(groups, pointwise, reduction, extent, options)
  if kind == "incomplete_split" then return "assertion" end
  return fits
end

local split_inputs = text.keys("id", "groups", "lengths", "sizes", "reduction_numel")

function loops.c_split(run, raw)
  local texts = text.reader(raw.sizes)
  local groups, options = texts:parse_all(raw.groups), texts:given()
  local pointwise, reduction = texts:parse_all(raw.lengths[1]), texts:parse_all(raw.lengths[2])
  local got = split_result(groups, pointwise, reduction, options)
  if raw.reduction_numel ~= nil then
    local extent = texts:parse(raw.reduction_numel)
    local lack = core.loops_lack_reduction(groups, pointwise, reduction, extent, options)
    got.prepared_lengths = { pointwise, lack and { extent } or reduction }
    got.compatible = compatibility(groups, pointwise, reduction, extent, options)
  end
  tree.check_case(run, texts, raw, split_inputs, got)
end

-- ---- accesses ------------------------------------------------------------------------------

local function merged(index, nest, by_stride, options)
  local new, vars = core.address_merge(index, nest, by_stride and "t" or "c", by_stride, options)
  local list = {}
  for i, loop in ipairs(assert(vars)) do list[i] = { loop[1]:name(), loop[2] } end
  return { index = new, vars = list }
end

local access_inputs = text.keys("id", "index", "vars", "buffer_elements", "sizes")

function loops.f_accesses(run, raw)
  local texts, nest = text.reader(raw.sizes), {}
  for i, loop in ipairs(raw.vars) do nest[i] = { texts:symbol(loop[1]), texts:parse(loop[2]) } end
  local index, options = texts:parse(raw.index), texts:given()
  local look = assert(core.address_look(index, nest, texts:parse(raw.buffer_elements), options))
  tree.check_case(run, texts, raw, access_inputs, {
    merged = merged(index, nest, false, options), by_stride = merged(index, nest, true, options),
    is_contiguous = look.contiguous, stride1_last = look.stride1_last, scalar = look.scalar,
    indirect = look.indirect, elements = look.elements, offset = look.offset,
  })
end

-- ---- width of indices ----------------------------------------------------------------------

local width_inputs = text.keys("id", "sizes", "extent", "storage")

function loops.f_index_width(run, raw)
  local texts = text.reader(raw.sizes)
  local extent, storage = texts:parse(raw.extent), texts:parse_all(raw.storage)
  local narrow = core.index_narrow(extent, storage, texts:given())
  tree.check_case(run, texts, raw, width_inputs, { narrow = narrow })
end

return loops
