-- SPDX-License-Identifier: MIT
-- A session like one at the prompt: many analyses, each of a new mapping with symbols and numbers,
-- formulas printed, mistakes made, little kept.  Fails when memory grows.
-- Usage: einloom run spec/support/session.lua [analyses, 100000]
package.path = "spec/?.lua;" .. package.path
local core = require "einloom.core"
local nests = require "support.nests"

local count = math.tointeger(tonumber(arg[1]) or 100000)

local function resident_kb()
  for line in io.lines "/proc/self/status" do
    local kb = line:match "^VmRSS:%s*(%d+)"
    if kb then return math.tointeger(kb) end
  end
end

local w, a = nests.workload { m = 64, n = 32, k = 16 }, nests.arch()
local divisors = { 1, 2, 4, 8, 16, 32 }
local kept = {}

local function own(_, _, stats, as)
  return as("storage", stats)
end

local function one_analysis(i)
  local tile = core.symbol("M" .. i % 1000, { divides = 64 })
  local other = i % 3 == 0 and core.symbol("N" .. i) or divisors[i % #divisors + 1]
  local kind = i % 10 == 0 and "own" or nil
  local m = nests.mapping({ m = tile, n = other }, kind)
  local r = assert(core.analyze(w, a, m, kind and { analyzers = { own = own } }))
  local b = r:buffet("Z", "Buffer", "A")
  local text = tostring(b.total_reads_to_parent * i + b.max_occupancy)
  assert(text:find(tile:name(), 1, true), text)
  kept[i % 100 + 1] = r
  if i % 7 == 0 then pcall(core.analyze, w, a, core.mapping()) end
  if i % 11 == 0 then pcall(core.parse, "M +") end
end

local settled
for i = 1, count do
  one_analysis(i)
  if i == (count + 4) // 5 then settled = resident_kb() end
end
local last = resident_kb()
print(("%d analyses, %d results kept, %d kB after a fifth, %d kB at the end, %d nodes")
  :format(count, #kept, settled, last, (core.default:nodes())))
assert(last < settled * 1.25 + 4096, "memory grows")
