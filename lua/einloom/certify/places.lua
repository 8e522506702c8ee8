-- SPDX-License-Identifier: MIT
-- Where a template keeps the outermost tile of each shared tensor: the memory, and the loops above
-- with their tiles in their order.  Einsums fit together where they agree on the place of every
-- tensor that they share.

local errors = require "einloom.errors"

local places = {}

---@class einloom.CertifyPlaces
---@field loops table[] above the innermost of the places: {variable = its number, j = which of its,
--- slot = holders and borders above, spatial = its dimension}; loops of one slot may come in any
--- order
---@field list table[] by shared tensor: {memory, slot, ranks = by loop the rank that it is over}

-- More orders of the loops of one place than that are not gone through.
local MOST_ORDERS <const> = 720

local function rank_of(tensor, v)
  for k, form in ipairs(tensor.access.affine) do
    if #form.terms == 1 and form.terms[1][1] == v then return k end
  end
  return 0
end

local function loop_of(way, number, node, j, slot)
  local spatial = ""
  if node.dim then spatial = ("@%s.%s"):format(way.levels[node.level].name, node.dim.name) end
  return {
    name = node.variable, variable = number[node.variable], j = j, slot = slot, spatial = spatial,
  }
end

--- The places of a template, in the order of the tensors.
---@param template einloom.Template
---@return einloom.CertifyPlaces
function places.of(template)
  local way, number, position = template.way, {}, {}
  for i, v in ipairs(way.variables) do number[v] = i end
  for p, t in ipairs(way.tensors) do position[t] = p end
  local loops, count, slot, list, n = {}, {}, 0, {}, 0
  for _, node in ipairs(template.nodes) do
    if node.variable then
      local v = node.variable
      count[v] = (count[v] or 0) + 1
      if node.border then slot = slot + 1 end
      loops[#loops + 1] = loop_of(way, number, node, count[v], slot)
    else
      if node.backs and node.tensor.shared then
        local ranks = {}
        for i, loop in ipairs(loops) do ranks[i] = rank_of(node.tensor, loop.name) end
        list[#list + 1] = {
          tensor = position[node.tensor], memory = way.levels[node.level].name, ranks = ranks,
        }
        n = #loops
      end
      slot = slot + 1
    end
  end
  table.sort(list, function(a, b) return a.tensor < b.tensor end)
  return { loops = table.move(loops, 1, n, 1, {}), list = list }
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

-- Numbers of the loops that run more than once, and the tiles of all; nil where one is open.
local function running(self, nodes, sizes)
  local chosen, list, tiles = {}, {}, {}
  for i, loop in ipairs(self.loops) do
    local node = nodes[loop.variable]
    chosen[loop.variable] = chosen[loop.variable] or places.chosen(node)
    local own = chosen[loop.variable]
    -- The last loop of a variable has no choice.
    local tile = own and (own[loop.j] or loop.j == #own + 1 and not node.children and 1)
    if not tile then return nil end
    tiles[i] = tile
    if tile < (own[loop.j - 1] or sizes[loop.variable]) then list[#list + 1] = i end
  end
  return list, tiles
end

-- Every order of loops in which those of one slot change places.
local function orders(self, list)
  local result, order, taken = {}, {}, {}
  local function go()
    if #order == #list then
      if #result == MOST_ORDERS then
        errors.raise("certificate", "too many loops are shared in one place")
      end
      result[#result + 1] = table.move(order, 1, #order, 1, {})
      return
    end
    local slot
    for _, i in ipairs(list) do
      if not taken[i] and (not slot or self.loops[i].slot == slot) then
        slot = self.loops[i].slot
        taken[i], order[#order + 1] = true, i
        go()
        taken[i], order[#order] = nil, nil
      end
    end
  end
  go()
  return result
end

local function text_of(self, place, order, tiles)
  local parts = { place.memory }
  for _, i in ipairs(order) do
    local rank = place.ranks[i]
    if rank then parts[#parts + 1] = ("%d:%d%s"):format(rank, tiles[i], self.loops[i].spatial) end
  end
  return table.concat(parts, " ")
end

--- The places at a state, as texts that are equal where they fit: one list of them for each order
--- of the loops; nil where they depend on open tiles.
---@param self einloom.CertifyPlaces
---@param nodes einloom.ChainNode[]
---@param sizes integer[] of the variables
---@return string[][]?
function places.keys(self, nodes, sizes)
  local list, tiles = running(self, nodes, sizes)
  if not list then return nil end
  local keys = {}
  for n, order in ipairs(orders(self, list)) do
    keys[n] = {}
    for p, place in ipairs(self.list) do keys[n][p] = text_of(self, place, order, tiles) end
  end
  return keys
end

--- Loops above a place.
---@param text string
---@return integer
function places.depth(text) return select(2, text:gsub(" ", "")) end

return places
