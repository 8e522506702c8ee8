-- SPDX-License-Identifier: MIT
-- What the tiles of one einsum have to keep to, and the names of the rules: tiles:V,
-- max_fused_loops, max_fused_loops_per_rank_variable:V, one_spatial_dim_per_variable:V, fanout:C.D,
-- min_usage:C.D, loop_bounds:C.D, capacity:M.

local spread = require "einloom.search.spread"

local rules = {}

--- Whether the tiles of a variable need not divide its size.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param variable integer
---@return boolean
function rules.is_uneven(step, nest, variable)
  local first = nest.of_variable[variable][1]
  return step.uneven ~= nil and step.uneven[variable] and not nest.loops[first].dim
end

-- A mapping with holes may leave a loop some tiles only.
local function is_allowed(loop, tile)
  for _, allowed in ipairs(loop.tiles or {}) do
    if allowed == tile then return true end
  end
  return not loop.tiles
end

-- Where tiles may be uneven, of those with equal trips over the whole size the least one counts.
local function is_least(size, tile, inner)
  local before = tile - inner
  return before < 1 or (size + before - 1) // before ~= (size + tile - 1) // tile
end

-- A tile is a positive integer that the tile outside of it is a multiple of; the outermost one need
-- not divide the size where uneven tiles are allowed.
local function check_chain(step, nest, variable, tiles)
  local list, name = nest.of_variable[variable], step.variables[variable]
  local size = step.sizes[name]
  local outer, uneven = size, rules.is_uneven(step, nest, variable)
  for i, k in ipairs(list) do
    local tile = tiles[k]
    if math.type(tile) ~= "integer" or tile < 1 or tile > outer then return "tiles:" .. name end
    if outer % tile ~= 0 and not (uneven and i == 1) or not is_allowed(nest.loops[k], tile) then
      return "tiles:" .. name
    end
    if uneven and list[i + 1] and not is_least(size, tile, tiles[list[i + 1]]) then
      return "tiles:" .. name
    end
    outer = tile
  end
  if outer ~= 1 then return "tiles:" .. name end
  return nil
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

local allows = {
  ["=="] = function(a, b) return a == b end, ["<="] = function(a, b) return a <= b end,
  [">="] = function(a, b) return a >= b end, ["<"] = function(a, b) return a < b end,
  [">"] = function(a, b) return a > b end,
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
---@param trips_over fun(variable: integer, dim: table): integer of the loops of a variable over it
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

local function check_bounds(nest, trips)
  return rules.bounds(nest, function(variable, dim)
    local n = 1
    for _, k in ipairs(nest.of_variable[variable]) do
      if nest.loops[k].dim == dim then n = n * trips[k] end
    end
    return n
  end)
end

--- The rule about dimensions that uses of them break, by row of nest.spatial, or nil.
---@param nest einloom.Nest
---@param used integer[]
---@return string?
function rules.uses(nest, used)
  local spatial = nest.spatial
  for i, row in ipairs(spatial) do
    if used[i] > row.count then return "fanout:" .. row.component .. "." .. row.dim end
  end
  local list, shares = spread.of(nest), {}
  if not list then return nil end
  for d, dim in ipairs(list.dims) do shares[d] = spread.share(dim, used[dim.row]) end
  for _, use in ipairs(list.uses) do
    local at_most, lacking = true, nil
    for d, dim in ipairs(list.dims) do
      at_most = at_most and shares[d] <= use.shares[d]
      if shares[d] < use.shares[d] then lacking = lacking or dim end
    end
    if at_most and lacking then return "min_usage:" .. lacking.component .. "." .. lacking.dim end
  end
  return nil
end

local function check_uses(nest, trips)
  local used = {}
  for i in ipairs(nest.spatial) do used[i] = 1 end
  for k, loop in ipairs(nest.loops) do
    if loop.dim then used[loop.row] = used[loop.row] * trips[k] end
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
  local uses = check_uses(nest, trips)
  if is_fullest and uses and uses:find("min_usage:", 1, true) == 1 then uses = nil end
  local rule = check_fused(options, step, nest, trips)
    or options.one_spatial_dim_per_variable and check_dimensions(step, nest, trips)
    or uses or check_bounds(nest, trips)
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
