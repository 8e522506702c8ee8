-- SPDX-License-Identifier: MIT
-- Templates that complete a mapping with holes. Loops that it names stand where it says, whatever
-- they cost; in its gaps stand loops that can matter there.

local alignment = require "einloom.search.alignment"
local gaps = require "einloom.search.gaps"
local holds = require "einloom.search.holds"
local holes = require "einloom.mapping_holes"
local pattern = require "einloom.search.pattern"

local matching = {}

-- ---- loops that are named ----

-- Whether a variable may leave a part.
local function is_uneven(way, v)
  for i, name in ipairs(way.uneven and way.variables or {}) do
    if name == v then return way.uneven[i] ~= false end
  end
  return false
end

-- The tiles that a loop may have; nil for any.
local function tiles_of(item, size, uneven)
  local shape = item.node.tile_shape
  if shape == "?" then return nil end
  local list = {}
  for tile = 1, math.type(shape) == "integer" and 0 or size do
    if (uneven or size % tile == 0) and holes.admits(shape, tile) then list[#list + 1] = tile end
  end
  if math.type(shape) == "integer" then list[1] = shape end
  return list
end

local function region(way, h) return h and way.levels[h.level].region end

-- Why a loop cannot stand under holder j, or nil.
local function obstacle(way, order, j, item)
  local v = item.variable
  if way.sizes[v] == 1 then
    if holes.admits(item.node.tile_shape, 1) then return nil end
    return ("%s has one value: its tile is 1"):format(v)
  end
  for _, t in ipairs(gaps.unheld(way, order, j)) do
    if t.relevancy[v] ~= "relevant" then
      return ("%s is held below a loop of %s, which does not index it alone"):format(t.name, v)
    end
  end
  for _, t in ipairs(item.dim and {} or gaps.fetched_once(way, order, j)) do
    if not t.relevancy[v] then
      return ("%s is not to be fetched again for another %s"):format(t.name, v)
    end
  end
  if not item.dim then return nil end
  if item.dim.excluded[v] then
    return ("the architecture has no loop of %s on %s.%s"):format(v, item.node.component,
      item.node.dim)
  end
  local at = way.levels[item.level].region
  local last = region(way, order[j + 1]) or way.levels[#way.levels].region
  if at <= (region(way, order[j]) or 0) or at > last then
    return ("loops on %s.%s stand under the last holder above %s"):format(item.node.component,
      item.node.dim, item.node.component)
  end
end

-- ---- gaps ----

-- What a gap may hold: lists of loops. Where more comes behind it, also loops that the holder above
-- sinks through to what follows, and those without loops over instances.
local function gap_choices(way, above, item, temporal, how, spatial, followed)
  spatial = item.spatial and spatial or {}
  if not item.temporal then
    local choices = { gaps.nodes(gaps.arranged {}, spatial) }
    if followed and #spatial > 0 then choices[2] = {} end
    return choices
  end
  local lists = gaps.arrangements(way, above, temporal, how, spatial)
  if followed and above and not (above.backs or above.toll or above.fixed) then
    local whole = gaps.arranged {}
    for _, v in ipairs(temporal) do
      if above.tensor.relevancy[v] == "relevant" then whole[#whole + 1] = v end
    end
    lists[#lists + 1] = whole
    for _, v in ipairs(temporal) do
      if above.tensor.relevancy[v] == "partial" then
        local list = gaps.copy(whole)
        list[#list + 1] = v
        lists[#lists + 1] = list
      end
    end
  end
  local choices = {}
  for _, list in ipairs(lists) do
    choices[#choices + 1] = gaps.nodes(list, spatial)
    if followed and #spatial > 0 then choices[#choices + 1] = gaps.nodes(list, {}) end
  end
  return choices
end

-- ---- segments ----

-- A segment that is one gap for all loops: as without a mapping.
local function plain(segment)
  return #segment == 1 and segment[1].kind == "gap" and segment[1].temporal and segment[1].spatial
end

local function extended(lists, additions)
  local result = {}
  for _, list in ipairs(lists) do
    for _, more in ipairs(additions) do
      local longer = table.move(list, 1, #list, 1, {})
      result[#result + 1] = table.move(more, 1, #more, #longer + 1, longer)
    end
  end
  return result
end

local function named_loop(way, item)
  return {
    variable = item.variable, dim = item.dim, level = item.level, item = item, pinned = true,
    unit = way.sizes[item.variable] == 1 or nil,
    tiles = tiles_of(item, way.sizes[item.variable], is_uneven(way, item.variable)),
  }
end

-- All lists of loops (and splits) that a segment may hold; nil, the item and a message where it
-- may hold none.
local function segment_choices(way, a, j, n_first, last_split, free)
  local order, segment, lists = a.order, a.segments[j], { {} }
  local temporal, how = gaps.candidates(way, order, j, free, j <= last_split)
  local spatial = way.is_copy and {} or gaps.spatial_loops(way, order, j)
  for k, item in ipairs(segment) do
    if item.kind == "split" then
      for tensor in pairs(item.split.crossing) do
        for _, t in ipairs(gaps.unheld(way, order, j)) do
          if t.name == tensor then
            return nil, item, ("%s is used in several branches: it is held above"):format(tensor)
          end
        end
      end
      lists = extended(lists, { { { split = item.split } } })
    elseif item.kind == "loop" then
      local message = obstacle(way, order, j, item)
      if message then return nil, item, message end
      lists = extended(lists, { { named_loop(way, item) } })
    elseif j >= n_first then
      local choices = gap_choices(way, order[j], item, temporal, how, spatial, k < #segment)
      for _, choice in ipairs(choices) do
        for _, loop in ipairs(choice) do loop.item = item end
      end
      lists = extended(lists, choices)
    end
  end
  return lists
end

-- ---- whole templates ----

local divisors_of = {}

local function divisors(n)
  local list = divisors_of[n]
  if not list then
    list = {}
    for d = 1, n do
      if n % d == 0 then list[#list + 1] = d end
    end
    divisors_of[n] = list
  end
  return list
end

-- Extents that a loop leaves of extents before it; of the whole size it may leave a part if `size`
-- is given.
local function below(reach, node, size)
  local result = {}
  for extent in pairs(reach) do
    for _, tile in ipairs(node.tiles or divisors(extent)) do
      if tile <= extent and (extent == size or extent % tile == 0) then result[tile] = true end
    end
    for tile = 1, not node.tiles and extent == size and size or 0 do result[tile] = true end
  end
  return result
end

-- The item and a message where the loops of some variable cannot cut it into single values.
local function unfinished(way, nodes)
  local reach, last = {}, {}
  for _, v in ipairs(way.variables) do reach[v] = { [way.sizes[v]] = true } end
  for _, node in ipairs(nodes) do
    if node.variable then last[node.variable] = node end
  end
  for _, v in ipairs(way.variables) do
    if not last[v] then return nil, ("no loop of %s is left to compute its values"):format(v) end
  end
  for _, node in ipairs(nodes) do
    local v = node.variable
    if v then
      reach[v] = below(reach[v], node, is_uneven(way, v) and way.sizes[v] or nil)
      if last[v] == node then
        reach[v] = { [1] = reach[v][1] }
        if not reach[v][1] then
          return node.item, ("this is the last loop of %s: its tile is 1"):format(v)
        end
      elseif not next(reach[v]) then
        return node.item, ("no such tile divides what is left of %s"):format(v)
      end
    end
  end
end

-- Adds the seams of the items: how many loops stand in each item and those before.
local function add_seams(template, a)
  local seen = {}
  for j = 0, #a.order do
    for _, item in ipairs(a.segments[j]) do
      if item.seam and not seen[item] then
        local n = 0
        for _, node in ipairs(template.nodes) do
          if node.variable and node.item.index <= item.index then n = n + 1 end
        end
        table.insert(template.splits, { split = item.seam, n_loops = n })
        seen[item] = true
      end
    end
  end
end

-- A template of copies of the nodes; loops of variables with one value and splits stand aside.
-- Loops are fused above the outermost holders of shared tensors and above splits; those of one item
-- stay above those of the next.
local function assemble(way, a, chosen, n_shared)
  local template = { way = way, nodes = {}, splits = {}, units = {}, n_fused = 0, n_loops = 0 }
  local pinned, before = false, nil
  local function add(node, more)
    local border = node.border or node.pinned or pinned
      or node.variable ~= nil and before ~= nil and node.item ~= before
    local copy = setmetatable({ border = border, units = template.units }, { __index = node })
    template.nodes[#template.nodes + 1], template.units, pinned = copy, {}, node.pinned
    template.n_loops = template.n_loops + more
    if node.variable then before = node.item end
  end
  local function add_in_segment(node, j)
    if node.split then
      template.n_fused = template.n_loops
      table.insert(template.splits, { split = node.split, n_loops = template.n_loops })
    elseif node.unit then
      table.insert(template.units, node)
      pinned = true
    else
      add(node, 1)
      if j < n_shared then template.n_fused = template.n_loops end
    end
  end
  for j = 0, #a.order do
    if j > 0 then add(a.order[j], 0) end
    for _, node in ipairs(chosen[j] or {}) do add_in_segment(node, j) end
  end
  local n = 0
  for _, node in ipairs(template.nodes) do
    if node.variable then
      n = n + 1
      node.fused = n <= template.n_fused
    end
  end
  add_seams(template, a)
  return template
end

local function shared(h) return h.tensor.shared end

-- Puts loops of variables that have none but fused ones into plain segments, as far out as they may
-- stand.
local function complete(way, a, chosen, n_shared)
  local has = {}
  for j = n_shared, #a.order do
    for _, node in ipairs(chosen[j]) do
      if node.variable and not node.dim then has[node.variable] = true end
    end
  end
  for j = gaps.last_backing(a.order), #a.order do
    local once = gaps.fetched_once(way, a.order, j)
    if plain(a.segments[j]) then
      local own, n = table.move(chosen[j], 1, #chosen[j], 1, {}), 0
      while own[n + 1] and not own[n + 1].dim do n = n + 1 end
      for _, v in ipairs(way.variables) do
        if not has[v] and gaps.indexed_by_all(once, v) then
          n, has[v] = n + 1, true
          table.insert(own, n, { variable = v, item = a.segments[j][1] })
        end
      end
      chosen[j] = own
    end
  end
end

local function each_choice(choices, j, last, chosen, visit)
  if j > last then return visit(table.move(chosen, 0, last, 0, {})) end
  for _, list in ipairs(choices[j]) do
    chosen[j] = list
    each_choice(choices, j + 1, last, chosen, visit)
  end
end

-- A text for what makes templates of one mapping with holes different.
local function key_of(template)
  local parts = {}
  for i, node in ipairs(template.nodes) do
    parts[i] = node.tensor and ("%d:%s"):format(node.level, node.tensor.name)
      or ("%s%s@%s%s"):format(node.border and "|" or "", node.variable,
        node.dim and node.level .. "." .. node.dim.name or "", node.pinned and "!" or "")
  end
  return table.concat(parts, "/")
end

local function number_first(way, order)
  local n = 0
  for i, h in ipairs(order) do
    if holds.goes_first(way, h) then n = i end
  end
  return n
end

local function nowhere() return false end

-- The last segment with a split; -1 if there is none.
local function last_split_of(a)
  local last = -1
  for j = 0, #a.order do
    for _, item in ipairs(a.segments[j]) do
      if item.kind == "split" then last = j end
    end
  end
  return last
end

-- All templates of one way to lay the holders.
local function fill(way, a, leaf, deepest, visit)
  local n_first, n_shared = number_first(way, a.order), gaps.last_backing(a.order, shared)
  local function free(j)
    local h = a.order[j]
    return j >= n_first and j <= #a.order and plain(a.segments[j]) and not (h and h.fixed)
  end
  local choices, last_split = {}, last_split_of(a)
  for j = 0, #a.order do
    local lists, item, message =
      segment_choices(way, a, j, n_first, last_split, free(j) and free or nowhere)
    if not lists then
      deepest.note(item.node, message)
      return
    end
    choices[j] = lists
  end
  each_choice(choices, 0, #a.order, {}, function(chosen)
    complete(way, a, chosen, n_shared)
    local template = assemble(way, a, chosen, n_shared)
    local item, message = unfinished(way, template.nodes)
    if message then
      deepest.note((item or { node = leaf }).node, message)
    else
      visit(template)
    end
  end)
end

--- Calls visit with every template of a step that completes its path of a mapping with holes.
--- Returns the problem furthest in that kept others from it.
---@param step einloom.SearchStep
---@param visit fun(template: einloom.Template)
---@return einloom.Error? problem
function matching.each(step, visit)
  local deepest = { at = -1 }
  local path = step.pattern.paths[step.einsum]
  for _, way in ipairs(step.ways) do
    local items, node, message = pattern.items(step.pattern, path, way)
    if not items then
      if deepest.at < 0 then
        deepest.at, deepest.error = 0, pattern.problem(node, "no_mapping", message)
      end
    else
      local seen = {}
      function deepest.note(where, why)
        if deepest.at < #items + 2 then
          deepest.at, deepest.error = #items + 2, pattern.problem(where, "no_mapping", why)
        end
      end
      alignment.each(way, items, path.leaf, deepest, function(a)
        fill(way, a, path.leaf, deepest, function(template)
          local key = key_of(template)
          if seen[key] then return end
          seen[key] = true
          visit(template)
        end)
      end)
    end
  end
  return deepest.error
end

return matching
