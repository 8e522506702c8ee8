-- SPDX-License-Identifier: MIT
-- Times of planning recorded graphs of loop nests, kernel by kernel, beside the recorded ones of
-- another tool. Run by scripts/bench, in the release build; the only argument is a file of g_graphs.
local core = require "einloom.core"
local graphs = require "einloom.verify.simd.graphs"
local text = require "einloom.verify.simd.text"

local ROUNDS = 20

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local function report(what, times, recorded)
  local us = median(times) * 1e6
  print(("%-60s %8.2f us, recorded %6.0f us: %6.0f times; of %d"):format(what, us, recorded,
    recorded / us, #times))
end

local clock = os.clock

-- Adds to each list the seconds of one step for every kernel with loops of the graph.
local function time_graph(raw, times)
  local texts = text.reader(raw.sizes)
  local graph = graphs.read(texts, raw)
  local has_loops = {}
  for _, op in ipairs(graph:ops()) do
    has_loops[op.name] = op.kind ~= "opaque" and op.kind ~= "nop"
  end
  local fused = graph:fusion():run():kernels()
  local plan = graph:plan()
  for _, kernel in ipairs(fused) do
    if has_loops[kernel.ops[1]] then
      local start = clock()
      local schedule = graph:schedule(kernel.ops, kernel.extents)
      local tiling = graph:tiling(schedule, kernel.extents)
      local chosen = clock()
      assert(plan:kernel { schedule = schedule, extents = kernel.extents, tiling = tiling })
      local planned = clock()
      graph:coalesce(schedule, kernel.extents)
      local analyzed = clock()
      times.whole[#times.whole + 1] = planned - start
      times.choice[#times.choice + 1] = chosen - start
      times.coalescing[#times.coalescing + 1] = analyzed - planned
    else
      assert(plan:kernel { schedule = kernel.ops })
    end
  end
end

local path = assert(..., "a file of g_graphs expected")
local file = assert(io.open(path))
local cases = core.json.decode(file:read "a").cases
file:close()
collectgarbage "stop"
local function time_all(rounds)
  local times = { whole = {}, choice = {}, coalescing = {} }
  for _ = 1, rounds do
    for _, raw in ipairs(cases) do time_graph(raw, times) end
  end
  return times
end
local first, again = time_all(1), time_all(ROUNDS)
report("kernels of recorded graphs, from Lua: planned first", first.whole, 6900)
report("kernels of recorded graphs, from Lua: planned again", again.whole, 3650)
report("  order and tiling", again.choice, 280)
report("  coalescing", again.coalescing, 1800)
