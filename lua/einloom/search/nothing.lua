-- SPDX-License-Identifier: MIT
-- Why a space has no mapping within the limits: what fell to which rule, and the smallest capacity
-- of a memory or count of instances that, alone, would let a mapping through.

local engine = require "einloom.search.engine"
local value = require "einloom.value"

local nothing = {}

---@class einloom.Fall
---@field rule string "capacity", "capacity_joint", "fanout", "loop_bounds", "max_fused_loops", ...
---@field subject? string the memory, or "component.dimension"
---@field n number choices of tiles that fell to it (of two einsums: pairs of points)
---@field needs? number bits of the memory that every mapping needs, which are more than there are
---@field least? number bits or instances that would do while everything else stays as it is

-- The least use of a memory when it has no limit, nor as wanted any other one; nil where that does
-- not help.
local function least_capacity(space, memory, others)
  local relaxed = engine.new(space, 1, { memory = memory, others = others })
  relaxed:run()
  local built, least = relaxed.built, nil
  for i = 0, built:results() - 1 do
    local values = built:result(i)
    for k, name in ipairs(relaxed.open) do
      if name == memory and (not least or values[k] < least) then least = values[k] end
    end
  end
  return least
end

local function works(space, dimension, count)
  local relaxed = engine.new(space, 1, { dimension = dimension, count = count })
  relaxed:run()
  return relaxed.built:results() > 0
end

-- The most instances of a dimension that any mapping uses.
local function most_instances(space)
  local most = 1.0
  for _, shape in ipairs(space.shapes) do
    local product = 1.0
    for _, size in pairs(shape.step.sizes) do product = product * size end
    most = math.max(most, product)
  end
  return most
end

local function count_of(space, dimension)
  for _, shape in ipairs(space.shapes) do
    for _, way in ipairs(shape.step.ways) do
      for _, level in ipairs(way.levels) do
        for _, d in ipairs(level.dims) do
          if level.name .. "." .. d.name == dimension then return d.count, d.min_fraction > 0 end
        end
      end
    end
  end
end

-- What works with some instances works with more of them, but where a share is asked for: then none
-- is named.
local function least_count(space, dimension)
  local low, has_share = count_of(space, dimension)
  local high = most_instances(space)
  if has_share or high <= low or not works(space, dimension, high) then return nil end
  while high - low > 1 do
    local middle = (low + high) // 2
    if works(space, dimension, middle) then high = middle else low = middle end
  end
  return math.tointeger(high) or high
end

-- What the search does of its own accord, and nobody can change.
local own_rules = { dominated = true, bounded = true }

-- Falls to each memory that is too small whatever the others are.
local function too_small(space)
  local list = {}
  for _, component in ipairs(space.case.arch.components) do
    local size = component.class == "Memory" and value.nearest(component.size) or math.huge
    if size < math.huge then
      local needs = least_capacity(space, component.name, true)
      if needs and needs > size then
        list[#list + 1] = { rule = "capacity", subject = component.name, n = 0, needs = needs }
      end
    end
  end
  return list
end

-- The falls without those to memories that are no obstacle; where several memories are too small,
-- each of these with what it needs.
local function obstacles(space, list)
  local has_capacity, has_remedy = false, false
  for _, fall in ipairs(list) do
    has_capacity = has_capacity or fall.rule:find "^capacity" ~= nil
    has_remedy = has_remedy or fall.least ~= nil
  end
  local small = has_capacity and not has_remedy and too_small(space) or {}
  if not has_remedy and #small == 0 then return list end
  for _, fall in ipairs(list) do
    if fall.least or not fall.rule:find "^capacity" then small[#small + 1] = fall end
  end
  return small
end

--- What falls to which rule, of a space that was not explored by the search that has its answer.
---@param space einloom.Space
---@return { size: number, points: number, rules: table<string, number> }
function nothing.falls(space)
  local again = engine.new(space, 1)
  again:run()
  return again:falls()
end

--- Explores a space again for which no mapping was found.  Memories that are too small for every
--- mapping come first, then falls that have a remedy, then those to which more fell.
---@param space einloom.Space
---@param falls { size: number, points: number, rules: table<string, number> } of the engine
---@return einloom.Fall[]
function nothing.explain(space, falls)
  local list, capacities = {}, {}
  for name, n in pairs(falls.rules) do
    local rule, subject = name:match "^([^:]*):(.*)$"
    local fall = { rule = rule or name, subject = subject, n = n }
    if fall.rule:find "^capacity" then
      if capacities[subject] == nil then
        capacities[subject] = least_capacity(space, subject) or false
      end
      fall.least = capacities[subject] or nil
    elseif fall.rule == "fanout" then
      fall.least = least_count(space, subject)
    end
    if not own_rules[fall.rule] then list[#list + 1] = fall end
  end
  list = obstacles(space, list)
  table.sort(list, function(a, b)
    if (a.needs ~= nil) ~= (b.needs ~= nil) then return a.needs ~= nil end
    if (a.least ~= nil) ~= (b.least ~= nil) then return a.least ~= nil end
    if a.n ~= b.n then return a.n > b.n end
    if a.rule ~= b.rule then return a.rule < b.rule end
    return (a.subject or "") < (b.subject or "")
  end)
  return list
end

return nothing
