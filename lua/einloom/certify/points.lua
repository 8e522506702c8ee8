-- SPDX-License-Identifier: MIT
-- Choices of all tiles of a template, with what they reserve in memories: what is joined of several
-- einsums (doc/formulas.md#certificates-joining).

local places = require "einloom.certify.places"

local points = {}

---@class einloom.CertifyPoint: einloom.OpenLeaf
---@field own table[] {memory, depth, bits}: reserved for the einsum alone, under so many fused loops
---@field shared table[] by shared tensor of the einsum: {memory?, depth, bits}

-- Tiles of all loops, and fused loops with several trips above each number of loops.
local function loops_of(b, nodes)
  local tiles, chosen, at, extent = {}, {}, {}, {}
  for i, v in ipairs(b.variables) do
    chosen[v], at[v], extent[v] = places.chosen(nodes[i]), 0, b.template.way.sizes[v]
  end
  local depths, number = { [0] = 0 }, 0
  for _, node in ipairs(b.template.nodes) do
    local v = node.variable
    if v then
      number, at[v] = number + 1, at[v] + 1
      local tile = chosen[v][at[v]] or 1
      tiles["tile" .. number] = tile
      depths[number] = depths[number - 1] + (node.fused and tile < extent[v] and 1 or 0)
      extent[v] = tile
    end
  end
  return tiles, depths
end

local function bits_at(e, tiles)
  local point = {}
  for _, symbol in ipairs(e:symbols()) do point[symbol] = tiles[symbol:name()] end
  return (next(point) and e(point) or e):tonumber()
end

-- The memory of the outermost holder of each shared tensor, by name.
local function backings(template)
  local memory = {}
  for _, node in ipairs(template.nodes) do
    if node.tensor and node.backs and node.tensor.shared then
      memory[node.tensor.name] = template.way.levels[node.level].name
    end
  end
  return memory
end

local function depth_of(place)
  return math.tointeger(place:match "^%S+ (%d+)") or 0
end

--- What a state without open tiles reserves, added to it.
---@param b einloom.Bounds
---@param nodes einloom.ChainNode[]
---@param leaf einloom.OpenLeaf
---@return einloom.CertifyPoint
function points.fill(b, nodes, leaf)
  local tiles, depths = loops_of(b, nodes)
  local memory, position = backings(b.template), {}
  leaf.own, leaf.shared = {}, {}
  for _, t in ipairs(b.template.way.tensors) do
    if t.shared then
      local k = #leaf.shared + 1
      position[t.name] = k
      leaf.shared[k] = { depth = depth_of(leaf.places[k]), bits = 0 }
    end
  end
  for _, row in ipairs(b.memory) do
    local bits, k = bits_at(row.bits, tiles), position[row.tensor]
    if k and memory[row.tensor] == row.component then
      leaf.shared[k].memory, leaf.shared[k].bits = row.component, bits
    else
      local depth = row.n_loops_above < 0 and -1 or depths[row.n_loops_above]
      leaf.own[#leaf.own + 1] = { memory = row.component, depth = depth, bits = bits }
    end
  end
  return leaf
end

return points
