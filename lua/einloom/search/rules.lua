-- SPDX-License-Identifier: MIT
-- What the tiles of one einsum have to keep to, and the names of the rules: tiles:V,
-- max_fused_loops, max_fused_loops_per_rank_variable:V, one_spatial_dim_per_variable:V, fanout:C.D,
-- min_usage:C.D, loop_bounds:C.D, capacity:M.

local chain = require "einloom.search.chain"
local spread = require "einloom.search.spread"

local rules = {}

-- Trips and uses are quotients; of uneven tiles they are no integers, and equal ones may come out
-- a little apart.
local CLOSE <const> = 1e-9


-- A tile is a positive integer, and one of those that may stand around the next one.
local function check_chain(step, nest, variable, tiles)
  local list, name, absorbs = nest.of_variable[variable], step.variables[variable], false
  local size, uneven = step.sizes[name], nest.uneven[variable]
  local wrong = "tiles:" .. name
  for _, k in ipairs(list) do
    local tile = tiles[k]
    if math.type(tile) ~= "integer" or tile < 1 or tile > size then return wrong end
    if not chain.admits(nest.loops[k], tile) then return wrong end
  end
  for j = #list, 1, -1 do
    local k, outer = list[j], j > 1 and tiles[list[j - 1]] or size
    local tile = tiles[k]
    if outer < tile or not list[j + 1] and tile ~= 1 then return wrong end
    if j > 1 and not chain.is_around(nest, variable, j - 1, outer, tile) then return wrong end
    absorbs = absorbs or outer > tile and uneven ~= false and uneven.absorbs[k] ~= nil
    if not chain.cuts(uneven, j, absorbs, outer, tile) then return wrong end
  end
  return nil
end

-- What each loop makes of the extent outside.
local function all_pieces(nest, tiles)
  local result = {}
  for variable, list in ipairs(nest.of_variable) do
    local outer = nest.step.sizes[nest.step.variables[variable]]
    for _, k in ipairs(list) do
      result[k] = chain.pieces(outer, tiles[k])
      outer = tiles[k]
    end
  end
  return result
end

--- Trips of the loops, rounded up.
---@param nest einloom.Nest
---@param tiles integer[]
---@return integer[]
function rules.trips(nest, tiles)
  local trips = {}
  for variable, list in ipairs(nest.of_variable) do
    local outer = nest.step.sizes[nest.step.variables[variable]]
    for _, k in ipairs(list) do
      trips[k] = (outer + tiles[k] - 1) // tiles[k]
      outer = tiles[k]
    end
  end
  return trips
end

local function check_fused(options, step, nest, trips)
  local n, own = 0, {}
  for k = 1, nest.n_fused do
    if trips[k] > 1 then
      local v = nest.loops[k].variable
      n, own[v] = n + 1, (own[v] or 0) + 1
    end
  end
  if n > (options.max_fused_loops) then return "max_fused_loops" end
  for v, count in pairs(own) do
    if count > (options.max_fused_loops_per_rank_variable) then
      return "max_fused_loops_per_rank_variable:" .. step.variables[v]
    end
  end
  return nil
end

--- Whether a variable is spread over two dimensions of one level.
---@param nest einloom.Nest
---@param variable integer
---@param trips table<integer, integer> of its loops
---@return boolean
function rules.is_spread_twice(nest, variable, trips)
  local over = {}
  for _, k in ipairs(nest.of_variable[variable]) do
    local loop = nest.loops[k]
    if loop.dim and trips[k] > 1 then
      if over[loop.level] and over[loop.level] ~= loop.dim then return true end
      over[loop.level] = loop.dim
    end
  end
  return false
end

local function check_dimensions(step, nest, trips)
  for variable in ipairs(nest.of_variable) do
    if rules.is_spread_twice(nest, variable, trips) then
      return "one_spatial_dim_per_variable:" .. step.variables[variable]
    end
  end
  return nil
end

-- More by more than rounding can be.
local function exceeds(a, b) return a > b * (1 + CLOSE) end

local allows = {
  ["=="] = function(a, b) return not exceeds(a, b) and not exceeds(b, a) end,
  ["<="] = function(a, b) return not exceeds(a, b) end,
  [">="] = function(a, b) return not exceeds(b, a) end,
  ["<"] = function(a, b) return exceeds(b, a) end, [">"] = exceeds,
}

-- Whether trips of variables over a dimension keep to a bound; a variable without a loop there has
-- one trip.
local function keeps_to(step, bound, trips_over)
  local op, product = allows[bound.op:match "[=<>]+$"], 1
  for v in pairs(bound.variables) do
    local trips = 1
    for i, name in ipairs(step.variables) do
      if name == v then trips = trips_over(i) end
    end
    product = product * trips
    if not bound.op:find "^product" and not op(trips, bound.value) then return false end
  end
  return not bound.op:find "^product" or op(product, bound.value)
end

--- The bound that an architecture sets to the loops of its dimensions, on the way of the template,
--- and that trips break, or nil.
---@param nest einloom.Nest
---@param trips_over fun(variable: integer, dim: table): number of the loops of a variable over it
---@return string?
function rules.bounds(nest, trips_over)
  for _, level in ipairs(nest.template.way.levels) do
    for _, dim in ipairs(level.dims) do
      local function over(variable) return trips_over(variable, dim) end
      for _, bound in ipairs(dim.bounds) do
        if not keeps_to(nest.step, bound, over) then
          return "loop_bounds:" .. level.name .. "." .. dim.name
        end
      end
    end
  end
  return nil
end

local function check_bounds(nest, pieces)
  return rules.bounds(nest, function(variable, dim)
    local n = 1
    for _, k in ipairs(nest.of_variable[variable]) do
      if nest.loops[k].dim == dim then n = n * pieces[k] end
    end
    return n
  end)
end

--- The rule about dimensions that uses of them break, by row of nest.spatial, or nil.
---@param nest einloom.Nest
---@param used number[]
---@return string?
function rules.uses(nest, used)
  local spatial = nest.spatial
  for i, row in ipairs(spatial) do
    if exceeds(used[i], row.count) then return "fanout:" .. row.component .. "." .. row.dim end
  end
  local list, shares = spread.of(nest), {}
  if not list then return nil end
  for d, dim in ipairs(list.dims) do shares[d] = spread.share(dim, used[dim.row]) end
  for _, use in ipairs(list.uses) do
    local at_most, lacking = true, nil
    for d, dim in ipairs(list.dims) do
      at_most = at_most and not exceeds(shares[d], use.shares[d])
      if exceeds(use.shares[d], shares[d]) then lacking = lacking or dim end
    end
    if at_most and lacking then return "min_usage:" .. lacking.component .. "." .. lacking.dim end
  end
  return nil
end

local function check_uses(nest, pieces)
  local used = {}
  for i in ipairs(nest.spatial) do used[i] = 1 end
  for k, loop in ipairs(nest.loops) do
    if loop.dim then used[loop.row] = used[loop.row] * pieces[k] end
  end
  return rules.uses(nest, used)
end

--- The trips of loops, or nil and the rule where the tiles are none of the template.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param tiles integer[]
---@return integer[]? trips
---@return string? rule
function rules.trips_of(step, nest, tiles)
  if #tiles ~= #nest.loops then return nil, "tiles" end
  for variable = 1, #nest.of_variable do
    local rule = check_chain(step, nest, variable, tiles)
    if rule then return nil, rule end
  end
  return rules.trips(nest, tiles)
end

--- The rule about loops that tiles break, or nil; memories are looked at by `rules.capacity`.
---@param options table of the space
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param tiles integer[]
---@param is_fullest? boolean limits leave no fuller use of dimensions with a least share
---@return string? rule
---@return integer[]? trips
function rules.loops(options, step, nest, tiles, is_fullest)
  local trips, none = rules.trips_of(step, nest, tiles)
  if not trips then return none end
  local pieces = all_pieces(nest, tiles)
  local uses = check_uses(nest, pieces)
  if is_fullest and uses and uses:find("min_usage:", 1, true) == 1 then uses = nil end
  local rule = check_fused(options, step, nest, trips)
    or options.one_spatial_dim_per_variable and check_dimensions(step, nest, trips)
    or uses or check_bounds(nest, pieces)
  if rule then return rule end
  return nil, trips
end

--- The rule about memories that bits break, each row of a nest alone in its memory or together.
---@param nest einloom.Nest
---@param bits number[] by row of nest.memory
---@return string?
function rules.capacity(nest, bits)
  local total = {}
  for i, row in ipairs(nest.memory) do
    local sum = (total[row.component] or 0) + bits[i]
    total[row.component] = sum
    if sum > row.size then return "capacity:" .. row.component end
  end
  return nil
end

return rules
