-- SPDX-License-Identifier: MIT
-- Candidates by construction. Every einsum starts from the tiles that need least and takes prime
-- factors to other loops as long as they fit; loops that it shares with einsums before are theirs.
-- Invariant: what comes out keeps to every rule; nothing is drawn but from the generator given.

local arguments = require "einloom.search.arguments"
local fill = require "einloom.search.fill"
local joint = require "einloom.search.joint"
local nest = require "einloom.search.nest"
local rules = require "einloom.search.rules"
local spread = require "einloom.search.spread"
local tiles_of = require "einloom.search.tiles"

local draw = {}

local CAREFUL, SEPARATE, LAST = 12, 24, 48
local LIMITED = 32

--- The prime factors of a number, ascending.
---@param n integer at least 1
---@return integer[]
function draw.primes(n)
  local list, p = {}, 2
  while p * p <= n do
    while n % p == 0 do
      list[#list + 1], n = p, n // p
    end
    p = p + 1
  end
  if n > 1 then list[#list + 1] = n end
  return list
end

--- Factors whose product is a number, ascending primes multiplied until they are at least the
--- coarseness of tiles; the last may be smaller.
---@param n integer at least 1
---@param coarseness number
---@return integer[]
function draw.factors(n, coarseness)
  local list, product = {}, 1
  for _, p in ipairs(draw.primes(n)) do
    product = product * p
    if product >= coarseness then
      list[#list + 1], product = product, 1
    end
  end
  if product > 1 then list[#list + 1] = product end
  return list
end

--- A choice as a part of a candidate, or nil and the rule about it alone that it breaks.
---@param space einloom.Space
---@param i integer number of the einsum
---@param number integer of the template
---@param tiles integer[]
---@param names? string[] variables of the fused loops
---@return table? part {nest =, tiles =, trips =, order =, choice =}
---@return string? rule
function draw.part(space, i, number, tiles, names)
  local step, own = space.steps[i], nest.of(space, space.shape_of[i], number)
  local rule, trips = rules.loops(space.options, step, own, tiles)
  if rule then return nil, rule end
  local order = joint.order(step, own, trips, names)
  if not order then return nil, "fused:" .. step.einsum end
  local program, open, bits = nest.program(space, own), {}, {}
  for k, loop in ipairs(own.open) do open[k] = { tiles[loop] } end
  local values = program:eval(open)
  for k = 1, #own.memory do bits[k] = values[2 + k][1] end
  rule = rules.capacity(own, bits)
  if rule then return nil, rule end
  return {
    nest = own, tiles = tiles, trips = trips, order = order,
    choice = { template = number, tiles = tiles, fused = names },
  }
end

--- Names of the fused loops: those that are fixed, then the others as they stand in the template.
---@param step einloom.SearchStep
---@param own einloom.Nest
---@param fixed table of fill.fixed
---@param tiles integer[]
---@return string[]
function draw.fused_names(step, own, fixed, tiles)
  local names, trips = {}, rules.trips(own, tiles)
  for j, k in ipairs(fixed.order) do names[j] = step.variables[own.loops[k].variable] end
  for k = fixed.n + 1, own.n_fused do
    if trips[k] > 1 then names[#names + 1] = step.variables[own.loops[k].variable] end
  end
  return names
end

-- ---- one einsum ----

local function fitting(space, i, number, own, fixed, wish, start)
  local step = space.steps[i]
  local tiles = fill.tiles(step, own, fixed, wish, start)
  return tiles and draw.part(space, i, number, tiles, draw.fused_names(step, own, fixed, tiles))
end

--- The least tiles that fit, what is left over in fused loops where it has to be; and where that
--- is.
---@param space einloom.Space
---@param i integer
---@param number integer
---@param fixed table of fill.fixed
---@param wish table<integer, integer>
---@param ways table<integer, true>[] of fill.outer_ways
---@param inside? table<integer, table> as in a start
---@param chains? table<integer, integer[]> as in a start
---@return table? part
---@return einloom.Start? start
function draw.least(space, i, number, fixed, wish, ways, inside, chains)
  local own = nest.of(space, space.shape_of[i], number)
  for _, outer in ipairs(ways) do
    local start = { inside = inside, outer = outer, chains = chains }
    local part = fitting(space, i, number, own, fixed, wish, start)
    if part then return part, start end
  end
  return nil
end

-- Trips of spatial loops that fill the dimensions with a least share, drawn among the fullest, and
-- all tiles of the variables that may leave a part.
local function draw_spread(own, rng)
  local wish, list = {}, spread.of(own)
  local use = list and rng:pick(list.uses) or { trips = {}, chains = {} }
  for _, given in ipairs(use.trips) do
    wish[list.loops[given.variable][given.position].loop] = given.trips
  end
  return wish, use.chains
end

-- The loop that leaves a part and its tile, of some of the variables that may.
local function draw_uneven(step, own, fixed, rng)
  local inside
  for variable, list in ipairs(own.of_variable) do
    local uneven = own.uneven[variable]
    if #list > 1 and list[1] > fixed.n and uneven and rng:integer(2) == 1 then
      local size = step.sizes[step.variables[variable]]
      local trips = (size - 1) // rng:integer(size) + 1
      inside = inside or {}
      inside[variable] = {
        at = rng:integer(math.min(uneven.n_leading + 1, #list - 1)),
        tile = (size - 1) // trips + 1,
      }
    end
  end
  return inside
end

--- Chains of tiles of the variables of which a loop has not any tile.
---@param options table of the space
---@param step einloom.SearchStep
---@param own einloom.Nest
---@return table<integer, integer[][]>
function draw.limited(options, step, own)
  if not own.lists and next(own.limited) then own.lists = tiles_of.chains(options, step, own) end
  local lists = {}
  for variable in ipairs(own.of_variable) do
    if own.limited[variable] then lists[variable] = own.lists[variable] end
  end
  return lists
end

local function draw_chains(options, step, own, given, rng)
  local chains, lists = table.move(given, 1, #own.of_variable, 1, {}),
    draw.limited(options, step, own)
  for variable in ipairs(own.of_variable) do
    if lists[variable] and not chains[variable] then
      chains[variable] = rng:pick(lists[variable])
    end
  end
  return chains
end

-- Prime factors that may go somewhere else, each with the loops that may take it, in random order.
local function list_moves(own, fixed, part, may_fuse, rng)
  local moves = {}
  for variable, list in ipairs(own.of_variable) do
    local loops, product = {}, 1
    for _, k in ipairs(own.limited[variable] and {} or list) do
      local asked = own.loops[k].dim and own.loops[k].dim.min_fraction > 0
      if k > fixed.n and not asked then
        product = product * part.trips[k]
        if may_fuse or not own.loops[k].fused then loops[#loops + 1] = k end
      end
    end
    if #loops > 1 then
      for _, p in ipairs(draw.factors(product, own.step.coarseness)) do
        moves[#moves + 1] = { factor = p, loops = loops }
      end
    end
  end
  return rng:shuffle(moves)
end

-- One template of an einsum with tiles drawn; nil where not even the least tiles fit.
local function draw_tiles(space, i, number, places, may_fuse, rng)
  local own = nest.of(space, space.shape_of[i], number)
  local fixed = fill.fixed(space.steps[i], own, places)
  if not fixed then return nil end
  local wish, given = draw_spread(own, rng)
  local inside = draw_uneven(space.steps[i], own, fixed, rng)
  local ways = may_fuse and rng:shuffle(fill.outer_ways(own)) or { {} }
  local part, start
  for _ = 1, next(own.limited) and LIMITED or 1 do
    local chains = draw_chains(space.options, space.steps[i], own, given, rng)
    part, start = draw.least(space, i, number, fixed, wish, ways, inside, chains)
    if not part and inside then
      part, start = draw.least(space, i, number, fixed, wish, ways, nil, chains)
    end
    if part then break end
  end
  if not part then return nil end
  for _, move in ipairs(list_moves(own, fixed, part, may_fuse, rng)) do
    local k = rng:pick(move.loops)
    local before = wish[k]
    wish[k] = (before or 1) * move.factor
    local other = fitting(space, i, number, own, fixed, wish, start)
    if other then part = other else wish[k] = before end
  end
  return part
end

--- A part for an einsum with its shared tensors where others keep them, or nil.
---@param space einloom.Space
---@param i integer
---@param places table<string, einloom.Place> of shared tensors that have one
---@param may_fuse boolean further loops above shared tensors
---@param rng einloom.Rng
---@return table? part
function draw.step(space, i, places, may_fuse, rng)
  local numbers = {}
  for number in ipairs(space:list(i)) do numbers[number] = number end
  for _, number in ipairs(rng:shuffle(numbers)) do
    local part = draw_tiles(space, i, number, places, may_fuse, rng)
    if part then return part end
  end
  return nil
end

-- ---- all einsums ----

-- First and last user of each shared tensor.
local function list_users(space)
  if space.users then return space.users end
  local users = {}
  for i, step in ipairs(space.steps) do
    for _, t in ipairs(step.tensors) do
      if t.shared then
        users[t.name] = users[t.name] or { first = i }
        users[t.name].last, users[t.name][i] = i, true
      end
    end
  end
  space.users = users
  return users
end

-- Whether the next einsum stands in the loops of all tensors that are still needed.
local function may_go_on(users, places, i)
  local deepest, reached = 0, 0
  for name, place in pairs(places) do
    local u = users[name]
    if u.first <= i and u.last > i then
      deepest = math.max(deepest, #place.loops)
      if u[i + 1] then reached = math.max(reached, #place.loops) end
    end
  end
  return reached >= deepest
end

-- Every tensor of the einsum is used by each einsum from its first to its last.
local function has_only_neighbours(users, step)
  for _, t in ipairs(step.tensors) do
    local u = t.shared and users[t.name]
    for i = u and u.first or 1, u and u.last or 0 do
      if not u[i] then return false end
    end
  end
  return true
end

local function attempt(space, n, rng)
  local users, places, choices = list_users(space), {}, {}
  for i, step in ipairs(space.steps) do
    local may_fuse = n < SEPARATE and (n < CAREFUL or has_only_neighbours(users, step))
    local part = draw.step(space, i, places, may_fuse, rng)
    if not part then return nil end
    choices[i] = part.choice
    for name, place in pairs(fill.places(step, part)) do places[name] = places[name] or place end
    if not may_go_on(users, places, i) then return nil end
  end
  return { choices = choices }
end

--- A candidate that keeps to every rule, or nil where none was found: after some attempts without
--- success einsums share fewer loops, at last none.
---@param space einloom.Space
---@param rng einloom.Rng
---@return einloom.Candidate?
function draw.candidate(space, rng)
  arguments.rng(rng, "space:random")
  for n = 1, LAST do
    local c = attempt(space, n, rng)
    if c and space:evaluate(c) then return c end
  end
  return nil
end

return draw
