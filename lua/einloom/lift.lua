-- SPDX-License-Identifier: MIT
-- Lifting: a storage node goes above the temporal loops directly above it that do not index its
-- tensor. They would fetch the same tile again in every iteration; above them it is fetched once,
-- and no larger.

local mapping = require "einloom.mapping"
local readonly = require "einloom.readonly"
local workload_module = require "einloom.workload"

local lift = {}

local raw = readonly.raw

---@class einloom.Lifted
---@field component string
---@field tensor string
---@field where string of the storage node
---@field over string[] the variables of the loops it goes above, outermost first

-- The einsums computed from position `first` of a list on.
local function einsums_below(list, first, w, found)
  for i = first, #list do
    local node = list[i]
    if node.node == "compute" then
      local name = node.einsum or w.einsums[1].name
      for _, einsum in ipairs(w.einsums) do
        if einsum.name == name then found[#found + 1] = einsum end
      end
    end
    for _, branch in ipairs(node.branches or {}) do einsums_below(branch, 1, w, found) end
  end
  return found
end

local function uses_variable(access, variable)
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      if term[1] == variable then return true end
    end
  end
  return false
end

-- Whether a loop indexes a tensor in one of the einsums; a tensor that none of them has is left
-- where it is.
local function indexes(loop, tensor, einsums)
  local found = false
  for _, einsum in ipairs(einsums) do
    local v = loop.rank_variable
    local variable = type(v) == "table" and v[einsum.name] or v
    for _, access in ipairs(einsum.tensors) do
      if access.tensor == tensor then
        found = true
        if uses_variable(access, variable) then return true end
      end
    end
  end
  return not found
end

local function holds(node, tensor)
  for _, name in ipairs(node.tensors or {}) do
    if name == tensor then return true end
  end
  return false
end

-- The position in a list before which the tensor of a holder could stand, and the loops passed.
local function highest(list, position, tensor, einsums)
  local target, over = position, {}
  for i = position - 1, 1, -1 do
    local node = list[i]
    if node.node == "temporal" then
      if indexes(node, tensor, einsums) then break end
      local v = node.rank_variable
      table.insert(over, 1, type(v) == "table" and v[einsums[1].name] or v)
      target = i
    elseif node.node == "spatial" or holds(node, tensor) then
      break
    end
  end
  return target, over
end

-- The parts of a storage node by the position they go to: {[target] = node with those tensors}.
local function parts_of(list, position, w, moves)
  local node, targets = list[position], {}
  local einsums = einsums_below(list, position, w, {})
  for _, tensor in ipairs(node.tensors) do
    local target, over = highest(list, position, tensor, einsums)
    if not targets[target] then
      local part = {}
      for key, value in pairs(node) do part[key] = value end
      part.tensors = {}
      targets[target] = part
    end
    table.insert(targets[target].tensors, tensor)
    if #over > 0 then
      moves[#moves + 1] =
        { component = node.component, tensor = tensor, where = node.where, over = over }
    end
  end
  if #node.tensors == 0 then targets[position] = node end
  return targets
end

local lift_list

local function with_branches(node, w, moves)
  if not node.branches then return node end
  local copy = { node = node.node, where = node.where, branches = {} }
  for i, branch in ipairs(node.branches) do copy.branches[i] = lift_list(branch, w, moves) end
  return copy
end

function lift_list(list, w, moves)
  local before, own = {}, {}
  for i, node in ipairs(list) do
    before[i] = {}
    local parts = node.node == "storage" and parts_of(list, i, w, moves)
      or { [i] = with_branches(node, w, moves) }
    own[i] = parts[i]
    for target = 1, i - 1 do
      if parts[target] then table.insert(before[target], parts[target]) end
    end
  end
  local result = {}
  for i = 1, #list do
    for _, node in ipairs(before[i]) do result[#result + 1] = node end
    result[#result + 1] = own[i]
  end
  return result
end

--- A mapping whose storage nodes stand above the temporal loops directly above them that do not
--- index their tensors, and what moved; the mapping itself where nothing does.
---@param m einloom.Mapping
---@param w einloom.Workload
---@return einloom.Mapping
---@return einloom.Lifted[]
function lift.mapping(m, w)
  if not mapping.is(m) then error("lift: argument 1: mapping expected", 2) end
  if not workload_module.is(w) then error("lift: argument 2: workload expected", 2) end
  local moves = {}
  local nodes = lift_list(raw(m).nodes, raw(w), moves)
  if #moves == 0 then return m, moves end
  return mapping.new { nodes = nodes }, moves
end

return lift
