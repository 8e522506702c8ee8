-- SPDX-License-Identifier: MIT
-- Small nests made of core objects, for specs and benchmarks of the binding.
local core = require "einloom.core"

local nests = {}

--- Z[m,n] = A[m,k] * B[k,n] with 8-bit values.
---@param sizes table<string, integer>
---@return userdata
function nests.workload(sizes)
  local w = core.workload()
  for _, v in ipairs { "m", "n", "k" } do assert(w:variable(v, sizes[v])) end
  local e = assert(w:einsum "Z")
  for _, t in ipairs { { "A", "m", "k" }, { "B", "k", "n" }, { "Z", "m", "n" } } do
    local access = assert(w:access(e, t[1], t[1] == "Z", 8))
    assert(w:rank(e, access, t[2]:upper(), 0, { { t[2], 1 } }))
    assert(w:rank(e, access, t[3]:upper(), 0, { { t[3], 1 } }))
  end
  return w
end

--- Main memory, a buffer and a multiplier.
---@return userdata
function nests.arch()
  local a = core.arch()
  for _, name in ipairs { "Main", "Buffer" } do
    local c = assert(a:component("memory", name))
    assert(a:number(c, "size", math.huge))
    assert(a:action(c, "read", 1, math.huge, 1))
    assert(a:action(c, "write", 1, math.huge, 1))
  end
  assert(a:action(assert(a:component("compute", "MAC")), "compute", 1, 1, 1))
  return a
end

local function hold(m, index, tensor)
  assert(m:tensor(assert(index), tensor))
end

--- Twelve nodes: three stores, two loops with the tiles given, three stores, three loops, compute.
---@param tiles { m: any, n: any } numbers or expressions
---@param kind? string kind of the buffer's stores, for an analyzer of one's own
---@return userdata
function nests.mapping(tiles, kind)
  local m = core.mapping()
  for _, t in ipairs { "A", "B", "Z" } do hold(m, m:storage(0, "Main"), t) end
  assert(m:temporal(0, "m", tiles.m))
  assert(m:temporal(0, "n", tiles.n))
  for _, t in ipairs { "A", "B", "Z" } do
    hold(m, kind and m:custom(0, kind, "Buffer") or m:storage(0, "Buffer"), t)
  end
  for _, v in ipairs { "m", "n", "k" } do assert(m:temporal(0, v, 1)) end
  assert(m:compute(0, "Z", "MAC"))
  return m
end

return nests
