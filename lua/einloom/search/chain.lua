-- SPDX-License-Identifier: MIT
-- Chains of tiles of one variable (doc/formulas.md#search-uneven-tiles): every tile cuts the one
-- outside of it, the outermost one the size of the variable, and the last one is 1.

local chain = {}

-- Multiples of an inner tile below the size, ascending, that divide it; of uneven ones the least
-- for each number of trips over the whole size. Those that are smaller than coarseness times the
-- one kept before are left out.
local function around(size, inner, uneven, coarseness)
  local list, tile, kept = {}, inner, 0
  while tile < size do
    if (uneven or size % tile == 0) and tile >= coarseness * kept then
      list[#list + 1], kept = tile, tile
    end
    local least = uneven and (size - 1) // ((size - 1) // tile) + 1 or tile + 1
    tile = (least - 1) // inner * inner + inner
  end
  return list
end

--- The tiles that a loop of a variable may have around an inner one, ascending, the size last.
---@param nest einloom.Nest
---@param variable integer
---@param j integer position of the loop among those of its variable, from 1
---@param inner integer
---@return integer[]
function chain.around(nest, variable, j, inner)
  local size = nest.step.sizes[nest.step.variables[variable]]
  local loop = nest.loops[nest.of_variable[variable][j]]
  local list = around(size, inner, nest.uneven[variable] ~= false,
    loop.tiles and 1 or nest.step.coarseness)
  list[#list + 1] = size
  return list
end

--- Whether a tile is one of them.
---@param nest einloom.Nest
---@param variable integer
---@param j integer
---@param tile integer
---@param inner integer
---@return boolean
function chain.is_around(nest, variable, j, tile, inner)
  local size, uneven = nest.step.sizes[nest.step.variables[variable]], nest.uneven[variable]
  if tile == size then return uneven ~= false or size % inner == 0 end
  if tile % inner ~= 0 then return false end
  if nest.step.coarseness == 1 or nest.loops[nest.of_variable[variable][j]].tiles then
    local before = tile - inner
    return not uneven or before < 1 or (size - 1) // before ~= (size - 1) // tile
  end
  for _, other in ipairs(chain.around(nest, variable, j, inner)) do
    if other == tile then return true end
  end
  return false
end

--- Whether a loop may cut `outer` into tiles: they divide it, or it is the size of the variable,
--- this loop or one inside may leave a part, and those outside of it are left out.
---@param uneven einloom.Uneven|false
---@param j integer position of the loop among those of its variable, from 1
---@param absorbs boolean this loop or one inside, with several trips, may be why a part is left
---@param outer integer
---@param tile integer
---@return boolean
function chain.cuts(uneven, j, absorbs, outer, tile)
  return outer % tile == 0 or absorbs and uneven and j - 1 <= uneven.n_leading or false
end

--- What a loop makes of the extent outside: a number of tiles, a fraction where a part is left.
---@param outer integer
---@param tile integer
---@return number
function chain.pieces(outer, tile)
  return outer % tile == 0 and outer // tile or outer / tile
end

--- Whether a loop may have a tile: a mapping with holes may leave it some only.
---@param loop table of a nest
---@param tile integer
---@return boolean
function chain.admits(loop, tile)
  for _, allowed in ipairs(loop.tiles or {}) do
    if allowed == tile then return true end
  end
  return not loop.tiles
end

--- All chains of a variable of a nest, outermost tile first.
---@param nest einloom.Nest
---@param variable integer
---@return integer[][]
function chain.all(nest, variable)
  local loops, uneven = nest.of_variable[variable], nest.uneven[variable]
  local size, list = nest.step.sizes[nest.step.variables[variable]], {}
  local tiles = { [#loops] = 1 }
  -- Cuts the tile outside of a position, which is chosen, or the size.
  local function extend(j, absorbs)
    local candidates = j > 1 and chain.around(nest, variable, j - 1, tiles[j]) or { size }
    for _, outer in ipairs(candidates) do
      local also = absorbs or uneven and outer > tiles[j] and uneven.absorbs[loops[j]] or false
      if not chain.cuts(uneven, j, also, outer, tiles[j]) then goto continue end
      if j == 1 then
        list[#list + 1] = table.move(tiles, 1, #loops, 1, {})
      elseif chain.admits(nest.loops[loops[j - 1]], outer) then
        tiles[j - 1] = outer
        extend(j - 1, also)
      end
      ::continue::
    end
  end
  if chain.admits(nest.loops[loops[#loops]], 1) then extend(#loops, false) end
  return list
end

return chain
