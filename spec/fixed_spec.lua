-- SPDX-License-Identifier: MIT
-- Files of schema fixed/1: how their cases become workloads, architectures and mappings.
local core = require "einloom.core"
local files = require "support.files"
local fixed = require "einloom.case.fixed"
local front = require "support.front"

local function case(id)
  local data = core.json.decode(files.read(files.path "golden/exact/fixed_mappings.json"))
  for _, raw in ipairs(data.cases) do
    if raw.id == id then return raw end
  end
end

local function refused(words, change)
  local raw = case "b1_mX_nY"
  change(raw)
  local e = front.raised(fixed.build, raw)
  assert.equal("bad_case", e.kind)
  front.mentions(tostring(e), words)
end

describe("a case of fixed/1", function()
  it("gives loops by how often they run, storage at the top of each level", function()
    local built = fixed.build(case "b1_mX_nY")
    assert.equal([[
Main: A B Z
for m tile 16
  for n tile 8
    for k tile 8
      Buf: A B Z
      par m tile 2 on BufArray.X
        par n tile 2 on BufArray.Y
          for k tile 2
            Reg: A B Z
            for m, n, k
              E on MAC
]], tostring(built.mapping))
    assert.equal("Memory Main size=inf\nMemory Buf size=65536\n"
      .. "Container BufArray X=8 (may_reuse Nothing) Y=4 (may_reuse Nothing)\n"
      .. "Memory Reg size=2048\nCompute MAC", tostring(built.unshared))
  end)

  it("is refused where it does not fit together", function()
    refused({ "nest[1].loops[1]", "3 loops over M do not divide the 32" }, function(raw)
      raw.nest[1].loops[1].count = 3
    end)
    refused({ "the loops leave 2 of m" }, function(raw) raw.nest[1].loops[1].count = 1 end)
    refused({ "nest[1].loops[1].var", "no variable Q" }, function(raw)
      raw.nest[1].loops[1].var = "Q"
    end)
    refused({ "nest", "a level that there is not" }, function(raw) raw.nest[1].level = "Man" end)
    refused({ "temporal, spatial X or spatial Y expected, not spacial X" }, function(raw)
      raw.nest[2].kind = "spacial X"
    end)
    refused({ "no tensor Q" }, function(raw) raw.levels[1].holds[1] = "Q" end)
    refused({ "no level holds A" }, function(raw)
      for _, level in ipairs(raw.levels) do table.remove(level.holds, 1) end
    end)
    refused({ "iterate.M", "a positive integer was expected, not 0" }, function(raw)
      raw.iterate.M = 0
    end)
  end)

  it("is verified strictly", function()
    local raw = case "a1_out_stat"
    raw.enumeration.whole["Buf.A"].read = 1535
    raw.enumeration.whole["Buf.B"].rea = 1
    raw.nst = 1
    local text = core.json.encode({ schema = "fixed/1", model = "exact", cases =
      setmetatable({ raw }, core.json.array) })
    files.scratch(text, function(path)
      local status, out = files.command("verify", path)
      assert.equal(1, status)
      front.mentions(out, { "a1_out_stat: enumeration.whole.Buf.A.read: expected 1535, got 1536",
        "a1_out_stat: enumeration.whole.Buf.B.rea: expected no such key",
        "a1_out_stat: nst: expected no such key" })
    end, ".json")
  end)
end)
