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
local Goal = {}
Goal.__index = Goal

--- The goal of a claim; figures have energy, latency and, where it is minimised, usage by memory.
---@param what einloom.Objective
---@param figures table[]
---@param slack number
---@return einloom.CertifyGoal
function goal.new(what, figures, slack)
  local self = setmetatable({
    objective = what, memories = {}, slack = slack, figures = figures,
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

--- Whether no figures above the bounds are better than what is claimed, but for the slack.
---@param figures table
---@return boolean
function Goal:closes(figures)
  local values, share = self:values(figures), 1 - self.slack
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
