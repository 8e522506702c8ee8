-- SPDX-License-Identifier: MIT
local arch = require "einloom.arch"
local core = require "einloom.core"
local mapping = require "einloom.mapping"
local model = require "einloom.model"
local workload = require "einloom.workload"
local front = require "support.front"

local function matmul(extra)
  local def = { sizes = { m = 8, k = 4, n = 2 }, bits = { All = 8, Outputs = 16 },
    "Z[m,n] = A[m,k] * B[k,n]" }
  for key, x in pairs(extra or {}) do def[key] = x end
  return workload.new(def)
end

-- Main, Glb with the given keys, Mac below a fanout of 4.
local function machine(glb, dimension)
  glb = glb or {}
  glb[1], glb.size = "Glb", glb.size or 1e6
  return arch.new {
    arch.memory { "Main", size = math.huge },
    arch.memory(glb),
    arch.fanout { "PE", X = dimension or 4 },
    arch.compute { "MAC" },
  }
end

local nest = "Main: A B Z\nGlb: A B Z\npar m tile 2 on PE.X\nfor m, k, n\nMAC"

local function analyze(w, a, text, options)
  local r, message, kind = model.analyze(w, a, mapping.new(text), options)
  assert(r, message and kind .. ": " .. message)
  return r
end

local function refused(w, a, text, kind, words, options)
  local r, message, got = model.analyze(w, a, mapping.new(text, { name = "f.loom" }), options)
  assert.is_nil(r)
  assert.equal(kind, got, message)
  front.mentions(message, words)
end

describe("the model", function()
  it("makes each core object once", function()
    local w, a, m = matmul(), machine(), mapping.new(nest)
    local w1, a1, m1 = model.compile(w, a, m)
    local w2, a2, m2 = model.compile(w, a, mapping.new(nest))
    assert.is_true(rawequal(w1, w2) and rawequal(a1, a2))
    assert.is_false(rawequal(m1, m2))
    assert.is_true(rawequal(m1, select(3, model.compile(w, a, m))))
    assert.is_false(rawequal(a1, select(2, model.compile(matmul(), a, m))))
  end)

  it("keeps core objects no longer than what they come from", function()
    local a, m = machine(), mapping.new(nest)
    local seen = setmetatable({}, { __mode = "k" })
    do
      local w = matmul()
      for _, x in ipairs { model.compile(w, a, m) } do seen[x] = true end
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(seen))
  end)

  it("analyses", function()
    local r = analyze(matmul(), machine(), nest)
    local a = r:buffet("Z", "Glb", "A")
    assert.equal(core.int(8 * 4), a.total_reads_to_parent)
    assert.equal(core.int(8 * 4 * 8), a.max_occupancy)
    assert.equal(core.int(8 * 4 * 2), r:compute("Z").total_ops)
  end)

  it("gives formulas for symbols", function()
    local r = analyze(matmul(), machine(),
      "Main: A B Z\nfor m tile M0\nGlb: A B Z\nfor m, k, n\nMAC")
    assert.equal(core.parse "M0 * 4 * 8", r:buffet("Z", "Glb", "A").max_occupancy)
    assert.equal(core.int(32), r:buffet("Z", "Glb", "A").total_reads_to_parent)
    assert.equal(core.parse "8 * ceil(8 / M0)", r:buffet("Z", "Glb", "B").total_reads_to_parent)
  end)

  it("resolves what an architecture says by sets, for each einsum", function()
    local w = matmul { renames = { weight = "B", input = "Inputs - weight" } }
    local a = machine { bits_per_value = { Inputs = 4, weight = 2 } }
    local r = analyze(w, a, nest)
    assert.equal(core.int(32 * 4), r:buffet("Z", "Glb", "A").max_occupancy)
    assert.equal(core.int(8 * 2), r:buffet("Z", "Glb", "B").max_occupancy)
    assert.equal(core.int(16 * 16), r:buffet("Z", "Glb", "Z").max_occupancy)
  end)

  it("resolves values per action of the component and of the action", function()
    local function actions(glb)
      local b = analyze(matmul(), machine(glb), nest):buffet("Z", "Glb", "A")
      return b.total_read_actions, b.total_write_actions
    end
    local reads, writes = actions {}
    assert.equal(reads / 8 / 4, (actions { read = { values_per_action = { A = 4 } } }))
    local _, halved = actions { values_per_action = { All = 2 }, read = { values_per_action = 4 } }
    assert.equal(writes / 8 / 2, halved)
    assert.equal(reads / 16, (actions { read = { bits_per_action = 16 } }))
  end)

  it("resolves what may be reused across a dimension", function()
    local function reads(may_reuse)
      local b = analyze(matmul(), machine({}, { 4, may_reuse = may_reuse }), nest)
        :buffet("Z", "MAC", "B")
      return b.total_reads_to_parent:tointeger()
    end
    local shared = reads "all"
    assert.equal(shared, reads "Inputs")
    assert.equal(shared, reads { "B", "elsewhere" })
    assert.equal(4 * shared, reads "Nothing")
    assert.equal(4 * shared, reads "~B")
    assert.equal(4 * shared, reads {})
  end)

  it("resolves the direction of a toll", function()
    local function reads(direction)
      local a = arch.new {
        arch.memory { "Main", size = math.huge }, arch.toll { "Link", direction = direction },
        arch.compute { "MAC" },
      }
      local r = analyze(matmul(), a, "Main: A B Z\ntoll Link: A Z\nfor m, k, n\nMAC")
      return r:buffet("Z", "Link", "A").total_read_actions:tointeger() > 0
    end
    assert.is_true(reads "down")
    assert.is_false(reads "up")
    assert.is_true(reads { Inputs = "down", Outputs = "up" })
    assert.is_false(reads { Inputs = "up", All = "down" })
  end)

  it("takes a compute node without an einsum for the only one", function()
    local two = workload.new { sizes = { m = 4 }, bits = 8, "T[m] = A[m]", "Z[m] = T[m]" }
    refused(two, machine(), "Main: A T Z\nfor m\nMAC", "unknown_einsum",
      { "f.loom:3:1", "MAC", "T, Z" })
  end)

  it("takes a loop's variable for each einsum below it", function()
    local w = workload.new { sizes = { m = 4, p = 4 }, bits = 8, "T[m] = A[m]", "Z[p] = T[p]" }
    local function text(variables)
      return "Main: A Z\nfor (" .. variables .. ")\n Glb: T\n sequential\n"
        .. "  branch\n   T on MAC\n  branch\n   Z on MAC"
    end
    local r = analyze(w, machine(), text "T: m, Z: p")
    assert.equal(core.int(8), r:buffet("T", "Glb", "T").max_occupancy)
    assert.equal(core.int(4), r:buffet("Z", "Main", "Z").total_writes_to_parent + 4)
    refused(w, machine(), text "T: m", "unknown_rank_variable", { "f.loom:2:5", "einsum Z" })
    refused(w, machine(), text "T: m, Z: p, Y: q", "unknown_einsum", { "f.loom:2:5", "Y" })
  end)

  it("refuses indices that are not affine in the model reference", function()
    local w = workload.new { sizes = { m = 8 }, bits = 8, "Z[m] = A[m // 2]" }
    local text = "Main: A Z\nGlb: A\nfor m\nMAC"
    refused(w, machine(), text, "bad_workload", { "rank 'M'", "tensor 'A'", "affine" },
      { model = "reference" })
    local r = analyze(w, machine(), text)
    assert.equal(core.int(4), r:buffet("Z", "Glb", "A").total_reads_to_parent)
  end)

  it("refuses sets that do not fit the workload", function()
    refused(matmul(), machine { bits_per_value = { C = 3 } }, nest, "unknown_tensor",
      { 'arch.Glb.bits_per_value["C"]', "einsum Z" })
    refused(matmul(), machine { keep = "~Intermediats" }, nest, "unknown_tensor",
      { "arch.Glb.keep:1:2", "nearest: Intermediates" })
    assert.truthy(analyze(matmul(), machine { keep = "~Above", may_keep = "All", back = "Z" },
      nest))
    refused(matmul(), machine({}, { 4, may_reuse = "A | Inptus" }), nest, "unknown_tensor",
      { "arch.PE.X.may_reuse:1:5", "nearest: Inputs" })
    refused(matmul(), machine { values_per_action = { ["A|B"] = 1, ["B|Z"] = 2 } }, nest,
      "ambiguous_set", { "A|B", "B|Z", "cover B" })
  end)

  it("accepts by option what is an error otherwise", function()
    local unknown = "Main: A B Z Q\nfor m, k, n\nMAC"
    refused(matmul(), machine(), unknown, "unknown_tensor", { "f.loom:1:1", "Q" })
    assert.truthy(analyze(matmul(), machine(), unknown, { allow_unknown_tensors = true }))
    local growing = "Main: A B Z\nfor m tile 2\nfor m tile 4\nfor m, k, n\nMAC"
    refused(matmul(), machine(), growing, "bad_tile_shape", { "f.loom:3:5", "m" },
      { model = "reference" })
    assert.truthy(analyze(matmul(), machine(), growing,
      { model = "reference", allow_growing_tiles = true }))
    local two = workload.new { sizes = { m = 4 }, bits = 8, "T[m] = A[m]", "Z[m] = T[m]" }
    local half = "Main: A T Z\nfor m\nT on MAC"
    refused(two, machine(), half, "unmapped_einsum", { "Z" })
    assert.truthy(analyze(two, machine(), half, { allow_unmapped_einsums = true }))
  end)

  it("shows the line of a text with a caret", function()
    local _, message = model.analyze(matmul(), machine(),
      mapping.new("Main: A B Z\n\tGbl: A\nfor m, k, n\nMAC", { name = "f.loom" }))
    assert.truthy(message:find "^f.loom:2:2: [^\n]*Gbl[^\n]*\n  \tGbl: A\n  \t%^$", message)
    local nodes = { mapping.storage { "Main", "A" }, mapping.storage { "Gbl", "A" } }
    _, message = model.analyze(matmul(), machine(), mapping.new(nodes))
    assert.truthy(message:find "^mapping.nodes%[2%]: [^\n]*Gbl[^\n]*$", message)
    local two = workload.new { sizes = { m = 4 }, bits = 8, "T[m] = A[m]", "Z[m] = T[m]" }
    _, message = model.analyze(two, machine(), mapping.new "Main: A T Z\nfor m\n MAC")
    assert.truthy(message:find "^mapping:3:2: [^\n]*\n   MAC\n   %^$", message)
  end)

  it("refuses misuse", function()
    local w, a, m = matmul(), machine(), mapping.new(nest)
    front.mentions(front.raised(model.analyze, {}, a, m).message, { "argument 1", "workload" })
    front.mentions(front.raised(model.analyze, w, {}, m).message, { "argument 2", "architecture" })
    front.mentions(front.raised(model.analyze, w, a, nest).message, { "argument 3", "mapping" })
    local e = front.raised(model.analyze, w, a, m, { allow_unknown_tensor = true })
    front.mentions(e.message, { "nearest: allow_unknown_tensors" })
  end)

  it("runs analyzers of custom holders", function()
    local kinds = {}
    local r = analyze(matmul(), machine(), "Main: A B Z\ncustom packed Glb: A\nfor m, k, n\nMAC", {
      analyzers = { packed = function(node, _, _, as)
        kinds[#kinds + 1] = node.tensor
        return as "storage"
      end },
    })
    assert.same({ "A" }, kinds)
    assert.equal(core.int(32), r:buffet("Z", "Glb", "A").total_reads_to_parent)
  end)
end)
