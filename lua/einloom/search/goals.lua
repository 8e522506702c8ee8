-- SPDX-License-Identifier: MIT
-- What a search minimises: which figures of a mapping are asked for, which of two mappings is
-- better, and which of many are kept.

local goals = {}

local function wanted(case)
  local names = {}
  for _, name in ipairs(case.minimise) do names[name] = true end
  return names
end

--- The figures that are needed to know what is minimised.
---@param case table
---@return { energy: boolean, latency: boolean, usage: boolean, product: boolean }
function goals.asked(case)
  local names = wanted(case)
  local product = names.energy_delay_product or false
  return {
    energy = names.energy or product, latency = names.latency or product,
    usage = names.buffer_usage or false, product = product,
  }
end

--- Adds the product where both its factors are known.
---@param figures table
---@return table figures
function goals.complete(figures)
  if figures.energy and figures.latency then
    figures.energy_delay_product = figures.energy * figures.latency
  end
  return figures
end

--- What is minimised of some figures, as a list in which smaller numbers are better.
---@param case table
---@param figures table
---@return number[]
function goals.values(case, figures)
  local values = {}
  for _, name in ipairs(case.minimise) do
    if name == "buffer_usage" then
      local names = {}
      for memory in pairs(figures.usage) do names[#names + 1] = memory end
      table.sort(names)
      for _, memory in ipairs(names) do values[#values + 1] = figures.usage[memory] end
    else
      values[#values + 1] = figures[name]
    end
  end
  return values
end

--- One number for strategies that follow one: the product of what is minimised.
---@param case table
---@param figures table
---@return number
function goals.score(case, figures)
  local score = 1
  for _, x in ipairs(goals.values(case, figures)) do score = score * x end
  return score
end

-- The point with the least value of one figure; of several the first.
local function least(points, key)
  local best
  for _, point in ipairs(points) do
    if not best or point[key] < best[key] then best = point end
  end
  return { best }
end

--- The points that answer a search: the best one, or all of a front.
---@param case table
---@param points table[]
---@return table[]
function goals.best(case, points)
  if goals.asked(case).product then return least(points, "energy_delay_product") end
  if #case.minimise == 1 and case.minimise[1] ~= "buffer_usage" then
    return least(points, case.minimise[1])
  end
  return points
end

return goals
