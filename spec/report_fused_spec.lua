-- SPDX-License-Identifier: MIT
-- Two convolutions fused over the outputs of the second (report LT_fused_two_convolutions): what
-- two tiles of the intermediate share is computed again, or kept.
local loom = require "einloom"

-- p: outputs, r, s: windows, tile; then for each way: operations of the first einsum, input values
-- fetched where the buffer drops what it has between tiles and where it keeps it, and values of the
-- intermediate at once.
local cases = {
  { p = 12, r = 3, s = 3, tile = 4, recompute = { 54, 24, 16, 6 }, keep = { 42, 20, 16, 6 } },
  { p = 12, r = 3, s = 3, tile = 1, recompute = { 108, 60, 16, 3 }, keep = { 42, 38, 16, 3 } },
  { p = 12, r = 3, s = 3, tile = 12, recompute = { 42, 16, 16, 14 }, keep = { 42, 16, 16, 14 } },
  { p = 10, r = 2, s = 4, tile = 4, recompute = { 38, 22, 14, 7 }, keep = { 26, 16, 14, 7 } },
  { p = 7, r = 3, s = 2, tile = 3, recompute = { 30, 16, 10, 4 }, keep = { 24, 14, 10, 4 } },
}

local machine = loom.arch {
  loom.memory { "Main", size = math.huge }, loom.memory { "Buffer", size = math.huge },
  loom.compute { "MAC" },
}

-- The intermediate lives in the buffer alone; so does a tile of the input, dropped or kept.
local text = [[
Main: I V W O
for (T: t %s, O: q) tile %d
  Buffer: T (%s)
  sequential
    branch
      Buffer: I (%s)
      for t, r
        T on MAC
    branch
      for q, s
        O on MAC
]]

local counters = {
  simulate = function(w, a, m) return loom.simulate(w, a, m) end,
  analyze = function(w, a, m) return loom.analyze(w, a, m, { model = "exact" }) end,
}

-- A formula for all tiles, at one of them.
function counters.formulas(w, a, m, case)
  local open = loom.mapping((tostring(m):gsub("(for %b())[^\n]*", "%1 tile Q0")))
  local r, message = loom.analyze(w, a, open)
  return r and r { Q0 = case.tile }, message
end

local function number(x) return x:tointeger() end

local function check(count, case, way)
  local w = loom.workload { bits = 1,
    sizes = { t = case.p + case.s - 1, q = case.p, r = case.r, s = case.s },
    "T[t] = I[t + r] * V[r]", "O[q] = T[q + s] * W[s]" }
  local got = {}
  for i, lifetime in ipairs { "scope", "retain" } do
    local kept = way == "keep" and "retain" or "scope"
    local m = loom.mapping(text:format(way, case.tile, kept, lifetime))
    local r = assert(count(w, machine, m, case))
    local input = r.T.Buffer.I
    got[1] = number(r.T.compute.ops)
    got[1 + i] = number(input.reads_to_parent - input.skipped_first_reads_to_parent)
    got[4] = math.max(number(r.T.Buffer.T.occupancy), number(r.O.Buffer.T.occupancy))
    assert.equal(case.p * case.s, number(r.O.compute.ops))
    -- The intermediate never leaves the buffer, and every value of it is made before it is read.
    assert.equal("0", tostring(r.T.Buffer.T.writes_to_parent))
    assert.equal("0", tostring(r.O.Buffer.T.reads_to_parent))
    local sums = r.T.MAC.T
    assert.equal(got[1], number(sums.writes_to_parent))
    assert.equal(got[1] // case.r, number(sums.skipped_first_reads_to_parent))
  end
  assert.same(case[way], got)
end

for name, count in pairs(counters) do
  describe("two fused convolutions, by loom." .. name, function()
    for _, case in ipairs(cases) do
      for _, way in ipairs { "recompute", "keep" } do
        local sizes = ("p=%d r=%d s=%d tile %d"):format(case.p, case.r, case.s, case.tile)
        it(("%s: %s"):format(sizes, way), function() check(count, case, way) end)
      end
    end
  end)
end
