-- SPDX-License-Identifier: MIT
-- Family g_graphs of simd/1: whole graphs, fused into kernels, tiled under every option set, and
-- planned one kernel after the other.

local core = require "einloom.core"
local coalesce = require "einloom.verify.simd.coalesce"
local graphs = require "einloom.verify.simd.graphs"
local plans = require "einloom.verify.simd.plans"
local text = require "einloom.verify.simd.text"
local tilings = require "einloom.verify.simd.tilings"

local whole = {}

-- ---- kernels without loops -----------------------------------------------------------------

local call_keys = text.keys("kind", "nodes", "op", "flops")
local nop_keys = text.keys("kind", "nodes")
local op_keys = text.keys("name", "inputs", "output")

-- The operations of a call, which a case describes beside its kernel.
local function check_call(run, texts, at, raw)
  text.check_keys(run, raw, call_keys)
  text.check_keys(run, raw.op, op_keys)
  local inputs = {}
  for i, input in ipairs(raw.op.inputs) do inputs[i] = texts:parse_all(input.size) end
  local flops = core.call_flops(raw.op.name, inputs, texts:parse_all(raw.op.output))
  text.check(run, texts, at .. ".flops", raw.flops, flops)
end

-- ---- kernels with loops --------------------------------------------------------------------

-- How the back end would run a reduction is given.
local loop_keys = text.keys("kind", "nodes", "schedule", "extents", "coalesce", "tilings",
  "kernel_tiling", "accesses", "entries", "index_dtype", "reduction_hint", "memory", "flops",
  "arguments", "updated_in_place", "never_stored", "bytes", "one_pass", "no_x")
local choice_keys = text.keys("tiling", "scores")

-- The tilings of all option sets; returns the one of the set `plain`.
local function check_tilings(run, texts, at, raw, graph, schedule, extents)
  local analysis, message = graph:coalesce(schedule, extents)
  if message then run.differ(at .. ".coalesce", "an analysis", message) end
  coalesce.check_analysis(run, texts, at .. ".coalesce", raw.coalesce, analysis)
  local plain
  for name, options in pairs(tilings.options) do
    local here, expected = at .. ".tilings." .. name, raw.tilings[name]
    local tiling = assert(graph:tiling(schedule, extents, options))
    text.check_keys(run, expected, choice_keys)
    tilings.check(run, texts, here, expected.tiling, tiling)
    if not text.is_null(expected.scores) then
      run.differ(here .. ".scores", core.json.encode(expected.scores), "null")
    end
    if name == "plain" then plain = tiling end
  end
  coalesce.check_choices(run, texts, at .. ".tilings", raw.tilings, graph, schedule, extents)
  for name in pairs(raw.tilings) do
    if not tilings.options[name] and not coalesce.max_tiles[name] then
      run.differ(at .. ".tilings." .. name, "no such option set", "a tiling")
    end
  end
  tilings.check(run, texts, at .. ".kernel_tiling", raw.kernel_tiling, plain)
  return plain
end

local function check_loops(run, texts, at, raw, graph, plan, fused)
  text.check_keys(run, raw, loop_keys)
  local schedule = graph:schedule(fused.ops, fused.extents)
  if not schedule then return run.differ(at .. ".schedule", "a schedule", "none") end
  local tiling = check_tilings(run, texts, at, raw, graph, schedule, fused.extents)
  local number, message = plan:kernel { schedule = schedule, extents = fused.extents,
    tiling = tiling, one_pass = raw.one_pass, no_x = raw.no_x }
  if not number then return run.differ(at, "a kernel", message) end
  plans.check_kernel(run, texts, at, raw, plan:kernels(number)[1])
end

-- ---- graphs --------------------------------------------------------------------------------

local function check_kernel(run, texts, at, raw, graph, plan, fused, kinds)
  graphs.check_names(run, at .. ".nodes", raw.nodes, fused.ops)
  local kind = kinds[fused.ops[1]]
  if raw.kind ~= kind then return run.differ(at .. ".kind", tostring(raw.kind), kind) end
  if kind == "loops" then return check_loops(run, texts, at, raw, graph, plan, fused) end
  if kind == "opaque" then
    check_call(run, texts, at, raw)
  else
    text.check_keys(run, raw, nop_keys)
  end
  assert(plan:kernel { schedule = fused.ops })
end

local case_keys = text.keys("id", "title", "inputs", "outputs", "buffers", "nodes",
  "kernels_order", "kernels", "sizes")

function whole.g_graphs(run, raw)
  text.check_keys(run, raw, case_keys)
  local texts = text.reader(raw.sizes)
  local graph = graphs.read(texts, raw)
  graphs.check(run, texts, raw, graph)
  local plan, kinds = assert(graph:plan()), {}
  for _, op in ipairs(graph:ops()) do
    kinds[op.name] = (op.kind == "opaque" or op.kind == "nop") and op.kind or "loops"
  end
  local kernels = assert(assert(graph:fusion()):run()):kernels()
  if #kernels ~= #raw.kernels or #kernels ~= #raw.kernels_order then
    return run.differ("kernels", #raw.kernels .. " kernels", #kernels .. " kernels")
  end
  for i, fused in ipairs(kernels) do
    graphs.check_names(run, ("kernels_order[%d]"):format(i), raw.kernels_order[i], fused.ops)
    check_kernel(run, texts, ("kernels[%d]"):format(i), raw.kernels[i], graph, plan, fused,
      kinds)
  end
end

return whole
