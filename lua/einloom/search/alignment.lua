-- SPDX-License-Identifier: MIT
-- Holders of an einsum laid onto the items of a mapping with holes: in which orders they can stand
-- there, and which loops and gaps come between them.

local holds = require "einloom.search.holds"
local pattern = require "einloom.search.pattern"

local alignment = {}

---@class einloom.Alignment
---@field order einloom.Holder[] outermost first
---@field segments einloom.PatternItem[][] loops, gaps and splits under holder 0, 1, ...

-- State of one way: the items, where it failed last, and what is placed.
local State = {}
State.__index = State

-- Notes why an item could not be met; what lies deepest is told.
function State:note(i, node, message)
  if i > self.deepest.at then
    self.deepest.at, self.deepest.error = i, pattern.problem(node, "no_mapping", message)
  end
end

local function described(way, h)
  return ("%s in %s"):format(h.tensor.name, way.levels[h.level].name)
end

local function any_loop(segments)
  for _, segment in pairs(segments) do
    for _, item in ipairs(segment) do
      if item.kind == "loop" then return item end
    end
  end
end

-- Why a holder cannot come next, or nil.
function State:obstacle(h, rest)
  local way = self.way
  for _, other in ipairs(rest) do
    if other ~= h and holds.precedes(way, other, h) then
      return ("%s has to stand above %s"):format(described(way, other), described(way, h))
    end
  end
  if not holds.goes_first(way, h) then return nil end
  if any_loop(self.segments) then
    return ("%s has to stand above all loops"):format(described(way, h))
  end
  for _, above in ipairs(self.order) do
    if not holds.goes_first(way, above) then
      return ("%s has to stand above %s"):format(described(way, h), described(way, above))
    end
  end
end

local function without(list, i)
  local rest = table.move(list, 1, #list, 1, {})
  table.remove(rest, i)
  return rest
end

-- Goes on behind item i with one more holder.
function State:with(h, item, go)
  local n = #self.order
  local placed = setmetatable({ item = item }, { __index = h })
  if item.kind == "hold" and item.node.may_lower == false then placed.fixed = true end
  self.order[n + 1], self.segments[n + 1] = placed, {}
  go()
  self.order[n + 1], self.segments[n + 1] = nil, nil
end

-- The holder that an item names.
function State:hold(i, item, rest)
  for k, h in ipairs(rest) do
    if h.level == item.level and h.tensor == item.tensor then
      local obstacle = self:obstacle(h, rest)
      if obstacle then
        self:note(i + 0.5, item.node, obstacle)
      else
        self:with(h, item, function() self:from(i + 1, without(rest, k)) end)
      end
      if not item.optional then return end
      break
    end
  end
  if item.optional then return self:from(i + 1, rest) end
  self:note(i, item.node, ("%s does not hold %s here, as the architecture has it")
    :format(self.way.levels[item.level].name, item.tensor.name))
end

-- Any of the holders that are left, one after the other; `gap` is added around them.
function State:some(i, item, rest, gap)
  self:from(i + 1, rest)
  for k, h in ipairs(rest) do
    if (item.level == nil or h.level == item.level) and not self:obstacle(h, rest) then
      self:with(h, item, function()
        if gap then table.insert(self.segments[#self.order], gap) end
        self:some(i, item, without(rest, k), gap)
      end)
    end
  end
end

-- Places what is left of the holders on the items from i on.
function State:from(i, rest)
  local item = self.items[i]
  if not item then
    for _, h in ipairs(rest) do
      if h.must then
        self:note(i, self.leaf, ("there is no place for %s, which has to be held")
          :format(described(self.way, h)))
        return
      end
    end
    if #rest == 0 then self.visit { order = self.order, segments = self.segments } end
    return
  end
  if item.kind == "hold" then return self:hold(i, item, rest) end
  if item.kind == "more" then return self:some(i, item, rest) end
  local segment = self.segments[#self.order]
  segment[#segment + 1] = item
  if item.holders then
    self:some(i, item, rest, item)
  else
    self:from(i + 1, rest)
  end
  segment[#segment] = nil
end

--- Calls visit with every way to lay holders onto the items of a path; what is given is used again.
---@param way einloom.SearchWay
---@param items einloom.PatternItem[]
---@param leaf einloom.Node
---@param deepest { at: number, error: einloom.Error? } the item furthest in that was not met
---@param visit fun(a: einloom.Alignment)
function alignment.each(way, items, leaf, deepest, visit)
  holds.each(way, function(list)
    setmetatable({
      way = way, items = items, leaf = leaf, deepest = deepest, visit = visit, order = {},
      segments = { [0] = {} },
    }, State):from(1, list)
  end)
end

return alignment
