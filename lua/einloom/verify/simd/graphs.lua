-- SPDX-License-Identifier: MIT
-- Graphs of loop nests in cases of simd/1: `buffers` and `nodes` become a graph of the core; what a
-- case tells of its nodes beside their loops and accesses is compared with what the graph derived.

local core = require "einloom.core"
local errors = require "einloom.errors"
local text = require "einloom.verify.simd.text"

local graphs = {}

-- ---- reading -------------------------------------------------------------------------------

local buffer_keys = text.keys("size", "stride", "offset", "dtype", "itemsize")

-- A call that must not be refused.
local function accepted(result, message, kind)
  if not result then errors.raise(kind, message) end
  return result
end

local function check_keys(what, record, known)
  for _, key in ipairs(errors.keys(record)) do
    if not known[key] then errors.raise("bad_case", ("%s: no key '%s'"):format(what, key)) end
  end
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(list or {}) do set[name] = true end
  return set
end

local function read_buffers(texts, graph, buffers, is_output)
  for _, name in ipairs(errors.keys(buffers or {})) do
    local raw = buffers[name]
    check_keys("buffer " .. name, raw, buffer_keys)
    accepted(graph:buffer { name = name, sizes = texts:parse_all(raw.size),
      strides = texts:parse_all(raw.stride), offset = texts:parse(raw.offset), dtype = raw.dtype,
      output = is_output(name) })
  end
end

local function read_loops(texts, list)
  local loops = {}
  for i, loop in ipairs(list or {}) do
    loops[i] = { texts:symbol(loop[1]), texts:parse(loop[2]) }
  end
  return loops
end

-- An access is {buf, index}, {buf, kind} or the name of a buffer that is used as a whole.
local function read_uses(texts, list)
  local uses = {}
  for i, use in ipairs(list) do
    if type(use) == "string" then
      uses[i] = { buffer = use, mode = "whole" }
    elseif use.kind and use.kind ~= "index" then
      uses[i] = { buffer = use.buf, mode = use.kind }
    else
      uses[i] = { buffer = use.buf, index = texts:parse(use.index) }
    end
  end
  return uses
end

local node_keys = text.keys("name", "kind", "pointwise", "reduction", "reads", "writes", "outputs",
  "group", "deps", "ancestors", "mutates", "hint", "call", "inputs")

-- What an opaque node calls, and the sizes that the call sees: lists of sizes.
local function read_call(texts, raw)
  if not raw.call then return nil end
  local inputs = {}
  for i, sizes in ipairs(raw.inputs or {}) do inputs[i] = texts:parse_all(sizes) end
  return inputs
end

local function read_node(texts, graph, raw)
  check_keys("node " .. tostring(raw.name), raw, node_keys)
  local kind, reduce = raw.kind:match "^([^:]*):?(.*)$"
  accepted(graph:op { name = raw.name, kind = kind, reduce = reduce ~= "" and reduce or nil,
    pointwise = read_loops(texts, raw.pointwise), reduction = read_loops(texts, raw.reduction),
    reads = read_uses(texts, raw.reads), writes = read_uses(texts, raw.writes),
    mutates = raw.mutates, hint = raw.hint, call = raw.call, inputs = read_call(texts, raw) })
end

--- What is given of the sizes of a case, keyed by symbols.
---@param texts einloom.SimdTexts
---@return table options with extents and hints
function graphs.given(texts)
  local options = { extents = {}, hints = {} }
  for name, size in pairs(texts:extents()) do options.extents[texts:symbol(name)] = size end
  for name, hint in pairs(texts:hints()) do options.hints[texts:symbol(name)] = hint end
  return options
end

--- The graph of a case: its `inputs` and `buffers`, of which the `outputs` leave the graph (where a
--- case lists those that are `internal` instead, all others do), and its `nodes` in order.
---@param texts einloom.SimdTexts
---@param raw table
---@return einloom.CoreGraph
function graphs.read(texts, raw)
  local graph = core.graph(graphs.given(texts))
  local outputs, internal = set_of(raw.outputs), set_of(raw.internal)
  local function is_output(name)
    if raw.outputs then return outputs[name] or false end
    return raw.internal ~= nil and not internal[name]
  end
  read_buffers(texts, graph, raw.inputs, is_output)
  read_buffers(texts, graph, raw.buffers, is_output)
  for _, node in ipairs(raw.nodes) do read_node(texts, graph, node) end
  return graph
end

-- ---- comparing -----------------------------------------------------------------------------

--- Compares loops [[variable, size], ...].
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string
---@param expected table
---@param got table[] {variable, size}
function graphs.check_loops(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, core.json.encode(expected), ("%d loops"):format(#got))
  end
  for i, loop in ipairs(expected) do
    text.check(run, texts, ("%s[%d][1]"):format(at, i), loop[1], got[i][1])
    text.check(run, texts, ("%s[%d][2]"):format(at, i), loop[2], got[i][2])
  end
end

--- Compares lists of names.
function graphs.check_names(run, at, expected, got)
  local theirs, ours = table.concat(expected, " "), table.concat(got, " ")
  if theirs ~= ours then run.differ(at, theirs, ours) end
end

local dep_keys = text.keys("kind", "buf", "index", "vars")

-- Values loaded at run time are called indirect0, ... in the accesses of a node, tmp0, ... in their
-- merged form; they keep the first name here.
local function loaded(index) return (index:gsub("%f[%w_]tmp(%d+)", "indirect%1")) end

local function check_dep(run, texts, at, expected, got)
  check_keys(at, expected, dep_keys)
  if expected.kind ~= got.mode or expected.buf ~= got.buffer then
    return run.differ(at, core.json.encode(expected), got.mode .. " of " .. got.buffer)
  end
  if got.mode ~= "index" then return end
  text.check(run, texts, at .. ".index", loaded(expected.index), got.index)
  graphs.check_loops(run, texts, at .. ".vars", expected.vars, got.loops)
end

local function check_deps(run, texts, at, expected, got)
  if #expected ~= #got then
    return run.differ(at, core.json.encode(expected), ("%d accesses"):format(#got))
  end
  for i, dep in ipairs(expected) do check_dep(run, texts, ("%s[%d]"):format(at, i), dep, got[i]) end
end

local function check_node(run, texts, raw, graph, op)
  local at = "nodes." .. raw.name
  if raw.outputs then graphs.check_names(run, at .. ".outputs", raw.outputs, op.outputs) end
  if raw.ancestors then
    graphs.check_names(run, at .. ".ancestors", raw.ancestors, graph:ancestors(op.name))
  end
  if raw.group then
    text.check_list(run, texts, at .. ".group", raw.group, { op.extent, op.reduction_extent })
  end
  if raw.deps then
    check_deps(run, texts, at .. ".deps.reads", raw.deps.reads, op.dep_reads)
    check_deps(run, texts, at .. ".deps.writes", raw.deps.writes, op.dep_writes)
  end
end

--- Compares groups, merged accesses, outputs and ancestors of the nodes, and the sizes of items of
--- the buffers, where a case has them.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param raw table
---@param graph einloom.CoreGraph
function graphs.check(run, texts, raw, graph)
  for i, op in ipairs(graph:ops()) do check_node(run, texts, raw.nodes[i], graph, op) end
  for _, buffer in ipairs(graph:buffers()) do
    local given = raw.buffers[buffer.name] or raw.inputs[buffer.name]
    if given.itemsize ~= buffer.itemsize then
      run.differ(("buffers.%s.itemsize"):format(buffer.name), tostring(given.itemsize),
        tostring(buffer.itemsize))
    end
  end
end

return graphs
