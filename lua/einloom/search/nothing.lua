-- SPDX-License-Identifier: MIT
-- Why a space has no mapping within the limits: what fell to which rule, and the smallest capacity
-- of a memory or count of instances that, alone, would let a mapping through.

local engine = require "einloom.search.engine"

local nothing = {}

---@class einloom.Fall
---@field rule string "capacity", "capacity_joint", "fanout", "loop_bounds", "max_fused_loops", ...
---@field subject? string the memory, or "component.dimension"
---@field n number choices of tiles that fell to it (of two einsums: pairs of points)
---@field least? number bits or instances that would do while everything else stays as it is

-- The least use of a memory when it has no limit; nil where that does not help.
local function least_capacity(space, memory)
  local relaxed = engine.new(space, 1, { memory = memory })
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
  local most = 1
  for _, shape in ipairs(space.shapes) do
    local product = 1
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
  return high
end

--- Explores a space again for which no mapping was found.  Falls that have a remedy come first,
--- then those to which more fell.
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
    list[#list + 1] = fall
  end
  table.sort(list, function(a, b)
    if (a.least ~= nil) ~= (b.least ~= nil) then return a.least ~= nil end
    if a.n ~= b.n then return a.n > b.n end
    if a.rule ~= b.rule then return a.rule < b.rule end
    return (a.subject or "") < (b.subject or "")
  end)
  return list
end

return nothing
