-- SPDX-License-Identifier: MIT
-- Workloads, architectures and mappings do not change once they are made.
local core = require "einloom.core"
local loom = require "einloom"
local front = require "support.front"

local function definitions()
  return {
    sizes = { m = 8, k = 8 }, bits = { All = 8 }, shared_tensors = { "A" },
    renames = { weight = { "A", expected_count = 1 } }, rank_sizes = { M = 8 },
    "Z[m] = A[m, k]",
  }, {
    loom.memory { "DRAM", size = math.huge, read = { energy = 2 }, bits_per_value = { All = 8 } },
    loom.fanout { "PE", x = { 4, may_reuse = { "A" } } },
    loom.compute { "MAC", latency_rule = { constant = 3 } },
  }, {
    loom.storage { "DRAM", "A", "Z" }, loom.temporal { "m", 4 },
    loom.sequential { { loom.temporal { { Z = "m" } }, loom.temporal { "k" },
      loom.compute_node { "MAC" } } },
  }
end

local function objects()
  local w, a, m = definitions()
  return { workloads = loom.workload(w), architectures = loom.arch(a), mappings = loom.mapping(m) }
end

-- Calls visit(table, path) for every table that can be reached by reading.
local function reach(x, path, visit, seen)
  if type(x) ~= "table" or seen[x] then return end
  seen[x] = true
  visit(x, path)
  for key, entry in pairs(x) do
    reach(entry, ("%s.%s"):format(path, tostring(key)), visit, seen)
  end
end

local function each_table(visit)
  for what, object in pairs(objects()) do
    local n = 0
    reach(object, what, function(x, path)
      n = n + 1
      visit(x, path, what)
    end, {})
    assert.is_true(n > 5, what)
  end
end

describe("workloads, architectures and mappings", function()
  it("refuse every assignment, at any depth", function()
    each_table(function(x, path, what)
      local keys = { "new", 1, #x + 1 }
      for key in pairs(x) do keys[#keys + 1] = key end
      for _, key in ipairs(keys) do
        local e = front.raised(function() x[key] = 3 end)
        assert.truthy(tostring(e):find(what .. " are immutable: make a new one", 1, true), path)
      end
    end)
  end)

  it("read alike by key, by pairs, by ipairs and by length", function()
    each_table(function(x, path)
      for key, entry in pairs(x) do assert.is_true(rawequal(entry, x[key]), path) end
      local n = 0
      for i, entry in ipairs(x) do
        n = i
        assert.is_true(rawequal(entry, x[i]), path)
      end
      assert.equal(n, #x, path)
      assert.is_nil(x["no such key"])
    end)
  end)

  it("are the same after what they were made from has changed", function()
    local w, a, m = definitions()
    local objects_of = { loom.workload(w), loom.arch(a), loom.mapping(m) }
    local function all()
      local result = assert(loom.analyze(table.unpack(objects_of)))
      return tostring(result) .. loom.write_case(result)
    end
    local before = all()
    for _, definition in ipairs { w, a, m } do
      local tables = {}
      reach(definition, "", function(x) tables[#tables + 1] = x end, {})
      for _, x in ipairs(tables) do
        for key in pairs(x) do x[key] = nil end
      end
    end
    assert.equal(before, all())
  end)

  it("can be made of parts of others", function()
    local o = objects()
    local m = loom.mapping { nodes = o.mappings.nodes }
    assert.is_true(m == o.mappings)
    local parts = {}
    for i, node in ipairs(o.mappings.nodes) do parts[i] = node end
    assert.is_true(loom.mapping(parts) == m)
    local a = loom.arch { nodes = o.architectures.nodes }
    assert.equal(tostring(o.architectures), tostring(a))
    local w = loom.workload { sizes = o.workloads.rank_variables, bits = 8, "Z[m] = A[m, k]" }
    assert.equal(tostring(o.workloads), tostring(w))
    assert(loom.analyze(w, a, m))
  end)

  it("print what was analysed", function()
    local o = objects()
    pcall(function() o.mappings.nodes[2].tile_shape = 2 end)
    pcall(function() o.workloads.rank_variables.m = 16 end)
    local r = assert(loom.analyze(o.workloads, o.architectures, o.mappings))
    assert.equal(core.int(64), r.DRAM.A.values)
    assert.truthy(tostring(o.workloads):find("m=8", 1, true))
    assert.truthy(tostring(o.mappings):find("for m tile 4", 1, true))
  end)
end)
