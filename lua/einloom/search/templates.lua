-- SPDX-License-Identifier: MIT
-- Templates: loop nests of one einsum with open tile shapes.  Loops go where they can matter: what
-- is left out could be moved outwards or inwards at no cost (doc/formulas.md#templates).

local holds = require "einloom.search.holds"

local templates = {}

---@class einloom.TemplateLoop
---@field variable string
---@field dim? table the dimension of a spatial loop
---@field level? integer and the level it belongs to
---@field fused boolean above the outermost holder of a shared tensor

---@class einloom.Template
---@field way einloom.SearchWay
---@field n_loops integer
---@field nodes table[] holders and loops, outermost first
---@field n_fused integer loops above the last outermost holder of a shared tensor

local function unheld(way, order, j)
  local held, list = {}, {}
  for i = 1, j do held[order[i].tensor] = true end
  for _, t in ipairs(way.tensors) do
    if not held[t] then list[#list + 1] = t end
  end
  return list
end

local function indexes_all(list, v)
  for _, t in ipairs(list) do
    if t.relevancy[v] ~= "relevant" then return false end
  end
  return true
end

local function any_shared(list)
  for _, t in ipairs(list) do
    if t.shared then return true end
  end
  return false
end

local function region_of(way, h)
  return h and way.levels[h.level].region or way.levels[#way.levels].region
end

-- The next holder that is no toll, from position i on.
local function next_store(order, i)
  while order[i] and order[i].toll do i = i + 1 end
  return order[i]
end

-- Tensors of which a holder after position j has to get its tile once from one before it.
local function fetched_once(way, order, j)
  local above, list = {}, {}
  for i = 1, j do above[order[i].tensor] = way.levels[order[i].level] end
  for i = j + 1, #order do
    local t, level = order[i].tensor, way.levels[order[i].level]
    local outer = above[t]
    if outer and (level.no_refetch[t.name] or outer.no_resend[t.name]) then list[#list + 1] = t end
    above[t] = nil
  end
  return list
end

local function indexed_by_all(list, v)
  for _, t in ipairs(list) do
    if not t.relevancy[v] then return false end
  end
  return true
end

-- Variables that may have a temporal loop under holder j.
local function candidates(way, order, j)
  local waiting, list, once = unheld(way, order, j), {}, fetched_once(way, order, j)
  local above, below = order[j], next_store(order, j + 1)
  local shared = any_shared(waiting)
  if shared and way.max_fused_loops == 0 then return list end
  local spreads = above and region_of(way, above) < region_of(way, order[j + 1])
  if not spreads and above and above.toll then return list end
  for _, v in ipairs(way.variables) do
    local useful = indexes_all(waiting, v) and indexed_by_all(once, v)
    if useful and not spreads then
      if above and not above.backs and above.tensor.relevancy[v] == "relevant" then
        useful = false
      end
      if not shared and below and not below.tensor.relevancy[v]
        and not (above and above.tensor.relevancy[v] == "partial") then
        useful = false
      end
    end
    if useful then list[#list + 1] = v end
  end
  return list
end

-- Orders of the loops in one place: what the holder above sinks through comes first; of the
-- variables in sums it sinks through one, so each is tried.
local function arrangements(way, above, list)
  if not above or above.backs or above.toll then return { list } end
  local whole, sums, rest = {}, {}, {}
  for _, v in ipairs(list) do
    local r = above.tensor.relevancy[v]
    local group = r == "relevant" and whole or r == "partial" and sums or rest
    group[#group + 1] = v
  end
  local result = {}
  for first = 1, way.every_order and math.max(#sums, 1) or 1 do
    local order = table.move(whole, 1, #whole, 1, {})
    if sums[first] then order[#order + 1] = sums[first] end
    for i, v in ipairs(sums) do
      if i ~= first then order[#order + 1] = v end
    end
    result[first] = table.move(rest, 1, #rest, #order + 1, order)
  end
  return result
end

-- Spatial loops of the fanouts between holder j and the next one.
local function spatial_loops(way, order, j)
  local from = j > 0 and region_of(way, order[j]) or 0
  local to, list = region_of(way, order[j + 1]), {}
  local waiting = unheld(way, order, j)
  for index, level in ipairs(way.levels) do
    for _, dim in ipairs(level.region > from and level.region <= to and level.dims or {}) do
      for _, v in ipairs(way.variables) do
        if not dim.excluded[v] and indexes_all(waiting, v) then
          list[#list + 1] = { variable = v, dim = dim, level = index }
        end
      end
    end
  end
  return list
end

local function last_backing(order, test)
  for i = #order, 1, -1 do
    if order[i].backs and test(order[i]) then return i end
  end
  return 0
end

local function any() return true end
local function shared(h) return h.tensor.shared end

-- Adds the loops that are missing: every variable needs a temporal one that is not fused, as far
-- out as it may stand.
local function complete(way, order, places, n_shared)
  local has = {}
  for j = math.max(n_shared, places.first), #order do
    for _, v in ipairs(places[j]) do has[v] = true end
  end
  for j = math.max(last_backing(order, any), places.first), #order do
    local own, once = places[j], fetched_once(way, order, j)
    for _, v in ipairs(way.variables) do
      if not has[v] and indexed_by_all(once, v) then
        if own == places[j] then own = table.move(own, 1, #own, 1, {}) end
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
      for _, v in ipairs(places[j]) do add_loop({ variable = v }, j) end
      if not way.is_copy then
        for _, loop in ipairs(spatial_loops(way, order, j)) do add_loop(loop, j) end
      end
    end
  end
  return { way = way, nodes = nodes, n_fused = n_fused, n_loops = n_loops }
end

-- The nodes as a text in which holders with nothing between them have one order, but for the last
-- one where loops below index a tensor of theirs: it alone can sink.
local function signature(template)
  local parts, run, closed = {}, {}, {}
  local function close()
    table.sort(run, function(a, b)
      if a.level ~= b.level then return a.level < b.level end
      return a.tensor.name < b.tensor.name
    end)
    for i, h in ipairs(run) do run[i] = ("%d:%s"):format(h.level, h.tensor.name) end
    parts[#parts + 1] = table.concat(run, ",")
    run = {}
  end
  for _, node in ipairs(template.nodes) do
    if node.tensor then
      if #run == 0 then closed = {} end
      run[#run + 1], closed[#closed + 1] = node, node
    else
      if #run > 0 then close() end
      for _, h in ipairs(closed) do
        if not h.backs and h.tensor.relevancy[node.variable] then
          parts[#parts + 1] = "<" .. closed[#closed].tensor.name
          closed = {}
          break
        end
      end
      parts[#parts + 1] = node.dim and ("%s@%d.%s"):format(node.variable, node.level, node.dim.name)
        or node.variable
    end
  end
  close()
  return table.concat(parts, "/")
end

local function arrange(way, order, n_first, visit)
  local n_shared = last_backing(order, shared)
  local places = { first = n_first }
  local function place(j)
    if j > #order then
      local copy = { first = n_first }
      for i = n_first, #order do copy[i] = places[i] end
      complete(way, order, copy, n_shared)
      return visit(assemble(way, order, copy, n_shared))
    end
    for _, list in ipairs(arrangements(way, order[j], candidates(way, order, j))) do
      places[j] = list
      place(j + 1)
    end
  end
  place(n_first)
end

local function each_of_way(way, seen, visit)
  holds.each(way, function(list)
    holds.orders(way, list, function(order, n_first)
      arrange(way, order, n_first, function(template)
        local key = signature(template)
        if seen[key] then return end
        seen[key] = true
        visit(template)
      end)
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

--- Calls visit with every template of an einsum, way after way.
---@param step einloom.SearchStep
---@param visit fun(template: einloom.Template)
function templates.each(step, visit)
  for _, way in ipairs(step.ways) do each_of_way(way, {}, visit) end
end

return templates
