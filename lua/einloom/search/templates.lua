-- SPDX-License-Identifier: MIT
-- Templates: loop nests of one einsum with open tile shapes.  Loops go where they can matter: what
-- is left out could be moved outwards or inwards at no cost (doc/formulas.md#templates).

local gaps = require "einloom.search.gaps"
local holds = require "einloom.search.holds"
local matching = require "einloom.search.matching"

local templates = {}

---@class einloom.TemplateLoop
---@field variable string
---@field dim? table the dimension of a spatial loop
---@field level? integer and the level it belongs to
---@field fused boolean above the outermost holder of a shared tensor
---@field border? boolean of fused loops in one place: those above stay above
---@field unordered? boolean the holder above sinks through none of the loops there, in no order

---@class einloom.Template
---@field way einloom.SearchWay
---@field n_loops integer
---@field nodes table[] holders and loops, outermost first
---@field units table[] loops of variables with one value below all nodes; those above a node are
--- its `units`
---@field splits table[] {split =, n_loops =}: splits of a mapping with holes below so many loops
---@field n_fused integer loops above the last outermost holder of a shared tensor

local function shared(h) return h.tensor.shared end

local function everywhere() return true end

-- Adds the loops that are missing: every variable needs a temporal one that is not fused, as far
-- out as it may stand.
local function complete(way, order, places, n_shared)
  local has = {}
  for j = math.max(n_shared, places.first), #order do
    for _, v in ipairs(places[j]) do has[v] = true end
  end
  for j = math.max(gaps.last_backing(order), places.first), #order do
    local own, once = places[j], gaps.fetched_once(way, order, j)
    for _, v in ipairs(order[j] and order[j].sealed and {} or way.variables) do
      if not has[v] and gaps.indexed_by_all(once, v) then
        if own == places[j] then own = gaps.copy(own) end
        own[#own + 1], has[v] = v, true
      end
    end
    places[j] = own
  end
end

local function assemble(way, order, places, n_shared)
  local nodes, n_fused, n_loops = {}, 0, 0
  local function add_loop(loop, j)
    n_loops = n_loops + 1
    loop.fused = j < n_shared
    if loop.fused then n_fused = n_fused + 1 end
    nodes[#nodes + 1] = loop
  end
  for j = 0, #order do
    if j > 0 then nodes[#nodes + 1] = order[j] end
    if j >= places.first then
      local spatial = way.is_copy and {} or gaps.spatial_loops(way, order, j)
      for _, loop in ipairs(gaps.nodes(places[j], spatial)) do add_loop(loop, j) end
    end
  end
  return {
    way = way, nodes = nodes, splits = {}, units = {}, n_fused = n_fused, n_loops = n_loops,
  }
end

local function text_of(node)
  if not node.dim then return node.variable end
  return ("%s@%d.%s"):format(node.variable, node.level, node.dim.name)
end

-- The nodes as a text in which holders with nothing between them have one order, but for the last
-- one where loops below index a tensor of theirs: it alone can sink. So have loops through which
-- nothing sinks whatever their order.
local function signature(template)
  local parts, run, closed, unordered = {}, {}, {}, {}
  local function close()
    table.sort(run, function(a, b)
      if a.level ~= b.level then return a.level < b.level end
      return a.tensor.name < b.tensor.name
    end)
    for i, h in ipairs(run) do run[i] = ("%d:%s"):format(h.level, h.tensor.name) end
    parts[#parts + 1] = table.concat(run, ",")
    run = {}
  end
  local function close_loops()
    table.sort(unordered)
    table.move(unordered, 1, #unordered, #parts + 1, parts)
    unordered = {}
  end
  for _, node in ipairs(template.nodes) do
    if node.tensor then
      close_loops()
      if #run == 0 then closed = {} end
      run[#run + 1], closed[#closed + 1] = node, node
    else
      if #run > 0 then close() end
      for _, h in ipairs(node.unordered and {} or closed) do
        if not h.backs and h.tensor.relevancy[node.variable] then
          parts[#parts + 1] = "<" .. closed[#closed].tensor.name
          closed = {}
          break
        end
      end
      if node.border then parts[#parts + 1] = "|" end
      local list = node.unordered and unordered or parts
      list[#list + 1] = text_of(node)
    end
  end
  close_loops()
  close()
  return table.concat(parts, "/")
end

local function arrange(way, order, n_first, visit)
  local n_shared = gaps.last_backing(order, shared)
  local places = { first = n_first }
  local function place(j)
    if j > #order then
      local copy = { first = n_first }
      for i = n_first, #order do copy[i] = places[i] end
      complete(way, order, copy, n_shared)
      return visit(assemble(way, order, copy, n_shared))
    end
    local possible, how = gaps.candidates(way, order, j, everywhere)
    local spatial = way.is_copy and {} or gaps.spatial_loops(way, order, j)
    for _, list in ipairs(gaps.arrangements(way, order[j], possible, how, spatial)) do
      places[j] = list
      place(j + 1)
    end
  end
  place(n_first)
end

local function each_of_way(way, seen, visit)
  local function visit_new(template)
    local key = signature(template)
    if seen[key] then return end
    seen[key] = true
    visit(template)
  end
  holds.each(way, function(list)
    holds.orders(way, list, function(order, n_first)
      arrange(way, order, n_first, visit_new)
      local other = holds.behind_shared(way, order)
      if other then arrange(way, other, n_first, visit_new) end
    end)
  end)
end

--- A template in one line: holders with their tensors, loops (those over instances with their
--- dimension), the unit.
---@param template einloom.Template
---@return string
function templates.text(template)
  local way, parts = template.way, { template.way.einsum .. ":" }
  for _, node in ipairs(template.nodes) do
    if node.tensor then
      parts[#parts + 1] = ("%s{%s}"):format(way.levels[node.level].name, node.tensor.name)
    elseif node.dim then
      parts[#parts + 1] =
        ("%s@%s.%s"):format(node.variable, way.levels[node.level].name, node.dim.name)
    else
      parts[#parts + 1] = node.variable
    end
  end
  parts[#parts + 1] = way.compute
  return table.concat(parts, " ")
end

--- Calls visit with every template of an einsum, way after way. With a mapping with holes also
--- returns what kept templates from completing it.
---@param step einloom.SearchStep
---@param visit fun(template: einloom.Template)
---@return einloom.Error?
function templates.each(step, visit)
  if step.pattern then return matching.each(step, visit) end
  for _, way in ipairs(step.ways) do each_of_way(way, {}, visit) end
end

return templates
