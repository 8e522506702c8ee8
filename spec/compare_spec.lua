-- SPDX-License-Identifier: MIT
-- Where the models reference and exact differ, and why.
local case = require "einloom.case"
local files = require "support.files"
local front = require "support.front"
local loom = require "einloom"
local nests = require "support.random_nests"

local function golden(family)
  return case.load(files.path(("golden/mapping/%s.json"):format(family)))
end

local machine = loom.arch {
  loom.memory { "Main", size = math.huge },
  loom.memory { "Buf", size = math.huge },
  loom.fanout { "PE", X = 8 },
  loom.memory { "Reg", size = math.huge },
  loom.compute { "MAC" },
}

local function compared(w, text, options, point)
  return assert(loom.compare(loom.workload(w), machine, loom.mapping(text), options, point))
end

-- The reasons for one buffet as one text.
local function why(c, level, tensor)
  for _, about in ipairs(c.why) do
    if about.level == level and about.tensor == tensor then
      return table.concat(about.reasons, "; ")
    end
  end
  return "no difference"
end

local function difference(c, level, tensor, field)
  for _, d in ipairs(c.differences) do
    if d.level == level and d.tensor == tensor and d.field == field then
      return { tostring(d.reference), tostring(d.exact) }
    end
  end
end

describe("the models compared", function()
  it("differ by rules that are named, in every case that both count", function()
    local n, differ = 0, 0
    for _, family in ipairs {
      "attention", "bmm", "chain_fused", "chain_unfused", "conv1d", "conv2d", "conv_other",
      "imperfect", "leakage", "matmul", "matvec", "mix", "multi", "order", "pattern", "pointwise",
      "spatial", "special", "symbolic", "symbolic_random", "symbolic_templates", "toll",
    } do
      for _, c in ipairs(golden(family)) do
        c.options.model = nil
        local found = assert(loom.compare(c.workload, c.arch, c.mapping, c.options, c.samples[1]))
        assert.is_nil(found.refused)
        n = n + 1
        if #found.differences > 0 then differ = differ + 1 end
        for _, about in ipairs(found.why) do
          local at = ("%s %s %s %s"):format(c.id, about.einsum, about.level, about.tensor)
          assert.is_true(#about.reasons > 0, at)
        end
      end
    end
    assert.is_true(n > 300 and differ > 20 and differ < n)
  end)

  it(("differ by rules on random nests too, which can be shown (seed %d)"):format(front.seed),
    function()
      local compared_cases = 0
      for i = 1, 120 do
        local c = nests.case(front.random(front.seed * 104729 + i))
        local ok, w, a, m, options = pcall(nests.make, c)
        local found = ok and loom.compare(w, a, m, options)
        if found then
          compared_cases = compared_cases + 1
          assert.is_string(tostring(found))
          for _, about in ipairs(found.why) do
            assert.is_true(#about.reasons > 0, nests.source(c))
          end
          assert.is_string(tostring(found.exact))
          for _, buffet in ipairs(found.exact.einsums[1].buffets) do
            assert.is_string(loom.explain(buffet))
          end
        end
      end
      assert.is_true(compared_cases > 60)
    end)

  it("differ where the last tile is clipped", function()
    local c = compared({ sizes = { m = 10, k = 6 }, bits = 8, "Z[m] = A[m,k] * B[k]" },
      "Main: A B Z\nfor m tile 4\n  Buf: A B Z\n  for m, k\n    MAC")
    assert.is_nil(difference(c, "Buf", "B", "total_reads_to_parent"))
    assert.same({ "72", "60" }, difference(c, "MAC", "B", "total_reads_to_parent"))
    front.mentions(why(c, "MAC", "B"),
      { "for m tile 4: the last tile of the extent 10 is clipped" })
    local open = compared({ sizes = { m = 10, k = 6 }, bits = 8, "Z[m] = A[m,k] * B[k]" },
      "Main: A B Z\nfor m tile M0\n  Buf: A B Z\n  for m, k\n    MAC", nil, { M0 = 5 })
    assert.is_nil(difference(open, "MAC", "B", "total_reads_to_parent"))
  end)

  it("differ by holes, constants, diagonals and windows of several units", function()
    local sizes = { p = 8, r = 2 }
    local text = "Main: I W O\nfor r\n  Buf: I W O\n  for p\n    MAC"
    front.mentions(why(compared({ sizes = sizes, bits = 8, "O[p] = I[2*p + r] * W[r]" }, text),
      "Buf", "I"), { "index 2*p + r", "not the holes" })
    front.mentions(why(compared({ sizes = sizes, bits = 8, "O[p] = I[p + r + 5] * W[r]" }, text),
      "Buf", "I"), { "index p + r + 5", "the constant 5 does not widen the tile" })
    front.mentions(why(compared({ sizes = sizes, bits = 8, "O[p] = I[p, p + r] * W[r]" }, text),
      "Buf", "I"), { "p is in ranks P and P_R of I" })
    local c = compared({ sizes = sizes, bits = 8, "O[p] = I[p + r] * W[r]" },
      "Main: I W O\nBuf: I W O\npar p tile 2 on PE.X\n  Reg: I W O\n  for p, r\n    MAC")
    assert.same({ "12", "9" }, difference(c, "Reg", "I", "total_reads_to_parent"))
    front.mentions(why(c, "Reg", "I"), { "par p tile 2 on PE.X", "P_R is read once" })
  end)

  it("differ by what is reserved where, and by what is retained", function()
    local w = { sizes = { p = 8, r = 3 }, bits = 8, "O[p] = I[p + r] * W[r]" }
    local c = compared(w, "Main: I W O\nBuf: O W I\nfor p tile 4\n  for p, r\n    MAC")
    front.mentions(why(c, "Buf", "I"), { "whole tile at the storage node" })
    c = compared({ sizes = { m = 4, n = 4 }, bits = 8, "Z[m] = A[m] * B[n]" },
      "Main: A B Z\nfor n, m\n  Buf: B (retain)\n  MAC")
    assert.same({ "16", "4" }, difference(c, "Buf", "B", "total_reads_to_parent"))
    front.mentions(why(c, "Buf", "B"), { "what Buf has of B is retained" })
    c = compared({ sizes = { m = 4, n = 4 }, bits = 8, "Z[m] = A[m] * B[n]" },
      "Main: A B Z\nfor n, m\n  Buf: B Z\n  MAC", { drain_reads = false })
    front.mentions(why(c, "Buf", "Z"), { "reads for writing back are not counted" })
    front.mentions(tostring(c), { "model exact; reads for writing back are not counted" })
  end)

  it("are not compared where the reference refuses, and not told which model", function()
    local c = compared({ sizes = { m = 4, n = 2 }, bits = 8, "T[m] = A[m]",
      "Z[m,n] = T[m] * B[n]" },
      "Main: A B Z\nfor n\n  Buf: T\n  sequential\n    branch\n      for m\n        T on MAC\n"
      .. "    branch\n      for m\n        Z on MAC")
    front.mentions(tostring(c), { "the reference does not count this mapping", "'n'" })
    local w = loom.workload { sizes = { m = 4 }, bits = 8, "Z[m] = A[m]" }
    local e = front.raised(loom.compare, w, machine, loom.mapping "Main: A Z\nfor m\nMAC",
      { model = "exact" })
    front.mentions(tostring(e), { "both are compared" })
  end)
end)

describe("einloom compare", function()
  it("prints the fields that differ of a case, and why", function()
    local path = files.path "golden/mapping/imperfect.json"
    local status, out = files.command("compare", path, "--case", "imperfect_001")
    assert.equal(0, status)
    front.mentions(out, { "B in MAC\n", "reference 756, exact 630\n",
      "why: for m tile 4: the last tile of the extent 10 is clipped", "in all\n",
      "135 fields agree, 5 differ" })
  end)

  it("compares at every point that is given", function()
    files.scratch([[
local loom = require "einloom"
local w = loom.workload { sizes = { m = 10 }, bits = 8, "Z[m] = A[m]" }
local a = loom.arch { loom.memory { "Main", size = math.huge },
  loom.memory { "Buf", size = math.huge }, loom.compute { "MAC" } }
return w, a, loom.mapping "Main: A Z\nfor m tile M0\n  Buf: A Z\n  for m\n    MAC"
]], function(path)
      local status, out = files.command("compare", path, "--at", "M0=4", "--at", "M0=5")
      assert.equal(0, status)
      local one = select(2, files.command("compare", path, "--at", "M0=4"))
      local other = select(2, files.command("compare", path, "--at", "M0=5"))
      assert.not_equal(one, other)
      assert.equal(one .. "\n" .. other, out)
    end, ".lua")
  end)

  it("prints where the other tools of a case of fixed/1 differ, and why", function()
    local path = files.path "golden/exact/fixed_mappings.json"
    local status, out = files.command("compare", path, "--case", "b3c_kX_nY")
    assert.equal(0, status)
    front.mentions(out, { "-- b3c_kX_nY: 50 figures agree, 2 differ",
      "Buf.B read: accelforge, storage lifted 1024, einloom 256 (scope after lifting): a tile that",
      "Reg.B write" })
    out = select(2, files.command("compare", path, "--case", "c4_s1_r_buf"))
    front.mentions(out, { "65 figures agree, 5 differ", "Buf.I fill: timeloop 480, einloom 464",
      "of windows in two ranks only what a difference" })
    out = select(2, files.command("compare", path, "--case", "c5_s1_spatial_p"))
    front.mentions(out, { "66 figures agree, 4 differ", "Buf.I read: timeloop 3840, einloom 1600",
      "what the windows of several units share is not" })
    out = select(2, files.command("compare", path, "--case", "a1_out_stat"))
    assert.equal("-- a1_out_stat: 46 figures agree, 0 differ\n", out)
    local failed, _, complaint = files.command("compare", path, "--case", "a1")
    assert.equal(2, failed)
    front.mentions(complaint, { "no case 'a1'" })
  end)
end)
