-- SPDX-License-Identifier: MIT
-- Loops between the holders of one einsum: which variables may have one after holder j of an order,
-- in which orders that can matter. What is left out could stand elsewhere at no cost
-- (doc/formulas.md#templates).

local gaps = {}

--- Tensors that no holder up to position j holds.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@return einloom.SearchTensor[]
function gaps.unheld(way, order, j)
  local held, list = {}, {}
  for i = 1, j do held[order[i].tensor] = true end
  for _, t in ipairs(way.tensors) do
    if not held[t] then list[#list + 1] = t end
  end
  return list
end

--- Whether a variable indexes each of some tensors, alone in some rank.
---@param list einloom.SearchTensor[]
---@param v string
---@return boolean
function gaps.indexes_all(list, v)
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
  if not h then return way.levels[#way.levels].region end
  return h.region or way.levels[h.level].region
end

-- The next holder that is no toll, from position i on.
local function next_store(order, i)
  while order[i] and order[i].toll do i = i + 1 end
  return order[i]
end

--- Tensors of which a holder after position j has to get its tile once from one before it.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@return einloom.SearchTensor[]
function gaps.fetched_once(way, order, j)
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

--- Whether a variable indexes each of some tensors in any way.
---@param list einloom.SearchTensor[]
---@param v string
---@return boolean
function gaps.indexed_by_all(list, v)
  for _, t in ipairs(list) do
    if not t.relevancy[v] then return false end
  end
  return true
end

---@class einloom.GapOrder
---@field fused boolean other einsums have to fit the order of the loops
---@field above table<string, boolean> variables whose loop can as well stand above the holder while
--- its reservation sinks through it

--- Variables that may have a temporal loop under holder j, and what their order depends on.
--- `free(j)`: loops may be left out because they can as well stand in that place; `split`: a place
--- where einsums go apart is below, which they have to reach under the same loops.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@param free fun(j: integer): boolean
---@param split? boolean
---@return string[]
---@return einloom.GapOrder
function gaps.candidates(way, order, j, free, split)
  local waiting, list, once = gaps.unheld(way, order, j), {}, gaps.fetched_once(way, order, j)
  local above, below = order[j], next_store(order, j + 1)
  local shared = any_shared(waiting)
  local how = { fused = (shared or split) and way.max_fused_loops > 1 or false, above = {} }
  if shared and way.max_fused_loops == 0 or above and above.sealed then return list, how end
  local spreads = above and region_of(way, above) < region_of(way, order[j + 1])
  if not spreads and above and above.toll then return list, how end
  for _, v in ipairs(way.variables) do
    local useful = gaps.indexes_all(waiting, v) and gaps.indexed_by_all(once, v)
    local rises = above and not above.backs and above.tensor.relevancy[v] == "relevant"
      and free(j - 1) and not (order[j - 1] and order[j - 1].sealed)
    if how.fused then
      how.above[v] = rises and way.one_fused_loop
    elseif useful and not spreads then
      local stays = shared or not below or below.tensor.relevancy[v] or not free(j + 1)
        or above and above.tensor.relevancy[v] == "partial"
      useful = stays and not rises
    end
    if useful then list[#list + 1] = v end
  end
  return list, how
end

local function joined(...)
  local list = {}
  for _, part in ipairs { ... } do table.move(part, 1, #part, #list + 1, list) end
  return list
end

--- A list without its i-th entry, as a new one.
---@param list any[]
---@param i integer
---@return any[]
function gaps.without(list, i)
  local rest = table.move(list, 1, #list, 1, {})
  table.remove(rest, i)
  return rest
end

-- All ways to take some of a list: pairs of those taken and those left.
local function subsets(list)
  local result = { { {}, {} } }
  for _, x in ipairs(list) do
    local more = {}
    for _, pair in ipairs(result) do
      more[#more + 1] = { pair[1], joined(pair[2], { x }) }
      more[#more + 1] = { joined(pair[1], { x }), pair[2] }
    end
    result = more
  end
  return result
end

---@class einloom.GapLoops
---@field [integer] string variables of the loops in time
---@field cuts table<integer, true> after so many loops: those above stay above
---@field first_spatial? { variable: string, after: integer } loops over instances of one variable
--- that stand behind so many loops in time; others stand behind all
---@field unordered? boolean the holder above sinks through none of them, whatever their order

--- A list of variables as loops of one place; `cuts` are numbers of loops.
---@param list string[]
---@param cuts? integer[]
---@param unordered? boolean
---@return einloom.GapLoops
function gaps.arranged(list, cuts, unordered)
  list.cuts, list.unordered = {}, unordered
  for _, at in ipairs(cuts or {}) do
    if at > 0 then list.cuts[at] = true end
  end
  return list
end

local arranged = gaps.arranged

-- The variables of loops, each once.
local function variables_of(loops)
  local list, seen = {}, {}
  for _, loop in ipairs(loops) do
    if not seen[loop.variable] then list[#list + 1] = loop.variable end
    seen[loop.variable] = true
  end
  return list
end

-- Loops that a holder sinks through, up to one over instances: first any of these. Loops in time
-- over its variable stand above it.
local function up_to_spatial(result, through, list, spatial)
  for _, v in ipairs(variables_of(spatial)) do
    local others = joined(through)
    for _, u in ipairs(list) do
      if u ~= v then others[#others + 1] = u end
    end
    local loops = arranged(others, { #through }, #through == 0 or nil)
    loops.first_spatial = { variable = v, after = #through }
    result[#result + 1] = loops
  end
end

-- Orders of loops that other einsums have to fit: the holder above sinks through some that index
-- its tensor alone, then perhaps through one in a sum, and stops at what follows. Loops that can
-- stand above it follow, or are there.
local function fused_orders(way, how, spatial, whole, sums, rest)
  local stuck, rising, result = {}, {}, {}
  for _, v in ipairs(whole) do
    local group = how.above[v] and rising or stuck
    group[#group + 1] = v
  end
  local n = way.every_order and #sums or math.min(#sums, 1)
  for _, pair in ipairs(way.every_order and subsets(stuck) or { { stuck, {} } }) do
    local through, left = pair[1], joined(pair[2], rising)
    local at = #through
    for i = 1, n do
      local list = joined(through, { sums[i] }, gaps.without(sums, i), rest, left)
      result[#result + 1] = arranged(list, { at, at + 1 })
    end
    if #rest > 0 then
      local list = joined(through, rest, sums, left)
      result[#result + 1] = arranged(list, { at }, at == 0 or nil)
    elseif #spatial > 0 then
      up_to_spatial(result, through, joined(sums, left), spatial)
    end
    if #rest == 0 and n == 0 and #pair[2] == 0 then
      result[#result + 1] = arranged(joined(through))
    end
  end
  return result
end

--- Orders of the loops in one place: what the holder above sinks through comes first; of the
--- variables in sums it sinks through one, so each is tried.
---@param way einloom.SearchWay
---@param above? einloom.Holder
---@param list string[]
---@param how einloom.GapOrder
---@param spatial table[] loops over instances that stand there too
---@return einloom.GapLoops[]
function gaps.arrangements(way, above, list, how, spatial)
  if not above or above.backs or above.toll or above.fixed or way.is_copy then
    return { arranged(joined(list)) }
  end
  local whole, sums, rest = {}, {}, {}
  for _, v in ipairs(list) do
    local r = above.tensor.relevancy[v]
    local group = r == "relevant" and whole or r == "partial" and sums or rest
    group[#group + 1] = v
  end
  if how.fused then return fused_orders(way, how, spatial, whole, sums, rest) end
  if #sums == 0 then return { arranged(joined(whole, rest)) } end
  local result = {}
  for i = 1, way.every_order and #sums or 1 do
    result[i] = arranged(joined(whole, { sums[i] }, gaps.without(sums, i), rest))
  end
  return result
end

--- A copy of the loops of one place, to which more can be added at the end.
---@param list einloom.GapLoops
---@return einloom.GapLoops
function gaps.copy(list)
  local copy = joined(list)
  copy.cuts, copy.first_spatial, copy.unordered = list.cuts, list.first_spatial, list.unordered
  return copy
end

--- The nodes of the loops of one place, those over instances among them.
---@param list einloom.GapLoops
---@param spatial table[] loops over instances
---@return table[]
function gaps.nodes(list, spatial)
  local nodes, cut = {}, nil
  local function add(node)
    node.border, node.unordered, cut = cut, list.unordered, nil
    nodes[#nodes + 1] = node
  end
  local first = list.first_spatial
  local function add_spatial(is_first)
    for _, loop in ipairs(spatial) do
      if is_first == (first ~= nil and loop.variable == first.variable) then
        add { variable = loop.variable, dim = loop.dim, level = loop.level }
      end
    end
  end
  for i = 0, #list do
    if i > 0 then
      add { variable = list[i] }
      cut = list.cuts[i]
    end
    if first and first.after == i then add_spatial(true) end
  end
  add_spatial(false)
  return nodes
end

--- Spatial loops of the fanouts between holder j and the next one.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@return einloom.TemplateLoop[]
function gaps.spatial_loops(way, order, j)
  local above, list = order[j], {}
  if above and above.sealed then return list end
  local from, to = above and region_of(way, above) or 0, region_of(way, order[j + 1])
  local waiting = gaps.unheld(way, order, j)
  for index, level in ipairs(way.levels) do
    for _, dim in ipairs(level.region > from and level.region <= to and level.dims or {}) do
      for _, v in ipairs(way.variables) do
        if not dim.excluded[v] and gaps.indexes_all(waiting, v) then
          list[#list + 1] = { variable = v, dim = dim, level = index }
        end
      end
    end
  end
  return list
end

--- The position of the last outermost holder that passes a test; 0 if there is none.
---@param order einloom.Holder[]
---@param test? fun(h: einloom.Holder): boolean
---@return integer
function gaps.last_backing(order, test)
  for i = #order, 1, -1 do
    if order[i].backs and (not test or test(order[i])) then return i end
  end
  return 0
end

return gaps
