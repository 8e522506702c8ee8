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

-- The loop that takes what is left: the outermost free one that is temporal and not fused.
local function rest_loop(nest, free)
  for _, k in ipairs(free) do
    if not nest.loops[k].dim and not nest.loops[k].fused then return k end
  end
  return nil
end

-- Trips of the free loops of one variable, in all `extent` times; uneven: the outermost loop may go
-- on to a size that they do not divide.
local function share_out(nest, free, extent, wish)
  local trips, left, rest = {}, extent, rest_loop(nest, free)
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

--- Tiles of all loops and the order of those that are fixed, or nil.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param fixed table of fill.fixed
---@param wish table<integer, integer> trips of loops
---@param inside? table<integer, integer> by variable: the outermost tile where it is uneven
---@return integer[]? tiles
function fill.tiles(step, nest, fixed, wish, inside)
  local tiles = {}
  for variable, list in ipairs(nest.of_variable) do
    local extent, free = step.sizes[step.variables[variable]], {}
    for _, k in ipairs(list) do
      if k > fixed.n then
        free[#free + 1] = k
      else
        local tile = fixed.tile[k] or extent
        local uneven = k == list[1] and step.uneven and step.uneven[variable]
        if tile > extent or extent % tile ~= 0 and not uneven then return nil end
        tiles[k], extent = tile, tile
      end
    end
    local outer = inside and inside[variable]
    if outer and free[1] == list[1] and outer < extent then
      tiles[free[1]], extent = outer, outer
      table.remove(free, 1)
    end
    local trips = share_out(nest, free, extent, wish)
    if not trips then return nil end
    for _, k in ipairs(free) do
      extent = extent // trips[k]
      tiles[k] = extent
    end
    if #free == 0 and extent > 1 then return nil end
  end
  return tiles
end

return fill
