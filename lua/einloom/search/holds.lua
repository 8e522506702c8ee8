-- SPDX-License-Identifier: MIT
-- Storage of one einsum: which memories hold which tensors, and the orders of the holders.  An
-- order is a list of holders {level =, tensor =, backs =, must =}, outermost first.

local holds = {}

---@class einloom.Holder
---@field level integer
---@field tensor einloom.SearchTensor
---@field backs boolean the outermost holder of its tensor
---@field must boolean held because it has to be
---@field toll boolean
---@field sealed? boolean no loops stand right below
---@field region? integer fanouts above, where these are others than those of its level

-- What a level has to hold and may hold besides, given what those above it hold; nil where it
-- cannot hold what it has to, and the tensor.
local function options(way, level, chosen, above)
  local function of(rule) return rule and rule(chosen, above) or {} end
  local keep, back, may_keep = of(level.keep), of(level.back), of(level.may)
  local must, may = {}, {}
  for _, t in ipairs(way.tensors) do
    local name = t.name
    local possible = level.kind == "store" or above[name]
    if way.is_copy and above[name] then possible = false end
    if back[name] and above[name] then return nil, name end
    if possible and (keep[name] or back[name]) then
      must[#must + 1] = t
    elseif possible and may_keep[name] then
      may[#may + 1] = t
    end
  end
  return must, may
end

local function choose(way, index, chosen, above, list, visit, refused)
  local level = way.levels[index]
  if not level or level.kind == "compute" then return visit(list, above) end
  if level.kind == "array" then
    return choose(way, index + 1, chosen, above, list, visit, refused)
  end
  local must, may = options(way, level, chosen, above)
  if not must then return refused(level, may) end
  for bits = 0, (1 << #may) - 1 do
    local here, seen = {}, setmetatable({}, { __index = above })
    local longer = table.move(list, 1, #list, 1, {})
    local function hold(t, required)
      here[t.name] = true
      longer[#longer + 1] = {
        level = index, tensor = t, backs = not above[t.name], must = required,
        toll = level.kind == "pass_through",
      }
      seen[t.name] = true
    end
    for _, t in ipairs(must) do hold(t, true) end
    for i, t in ipairs(may) do
      if bits >> (i - 1) & 1 == 1 then hold(t, false) end
    end
    chosen[level.name] = here
    choose(way, index + 1, chosen, seen, longer, visit, refused)
    chosen[level.name] = nil
  end
end

--- Calls visit with every set of holders, each a list from outer to inner levels.
---@param way einloom.SearchWay
---@param visit fun(list: einloom.Holder[])
function holds.each(way, visit)
  choose(way, 1, {}, {}, {}, function(list, above)
    for _, t in ipairs(way.tensors) do
      if not above[t.name] then return end
    end
    visit(list)
  end, function() end)
end

--- Why a way has no set of holders: tensors that no level can hold, in the order of names; or else
--- a level that is to be the first to hold a tensor, and the tensor, which a level above holds.
---@param way einloom.SearchWay
---@return string[] unheld
---@return string? level
---@return string? tensor
function holds.problem(way)
  local held, level_name, tensor_name, complete = {}, nil, nil, false
  choose(way, 1, {}, {}, {}, function(_, above)
    complete = true
    for _, t in ipairs(way.tensors) do held[t.name] = held[t.name] or above[t.name] end
  end, function(level, tensor)
    level_name, tensor_name = level_name or level.name, tensor_name or tensor
  end)
  local unheld = {}
  for _, t in ipairs(complete and way.tensors or {}) do
    if not held[t.name] then unheld[#unheld + 1] = t.name end
  end
  return unheld, level_name, tensor_name
end

--- Whether a holder stands above all loops.
---@param way einloom.SearchWay
---@param h einloom.Holder
---@return boolean
function holds.goes_first(way, h)
  return h.level == way.outermost or h.backs and h.tensor.persistent
end

--- Whether a must come before b wherever both are.
---@param way einloom.SearchWay
---@param a einloom.Holder
---@param b einloom.Holder
---@return boolean
function holds.precedes(way, a, b)
  local la, lb = way.levels[a.level], way.levels[b.level]
  if la.region ~= lb.region then return la.region < lb.region end
  if a.level == b.level then return false end
  if a.tensor == b.tensor then return a.level < b.level end
  if a.level > b.level then return false end
  return way.force_order or a.toll or b.toll
end

-- Whether dimensions with loops between two regions ask for a share of their instances.
local function asks_between(way, from, to)
  for _, level in ipairs(way.levels) do
    for _, dim in ipairs(level.region > from and level.region <= to and level.dims or {}) do
      if dim.min_fraction > 0 then return true end
    end
  end
  return false
end

--- Whether a holder right above the last outermost holder of a shared tensor sinks, in a mapping,
--- as one right below it, if no loop is in between: the other one stands above a split.
---@param way einloom.SearchWay
---@param h einloom.Holder
---@param last einloom.Holder
---@return boolean
function holds.sinks_past(way, h, last)
  return not (h.backs or h.toll or way.is_copy)
    and not asks_between(way, way.levels[h.level].region, way.levels[last.level].region)
end

--- An order of holders with one behind the last outermost holder of a shared tensor that it stands
--- above, and without loops in between; nil where the holder would not sink there or where it may
--- stand there anyway.
---@param way einloom.SearchWay
---@param order einloom.Holder[]
---@return einloom.Holder[]?
function holds.behind_shared(way, order)
  local last = #order
  while last > 0 and not (order[last].backs and order[last].tensor.shared) do last = last - 1 end
  local at, needed = last, false
  while at > 0 and order[at].backs and order[at].tensor.shared do at = at - 1 end
  local h = order[at]
  if last == 0 or not h or not holds.sinks_past(way, h, order[last]) then return nil end
  local result = table.move(order, 1, #order, 1, {})
  for i = at + 1, last do
    needed = needed or holds.precedes(way, h, order[i])
    local region = way.levels[h.level].region
    result[i - 1] = setmetatable({ sealed = true, region = region }, { __index = order[i] })
  end
  local region = way.levels[order[last].level].region
  result[last] = setmetatable({ region = region }, { __index = h })
  return needed and result or nil
end

-- A holder right under another one of its tensor that needed not be there: the outer is useless.
local function useless(way, outer, inner)
  return outer and outer.tensor == inner.tensor and not (outer.must or outer.backs)
    and way.levels[outer.level].region == way.levels[inner.level].region
end

local function permute(way, first, rest, visit)
  if #rest == 0 then return visit(first) end
  for i, h in ipairs(rest) do
    local possible = not useless(way, first[#first], h)
    for k, other in ipairs(rest) do
      if k ~= i and holds.precedes(way, other, h) then possible = false end
      -- Tolls of one level stand in one order.
      if k < i and h.toll and other.toll and other.level == h.level then possible = false end
    end
    if possible then
      local others = table.move(rest, 1, #rest, 1, {})
      table.remove(others, i)
      first[#first + 1] = h
      permute(way, first, others, visit)
      first[#first] = nil
    end
  end
end

--- Calls visit with every order of a set of holders and the number of those above all loops; the
--- list is used again.
---@param way einloom.SearchWay
---@param list einloom.Holder[]
---@param visit fun(order: einloom.Holder[], n_first: integer)
function holds.orders(way, list, visit)
  local first, rest = {}, {}
  for _, h in ipairs(list) do
    if holds.goes_first(way, h) then first[#first + 1] = h else rest[#rest + 1] = h end
  end
  local n = #first
  permute(way, first, rest, function(order) visit(order, n) end)
end

return holds
