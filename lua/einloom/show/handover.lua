-- SPDX-License-Identifier: MIT
-- Tensors that one einsum hands to another: remarks where the mapping lets the consumer read them
-- before they are done. The counts are those of the mapping all the same.

local affine = require "einloom.affine"
local loops = require "einloom.show.loops"
local readonly = require "einloom.readonly"

local handover = {}

-- Nodes from the root to the compute node of an einsum, and by node the branch it goes on in.
local function path_to(nodes, einsum)
  local path, branch_of = {}, {}
  local function descend(list)
    local before = #path
    for _, node in ipairs(list) do
      path[#path + 1] = node
      if node.node == "compute" and node.einsum == einsum then return true end
      for i, branch in ipairs(node.branches or {}) do
        branch_of[node] = i
        if descend(branch) then return true end
      end
    end
    for i = #path, before + 1, -1 do path[i] = nil end
    return false
  end
  return descend(nodes) and path or nil, branch_of
end

-- The nodes that stand above both einsums, and the split between them with the branch of each.
local function shared(nodes, producer, consumer)
  local made, made_in = path_to(nodes, producer)
  local read, read_in = path_to(nodes, consumer)
  if not made or not read then return nil end
  local both = {}
  for i, node in ipairs(made) do
    if read[i] ~= node then break end
    both[i] = node
  end
  local split = both[#both]
  return both, split, made_in[split], read_in[split]
end

local function access_of(definition, tensor)
  for _, access in ipairs(definition.tensors) do
    if access.tensor == tensor and access.output then return access end
  end
end

local function holds(node, tensor)
  for _, name in ipairs(node.tensors or {}) do
    if name == tensor then return true end
  end
  return false
end

-- Loops above both over what the producer reduces; `path` is that of the producer. A spatial loop
-- below a holder of the tensor is reduced before the consumer begins.
local function partial(both, path, access, visit)
  local of_path = {}
  for _, node in ipairs(path) do
    if node.variable then of_path[#of_path + 1] = node end
  end
  local i, held = 0, false
  for _, node in ipairs(both) do
    held = held or holds(node, access.tensor)
    if node.rank_variable then
      i = i + 1
      local loop = of_path[i]
      local once = loop.trips and tostring(loop.trips) == "1"
      local inside = node.node == "spatial" and held
      local indexed = affine.indexes(access, loop.variable)
      if not indexed and not once and not inside then visit(loop, node) end
    end
  end
end

local function remarks_on(list, tensor, consumer, producer, nodes, path)
  local both, split, made, read = shared(nodes, producer.name, consumer)
  if not both or split.node == "parallel" then return end
  if read < made then
    list[#list + 1] = ("%s is read before %s makes it: the branch of %s stands before that of %s "
      .. "in the %s at %s"):format(tensor, producer.name, consumer, producer.name, split.node,
      split.where)
  end
  partial(both, path, access_of(producer, tensor), function(loop, node)
    list[#list + 1] = ("partial sums of %s are read: %s reduces over %s, and the loop %s at %s is "
      .. "around %s too"):format(tensor, producer.name, loop.variable, loops.loop(loop), node.where,
      consumer)
  end)
end

--- The remarks on what an einsum of a result reads of others.
---@param einsum einloom.EinsumResult
---@return string[]
function handover.remarks(einsum)
  local result, list = require "einloom.result", {}
  local workload, _, mapping = result.context_of(einsum)
  local nodes = readonly.raw(mapping).nodes
  local paths
  for _, producer in ipairs(workload.einsums) do
    if producer.name == einsum.name then break end
    for _, access in ipairs(einsum:definition().tensors) do
      if not access.output and access_of(producer, access.tensor) then
        paths = paths or result.paths_beside(einsum)
        if paths[producer.name] then
          remarks_on(list, access.tensor, einsum.name, producer, nodes, paths[producer.name])
        end
      end
    end
  end
  return list
end

return handover
