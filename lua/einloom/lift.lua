-- SPDX-License-Identifier: MIT
-- Lifting: a storage node goes above the temporal loops directly above it that do not index its
-- tensor. They would fetch the same tile again in every iteration; above them it is fetched once,
-- and no larger. Loops in space are passed on the way: where they are, the hardware says.

local affine = require "einloom.affine"
local errors = require "einloom.errors"
local mapping = require "einloom.mapping"
local readonly = require "einloom.readonly"
local workload_module = require "einloom.workload"

local lift = {}

local raw = readonly.raw

---@class einloom.Lifted
---@field component string
---@field tensor string
---@field where string of the storage node
---@field over string[] the variables of the temporal loops it goes above, outermost first

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

local function variable_in(loop, einsum)
  local v = loop.rank_variable
  return type(v) == "table" and v[einsum.name] or v
end

-- Whether a loop indexes a tensor in one of the einsums; a tensor that none of them has is left
-- where it is.
local function indexes(loop, tensor, einsums)
  local found = false
  for _, einsum in ipairs(einsums) do
    for _, access in ipairs(einsum.tensors) do
      if access.tensor == tensor then
        found = true
        if affine.indexes(access, variable_in(loop, einsum)) then return true end
      end
    end
  end
  return not found
end

-- A node, or a part of a storage node: {node =, tensor =, origin = the whole node}.
local function items_of(list, run)
  local items = {}
  for _, node in ipairs(list) do
    for _, tensor in ipairs(node.node == "storage" and node.tensors or {}) do
      items[#items + 1] = { node = node, tensor = tensor }
    end
    if node.node ~= "storage" or #node.tensors == 0 then
      items[#items + 1] = { node = run.branches(node) }
    end
  end
  return items
end

local function holds(item, tensor)
  if item.tensor then return item.tensor == tensor end
  for _, name in ipairs(item.node.tensors or {}) do
    if name == tensor then return true end
  end
  return false
end

-- The position before which the tensor of the last item could stand, and the temporal loops passed.
-- Of a copy only the holders above the innermost of the outermost ones count: its order stays.
local function highest(items, tensor, einsums)
  local target, over = #items, {}
  for _, einsum in ipairs(einsums) do
    if einsum.is_copy then return target, over end
  end
  for i = #items - 1, 1, -1 do
    local node = items[i].node
    if node.node == "temporal" then
      if indexes(node, tensor, einsums) then break end
      table.insert(over, 1, variable_in(node, einsums[1]))
      target = i
    elseif holds(items[i], tensor) then
      break
    end
  end
  return target, over
end

-- The items as nodes: neighbours that come from one storage node are one again.
local function nodes_of(items)
  local nodes, last = {}, nil
  for _, item in ipairs(items) do
    if item.tensor and last and last.node == item.node then
      table.insert(nodes[#nodes].tensors, item.tensor)
    elseif item.tensor then
      local part = {}
      for key, value in pairs(item.node) do part[key] = value end
      part.tensors = { item.tensor }
      nodes[#nodes + 1] = part
    else
      nodes[#nodes + 1] = item.node
    end
    last = item.tensor and item
  end
  return nodes
end

local lift_list

local function new_run(w)
  local run = { w = w, moves = {} }
  function run.branches(node)
    if not node.branches then return node end
    local copy = { node = node.node, where = node.where, branches = {} }
    for i, branch in ipairs(node.branches) do copy.branches[i] = lift_list(branch, run) end
    return copy
  end
  return run
end

function lift_list(list, run)
  local placed, einsums = {}, einsums_below(list, 1, run.w, {})
  for _, item in ipairs(items_of(list, run)) do
    placed[#placed + 1] = item
    if item.tensor then
      local target, over = highest(placed, item.tensor, einsums)
      if #over > 0 then
        table.insert(placed, target, table.remove(placed))
        table.insert(run.moves, { component = item.node.component, tensor = item.tensor,
          where = item.node.where, over = over })
      end
    end
  end
  return nodes_of(placed)
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
  local run = new_run(raw(w))
  local nodes = lift_list(raw(m).nodes, run)
  if #run.moves == 0 then return m, run.moves end
  return mapping.new { nodes = nodes }, run.moves
end

-- Raises unless the names in a list of nodes are of the workload: sets of them by kind of error.
local function check_names(list, known)
  for _, node in ipairs(list) do
    local function check(what, name)
      local kind = "unknown_" .. what:gsub(" ", "_")
      if known[kind][name] then return end
      errors.raise(kind, ("unknown %s '%s'%s"):format(what, name,
        errors.hint(name, errors.keys(known[kind]))), { path = node.where, name = name })
    end
    for _, tensor in ipairs(node.tensors or {}) do check("tensor", tensor) end
    local v = node.rank_variable
    for einsum, name in pairs(type(v) == "table" and v or { v }) do
      if type(v) == "table" then check("einsum", einsum) end
      check("rank variable", name)
    end
    if node.einsum then check("einsum", node.einsum) end
    for _, branch in ipairs(node.branches or {}) do check_names(branch, known) end
  end
end

--- `lift.mapping`, raising where the mapping names what the workload does not have: loom.lift.
---@param m einloom.Mapping
---@param w einloom.Workload
---@return einloom.Mapping
---@return einloom.Lifted[]
function lift.checked(m, w)
  if mapping.is(m) and workload_module.is(w) then
    local known = { unknown_tensor = {}, unknown_rank_variable = {}, unknown_einsum = {} }
    for _, tensor in ipairs(raw(w).usage.tensors) do known.unknown_tensor[tensor] = true end
    for _, v in ipairs(raw(w).variables) do known.unknown_rank_variable[v] = true end
    for _, einsum in ipairs(raw(w).einsums) do known.unknown_einsum[einsum.name] = true end
    check_names(raw(m).nodes, known)
  end
  return lift.mapping(m, w)
end

return lift
