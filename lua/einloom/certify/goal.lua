-- SPDX-License-Identifier: MIT
-- What a certificate claims: points that no mapping is better than.  A lower bound of figures is
-- enough where one of the points is at most the bound in everything that is minimised.

local objective = require "einloom.search.objective"

local goal = {}

---@class einloom.CertifyGoal
---@field objective einloom.Objective
---@field memories string[] whose use is minimised, in order
---@field figures table[] of the claimed points
---@field points number[][] what is minimised of each claimed point
---@field slack number share by which a better mapping may go unnoticed
---@field tolerance number share by which a claim may be worse than what is best, but for memories
---@field usage_tolerance number the same of the use of memories
local Goal = {}
Goal.__index = Goal

--- The goal of a claim; figures have energy, latency and, where it is minimised, usage by memory.
---@param what einloom.Objective
---@param figures table[]
---@param slack number
---@param options table of the space
---@return einloom.CertifyGoal
function goal.new(what, figures, slack, options)
  local self = setmetatable({
    objective = what, memories = {}, slack = slack, figures = figures,
    tolerance = options.objective_tolerance, usage_tolerance = options.resource_usage_tolerance,
  }, Goal)
  if what.figures.usage then
    local seen = {}
    for _, f in ipairs(figures) do
      for name in pairs(f.usage) do
        if not seen[name] then table.insert(self.memories, name) end
        seen[name] = true
      end
    end
    table.sort(self.memories)
  end
  self.points = {}
  for i, f in ipairs(figures) do self.points[i] = self:values(f) end
  return self
end

--- What is minimised of some figures, or lower bounds of it where they are.
---@param figures { energy: number, latency: number, usage: table<string, number>? }
---@return number[]
function Goal:values(figures)
  if self.objective.formula then return { objective.value(self.objective, figures) } end
  local values = {}
  for _, name in ipairs(self.objective.names) do
    if name == "energy_delay_product" then
      values[#values + 1] = figures.energy * figures.latency
    elseif name == "usage" then
      for _, memory in ipairs(self.memories) do
        values[#values + 1] = figures.usage[memory] or 0
      end
    else
      values[#values + 1] = figures[name]
    end
  end
  return values
end

-- What is minimised of bounds, raised as far as claims may be above what is best.
local function raised(self, figures)
  local values = self:values(figures)
  local n, at = #self.objective.names, 0
  for i = 1, self.objective.formula and 0 or n do
    local is_usage = self.objective.names[i] == "usage"
    for _ = 1, is_usage and #self.memories or 1 do
      at = at + 1
      values[at] = values[at] * (1 + (is_usage and self.usage_tolerance or self.tolerance))
    end
  end
  return values
end

--- Whether no figures above the bounds are better than what is claimed, but for slack and
--- tolerance.
---@param figures table
---@return boolean
function Goal:closes(figures)
  local values, share = raised(self, figures), 1 - self.slack
  for _, point in ipairs(self.points) do
    local reached = true
    for k, x in ipairs(point) do
      if x * share > values[k] then
        reached = false
        break
      end
    end
    if reached then return true end
  end
  return false
end

return goal
