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

-- What a level has to hold and may hold besides, given what those above it hold; nil where it
-- cannot hold what it has to.
local function options(way, level, chosen, above)
  local function of(rule) return rule and rule(chosen, above) or {} end
  local keep, back, may_keep = of(level.keep), of(level.back), of(level.may)
  local must, may = {}, {}
  for _, t in ipairs(way.tensors) do
    local name = t.name
    local possible = level.kind == "store" or above[name]
    if way.is_copy and above[name] then possible = false end
    if back[name] and above[name] then return nil end
    if possible and (keep[name] or back[name]) then
      must[#must + 1] = t
    elseif possible and may_keep[name] then
      may[#may + 1] = t
    end
  end
  return must, may
end

local function choose(way, index, chosen, above, list, visit)
  local level = way.levels[index]
  if not level or level.kind == "compute" then
    for _, t in ipairs(way.tensors) do
      if not above[t.name] then return end
    end
    return visit(list)
  end
  if level.kind == "array" then return choose(way, index + 1, chosen, above, list, visit) end
  local must, may = options(way, level, chosen, above)
  if not must then return end
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
    choose(way, index + 1, chosen, seen, longer, visit)
    chosen[level.name] = nil
  end
end

--- Calls visit with every set of holders, each a list from outer to inner levels.
---@param way einloom.SearchWay
---@param visit fun(list: einloom.Holder[])
function holds.each(way, visit)
  choose(way, 1, {}, {}, {}, visit)
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
