-- SPDX-License-Identifier: MIT
-- Nests as they stand in a mapping, where loops with one trip are left out and holders of shared
-- tensors stand above splits: reservations may sink further than in the template.

local nest = require "einloom.search.nest"

local standing = {}

-- The loops that a reservation sinks through, of loops in the order in which they stand.
local function sunk_through(self, tensor, loops)
  local through, partial = {}, false
  for _, k in ipairs(loops) do
    local relevancy = tensor.relevancy[self.step.variables[self.loops[k].variable]]
    if self.loops[k].dim or not relevancy or relevancy == "partial" and partial then break end
    partial = partial or relevancy == "partial"
    through[#through + 1] = k
  end
  return through
end

-- The loops of a slot with several trips, as they stand: fused ones in the order given.
local function with_trips(slot, trips, order)
  local own, list = {}, {}
  for _, k in ipairs(slot) do own[k] = trips[k] > 1 end
  for _, k in ipairs(order) do
    if own[k] then
      list[#list + 1] = k
      own[k] = false
    end
  end
  for _, k in ipairs(slot) do
    if own[k] then list[#list + 1] = k end
  end
  return list
end

-- Loops of the slot, those that the reservation sinks through first, where these are others than in
-- the template once loops with one trip are gone; else nil.
local function moved(self, slot, trips, order)
  local first, now, same = sunk_through(self, slot.tensor, with_trips(slot, trips, order)), {}, 0
  for _, k in ipairs(first) do now[k] = true end
  for _, k in ipairs(sunk_through(self, slot.tensor, slot)) do
    if trips[k] > 1 and now[k] then same = same + 1 end
    if trips[k] > 1 and not now[k] then same = -math.huge end
  end
  if same == #first then return nil end
  for _, k in ipairs(slot) do
    if not now[k] then first[#first + 1] = k end
  end
  return first
end

-- Nodes that no loop with several trips stands between, where the last holder goes above a split
-- and leaves one behind whose reservation may sink: loops in time with one trip, then what goes,
-- then the others; else nil. Loops over instances would not stand in the order of the hardware.
local function regrouped(self, group, hoisted)
  local holders, first, rest = {}, {}, {}
  for _, i in ipairs(group) do
    local node = self.template.nodes[i]
    if not node.tensor then
      if not node.dim then first[#first + 1] = i end
    else
      holders[#holders + 1] = i
      if not hoisted[i] then rest[#rest + 1] = i end
    end
  end
  local last = self.template.nodes[rest[#rest]]
  if #rest == 0 or not hoisted[holders[#holders]] or last.backs or last.toll then return nil end
  for _, i in ipairs(holders) do
    if hoisted[i] then first[#first + 1] = i end
  end
  return table.move(rest, 1, #rest, #first + 1, first)
end

-- The order of nodes with reservations free to sink where a holder below them goes above a split.
local function without_hoisted(self, trips, hoisted)
  local order, group, changed = {}, {}, false
  local function close()
    local other = regrouped(self, group, hoisted)
    changed = changed or other ~= nil
    for _, i in ipairs(other or group) do order[#order + 1] = i end
    group = {}
  end
  local k = 0
  for i, node in ipairs(self.template.nodes) do
    if not node.tensor then k = k + 1 end
    if node.tensor or trips[k] == 1 then
      group[#group + 1] = i
    else
      close()
      order[#order + 1] = i
    end
  end
  close()
  return changed and order or nil
end

local function as_they_are(self)
  local nodes = {}
  for i in ipairs(self.template.nodes) do nodes[i] = i end
  return nodes
end

-- The order of nodes with loops that reservations sink through first.
local function with_loops_first(self, trips, order)
  local nodes
  for _, slot in ipairs(self.slots) do
    local list = moved(self, slot, trips, order)
    if list then
      nodes = nodes or as_they_are(self)
      for i, k in ipairs(slot) do nodes[self.node_of[k]] = self.node_of[list[i]] end
    end
  end
  return nodes
end

--- The nest in which reservations sink as they do in the mapping: loops with one trip are no longer
--- there, fused loops stand in the order given, and holders that go above a split are no longer in
--- between. With it, for each of its loops the number that the loop has in `self`, and where its
--- hoisted nodes are; nil where nothing moves.
---@param self einloom.Nest
---@param trips integer[]
---@param order integer[] fused loops with several trips
---@param hoisted table<integer, true> numbers of nodes
---@return einloom.Nest?
---@return integer[]? from
---@return table<integer, true>? hoisted
function standing.nest(self, trips, order, hoisted)
  local nodes = next(hoisted) and without_hoisted(self, trips, hoisted)
    or with_loops_first(self, trips, order)
  if not nodes then return nil end
  local key = table.concat(nodes, " ")
  local from, now, list = {}, {}, {}
  for i, old in ipairs(nodes) do
    list[i] = self.template.nodes[old]
    if hoisted[old] then now[i] = true end
    if self.loop_of[old] then from[#from + 1] = self.loop_of[old] end
  end
  self.others = self.others or {}
  if not self.others[key] then
    local t = self.template
    self.others[key] =
      nest.build(self.step, setmetatable({ nodes = list }, { __index = t }))
  end
  return self.others[key], from, now
end

return standing
