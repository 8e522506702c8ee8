-- SPDX-License-Identifier: MIT
-- All tiles that the loops of a template can have: chains for each variable apart, and which of
-- them keep to the rules together.

local chain = require "einloom.search.chain"
local rules = require "einloom.search.rules"

local tiles = {}

-- What a chain adds to the limits of all: fused loops with several trips, and the use of each
-- dimension. Nil where it breaks a rule about its variable alone.
local function judged(options, nest, variable, size, list)
  local fused, used, trips, outer = 0, {}, {}, size
  for i in ipairs(nest.spatial) do used[i] = 1 end
  for j, k in ipairs(nest.of_variable[variable]) do
    local loop = nest.loops[k]
    local before = outer
    trips[k] = (outer + list[j] - 1) // list[j]
    outer = list[j]
    if loop.fused and trips[k] > 1 then fused = fused + 1 end
    if loop.dim then used[loop.row] = used[loop.row] * chain.pieces(before, list[j]) end
  end
  if fused > options.max_fused_loops_per_rank_variable
    or options.one_spatial_dim_per_variable and rules.is_spread_twice(nest, variable, trips) then
    return nil
  end
  list.fused, list.used = fused, used
  return list
end

--- The chains of each variable of a nest that break no rule about it alone.
---@param options table of the space
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@return integer[][][]
function tiles.chains(options, step, nest)
  local lists = {}
  for variable in ipairs(nest.of_variable) do
    local size, list = step.sizes[step.variables[variable]], {}
    for _, one in ipairs(chain.all(nest, variable)) do
      list[#list + 1] = judged(options, nest, variable, size, one)
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
  for _, list in ipairs(choice) do fused = fused + list.fused end
  if fused > options.max_fused_loops then return false end
  for i in ipairs(nest.spatial) do
    local n = 1
    for _, list in ipairs(choice) do n = n * list.used[i] end
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
    for variable, list in ipairs(choice or {}) do
      for j, k in ipairs(nest.of_variable[variable]) do now[k] = list[j] end
    end
    return choice and now
  end
end

return tiles
