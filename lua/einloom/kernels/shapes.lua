-- SPDX-License-Identifier: MIT
-- Sizes of the loop variables and tensors of a graph: what is given, what follows from tensors that
-- are indexed by a variable alone, and what the indices of a tensor reach.

local core = require "einloom.core"
local errors = require "einloom.errors"
local points = require "einloom.points"
local value = require "einloom.value"

local shapes = {}

local KIND = "bad_graph"
local size_range = { min = 0, integer = true }

local as_expr = points.exact

local reserved = { "^[pxyzn]%d+$", "^r[01]_", "index$", "^indirect%d+$", "^tmp%d+$" }

--- A size from a number, an expression or its text.
---@param given any
---@param path string
---@return einloom.Expr
function shapes.size(given, path)
  local size = as_expr(value.check(given, KIND, path, size_range))
  if size:is_integer() ~= true then
    errors.raise(KIND, ("%s is not known to be an integer"):format(tostring(size)), { path = path })
  end
  for _, symbol in ipairs(size:symbols()) do
    for _, pattern in ipairs(reserved) do
      if symbol:name():find(pattern) then
        errors.raise(KIND, ("a size cannot be called %s: kernels have variables of that name")
          :format(symbol:name()), { path = path })
      end
    end
  end
  return size
end

--- A list of them.
---@param list any
---@param path string
---@return einloom.Expr[]
function shapes.sizes(list, path)
  if type(list) ~= "table" then
    errors.raise(KIND, ("a list of sizes expected, got %s"):format(type(list)), { path = path })
  end
  local sizes = {}
  for i, size in ipairs(list) do sizes[i] = shapes.size(size, ("%s[%d]"):format(path, i)) end
  return sizes
end

-- The variable that an index is, or nil.
local function variable_of(index)
  local form = index.affine
  if not form or form.constant ~= 0 or #form.names ~= 1 then return nil end
  local name = form.names[1]
  return form.terms[name] == 1 and name:sub(1, 1) ~= "$" and name or nil
end
shapes.variable_of = variable_of

-- A variable without a size of its own has that of a dimension which it walks, and no other.
local function note_walk(state, access, d, fail)
  local index, size = access.indices[d], state.tensors[access.tensor].sizes[d]
  local name = index and variable_of(index)
  if not name then return end
  local first = state.walked[name]
  if not state.sizes[name] then
    state.sizes[name] = size
    state.walked[name] = { tensor = access.named, dimension = d }
  elseif first and size:eq(state.sizes[name]) ~= true then
    fail(("%s walks dimension %d of %s, which is %s long, and dimension %d of %s, which is %s: give"
      .. " sizes.%s"):format(name, first.dimension, first.tensor, tostring(state.sizes[name]), d,
      access.named, tostring(size), name), index.position)
  end
end

--- Gives the variables of an einsum that have no size the sizes of the dimensions they walk.
---@param state table
---@param accesses einloom.Access[]
---@param fail fun(message: string, position?: integer, kind?: string)
function shapes.infer(state, accesses, fail)
  for _, access in ipairs(accesses) do
    local tensor = state.tensors[access.tensor]
    for d in ipairs(tensor and tensor.sizes or {}) do note_walk(state, access, d, fail) end
  end
end

-- The least and the greatest value of an affine index; nil for others.
local function reach(index, sizes)
  local form = index.affine
  if not form then return nil end
  local low, high = core.int(form.constant), core.int(form.constant)
  for _, name in ipairs(form.names) do
    local size, factor = sizes[name], form.terms[name]
    if not size then return nil end
    if factor > 0 then high = high + factor * (size - 1) else low = low + factor * (size - 1) end
  end
  return low, high
end
shapes.reach = reach

-- The larger of two extents; nil where that is not known.
local function larger(a, b)
  if not a or rawequal(a, b) or a:le(b) == true then return b end
  return b:le(a) == true and a or nil
end

--- Sizes of a tensor that only is read: what its accesses reach in each dimension.
---@param accesses { access: einloom.Access, fail: function }[]
---@param sizes table<string, einloom.Expr>
---@return einloom.Expr[]
function shapes.of_input(accesses, sizes)
  local dims = {}
  for _, one in ipairs(accesses) do
    for d, index in ipairs(one.access.indices) do
      local _, high = reach(index, sizes)
      local dim = high and larger(dims[d], high + 1)
      if not dim then
        one.fail(("the sizes of %s do not follow from its indices: give tensors.%s.sizes"):format(
          one.access.tensor, one.access.tensor), index.position)
      end
      dims[d] = dim
    end
  end
  return dims
end

-- Elements from the start of the storage to the last one.
local function storage_of(tensor)
  local last = tensor.offset + 1
  for d, size in ipairs(tensor.sizes) do last = last + (size - 1) * tensor.strides[d] end
  return last
end

--- Whether two tensors are of one type and have storages of one size, which begin at one offset.
---@param a table
---@param b table
---@return boolean
function shapes.same_storage(a, b)
  return a.dtype == b.dtype and a.offset:eq(b.offset) == true and not a.base and not b.base
    and storage_of(a):eq(storage_of(b)) == true
end

return shapes
