-- SPDX-License-Identifier: MIT
-- What an analysis gives back: r.GLB.A.reads_to_parent, r.MM0.GLB.A... with several einsums, and
-- r{M0 = 16} for the numbers at a point. A name that does not exist is an error, never nil.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"
local points = require "einloom.points"
local records = require "einloom.records"

local result = {}

-- ---- names --------------------------------------------------------------------------------

--- The fields of a buffet as the core gives them, in the order in which they are listed.
result.fields = {
  "total_reads_to_parent", "total_writes_to_parent",
  "max_per_parent_reads_to_parent", "max_per_parent_writes_to_parent",
  "total_skipped_first_reads_to_parent", "min_per_parent_skipped_first_reads_to_parent",
  "total_read_actions", "total_write_actions",
  "max_per_unit_read_actions", "max_per_unit_write_actions",
  "total_skipped_first_read_actions", "total_skipped_first_write_actions",
  "min_per_unit_skipped_first_read_actions", "min_per_unit_skipped_first_write_actions",
  "max_occupancy", "n_loops_above", "persistent",
}

--- The fields of a buffet that only the model `exact` counts.
result.exact_fields = { "total_deliveries", "total_departures", "total_drains", "fewest_live" }

--- Short names of fields.
result.short_names = {
  reads_to_parent = "total_reads_to_parent",
  writes_to_parent = "total_writes_to_parent",
  skipped_first_reads_to_parent = "total_skipped_first_reads_to_parent",
  read_actions = "total_read_actions",
  write_actions = "total_write_actions",
  skipped_first_read_actions = "total_skipped_first_read_actions",
  skipped_first_write_actions = "total_skipped_first_write_actions",
  occupancy = "max_occupancy",
  deliveries = "total_deliveries",
  departures = "total_departures",
  drains = "total_drains",
}

-- Net counts: what is really done, first touches that need not be done taken off.
local net = {
  reads = { "total_read_actions", "total_skipped_first_read_actions" },
  writes = { "total_write_actions", "total_skipped_first_write_actions" },
  max_per_unit_reads = { "max_per_unit_read_actions", "min_per_unit_skipped_first_read_actions" },
  max_per_unit_writes = {
    "max_per_unit_write_actions", "min_per_unit_skipped_first_write_actions",
  },
}

local compute_short = {
  ops = "total_ops", max_per_unit = "max_per_unit_ops", latency = "max_latency",
}

local unknown, record, read_only = records.unknown, records.new, records.read_only

-- ---- points -------------------------------------------------------------------------------

-- A number or an expression as an expression.
local function exact(value) return core.is_expr(value) and value or core.number(value) end

local at_point = points.at

local function nodes_at(nodes, point)
  if not point then return nodes end
  local out = {}
  for i, node in ipairs(nodes) do
    local copy = {}
    for key, value in pairs(node) do copy[key] = at_point(value, point) end
    out[i] = copy
  end
  return out
end

-- ---- buffets ------------------------------------------------------------------------------

-- Which fields gave an expression when they were read, latest last, for loom.explain(expression).
-- What this project reads itself to show something is not noted.
local origins = setmetatable({}, { __mode = "k" })
local noting = true
local kept_origins = 8 -- for each number: a list without end would keep all results alive

local function note_origin(e, owner, field)
  if not noting or not core.is_expr(e) then return end
  local list = origins[e] or {}
  for i, entry in ipairs(list) do
    if entry.owner == owner and entry.field == field then table.remove(list, i) end
  end
  if #list == kept_origins then table.remove(list, 1) end
  list[#list + 1] = { owner = owner, field = field }
  origins[e] = list
end

--- The fields that an expression was read from, the latest first: {owner =, field =}; the owner is
--- a buffet, or an einsum for what belongs to no buffet.
---@param e any
---@return { owner: table, field: string }[]
function result.origins(e)
  local list, latest = origins[e] or {}, {}
  for i = #list, 1, -1 do latest[#latest + 1] = list[i] end
  return latest
end

--- Calls a function whose reading of results is not noted as that of the user.
---@param f function
function result.quietly(f, ...)
  local before = noting
  noting = false
  local values = table.pack(pcall(f, ...))
  noting = before
  if not values[1] then error(values[2], 0) end
  return table.unpack(values, 2, values.n)
end

---@class einloom.Buffet
---@field tensor string
---@field level string
local Buffet = { __name = "einloom.buffet" }

local buffet_data = setmetatable({}, { __mode = "k" })

local function buffet_names()
  local names = { "tensor", "level", "einsum", "tile", "values" }
  for _, fields in ipairs { result.fields, result.exact_fields } do
    for _, field in ipairs(fields) do names[#names + 1] = field end
  end
  for _, names_of in ipairs { result.short_names, net } do
    for name in pairs(names_of) do names[#names + 1] = name end
  end
  return names
end

local function find_reservation(nest, level)
  for i, node in ipairs(nest) do
    if node.kind == "reservation" and node.component == level then return i end
  end
  return nil
end

local function position_in_nest(data)
  local nest = data.einsum:nest(data.record.tensor)
  local at = find_reservation(nest, data.record.level)
  if at then return nest, at end
  return nest, #nest
end

-- Extents of the tile at the buffet's reservation, by the tensor's variables.
local function tile_of(data)
  local nest, at = position_in_nest(data)
  local extents = {}
  for _, variable in ipairs(data.einsum:variables_of(data.record.tensor)) do
    extents[variable] = data.einsum:size(variable)
  end
  for i = 1, at do
    local node = nest[i]
    if node.variable and extents[node.variable] then extents[node.variable] = node.tile end
  end
  return extents
end

-- Bits of one value of a tensor at a level.
local function bits_of(data)
  local workload, arch = result.context_of(data.einsum)
  local component, tensor = arch:component(data.record.level), data.record.tensor
  if component.bits_per_value ~= nil then
    local values = require "einloom.sets".resolve(component.bits_per_value,
      workload:context(data.einsum.name), component.name)
    if values[tensor] ~= nil then return values[tensor] end
  end
  for _, access in ipairs(data.einsum:definition().tensors) do
    if access.tensor == tensor then return access.bits_per_value end
  end
end

-- Values of the reserved tile: exactly those that are used, or their box.
local function values_of(data)
  local bits = data.record.max_occupancy
  local exact_model = result.conventions_of(data.einsum).model == "exact"
  if exact_model and bits:eq(0) ~= true then
    return at_point((bits / bits_of(data)):expand(), data.point)
  end
  return data.einsum:values_in(data.record.tensor, tile_of(data))
end

local function buffet_field(data, name)
  if name == "tensor" or name == "level" then return data.record[name] end
  if name == "einsum" then return data.einsum.name end
  if name == "tile" then return tile_of(data) end
  if name == "values" then return values_of(data) end
  local point = data.point
  if net[name] then
    local all, skipped = data.record[net[name][1]], data.record[net[name][2]]
    return at_point(all - skipped, point)
  end
  return at_point(data.record[result.short_names[name] or name], point)
end

local function is_exact_field(name)
  for _, field in ipairs(result.exact_fields) do
    if field == (result.short_names[name] or name) then return true end
  end
  return false
end

function Buffet:__index(name)
  local data = buffet_data[self]
  local value = buffet_field(data, name)
  if value == nil then
    if is_exact_field(name) then
      local counts = data.record.total_deliveries ~= nil
      error(counts and name .. ": counting it takes too long, or a size is above 2^31 - 1"
        or name .. " is counted by the model exact alone", 2)
    end
    local what = ("buffet %s of %s"):format(data.record.tensor, data.record.level)
    unknown(what, name, buffet_names(), 2)
  end
  note_origin(value, self, result.short_names[name] or name)
  return value
end

Buffet.__newindex = read_only

-- The fields that the model of a buffet counts, in their order.
local function fields_of(buffet)
  local list = table.move(result.fields, 1, #result.fields, 1, {})
  for _, field in ipairs(result.exact_fields) do
    if buffet_data[buffet].record[field] ~= nil then list[#list + 1] = field end
  end
  return list
end

function Buffet:__pairs()
  local list, i = fields_of(self), 0
  return function()
    i = i + 1
    local field = list[i]
    if field then return field, self[field] end
  end, self, nil
end

local function buffet_text(self)
  local lines = { ("%s in %s"):format(self.tensor, self.level) }
  for _, field in ipairs(fields_of(self)) do
    local value = self[field]
    if value ~= false and tostring(value) ~= "0" then
      lines[#lines + 1] = ("  %-44s %s"):format(field, value)
    end
  end
  return table.concat(lines, "\n")
end

function Buffet:__tostring() return result.quietly(buffet_text, self) end

local function new_buffet(einsum, row, point)
  local buffet = setmetatable({}, Buffet)
  buffet_data[buffet] = { einsum = einsum, record = row, point = point }
  return buffet
end

--- Bits that a buffet must hold at one time at least, or nil where that is not counted.
---@param buffet einloom.Buffet
---@return userdata?
function result.live_of(buffet)
  local data = buffet_data[buffet]
  local live = data.record.fewest_live
  return live and at_point(live, data.point)
end

--- Whether a value is a buffet of a result.
---@return boolean
function result.is_buffet(value) return getmetatable(value) == Buffet end

--- The einsum object of a buffet.
function result.einsum_of(buffet) return buffet_data[buffet].einsum end

-- ---- compute and fanout -------------------------------------------------------------------

local function compute_of(self, raw, name, point)
  local fields = {}
  for key, value in pairs(raw:compute(name)) do fields[key] = at_point(value, point) end
  return record("compute", fields, compute_short, nil, function(value, field)
    note_origin(value, self, "compute." .. field)
  end)
end

-- used instances as fanout.PE.x and as a list of {component, dim, used}
local function fanout_of(self, raw, name, point)
  local fields, by_component = {}, {}
  for i, row in ipairs(raw:fanout(name)) do
    local used = at_point(row.used, point)
    fields[i] = { component = row.component, dim = row.dim, used = used }
    by_component[row.component] = by_component[row.component] or {}
    by_component[row.component][row.dim] = used
  end
  for component, dims in pairs(by_component) do
    fields[component] = record("fanout of " .. component, dims, nil, nil,
      function(value, dim) note_origin(value, self, ("fanout.%s.%s"):format(component, dim)) end)
  end
  return record("fanout", fields, nil, function()
    local lines = {}
    for i, row in ipairs(fields) do
      lines[i] = ("%s.%s %s"):format(row.component, row.dim, tostring(row.used))
    end
    return #lines > 0 and table.concat(lines, "\n") or "no spatial loops"
  end)
end

-- ---- einsums ------------------------------------------------------------------------------

---@class einloom.EinsumResult
local Einsum = { __name = "einloom.einsum_result" }
local einsum_methods = {}

local einsum_data = setmetatable({}, { __mode = "k" })

-- A method that says so where it is called without its object.
local function with_colon(class, name, method)
  return function(self, ...)
    if getmetatable(self) ~= class then
      error(("call it with a colon: r:%s()"):format(name), 2)
    end
    return method(self, ...)
  end
end

local function definition(data)
  for _, einsum in ipairs(data.owner.workload.einsums) do
    if einsum.name == data.name then return einsum end
  end
end

local function access_of(data, tensor)
  for _, access in ipairs(definition(data).tensors) do
    if access.tensor == tensor then return access end
  end
end

--- The path of the einsum with its reservations: a list of nodes, outermost first.
function einsum_methods:path()
  local data = einsum_data[self]
  return nodes_at(data.owner.raw:path(data.name), data.owner.point)
end

--- The nest used for one tensor.
function einsum_methods:nest(tensor)
  local data = einsum_data[self]
  if not access_of(data, tensor) then
    unknown("einsum " .. data.name, tensor, self:tensors(), 2)
  end
  return nodes_at(data.owner.raw:nest(data.name, tensor), data.owner.point)
end

function einsum_methods:tensors()
  local data = einsum_data[self]
  return data.owner.raw:tensors(data.name)
end

--- Rank variables of a tensor, by first mention.
function einsum_methods:variables_of(tensor)
  local access = access_of(einsum_data[self], tensor)
  local names, seen = {}, {}
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      if not seen[term[1]] then
        seen[term[1]] = true
        names[#names + 1] = term[1]
      end
    end
  end
  return names
end

--- Whether a tensor is written by the einsum.
function einsum_methods:is_output(tensor)
  return access_of(einsum_data[self], tensor).output == true
end

function einsum_methods:size(variable)
  local owner = einsum_data[self].owner
  return at_point(exact(owner.workload.rank_variables[variable]), owner.point)
end

--- Values in the bounding box of a tile of a tensor, as the model reference has it.
function einsum_methods:values_in(tensor, extents)
  local access = access_of(einsum_data[self], tensor)
  local factors = {}
  for i, form in ipairs(access.affine) do
    local terms = { core.int(math.max(form.constant, 0) + 1) }
    for j, term in ipairs(form.terms) do
      terms[j + 1] = math.abs(term[2]) * (exact(extents[term[1]]) - 1)
    end
    factors[i] = core.sum(terms)
  end
  return core.product(factors)
end

--- The definition of the einsum in the workload.
function einsum_methods:definition() return definition(einsum_data[self]) end

--- Remarks where a number means something else than one may expect; list of sentences.
function einsum_methods:notes() return require "einloom.show.notes".einsum(self) end

local function level_text(tensors)
  return function()
    local lines = {}
    for i, tensor in ipairs(errors.keys(tensors)) do lines[i] = tostring(tensors[tensor]) end
    return table.concat(lines, "\n")
  end
end

local function make_levels(self, data)
  local levels, order, list, by_level = {}, {}, {}, {}
  for i, row in ipairs(data.owner.raw:buffets(data.name)) do
    list[i] = new_buffet(self, row, data.owner.point)
    by_level[row.level] = by_level[row.level] or {}
    by_level[row.level][row.tensor] = list[i]
  end
  for _, component in ipairs(data.owner.arch.components) do
    local tensors = by_level[component.name]
    if tensors then
      order[#order + 1] = component.name
      levels[component.name] =
        record("level " .. component.name, tensors, nil, level_text(tensors))
    end
  end
  data.levels, data.order, data.buffets = levels, order, list
end

local function levels_of(self)
  local data = einsum_data[self]
  if not data.levels then make_levels(self, data) end
  return data
end

-- The symbols of the tile shapes that are left at the point.
local function symbols_of(_, data)
  local list, seen = {}, {}
  for _, symbol in ipairs(data.owner.raw:symbols(data.name)) do
    for _, left in ipairs(at_point(symbol, data.owner.point):symbols()) do
      if not seen[left:name()] then
        seen[left:name()] = true
        list[#list + 1] = left
      end
    end
  end
  return list
end

local einsum_fields = {
  name = function(_, data) return data.name end,
  buffets = function(self) return levels_of(self).buffets end,
  levels = function(self) return levels_of(self).levels end,
  compute = function(self, data)
    return compute_of(self, data.owner.raw, data.name, data.owner.point)
  end,
  fanout = function(self, data)
    return fanout_of(self, data.owner.raw, data.name, data.owner.point)
  end,
  temporal_steps = function(self, data)
    local steps = at_point(data.owner.raw:temporal_steps(data.name), data.owner.point)
    note_origin(steps, self, "temporal_steps")
    return steps
  end,
  symbols = symbols_of,
  first_latency = function(_, data)
    return nodes_at(data.owner.raw:first_latency(data.name), data.owner.point)
  end,
}

local function einsum_names(self)
  local names = errors.keys(einsum_fields)
  for name in pairs(einsum_methods) do names[#names + 1] = name end
  for level in pairs(levels_of(self).levels) do names[#names + 1] = level end
  return names
end

local function einsum_value(self, name)
  local field = einsum_fields[name]
  if field then return field(self, einsum_data[self]) end
  local method = einsum_methods[name]
  if method then return with_colon(Einsum, name, method) end
  return levels_of(self).levels[name]
end

function Einsum:__index(name)
  local value = einsum_value(self, name)
  if value == nil then unknown("einsum " .. einsum_data[self].name, name, einsum_names(self), 2) end
  return value
end

Einsum.__newindex = read_only

--- Levels, outermost first.
function Einsum:__pairs()
  local data, i = levels_of(self), 0
  return function()
    i = i + 1
    local level = data.order[i]
    if level then return level, data.levels[level] end
  end, self, nil
end

function Einsum:__tostring()
  return result.quietly(require "einloom.show.nest".einsum, self)
end

-- ---- the result ---------------------------------------------------------------------------

---@class einloom.Result
local Result = { __name = "einloom.result" }

local result_data = setmetatable({}, { __mode = "k" })

local function new_einsums(owner)
  local list = {}
  for i, name in ipairs(owner.raw:einsums()) do
    local einsum = setmetatable({}, Einsum)
    einsum_data[einsum] = { owner = owner, name = name }
    list[i], list[name] = einsum, einsum
  end
  return list
end

local function make(data)
  local r = setmetatable({}, Result)
  data.einsums = new_einsums(data)
  data.base = data.base or r
  result_data[r] = data
  return r
end

--- A result object around what the core computed.
---@param raw userdata
---@param workload table
---@param arch table
---@param mapping table
---@param options? table of the analysis
---@return einloom.Result
function result.new(raw, workload, arch, mapping, options)
  return make {
    raw = raw, workload = workload, arch = arch, mapping = mapping, options = options or {},
    conventions = conventions.of(options),
  }
end

--- The point that an einsum of a result stands at, or nil, and the einsum with its formulas.
---@param einsum einloom.EinsumResult
---@return table? point
---@return einloom.EinsumResult formulas
function result.formulas(einsum)
  local data = einsum_data[einsum]
  return data.owner.point, result_data[data.owner.base].einsums[data.name]
end

--- What an einsum was analysed with.
---@param einsum einloom.EinsumResult
---@return einloom.Workload, einloom.Arch, einloom.Mapping
function result.context_of(einsum)
  local owner = einsum_data[einsum].owner
  return owner.workload, owner.arch, owner.mapping
end

--- How an einsum of a result was counted.
---@param einsum einloom.EinsumResult
---@return einloom.Conventions
function result.conventions_of(einsum) return einsum_data[einsum].owner.conventions end

--- An einsum of a result with storage lifted above loops that do not index it (lift.lua), at the
--- same point, and what moved; nil where nothing does.
---@param einsum einloom.EinsumResult
---@return einloom.EinsumResult? lifted
---@return einloom.Lifted[]? moves
function result.lifted(einsum)
  local data = einsum_data[einsum]
  local base = result_data[data.owner.base]
  if base.lifted == nil then
    base.lifted = false
    local mapping, moves = require "einloom.lift".mapping(base.mapping, base.workload)
    local raw = #moves > 0 and
      require "einloom.model".analyze(base.workload, base.arch, mapping, base.options)
    if raw then
      local r = result.new(raw, base.workload, base.arch, mapping, base.options)
      base.lifted = { result = r, moves = moves }
    end
  end
  if not base.lifted then return nil end
  local r = base.lifted.result
  if data.owner.point then
    local there = { point = data.owner.point, base = r }
    for _, key in ipairs { "raw", "workload", "arch", "mapping", "options", "conventions" } do
      there[key] = result_data[r][key]
    end
    r = make(there)
  end
  return r.einsums[data.name], base.lifted.moves
end

--- The paths of the einsums of a result that the one given belongs to, by name.
---@param einsum einloom.EinsumResult
---@return table<string, table[]>
function result.paths_beside(einsum)
  local paths = {}
  for _, other in ipairs(einsum_data[einsum].owner.einsums) do paths[other.name] = other:path() end
  return paths
end

--- The options of the analysis that made a result: leniency only.
---@return table
function result.options_of(r)
  local options = {}
  for key, value in pairs(result_data[r].options) do
    if key:match "^allow_" and value then options[key] = value end
  end
  return options
end

--- Whether a value is a result.
---@return boolean
function result.is(value) return getmetatable(value) == Result end

-- Every symbol that occurs in the result, by name.
local function known_symbols(data)
  if data.symbols then return data.symbols end
  local found = {}
  local function add(value)
    if core.is_expr(value) then
      for _, symbol in ipairs(value:symbols()) do found[symbol:name()] = symbol end
    end
  end
  local written = require "einloom.case.symbols".of(data.workload, data.arch, data.mapping)
  for name, symbol in pairs(written) do found[name] = symbol end
  for _, name in ipairs(data.raw:einsums()) do
    for _, symbol in ipairs(data.raw:symbols(name)) do add(symbol) end
    for _, buffet in ipairs(data.raw:buffets(name)) do
      for _, value in pairs(buffet) do add(value) end
    end
    for _, node in ipairs(data.raw:path(name)) do add(node.tile) add(node.trips) end
  end
  data.symbols = found
  return found
end

-- The symbols that are left at the point, sorted by name.
local function symbol_list(data)
  local list, left = {}, points.left(known_symbols(result_data[data.base]), data.point)
  for _, name in ipairs(errors.keys(left)) do list[#list + 1] = left[name] end
  return list
end

local result_fields = {
  einsums = function(data) return data.einsums end,
  workload = function(data) return data.workload end,
  arch = function(data) return data.arch end,
  mapping = function(data) return data.mapping end,
  point = function(data) return data.point or {} end,
  model = function(data) return data.conventions.model end,
  conventions = function(data) return records.new("conventions", data.conventions) end,
  raw = function(data) return data.raw end,
  symbols = symbol_list,
}

-- The remarks of all einsums, with their names where there are several.
local function all_notes(self)
  local list, data = {}, result_data[self]
  for _, einsum in ipairs(data.einsums) do
    for _, note in ipairs(einsum:notes()) do
      list[#list + 1] = #data.einsums > 1 and ("%s: %s"):format(einsum.name, note) or note
    end
  end
  return list
end

local function costs() return require "einloom.costs" end

local function result_names(data)
  local names = errors.keys(result_fields)
  names[#names + 1] = "notes"
  for _, name in ipairs(costs().names()) do names[#names + 1] = name end
  for i, einsum in ipairs(data.einsums) do
    names[#names + 1] = einsum.name
    if i == 1 and #data.einsums == 1 then
      for _, name in ipairs(einsum_names(einsum)) do names[#names + 1] = name end
    end
  end
  return names
end

local function result_value(data, name)
  local field = result_fields[name]
  if field then return field(data) end
  if name == "notes" then return with_colon(Result, name, all_notes) end
  if data.einsums[name] then return data.einsums[name] end
  local cost = costs().method(name)
  if cost then
    return with_colon(Result, name, function(self, ...) return cost(result_data[self], ...) end)
  end
  local only = #data.einsums == 1 and data.einsums[1]
  if not only then return nil end
  local method = einsum_methods[name]
  if method then
    return with_colon(Result, name, function(_, ...) return method(only, ...) end)
  end
  return einsum_value(only, name)
end

function Result:__index(name)
  local data = result_data[self]
  local value = result_value(data, name)
  if value == nil then
    local what = "the result"
    if #data.einsums > 1 then what = ("the result of %d einsums"):format(#data.einsums) end
    unknown(what, name, result_names(data), 2)
  end
  return value
end

Result.__newindex = read_only

--- Einsums in order.
function Result:__pairs()
  local data, i = result_data[self], 0
  return function()
    i = i + 1
    local einsum = data.einsums[i]
    if einsum then return einsum.name, einsum end
  end, self, nil
end

-- The loops of all paths with their places, for checking points.
local function paths_of(data)
  if data.paths then return data.paths end
  data.paths = {}
  for _, name in ipairs(data.raw:einsums()) do
    local sizes, loops = {}, {}
    local written = points.loops(data.mapping.nodes, name)
    for _, node in ipairs(data.raw:path(name)) do
      if node.variable then
        sizes[node.variable] = exact(data.workload.rank_variables[node.variable])
        loops[#loops + 1] = { node = node, where = (written[#loops + 1] or {}).where }
      end
    end
    data.paths[#data.paths + 1] = { sizes = sizes, loops = loops }
  end
  return data.paths
end

local function check_point(data, point)
  local base = result_data[data.base]
  local known = known_symbols(base)
  local read = points.read(point, points.left(known, data.point), data.point)
  local there = points.compose(data.point, read, known)
  points.check_tiles(paths_of(base), there, base.options.allow_growing_tiles)
  points.check_integers(read, points.left(known, data.point))
  points.check_integers(there, known)
  return there
end

--- The result at a point: values (or other formulas) for some symbols, by name. The facts of the
--- symbols and the tiles are checked. A point of a result at a point applies to its formulas.
function Result:__call(point)
  local data = result_data[self]
  if type(point) ~= "table" then error("a table of symbols and values was expected", 2) end
  return make {
    raw = data.raw, workload = data.workload, arch = data.arch, mapping = data.mapping,
    options = data.options, conventions = data.conventions, base = data.base,
    point = check_point(data, point),
  }
end

function Result:__tostring()
  return result.quietly(require "einloom.show.nest".result, self)
end

return result
