-- SPDX-License-Identifier: MIT
-- Holders of an einsum laid onto the items of a mapping with holes: in which orders they can stand
-- there, and which loops and gaps come between them.

local gaps = require "einloom.search.gaps"
local holds = require "einloom.search.holds"
local pattern = require "einloom.search.pattern"

local alignment = {}

---@class einloom.Alignment
---@field order einloom.Holder[] outermost first
---@field segments einloom.PatternItem[][] loops, gaps and splits under holder 0, 1, ...

-- State of one way: the items, where it failed last, and what is placed.
local State = {}
State.__index = State

-- Notes why an item could not be met; what lies deepest is told, of holders as they are written.
function State:note(i, node, message)
  if i > self.deepest.at and not self.quiet then
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

-- Goes on behind item i with one more holder.
function State:with(h, item, go)
  local n = #self.order
  local placed = setmetatable({ item = item }, { __index = h })
  if item.kind == "hold" and item.node.may_lower == false then placed.fixed = true end
  self.order[n + 1], self.segments[n + 1] = placed, {}
  go()
  self.order[n + 1], self.segments[n + 1] = nil, nil
end

-- Places the holder of an item behind the others of its node, where it may sink from there.
function State:hold_last(i, rest, go_on)
  local item = self.items[i]
  for k, h in ipairs(rest) do
    local meant = h.level == item.level and h.tensor == item.tensor
    if meant and not (h.backs or h.toll) and not self:obstacle(h, rest) then
      return self:with(h, item, function() self:from(go_on, gaps.without(rest, k)) end)
    end
  end
end

-- The holders of a node in the order in which they are written; of a node with holes, then each of
-- them as the last one, which alone can sink. (Above a split einsums would have to agree.)
function State:node(i, rest)
  local items, last = self.items, i
  while items[last + 1] and items[last + 1].node == items[i].node do last = last + 1 end
  self:hold(i, items[i], rest)
  local quiet = self.quiet
  self.quiet = true
  local node = items[i].node
  local fixed = items[i].shared or not node.more and #(node.optional or {}) == 0
  for k = i, fixed and 0 or last - 1 do
    if items[k].kind == "hold" then
      self.later = { item = k, behind = last + 1 }
      self:from(i, rest)
      self.later = nil
    end
  end
  self.quiet = quiet
end

-- The holder that an item names.
function State:hold(i, item, rest)
  for k, h in ipairs(rest) do
    if h.level == item.level and h.tensor == item.tensor then
      local obstacle = self:obstacle(h, rest)
      if obstacle then
        self:note(i + 0.5, item.node, obstacle)
      else
        self:with(h, item, function() self:from(i + 1, gaps.without(rest, k)) end)
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
        self:some(i, item, gaps.without(rest, k), gap)
      end)
    end
  end
end

-- Places what is left of the holders on the items from i on.
function State:from(i, rest)
  local item, later = self.items[i], self.later
  if later and i == later.behind then
    self.later = nil
    self:hold_last(later.item, rest, i)
    self.later = later
    return
  elseif later and i == later.item then
    return self:from(i + 1, rest)
  end
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
  if item.kind == "hold" then
    local before = self.items[i - 1]
    if not later and not (before and before.node == item.node) then return self:node(i, rest) end
    return self:hold(i, item, rest)
  end
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
