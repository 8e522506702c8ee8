-- SPDX-License-Identifier: MIT
-- Cases of schema mapping/1 for `einloom verify`: analyse and compare with what the case expects.

local case = require "einloom.case"
local compare = require "einloom.verify.compare"
local model = require "einloom.model"

local mapping = {}

local layers_of_kind = { capacity = "costs", capacity_joint = "totals", fanout = "costs" }

-- ---- the shape of `expected` ---------------------------------------------------------------

local function numbers(...)
  local fields = {}
  for _, name in ipairs { ... } do fields[name] = "number" end
  return fields
end

local buffet_fields = numbers(
  "total_reads_to_parent", "total_writes_to_parent",
  "max_per_parent_reads_to_parent", "max_per_parent_writes_to_parent",
  "total_skipped_first_reads_to_parent", "min_per_parent_skipped_first_reads_to_parent",
  "total_read_actions", "total_write_actions",
  "max_per_unit_read_actions", "max_per_unit_write_actions",
  "total_skipped_first_read_actions", "total_skipped_first_write_actions",
  "min_per_unit_skipped_first_read_actions", "min_per_unit_skipped_first_write_actions",
  "max_occupancy",
  "total_deliveries", "total_departures", "total_drains", "fewest_live") -- of the model exact
buffet_fields.n_loops_above = "integer"
buffet_fields.persistent = "boolean"

local compute_fields = numbers("total_ops", "max_per_unit_ops", "max_latency", "instances")

local function reuse_shape(is_copy)
  return compare.object {
    symbols = compare.set(),
    mapping_with_reservations = is_copy and compare.anything() or compare.nest(),
    per_tensor_mapping = is_copy and compare.anything() or compare.map(compare.nest()),
    buffets = compare.records({ "tensor", "level" }, buffet_fields),
    compute = compare.records({ "level" }, compute_fields),
    fanout = compare.records({ "component", "dim" }, numbers "value"),
    temporal_steps = compare.map "number",
  }
end

local plain_shape, copy_shape = reuse_shape(false), reuse_shape(true)

local action_key = { "component", "tensor", "action" }
local costs_shape = compare.object {
  actions = compare.records(action_key, numbers("total", "max_per_unit")),
  energy = compare.records(action_key, numbers "value"),
  leak_energy = compare.records({ "component" }, numbers "value"),
  latency_per_component = compare.map "number",
  latency = "number",
  dynamic_energy = "number",
  leak_energy_total = "number",
  memory_usage = compare.records({ "component", "tensor" }, numbers "fraction_of_size"),
  memory_usage_total = compare.map "number",
  reservations = compare.records({ "component", "n_loops_above" }, numbers "cumulative_fraction"),
  spatial_usage = compare.records({ "component", "dim" }, numbers "fraction_used"),
  n_instances = "number",
}

local totals_shape = compare.object {
  latency = "number",
  energy = "number",
  leak_energy = "number",
  dynamic_energy = "number",
  energy_delay_product = "number",
  energy_per_component = compare.map "number",
  energy_per_einsum = compare.map "number",
  latency_per_einsum = compare.map "number",
  peak_memory_fraction = compare.map "number",
}

-- ---- comparing -----------------------------------------------------------------------------

local function in_layer(layer, wanted) return layer == "all" or layer == wanted end

local function copies(raw)
  local is_copy = {}
  for _, einsum in ipairs(raw.workload.einsums) do is_copy[einsum.name] = einsum.is_copy == true end
  return is_copy
end

-- What is left out of a layer must still have the shape of the schema.
local function check_known(run, shape, at, expected)
  if type(expected) ~= "table" then return end
  for key in pairs(expected) do
    if shape.fields[key] == nil then
      run.differ(("%s.%s"):format(at, tostring(key)), "no such key", "a value")
    end
  end
end

local function compare_part(run, layer, wanted, shape, at, expected, got)
  if not in_layer(layer, wanted) then
    check_known(run, shape, at, expected)
  elseif got == nil and expected ~= nil then
    run.differ(at, "values", ("nothing: %s are not computed"):format(wanted))
  else
    compare.check(run, shape, at, expected, got)
  end
end

local function compare_einsums(run, layer, raw, got)
  local is_copy = copies(raw)
  local expected = raw.expected.per_einsum
  if type(expected) ~= "table" then
    return run.differ("per_einsum", "a result", "a case without one")
  end
  for name in pairs(got.per_einsum) do
    if expected[name] == nil then run.differ("per_einsum." .. name, "nothing", "a result") end
  end
  local einsum_shape = { fields = { reuse = true, costs = true } }
  for name, e in pairs(expected) do
    local at, g = "per_einsum." .. name, got.per_einsum[name]
    if g == nil or type(e) ~= "table" then
      run.differ(at, "a result", g == nil and "nothing" or "an expected value that is no table")
    else
      check_known(run, einsum_shape, at, e)
      local shape = is_copy[name] and copy_shape or plain_shape
      compare_part(run, layer, "reuse", shape, at .. ".reuse", e.reuse, g.reuse)
      compare_part(run, layer, "costs", costs_shape, at .. ".costs", e.costs, g.costs)
    end
  end
end

-- Totals that the model computes from another one: disputed where that is.
local computed_from = {
  [".totals.energy_delay_product"] = ".totals.energy",
  [".totals.energy_per_einsum"] = ".totals.energy",
}

-- Totals were recorded in single precision.
local function totals_run(run)
  local disputed = run.disputed and function(bare, keys)
    return run.disputed(bare, keys) or
      computed_from[bare] ~= nil and run.disputed(computed_from[bare], keys)
  end
  local own = { tolerance = run.totals_tolerance, rounded = true, disputed = disputed }
  return setmetatable(own, { __index = run })
end

local function compare_result(run, layer, raw, result, costs)
  local got = case.results(result, costs)
  compare_einsums(run, layer, raw, got)
  local totals = raw.samples == nil and got.totals or nil
  compare_part(totals_run(run), layer, "totals", totals_shape, "totals", raw.expected.totals,
    totals)
end

-- The einsums and components of a case, by name.
local function names_of(raw)
  local names = {}
  for _, einsum in ipairs(raw.workload.einsums) do names[einsum.name] = true end
  for _, node in ipairs(raw.arch.nodes) do names[node.name or ""] = true end
  return names
end

-- result and costs, or nil, nil, message, kind; a mistake of the program itself is raised.
local function compute(run, raw, layer)
  local ok, built = pcall(case.from_json, raw)
  if not ok then
    if type(built) ~= "table" or not built.kind then error(built, 0) end
    return nil, nil, tostring(built), built.kind
  end
  local w, a, m = built.workload, built.arch, built.mapping
  run.names = names_of(raw)
  local r, message, kind = require "einloom".analyze(w, a, m, built.options)
  if not r then return nil, nil, message, kind end
  local result = r.raw
  run.samples = built.samples or {}
  for i, sample in ipairs(run.samples) do
    local fits, problem = pcall(r, sample)
    if not fits then
      if type(problem) ~= "table" then error(problem, 0) end
      return nil, nil, ("samples[%d]: %s"):format(i, problem.message), problem.kind
    end
  end
  if layer == "reuse" then return result end
  local costs
  costs, message, kind = model.cost(result, w, a, m, { allow_exceeded_limits = raw.samples ~= nil })
  if costs and layers_of_kind[(raw.expected or {}).error] then
    for i, sample in ipairs(run.samples) do
      local energy
      energy, message, kind = r(sample):energy()
      if not energy then return nil, nil, ("samples[%d]: %s"):format(i, message), kind end
    end
  end
  return costs and result, costs, message, kind
end

local function check_error(run, raw, result, message, kind)
  check_known(run, { fields = { error = true, message_about = true } }, "expected", raw.expected)
  if result then
    run.differ("error", raw.expected.error, "a result")
  elseif kind ~= raw.expected.error then
    run.differ("error", raw.expected.error, ("%s (%s)"):format(kind, message))
  end
end

--- Runs one case. Returns "left out" when the layer does not ask for it.
---@param run einloom.comparison
---@param raw table decoded case
---@param layer string
---@return string?
function mapping.check(run, raw, layer)
  local expected = raw.expected
  local error_layer = layers_of_kind[expected.error]
  if layer == "reuse" and error_layer then return "left out" end
  local result, costs, message, kind = compute(run, raw, layer)
  if expected.error ~= nil then return check_error(run, raw, result, message, kind) end
  if not result then
    return run.differ("", "a result", ("%s (%s)"):format(kind, message))
  end
  local shape = { fields = { per_einsum = true, totals = true } }
  check_known(run, shape, "expected", expected)
  compare_result(run, layer, raw, result, costs)
end

return mapping
