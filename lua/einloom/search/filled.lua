-- SPDX-License-Identifier: MIT
-- A mapping with holes filled in: what it fixes stays as it is written, holes get what a candidate
-- chooses for each einsum.

local holes = require "einloom.mapping_holes"
local mapping = require "einloom.mapping"

local filled = {}

-- The nodes of an einsum with their tiles, as they stand in the result: loops with one trip only
-- where the mapping names them, shared ones between two holders in the order that fits others.
local function entries_of(step, choice)
  local extent, list, waiting, n_taken, i = {}, {}, {}, 0, 0
  for v, size in pairs(step.sizes) do extent[v] = size end
  local function position(e)
    for k = n_taken + 1, #choice.fused do
      if choice.fused[k] == e.node.variable then return k end
    end
    return math.huge
  end
  local function flush()
    while #waiting > 0 do
      local first = 1
      for k = 2, #waiting do
        if position(waiting[k]) < position(waiting[first]) then first = k end
      end
      n_taken = n_taken + 1
      list[#list + 1] = table.remove(waiting, first)
    end
  end
  for _, node in ipairs(choice.template.nodes) do
    if node.tensor then
      flush()
      list[#list + 1] = { node = node }
    else
      i = i + 1
      local tile = choice.tiles[i]
      local e = { node = node, tile = tile, several = tile < extent[node.variable] }
      extent[node.variable] = tile
      if node.border or not node.fused then flush() end
      if not e.several then
        if node.pinned then list[#list + 1] = e end
      elseif node.fused then
        waiting[#waiting + 1] = e
      else
        list[#list + 1] = e
      end
    end
  end
  flush()
  return list
end

-- What stands for a node of the mapping in each einsum below it.
local function found(paths, node)
  local lists = {}
  for k, path in ipairs(paths) do
    lists[k] = {}
    for _, e in ipairs(path.entries) do
      if e.node.item and e.node.item.node == node then table.insert(lists[k], e) end
    end
  end
  return lists
end

local function holder(path, e)
  local h = e.node
  return {
    node = h.toll and "toll" or "storage", component = path.template.way.levels[h.level].name,
    tensors = { h.tensor.name },
    persistent = not h.toll and h.backs and h.tensor.persistent or nil,
  }
end

local function loop(paths, lists, at)
  local e, first = lists[1][at[1]], paths[1]
  local node = e.node
  local result = {
    node = node.dim and "spatial" or "temporal", tile_shape = e.tile, rank_variable = node.variable,
    dim = node.dim and node.dim.name,
    component = node.dim and first.template.way.levels[node.level].name or nil,
  }
  local by_einsum, differs = {}, false
  for k, path in ipairs(paths) do
    local v = lists[k][at[k]].node.variable
    by_einsum[path.step.einsum], differs = v, differs or v ~= node.variable
  end
  if differs then result.rank_variable = by_einsum end
  return result
end

-- Holders and loops that all einsums below a gap have there: loops are common, holders come once.
local function fill_gap(list, paths, node)
  local lists, at = found(paths, node), {}
  for k = 1, #paths do at[k] = 1 end
  while true do
    local seen = {}
    for k, path in ipairs(paths) do
      while lists[k][at[k]] and lists[k][at[k]].node.tensor do
        local h = holder(path, lists[k][at[k]])
        local key = h.component .. "\0" .. h.tensors[1]
        if not seen[key] then list[#list + 1] = h end
        seen[key] = true
        at[k] = at[k] + 1
      end
    end
    if not lists[1][at[1]] then return end
    list[#list + 1] = loop(paths, lists, at)
    for k = 1, #paths do at[k] = at[k] + 1 end
  end
end

local function copy(node, ...)
  local result, left_out = {}, { where = true, optional = true, more = true }
  for _, key in ipairs { ... } do left_out[key] = true end
  for key, x in pairs(node) do
    if not left_out[key] then result[key] = x end
  end
  return result
end

local function fill_holder(list, paths, node)
  local result, chosen, optional, named = copy(node), {}, {}, {}
  for _, name in ipairs(node.optional or {}) do optional[name] = true end
  for _, name in ipairs(node.tensors) do named[name] = true end
  result.tensors = {}
  local more = {}
  for _, entries in ipairs(found(paths, node)) do
    for _, e in ipairs(entries) do
      local name = e.node.tensor.name
      if not chosen[name] and not named[name] then more[#more + 1] = name end
      chosen[name] = true
    end
  end
  for _, name in ipairs(node.tensors) do
    if not optional[name] or chosen[name] then table.insert(result.tensors, name) end
  end
  table.move(more, 1, #more, #result.tensors + 1, result.tensors)
  local entries = found(paths, node)[1]
  for i, e in ipairs(#paths == 1 and entries or {}) do result.tensors[i] = e.node.tensor.name end
  if #result.tensors > 0 or #node.tensors == 0 and not node.more then list[#list + 1] = result end
end

local function fill_loop(list, paths, node)
  local result = copy(node)
  if holes.is_open(node.tile_shape) then
    local e = found(paths, node)[1][1]
    result.tile_shape = e and e.tile or 1
  end
  list[#list + 1] = result
end

local fillers = {
  storage = fill_holder, toll = fill_holder, temporal = fill_loop, spatial = fill_loop,
  loops = fill_gap, anything = fill_gap,
  compute = function(list, _, node) list[#list + 1] = copy(node) end,
}

local fill_list

local function fill_split(list, paths, node, self)
  local result = { node = node.node, branches = {} }
  for i, names in ipairs(self.of_node[node].branches) do
    local below, inside = {}, {}
    for _, name in ipairs(names) do below[name] = true end
    for _, path in ipairs(paths) do
      if below[path.step.einsum] then inside[#inside + 1] = path end
    end
    result.branches[i] = fill_list(inside, node.branches[i], self)
  end
  list[#list + 1] = result
end

function fill_list(paths, nodes, self)
  local list = {}
  for _, node in ipairs(nodes) do
    if node.branches then
      fill_split(list, paths, node, self)
    else
      fillers[node.node](list, paths, node)
    end
  end
  return list
end

--- The mapping of a candidate of a space whose mapping with holes has all einsums.
---@param space einloom.Space
---@param choices { template: einloom.Template, tiles: integer[], fused: string[] }[] by einsum
---@return einloom.Mapping
function filled.mapping(space, choices)
  local paths, self = {}, space.options.mapping
  for i, step in ipairs(space.steps) do
    paths[i] = {
      step = step, template = choices[i].template, entries = entries_of(step, choices[i]),
    }
  end
  return mapping.new { nodes = fill_list(paths, self.nodes, self) }
end

return filled
