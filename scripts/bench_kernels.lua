-- SPDX-License-Identifier: MIT
-- Times of planning graphs of loop nests, kernel by kernel, beside those of another tool: the
-- recorded ones, or those given as KEY=MICROSECONDS after the file of g_graphs (as scripts/bench
-- does for kernels --peer). Run by scripts/bench, in the release build.
local core = require "einloom.core"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"

local ROUNDS, BATCH = 20, 20
local arguments = { ... }

local peer = { first = 6900, again = 3650, choices = 280, analyses = 1800 }
local origin = "recorded"
for i = 2, #arguments do
  local key, us = arguments[i]:match "^(%w+)=([%d.]+)$"
  if key then peer[key], origin = tonumber(us), "peer" end
end

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local function report(what, times, theirs)
  local us = median(times) * 1e6
  print(("%-60s %8.2f us, %s %6.0f us: %6.0f times; of %d"):format(what, us, origin, theirs,
    theirs / us, #times))
end

local clock = os.clock

-- Seconds of one call: the clock itself takes as long as some of them.
local function time_of(work, ...)
  local start = clock()
  for _ = 1, BATCH do work(...) end
  return (clock() - start) / BATCH
end

-- Plans every kernel of a graph; adds to the list the seconds of each that has loops.
local function time_plan(graph, kernels, times)
  local plan = graph:plan()
  for _, kernel in ipairs(kernels) do
    if kernel.has_loops then
      local start = clock()
      local schedule = graph:schedule(kernel.ops, kernel.extents)
      local tiling = graph:tiling(schedule, kernel.extents)
      assert(plan:kernel { schedule = schedule, extents = kernel.extents, tiling = tiling })
      times[#times + 1] = clock() - start
    else
      assert(plan:kernel { schedule = kernel.ops })
    end
  end
end

local function time_graph(raw, times)
  local texts = text.reader(raw.sizes)
  local graph = graphs.read(texts, raw)
  local has_loops = {}
  for _, op in ipairs(graph:ops()) do
    has_loops[op.name] = op.kind ~= "opaque" and op.kind ~= "nop"
  end
  local kernels = graph:fusion():run():kernels()
  for _, kernel in ipairs(kernels) do kernel.has_loops = has_loops[kernel.ops[1]] end
  time_plan(graph, kernels, times.first)
  for _ = 1, ROUNDS do time_plan(graph, kernels, times.again) end
  for _, kernel in ipairs(kernels) do
    if kernel.has_loops then
      local schedule = graph:schedule(kernel.ops, kernel.extents)
      local choices, analyses = times.choices, times.analyses
      choices[#choices + 1] = time_of(graph.tiling, graph, schedule, kernel.extents)
      analyses[#analyses + 1] = time_of(graph.coalesce, graph, schedule, kernel.extents)
    end
  end
end

local file = assert(io.open((assert(arguments[1], "a file of g_graphs expected"))))
local cases = core.json.decode(file:read "a").cases
file:close()
collectgarbage "stop"
local times = { first = {}, again = {}, choices = {}, analyses = {} }
for _, raw in ipairs(cases) do time_graph(raw, times) end
report("kernels of graphs, from Lua: planned first", times.first, peer.first)
report("kernels of graphs, from Lua: planned again", times.again, peer.again)
if peer.counted then -- traffic is part of every plan here, an extra there
  report("  the same, the peer counting traffic too", times.again, peer.counted)
end
report("  choice of a tiling", times.choices, peer.choices)
report("  coalescing", times.analyses, peer.analyses)
