-- SPDX-License-Identifier: MIT
-- Families of fusion in simd/1: the order of operations inside one kernel, decisions about pairs,
-- the kernels of a graph.

local core = require "einloom.core"
local errors = require "einloom.errors"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"
local tilings = require "einloom.verify.simd.tilings"

local fusion = {}

--- Compares a schedule; null: there is none.
---@param run einloom.comparison
---@param at string
---@param expected any
---@param got string[]?
function fusion.check_schedule(run, at, expected, got)
  local theirs = text.is_null(expected) and "null" or table.concat(expected, " ")
  local ours = got and table.concat(got, " ") or "null"
  if theirs ~= ours then run.differ(at, theirs, ours) end
end

-- ---- order in a kernel ---------------------------------------------------------------------

local schedule_keys = text.keys("id", "extents", "nodes", "result")
local node_keys = text.keys("name", "extents", "is_reduction", "is_scan", "reads", "writes",
  "ancestors")

local function add_buffers(graph, nodes)
  local known = {}
  for _, node in ipairs(nodes) do
    for _, list in ipairs { node.reads, node.writes } do
      for _, name in ipairs(list) do
        if not known[name] then graph:buffer { name = name, sizes = {} } end
        known[name] = true
      end
    end
  end
end

local function uses(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = { buffer = name, mode = "whole" } end
  return list
end

local function add_node(texts, graph, node)
  local kind = node.is_scan and "scan" or node.is_reduction and "reduction" or "pointwise"
  local reduces = kind ~= "pointwise"
  local ok, message, code = graph:op { name = node.name, kind = kind,
    pointwise = { { texts:symbol "p0", texts:parse(node.extents[1]) } },
    reduction = reduces and { { texts:symbol "p1", texts:parse(node.extents[2]) } } or nil,
    reads = uses(node.reads), writes = uses(node.writes), after = node.ancestors }
  if not ok then errors.raise(code, message) end
end

function fusion.e_schedule(run, raw)
  text.check_keys(run, raw, schedule_keys)
  local texts, graph, names = text.reader(raw.sizes), core.graph(), {}
  add_buffers(graph, raw.nodes)
  for i, node in ipairs(raw.nodes) do
    text.check_keys(run, node, node_keys)
    add_node(texts, graph, node)
    names[i] = node.name
  end
  local schedule = graph:schedule(names, texts:parse_all(raw.extents))
  fusion.check_schedule(run, "result", raw.result, schedule)
end

-- ---- pairs ---------------------------------------------------------------------------------

local function check_value(run, at, expected, got)
  if expected ~= got then run.differ(at, tostring(expected), tostring(got)) end
end

local pair_keys = text.keys("first", "second", "depends", "loops_ok", "loops_reason", "fusable",
  "reason", "swapped_fusable", "swapped_reason", "shared_bytes", "score")

-- What a group that is asked about is: refused with a reason, or (no reason) allowed.
local function check_reason(run, at, allowed, reason, got)
  check_value(run, at, allowed and "allowed" or reason, got or "allowed")
end

local function check_pair(run, at, raw, fused)
  text.check_keys(run, raw, pair_keys)
  local pair = assert(fused:pair(raw.first, raw.second))
  local swapped = assert(fused:pair(raw.second, raw.first))
  check_value(run, at .. ".depends", raw.depends, pair.depends)
  check_reason(run, at .. ".loops_reason", raw.loops_ok, raw.loops_reason, pair.shape)
  check_reason(run, at .. ".reason", raw.fusable, raw.reason, pair.reason)
  check_reason(run, at .. ".swapped_reason", raw.swapped_fusable, raw.swapped_reason,
    swapped.reason)
  local score = pair.score
  check_value(run, at .. ".shared_bytes", raw.shared_bytes, score.bytes)
  check_value(run, at .. ".score", table.concat(raw.score, " "),
    ("%d %d %d %d"):format(score.kind, score.same_kind and 1 or 0, score.bytes, score.nearness))
end

-- ---- kernels -------------------------------------------------------------------------------

local kernel_keys = text.keys("nodes", "extents", "schedule", "tiling")

--- Compares the kernels of a graph after fusion.
function fusion.check_kernels(run, texts, at, expected, graph, options)
  local kernels = assert(assert(graph:fusion(options)):run()):kernels()
  if #expected ~= #kernels then
    return run.differ(at, #expected .. " kernels", #kernels .. " kernels")
  end
  for i, raw in ipairs(expected) do
    local here, kernel = ("%s[%d]"):format(at, i), kernels[i]
    text.check_keys(run, raw, kernel_keys)
    graphs.check_names(run, here .. ".nodes", raw.nodes, kernel.ops)
    text.check_list(run, texts, here .. ".extents", raw.extents, kernel.extents)
    local schedule = graph:schedule(kernel.ops, kernel.extents)
    fusion.check_schedule(run, here .. ".schedule", raw.schedule, schedule)
    tilings.check(run, texts, here .. ".tiling", raw.tiling,
      assert(graph:tiling(schedule, kernel.extents)))
  end
end

local fusion_keys = text.keys("id", "title", "buffers", "outputs", "sizes", "nodes", "pairs",
  "as_one_schedule", "as_one_extents", "fused", "fused_aggressive")

function fusion.e_fusion(run, raw)
  text.check_keys(run, raw, fusion_keys)
  local texts, names = text.reader(raw.sizes), {}
  local graph = graphs.read(texts, raw)
  graphs.check(run, texts, raw, graph)
  local fused = assert(graph:fusion())
  for i, pair in ipairs(raw.pairs) do check_pair(run, ("pairs[%d]"):format(i), pair, fused) end
  for i, node in ipairs(raw.nodes) do names[i] = node.name end
  fusion.check_schedule(run, "as_one_schedule", raw.as_one_schedule,
    graph:schedule(names, texts:parse_all(raw.as_one_extents)))
  fusion.check_kernels(run, texts, "fused", raw.fused, graph)
  fusion.check_kernels(run, texts, "fused_aggressive", raw.fused_aggressive, graph,
    { aggressive = true })
end

return fusion
