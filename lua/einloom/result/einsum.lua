-- SPDX-License-Identifier: MIT
-- Einsums of a result: levels with their buffets, compute unit, fanout, paths and nests.

local buffet = require "einloom.result.buffet"
local core = require "einloom.core"
local errors = require "einloom.errors"
local origins = require "einloom.result.origins"
local points = require "einloom.points"
local records = require "einloom.records"

local einsum = {}

local compute_short = {
  ops = "total_ops", max_per_unit = "max_per_unit_ops", latency = "max_latency",
}

local unknown, record, at_point = records.unknown, records.new, points.at
local exact = points.exact

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

local function compute_of(self, raw, name, point)
  local fields = {}
  for key, value in pairs(raw:compute(name)) do fields[key] = at_point(value, point) end
  return record("compute", fields, compute_short, nil, function(value, field)
    origins.note(value, self, "compute." .. field)
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
      function(value, dim) origins.note(value, self, ("fanout.%s.%s"):format(component, dim)) end)
  end
  return record("fanout", fields, nil, function()
    local lines = {}
    for i, row in ipairs(fields) do
      lines[i] = ("%s.%s %s"):format(row.component, row.dim, tostring(row.used))
    end
    return #lines > 0 and table.concat(lines, "\n") or "no spatial loops"
  end)
end

---@class einloom.EinsumResult
local Einsum = { __name = "einloom.einsum_result" }
local einsum_methods = {}

local einsum_data = setmetatable({}, { __mode = "k" })

local function definition(data)
  for _, written in ipairs(data.owner.workload.einsums) do
    if written.name == data.name then return written end
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
    list[i] = buffet.new(self, row, data.owner)
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
    origins.note(steps, self, "temporal_steps")
    return steps
  end,
  symbols = symbols_of,
  first_latency = function(_, data)
    return nodes_at(data.owner.raw:first_latency(data.name), data.owner.point)
  end,
}

--- All names that an einsum of a result has something for.
---@param self einloom.EinsumResult
---@return string[]
function einsum.names(self)
  local names = errors.keys(einsum_fields)
  for name in pairs(einsum_methods) do names[#names + 1] = name end
  for level in pairs(levels_of(self).levels) do names[#names + 1] = level end
  return names
end

--- What an einsum has under a name, or nil.
---@param self einloom.EinsumResult
---@param name string
function einsum.value(self, name)
  local field = einsum_fields[name]
  if field then return field(self, einsum_data[self]) end
  local method = einsum_methods[name]
  if method then return records.with_colon(Einsum, name, method) end
  return levels_of(self).levels[name]
end

function Einsum:__index(name)
  local value = einsum.value(self, name)
  if value == nil then unknown("einsum " .. einsum_data[self].name, name, einsum.names(self), 2) end
  return value
end

Einsum.__newindex = records.read_only

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
  return origins.quietly(require "einloom.show.nest".einsum, self)
end

--- The einsum of a name in the result that the owner has the data of.
---@param owner table
---@param name string
---@return einloom.EinsumResult
function einsum.new(owner, name)
  local made = setmetatable({}, Einsum)
  einsum_data[made] = { owner = owner, name = name }
  return made
end

--- The data of the result that an einsum belongs to, and its name there.
---@param self einloom.EinsumResult
---@return table owner
---@return string name
function einsum.owner_of(self)
  local data = einsum_data[self]
  return data.owner, data.name
end

--- A method of an einsum as a function of the einsum, or nil.
---@param name string
---@return function?
function einsum.method(name) return einsum_methods[name] end

return einsum
