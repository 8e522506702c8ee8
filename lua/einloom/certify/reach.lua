-- SPDX-License-Identifier: MIT
-- Which uses of the dimensions that ask for a least share the limits leave tiles for: those that
-- nothing is left for give way to the next fullest ones (doc/formulas.md#certificates-shares).

local errors = require "einloom.errors"
local shares = require "einloom.certify.shares"

local reach = {}

-- States that are looked at for one use; more is no proof that anybody waits for.
local MOST_STATES <const> = 20000

-- Whether something below a state may have the use and keep to the limits.
local function possible(b, nodes, use)
  local least, most = b:share_uses(nodes)
  for d, x in ipairs(use) do
    if x < least[d] or x > most[d] then return false end
  end
  return b:loops_fit(nodes) and b:fused_fit(nodes) and not b:exceeded(nodes)
end

-- The variable with the fewest tiles to choose from.
local function next_variable(nodes)
  local best
  for i, node in ipairs(nodes) do
    if node.children and (not best or #node.children < #nodes[best].children) then best = i end
  end
  return best
end

--- Whether tiles that keep to every limit about the einsum alone have a use; nil where that hangs
--- on where reservations stand in the mapping, or takes too long to see.
---@param b einloom.Bounds
---@param use number[] by dimension with a least share
---@return boolean?
function reach.has(b, use)
  local left, unsure, nodes = MOST_STATES, false, b:root()
  local function go()
    left = left - 1
    if left < 0 then
      unsure = true
      return false
    end
    if not possible(b, nodes, use) then return false end
    local i = next_variable(nodes)
    if not i then
      if b:surely_fits(nodes) then return true end
      unsure = true
      return false
    end
    local node = nodes[i]
    for _, child in ipairs(node.children) do
      nodes[i] = child
      if go() then return true end
    end
    nodes[i] = node
    return false
  end
  if go() then return true end
  if unsure then return nil end
  return false
end

local function without(uses, gone)
  local list = {}
  for _, use in ipairs(uses) do
    if not gone[use] then list[#list + 1] = use end
  end
  return list
end

--- The fullest uses that the limits leave tiles for. Raises where one is not decided.
---@param b einloom.Bounds
---@param asked einloom.Shares
---@return number[][]
function reach.fullest(b, asked)
  local uses, goals, decided = asked.uses, asked.goals, {}
  while true do
    local gone = {}
    for _, use in ipairs(goals) do
      local reached = decided[use]
      if reached == nil then
        reached = reach.has(b, use)
        decided[use] = reached
      end
      if reached == nil then
        errors.raise("certificate", ("no certificate: it is not decided whether limits leave tiles "
          .. "for the least share (min_usage) of %s"):format(shares.text(asked)))
      end
      if not reached then gone[use] = true end
    end
    if not next(gone) then return goals end
    uses = without(uses, gone)
    goals = shares.fullest(asked.dims, uses)
  end
end

return reach
