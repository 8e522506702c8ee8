-- SPDX-License-Identifier: MIT
-- Storage of one einsum: which memories hold which tensors, and the orders of the holders.  An
-- order is a list of holders {level =, tensor =, backs =, must =}, outermost first.

local holds = {}

---@class einloom.SearchTensor
---@field name string
---@field shared boolean used by several einsums
---@field persistent boolean
---@field relevancy table<string, "relevant"|"partial"> by variable; nil: not indexed by it

---@class einloom.SearchLevel
---@field name string
---@field kind "store"|"pass_through"|"array"|"compute"
---@field dims table[] dimensions of the fanout: {name, count, excluded, min_fraction, ...}
---@field must table set of tensor names, or {all_not_held_in = names}
---@field may table<string, true>
---@field region integer number of fanouts above or at the level

---@class einloom.SearchStep
---@field einsum string
---@field is_copy boolean
---@field variables string[] those with more than one value, in the order of names
---@field sizes table<string, integer>
---@field tensors einloom.SearchTensor[]
---@field levels einloom.SearchLevel[] from the outermost memory to the compute unit
---@field force_order boolean holders follow the order of memories

---@class einloom.Holder
---@field level integer
---@field tensor einloom.SearchTensor
---@field backs boolean the outermost holder of its tensor
---@field must boolean held because it has to be
---@field toll boolean

local function must_hold(step, level, chosen)
  if not level.all_not_held_in then return level.must end
  local missing = {}
  for _, t in ipairs(step.tensors) do
    local held = false
    for _, name in ipairs(level.all_not_held_in) do held = held or (chosen[name] or {})[t.name] end
    if not held then missing[t.name] = true end
  end
  return missing
end

-- What a level has to hold and may hold besides, given what those above it hold.
local function options(step, level, chosen, above)
  local must, may = {}, {}
  local required = must_hold(step, level, chosen)
  for _, t in ipairs(step.tensors) do
    local possible = level.kind == "store" or above[t.name]
    if step.is_copy and above[t.name] then possible = false end
    if possible and required[t.name] then
      must[#must + 1] = t
    elseif possible and level.may[t.name] then
      may[#may + 1] = t
    end
  end
  return must, may
end

local function choose(step, index, chosen, above, list, visit)
  local level = step.levels[index]
  if not level or level.kind == "compute" then
    for _, t in ipairs(step.tensors) do
      if not above[t.name] then return end
    end
    return visit(list)
  end
  if level.kind == "array" then return choose(step, index + 1, chosen, above, list, visit) end
  local must, may = options(step, level, chosen, above)
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
    choose(step, index + 1, chosen, seen, longer, visit)
    chosen[level.name] = nil
  end
end

--- Calls visit with every set of holders, each a list from outer to inner levels.
---@param step einloom.SearchStep
---@param visit fun(list: einloom.Holder[])
function holds.each(step, visit)
  choose(step, 1, {}, {}, {}, visit)
end

local function goes_first(step, h)
  return h.level == step.outermost or h.backs and h.tensor.persistent
end

-- Whether a must come before b wherever both are.
local function precedes(step, a, b)
  local la, lb = step.levels[a.level], step.levels[b.level]
  if la.region ~= lb.region then return la.region < lb.region end
  if a.level == b.level then return false end
  if a.tensor == b.tensor then return a.level < b.level end
  if a.level > b.level then return false end
  return step.force_order or a.backs and a.tensor.shared or a.toll or b.toll
end

-- A holder right under another one of its tensor that needed not be there: the outer is useless.
local function useless(step, outer, inner)
  return outer and outer.tensor == inner.tensor and not (outer.must or outer.backs)
    and step.levels[outer.level].region == step.levels[inner.level].region
end

local function permute(step, first, rest, visit)
  if #rest == 0 then return visit(first) end
  for i, h in ipairs(rest) do
    local possible = not useless(step, first[#first], h)
    for k, other in ipairs(rest) do
      if k ~= i and precedes(step, other, h) then possible = false end
      -- Tolls of one level stand in one order.
      if k < i and h.toll and other.toll and other.level == h.level then possible = false end
    end
    if possible then
      local others = table.move(rest, 1, #rest, 1, {})
      table.remove(others, i)
      first[#first + 1] = h
      permute(step, first, others, visit)
      first[#first] = nil
    end
  end
end

--- Calls visit with every order of a set of holders and the number of those above all loops; the
--- list is used again.
---@param step einloom.SearchStep
---@param list einloom.Holder[]
---@param visit fun(order: einloom.Holder[], n_first: integer)
function holds.orders(step, list, visit)
  local first, rest = {}, {}
  for _, h in ipairs(list) do
    if goes_first(step, h) then first[#first + 1] = h else rest[#rest + 1] = h end
  end
  local n = #first
  permute(step, first, rest, function(order) visit(order, n) end)
end

return holds
