-- SPDX-License-Identifier: MIT
-- What takes too long to count is left out where the rest can do without it, and told.

local loom = require "einloom"

describe("fewest live values of windows without end", function()
  local w = loom.workload {
    sizes = { p = 30000000, q = 30000000, r = 3, s = 3 }, bits = { All = 8 },
    "O[p,q] = I[p+r,q+s] * W[r,s]",
  }
  local a = loom.arch {
    loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = math.huge },
    loom.compute { "MAC" },
  }
  local r = assert(loom.analyze(w, a, loom.mapping [[
    Main: I W O
    for p tile 64
      Buf: O
        for q, p, r, s
          MAC
  ]]))

  it("are left out, and the other figures stay", function()
    assert.are.equal("900000120000004", tostring(r.Main.I.max_occupancy / 8))
    assert.error_matches(function() return r.Main.I.fewest_live end, "takes too long")
    assert.is_nil(tostring(r.Main.I):find "fewest_live")
  end)
end)
