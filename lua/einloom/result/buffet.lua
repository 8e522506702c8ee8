-- SPDX-License-Identifier: MIT
-- Buffets of a result: the counts of one tensor in one level, as r.GLB.A.reads_to_parent.

local origins = require "einloom.result.origins"
local points = require "einloom.points"
local records = require "einloom.records"

local buffet = {}

--- The fields of a buffet as the core gives them, in the order in which they are listed.
buffet.fields = {
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
buffet.exact_fields = { "total_deliveries", "total_departures", "total_drains", "fewest_live" }

--- Short names of fields.
buffet.short_names = {
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

---@class einloom.Buffet
---@field tensor string
---@field level string
local Buffet = { __name = "einloom.buffet" }

local buffet_data = setmetatable({}, { __mode = "k" })

local function buffet_names()
  local names = { "tensor", "level", "einsum", "tile", "values" }
  for _, fields in ipairs { buffet.fields, buffet.exact_fields } do
    for _, field in ipairs(fields) do names[#names + 1] = field end
  end
  for _, names_of in ipairs { buffet.short_names, net } do
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
  local workload, arch = data.owner.workload, data.owner.arch
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
  local exact_model = data.owner.conventions.model == "exact"
  if exact_model and bits:eq(0) ~= true then
    return points.at((bits / bits_of(data)):expand(), data.owner.point)
  end
  return data.einsum:values_in(data.record.tensor, tile_of(data))
end

local function buffet_field(data, name)
  if name == "tensor" or name == "level" then return data.record[name] end
  if name == "einsum" then return data.einsum.name end
  if name == "tile" then return tile_of(data) end
  if name == "values" then return values_of(data) end
  local point = data.owner.point
  if net[name] then
    local all, skipped = data.record[net[name][1]], data.record[net[name][2]]
    return points.at(all - skipped, point)
  end
  return points.at(data.record[buffet.short_names[name] or name], point)
end

local function is_exact_field(name)
  for _, field in ipairs(buffet.exact_fields) do
    if field == (buffet.short_names[name] or name) then return true end
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
    records.unknown(what, name, buffet_names(), 2)
  end
  origins.note(value, self, buffet.short_names[name] or name)
  return value
end

Buffet.__newindex = records.read_only

-- The fields that the model of a buffet counts, in their order.
local function fields_of(b)
  local list = table.move(buffet.fields, 1, #buffet.fields, 1, {})
  for _, field in ipairs(buffet.exact_fields) do
    if buffet_data[b].record[field] ~= nil then list[#list + 1] = field end
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

function Buffet:__tostring() return origins.quietly(buffet_text, self) end

--- The buffet that a row of the core is, of an einsum of the result that the owner has the data of.
---@param einsum einloom.EinsumResult
---@param row table
---@param owner table
---@return einloom.Buffet
function buffet.new(einsum, row, owner)
  local made = setmetatable({}, Buffet)
  buffet_data[made] = { einsum = einsum, record = row, owner = owner }
  return made
end

--- Bits that a buffet must hold at one time at least, or nil where that is not counted.
---@param b einloom.Buffet
---@return userdata?
function buffet.live_of(b)
  local data = buffet_data[b]
  local live = data.record.fewest_live
  return live and points.at(live, data.owner.point)
end

--- Whether a value is a buffet of a buffet.
---@return boolean
function buffet.is(value) return getmetatable(value) == Buffet end

--- The einsum object of a buffet.
function buffet.einsum_of(b) return buffet_data[b].einsum end

return buffet
