-- SPDX-License-Identifier: MIT
-- The graph of the core for the nodes and tensors of a graph of einsums.

local accesses = require "einloom.kernels.accesses"
local core = require "einloom.core"
local errors = require "einloom.errors"
local given = require "einloom.kernels.given"

local core_graph = {}

local KIND = "bad_graph"

local function checked(result, message, kind)
  if not result then errors.raise(kind, message) end
  return result
end

local function core_uses(list)
  local uses = {}
  for i, access in ipairs(list) do
    uses[i] = { buffer = access.tensor, index = access.index }
  end
  return uses
end

local function whole_uses(list)
  local uses = {}
  for i, access in ipairs(list) do uses[i] = { buffer = access.tensor, mode = "whole" } end
  return uses
end

local function core_loops(state, node, list)
  local loops = {}
  for i, name in ipairs(list) do loops[i] = { node.symbols[name], state.sizes[name] } end
  return loops
end

-- A call takes tensors as a whole; what it sums is one dimension of what it sees.
local function call_info(state, node)
  local inner = core.int(1)
  for _, name in ipairs(node.reduction) do inner = inner * state.sizes[name] end
  return {
    name = node.name, kind = "opaque", call = node.call, inputs = { { inner }, { 1, inner } },
    reads = whole_uses(node.reads), writes = whole_uses(node.writes),
    extensible = node.template,
    pointwise = node.template and core_loops(state, node, node.pointwise) or nil,
  }
end

local function loops_info(state, node)
  local info = {
    name = node.name, kind = node.kind, reduce = node.reduce,
    pointwise = core_loops(state, node, node.pointwise),
    reduction = core_loops(state, node, node.reduction),
    reads = core_uses(node.reads), writes = core_uses(node.writes),
    mutates = node.updates and { node.updates } or nil, hint = accesses.hint(node),
  }
  info.writes[1].accumulates = node.join ~= nil or nil
  return info
end

local function add_node(state, g, made)
  local node = made.node
  local info = node.kind == "opaque" and call_info(state, node) or loops_info(state, node)
  local ok, message, kind = g:op(info)
  if not ok then made.fail(message, nil, kind) end
end

-- Nodes that are launched at once, by name.
local function add_lists(g, lists, by_name)
  for i, names in ipairs(lists) do
    local path = ("lists[%d]"):format(i)
    for _, name in ipairs(given.table_of(names, path)) do
      if not by_name[name] then
        errors.raise(KIND, ("the graph has no node '%s'%s"):format(tostring(name),
          errors.hint(tostring(name), errors.keys(by_name))), { path = path })
      end
    end
    local number, message, kind = g:list(names)
    if not number then errors.raise(kind, message, { path = path }) end
  end
end

--- The graph of the core with all buffers, operations and lists.
---@param state table with tensors in order, and sizes
---@param made { node: einloom.GraphNode, fail: function }[]
---@param hints table<einloom.Expr, integer>
---@param lists string[][] names of nodes that are launched at once
---@param by_name table<string, einloom.GraphNode>
---@return einloom.CoreGraph
function core_graph.build(state, made, hints, lists, by_name)
  local g = checked(core.graph { hints = hints })
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    checked(g:buffer { name = name, sizes = tensor.sizes, strides = tensor.strides,
      offset = tensor.offset, dtype = tensor.dtype, output = tensor.output })
  end
  for _, one in ipairs(made) do add_node(state, g, one) end
  add_lists(g, lists, by_name)
  return g
end

return core_graph
