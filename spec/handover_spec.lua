-- SPDX-License-Identifier: MIT
-- Notes on tensors that a mapping hands over before they are done.

local case = require "einloom.case"
local loom = require "einloom"
local front = require "support.front"

local a = loom.arch {
  loom.memory { "Main", size = math.huge },
  loom.memory { "Buf", size = math.huge },
  loom.fanout { "PE", x = 8 },
  loom.memory { "Reg", size = math.huge },
  loom.compute { "MAC" },
}

local w = loom.workload {
  sizes = { m = 8, k = 4, n = 4, l = 4 }, bits = 8,
  "First: T[m,n] = A[m,k] * B[k,n]",
  "Second: Z[m,l] = T[m,n] * C[n,l]",
}

local function notes(text)
  local r = assert(loom.analyze(w, a, loom.mapping(text)))
  assert.same({}, r.einsums.First:notes())
  return r:notes(), r
end

local branches = {
  First = "branch\n      for m, n, k\n        First on MAC",
  Second = "branch\n      for m, n, l\n        Second on MAC",
}

local function split(kind, ...)
  local text = "Main: A B C Z T\n" .. kind
  for _, name in ipairs { ... } do text = text .. "\n    " .. branches[name] end
  return text
end

local fused = [[
%s
%s
sequential
  branch
    for m, n%s
      First on MAC
  branch
    for m, n%s
      Second on MAC]]

describe("a tensor that is handed over", function()
  it("has no note where the producer comes first", function()
    assert.same({}, notes(split("sequential", "First", "Second")))
    assert.same({}, notes(split("pipeline", "First", "Second")))
    assert.same({}, notes(fused:format("Main: A B C Z", "for m\nBuf: T", ", k", ", l")))
  end)

  it("has a note where the consumer stands before its producer", function()
    for _, kind in ipairs { "sequential", "pipeline" } do
      local list, r = notes(split(kind, "Second", "First"))
      assert.equal(1, #list)
      front.mentions(list[1], { "Second: T is read before First makes it", kind, "mapping:2:1" })
      assert.truthy(tostring(r):find("note: T is read before First makes it", 1, true))
    end
  end)

  it("has a note where a loop around both goes over what the producer reduces", function()
    for _, holders in ipairs { { "Main: A B C Z T", "" }, { "Main: A B C Z", "\nBuf: T" } } do
      local list = notes(fused:format(holders[1], "for (First: k, Second: l) tile 2" .. holders[2],
        ", k", ", l"))
      assert.equal(1, #list)
      front.mentions(list[1], { "Second: partial sums of T", "First reduces over k",
        "for k tile 2", "mapping:2:5" })
    end
  end)

  it("has none where that loop has one trip or is over what the producer keeps", function()
    assert.same({}, notes(fused:format("Main: A B C Z T", "for (First: k, Second: l) tile 4", ", k",
      ", l")))
    assert.same({}, notes(fused:format("Main: A B C Z T", "for m tile 2, n tile 2", ", k", ", l")))
  end)

  it("is whole after a spatial loop below its holder, in parts above it", function()
    local loop = "par (First: k, Second: l) on PE.x"
    assert.same({}, notes(fused:format("Main: A B C Z T", loop, "", "")))
    local list = notes(fused:format("Main: A B C Z", loop .. "\nReg: T", "", ""))
    assert.equal(1, #list)
    front.mentions(list[1], { "par k tile 1 on PE.x" })
  end)

  it("has no note in the published cases", function()
    local pipe = assert(io.popen "ls spec/golden/mapping/*.json")
    local several = 0
    for path in pipe:lines() do
      local ok, list = pcall(function() return case.list(case.decode_file(path), path) end)
      for _, raw in ipairs(ok and list or {}) do
        local read, c = pcall(case.from_json, raw)
        local r = read and loom.analyze(c.workload, c.arch, c.mapping, c.options)
        if r and #r.einsums > 1 then
          several = several + 1
          for _, note in ipairs(r:notes()) do
            assert.is_nil(note:find "partial sums" or note:find "is read before", note)
          end
        end
      end
    end
    pipe:close()
    assert.is_true(several > 20)
  end)
end)
