-- SPDX-License-Identifier: MIT
-- Chains of tiles of one variable (doc/formulas.md#search-uneven-tiles): every tile cuts the one
-- outside of it, the outermost one the size of the variable, and the last one is 1.

local chain = {}

--- The tiles that may stand around an inner one, ascending: multiples that divide the size; of
--- uneven ones the least for each number of trips over the whole size, and the size.
---@param size integer
---@param inner integer
---@param uneven boolean
---@return integer[]
function chain.around(size, inner, uneven)
  local list, tile = {}, inner
  while tile < size do
    if uneven or size % tile == 0 then list[#list + 1] = tile end
    local least = uneven and (size - 1) // ((size - 1) // tile) + 1 or tile + 1
    tile = (least - 1) // inner * inner + inner
  end
  list[#list + 1] = size
  return list
end

--- Whether a tile is one of them.
---@param size integer
---@param tile integer
---@param inner integer
---@param uneven boolean
---@return boolean
function chain.is_around(size, tile, inner, uneven)
  if tile == size then return uneven or size % inner == 0 end
  if not uneven or tile % inner ~= 0 then return tile % inner == 0 end
  local before = tile - inner
  return before < 1 or (size - 1) // before ~= (size - 1) // tile
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
    local candidates = j > 1 and chain.around(size, tiles[j], uneven ~= false) or { size }
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
