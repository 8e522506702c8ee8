-- SPDX-License-Identifier: MIT
-- All tiles that the loops of a template can have: chains of divisors, or of multiples where tiles
-- may be uneven, for each variable apart.

local rules = require "einloom.search.rules"

local tiles = {}

local function divisors(n)
  local list = {}
  for d = 1, n do
    if n % d == 0 then list[#list + 1] = d end
  end
  return list
end

-- Multiples of a tile, for each number of trips over the whole size the least.
local function multiples(size, inner)
  local list, last = {}, nil
  for tile = inner, size, inner do
    local trips = (size - 1) // tile + 1
    if trips ~= last then list[#list + 1], last = tile, trips end
  end
  return list
end

local function set_of(list)
  local set = {}
  for _, x in ipairs(list) do set[x] = true end
  return set
end

-- Chains of n tiles, outermost first, the last one 1; of loops with a set of tiles those in it.
local function chains(size, n, uneven, allowed)
  local list, chain = {}, { [n] = 1 }
  local function extend(position)
    if position == 0 then
      list[#list + 1] = table.move(chain, 1, n, 1, {})
      return
    end
    local inner = chain[position + 1]
    local candidates = uneven and multiples(size, inner) or divisors(size // inner)
    for _, factor in ipairs(candidates) do
      local tile = uneven and factor or factor * inner
      if not allowed[position] or allowed[position][tile] then
        chain[position] = tile
        extend(position - 1)
      end
    end
  end
  if not allowed[n] or allowed[n][1] then extend(n - 1) end
  return list
end

-- What a chain adds to the limits of all: fused loops with several trips, and the use of each
-- dimension. Nil where it breaks a rule about its variable alone.
local function judged(options, nest, variable, size, chain)
  local fused, used, trips, outer = 0, {}, {}, size
  for i in ipairs(nest.spatial) do used[i] = 1 end
  for j, k in ipairs(nest.of_variable[variable]) do
    local loop = nest.loops[k]
    trips[k] = (outer + chain[j] - 1) // chain[j]
    outer = chain[j]
    if loop.fused and trips[k] > 1 then fused = fused + 1 end
    if loop.dim then used[loop.row] = used[loop.row] * trips[k] end
  end
  if fused > options.max_fused_loops_per_rank_variable
    or options.one_spatial_dim_per_variable and rules.is_spread_twice(nest, variable, trips) then
    return nil
  end
  chain.fused, chain.used = fused, used
  return chain
end

--- The chains of each variable of a nest that break no rule about it alone.
---@param options table of the space
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@return integer[][][]
function tiles.chains(options, step, nest)
  local lists = {}
  for variable, loops in ipairs(nest.of_variable) do
    local allowed = {}
    for i, k in ipairs(loops) do
      allowed[i] = nest.loops[k].tiles and set_of(nest.loops[k].tiles) or false
    end
    local size, list = step.sizes[step.variables[variable]], {}
    for _, chain in ipairs(chains(size, #loops, rules.is_uneven(step, nest, variable), allowed)) do
      list[#list + 1] = judged(options, nest, variable, size, chain)
    end
    lists[variable] = list
  end
  return lists
end

--- How many tiles there are, rules about variables together not asked.
---@param lists integer[][][]
---@return integer
function tiles.count(lists)
  local n = 1
  for _, list in ipairs(lists) do n = n * #list end
  return n
end

-- Goes through all choices of one chain for each variable: the same list again and again.
local function each_choice(lists)
  local at, now, over = {}, {}, false
  for variable, list in ipairs(lists) do
    at[variable], now[variable] = 1, list[1]
    over = over or #list == 0
  end
  local first = true
  return function()
    if over then return nil end
    if first then
      first = false
      return now
    end
    for variable = #lists, 1, -1 do
      local list = lists[variable]
      at[variable] = at[variable] % #list + 1
      now[variable] = list[at[variable]]
      if at[variable] > 1 then return now end
    end
    over = true
    return nil
  end
end

-- Whether chains keep to the limits together.
local function fits(options, nest, choice, used)
  local fused = 0
  for _, chain in ipairs(choice) do fused = fused + chain.fused end
  if fused > options.max_fused_loops then return false end
  for i in ipairs(nest.spatial) do
    local n = 1
    for _, chain in ipairs(choice) do n = n * chain.used[i] end
    used[i] = n
  end
  return not rules.uses(nest, used) and not rules.bounds(nest, function(variable, dim)
    for i, row in ipairs(nest.spatial) do
      if row.of == dim then return choice[variable].used[i] end
    end
    return 1
  end)
end

--- Goes through the tiles that keep to every rule about loops: the same list again and again.
---@param options table of the space
---@param nest einloom.Nest
---@param lists integer[][][] of tiles.chains
---@return fun(): integer[]?
function tiles.each(options, nest, lists)
  local next_choice, now, used = each_choice(lists), {}, {}
  return function()
    local choice = next_choice()
    while choice and not fits(options, nest, choice, used) do choice = next_choice() end
    for variable, chain in ipairs(choice or {}) do
      for j, k in ipairs(nest.of_variable[variable]) do now[k] = chain[j] end
    end
    return choice and now
  end
end

return tiles
