-- SPDX-License-Identifier: MIT
-- Figures that can never be right (report MA_sanity_invariants): the invariants hold for the value
-- counts of every undisputed golden case, at each of its samples; in the model reference of those
-- whose tiles are even.

local core = require "einloom.core"
local files = require "support.files"
local lfs = require "lfs"
local loom = require "einloom"

local one = core.int(1)

local function whole(e) return e:is_number() and e:is_integer() and not e:lt(0) end

-- ---- the cases -----------------------------------------------------------------------------

local function options_of(case, model, lifetime)
  local options = {}
  for key, value in pairs(case.options) do options[key] = value end
  options.model, options.lifetime = model, lifetime
  return options
end

-- Results of a case at its samples, in the reference those with even tiles.
local function results_of(case, model, lifetime)
  local result, message = loom.analyze(case.workload, case.arch, case.mapping,
    options_of(case, model, lifetime))
  if not result then
    assert(model == "reference", message)
    return {}
  end
  local list = {}
  local samples = case.samples or {}
  if #samples == 0 then samples = { {} } end
  for _, sample in ipairs(samples) do
    local at, even = result(sample), true
    for _, einsum in ipairs(at.einsums) do
      for _, node in ipairs(einsum:path()) do
        local uneven = node.trips and not whole(node.trips)
        if uneven and model == "reference" then even = false end
      end
    end
    if even then list[#list + 1] = at end
  end
  return list
end

local function undisputed_ids(path)
  local ids = {}
  for _, raw in ipairs(core.json.decode(files.read(path)).cases) do
    if not raw.disputed and not raw.expected.error then ids[raw.id] = true end
  end
  return ids
end

local folder = files.path "golden/mapping"
local cases = {}
for name in lfs.dir(folder) do
  if name:match "%.json$" and name ~= "tiles.json" then
    local ids = undisputed_ids(folder .. "/" .. name)
    local read = next(ids) and loom.read_case(folder .. "/" .. name) or {}
    for _, case in ipairs(read) do
      if ids[case.id] then cases[#cases + 1] = case end
    end
  end
end
table.sort(cases, function(a, b) return a.id < b.id end)

-- ---- what a tensor is ----------------------------------------------------------------------

-- Distinct elements that the einsum touches, by rank: variables of ranks are disjoint, or nil.
local function distinct(workload, tensor)
  local count, used = 1, {}
  for i, form in ipairs(tensor.affine) do
    local values = { [form.constant] = true }
    for _, term in ipairs(form.terms) do
      local variable, coefficient = term[1], term[2]
      if used[variable] and used[variable] ~= i then return nil end
      used[variable] = i
      local next_values = {}
      for value in pairs(values) do
        for x = 0, workload.rank_variables[variable] - 1 do
          next_values[value + coefficient * x] = true
        end
      end
      values = next_values
    end
    local n = 0
    for _ in pairs(values) do n = n + 1 end
    count = count * n
  end
  return count
end

local function tensor_of(case, einsum, name)
  for _, definition in ipairs(case.workload.einsums) do
    if definition.name == einsum then
      for _, tensor in ipairs(definition.tensors) do
        if tensor.tensor == name then return tensor, definition end
      end
    end
  end
end

-- ---- the invariants ------------------------------------------------------------------------

local function array_size(case)
  local size = one
  for _, node in ipairs(case.arch.nodes) do
    for _, dim in ipairs(node.spatial or {}) do size = size * dim.fanout end
  end
  return size
end

local current -- the result that is checked
local check, exact_fields = {}, { "total_deliveries", "total_departures", "total_drains" }

function check.instances(case, einsum, model)
  local used = one
  for _, dim in ipairs(einsum.fanout) do used = used * dim.used end
  if model == "exact" then
    local instances = einsum.compute.instances
    assert.is_true(instances:le(used), case.id)
    assert.is_true(einsum.compute.ops:le(instances * einsum.temporal_steps), case.id)
    assert.is_true(einsum.compute.latency:le(einsum.compute.ops), case.id)
  end
  assert.is_true(einsum.compute.ops:le(used * einsum.temporal_steps), case.id)
  -- Samples of open mappings may ask for more than there is: limits are formulas there.
  if not case.samples then assert.is_true(used:le(array_size(case)), case.id) end
end

function check.capacity(case, einsum, model)
  if #case.samples > 0 then return end
  local held = {}
  for _, buffet in ipairs(einsum.buffets) do
    held[buffet.level] = (held[buffet.level] or 0) + buffet.max_occupancy
  end
  for _, node in ipairs(case.arch.nodes) do
    if held[node.name] and node.size and node.size ~= math.huge then
      local fits = held[node.name]:le(core.number(node.size))
      if model == "exact" and not fits then
        local _, _, kind = current:energy()
        assert.equal("capacity", (kind:match "^capacity"), case.id)
      else
        assert.is_true(fits, case.id .. " " .. node.name)
      end
    end
  end
end

local value_fields = {
  "total_reads_to_parent", "total_writes_to_parent", "total_skipped_first_reads_to_parent",
  "max_per_parent_reads_to_parent", "max_per_parent_writes_to_parent",
  "min_per_parent_skipped_first_reads_to_parent",
}

function check.counts_are_natural(_, einsum, model)
  for _, buffet in ipairs(einsum.buffets) do
    for _, fields in ipairs { value_fields, model == "exact" and exact_fields or {} } do
      for _, field in ipairs(fields) do
        assert.is_true(whole(buffet[field]), buffet.tensor .. "@" .. buffet.level .. "." .. field)
      end
    end
    local net = buffet.total_reads_to_parent - buffet.total_skipped_first_reads_to_parent
    assert.is_true(whole(net))
  end
end

function check.traffic_covers_the_tensor(case, einsum)
  for _, buffet in ipairs(einsum.buffets) do
    local tensor, definition = tensor_of(case, einsum.name, buffet.tensor)
    local count = not definition.is_copy and distinct(case.workload, tensor)
    local asked = buffet.total_reads_to_parent
    if count and not asked:eq(0) and tensor.output ~= true then
      assert.is_true(core.int(count):le(asked), buffet.tensor .. "@" .. buffet.level)
    elseif count and tensor.output and not buffet.total_writes_to_parent:eq(0) then
      assert.is_true(core.int(count):le(buffet.total_writes_to_parent))
    end
  end
end

-- Next to the compute unit: no more reads than operations, and as many updates but for what an
-- adder tree joins.
function check.compute_level(case, einsum)
  local joins = false
  for _, node in ipairs(case.arch.nodes) do
    for _, dim in ipairs(node.spatial or {}) do
      joins = joins or dim.may_reuse == "all" or next(dim.may_reuse or {}) ~= nil
    end
  end
  local level = einsum.compute.level
  for _, buffet in ipairs(einsum.buffets) do
    local tensor, definition = tensor_of(case, einsum.name, buffet.tensor)
    if buffet.level == level and not definition.is_copy then
      assert.is_true(buffet.total_reads_to_parent:le(einsum.compute.ops))
      if tensor.output and not joins then
        assert.are.equal(einsum.compute.ops, buffet.total_writes_to_parent)
      end
    end
  end
end

function check.less_is_live_than_reserved(case, einsum, model)
  if model == "reference" then return end
  for _, buffet in ipairs(einsum.buffets) do
    local at = ("%s %s@%s"):format(case.id, buffet.tensor, buffet.level)
    assert.is_true(buffet.fewest_live:le(buffet.max_occupancy), at)
    assert.is_true(buffet.total_reads_to_parent:le(buffet.total_deliveries), at)
    assert.is_true(buffet.total_writes_to_parent:le(buffet.total_departures), at)
  end
end

local function without_reuse(arch)
  local nodes = {}
  for i, node in ipairs(arch.nodes) do
    local copy = {}
    for key, value in pairs(node) do copy[key] = value end
    copy.spatial = {}
    for j, dim in ipairs(node.spatial or {}) do
      copy.spatial[j] = {}
      for key, value in pairs(dim) do copy.spatial[j][key] = value end
      copy.spatial[j].may_reuse = {}
    end
    nodes[i] = copy
  end
  return loom.arch { nodes = nodes }
end

local function assert_no_more(case, with, without)
  for i, einsum in ipairs(with.einsums) do
    for j, buffet in ipairs(einsum.buffets) do
      local other = without.einsums[i].buffets[j]
      for _, field in ipairs { "total_reads_to_parent", "total_writes_to_parent" } do
        assert.is_true(buffet[field]:le(other[field]), case.id .. " " .. field)
      end
    end
  end
end

local function invariants(model)
  local all = {}
  for _, case in ipairs(cases) do all[case.id] = results_of(case, model) end

  for name, holds in pairs(check) do
    it((name:gsub("_", " ")), function()
      local checked = 0
      for _, case in ipairs(cases) do
        for _, result in ipairs(all[case.id]) do
          current = result
          for _, einsum in ipairs(result.einsums) do
            holds(case, einsum, model)
            checked = checked + 1
          end
        end
      end
      assert.is_true(checked > 500, tostring(checked))
    end)
  end

  it("multicast never moves more", function()
    local checked = 0
    for _, case in ipairs(cases) do
      local spread = loom.analyze(case.workload, without_reuse(case.arch), case.mapping,
        options_of(case, model))
      local samples = #case.samples > 0 and case.samples or { {} }
      for i, sample in ipairs(samples) do
        if all[case.id][i] and #all[case.id] == #samples then
          assert_no_more(case, all[case.id][i], spread(sample))
          checked = checked + 1
        end
      end
    end
    assert.is_true(checked > 200)
  end)

  it("a second run in another context gives the same text", function()
    for i = 1, #cases, 10 do
      local case = cases[i]
      local options = options_of(case, model)
      local again = loom.analyze(case.workload, case.arch, case.mapping, options)
      collectgarbage()
      local first = loom.analyze(case.workload, case.arch, case.mapping, options)
      assert.are.equal(tostring(first), tostring(again))
    end
  end)

  if model == "exact" then
    it("contents that are retained move no more than contents that are dropped", function()
      local checked = 0
      for _, case in ipairs(cases) do
        for i, retained in ipairs(results_of(case, model, "retain")) do
          assert_no_more(case, retained, all[case.id][i])
          checked = checked + 1
        end
      end
      assert.is_true(checked > 500)
    end)
  end
end

for _, model in ipairs { "reference", "exact" } do
  describe(("invariants of the golden mappings, model %s:"):format(model), function()
    invariants(model)
  end)
end
