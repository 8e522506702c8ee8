-- SPDX-License-Identifier: MIT
-- Families of fusion in simd/1: the order of operations inside one kernel.

local core = require "einloom.core"
local errors = require "einloom.errors"
local text = require "einloom.verify.simd.text"

local fusion = {}

-- ---- order in a kernel ---------------------------------------------------------------------

local case_keys = text.keys("id", "extents", "nodes", "result")
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
  text.check_keys(run, raw, case_keys)
  local texts, graph, names = text.reader(raw.sizes), core.graph(), {}
  add_buffers(graph, raw.nodes)
  for i, node in ipairs(raw.nodes) do
    text.check_keys(run, node, node_keys)
    add_node(texts, graph, node)
    names[i] = node.name
  end
  local schedule = graph:schedule(names, texts:parse_all(raw.extents))
  local expected = text.is_null(raw.result) and "null" or table.concat(raw.result, " ")
  local got = schedule and table.concat(schedule, " ") or "null"
  if expected ~= got then run.differ("result", expected, got) end
end

return fusion
