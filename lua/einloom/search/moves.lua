-- SPDX-License-Identifier: MIT
-- Candidates next to one: a prime factor in another loop of its variable, the trips of two loops
-- exchanged, fused loops in another order, another template. Einsums that share loops follow.

local arguments = require "einloom.search.arguments"
local chain = require "einloom.search.chain"
local draw = require "einloom.search.draw"
local errors = require "einloom.errors"
local fill = require "einloom.search.fill"
local joint = require "einloom.search.joint"
local nest = require "einloom.search.nest"
local rules = require "einloom.search.rules"

local moves = {}

-- ---- the einsums that follow ----

-- Trips that loops of a template take over from a choice of another one, loops of a variable
-- counted from the innermost, temporal ones and those of each dimension apart.
local function taken_over(own, other, trips)
  local wish = {}
  local function by_place(n, variable)
    local places, lists = {}, {}
    for i = #n.of_variable[variable], 1, -1 do
      local k = n.of_variable[variable][i]
      local dim = n.loops[k].dim
      local key = dim and n.template.way.levels[n.loops[k].level].name .. "." .. dim.name or ""
      lists[key] = (lists[key] or 0) + 1
      places[k] = key .. ":" .. lists[key]
    end
    return places
  end
  for variable = 1, #own.of_variable do
    local of = {}
    for k, place in pairs(by_place(other, variable)) do of[place] = trips[k] end
    for k, place in pairs(by_place(own, variable)) do wish[k] = of[place] end
  end
  return wish
end

-- A part for an einsum with its shared tensors at some places, as near to a choice as can be.
local function nearest(space, i, choice, places)
  local step, shape = space.steps[i], space.shape_of[i]
  local other = nest.of(space, shape, choice.template)
  local trips = rules.trips(other, choice.tiles)
  local function try(number)
    local own = nest.of(space, shape, number)
    local fixed = fill.fixed(step, own, places)
    local wish = number == choice.template and trips or taken_over(own, other, trips)
    return fixed and draw.least(space, i, number, fixed, wish, fill.outer_ways(own))
  end
  local part = try(choice.template)
  for number = 1, part and 0 or #space:list(i) do
    if number ~= choice.template then part = try(number) end
    if part then return part end
  end
  return part
end

-- Whether a choice has its shared tensors at places that are known.
local function agrees(step, part, places)
  for name, place in pairs(fill.places(step, part)) do
    local known = places[name]
    if known and (known.level ~= place.level or #known.loops ~= #place.loops) then return false end
    for j, loop in ipairs(known and place.loops or {}) do
      local other = known.loops[j]
      if loop.rank ~= other.rank or loop.tile ~= other.tile or loop.dim ~= other.dim
        or loop.level ~= other.level then
        return false
      end
    end
  end
  return true
end

-- The candidate with another part for one einsum, the others as they were where they still fit.
local function follow(space, c, i, part)
  local choices, places = {}, fill.places(space.steps[i], part)
  choices[i] = part.choice
  local order = {}
  for k = i + 1, #space.steps do order[#order + 1] = k end
  for k = i - 1, 1, -1 do order[#order + 1] = k end
  for _, k in ipairs(order) do
    local step, choice = space.steps[k], c.choices[k]
    local own = draw.part(space, k, choice.template, choice.tiles, choice.fused)
    if not own or not agrees(step, own, places) then
      own = nearest(space, k, choice, places)
      if not own then return nil end
    else
      own.choice = choice
    end
    choices[k] = own.choice
    for name, place in pairs(fill.places(step, own)) do places[name] = places[name] or place end
  end
  return { choices = choices }
end

-- ---- one einsum ----

-- The position of the first loop of a variable with several trips, and whether it leaves a part.
local function first_loop(step, own, variable, tiles)
  local size, list = step.sizes[step.variables[variable]], own.of_variable[variable]
  for j, k in ipairs(list) do
    if tiles[k] < size then return j, size % tiles[k] ~= 0 end
  end
  return #list, false
end

-- Tiles of a nest with these trips; those up to a loop that leaves a part stay what they are.
local function tiles_of(step, own, trips, tiles)
  local result = {}
  for variable, list in ipairs(own.of_variable) do
    local extent, kept = step.sizes[step.variables[variable]], 0
    local first, leaves = first_loop(step, own, variable, tiles)
    if leaves then
      kept, extent = first, tiles[list[first]]
      for j = 1, first do result[list[j]] = tiles[list[j]] end
    end
    for j = kept + 1, #list do
      if extent % trips[list[j]] ~= 0 then return nil end
      extent = extent // trips[list[j]]
      result[list[j]] = extent
    end
  end
  return result
end

-- Variables of the fused loops in the order in which they stood, those that are new at the end of
-- their place.
local function names_after(step, own, order, trips)
  local stood, names = {}, {}
  for j, k in ipairs(order) do stood[k] = j end
  local loops = {}
  for k = 1, own.n_fused do
    if trips[k] > 1 then loops[#loops + 1] = k end
  end
  table.sort(loops, function(a, b)
    local sa, sb = own.loops[a].segment, own.loops[b].segment
    if sa ~= sb then return sa < sb end
    return (stood[a] or #order + a) < (stood[b] or #order + b)
  end)
  for j, k in ipairs(loops) do names[j] = step.variables[own.loops[k].variable] end
  return names
end

local function with_trips(space, i, choice, state, trips)
  local step, own = space.steps[i], state.nest
  local tiles = tiles_of(step, own, trips, choice.tiles)
  if not tiles then return nil end
  local names = names_after(step, own, state.order, rules.trips(own, tiles))
  return draw.part(space, i, choice.template, tiles, names)
end

-- Each way to change the trips of loops of one variable: a prime factor from one to another, or
-- those of two loops exchanged; a loop that leaves a part stays.
local function each_trips(step, own, trips, tiles, visit)
  local function changed(a, b, ta, tb)
    local new = table.move(trips, 1, #trips, 1, {})
    new[a], new[b] = ta, tb
    visit(new)
  end
  for variable, loops in ipairs(own.of_variable) do
    local first, leaves = first_loop(step, own, variable, tiles)
    local list = table.move(loops, leaves and first + 1 or 1, #loops, 1, {})
    for _, a in ipairs(list) do
      for _, b in ipairs(list) do
        local before
        for _, p in ipairs(a ~= b and draw.factors(trips[a], step.coarseness) or {}) do
          if p ~= before then changed(a, b, trips[a] // p, trips[b] * p) end
          before = p
        end
        if a < b and trips[a] ~= trips[b] and trips[a] > 1 and trips[b] > 1 then
          changed(a, b, trips[b], trips[a])
        end
      end
    end
  end
end

-- Each other chain of tiles of a variable of which a loop has not any tile.
local function each_chain(options, step, own, tiles, visit)
  local lists = draw.limited(options, step, own)
  for variable in ipairs(own.of_variable) do
    for _, list in ipairs(lists[variable] or {}) do
      local new, same = table.move(tiles, 1, #tiles, 1, {}), true
      for j, k in ipairs(own.of_variable[variable]) do
        same, new[k] = same and tiles[k] == list[j], list[j]
      end
      if not same then visit(new) end
    end
  end
end

-- For each variable that may leave a part: the tile of the first loop with several trips becomes
-- the next one or the one before, or another loop becomes the first.
local function each_uneven(step, own, tiles, visit)
  local function changed(k, tile)
    local new = table.move(tiles, 1, #tiles, 1, {})
    new[k] = tile
    visit(new)
  end
  for variable, list in ipairs(own.of_variable) do
    local size, first = step.sizes[step.variables[variable]],
      first_loop(step, own, variable, tiles)
    for j = math.max(first - 1, 1), own.uneven[variable] and math.min(first, #list - 1) or 0 do
      local around = chain.around(own, variable, j, tiles[list[j + 1]])
      for q, tile in ipairs(around) do
        if tile == tiles[list[j]] then
          if around[q - 1] then changed(list[j], around[q - 1]) end
          if around[q + 1] then changed(list[j], around[q + 1]) end
        end
      end
    end
    if own.uneven[variable] and first > 1 then changed(list[first - 1], tiles[list[first]]) end
    if own.uneven[variable] and first < #list then changed(list[first], size) end
  end
end

-- ---- candidates ----

local function state_of(space, i, choice)
  local step, own = space.steps[i], nest.of(space, space.shape_of[i], choice.template)
  local trips = rules.trips(own, choice.tiles)
  return { nest = own, trips = trips, order = joint.order(step, own, trips, choice.fused) }
end

-- Each order of fused loops in which two that are next to each other change places.
local function each_order(space, i, choice, state, visit)
  local step, own = space.steps[i], state.nest
  for j = 1, #state.order - 1 do
    local a, b = state.order[j], state.order[j + 1]
    if own.loops[a].segment == own.loops[b].segment then
      local names = {}
      for q, k in ipairs(state.order) do names[q] = step.variables[own.loops[k].variable] end
      names[j], names[j + 1] = names[j + 1], names[j]
      visit(draw.part(space, i, choice.template, choice.tiles, names))
    end
  end
end

local function with_tiles(space, i, choice, state, tiles)
  local step, own = space.steps[i], state.nest
  local names = names_after(step, own, state.order, rules.trips(own, tiles))
  return draw.part(space, i, choice.template, tiles, names)
end

-- The part of another template with the trips of the choice where loops are alike.
local function with_template(space, i, state, number)
  local step, own = space.steps[i], nest.of(space, space.shape_of[i], number)
  local wish = taken_over(own, state.nest, state.trips)
  local chains, lists = {}, draw.limited(space.options, step, own)
  for variable, list in pairs(lists) do chains[variable] = list[1] end
  return (draw.least(space, i, number, { tile = {}, order = {}, n = 0 }, wish,
    fill.outer_ways(own), nil, chains))
end

-- Each part next to the choice of one einsum; visit gets nil where rules are broken.
local function each_part(space, i, choice, visit)
  local state = state_of(space, i, choice)
  each_trips(space.steps[i], state.nest, state.trips, choice.tiles, function(trips)
    visit(with_trips(space, i, choice, state, trips))
  end)
  local function visit_tiles(tiles) visit(with_tiles(space, i, choice, state, tiles)) end
  each_uneven(space.steps[i], state.nest, choice.tiles, visit_tiles)
  each_chain(space.options, space.steps[i], state.nest, choice.tiles, visit_tiles)
  each_order(space, i, choice, state, visit)
  for number in ipairs(space:list(i)) do
    if number ~= choice.template then visit(with_template(space, i, state, number)) end
  end
end

--- Goes through the candidates next to one that keep to the rules about single einsums, in an order
--- that depends on it alone; einsums that share loops with the one that changes follow it.
---@param space einloom.Space
---@param c einloom.Candidate one that keeps to every rule
---@return fun(): einloom.Candidate?
function moves.each(space, c)
  arguments.candidate(space, c)
  return coroutine.wrap(function()
    for i in ipairs(space.steps) do
      each_part(space, i, c.choices[i], function(part)
        local other = part and follow(space, c, i, part)
        if other then coroutine.yield(other) end
      end)
    end
  end)
end

--- The candidate with another choice for one einsum; others that share loops with it follow. Nil
--- where a rule is broken or they cannot.
---@param space einloom.Space
---@param c einloom.Candidate one that keeps to every rule
---@param i integer number of the einsum
---@param choice einloom.Choice
---@return einloom.Candidate?
function moves.replace(space, c, i, choice)
  arguments.candidate(space, c)
  if not space.steps[i] then
    errors.raise("bad_argument", ("einsums are 1 to %d, not %s"):format(#space.steps, tostring(i)),
      { path = "space:replace" })
  end
  local choices = table.move(c.choices, 1, #c.choices, 1, {})
  choices[i] = choice
  arguments.choice(space, { choices = choices }, i)
  local part = draw.part(space, i, choice.template, choice.tiles, choice.fused)
  return part and follow(space, c, i, part)
end

local TRIES = 24

-- A part drawn next to the choice of one einsum: most often with other trips.
local function draw_part(space, i, choice, rng)
  local state, kind, list = state_of(space, i, choice), rng:integer(10), {}
  local function note(x) list[#list + 1] = x end
  if kind <= 6 then
    each_trips(space.steps[i], state.nest, state.trips, choice.tiles, note)
    local trips = rng:pick(list)
    return trips and with_trips(space, i, choice, state, trips)
  elseif kind == 7 then
    each_uneven(space.steps[i], state.nest, choice.tiles, note)
    each_chain(space.options, space.steps[i], state.nest, choice.tiles, note)
    local tiles = rng:pick(list)
    return tiles and with_tiles(space, i, choice, state, tiles)
  elseif kind == 8 then
    each_order(space, i, choice, state, note)
    return rng:pick(list)
  end
  local number = rng:integer(#space:list(i))
  return number ~= choice.template and with_template(space, i, state, number)
end

--- One of the candidates next to one, drawn, or nil where some draws gave none.
---@param space einloom.Space
---@param c einloom.Candidate one that keeps to every rule
---@param rng einloom.Rng
---@return einloom.Candidate?
function moves.draw(space, c, rng)
  arguments.candidate(space, c)
  arguments.rng(rng, "space:neighbour")
  for _ = 1, TRIES do
    local i = rng:integer(#space.steps)
    local part = draw_part(space, i, c.choices[i], rng)
    local other = part and follow(space, c, i, part)
    if other then return other end
  end
  return nil
end

return moves
