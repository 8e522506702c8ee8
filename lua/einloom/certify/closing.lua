-- SPDX-License-Identifier: MIT
-- Which leaves of all trees together can be part of a better mapping.  One that cannot is closed,
-- and then no longer counts as what another one may be completed with, so it goes in rounds
-- (doc/formulas.md#certificates-joining).

local completions = require "einloom.certify.completions"
local fronts = require "einloom.certify.fronts"

local closing = {}

---@class einloom.OpenLeaf
---@field shape integer
---@field keys? string[][] places of shared tensors, as they may be; nil: they depend on open tiles
---@field energy number
---@field latency number
---@field closed? boolean

---@class einloom.Closing
---@field steps einloom.CertifyStep[]
---@field goal einloom.CertifyGoal
---@field n_shapes integer
local Closing = {}
Closing.__index = Closing

--- What closes leaves of a space.
---@param s einloom.Space
---@param goal einloom.CertifyGoal
---@return einloom.Closing
function closing.new(s, goal)
  return setmetatable({
    steps = completions.steps(s), goal = goal, n_shapes = #s.shapes,
    timed = s.case.objective.figures.latency or false,
  }, Closing)
end

-- Of each shape the least energy and latency, of all leaves and of those without places.
local function floors_of(self, leaves)
  local all, free = {}, {}
  for shape = 1, self.n_shapes do
    all[shape], free[shape] = { math.huge, math.huge }, { math.huge, math.huge }
  end
  for _, leaf in ipairs(leaves) do
    if not leaf.closed then
      for _, list in ipairs { all, not leaf.keys and free or nil } do
        local least = list[leaf.shape]
        least[1] = math.min(least[1], leaf.energy)
        least[2] = math.min(least[2], leaf.latency)
      end
    end
  end
  return all, free
end

-- What all steps but some add, at least.
local function sum_without(self, floors, ...)
  local energy, latency = 0, 0
  for i, step in ipairs(self.steps) do
    local left_out = false
    for _, k in ipairs { ... } do left_out = left_out or k == i end
    if not left_out then
      energy, latency = energy + floors[step.shape][1], latency + floors[step.shape][2]
    end
  end
  return energy, latency
end

-- For each step the least of completions in which another step has a leaf without places.
local function free_pairs(self, floors, free)
  local pairs_of = {}
  for i in ipairs(self.steps) do
    local front = {}
    for j, other in ipairs(self.steps) do
      local w = free[other.shape]
      if j ~= i and w[1] < math.huge then
        local energy, latency = sum_without(self, floors, i, j)
        fronts.add(front, w[1] + energy, w[2] + latency)
      end
    end
    pairs_of[i] = front
  end
  return pairs_of
end

-- The number of the group of a shape with these places, which is made if it is not there.
local function group_of(groups, known, places)
  local key = table.concat(places, ";")
  if not known[key] then
    groups[#groups + 1] = { places = places, front = {} }
    known[key] = #groups
  end
  return known[key]
end

-- Open leaves with places, grouped by them: groups by shape, and the numbers of each leaf's groups.
local function group(self, leaves)
  local groups, numbers, known = {}, {}, {}
  for shape = 1, self.n_shapes do groups[shape], known[shape] = {}, {} end
  for _, leaf in ipairs(leaves) do
    if not leaf.closed and leaf.keys then
      local own, list = groups[leaf.shape], {}
      for k, places in ipairs(leaf.keys) do
        list[k] = group_of(own, known[leaf.shape], places)
        fronts.add(own[list[k]].front, leaf.energy, self.timed and leaf.latency or 0)
      end
      numbers[leaf] = list
    end
  end
  return groups, numbers
end

local function all_close(self, leaf, front)
  for _, pair in ipairs(front) do
    local figures = { energy = leaf.energy + pair[1], latency = leaf.latency + pair[2] }
    if not self.goal:closes(figures) then return false end
  end
  return true
end

local function close_free(self, leaf, floors)
  for i, step in ipairs(self.steps) do
    if step.shape == leaf.shape and not all_close(self, leaf, { { sum_without(self, floors, i) } })
    then return false end
  end
  return true
end

local function close_placed(self, leaf, numbers, others, free)
  for i, step in ipairs(self.steps) do
    if step.shape == leaf.shape then
      for _, number in ipairs(numbers) do
        if not all_close(self, leaf, others[i][number] or {}) then return false end
      end
      if not all_close(self, leaf, free[i]) then return false end
    end
  end
  return true
end

-- Closes leaves once; how many.
local function round(self, leaves)
  local floors, free = floors_of(self, leaves)
  local groups, numbers = group(self, leaves)
  local others, with_free = completions.of(self.steps, groups), free_pairs(self, floors, free)
  local closed = {}
  for _, leaf in ipairs(leaves) do
    if not leaf.closed then
      local ok
      if leaf.keys then
        ok = close_placed(self, leaf, numbers[leaf], others, with_free)
      else
        ok = close_free(self, leaf, floors)
      end
      if ok then closed[#closed + 1] = leaf end
    end
  end
  for _, leaf in ipairs(closed) do leaf.closed = true end
  return #closed
end

--- Closes what can be closed; returns the leaves that stay open.
---@param leaves einloom.OpenLeaf[]
---@return einloom.OpenLeaf[]
function Closing:run(leaves)
  for _, leaf in ipairs(leaves) do leaf.closed = false end
  repeat
    local n = round(self, leaves)
    local open = {}
    for _, leaf in ipairs(leaves) do
      if not leaf.closed then open[#open + 1] = leaf end
    end
    leaves = open
  until n == 0 or #leaves == 0
  return leaves
end

return closing
