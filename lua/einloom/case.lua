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

local function bad(message, path)
  error(errors.new("bad_case", message, { path = path }), 0)
end

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

-- What is a list in the schema.
local list_keys = {
  einsums = true, tensors = true, projection = true, nodes = true, actions = true, spatial = true,
  branches = true, samples = true, tags = true, shared_tensors = true,
}

local function is_list(value)
  if getmetatable(value) == array then return true end
  local n = #value
  if n == 0 then return false end
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > n then return false end
  end
  return true
end

local function need_list(value, path)
  if type(value) == "table" and is_list(value) then return value end
  return bad(("a list was expected, not %s"):format(core.json.encode(value)), path)
end

local function check_projection(value, path)
  for i, pair in ipairs(value) do
    local is_pair = type(pair) == "table" and is_list(pair) and #pair == 2
    if not (is_pair and type(pair[1]) == "string" and type(pair[2]) == "string") then
      bad(("a list of the name of a rank and its index was expected, not %s"):format(
        core.json.encode(pair)), ("%s[%d]"):format(path, i))
    end
  end
end

local function read_field(key, value, symbols, path)
  if key == "renames" then return read_renames(value, path) end
  if value == null then return nil end
  if list_keys[key] then need_list(value, path) end
  if key == "projection" then check_projection(value, path) end
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

local function object(value, path, what)
  local is_object = type(value) == "table" and value ~= null and getmetatable(value) ~= array
  if is_object then return value end
  return bad(("%s expected, not %s"):format(what, core.json.encode(value)), path)
end

local known_facts = { integer = true, min = true, max = true, multiple = true, divides = true }

local function read_symbol_facts(name, facts)
  local path = "symbols." .. name
  errors.check_keys("bad_case", object(facts, path, "a table of facts was"), known_facts, path)
  local given = {}
  for key, value in pairs(facts) do given[key] = value end
  if given.divides ~= nil then given.divides = read_number(given.divides, {}, path) end
  local ok, symbol = pcall(core.symbol, name, given)
  if ok then return symbol end
  return bad((tostring(symbol):gsub("^[^\n]-:%d+: ", "")), path)
end

local function read_symbols(raw)
  local symbols = {}
  if raw.symbols == nil then return symbols end
  object(raw.symbols, "symbols", "facts by the name of a symbol")
  for _, name in ipairs(errors.keys(raw.symbols)) do
    symbols[name] = read_symbol_facts(name, raw.symbols[name])
  end
  return symbols
end

local function need(raw, key)
  if raw[key] == nil then bad(("the case has no %s"):format(key)) end
  return object(raw[key], key, "an object was")
end

local function read_samples(raw)
  local samples = {}
  if raw.samples == nil then return samples end
  for i, sample in ipairs(need_list(raw.samples, "samples")) do
    local path = ("samples[%d]"):format(i)
    local point = {}
    for name, value in pairs(object(sample, path, "a table of symbols and values was")) do
      point[name] = read_number(value, {}, ("%s.%s"):format(path, name))
      if not core.is_expr(point[name]) and math.type(point[name]) == nil then
        bad("a number was expected", path)
      end
    end
    samples[i] = point
  end
  return samples
end

local function is_tagged(raw, tag)
  for _, name in ipairs(raw.tags and need_list(raw.tags, "tags") or {}) do
    if name == tag then return true end
  end
  return false
end

-- The kinds of nodes and rules of counting that there are.
local models = { reference = true }

local function check_model(model, path)
  if model == nil or models[model] then return end
  local known = errors.keys(models)
  bad(("no model %s%s"):format(core.json.encode(model), errors.hint(tostring(model), known)), path)
end

-- A symbol with facts must be one of the case: else its name is mistyped.
local function check_used(symbols, built)
  if next(symbols) == nil then return end
  local used = case.symbols(built.workload, built.arch, built.mapping)
  for _, name in ipairs(errors.keys(symbols)) do
    if not used[name] then
      bad(("the case has no symbol '%s'%s"):format(name, errors.hint(name, errors.keys(used))),
        "symbols." .. name)
    end
  end
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
  object(raw, "case", "an object was")
  errors.check_keys("bad_case", raw, known_keys, "case")
  if raw.id ~= nil and type(raw.id) ~= "string" then bad("the id is a text", "id") end
  check_model(raw.model, "model")
  if raw.expected ~= nil then object(raw.expected, "expected", "an object was") end
  local symbols = read_symbols(raw)
  local lenient = is_tagged(raw, "lenient_input")
  local built = {
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
  check_used(symbols, built)
  return built
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
  if text:sub(1, 3) == "\xEF\xBB\xBF" then text = text:sub(4) end -- byte order mark
  if text:match "^%s*$" then fail "the file is empty" end
  return text
end

--- A JSON file as decoded; raises an error object with the position of a mistake.
---@param path string
---@return table
function case.decode_file(path)
  local raw, message = core.json.decode(case.read_file(path), path)
  if raw == nil then error(message, 0) end
  if type(raw) ~= "table" or raw == null or getmetatable(raw) == array then
    error(errors.new("syntax", "a JSON object was expected", { file = path }), 0)
  end
  return raw
end

local function check_ids(cases, path)
  local seen = {}
  for _, raw in ipairs(cases) do
    local id = type(raw) == "table" and raw.id
    if id and seen[id] then
      error(errors.new("bad_case", ("two cases are called '%s'"):format(id), { file = path }), 0)
    end
    if id then seen[id] = true end
  end
end

--- The decoded cases of a decoded file: a file of cases or one case. Other schemas are refused.
---@param raw table
---@param path string for messages
---@return table[]
function case.list(raw, path)
  local function refuse(message) error(errors.new("bad_case", message, { file = path }), 0) end
  local schema = raw.schema
  if schema == nil then refuse(('no "schema": "%s" in the file'):format(case.schema)) end
  if schema ~= case.schema then
    refuse(("schema %s is not %s"):format(core.json.encode(schema), case.schema))
  end
  if raw.cases == nil then return { raw } end
  errors.check_keys("bad_case", raw, file_keys, path)
  if getmetatable(raw.cases) ~= array or #raw.cases == 0 then refuse "no cases in the file" end
  local ok, problem = pcall(check_model, raw.model)
  if not ok then refuse(problem.message) end
  check_ids(raw.cases, path)
  return raw.cases
end

--- What to call a case of a file in messages: its id, or its place.
---@param list table[] the decoded cases
---@param i integer
---@return string
function case.label(list, i)
  local id = type(list[i]) == "table" and list[i].id
  if type(id) == "string" then return id end
  return #list > 1 and ("cases[%d]"):format(i) or "case"
end

--- The cases of a JSON file; raises an error object.
---@param path string
---@return einloom.Case[]
function case.load(path)
  local cases = {}
  local list = case.list(case.decode_file(path), path)
  for i, raw in ipairs(list) do
    local ok, built = pcall(case.from_json, raw)
    if not ok then
      if not errors.is(built) then error(built, 0) end
      local place = built.path and ": " .. built.path or ""
      built.path = ("%s: %s%s"):format(path, case.label(list, i), place)
      error(built, 0)
    end
    cases[i] = built
  end
  return cases
end

-- ---- writing ------------------------------------------------------------------------------

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

--- The symbols of a workload, an architecture and a mapping, by name.
---@return table<string, userdata>
function case.symbols(workload, arch, mapping)
  local found = {}
  for _, value in ipairs { workload.rank_variables, workload.einsums, arch.nodes, mapping.nodes } do
    collect_symbols(value, found)
  end
  collect_symbols({ workload.n_instances, workload.rank_sizes }, found)
  return found
end

-- The facts of symbols that are more than positive integers.
local function write_symbols(workload, arch, mapping)
  local out = {}
  for name, symbol in pairs(case.symbols(workload, arch, mapping)) do
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
    symbols = write_symbols(workload, arch, mapping),
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

-- Each symbol of the results needs a number at each sample.
local function check_samples(results, samples)
  local symbols = collect_symbols(results, {})
  for _, sample in ipairs(samples) do
    for _, name in ipairs(errors.keys(symbols)) do
      local value = sample[name]
      if value == nil then
        errors.raise("bad_point", ("the point gives no value for %s"):format(name))
      elseif core.is_expr(value) and not value:is_number() then
        errors.raise("bad_point", ("the point gives %s = %s, not a number"):format(name, value))
      end
    end
  end
end

-- What is computed of a result, as JSON data; a limit that is not met is an error unless points are
-- given, and then its message and kind are returned too.
local function expected_json(r, samples)
  local with_points = #samples > 0
  local costs, message, kind = require "einloom.model".cost(r.raw, r.workload, r.arch, r.mapping,
    { allow_exceeded_limits = with_points })
  if not costs then return { error = kind, message_about = message }, message, kind end
  local results = case.results(r.raw, costs)
  check_samples(results, samples)
  if with_points then results.totals = nil end
  return results_json(results, samples)
end

--- A case with its results filled in, as JSON data. Where a limit of the architecture is not met
--- the result is that error, and its message and kind are returned too.
---@param r einloom.Result
---@param samples? table[] points
---@return table
---@return string? message
---@return string? kind
function case.with_results(r, samples)
  samples = samples or {}
  local out = case.to_json(r.workload, r.arch, r.mapping)
  out.model = "reference"
  if next(require "einloom.result".options_of(r)) then
    out.tags = setmetatable({ "lenient_input" }, array)
  end
  out.samples = #samples > 0 and write(samples, "samples") or nil
  local message, kind
  out.expected, message, kind = expected_json(r, samples)
  return out, message, kind
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
  elseif require "einloom.workload".is(r) and require "einloom.arch".is(arch)
    and require "einloom.mapping".is(mapping) then
    data = case.to_json(r, arch, mapping)
  else
    error("write_case takes a result, or a workload, an architecture and a mapping", 2)
  end
  return core.json.encode(data, { indent = 2, sort_keys = true })
end

return case
