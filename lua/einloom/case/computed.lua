-- SPDX-License-Identifier: MIT
-- What is computed of a case, as a tree in the shape of its `expected`; numbers are expressions.

local core = require "einloom.core"

local computed = {}

local null, array = core.json.null, core.json.array

local function node_text(node)
  local kind = node.kind
  if kind == "compute" then return ("compute %s@%s"):format(node.einsum, node.component) end
  if kind == "temporal" or kind == "spatial" then
    local first = node.first and " first " .. tostring(node.first)
      or node.step and " step " .. tostring(node.step) or ""
    local place = kind == "spatial" and ("@%s.%s"):format(node.component, node.dim) or ""
    return ("%s %s:%s%s%s"):format(kind, node.variable, node.tile, first, place)
  end
  local word = kind == "storage" and "store" or kind == "reservation" and "reserve" or
    node.custom or kind
  return ("%s %s@%s"):format(word, node.tensor, node.component)
end

--- The nodes of a path or nest as strings, one per node.
---@param nodes table[]
---@return string[]
function computed.nest_text(nodes)
  local out = {}
  for i, node in ipairs(nodes) do out[i] = node_text(node) end
  return out
end

local function symbol_names(list)
  local names = {}
  for i, symbol in ipairs(list) do
    names[i] = type(symbol) == "string" and symbol or symbol:name()
  end
  return names
end

local function fanout_records(list)
  local records = {}
  for i, row in ipairs(list) do
    records[i] = { component = row.component, dim = row.dim, value = row.used }
  end
  return records
end

--- The reuse statistics of one einsum, by the names of the schema; numbers are expressions.
---@param result userdata what `einloom.model`'s analyze returns
---@param einsum string
---@return table
function computed.reuse(result, einsum)
  local nests = {}
  for _, tensor in ipairs(result:tensors(einsum)) do
    nests[tensor] = computed.nest_text(result:nest(einsum, tensor))
  end
  return {
    symbols = symbol_names(result:symbols(einsum)),
    mapping_with_reservations = computed.nest_text(result:path(einsum)),
    per_tensor_mapping = nests,
    buffets = result:buffets(einsum),
    compute = { result:compute(einsum) },
    fanout = fanout_records(result:fanout(einsum)),
    temporal_steps = { [einsum] = result:temporal_steps(einsum) },
  }
end

local zero = core.int(0)

-- One record for each row that is wanted (all without `wanted`), its fields given as name = field.
local function records(rows, fields, wanted)
  local out = setmetatable({}, array)
  for _, row in ipairs(rows) do
    if not wanted or wanted(row) then
      local record = {}
      for name, field in pairs(fields) do record[name] = row[field] end
      out[#out + 1] = record
    end
  end
  return out
end

local function with_tensor(list)
  for _, record in ipairs(list) do
    if record.tensor == nil then record.tensor = null end
  end
  return list
end

local function map(rows, key, field)
  local out = {}
  for _, row in ipairs(rows) do out[row[key]] = row[field] end
  return out
end

--- The costs of one einsum, by the names of the schema.
---@param costs userdata what `einloom.model`'s cost returns
---@param einsum string
---@return table
function computed.costs(costs, einsum)
  local e = costs:einsum(einsum)
  local named = { component = "component", tensor = "tensor", action = "action" }
  local counts = { total = "total", max_per_unit = "max_per_unit" }
  local energy = { value = "energy" }
  for name, field in pairs(named) do counts[name], energy[name] = field, field end
  return {
    actions = with_tensor(records(e.actions, counts)),
    energy = with_tensor(records(e.actions, energy, function(row) return row.total ~= zero end)),
    leak_energy = records(e.components, { component = "component", value = "leak_energy" },
      function(row) return row.leak_energy end),
    latency_per_component = map(e.components, "component", "latency"),
    latency = e.latency, dynamic_energy = e.dynamic_energy, leak_energy_total = e.leak_energy,
    memory_usage = records(e.memory,
      { component = "component", tensor = "tensor", fraction_of_size = "fraction" }),
    memory_usage_total = map(e.components, "component", "usage"),
    reservations = records(e.reserved, { component = "component",
      n_loops_above = "n_loops_above", cumulative_fraction = "fraction" }),
    spatial_usage = records(e.spatial,
      { component = "component", dim = "dim", fraction_used = "fraction" }),
    n_instances = e.n_instances,
  }
end

--- The costs of the whole workload, by the names of the schema.
---@param costs userdata
---@return table
function computed.totals(costs)
  local t = costs:total()
  local energy, latency = {}, {}
  for _, name in ipairs(costs:einsums()) do
    local e = costs:einsum(name)
    energy[name], latency[name] = e.dynamic_energy + e.leak_energy, e.latency
  end
  return {
    latency = t.latency, energy = t.energy, dynamic_energy = t.dynamic_energy,
    leak_energy = t.leak_energy, energy_delay_product = t.energy_delay_product,
    energy_per_component = map(t.components, "component", "energy"),
    energy_per_einsum = energy, latency_per_einsum = latency,
    peak_memory_fraction = map(t.peaks, "component", "fraction"),
  }
end

--- Everything that is computed, in the shape of a case's `expected`; totals of what has no symbols.
---@param result userdata
---@param costs? userdata
---@return table
function computed.results(result, costs)
  local per_einsum, symbols = {}, 0
  for _, name in ipairs(result:einsums()) do
    per_einsum[name] = {
      reuse = computed.reuse(result, name),
      costs = costs and computed.costs(costs, name),
    }
    symbols = symbols + #result:symbols(name)
  end
  local totals = costs and symbols == 0 and computed.totals(costs) or nil
  return { per_einsum = per_einsum, totals = totals }
end

return computed
