-- SPDX-License-Identifier: MIT
-- Types of the tensors of a graph: positions and indices are i64 unless they are given another one,
-- which must hold them exactly.

local core = require "einloom.core"

local dtypes = {}

-- The greatest of the whole numbers from 0 on of which the type holds each.
local most = {
  f16 = 1 << 11, bf16 = 1 << 8, f32 = 1 << 24, f64 = 1 << 53, i8 = 127, i32 = 2147483647,
  bool = 1, i64 = math.maxinteger,
}
local small_floats = { f16 = true, bf16 = true, f32 = true }

local function base_of(state, name)
  local tensor = state.tensors[name]
  return tensor.base and state.tensors[tensor.base] or tensor
end

local function is_position(node) return node.reduce == "argmax" or node.reduce == "argmin" end

-- Calls visit with the tensor of each index that is loaded, where it is used and the dimension.
local function each_loaded(one, visit)
  for _, list in ipairs { one.reads, one.writes } do
    for _, access in ipairs(list) do
      for d, index in ipairs(access.indices) do
        for _, name in ipairs(index.names) do
          if name:sub(1, 1) == "$" then
            visit(one.reads[tonumber(name:sub(2))], access, d, index)
          end
        end
      end
    end
  end
end

--- Gives the tensors that have no dtype theirs.
---@param state table
---@param made { node: einloom.GraphNode, reads: einloom.Access[], writes: einloom.Access[] }[]
function dtypes.settle(state, made)
  for _, one in ipairs(made) do
    each_loaded(one, function(loaded)
      local tensor = base_of(state, loaded.tensor)
      tensor.dtype = tensor.dtype or "i64"
    end)
    for _, write in ipairs(is_position(one.node) and one.writes or {}) do
      local tensor = base_of(state, write.tensor)
      tensor.dtype = tensor.dtype or "i64"
    end
  end
  for _, name in ipairs(state.order) do
    local tensor = base_of(state, name)
    tensor.dtype = tensor.dtype or state.dtype
    state.tensors[name].dtype = tensor.dtype
  end
end

-- Whether a type surely holds the positions of an extent; of a type that rounds it must be known.
local function holds(dtype, extent, rounds_only)
  if rounds_only and not dtype:find "f%d" then return true end
  local fits = (extent - 1):le(core.number(most[dtype]))
  if small_floats[dtype] then return fits == true end
  return fits ~= false
end

--- Raises where indices or positions do not fit into the dtype that their tensor was given. All
--- sizes are known.
---@param state table
---@param made { node: einloom.GraphNode, reads: einloom.Access[], writes: einloom.Access[],
--- fail: function }[]
function dtypes.check(state, made)
  local function check(tensor, extent, what, rounds_only, fail, position)
    if holds(tensor.dtype, extent, rounds_only) then return end
    fail(("%s: %s of up to %s do not fit exactly into %s; give tensors.%s.dtype = \"i64\"")
      :format(tensor.name, what, tostring(extent), tensor.dtype, tensor.name), position)
  end
  for _, one in ipairs(made) do
    each_loaded(one, function(loaded, access, d, index)
      check(base_of(state, loaded.tensor), state.tensors[access.tensor].sizes[d],
        ("indices of %s"):format(access.named), true, one.fail, index.position)
    end)
    if is_position(one.node) then
      local extent = core.int(1)
      for _, name in ipairs(one.node.reduction) do extent = extent * state.sizes[name] end
      for _, write in ipairs(one.writes) do
        check(base_of(state, write.tensor), extent, "positions", false, one.fail, write.position)
      end
    end
  end
end

return dtypes
