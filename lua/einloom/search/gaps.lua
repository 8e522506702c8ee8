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
  return h and way.levels[h.level].region or way.levels[#way.levels].region
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

--- Variables that may have a temporal loop under holder j. `free(j)`: loops may be left out because
--- they can as well stand in that place.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@param free fun(j: integer): boolean
---@return string[]
function gaps.candidates(way, order, j, free)
  local waiting, list, once = gaps.unheld(way, order, j), {}, gaps.fetched_once(way, order, j)
  local above, below = order[j], next_store(order, j + 1)
  local shared = any_shared(waiting)
  if shared and way.max_fused_loops == 0 then return list end
  local spreads = above and region_of(way, above) < region_of(way, order[j + 1])
  if not spreads and above and above.toll then return list end
  for _, v in ipairs(way.variables) do
    local useful = gaps.indexes_all(waiting, v) and gaps.indexed_by_all(once, v)
    if useful and not spreads then
      if above and not above.backs and above.tensor.relevancy[v] == "relevant" and free(j - 1) then
        useful = false
      end
      if not shared and below and not below.tensor.relevancy[v] and free(j + 1)
        and not (above and above.tensor.relevancy[v] == "partial") then
        useful = false
      end
    end
    if useful then list[#list + 1] = v end
  end
  return list
end

--- Orders of the loops in one place: what the holder above sinks through comes first; of the
--- variables in sums it sinks through one, so each is tried.
---@param way einloom.SearchWay
---@param above? einloom.Holder
---@param list string[]
---@return string[][]
function gaps.arrangements(way, above, list)
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

--- Spatial loops of the fanouts between holder j and the next one.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@param j integer
---@return einloom.TemplateLoop[]
function gaps.spatial_loops(way, order, j)
  local from = j > 0 and region_of(way, order[j]) or 0
  local to, list = region_of(way, order[j + 1]), {}
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
