-- SPDX-License-Identifier: MIT
-- The model `exact` counts what the reference counts wherever tiles are even and indices plain (one
-- variable, coefficient 1, no constant): every golden case of that kind, symbolic ones at samples.
-- What may differ there, and why:
-- * max_per_parent_*, min_per_parent_*: of one parent instance in `exact`; in the reference
--   spatial loops above the parent multiply them too. Compared where no loop is spatial.
-- * max_occupancy: the whole tile at its storage node in `exact`; in the reference a reservation
--   sinks below loops that use the tensor.

local files = require "support.files"
local lfs = require "lfs"
local model = require "einloom.model"
local read = require "einloom.case.read"

local always = {
  "total_reads_to_parent", "total_writes_to_parent", "total_skipped_first_reads_to_parent",
  "total_read_actions", "total_write_actions",
  "max_per_unit_read_actions", "max_per_unit_write_actions",
  "total_skipped_first_read_actions", "total_skipped_first_write_actions",
  "min_per_unit_skipped_first_read_actions", "min_per_unit_skipped_first_write_actions",
}
local of_parent = {
  "max_per_parent_reads_to_parent", "max_per_parent_writes_to_parent",
  "min_per_parent_skipped_first_reads_to_parent",
}

local function plain(workload)
  for _, einsum in ipairs(workload.einsums) do
    for _, tensor in ipairs(einsum.tensors) do
      for _, rank in ipairs(tensor.projection) do
        if not rank[2]:match "^%a[%w_]*$" then return false end
      end
    end
  end
  return true
end

local function at(e, point)
  local values = {}
  for _, symbol in ipairs(e:symbols()) do values[symbol] = point[symbol:name()] end
  return next(values) and e(values) or e
end

-- Whether every tile divides the extent around it and no loop has a first tile; whether a loop is
-- spatial.
local function look(result, sizes, point)
  local even, spatial = true, false
  for _, name in ipairs(result:einsums()) do
    local extents = {}
    for _, node in ipairs(result:path(name)) do
      if node.variable then
        local tile = at(node.tile, point):tointeger()
        local extent = extents[node.variable] or sizes[node.variable]
        even = even and not node.first and extent % tile == 0
        extents[node.variable] = tile
        spatial = spatial or node.kind == "spatial"
      end
    end
  end
  return even, spatial
end

local function compare(id, r, e, point, fields)
  local n = 0
  local function same(what, expected, got)
    n = n + 1
    assert.are.equal(at(expected, point), at(got, point), ("%s: %s"):format(id, what))
  end
  for _, name in ipairs(r:einsums()) do
    local buffets = e:buffets(name)
    for i, b in ipairs(r:buffets(name)) do
      for _, field in ipairs(fields) do
        same(("%s %s@%s %s"):format(name, b.tensor, b.level, field), b[field], buffets[i][field])
      end
    end
    local expected, got = r:compute(name), e:compute(name)
    for _, field in ipairs { "total_ops", "max_per_unit_ops", "max_latency" } do
      same(name .. " " .. field, expected[field], got[field])
    end
    same(name .. " steps", r:temporal_steps(name), e:temporal_steps(name))
    local fanout = e:fanout(name)
    for i, row in ipairs(r:fanout(name)) do
      same(("%s %s.%s"):format(name, row.component, row.dim), row.used, fanout[i].used)
    end
  end
  return n
end

local function run(case, which)
  local options = {}
  for name, value in pairs(case.options) do options[name] = value end
  options.model = which
  return assert(model.analyze(case.workload, case.arch, case.mapping, options))
end

-- The number of points at which a case was compared: the first four that are even.
local function check(raw)
  local case = read.from_json(raw)
  if raw.disputed or not plain(raw.workload) then return 0 end
  local r, e = run(case, "reference"), run(case, "exact")
  local points = raw.samples or { {} }
  local n = 0
  for _, point in ipairs(points) do
    local even, spatial = look(r, raw.workload.rank_variables, point)
    if even and n < 4 then
      n = n + 1
      assert.is_true(compare(raw.id, r, e, point, always) > 0)
      if not spatial then compare(raw.id, r, e, point, of_parent) end
    end
  end
  return n
end

describe("the model exact on even tiles and plain indices", function()
  local total = 0
  for name in lfs.dir(files.path "golden/mapping") do
    local raw = name:match "%.json$" and read.decode_file(files.path("golden/mapping/" .. name))
    if raw and raw.schema == "mapping/1" and name ~= "errors.json" then
      it("counts what the reference counts: " .. name, function()
        for _, case in ipairs(raw.cases) do total = total + check(case) end
      end)
    end
  end

  it("was compared often", function() assert.is_true(total > 300, total) end)
end)
