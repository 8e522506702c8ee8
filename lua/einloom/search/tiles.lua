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

--- The chains of each variable of a nest.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@return integer[][][]
function tiles.chains(step, nest)
  local lists = {}
  for variable, loops in ipairs(nest.of_variable) do
    local allowed = {}
    for i, k in ipairs(loops) do
      allowed[i] = nest.loops[k].tiles and set_of(nest.loops[k].tiles) or false
    end
    lists[variable] = chains(step.sizes[step.variables[variable]], #loops,
      rules.is_uneven(step, nest, variable), allowed)
  end
  return lists
end

--- How many tiles there are, limits not asked.
---@param lists integer[][][]
---@return integer
function tiles.count(lists)
  local n = 1
  for _, list in ipairs(lists) do n = n * #list end
  return n
end

--- Goes through all tiles: the same list again and again.
---@param nest einloom.Nest
---@param lists integer[][][]
---@return fun(): integer[]?
function tiles.each(nest, lists)
  local at, now, started, over = {}, {}, false, false
  local function set(variable, i)
    at[variable] = i
    for j, k in ipairs(nest.of_variable[variable]) do now[k] = lists[variable][i][j] end
  end
  return function()
    if over then return nil end
    if not started then
      started = true
      for variable = 1, #lists do
        over = over or #lists[variable] == 0
        if not over then set(variable, 1) end
      end
      if over then return nil end
      return now
    end
    for variable = #lists, 1, -1 do
      if at[variable] < #lists[variable] then
        set(variable, at[variable] + 1)
        return now
      end
      set(variable, 1)
    end
    over = true
    return nil
  end
end

return tiles
