-- SPDX-License-Identifier: MIT
-- Wrong input is named, neither crashes nor is accepted (report BAD_mapping_inputs): the offending
-- item, where it stands, and for names the nearest known ones.

local arch = require "einloom.arch"
local mapping = require "einloom.mapping"
local model = require "einloom.model"
local workload = require "einloom.workload"
local front = require "support.front"

local einsum = "Z[m,n] = A[m,k] * B[k,n]"

local function base(sizes, text)
  return workload.new { sizes = sizes or { m = 4, k = 4, n = 4 }, bits = 8, text or einsum }
end

local machine = arch.new {
  arch.memory { "Main", size = math.huge },
  arch.memory { "Glb", size = math.huge },
  arch.compute { "MAC" },
}

local good = [[
Main: A B Z
Glb: A B Z
for m
for k
for n
MAC
]]

-- The message about the base mapping with one change; the kind must be as given.
local function message(kind, change, by, options)
  local text, n = good:gsub(change, by)
  assert(n == 1)
  local ok, r, said, got = pcall(function()
    return model.analyze(base(), machine, mapping.new(text, { name = "bad.loom" }), options)
  end)
  if not ok then
    said, got = tostring(r), r.kind
  else
    assert.is_nil(r)
  end
  assert.equal(kind, got, said)
  return said
end

describe("report BAD_mapping_inputs", function()
  it("0: the base mapping is accepted", function()
    assert.truthy(model.analyze(base(), machine, mapping.new(good)))
  end)

  it("1: a loop over a rank variable that does not exist", function()
    front.mentions(message("unknown_rank_variable", "for k\n", "for k\nfor q tile 2\n"),
      { "bad.loom:5:5", "q" })
  end)

  it("2: a stored tensor that does not exist", function()
    front.mentions(message("unknown_tensor", "Main: A B Z", "Main: A B Z Q"),
      { "bad.loom:1:1", "Q" })
  end)

  it("3: a misspelt level", function()
    front.mentions(message("unknown_component", "Glb:", "Gbl:"), { "bad.loom:2:1", "Gbl", "Glb" })
  end)

  it("4: tile 0", function()
    front.mentions(message("bad_tile_shape", "for m\n", "for m tile 0\nfor m\n"),
      { "bad.loom:3:12", "0" })
  end)

  it("5: tile -2", function()
    front.mentions(message("bad_tile_shape", "for m\n", "for m tile -2\nfor m\n"),
      { "bad.loom:3:12", "-2" })
  end)

  it("6: no loop for n", function()
    front.mentions(message("missing_loop", "for n\n", ""), { "n" })
  end)

  it("7: no compute node", function()
    front.mentions(message("no_compute", "MAC\n", ""), { "compute" })
  end)

  it("8: Z stored nowhere", function()
    local ok = model.analyze(base(), machine, mapping.new(good))
    assert.truthy(ok)
    local text = good:gsub(" Z", "")
    local r, said, kind = model.analyze(base(), machine, mapping.new(text))
    assert.is_nil(r)
    assert.equal("missing_storage", kind)
    front.mentions(said, { "Z" })
  end)

  it("9: the inner level above the outer one", function()
    front.mentions(message("storage_order", "^Main: A B Z\nGlb: A B Z", "Glb: A B Z\nMain: A B Z"),
      { "bad.loom:2:1", "Glb", "Main" })
  end)

  it("10: A stored twice on one level", function()
    front.mentions(message("duplicate_storage", "Glb: A B Z\n", "Glb: A B Z\nGlb: A\n"),
      { "bad.loom:3:1", "A", "Glb" })
    front.mentions(message("duplicate_storage", "Glb: A B Z\n", "Glb: A B Z A\n"),
      { "bad.loom:2:1", "A", "Glb" })
  end)

  it("11: a variable of size 0", function()
    local e = front.raised(base, { m = 0, k = 4, n = 4 })
    front.mentions(tostring(e), { "m", "0" })
  end)

  it("12: a variable without a size", function()
    local e = front.raised(base, { m = 4, k = 4 })
    front.mentions(tostring(e), { "variable n" })
    assert.equal(23, e.column)
  end)

  it("13: a tile larger than the extent it cuts", function()
    local by = "for m tile 2\nfor m tile 4\nfor m\n"
    front.mentions(message("bad_tile_shape", "for m\n", by, { model = "reference" }),
      { "bad.loom:4:5", "m" })
    local clipped = assert(model.analyze(base(), machine, mapping.new((good:gsub("for m\n", by)))))
    local plain = assert(model.analyze(base(), machine,
      mapping.new((good:gsub("for m\n", "for m tile 2\nfor m tile 2\nfor m\n")))))
    for _, tensor in ipairs { "A", "B", "Z" } do
      assert.same(plain:buffet("Z", "Glb", tensor), clipped:buffet("Z", "Glb", tensor))
    end
  end)

  it("14: an index m*k", function()
    local e = front.raised(base, nil, "Z[m,n] = A[m*k] * B[k,n]")
    front.mentions(e.message, { "m*k" })
    assert.equal(13, e.column)
  end)

  it("15: no output tensor", function()
    local e = front.raised(workload.new, { rank_variables = { m = 4 }, einsums = { { name = "E",
      tensors = { { tensor = "A", projection = { { "M", "m" } }, bits_per_value = 8 } } } } })
    front.mentions(e.message, { "output" })
  end)

  it("16: an empty list of options is as none", function()
    local r = model.analyze(base(), machine, mapping.new(good), { analyzers = {} })
    assert.truthy(r)
  end)

  it("17: loops that together do not cover a bound", function()
    local r, said, kind = model.analyze(base(), machine,
      mapping.new "Main: A B Z\nfor m tile 4\nfor k tile 4\nfor n tile 4\nMAC")
    assert.is_nil(r)
    assert.equal("missing_loop", kind)
    front.mentions(said, { "m" })
  end)
end)
