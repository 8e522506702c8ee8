-- SPDX-License-Identifier: MIT
-- What takes too long to count is left out where the rest can do without it, and told.

local loom = require "einloom"

describe("sizes of 2^31 and more in a window", function()
  local a = loom.arch {
    loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = math.huge },
    loom.compute { "MAC" },
  }
  local function analyze(p, text)
    local w = loom.workload { sizes = { p = p, r = 3 }, bits = 8, "O[p] = I[p+r] * W[r]" }
    return loom.analyze(w, a, loom.mapping(text))
  end

  it("leave out the fewest live values alone", function()
    local text = "Main: I W O\nBuf: I O\nfor r, p\n  MAC"
    local r = assert(analyze(2 ^ 31, text))
    assert.equal(2 ^ 31 + 2, r.Buf.I.reads_to_parent:tointeger())
    assert.error_matches(function() return r.Buf.I.fewest_live end, "takes too long")
    assert.truthy(assert(analyze(2 ^ 31 - 1, text)).Buf.I)
  end)

  it("are named where the figure itself must be counted", function()
    local w = loom.workload { sizes = { p = 2 ^ 31, r = 3 }, bits = 8, "O[p] = I[p//2+r] * W[r]" }
    local r, message, kind = loom.analyze(w, a,
      loom.mapping "Main: I W O\nBuf: I O\nfor r, p\n  MAC")
    assert.is_nil(r)
    assert.equal("limit", kind)
    assert.matches("the size 2147483648 is too large to be counted", message, 1, true)
  end)
end)

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
