-- SPDX-License-Identifier: MIT
-- Where a template keeps the outermost tile of each shared tensor: the memory, and the loops above
-- with their tiles.  Einsums fit together where they agree on the place of every tensor that they
-- share.

local places = {}

---@class einloom.CertifyPlace
---@field tensor integer position among the tensors of the einsum
---@field memory string
---@field loops table[] fused loops above: {variable = its number, j = which of its, rank, spatial}

local function rank_of(tensor, v)
  for k, form in ipairs(tensor.access.affine) do
    if #form.terms == 1 and form.terms[1][1] == v then return k end
  end
  return 0
end

--- The places of a template, in the order of the tensors.
---@param template einloom.Template
---@return einloom.CertifyPlace[]
function places.of(template)
  local way, number, position = template.way, {}, {}
  for i, v in ipairs(way.variables) do number[v] = i end
  for p, t in ipairs(way.tensors) do position[t] = p end
  local list, above, count = {}, {}, {}
  for _, node in ipairs(template.nodes) do
    if node.variable then
      count[node.variable] = (count[node.variable] or 0) + 1
      above[#above + 1] = {
        name = node.variable, variable = number[node.variable], j = count[node.variable],
        spatial = node.dim and ("@%s.%s"):format(way.levels[node.level].name, node.dim.name) or "",
      }
    elseif node.backs and node.tensor.shared then
      local place = {
        tensor = position[node.tensor], memory = way.levels[node.level].name, loops = {},
      }
      for i, loop in ipairs(above) do
        place.loops[i] = {
          variable = loop.variable, j = loop.j, spatial = loop.spatial,
          rank = rank_of(node.tensor, loop.name),
        }
      end
      list[#list + 1] = place
    end
  end
  table.sort(list, function(a, b) return a.tensor < b.tensor end)
  return list
end

--- The tiles that are chosen on the way to a node, outermost first; nil where a range was.
---@param node einloom.ChainNode
---@return integer[]?
function places.chosen(node)
  local tiles, n = {}, 0
  while node.up do
    n = n + 1
    tiles[n] = node.tile
    node = node.up
  end
  if node.spans then return nil end
  for i = 1, n // 2 do tiles[i], tiles[n + 1 - i] = tiles[n + 1 - i], tiles[i] end
  return tiles
end

-- The loops of a place that run more than once, as a text; nil where one of their tiles is open.
local function text_of(place, tiles, sizes)
  local parts = {}
  for _, loop in ipairs(place.loops) do
    local own = tiles[loop.variable]
    local tile = own and own[loop.j] or nil
    -- The last loop of a variable has no choice.
    if own and own.whole and loop.j == #own + 1 then tile = 1 end
    if not tile then return nil end
    if tile < (own[loop.j - 1] or sizes[loop.variable]) then
      parts[#parts + 1] = ("%d:%d%s"):format(loop.rank, tile, loop.spatial)
    end
  end
  table.sort(parts)
  return ("%s %d %s"):format(place.memory, #parts, table.concat(parts, ","))
end

--- The places at a state as texts that are equal where they fit; nil where they depend on open
--- tiles.
---@param list einloom.CertifyPlace[]
---@param nodes einloom.ChainNode[]
---@param sizes integer[] of the variables
---@return string[]?
function places.key(list, nodes, sizes)
  local tiles, key = {}, {}
  for i, node in ipairs(nodes) do
    tiles[i] = places.chosen(node)
    if tiles[i] then tiles[i].whole = not node.children end
  end
  for p, place in ipairs(list) do
    key[p] = text_of(place, tiles, sizes)
    if not key[p] then return nil end
  end
  return key
end

return places
