-- SPDX-License-Identifier: MIT
-- Writes cases of schema mapping/1 as JSON: what was read comes back number for number, with what
-- is computed of it where that is asked for.

local computed = require "einloom.case.computed"
local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"
local points = require "einloom.points"
local read_case = require "einloom.case.read"
local symbols = require "einloom.case.symbols"

local write_case = {}

local null, array = core.json.null, core.json.array
local is_list, list_keys = read_case.is_list, read_case.list_keys

-- ---- numbers ------------------------------------------------------------------------------

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
function write_case.number_to_json(value)
  if value == math.huge then return "inf" end
  if core.is_expr(value) then return as_json(value) end
  return value
end

-- ---- writing ------------------------------------------------------------------------------

-- Plain data of a value: expressions as JSON numbers, lists marked, methods and places left out.
local function write(value, key)
  if core.is_expr(value) or type(value) == "number" then return write_case.number_to_json(value) end
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

-- The facts of symbols that are more than positive integers.
local function write_symbols(workload, arch, mapping)
  local out = {}
  for name, symbol in pairs(symbols.of(workload, arch, mapping)) do
    if symbol ~= core.symbol(name) then
      local facts = symbol:assumptions()
      if facts.divides then facts.divides = write_case.number_to_json(facts.divides) end
      out[name] = facts
    end
  end
  return next(out) and out or nil
end

-- A copy with what a point gives for symbols.
local function put_in(value, point)
  if type(value) ~= "table" then return points.at(value, point) end
  local copy = setmetatable({}, getmetatable(value))
  for key, entry in pairs(value) do copy[key] = put_in(entry, point) end
  return copy
end

--- What a case says of its workload, architecture and mapping at a point, as JSON data.
---@param workload table
---@param arch table
---@param mapping table
---@param point table<string|userdata, any>
---@return table
function write_case.to_json_at(workload, arch, mapping, point)
  local raw = require "einloom.readonly".raw
  workload, arch, mapping = raw(workload), raw(arch), raw(mapping)
  local read = points.read(point, symbols.of(workload, arch, mapping))
  return write_case.to_json(put_in(workload, read), put_in(arch, read), put_in(mapping, read))
end

--- What a case says of its workload, architecture and mapping, as JSON data.
---@param workload table
---@param arch table
---@param mapping table
---@return table
function write_case.to_json(workload, arch, mapping)
  local raw = require "einloom.readonly".raw
  workload, arch, mapping = raw(workload), raw(arch), raw(mapping)
  return {
    schema = read_case.schema,
    symbols = write_symbols(workload, arch, mapping),
    workload = write_workload(workload),
    arch = { name = arch.name, nodes = write(arch.nodes, "nodes") },
    mapping = { nodes = write(mapping.nodes, "nodes") },
  }
end

-- ---- results ------------------------------------------------------------------------------

-- A computed tree as JSON data: constants as numbers, formulas with their values at the samples.
local function results_json(value, samples)
  if core.is_expr(value) then
    if value:is_number() then return write_case.number_to_json(value) end
    local values = setmetatable({}, array)
    for i, sample in ipairs(samples) do
      values[i] = write_case.number_to_json(points.at(value, sample))
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
  local found = symbols.collect(results, {})
  for _, sample in ipairs(samples) do
    for _, name in ipairs(errors.keys(found)) do
      local value = sample[name]
      if value == nil then
        errors.raise("bad_point", ("the point gives no value for %s"):format(name))
      elseif core.is_expr(value) and not value:is_number() then
        errors.raise("bad_point", ("the point gives %s = %s, not a number"):format(name, value))
      end
    end
  end
end

-- The result at a point of it, or its own.
local function at(r, point) return rawequal(point, r.point) and r or r(point) end

-- The limit that is exceeded at one of some points: message, kind.
local function first_exceeded(r, list)
  for _, point in ipairs(list) do
    local energy, message, kind = at(r, point):energy()
    if not energy then
      local parts = {}
      for i, name in ipairs(errors.keys(point)) do
        parts[i] = ("%s = %s"):format(name, point[name])
      end
      return ("at %s: %s"):format(table.concat(parts, ", "), message), kind
    end
  end
end

-- What is computed of a result, as JSON data. Without points a limit that is not met is an error,
-- and then its message and kind are returned too.
local function expected_json(r, samples)
  local with_points = #samples > 0
  local costs, message, kind = require "einloom.model".cost(r.raw, r.workload, r.arch, r.mapping,
    { allow_exceeded_limits = with_points })
  if not costs then return { error = kind, message_about = message }, message, kind end
  local results = computed.results(r.raw, costs)
  check_samples(results, samples)
  if with_points then results.totals = nil end
  return results_json(results, samples)
end

-- Points of a result at a point as points of its formulas.
local function samples_of(r, samples)
  if not next(r.point) then return samples end
  local list = {}
  for i, sample in ipairs(samples) do list[i] = at(r, sample).point end
  return list
end

--- A case with its results filled in, as JSON data. Where a limit of the architecture is not met,
--- by the mapping or at a point, the result is that error, and its message and kind are returned.
---@param r einloom.Result
---@param samples? table[] points of the result, or its own
---@param may_exceed? boolean the samples, as those of a case, tell formulas apart: no limit holds
---@return table
---@return string? message
---@return string? kind
function write_case.with_results(r, samples, may_exceed)
  samples = samples or {}
  local out = write_case.to_json(r.workload, r.arch, r.mapping)
  out.model, out.conventions = conventions.for_case(r.conventions)
  if next(require "einloom.result".options_of(r)) then
    out.tags = setmetatable({ "lenient_input" }, array)
  end
  local formulas = samples_of(r, samples)
  out.samples = #samples > 0 and write(formulas, "samples") or nil
  local message, kind
  out.expected, message, kind = expected_json(r, formulas)
  if not message and not may_exceed then
    message, kind = first_exceeded(r, samples)
    if message then out.expected = { error = kind, message_about = message } end
  end
  return out, message, kind
end

--- A result, or a workload, an architecture and a mapping, as the text of a case.
---@param r einloom.Result|einloom.Workload
---@param arch? einloom.Arch
---@param mapping? einloom.Mapping
---@return string
function write_case.encode(r, arch, mapping)
  local data
  if require "einloom.result".is(r) then
    data = write_case.with_results(r, next(r.point) and { r.point } or {})
  elseif require "einloom.workload".is(r) and require "einloom.arch".is(arch)
    and require "einloom.mapping".is(mapping) then
    data = write_case.to_json(r, arch, mapping)
  else
    error("write_case takes a result, or a workload, an architecture and a mapping", 2)
  end
  return core.json.encode(data, { indent = 2, sort_keys = true })
end

return write_case
