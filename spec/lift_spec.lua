-- SPDX-License-Identifier: MIT
-- Storage above the loops that do not index its tensor.
local loom = require "einloom"
local lift = require "einloom.lift"
local files = require "support.files"
local front = require "support.front"
local nests = require "support.random_nests"
local program = require "support.program"

local w = loom.workload { sizes = { m = 8, k = 8, n = 8 }, bits = 8, "Z[m,n] = A[m,k] * B[k,n]" }
local a = loom.arch {
  loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = math.huge },
  loom.memory { "Reg", size = math.huge, spatial = { X = 4 } }, loom.compute { "MAC" },
}

local low = [[
Main: A B Z
for m tile 4, n tile 4, k tile K0
  Buf: A B Z (no lowering)
  for n tile 2, k tile 2, m tile 2
    Reg: A
    Reg: B Z (retain)
    for m, n, k
      MAC
]]

describe("lifting", function()
  it("moves each tensor above the loops directly above it that do not index it", function()
    local m = loom.mapping(low)
    local lifted, moves = lift.mapping(m, w)
    assert.equal([[
Main: A B Z
for m tile 4
  for n tile 4
    Buf: Z (no lowering)
    for k tile K0
      Buf: A B (no lowering)
      for n tile 2
        for k tile 2
          Reg: B (retain)
          for m tile 2
            Reg: A
            Reg: Z (retain)
            for m, n, k
              MAC
]], tostring(lifted))
    assert.same({ "Buf", "Z", { "k" }, "mapping:3:3" },
      { moves[1].component, moves[1].tensor, moves[1].over, moves[1].where })
    assert.same({ "Reg", "B", { "m" } }, { moves[2].component, moves[2].tensor, moves[2].over })
    assert.equal(lifted, loom.lift(lifted, w))
    assert.is_true(rawequal(lifted, (loom.lift(lifted, w))))
  end)

  it("stops at loops in space, at holders of the tensor and at the end of a branch", function()
    for _, text in ipairs {
      "Main: A B Z\npar m tile 2 on Reg.X\n  Reg: B\n  for m, n, k\n    MAC\n",
      "Main: A B Z\ntoll Link: B\nBuf: B\nfor m, n, k\n  MAC\n",
      "Main: A Z\nBuf: B\nReg: B\nfor m, n, k\n  MAC\n",
      "Main: A B Z\nfor m tile 4\n  sequential\n    branch\n      Buf: B\n      for m, n, k\n"
        .. "        MAC\n",
    } do
      local m = loom.mapping(text)
      assert.is_true(rawequal(m, (loom.lift(m, w))), text)
    end
  end)

  it("works in branches, with the variables that shared loops have in each einsum", function()
    local chain = loom.workload { sizes = { m = 8, k = 8, n = 8, p = 8, q = 8 }, bits = 8,
      "T[m,n] = A[m,k] * B[k,n]", "U[p,q] = T[p,n] * C[n,q]" }
    local lifted = loom.lift(loom.mapping [[
Main: A B C U
for (T: m, U: p) tile 4
  Buf: T C
  sequential
    branch
      for n tile 2
        Buf: A
        for m, n, k
          T on MAC
    branch
      for p, n, q
        U on MAC
]], chain)
    assert.equal([[
Main: A B C U
Buf: C
for (T: m, U: p) tile 4
  Buf: T
  sequential
    branch
      Buf: A
      for n tile 2
        for m, n, k
          T on MAC
    branch
      for p, n, q
        U on MAC
]], tostring(lifted))
  end)

  it("takes a mapping and a workload", function()
    assert.has_error(function() lift.mapping(low, w) end)
    assert.has_error(function() lift.mapping(loom.mapping(low), low) end)
    assert.has_error(function() loom.lift(low, w) end)
  end)

  it("refuses a workload that does not have what the mapping names", function()
    for message, other in pairs {
      ["unknown tensor 'A'; nearest: A1"] = { sizes = { m = 8, k = 8, n = 8 }, bits = 8,
        "Z[m,n] = A1[m,k] * B[k,n]" },
      ["unknown rank variable 'k'; nearest: kk"] = { sizes = { m = 8, kk = 8, n = 8 }, bits = 8,
        "Z[m,n] = A[m,kk] * B[kk,n]" },
      ["unknown tensor 'A'; known: I, O"] = { sizes = { p = 8 }, bits = 8, "O[p] = I[p]" },
    } do
      local ok, problem = pcall(loom.lift, loom.mapping(low), loom.workload(other))
      assert.is_false(ok)
      assert.matches("^unknown_", problem.kind)
      assert.matches(message, tostring(problem), 1, true)
    end
  end)

  it("that is absent is a note with what it would save, as a formula and at a point", function()
    local r = assert(loom.analyze(w, a, loom.mapping((low:gsub(" %(retain%)", ""))),
      { model = "reference" }))
    local notes = r:notes()
    assert.equal(2, #notes)
    front.mentions(notes[1], { "Z of Buf stands below the loop over k", "-64 + 512/K0 values in",
      "-64 + 512/K0 of 512/K0 values out" })
    front.mentions(notes[2], { "B of Reg stands below the loop over m", "128 of 256 values in" })
    front.mentions(r{ K0 = 4 }:notes()[1], { "64 of 64 values in and 64 of 128 values out" })
    assert.equal(1, #r{ K0 = 8 }:notes())
    local after = loom.lift(r.mapping, w)
    assert.same({}, assert(loom.analyze(w, a, after, { model = "reference" })):notes())
  end)

  it(("never moves more, on random nests (seed %d)"):format(front.seed), function()
    local lifted = 0
    for i = 1, 150 do
      local case = nests.case(front.random(front.seed * 7919 + i))
      local ok, work, arch, mapping, options = pcall(nests.make, case)
      local above, moves
      if ok then above, moves = lift.mapping(mapping, work) end
      local r = moves and #moves > 0 and loom.analyze(work, arch, mapping, options)
      if r then
        lifted = lifted + 1
        local after = assert(loom.analyze(work, arch, above, options))
        for e, einsum in ipairs(r.einsums) do
          assert.equal(einsum.compute.ops, after.einsums[e].compute.ops)
          for _, b in ipairs(einsum.buffets) do
            local other = after.einsums[e].levels[b.level][b.tensor]
            for _, field in ipairs { "reads_to_parent", "writes_to_parent", "occupancy" } do
              assert.is_true(other[field]:le(b[field]), nests.source(case))
            end
          end
        end
      end
    end
    assert.is_true(lifted > 15)
  end)

  it("is an option of the command", function()
    local script = [[
local loom = require "einloom"
return loom.workload { sizes = { m = 8, n = 8, k = 8 }, bits = 8, "Z[m,n] = A[m,k] * B[k,n]" },
  loom.arch { loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = math.huge },
    loom.compute { "MAC" } },
  loom.mapping "Main: A B Z\nfor m tile 4\nBuf: B\nfor m, n, k\nMAC"
]]
    files.scratch(script, function(path)
      local _, plain = program.run("eval " .. path)
      front.mentions(plain, { "B of Buf stands below the loop over m" })
      local status, lifted = program.run("eval --lift " .. path)
      assert.equal(0, status)
      assert.is_nil(lifted:find "stands below")
      local text = script:gsub("return (.*)$", "return loom.analyze(%1)")
      files.scratch(text, function(result)
        local answered, out = program.run("eval --lift " .. result)
        assert.equal(0, answered)
        assert.is_nil(out:find "stands below")
      end, ".lua")
    end, ".lua")
  end)
end)
