-- SPDX-License-Identifier: MIT
-- What an analysis gives back: r.GLB.A.reads_to_parent, r.MM0.GLB.A... with several einsums, and
-- r{M0 = 16} for the numbers at a point. A name that does not exist is an error, never nil.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local einsums = require "einloom.result.einsum"
local errors = require "einloom.errors"
local origins = require "einloom.result.origins"
local points = require "einloom.points"
local records = require "einloom.records"

local result = {}

---@class einloom.Result
local Result = { __name = "einloom.result" }

local result_data = setmetatable({}, { __mode = "k" })

local function new_einsums(owner)
  local list = {}
  for i, name in ipairs(owner.raw:einsums()) do
    local einsum = einsums.new(owner, name)
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
  local owner, name = einsums.owner_of(einsum)
  return owner.point, result_data[owner.base].einsums[name]
end

--- What an einsum was analysed with.
---@param einsum einloom.EinsumResult
---@return einloom.Workload, einloom.Arch, einloom.Mapping
function result.context_of(einsum)
  local owner = einsums.owner_of(einsum)
  return owner.workload, owner.arch, owner.mapping
end

--- How an einsum of a result was counted.
---@param einsum einloom.EinsumResult
---@return einloom.Conventions
function result.conventions_of(einsum) return einsums.owner_of(einsum).conventions end

--- An einsum of a result with storage lifted above loops that do not index it (lift.lua), at the
--- same point, and what moved; nil where nothing does.
---@param einsum einloom.EinsumResult
---@return einloom.EinsumResult? lifted
---@return einloom.Lifted[]? moves
function result.lifted(einsum)
  local owner, name = einsums.owner_of(einsum)
  local base = result_data[owner.base]
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
  if owner.point then
    local there = { point = owner.point, base = r }
    for _, key in ipairs { "raw", "workload", "arch", "mapping", "options", "conventions" } do
      there[key] = result_data[r][key]
    end
    r = make(there)
  end
  return r.einsums[name], base.lifted.moves
end

--- The paths of the einsums of a result that the one given belongs to, by name.
---@param einsum einloom.EinsumResult
---@return table<string, table[]>
function result.paths_beside(einsum)
  local paths = {}
  for _, other in ipairs(einsums.owner_of(einsum).einsums) do paths[other.name] = other:path() end
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
      for _, name in ipairs(einsums.names(einsum)) do names[#names + 1] = name end
    end
  end
  return names
end

local function result_value(data, name)
  local field = result_fields[name]
  if field then return field(data) end
  if name == "notes" then return records.with_colon(Result, name, all_notes) end
  if data.einsums[name] then return data.einsums[name] end
  local cost = costs().method(name)
  if cost then
    return records.with_colon(Result, name,
      function(self, ...) return cost(result_data[self], ...) end)
  end
  local only = #data.einsums == 1 and data.einsums[1]
  if not only then return nil end
  local method = einsums.method(name)
  if method then
    return records.with_colon(Result, name, function(_, ...) return method(only, ...) end)
  end
  return einsums.value(only, name)
end

function Result:__index(name)
  local data = result_data[self]
  local value = result_value(data, name)
  if value == nil then
    local what = "the result"
    if #data.einsums > 1 then what = ("the result of %d einsums"):format(#data.einsums) end
    records.unknown(what, name, result_names(data), 2)
  end
  return value
end

Result.__newindex = records.read_only

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
        sizes[node.variable] = points.exact(data.workload.rank_variables[node.variable])
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
  return origins.quietly(require "einloom.show.nest".result, self)
end

return result
