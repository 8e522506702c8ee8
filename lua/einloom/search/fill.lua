-- SPDX-License-Identifier: MIT
-- Tiles for a template: fused loops as other einsums have them, the other loops as is wished, and
-- what is left over where memories need least, outermost among the loops that nobody shares.
-- Invariant: what comes out divides as it has to; limits are looked at by the rules.

local joint = require "einloom.search.joint"

local fill = {}

---@class einloom.Place
---@field level integer where a shared tensor is kept
---@field loops table[] above it: {rank =, tile =, dim =, level =}, outermost first

--- Where a part keeps each of its shared tensors, by name.
---@param step einloom.SearchStep
---@param part table {nest =, tiles =, trips =, order =}
---@return table<string, einloom.Place>
function fill.places(step, part)
  local places, levels = {}, part.nest.template.way.levels
  for _, backing in ipairs(part.nest.backings) do
    local tensor, loops = step.tensors[backing.tensor], {}
    for _, k in ipairs(part.order) do
      if k > backing.n_loops then break end
      local loop = part.nest.loops[k]
      loops[#loops + 1] = {
        rank = joint.rank_of(step, tensor, loop.variable), tile = part.tiles[k],
        dim = loop.dim and loop.dim.name, level = loop.dim and levels[loop.level].name,
      }
    end
    places[tensor.name] = { level = levels[backing.level].name, loops = loops }
  end
  return places
end

-- The loop of a segment that can stand for a loop of another einsum.
local function matching(step, nest, tensor, wanted, from, to, used)
  for k = from, to do
    local loop = nest.loops[k]
    local dim = loop.dim and loop.dim.name
    local level = loop.dim and nest.template.way.levels[loop.level].name
    if not used[k] and dim == wanted.dim and level == wanted.level and wanted.rank
      and joint.rank_of(step, tensor, loop.variable) == wanted.rank then
      return k
    end
  end
  return nil
end

-- Loops from position `first` to `last` that stand for those of a place which have none yet, as
-- far as they go in this order.
local function take(step, nest, tensor, place, first, last, fixed)
  local from = first
  while from <= last do
    local to = from
    while to < last and nest.loops[to + 1].segment == nest.loops[from].segment do to = to + 1 end
    while #fixed.order < #place.loops do
      local wanted = place.loops[#fixed.order + 1]
      local k = matching(step, nest, tensor, wanted, from, to, fixed.tile)
      if not k then break end
      fixed.tile[k] = wanted.tile
      fixed.order[#fixed.order + 1] = k
    end
    from = to + 1
  end
end

--- The fused loops that other einsums have fixed: their tiles, their order, and how many loops of
--- the template have no freedom left; nil where the template cannot have them so.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param places table<string, einloom.Place>
---@return { tile: table<integer, integer>, order: integer[], n: integer }?
function fill.fixed(step, nest, places)
  local fixed = { tile = {}, order = {}, n = 0 }
  for _, backing in ipairs(nest.backings) do
    local tensor = step.tensors[backing.tensor]
    local place = places[tensor.name]
    if place then
      if nest.template.way.levels[backing.level].name ~= place.level then return nil end
      take(step, nest, tensor, place, fixed.n + 1, backing.n_loops, fixed)
      if #fixed.order ~= #place.loops then return nil end
      for i, k in ipairs(fixed.order) do
        local wanted, loop = place.loops[i], nest.loops[k]
        if fixed.tile[k] ~= wanted.tile
          or joint.rank_of(step, tensor, loop.variable) ~= wanted.rank then
          return nil
        end
      end
      fixed.n = math.max(fixed.n, backing.n_loops)
    end
  end
  return fixed
end

-- The loop that takes what is left: the outermost free one that is temporal, and not fused unless
-- fused ones may take it.
local function rest_loop(nest, free, may_fuse)
  for _, k in ipairs(free) do
    if not nest.loops[k].dim and (may_fuse or not nest.loops[k].fused) then return k end
  end
  return nil
end

-- Trips of the free loops of one variable, in all `extent` times.
local function share_out(free, extent, wish, rest)
  local trips, left = {}, extent
  for _, k in ipairs(free) do
    trips[k] = 1
    local wanted = wish[k] or 1
    if k ~= rest and wanted > 1 and left % wanted == 0 then
      trips[k] = wanted
      left = left // wanted
    end
  end
  if left > 1 and not rest then return nil end
  if rest then trips[rest] = left end
  return trips
end

--- Which variables may have what is left over in a fused loop, the ways worth trying one after the
--- other: none of them, each one, all.
---@param nest einloom.Nest
---@return table<integer, true>[]
function fill.outer_ways(nest)
  local ways, all = { {} }, {}
  if nest.n_fused == 0 then return ways end
  for variable = 1, #nest.of_variable do
    ways[#ways + 1], all[variable] = { [variable] = true }, true
  end
  ways[#ways + 1] = all
  return ways
end

-- Tiles of the loops of a variable that are fixed: the extent inside of them and the loops that are
-- free, or nil where it cannot be.
local function fill_fixed(step, nest, fixed, variable, tiles)
  local list, free = nest.of_variable[variable], {}
  local extent = step.sizes[step.variables[variable]]
  for _, k in ipairs(list) do
    if k > fixed.n then
      free[#free + 1] = k
    else
      local tile = fixed.tile[k] or extent
      local uneven = nest.uneven[variable] and extent == step.sizes[step.variables[variable]]
      if tile > extent or extent % tile ~= 0 and not uneven then return nil end
      tiles[k], extent = tile, tile
    end
  end
  return extent, free
end

-- Tiles of the loops of a variable that are free; false where they leave something over.
local function fill_free(nest, variable, free, extent, wish, start, tiles)
  local inside = start.inside and start.inside[variable]
  if inside and free[1] == nest.of_variable[variable][1] and inside.tile < extent then
    for j = 1, inside.at do
      tiles[free[1]] = j < inside.at and extent or inside.tile
      table.remove(free, 1)
    end
    extent = inside.tile
  end
  local trips = share_out(free, extent, wish, rest_loop(nest, free, start.outer[variable]))
  for _, k in ipairs(trips and free or {}) do
    extent = extent // trips[k]
    tiles[k] = extent
  end
  return trips ~= nil and extent == 1
end

---@class einloom.Start
---@field outer table<integer, true> variables of which a fused loop may take what is left over
---@field inside? table<integer, {at: integer, tile: integer}> by variable: the first of its loops
--- with several trips and its tile, where a part is left
---@field chains? table<integer, integer[]> by variable: all its tiles

--- Tiles of all loops, or nil.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param fixed table of fill.fixed
---@param wish table<integer, integer> trips of loops
---@param start einloom.Start
---@return integer[]? tiles
function fill.tiles(step, nest, fixed, wish, start)
  local tiles = {}
  for variable, list in ipairs(nest.of_variable) do
    local chain = start.chains and start.chains[variable]
    if chain and list[1] > fixed.n then
      for j, k in ipairs(list) do tiles[k] = chain[j] end
    else
      local extent, free = fill_fixed(step, nest, fixed, variable, tiles)
      if not extent or not fill_free(nest, variable, free, extent, wish, start, tiles) then
        return nil
      end
    end
  end
  return tiles
end

return fill
