-- SPDX-License-Identifier: MIT
-- With symbols that carry the facts of even tiling ("divides") the formulas of the model `exact`
-- are those of the reference, products over sums multiplied out.  Exceptions: what
-- spec/exact_golden_spec.lua names, and windows of neighbouring units, which only `exact` shares.

local loom = require "einloom"

local fields = {
  "total_reads_to_parent", "total_writes_to_parent", "total_skipped_first_reads_to_parent",
  "total_read_actions", "total_write_actions",
  "max_per_unit_read_actions", "max_per_unit_write_actions",
  "total_skipped_first_read_actions", "total_skipped_first_write_actions",
  "min_per_unit_skipped_first_read_actions", "min_per_unit_skipped_first_write_actions",
}

local M, K, N = loom.symbol "M", loom.symbol "K", loom.symbol "N"
local m0 = loom.symbol("m0", { divides = M })
local m1 = loom.symbol("m1", { divides = m0 })
local m2 = loom.symbol("m2", { divides = m1 })
local k0 = loom.symbol("k0", { divides = K })
local k1 = loom.symbol("k1", { divides = k0 })
local n0 = loom.symbol("n0", { divides = N })
local symbols = { m0 = m0, m1 = m1, m2 = m2, k0 = k0, k1 = k1, n0 = n0 }

local arch = loom.arch {
  loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = math.huge },
  loom.fanout { "PE", x = 1024, y = 1024 }, loom.memory { "Reg", size = math.huge },
  loom.compute { "MAC" },
}

local product = loom.workload {
  sizes = { m = M, k = K, n = N }, bits = { All = 8 }, "Z[m,n] = A[m,k] * B[k,n]",
}
local window = loom.workload {
  sizes = { m = M, k = K, n = N }, bits = { All = 8 }, "Z[m,n] = A[m+k] * B[k,n]",
}

local function mapping(text)
  local used = {}
  for name, symbol in pairs(symbols) do
    if text:find("tile " .. name, 1, true) then used[name] = symbol end
  end
  return loom.mapping(text, { symbols = used })
end

local function check(w, text)
  local m = mapping(text)
  local r = assert(loom.analyze(w, arch, m, { model = "reference" }))
  local e = assert(loom.analyze(w, arch, m, { model = "exact" }))
  for i, b in ipairs(r.buffets) do
    for _, field in ipairs(fields) do
      assert.are.equal(b[field]:expand(), e.buffets[i][field]:expand(),
        ("%s@%s %s"):format(b.tensor, b.level, field))
    end
  end
  assert.are.equal(r.compute.total_ops, e.compute.total_ops)
  assert.are.equal(r.compute.max_latency, e.compute.max_latency)
end

describe("formulas with tiles that divide", function()
  it("are those of the reference: nested tiles over time and space", function()
    check(product, [[
      Main: A B Z
      for m tile m0
        for k tile k0
          Buf: A B Z
          for m tile m1
            par k tile k1 on PE.x
              for m tile m2
                Reg: A Z
                for m, n, k
                  MAC
    ]])
    check(product, [[
      Main: A B Z
      for n tile n0
        for m tile m0
          Buf: A Z
          par m tile m1 on PE.x
            par n tile 1 on PE.y
              for k tile k0
                Reg: A B Z
                for m, k
                  MAC
    ]])
  end)

  it("are those of the reference: windows over time", function()
    check(window, [[
      Main: A B Z
      for m tile m0
        for k tile k0
          Buf: A B Z
          for m tile m1
            Reg: A Z
            for m, n, k
              MAC
    ]])
  end)

  it("count each element of a sliding window once where it stays", function()
    local m = mapping "Main: A B Z\nfor m tile m0\nBuf: A B Z\nfor m, n, k\nMAC"
    local r = assert(loom.analyze(window, arch, m, { model = "exact", lifetime = "retain" }))
    assert.are.equal(M + K - 1, r.Buf.A.total_reads_to_parent)
  end)
end)
