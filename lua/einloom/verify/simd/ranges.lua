-- SPDX-License-Identifier: MIT
-- Families of simd/1 about the ranges of a kernel: b_range_trees, f_roots.

local core = require "einloom.core"
local text = require "einloom.verify.simd.text"
local tree = require "einloom.verify.simd.tree"

local ranges = {}

local function plain_entry(entry)
  return {
    name = entry.name, tree = entry.tree, divisor = entry.divisor, length = entry.length,
    expr = entry.expr,
  }
end

-- The lists with the names of variables in their place.
local function named(lists)
  if type(lists) ~= "table" then return lists:name() or lists end
  local out = {}
  for i, item in ipairs(lists) do out[i] = named(item) end
  return out
end

local function active_trees(kernel)
  local names = {}
  for _, root in ipairs(kernel:trees()) do
    if root.active then names[#names + 1] = root.tree end
  end
  return names
end

-- ---- operations ----------------------------------------------------------------------------

-- What each gives: an answer; or nil and the kind of refusal.
local operations = {}

function operations.lookup(kernel, op, texts)
  local variable = assert(kernel:lookup(op.tree, texts:parse(op.divisor), texts:parse(op.length)))
  for _, entry in ipairs(kernel:entries()) do
    if entry.variable == variable then return plain_entry(entry) end
  end
end

function operations.construct(kernel, op, texts)
  return named(assert(kernel:construct(op.tree, texts:parse_all(op.lengths))))
end

function operations.vars_and_sizes(kernel, op, texts)
  local vars, sizes = kernel:vars_and_sizes(op.tree, texts:parse(op.index))
  return { vars = named(assert(vars, sizes)), sizes = sizes }
end

function operations.merge_dims(kernel, op, texts)
  return assert(kernel:merge_dims(op.tree, texts:parse(op.index)))
end

function operations.simplify(kernel, op, texts)
  return assert(kernel:simplify(texts:parse(op.index)))
end

function operations.pair_mod(kernel, op, texts)
  return assert(kernel:pair_mod(texts:parse(op.index)))
end

function operations.prepare(kernel, op, texts)
  return assert(kernel:prepare(texts:parse(op.index)))
end

function operations.tile_strides(kernel, op, texts)
  local strides = {}
  for prefix, stride in pairs(assert(kernel:tile_strides(texts:parse(op.index)))) do
    strides[prefix .. "index"] = stride
  end
  return strides
end

function operations.broadcasted(kernel, op, texts)
  return kernel:broadcasted(texts:parse(op.index))
end

function operations.set_ranges(kernel, op, texts)
  local lists = {}
  for i, list in ipairs(op.lengths) do lists[i] = texts:parse_all(list) end
  return named(assert(kernel:set(lists)))
end

local kinds = { cannot_split = "cannot_split", incomplete_split = "assertion" }

function operations.split_set(kernel, op, texts)
  local pointwise, reduction, kind =
    kernel:map(texts:parse_all(op.lengths[1]), texts:parse_all(op.lengths[2]))
  if not pointwise then return nil, assert(kinds[kind], reduction) end
  return named { pointwise, reduction }
end

function operations.reduction_off(kernel)
  kernel:reduction(false)
  return active_trees(kernel)
end

function operations.reduction_on(kernel)
  kernel:reduction(true)
  return active_trees(kernel)
end

-- ---- range trees ---------------------------------------------------------------------------

-- Broadcasting by tree, which is right as well as the recorded comparison of the reference.
local function broadcasted_by_tree(kernel, index)
  for _, root in ipairs(kernel:trees()) do
    if kernel:broadcasted(index, root.tree) then return true end
  end
  return false
end

local function entries_from(kernel, first)
  local list = {}
  for i, entry in ipairs(kernel:entries(first)) do list[i] = plain_entry(entry) end
  return list
end

local op_inputs = text.keys("op", "tree", "divisor", "length", "lengths", "index", "by_tree")

local function check_operation(run, texts, kernel, at, op)
  local operation = operations[op.op]
  if not operation then return run.differ(at, "a known operation", tostring(op.op)) end
  local first = #kernel:entries() + 1
  local result, refusal = operation(kernel, op, texts)
  if op.by_tree ~= nil then
    local by_tree = broadcasted_by_tree(kernel, texts:parse(op.index))
    if by_tree ~= op.by_tree then
      run.differ(at .. ".by_tree", tostring(op.by_tree), tostring(by_tree))
    end
  end
  local recorded = {}
  for key, value in pairs(op) do
    if not op_inputs[key] then recorded[key] = value end
  end
  tree.check(run, texts, at, recorded,
    { result = result, error = refusal, new_entries = entries_from(kernel, first) })
end

local function roots_of(kernel)
  local roots = {}
  for i, root in ipairs(kernel:trees()) do
    roots[i] = {
      tree = root.tree, numel = root.extent, position = root.position, grid_dim = root.grid_dim,
      tensor_dim = root.tensor_dim, is_loop = root.is_loop, is_reduction = root.is_reduction,
    }
  end
  return roots
end

local function entries_by_tree(kernel)
  local by_tree, extents = {}, {}
  for _, root in ipairs(kernel:trees()) do by_tree[root.tree] = {} end
  for _, entry in ipairs(kernel:entries()) do
    table.insert(by_tree[entry.tree], plain_entry(entry))
    extents[entry.name] = entry.length
  end
  return by_tree, extents
end

local tree_inputs = text.keys("id", "sizes", "tiling", "persistent", "ops")

function ranges.b_range_trees(run, raw)
  local texts, tiling = text.reader(raw.sizes), {}
  for prefix, extent in pairs(raw.tiling) do tiling[prefix] = texts:parse(extent) end
  local options = texts:given()
  options.one_pass = raw.persistent == true
  local kernel = assert(core.ranges(tiling, options))
  local roots = roots_of(kernel)
  for i, op in ipairs(raw.ops) do
    check_operation(run, texts, kernel, ("ops[%d]"):format(i), op)
  end
  local entries, extents = entries_by_tree(kernel)
  tree.check_case(run, texts, raw, tree_inputs,
    { roots = roots, entries = entries, var_ranges = extents })
end

-- ---- roots ---------------------------------------------------------------------------------

local function block_symbol(root) return root.tree:upper() .. "BLOCK" end

-- An axis of a block of values: 1 outside the reduction for an axis of it.
local function add_axis(got, root)
  got.block_axes = got.block_axes + 1
  table.insert(got.block_inside, block_symbol(root))
  table.insert(got.block_outside, root.is_reduction and "1" or block_symbol(root))
end

local root_inputs = text.keys("id", "tiling", "no_x", "one_pass", "sizes")

-- The reduction trees of a tiling count as reduction axes also where the tiling's reduction has
-- extent 1, so that blocks of values have none of them.
function ranges.f_roots(run, raw)
  local texts, tiling = text.reader(raw.sizes), {}
  for _, tile in ipairs(raw.tiling) do tiling[tile[1]] = texts:parse(tile[2]) end
  local options = texts:given()
  options.one_pass, options.no_x = raw.one_pass, raw.no_x
  local kernel = assert(core.ranges(tiling, options))
  local got = {
    roots = {}, block_axes = 0, reduction_axes = 0, block_inside = {}, block_outside = {},
    active_outside = {},
  }
  for i, root in ipairs(kernel:trees()) do
    got.roots[i] = {
      tree = root.tree, name = root.index:name(), numel = root.extent, position = root.position,
      grid_dim = root.grid_dim, tensor_dim = root.tensor_dim, loop = root.is_loop,
      has_z = tiling.z ~= nil,
    }
    if root.is_reduction then
      got.reduction_axes = got.reduction_axes + 1
    else
      table.insert(got.active_outside, root.tree)
    end
    if root.tensor_dim then add_axis(got, root) end
  end
  tree.check_case(run, texts, raw, root_inputs, got)
end

return ranges
