-- SPDX-License-Identifier: MIT
-- Reads cases of schema mapping/1 from JSON. Reading never runs code; what is wrong is an error
-- that tells the file and the place in it.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"
local symbols_in = require "einloom.case.symbols"

local read_case = { schema = "mapping/1" }

local null, array = core.json.null, core.json.array

local known_keys = {
  schema = true, model = true, conventions = true, id = true, family = true, note = true,
  tags = true,
  workload = true, arch = true, mapping = true, symbols = true, samples = true, expected = true,
  disputed = true, dispute_reason = true, disputed_fields = true, alternatives = true,
  older_version = true, source = true, tolerance = true,
}

local file_keys = {
  schema = true, family = true, model = true, conventions = true, tolerance = true, note = true,
  source = true,
  cases = true, search = true,
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

-- ---- reading ------------------------------------------------------------------------------

local number_fields = {
  size = true, energy = true, throughput = true, bits_per_action = true, fanout = true,
  usage_scale = true, leak_power = true, actions_scale = true, n_parallel_instances = true,
  area = true, tile_shape = true, initial_tile_shape = true, step = true,
  n_instances = true,
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
read_case.list_keys = {
  einsums = true, tensors = true, projection = true, nodes = true, actions = true, spatial = true,
  branches = true, tiles = true, samples = true, tags = true, shared_tensors = true,
  loop_bounds = true, variables = true,
}

--- A table with the keys 1 .. n, or a JSON array.
function read_case.is_list(value)
  if getmetatable(value) == array then return true end
  local n = #value
  if n == 0 then return false end
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 or key > n then return false end
  end
  return true
end

local function need_list(value, path)
  if type(value) == "table" and read_case.is_list(value) then return value end
  return bad(("a list was expected, not %s"):format(core.json.encode(value)), path)
end

local function check_projection(value, path)
  for i, pair in ipairs(value) do
    local is_pair = type(pair) == "table" and read_case.is_list(pair) and #pair == 2
    if not (is_pair and type(pair[1]) == "string" and type(pair[2]) == "string") then
      bad(("a list of the name of a rank and its index was expected, not %s"):format(
        core.json.encode(pair)), ("%s[%d]"):format(path, i))
    end
  end
end

local function read_field(key, value, symbols, path)
  if key == "renames" then return read_renames(value, path) end
  if value == null then return nil end
  if read_case.list_keys[key] then need_list(value, path) end
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

local known_models = { reference = true, exact = true }
local known_conventions = { lifetime = true, drain_reads = true, partial_sums = true }

--- How a case, or a file of cases, says that is counted: {model =, lifetime =, ...}.
---@param raw table
---@return einloom.Conventions
function read_case.conventions(raw)
  local model = raw.model
  if model ~= nil and not known_models[model] then
    local hint = errors.hint(tostring(model), errors.keys(known_models))
    bad(("no model %s%s"):format(core.json.encode(model), hint), "model")
  end
  local found = { model = model }
  if raw.conventions == nil then return found end
  object(raw.conventions, "conventions", "an object was")
  errors.check_keys("bad_case", raw.conventions, known_conventions, "conventions")
  conventions.check(raw.conventions, "bad_case", "conventions")
  for name, value in pairs(raw.conventions) do found[name] = value end
  return found
end

--- Gives the cases of a file what its head says of how is counted, where they do not say.
---@param raw table the decoded file
---@param cases table[]
function read_case.inherit(raw, cases)
  for _, entry in ipairs(cases) do
    if type(entry) == "table" and entry ~= raw then
      if entry.model == nil then entry.model = raw.model end
      if entry.conventions == nil then entry.conventions = raw.conventions end
    end
  end
end

local leniency = {
  allow_unknown_tensors = true, allow_growing_tiles = true, allow_unmapped_einsums = true,
}

local function options_of(raw)
  local options = read_case.conventions(raw)
  for name in pairs(is_tagged(raw, "lenient_input") and leniency or {}) do options[name] = true end
  return options
end

-- A symbol with facts must be one of the case: else its name is mistyped.
local function check_used(symbols, built)
  if next(symbols) == nil then return end
  local used = symbols_in.of(built.workload, built.arch, built.mapping)
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
---@field options table leniency and conventions, as `loom.analyze` takes them
---@field raw table the decoded JSON

--- A case from decoded JSON. Raises an error object with the kind of mistake.
---@param raw table
---@return einloom.Case
function read_case.from_json(raw)
  object(raw, "case", "an object was")
  errors.check_keys("bad_case", raw, known_keys, "case")
  if raw.id ~= nil and type(raw.id) ~= "string" then bad("the id is a text", "id") end
  local options = options_of(raw)
  if raw.expected ~= nil then object(raw.expected, "expected", "an object was") end
  local symbols = read_symbols(raw)
  local built = {
    id = raw.id or "case",
    workload = require "einloom.workload".new(read(need(raw, "workload"), symbols, "workload")),
    arch = require "einloom.arch".new(read(need(raw, "arch"), symbols, "arch")),
    mapping = require "einloom.mapping".new(read(need(raw, "mapping"), symbols, "mapping")),
    samples = read_samples(raw),
    options = options,
    raw = raw,
  }
  check_used(symbols, built)
  return built
end

--- The text of a file; "-" is the standard input. Raises an error object that names the file.
---@param path string
---@return string
function read_case.read_file(path)
  local name = path == "-" and "stdin" or path
  local function fail(message) error(errors.new("file", message, { file = name }), 0) end
  local file, message
  if path == "-" then file = io.stdin else file, message = io.open(path, "rb") end
  if not file then
    local named = message:sub(1, #path + 2) == path .. ": "
    fail(named and message:sub(#path + 3) or message)
  end
  local text, problem = file:read "a"
  if file ~= io.stdin then file:close() end
  if not text then fail(problem or "cannot be read") end
  if text:sub(1, 3) == "\xEF\xBB\xBF" then text = text:sub(4) end -- byte order mark
  if text:match "^%s*$" then fail "the file is empty" end
  return text
end

--- A JSON file as decoded; raises an error object with the position of a mistake.
---@param path string
---@param text? string what the file holds, if it has been read
---@return table
function read_case.decode_file(path, text)
  local raw, message = core.json.decode(text or read_case.read_file(path), path)
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

--- The decoded cases of a decoded file: a file of cases, or one case, which
--- may leave its schema out. Other schemas are refused.
---@param raw table
---@param path string for messages
---@return table[]
function read_case.list(raw, path)
  local function refuse(message) error(errors.new("bad_case", message, { file = path }), 0) end
  local schema = raw.schema
  local bare = schema == nil and raw.workload ~= nil and raw.mapping ~= nil
  if schema == nil and not bare then
    refuse(('no "schema": "%s" in the file'):format(read_case.schema))
  end
  if schema ~= read_case.schema and not bare then
    refuse(("schema %s is not %s"):format(core.json.encode(schema), read_case.schema))
  end
  if raw.cases == nil then return { raw } end
  errors.check_keys("bad_case", raw, file_keys, path)
  if getmetatable(raw.cases) ~= array or #raw.cases == 0 then refuse "no cases in the file" end
  local ok, problem = pcall(read_case.conventions, raw)
  if not ok then refuse(problem.message) end
  check_ids(raw.cases, path)
  read_case.inherit(raw, raw.cases)
  return raw.cases
end

--- What to call a case of a file in messages: its id, or its place.
---@param list table[] the decoded cases
---@param i integer
---@return string
function read_case.label(list, i)
  local id = type(list[i]) == "table" and list[i].id
  if type(id) == "string" then return id end
  return #list > 1 and ("cases[%d]"):format(i) or "case"
end

--- The cases of a JSON file; raises an error object.
---@param path string
---@return einloom.Case[]
function read_case.load(path)
  local cases = {}
  local list = read_case.list(read_case.decode_file(path), path)
  for i, raw in ipairs(list) do
    local ok, built = pcall(read_case.from_json, raw)
    if not ok then
      if not errors.is(built) then error(built, 0) end
      local place = built.path and ": " .. built.path or ""
      built.path = ("%s: %s%s"):format(path, read_case.label(list, i), place)
      error(built, 0)
    end
    cases[i] = built
  end
  return cases
end

return read_case
