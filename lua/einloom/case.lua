-- SPDX-License-Identifier: MIT
-- Cases of schema mapping/1: a workload, an architecture, a mapping and points to evaluate them at,
-- as JSON. Reading never runs code; writing gives back what was read, number for number.

local core = require "einloom.core"
local errors = require "einloom.errors"
local points = require "einloom.points"

local case = {}

case.schema = "mapping/1"

local null, array = core.json.null, core.json.array

local known_keys = {
  schema = true, model = true, id = true, family = true, note = true, tags = true,
  workload = true, arch = true, mapping = true, symbols = true, samples = true, expected = true,
  disputed = true, dispute_reason = true, disputed_fields = true, alternatives = true,
  older_version = true, source = true, tolerance = true,
}

local file_keys = {
  schema = true, family = true, model = true, tolerance = true, note = true, source = true,
  cases = true,
}

local function bad(message, path) errors.raise("bad_case", message, { path = path }) end

-- ---- numbers ------------------------------------------------------------------------------

local function read_symbol(value, symbols, path)
  if type(value.symbol) ~= "string" then bad("a symbol is given by its name", path) end
  errors.check_keys("bad_case", value, { symbol = true }, path)
  return symbols[value.symbol] or core.symbol(value.symbol)
end

local function read_formula(value, symbols, path)
  errors.check_keys("bad_case", value, { formula = true }, path)
  local known = {}
  for _, symbol in pairs(symbols) do known[#known + 1] = symbol end
  return core.parse(value.formula, path, known)
end

-- A JSON number, "inf", an exact number as text, {"symbol": name} or {"formula": text}.
local function read_number(value, symbols, path)
  if type(value) == "number" or value == nil then return value end
  if value == "inf" then return math.huge end
  if type(value) == "string" then
    local ok, number = pcall(core.number, value)
    if ok then return number end
  elseif type(value) == "table" and value.symbol ~= nil then
    return read_symbol(value, symbols, path)
  elseif type(value) == "table" and type(value.formula) == "string" then
    return read_formula(value, symbols, path)
  end
  return bad(("a number was expected, not %s"):format(core.json.encode(value)), path)
end

local function as_json(e)
  local integer = e:tointeger()
  if integer then return integer end
  local real = e:tonumber()
  if real and math.abs(real) < math.huge and core.number(real) == e then return real end
  if real then return tostring(e) end
  if e:kind() == "sym" then return { symbol = e:name() } end
  return { formula = e:print "infix" }
end

--- An exact number or a formula as JSON: an integer, a real where the real is exact, else text.
---@param value any number or expression
---@return any
function case.number_to_json(value)
  if value == math.huge then return "inf" end
  if core.is_expr(value) then return as_json(value) end
  return value
end

-- ---- reading ------------------------------------------------------------------------------

local number_fields = {
  size = true, energy = true, throughput = true, bits_per_action = true, fanout = true,
  usage_scale = true, leak_power = true, actions_scale = true, n_parallel_instances = true,
  area = true, tile_shape = true, initial_tile_shape = true, n_instances = true,
  sum_count_over = true, constant = true,
}
-- Numbers by name, or one number for all.
local number_tables = {
  rank_variables = true, rank_sizes = true, bits_per_value = true, values_per_action = true,
  iteration_space = true,
}

local read

local function read_numbers(value, symbols, path)
  if type(value) ~= "table" or value.symbol ~= nil or value.formula ~= nil then
    return read_number(value, symbols, path)
  end
  local out = {}
  for key, number in pairs(value) do
    out[key] = read_number(number, symbols, ("%s.%s"):format(path, key))
  end
  return out
end

-- {name: set} or {name: {"set": set, "expected_count": n}} in the form of the constructor.
local function read_renames(value, path)
  if type(value) ~= "table" then return value end
  local out = {}
  for name, rename in pairs(value) do
    if type(rename) == "table" then
      local known = { set = true, expected_count = true }
      errors.check_keys("bad_case", rename, known, ("%s.%s"):format(path, name))
      rename = { rename.set, expected_count = rename.expected_count }
    end
    out[name] = rename
  end
  return out
end

local function read_field(key, value, symbols, path)
  if key == "renames" then return read_renames(value, path) end
  if value == null then return nil end
  if number_fields[key] then return read_number(value, symbols, path) end
  if number_tables[key] then return read_numbers(value, symbols, path) end
  return read(value, symbols, path)
end

function read(value, symbols, path)
  if value == null then bad("null has no meaning here", path) end
  if type(value) ~= "table" then return value end
  local out = {}
  for key, entry in pairs(value) do
    local here = math.type(key) == "integer" and ("%s[%d]"):format(path, key) or path .. "." .. key
    out[key] = read_field(key, entry, symbols, here)
  end
  return out
end

local function read_symbols(raw)
  local symbols = {}
  for name, facts in pairs(raw.symbols or {}) do
    local path = "symbols." .. tostring(name)
    if type(facts) ~= "table" then bad("a table of facts was expected", path) end
    local given = {}
    for key, value in pairs(facts) do given[key] = value end
    if given.divides ~= nil then given.divides = read_number(given.divides, {}, path) end
    symbols[name] = core.symbol(name, given)
  end
  return symbols
end

local function need(raw, key)
  if type(raw[key]) ~= "table" then bad(("the case has no %s"):format(key), raw.id) end
  return raw[key]
end

local function read_samples(raw)
  local samples = {}
  for i, sample in ipairs(raw.samples or {}) do
    local path = ("samples[%d]"):format(i)
    if type(sample) ~= "table" then bad("a table of symbols and values was expected", path) end
    local point = {}
    for name, value in pairs(sample) do
      point[name] = read_number(value, {}, ("%s.%s"):format(path, name))
    end
    samples[i] = point
  end
  return samples
end

local function is_tagged(raw, tag)
  for _, name in ipairs(raw.tags or {}) do
    if name == tag then return true end
  end
  return false
end

---@class einloom.Case
---@field id string
---@field workload table
---@field arch table
---@field mapping table
---@field samples table[] points: values by symbol name
---@field options table leniency, as `loom.analyze` takes it
---@field raw table the decoded JSON

--- A case from decoded JSON. Raises an error object with the kind of mistake.
---@param raw table
---@return einloom.Case
function case.from_json(raw)
  if type(raw) ~= "table" then bad "a case is a JSON object" end
  errors.check_keys("bad_case", raw, known_keys, raw.id or "case")
  local symbols = read_symbols(raw)
  local lenient = is_tagged(raw, "lenient_input")
  return {
    id = raw.id or "case",
    workload = require "einloom.workload".new(read(need(raw, "workload"), symbols, "workload")),
    arch = require "einloom.arch".new(read(need(raw, "arch"), symbols, "arch")),
    mapping = require "einloom.mapping".new(read(need(raw, "mapping"), symbols, "mapping")),
    samples = read_samples(raw),
    options = lenient and {
      allow_unknown_tensors = true, allow_growing_tiles = true, allow_unmapped_einsums = true,
    } or {},
    raw = raw,
  }
end

--- The text of a file; raises an error object that names it.
---@param path string
---@return string
function case.read_file(path)
  local function fail(message) error(errors.new("file", message, { file = path }), 0) end
  local file, message = io.open(path, "rb")
  if not file then
    local named = message:sub(1, #path + 2) == path .. ": "
    fail(named and message:sub(#path + 3) or message)
  end
  local text, problem = file:read "a"
  file:close()
  if not text then fail(problem or "cannot be read") end
  if text:match "^%s*$" then fail "the file is empty" end
  return text
end

--- A JSON file as decoded; raises an error object with the position of a mistake.
---@param path string
---@return table
function case.decode_file(path)
  local raw, message = core.json.decode(case.read_file(path), path)
  if raw == nil then error(message, 0) end
  if type(raw) ~= "table" then
    errors.raise("syntax", "a JSON object was expected", { file = path })
  end
  return raw
end

--- The decoded cases of a decoded file: a file of cases or one case. Other schemas are refused.
---@param raw table
---@param path string for messages
---@return table[]
function case.list(raw, path)
  local schema = raw.schema
  if schema ~= nil and schema ~= case.schema then
    errors.raise("bad_case", ("schema '%s' is not %s"):format(schema, case.schema), { file = path })
  end
  if raw.cases == nil then return { raw } end
  errors.check_keys("bad_case", raw, file_keys, path)
  return raw.cases
end

--- The cases of a JSON file; raises an error object.
---@param path string
---@return einloom.Case[]
function case.load(path)
  local cases = {}
  local list = case.list(case.decode_file(path), path)
  for i, raw in ipairs(list) do cases[i] = case.from_json(raw) end
  return cases
end

-- ---- writing ------------------------------------------------------------------------------

local function is_list(value)
  if getmetatable(value) == array then return true end
  local n = #value
  if n == 0 then return false end
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > n then return false end
  end
  return true
end

local list_keys = {
  einsums = true, tensors = true, projection = true, nodes = true, actions = true, spatial = true,
  branches = true, samples = true, tags = true, shared_tensors = true,
}

-- Plain data of a value: expressions as JSON numbers, lists marked, methods and places left out.
local function write(value, key)
  if core.is_expr(value) or type(value) == "number" then return case.number_to_json(value) end
  if type(value) ~= "table" or value == null then return value end
  local empty_list = list_keys[key] and next(value) == nil
  local out = setmetatable({}, (empty_list or is_list(value)) and array or nil)
  for name, entry in pairs(value) do
    if name ~= "where" and type(entry) ~= "function" then out[name] = write(entry, name) end
  end
  return out
end

local function write_renames(renames)
  local out = {}
  for name, rename in pairs(renames or {}) do
    local count = rename.expected_count
    out[name] = count and { set = rename.set.text, expected_count = count } or rename.set.text
  end
  return next(out) and out or nil
end

local function write_einsum(einsum)
  local tensors = {}
  for i, t in ipairs(einsum.tensors) do
    tensors[i] = {
      tensor = t.tensor, projection = t.projection, output = t.output,
      bits_per_value = t.bits_per_value, persistent = t.persistent or nil,
    }
  end
  return {
    name = einsum.name, is_copy = einsum.is_copy, n_instances = einsum.n_instances,
    tensors = tensors, renames = write_renames(einsum.renames),
  }
end

local function write_workload(workload)
  local einsums = {}
  for i, einsum in ipairs(workload.einsums) do einsums[i] = write_einsum(einsum) end
  local shared = workload.shared_tensors
  return write {
    name = workload.name,
    rank_variables = workload.rank_variables, einsums = einsums,
    n_instances = workload.n_instances,
    partial = workload.partial,
    rank_sizes = next(workload.rank_sizes) and workload.rank_sizes or nil,
    shared_tensors = shared and #shared > 0 and shared or nil,
  }
end

local function collect_symbols(value, found)
  if core.is_expr(value) then
    for _, symbol in ipairs(value:symbols()) do found[symbol:name()] = symbol end
  elseif type(value) == "table" then
    for _, entry in pairs(value) do collect_symbols(entry, found) end
  end
  return found
end

-- The facts of symbols that are more than positive integers.
local function write_symbols(...)
  local found, out = {}, {}
  for _, value in ipairs { ... } do collect_symbols(value, found) end
  for name, symbol in pairs(found) do
    if symbol ~= core.symbol(name) then
      local facts = symbol:assumptions()
      if facts.divides then facts.divides = case.number_to_json(facts.divides) end
      out[name] = facts
    end
  end
  return next(out) and out or nil
end

--- What a case says of its workload, architecture and mapping, as JSON data.
---@param workload table
---@param arch table
---@param mapping table
---@return table
function case.to_json(workload, arch, mapping)
  local raw = require "einloom.readonly".raw
  workload, arch, mapping = raw(workload), raw(arch), raw(mapping)
  return {
    schema = case.schema,
    symbols = write_symbols(workload.rank_variables, workload.einsums, arch.nodes, mapping.nodes),
    workload = write_workload(workload),
    arch = { name = arch.name, nodes = write(arch.nodes, "nodes") },
    mapping = { nodes = write(mapping.nodes, "nodes") },
  }
end

-- ---- results ------------------------------------------------------------------------------

local function node_text(node)
  local kind = node.kind
  if kind == "compute" then return ("compute %s@%s"):format(node.einsum, node.component) end
  if kind == "temporal" or kind == "spatial" then
    local first = node.first and " first " .. tostring(node.first) or ""
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
function case.nest_text(nodes)
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
function case.reuse(result, einsum)
  local nests = {}
  for _, tensor in ipairs(result:tensors(einsum)) do
    nests[tensor] = case.nest_text(result:nest(einsum, tensor))
  end
  return {
    symbols = symbol_names(result:symbols(einsum)),
    mapping_with_reservations = case.nest_text(result:path(einsum)),
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
function case.costs(costs, einsum)
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
function case.totals(costs)
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
function case.results(result, costs)
  local per_einsum, symbols = {}, 0
  for _, name in ipairs(result:einsums()) do
    per_einsum[name] = {
      reuse = case.reuse(result, name),
      costs = costs and case.costs(costs, name),
    }
    symbols = symbols + #result:symbols(name)
  end
  return { per_einsum = per_einsum, totals = costs and symbols == 0 and case.totals(costs) or nil }
end

-- A computed tree as JSON data: constants as numbers, formulas with their values at the samples.
local function results_json(value, samples)
  if core.is_expr(value) then
    if value:is_number() then return case.number_to_json(value) end
    local values = setmetatable({}, array)
    for i, sample in ipairs(samples) do
      values[i] = case.number_to_json(points.at(value, sample))
    end
    return { formula = value:print "infix", values = values }
  end
  if type(value) ~= "table" then return value end
  local out = setmetatable({}, (is_list(value) or next(value) == nil) and array or nil)
  for key, entry in pairs(value) do out[key] = results_json(entry, samples) end
  return out
end

-- What is computed of a result, as JSON data; a limit that is not met is an error unless points are
-- given.
local function expected_json(r, samples)
  local with_points = #samples > 0
  local costs, message, kind = require "einloom.model".cost(r.raw, r.workload, r.arch, r.mapping,
    { allow_exceeded_limits = with_points })
  if not costs then return { error = kind, message_about = message } end
  local results = case.results(r.raw, costs)
  if with_points then results.totals = nil end
  return results_json(results, samples)
end

--- A case with its results filled in, as JSON data.
---@param r einloom.Result
---@param samples table[] points
---@return table
function case.with_results(r, samples)
  local out = case.to_json(r.workload, r.arch, r.mapping)
  out.model = "reference"
  out.expected = expected_json(r, samples)
  out.samples = #samples > 0 and write(samples, "samples") or nil
  return out
end

--- A result, or a workload, an architecture and a mapping, as the text of a case.
---@param r einloom.Result|einloom.Workload
---@param arch? einloom.Arch
---@param mapping? einloom.Mapping
---@return string
function case.encode(r, arch, mapping)
  local data
  if require "einloom.result".is(r) then
    data = case.with_results(r, next(r.point) and { r.point } or {})
  else
    data = case.to_json(r, arch, mapping)
  end
  return core.json.encode(data, { indent = 2, sort_keys = true })
end

return case
