-- SPDX-License-Identifier: MIT
-- Bounds of the trips of loops over dimensions (loop_bounds), of single variables and of products:
-- whether open tiles may still keep to them.

local chains = require "einloom.certify.chains"

local limits = {}

---@class einloom.LoopLimit
---@field op string
---@field value number
---@field positions table<integer, integer> of the trips over the dimension, by variable

-- Trips of uneven tiles are quotients, which are off by less than this share.
local ROUNDING <const> = 1e-12

local function less(a, b) return a * (1 + ROUNDING) < b end

-- Whether some number from `least` to `most` may keep to a bound.
local may = {
  ["=="] = function(least, most, x) return not less(x, least) and not less(most, x) end,
  ["<="] = function(least, _, x) return not less(x, least) end,
  ["<"] = function(least, _, x) return less(least, x) end,
  [">="] = function(_, most, x) return not less(most, x) end,
  [">"] = function(_, most, x) return less(x, most) end,
}

-- The variables of each product that a bound is about; those without loops have one trip.
local function products_of(bound)
  if bound.op:find "^product" then return { bound.variables } end
  local list = {}
  for v in pairs(bound.variables) do list[#list + 1] = { [v] = true } end
  return list
end

-- The position of the trips over a dimension in the values of a variable.
local function position_of(domain, list, dim)
  local column = {}
  for i, row in ipairs(list.rows) do
    column[i] = chains.use(list.loops, row, list.size)[dim] or 1
  end
  local values = domain.values[list.variable]
  values[#values + 1] = column
  return #values
end

--- The bounds of the dimensions of a way.
---@param domain einloom.Domain whose values get those that are asked for
---@param way einloom.SearchWay
---@param variables string[]
---@param lists table<string, einloom.Chains>
---@return einloom.LoopLimit[]
function limits.of(domain, way, variables, lists)
  local result = {}
  for _, level in ipairs(way.levels) do
    for _, dim in ipairs(level.dims) do
      local positions = {}
      for _, bound in ipairs(dim.bounds) do
        for _, product in ipairs(products_of(bound)) do
          local limit = { op = bound.op:match "[=<>]+$", value = bound.value, positions = {} }
          for i, v in ipairs(variables) do
            if product[v] then
              positions[i] = positions[i] or position_of(domain, lists[v], dim)
              limit.positions[i] = positions[i]
            end
          end
          result[#result + 1] = limit
        end
      end
    end
  end
  return result
end

--- Whether something below a state may keep to all bounds.
---@param list einloom.LoopLimit[]
---@param nodes einloom.ChainNode[]
---@return boolean
function limits.fit(list, nodes)
  for _, limit in ipairs(list) do
    local least, most = 1, 1
    for i, k in pairs(limit.positions) do
      least, most = least * nodes[i].least[k], most * nodes[i].most[k]
    end
    if not may[limit.op](least, most, limit.value) then return false end
  end
  return true
end

return limits
