-- SPDX-License-Identifier: MIT
-- How large a buffer attention needs, and how much data it then moves: three mappings of a head of
-- GPT-3 6.7B on the Snowcat-like machine, each at several numbers M0 of queries at a time.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local machine = dofile(here .. "arch/snowcat.lua")
local attention = dofile(here .. "workload/attention.lua")
local mappings = dofile(here .. "mapping/snowcat_attention.lua")

local head = attention { h = 1, m = 2048, p = 2048, e = 128 }

-- The largest of what the buffer must hold at any time.
local function needed(result)
  local most
  for _, limit in ipairs(assert(result:constraints())) do
    if limit.component == "Buffer" then
      most = most and loom.max(most, limit.needed) or limit.needed
    end
  end
  return most
end

for _, way in ipairs { "unfused", "late", "rows" } do
  local result = assert(loom.analyze(head, machine, mappings[way]))
  local moved = assert(result:energy())
  print(("%s: bits moved %s"):format(way, moved))
  for _, M0 in ipairs { 1, 16, 128, 2048 } do
    local at = result { M0 = M0 }
    print(("  M0=%-5d buffer %10d bits, moved %12d bits"):format(M0, needed(at):tointeger(),
      at:energy():tointeger()))
  end
end
