-- SPDX-License-Identifier: MIT
-- Whether elements of a tensor lie on one another: exactly where sizes and strides are numbers,
-- where they are symbols as far as that is certain.

local core = require "einloom.core"

local overlap = {}

-- Steps of the search before it gives up.
local max_steps = 2000000

-- Dimensions that are walked, as numbers, the farthest step first; nil where one is a symbol.
local function numbers_of(tensor)
  local dims = {}
  for d, size in ipairs(tensor.sizes) do
    local n, stride = size:tointeger(), tensor.strides[d]:tointeger()
    if not n or not stride then return nil end
    if n == 0 then return {} end
    if n > 1 then dims[#dims + 1] = { n = n, stride = stride } end
  end
  table.sort(dims, function(a, b) return a.stride > b.stride end)
  return dims
end

-- How far the dimensions behind each one reach.
local function reaches_of(dims)
  local reaches, reach = {}, 0
  for d = #dims, 1, -1 do
    reaches[d] = reach
    reach = reach + (dims[d].n - 1) * dims[d].stride
  end
  return reaches
end

local function nested(dims, reaches)
  for d, dim in ipairs(dims) do
    if dim.stride <= reaches[d] then return false end
  end
  return true
end

-- Whether some differences of indices, not all 0, lead back to the same address: the first one that
-- is not 0 is positive, and what is left must be within reach of the dimensions behind.
local function search(dims, reaches)
  local steps = 0
  local function from(d, left, moved)
    steps = steps + 1
    if steps > max_steps then return true end
    local dim = dims[d]
    if not dim then return moved and left == 0 end
    if dim.stride == 0 then return left == 0 end
    local low = math.max(moved and 1 - dim.n or 0, -((left + reaches[d]) // dim.stride))
    local high = math.min(dim.n - 1, (reaches[d] - left) // dim.stride)
    for step = low, high do
      if from(d + 1, left + step * dim.stride, moved or step > 0) then return true end
    end
    return false
  end
  return from(1, 0, false)
end

-- Of symbols: a step of 0, or the same step along two dimensions, of more than one element each.
local function certain(tensor)
  local two, long = core.int(2), {}
  for d, size in ipairs(tensor.sizes) do
    if size:eq(core.int(1)) ~= true and (not size:tointeger() or two:le(size) == true) then
      local stride = tensor.strides[d]
      if stride:eq(core.int(0)) == true then return true end
      for _, other in ipairs(long) do
        if stride:eq(other) == true then return true end
      end
      long[#long + 1] = stride
    end
  end
  return false
end

--- Whether two elements of a tensor have one address, or that cannot be told of numbers.
---@param tensor { sizes: einloom.Expr[], strides: einloom.Expr[] }
---@return boolean
function overlap.within(tensor)
  local dims = numbers_of(tensor)
  if not dims then return certain(tensor) end
  local reaches = reaches_of(dims)
  return not nested(dims, reaches) and search(dims, reaches)
end

return overlap
