-- SPDX-License-Identifier: MIT
-- Graphs of the core whose nodes have loops and accesses but no bodies, as graph cases of simd/1
-- have them, in the form of einloom.Graph: what a node computes is a function f of its loads.

local case_meaning = require "einloom.kernels.case_meaning"
local errors = require "einloom.errors"
local graph_case = require "einloom.kernels.graph_case"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"

local recorded = {}

local Recorded = { __name = "einloom.recorded_graph" }
Recorded.__index = Recorded

function Recorded:node(name) return self.by_name[name] end

local function names_of(loops)
  local names, symbols = {}, {}
  for i, loop in ipairs(loops) do
    names[i] = loop[1]:name()
    symbols[names[i]] = loop[1]
  end
  return names, symbols
end

local function uses_of(list)
  local uses = {}
  for i, use in ipairs(list) do
    uses[i] = { tensor = use.buffer, index = use.index, mode = use.mode }
  end
  return uses
end

local function body_of(op)
  local body = { op = "call", name = "f" }
  for i in ipairs(op.reads) do body[i] = { op = "load", i } end
  return body
end

local function node_of(op)
  local pointwise, reduction = names_of(op.pointwise), names_of(op.reduction)
  return {
    name = op.name, kind = op.kind, reduce = op.reduce, pointwise = pointwise,
    reduction = reduction, reads = uses_of(op.reads), writes = uses_of(op.writes), loaded = {},
    body = body_of(op), op = op, call = op.call, updates = op.mutates[1],
  }
end

--- The graph that a graph of the core is.
---@param raw einloom.CoreGraph
---@return table graph with the fields of an einloom.Graph that plans and programs need
function recorded.graph(raw)
  local g = setmetatable({ core = raw, tensors = {}, order = {}, nodes = {}, by_name = {},
    readers = {} }, Recorded)
  for i, buffer in ipairs(raw:buffers()) do
    g.order[i], g.readers[buffer.name] = buffer.name, {}
    g.tensors[buffer.name] = { name = buffer.name, dtype = buffer.dtype, offset = buffer.offset,
      sizes = buffer.sizes, strides = buffer.strides, storage = buffer.storage,
      output = buffer.output, updates = buffer.updates, updated_by = buffer.updated_by }
  end
  for i, op in ipairs(raw:ops()) do
    local node = node_of(op)
    g.nodes[i], g.by_name[op.name] = node, node
    for _, name in ipairs(op.outputs) do g.tensors[name].writer = node end
    for _, read in ipairs(node.reads) do
      local readers = g.readers[read.tensor]
      readers[#readers + 1] = node
    end
  end
  return g
end

-- The nodes of a case with what opaque ones call, which recorded cases say of their kernels.
local function nodes_with_calls(case)
  local calls, nodes = {}, {}
  for _, kernel in ipairs(type(case.kernels) == "table" and case.kernels or {}) do
    local op, members = type(kernel) == "table" and kernel.op, kernel.nodes
    if type(op) == "table" and type(op.inputs) == "table" and type(members) == "table" then
      calls[members[1]] = op
    end
  end
  for i, node in ipairs(case.nodes) do
    local call, copy = calls[node.name], {}
    for key, value in pairs(node) do copy[key] = value end
    if call and not node.call then
      copy.call, copy.inputs = call.name, {}
      for k, input in ipairs(call.inputs) do copy.inputs[k] = input.size end
    end
    nodes[i] = copy
  end
  return nodes
end

--- The graph of a case of simd/1 that has one; raises an error object with the place of what is
--- wrong with it.
---@param case table
---@return table
function recorded.read(case)
  graph_case.check(case, "case")
  local copy = setmetatable({ nodes = nodes_with_calls(case) }, { __index = case })
  case_meaning.check(text.reader(case.sizes), copy, "case")
  local ok, raw = pcall(graphs.read, text.reader(case.sizes), copy)
  if ok then return recorded.graph(raw) end
  if type(raw) == "table" then error(raw, 0) end
  errors.raise("bad_case", (tostring(raw):gsub("^[^\n]-:%d+: ", "")))
end

return recorded
