-- SPDX-License-Identifier: MIT
-- Choices of all tiles of a template, with what they reserve in memories: what is joined of several
-- einsums (doc/formulas.md#certificates-joining).

local bounds = require "einloom.certify.bounds"
local places = require "einloom.certify.places"

local points = {}

---@class einloom.CertifyPoint: einloom.OpenLeaf
---@field own table[] {memory, depth, bits}: for the einsum alone, under so many fused loops
---@field shared table[] by shared tensor of the einsum: {memory?, depth, bits}

-- Fused loops that run more than once, by variable and position among its loops.
local function running(b, nodes)
  local chosen, at, extent, run = {}, {}, {}, {}
  for i, v in ipairs(b.variables) do
    chosen[v], at[v], extent[v], run[v] =
      places.chosen(nodes[i]), 0, b.template.way.sizes[v], {}
  end
  for _, node in ipairs(b.template.nodes) do
    local v = node.variable
    if v then
      at[v] = at[v] + 1
      local tile = chosen[v][at[v]] or 1
      run[v][at[v]] = node.fused and tile < extent[v]
      extent[v] = tile
    end
  end
  return run
end

local function depth_under(above, run)
  local depth = 0
  for _, loop in ipairs(above) do
    if run[loop.variable][loop.j] then depth = depth + 1 end
  end
  return depth
end

--- What a state without open tiles reserves, added to it.
---@param b einloom.Bounds
---@param nodes einloom.ChainNode[]
---@param leaf einloom.OpenLeaf
---@return einloom.CertifyPoint
function points.fill(b, nodes, leaf)
  local run, position = running(b, nodes), {}
  leaf.own, leaf.shared = {}, {}
  for _, t in ipairs(b.template.way.tensors) do
    if t.shared then
      local k = #leaf.shared + 1
      position[t.name] = k
      leaf.shared[k] = { depth = places.depth(leaf.keys[1][k]), bits = 0 }
    end
  end
  for _, memory in ipairs(b.memories) do
    for _, r in ipairs(memory.reserved) do
      local bits, above = bounds.bits(r, nodes)
      if r.backs then
        local t = leaf.shared[position[r.tensor]]
        t.memory, t.bits = memory.name, bits
      else
        local depth = r.persistent and -1 or depth_under(above, run)
        leaf.own[#leaf.own + 1] = { memory = memory.name, depth = depth, bits = bits }
      end
    end
  end
  return leaf
end

return points
