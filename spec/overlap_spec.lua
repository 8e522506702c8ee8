-- SPDX-License-Identifier: MIT
-- Tiles of a producer that follow from what the other einsums of a shared loop need.
local core = require "einloom.core"
local loom = require "einloom"
local overlap = require "einloom.overlap"
local front = require "support.front"

local sizes = { t = 14, q = 12, r = 3, s = 3, u = 6 }

local function workload(...)
  local used = {}
  for name in table.concat({ ... }):gmatch "%f[%w]%l%f[%W]" do used[name] = sizes[name] end
  return loom.workload { sizes = used, bits = 8, partial = "All", ... }
end

local function tiles(w, how, tile, more)
  local variables = { T = "t", O = "q" }
  for einsum, variable in pairs(more or {}) do variables[einsum] = variable end
  local m = loom.mapping {
    loom.temporal { variables, tile, tiles = { T = how } }, loom.compute_node { "MAC" },
  }
  local node = m.nodes[1]
  local parts = table.pack(overlap.tiles(node, node.tiles[1], w))
  for i = 1, 3 do parts[i] = tostring(parts[i]) end
  return table.concat(parts, " ")
end

local function refused(w, words, tile, more)
  local e = front.raised(tiles, w, "keep", tile or 4, more)
  assert.equal("bad_mapping", e.kind)
  front.mentions(tostring(e), words)
end

describe("overlapping tiles of an intermediate", function()
  local producer, consumer = "T[t] = I[t+r] * V[r]", "O[q] = T[T: q+s] * W[s]"

  it("are kept by a first tile, or computed again by a step", function()
    local w = workload(producer, consumer)
    assert.equal("4 6 nil", tiles(w, "keep", 4))
    assert.equal("6 nil 4", tiles(w, "recompute", 4))
    assert.equal("1 3 nil", tiles(w, "keep", 1))
    local M = core.symbol "M"
    assert.equal("M 2 + M nil", tiles(w, "keep", M))
    assert.equal("2 + M nil M", tiles(w, "recompute", M))
  end)

  it("follow strides, and other orders of the window", function()
    assert.equal("8 9 nil", tiles(workload(producer, "O[q] = T[T: 2*q+s] * W[s]"), "keep", 4))
    assert.equal("4 6 nil", tiles(workload(producer, "O[q] = T[T: q-s+2] * W[s]"), "keep", 4))
    assert.equal("12 nil nil", tiles(workload(producer, "O[q] = T[T: 3*q+s] * W[s]"), "keep", 4))
    assert.equal("4 nil nil", tiles(workload(producer, "O[q] = T[T: q]"), "recompute", 4))
  end)

  it("are as large as the consumer that needs most", function()
    local w = workload(producer, consumer, "P[q] = T[T: q] * S[q]")
    assert.equal("6 nil 4", tiles(w, "recompute", 4, { P = "q" }))
  end)

  it("are refused where they do not follow", function()
    refused(workload(producer, "O[q] = X[q+s] * W[s]"), { "T keep", "no other einsum" })
    refused(workload(producer, "O[q] = T[T: s-q+11] * W[s]"), { "does not walk up with q" })
    refused(workload(producer, "O[q] = T[T: q+s+1] * W[s]"), { "begins at 1", "makes at 0" })
    refused(workload("T[T: 2*t] = I[t+r] * V[r]", consumer), { "no index of T", "is t alone" })
    refused(workload(producer, consumer, "P[u] = T[T: 2*u+s] * W[s]"),
      { "advance by 4 and by 8" }, 4, { P = "u" })
    local e = front.raised(loom.mapping, "for (T: t keep, O: q tile 4 first 6 step 2) tile 4\nMAC")
    front.mentions(tostring(e), { "not both" })
    local m = loom.mapping "for (T: t keep, O: q tile 4) tile 4\nMAC"
    e = front.raised(overlap.tiles, m.nodes[1], m.nodes[1].tiles[2], workload(producer, consumer))
    front.mentions(tostring(e), { "mapping:1:5", "O, which reads it, has tiles of its own" })
  end)

  it("are told where a holder drops what is kept, and loops shared unevenly", function()
    local w = workload(producer, consumer)
    local a = loom.arch {
      loom.memory { "Main", size = math.huge }, loom.memory { "Buffer", size = math.huge },
      loom.compute { "MAC" },
    }
    local function notes(variables, flags)
      local r = assert(loom.simulate(w, a, loom.mapping(([[
Main: I V W O
for (%s) tile 4
  Buffer: T %s
  sequential
    branch
      for t, r
        T on MAC
    branch
      for q, s
        O on MAC
]]):format(variables, flags))))
      return table.concat(r:notes(), "\n")
    end
    front.mentions(notes("T: t keep, O: q", ""), { "T: for t tile 4 first 6: what two tiles of T",
      "Buffer drops its contents", "write Buffer: T (retain)" })
    assert.equal("", notes("T: t keep, O: q", "(retain)"))
    assert.equal("", notes("T: t recompute, O: q", ""))
    front.mentions(notes("T: t tile 4, O: q", "(retain)"),
      { "the shared loop runs 4 times here and 3 times for O" })
  end)

  it("are an error of the analysis where they are, for the model that cannot count them", function()
    local w = workload(producer, consumer)
    local a = loom.arch { loom.memory { "Main", size = math.huge }, loom.compute { "MAC" } }
    local m = loom.mapping [[
Main: I V W T O
for (T: t recompute, O: q) tile 4
  sequential
    branch
      for t, r
        T on MAC
    branch
      for q, s
        O on MAC
]]
    local _, message, kind = loom.analyze(w, a, m, { model = "reference" })
    assert.equal("bad_tile_shape", kind)
    front.mentions(message, { "mapping:2:5", "not counted by the model reference" })
  end)
end)
