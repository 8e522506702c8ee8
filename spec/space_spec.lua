-- SPDX-License-Identifier: MIT
-- Spaces of mappings: what an architecture's sets, dimensions and units and the options of a space
-- leave of them.

local fails = require "support.fails"
local loom = require "einloom"

local function product()
  return loom.workload {
    sizes = { m = 4, k = 2, n = 6 }, bits = { All = 8 }, "Z[m,n] = A[m,k] * B[k,n]",
  }
end

local function memory(name, keys)
  keys[1], keys.size = name, keys.size or math.huge
  keys.read, keys.write = { energy = keys.energy or 1 }, { energy = keys.energy or 1 }
  keys.energy = nil
  return loom.memory(keys)
end

local mac = loom.compute { "MAC", energy = 1, throughput = 1 }

-- The memories of each template as "L1{A} L2{A}", without repeats, in order.
local function holders(space)
  local seen, list = {}, {}
  for _, unit in ipairs(space:units()) do
    local parts = {}
    for part in unit.text:gmatch "%w+{%w+}" do parts[#parts + 1] = part end
    table.sort(parts)
    local text = table.concat(parts, " ")
    if not seen[text] then
      seen[text] = true
      list[#list + 1] = text
    end
  end
  table.sort(list)
  return list
end

local function levels(low, high, w)
  return holders(loom.space(w or product(),
    loom.arch { memory("L1", high), memory("L2", low), mac }))
end

describe("what levels hold", function()
  local all = { keep = "All" }

  it("is what they keep and any of what they may keep", function()
    assert.are.same({ "L1{A} L1{B} L1{Z} L2{A}", "L1{A} L1{B} L1{Z} L2{A} L2{B}" },
      levels({ keep = "A", may_keep = "Inputs" }, all))
    assert.are.same({ "L1{A} L1{B} L1{Z} L2{A}" }, levels({ keep = "A" }, all))
    assert.are.equal(8, #levels({}, all))
  end)

  it("depends on what is held above", function()
    assert.are.same({ "L1{A} L1{B} L1{Z}" }, levels({ keep = "~Above" }, all))
    assert.are.same({ "L1{A} L1{B} L2{Z}", "L1{A} L2{B} L2{Z}" },
      levels({ keep = "~L1" }, { keep = "A", may_keep = "B" }))
    fails.with("bad_arch", { "arch.L1.keep:1:1", "L2 is not above" },
      function() levels({}, { keep = "L2" }) end)
    fails.with("unknown_tensor", { "no tensor or set L3", "nearest: L1" },
      function() levels({ keep = "L3" }, all) end)
  end)

  it("has its outermost holder where that is asked for", function()
    assert.are.same({ "L1{A} L1{B} L2{Z}" },
      levels({ back = "Z", keep = "Nothing" }, { may_keep = "All" }))
  end)
end)

describe("ways to compute units", function()
  local function space_of(first, second)
    local w = loom.workload {
      sizes = { m = 4, k = 2 }, bits = { All = 8 }, "Y[m] = X[m,k]", "Z[m] = Y[m] * V[m]",
    }
    return loom.space(w, loom.arch {
      memory("Main", { keep = "All" }),
      loom.fork {
        { memory("Buf", { energy = 0.5 }), loom.compute { "MAC", energy = 1, einsums = first } },
        { loom.compute { "VPU", energy = 0.25, einsums = second } },
      },
    }, { minimise = "energy" })
  end

  it("are those of the units that may run an einsum", function()
    local space = space_of({ "Y" }, "Z")
    assert.are.equal("MAC", space.steps[1].ways[1].compute)
    assert.are.equal("VPU", space.steps[2].ways[1].compute)
    assert.are.equal(1, #space.steps[2].ways)
    local found = space:search()
    assert.truthy(tostring(found:mapping(found.points[1])):find "Z on VPU")
  end)

  it("are all tried", function()
    local space = space_of()
    assert.are.equal(2, #space.steps[1].ways)
    local found = space:search()
    local text = tostring(found:mapping(found.points[1]))
    assert.truthy(text:find "Y on VPU" and text:find "Z on VPU")
    local r = loom.analyze(space.workload, space.arch, found:mapping(found.points[1]),
      { model = "reference" })
    assert.are.equal(found.points[1].energy, r:energy():tonumber())
  end)

  it("must exist", function()
    fails.with("bad_arch", { "no compute unit runs einsum Z", "nearest: Zz" },
      function() space_of("Y", "Zz") end)
  end)
end)

describe("the objective", function()
  local w, a = product(), loom.arch {
    memory("L1", { keep = "All", energy = 10 }), memory("L2", { size = 128 }),
    loom.fanout { "PE", x = 4 }, mac,
  }

  it("can be a formula", function()
    local front = loom.space(w, a, { minimise = { "energy", "latency" } }):search().points
    local best = math.huge
    for _, p in ipairs(front) do best = math.min(best, p.energy * p.latency ^ 2) end
    local point = loom.space(w, a, { minimise = "energy * latency^2" }):search().points[1]
    assert.are.equal(best, point.energy * point.latency ^ 2)
    local edp = loom.space(w, a, { minimise = "edp" }):search().points[1]
    local same = loom.space(w, a, { minimise = "energy * latency" }):search().points[1]
    assert.are.equal(edp.energy_delay_product, same.energy * same.latency)
  end)

  it("must be one that the front holds", function()
    for _, case in ipairs {
      { "energy - latency", "not known never to fall where latency grows" },
      { "enrgy", "no figure enrgy; nearest: energy" },
      { "1/energy", "not known never to fall where energy grows" },
      { "energy + usage", "of energy and latency, not of usage" },
      { { "energy", "edp" }, "figures that are not made of each other" },
      { { "energy", "energy" }, "each figure once" },
      { 3, "energy, latency" },
    } do
      fails.with("bad_argument", { case[2] },
        function() loom.space(w, a, { minimise = case[1] }) end)
    end
  end)
end)

describe("a formula that is minimised", function()
  local w, a = product(), loom.arch { memory("L1", { keep = "All", energy = 10 }), mac }

  it("is refused where it may fall", function()
    for _, text in ipairs {
      "select(latency<100, energy*2, energy)", "energy<80000", "energy<latency", "energy <= 3",
      "lt(energy, 80000)", "eq(energy, 75000)", "latency == 240", "energy % 1000", "-energy",
      "mod(energy, 7)", "energy + select(latency < 9, 1, 0)", "-max(energy, latency)",
      "-min(energy, 3)", "-(energy // 3)", "max(5 - energy, latency)", "(energy - 5)^2",
      "-1/(energy - 5)", "(energy + 1) * (latency - 3)", "energy * (energy % 3)", "1/floor(energy)",
      "energy/latency",
    } do
      fails.with("bad_argument", { "not known never to fall" },
        function() loom.space(w, a, { minimise = text }) end)
    end
  end)

  it("may be of all that never falls", function()
    for _, text in ipairs {
      "energy + 2*latency/3 - 5", "max(energy, latency)", "min(energy, 3) * latency", "energy^3",
      "(energy - 5)^3", "energy // 1000", "floor(energy/7) + ceil(latency/3)", "energy*latency^2",
      "-1/energy", "energy*latency/(energy + latency)", "edp * energy", "energy/(1 + 1/latency)",
      "energy_delay_product + EDP",
    } do
      assert.are.equal(text, loom.space(w, a, { minimise = text }).options.minimise.text)
    end
  end)

  it("has no certificate where it rounds", function()
    local found = loom.space(w, a, { minimise = "energy // 1000" }):search()
    local ok, message, kind = require "einloom.certify".write(found, "/nonexistent/certificate")
    assert.are.same({ nil, "certificate" }, { ok, kind })
    assert.matches("no certificate of 'energy // 1000'", message, 1, true)
  end)
end)

describe("the model exact", function()
  local a = loom.arch {
    memory("L1", { keep = "All", energy = 100 }), memory("L2", { size = 40 }), mac,
  }

  it("has no certificates", function()
    local found = loom.space(product(), a, { model = "exact" }):search()
    local written, message = loom.certify.write(found, os.tmpname())
    assert.is_nil(written)
    assert.truthy(message:find("no certificate is about the model exact", 1, true))
  end)
end)

describe("bounds of loops", function()
  local function space_of(bounds)
    return loom.space(product(), loom.arch {
      memory("L1", { keep = "All", energy = 10 }),
      loom.fanout { "PE", x = { 4, loop_bounds = bounds } }, mac,
    })
  end

  it("name variables of the workload", function()
    fails.with("bad_arch", { "arch.PE.x.loop_bounds[1]", "no variable 'mm'", "nearest: m" },
      function() space_of { { variables = { "mm" }, op = "<=", value = 2 } } end)
  end)

  it("are a list or one alone", function()
    local list = space_of { { variables = { "m" }, op = "==", value = 2 } }
    local one = space_of { variables = { "m" }, op = "==", value = 2 }
    assert.are.equal(list:fingerprint(), one:fingerprint())
    assert.are.equal(list:search().points[1].energy, one:search().points[1].energy)
  end)

  it("say nothing of variables that reuse keeps out", function()
    local function found(bound)
      return loom.space(product(), loom.arch {
        memory("L1", { keep = "All", energy = 10 }),
        loom.fanout { "PE", x = { 4, reuse = "A", loop_bounds = bound } }, mac,
      }):search()
    end
    local function text(bound) return tostring(found(bound):mapping()) end
    local pair = text { variables = { "k", "n" }, op = "==", value = 2 }
    assert.is_truthy(pair:find "for [^\n]*n tile 2.*par n on PE.x", pair)
    local any = text { variables = { "k", "m" }, op = "product>", value = 1 }
    assert.is_truthy(any:find "for [^\n]*n tile 3.*par n on PE.x", any)
    assert.are.same({}, found({ variables = { "n" }, op = "==", value = 5 }).points)
  end)
end)

describe("the order of memories", function()
  local mapping = [[
L1: A B C Z
L3: A
for m
  L2: Y
  sequential
    branch
      *
      Y on MAC
    branch
      *
      Z on MAC
]]

  local function space_of(forced)
    local w = loom.workload {
      sizes = { m = 4, k = 2, n = 6 }, bits = { All = 8 }, "Y[m,n] = A[m,k] * B[k,n]",
      "Z[m,n] = Y[m,n] * C[m,n]",
    }
    return loom.space(w, loom.arch {
      memory("L1", { keep = "~Y", energy = 10 }), memory("L2", { keep = "Y" }),
      memory("L3", { may_keep = "A" }), mac,
    }, { mapping = loom.mapping(mapping), force_memory_hierarchy_order = forced })
  end

  it("holds for all tensors where it is forced", function()
    local space, message = space_of(true)
    assert.is_nil(space)
    assert.truthy(message:find("Y in L2 has to stand above A in L3", 1, true), message)
  end)

  it("holds for each tensor alone where it is free, of shared ones too", function()
    local found = space_of(false):search()
    assert.truthy(tostring(found:mapping()):find("L3: A\nfor m\n  L2: Y\n  sequential", 1, true))
  end)
end)

describe("a space", function()
  it("refuses what it does not know", function()
    local w, a = product(), loom.arch { memory("L1", {}), mac }
    local function refused(parts, ...)
      local arguments = table.pack(...)
      fails.with("bad_argument", parts, function() loom.space(table.unpack(arguments)) end)
    end
    refused({ "unknown key 'max_fused_loop'", "nearest: max_fused_loops" }, w, a,
      { max_fused_loop = 1 })
    refused({ "max_fused_loops", "a count", "1.5" }, w, a, { max_fused_loops = 1.5 })
    refused({ "temporal_factors", "perfect or imperfect" }, w, a, { temporal_factors = "perfekt" })
    refused({ "model exact", "perfect factors only" }, w, a,
      { model = "exact", temporal_factors = "imperfect" })
    refused({ "argument 1: workload expected" }, a, a)
    refused({ "argument 2: architecture expected" }, w, w)
    refused({ "give N a value" },
      loom.workload { sizes = { m = loom.symbol "N" }, bits = { All = 8 }, "Z[m] = A[m]" },
      a)
  end)

  it("lists its units in one order", function()
    local function texts()
      local list = {}
      local a = loom.arch { memory("L1", {}), memory("L2", {}), mac }
      for i, unit in ipairs(loom.space(product(), a):units()) do list[i] = unit.text end
      return list
    end
    assert.are.same(texts(), texts())
    assert.is_true(#texts() > 10)
  end)
end)

describe("a mapping with holes", function()
  local w = product()
  local a = loom.arch {
    memory("L1", { keep = "All", energy = 10 }), memory("L2", { size = 1024 }),
    loom.fanout { "PE", x = 4, y = { 2, reuse = "A" } }, mac,
  }

  local function best(text)
    local space = assert(loom.space(w, a, { mapping = loom.mapping(text) }))
    local found = space:search()
    return found:mapping(), found.points[1], space
  end

  it("that has none gives itself", function()
    local text = "L1: B A Z\nfor m tile 4\n  L2: Z A\n  for k, n tile 3\n    par n on PE.x\n"
      .. "      for m\n        MAC\n"
    local mapping, point, space = best(text)
    assert.are.equal(loom.mapping(text), mapping)
    assert.are.equal(1, #space:units())
    local r = loom.analyze(w, a, mapping, { model = "reference" })
    assert.are.equal(r:energy():tonumber(), point.energy)
  end)

  -- Z sinks to one value where it is the last one; with A below it there is no room for both.
  it("holds further tensors in the order that needs least", function()
    local own = loom.workload {
      sizes = { m = 2, n = 4 }, bits = { All = 8 }, "Z[m,n] = A[m] * B[n]",
    }
    local machine = loom.arch {
      loom.memory { "Main", size = math.huge, read = { energy = 9 }, write = { energy = 9 },
        keep = "All" },
      loom.memory { "Buf", size = 24, read = { energy = 1 }, write = { energy = 1 },
        keep = "Nothing", may_keep = "A | Z" },
      loom.compute { "MAC", energy = 1 },
    }
    local s = loom.space(own, machine,
      { minimise = "energy", mapping = loom.mapping "Main: A B Z\nBuf: Z *\n*\nMAC\n" })
    local found = s:search()
    assert.matches("\nBuf: A Z\n", tostring(found:mapping(found.points[1])))
  end)

  it("keeps what it fixes", function()
    local mapping =
      best "L1: A B Z\nfor n tile {2, 3}\n  ...\n  L2: B *\n  *\n  par m on PE.x\n  MAC\n"
    local text = tostring(mapping)
    assert.truthy(text:find "^L1: A B Z\nfor n tile [23]\n")
    assert.truthy(text:find "L2: [AZ ]*B")
    assert.truthy(text:find "par m on PE.x\n%s*MAC\n$")
    assert.is_false(mapping.holes)
  end)

  it("says which part nothing completes", function()
    for _, case in ipairs {
      { "L1: A B Z\nfor m tile 3\n  ...\n  MAC", "mapping:2:5", "no such tile divides" },
      { "L1: A B Z\nfor m tile 2\n  MAC", "mapping:3:3", "no loop of k is left" },
      { "L1: A B\nL2: A\n*\nMAC", "mapping:2:1", "Z in L1 has to stand above A in L2" },
      { "L1: A B\nfor m, k, n\n  MAC", "mapping:3:3", "no place for Z in L1" },
      { "L1: A B Z\n*\npar k on PE.y\n  MAC", "mapping:3:5", "no loop of k on PE.y" },
      { "L1: A B Z\npar n tile 2 on PE.x\n  L2: A\n  *\n  MAC", "mapping:2:5",
        "loops on PE.x stand under the last holder above PE" },
      { "for m\n  L1: A B Z\n  *\n  MAC", "mapping:2:3", "A in L1 has to stand above all loops" },
      { "L1: A B Z\n*\nfor m tile 2\n  MAC", "mapping:3:5", "last loop of m: its tile is 1" },
    } do
      local space, message, kind = loom.space(w, a, { mapping = loom.mapping(case[1]) })
      assert.is_nil(space, case[1])
      assert.are.equal("no_mapping", kind)
      for i = 2, 3 do assert.truthy(message:find(case[i], 1, true), message .. "\n" .. case[i]) end
    end
  end)

  it("is refused where no search has its nodes", function()
    local function refused(text, ...)
      fails.with("bad_mapping", { ... },
        function() loom.space(w, a, { mapping = loom.mapping(text) }) end)
    end
    refused("L1: A B Z\nfor m tile M\n  *\n  MAC", "mapping:2:5", "tile M: a search takes numbers")
    refused("L1: A B Z\nfor m tile 2 step 1\n  *\n  MAC", "mapping:2:5", "one tile shape only")
    refused("L1: A B Z\npipeline\n  branch\n    *\n    MAC", "mapping:2:1", "no pipeline nodes")
    refused("L1: A B Z\n*", "mapping:2:1", "what computes here")
    refused("L1: A B Z\n*\nY on MAC", "mapping:3:1", "no einsum Y")
  end)
end)
