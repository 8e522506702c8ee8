-- SPDX-License-Identifier: MIT
-- Which model and conventions an analysis is told, and what is refused.
local case = require "einloom.case"
local conventions = require "einloom.conventions"
local core = require "einloom.core"
local loom = require "einloom"
local front = require "support.front"

local w = loom.workload { sizes = { m = 4, k = 2 }, bits = 8, "Z[m] = A[m,k]" }
local a = loom.arch { loom.memory { "Main", size = math.huge }, loom.compute { "MAC" } }
local m = loom.mapping "Main: A Z\nfor m, k\nMAC"

describe("conventions of counting", function()
  it("are those of the options, else the usual ones", function()
    local r = assert(loom.analyze(w, a, m, { model = "reference" }))
    assert.equal("reference", r.model)
    assert.equal("scope", r.conventions.lifetime)
    assert.is_true(r.conventions.drain_reads)
    assert.equal("every_unit", r.conventions.partial_sums)
    assert.equal("reference", r {}.model)
    assert.equal("model reference", conventions.text(r.conventions))
    assert.equal("model exact; contents are retained between visits; reads for writing back are "
      .. "not counted; old partial sums go to one unit", conventions.text {
        model = "exact", lifetime = "retain", drain_reads = false, partial_sums = "one_unit" })
  end)

  it("are refused where there are none such", function()
    for options, words in pairs {
      [{ model = "exat" }] = { "model: reference or exact expected, got exat", "nearest: exact" },
      [{ lifetime = "kept" }] = { "lifetime: scope or retain expected, got kept" },
      [{ drain_reads = "no" }] = { "drain_reads: true or false expected, got the string 'no'" },
      [{ drain_reads = "false" }] = {
        "drain_reads: true or false expected, got the string 'false'" },
      [{ partial_sums = 1 }] = { "partial_sums: every_unit or one_unit expected, got 1" },
      [{ lifetim = "scope" }] = { "unknown key 'lifetim'", "nearest: lifetime" },
    } do
      local e = front.raised(loom.analyze, w, a, m, options)
      assert.equal("bad_argument", e.kind)
      front.mentions(tostring(e), words)
    end
  end)

  it("are in cases, and in the head of a file for all of its cases", function()
    local written = core.json.decode(case.encode(w, a, m))
    written.model, written.conventions = "exact", { lifetime = "retain" }
    local built = case.from_json(written)
    assert.same({ model = "exact", lifetime = "retain" }, built.options)
    written.model, written.conventions, written.schema = nil, nil, nil
    local file = {
      schema = "mapping/1", model = "exact", conventions = { drain_reads = false },
      cases = setmetatable({ written }, core.json.array),
    }
    assert.same({ model = "exact", drain_reads = false },
      case.from_json(case.list(file, "f.json")[1]).options)
    for key, words in pairs {
      model = { "no model \"exat\"", "nearest: exact" },
      conventions = { "lifetime: scope or retain expected, got 3" },
    } do
      written.model, written.conventions = nil, nil
      written[key] = key == "model" and "exat" or { lifetime = 3 }
      local e = front.raised(case.from_json, written)
      assert.equal("bad_case", e.kind)
      front.mentions(tostring(e), words)
    end
  end)
end)

describe("the model reference", function()
  it("refuses contents that are retained", function()
    local retained = loom.mapping "Main: A Z (retain)\nfor m, k\nMAC"
    local _, message, kind = loom.analyze(w, a, retained, { model = "reference" })
    assert.equal("bad_mapping", kind)
    front.mentions(message, { "mapping:1:1", "not counted by the model reference" })
    _, message = loom.analyze(w, a, m, { model = "reference", lifetime = "retain" })
    front.mentions(message, { "not counted by the model reference" })
  end)
end)
