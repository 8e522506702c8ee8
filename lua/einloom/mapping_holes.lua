-- SPDX-License-Identifier: MIT
-- Holes of mappings: what a search may fill in. A tile shape is `?`, a set or a range; a holder has
-- tensors that may be left out, or any; `loops` stands for any loops, `anything` for any nodes.

local errors = require "einloom.errors"

local holes = {}

-- Least and greatest value of a range such as 4..32.
local function range(text)
  local low, high = text:match "^%s*(%d+)%s*%.%.%s*(%d+)%s*$"
  return math.tointeger(low), math.tointeger(high)
end

local function set_of(list)
  errors.list("bad_tile_shape", list, "tile shape", "tile shapes")
  local result, seen = {}, {}
  for _, x in ipairs(list) do
    local n = math.type(x) and math.tointeger(x)
    if not n or n < 1 then return nil, ("%s is not a positive integer"):format(tostring(x)) end
    if not seen[n] then result[#result + 1] = n end
    seen[n] = true
  end
  if #result == 0 then return nil, "a set of tile shapes is not empty" end
  table.sort(result)
  return result
end

--- A tile shape that is open, in its normal form: "?", "4..32" or a list of integers. Nil where it
--- is not open; nil and a message where it is wrong.
---@param x any
---@return string|integer[]|nil shape
---@return string? message
function holes.shape(x)
  if type(x) == "table" then return set_of(x) end
  if type(x) ~= "string" then return nil end
  if x == "?" then return x end
  local low, high = range(x)
  if not low then return nil end
  if low < 1 or high < low then return nil, ("%s is no range of positive integers"):format(x) end
  return ("%d..%d"):format(low, high)
end

--- Whether a checked tile shape is open.
---@param x any
---@return boolean
function holes.is_open(x) return type(x) == "table" or type(x) == "string" end

--- Whether a tile shape may have a value.
---@param x any checked tile shape
---@param tile integer
---@return boolean
function holes.admits(x, tile)
  if x == "?" then return true end
  if type(x) == "table" then
    for _, n in ipairs(x) do
      if n == tile then return true end
    end
    return false
  end
  if type(x) == "string" then
    local low, high = range(x)
    return low <= tile and tile <= high
  end
  return x == tile
end

--- The text of an open tile shape.
---@param x string|integer[]
---@return string
function holes.text(x)
  if type(x) == "string" then return x end
  return "{" .. table.concat(x, ", ") .. "}"
end

-- Whether a node itself is open.
local function open(node)
  return node.node == "loops" or node.node == "anything" or node.optional or node.more
    or holes.is_open(node.tile_shape)
end

--- The first node of a list that has a hole, or nil.
---@param nodes einloom.Node[] checked
---@return einloom.Node?
function holes.first(nodes)
  for _, node in ipairs(nodes) do
    if open(node) then return node end
    for _, branch in ipairs(node.branches or {}) do
      local found = holes.first(branch)
      if found then return found end
    end
  end
  return nil
end

return holes
