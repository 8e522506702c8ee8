-- SPDX-License-Identifier: MIT
-- Cases of schema tiles/1 for `einloom verify`: tile sequences and the geometry of tensors.

local compare = require "einloom.verify.compare"
local core = require "einloom.core"
local points = require "einloom.points"

local tiles = {}

local sequence_shape = compare.object {
  stride = "number",
  pairs = compare.list(compare.list "number"),
}

local function tile_sequence(raw)
  local got, message, kind =
    core.tile_sequence(raw.mode, raw.outer_shape, raw.tile_shape, raw.initial_tile_shape)
  if not got then return nil, ("%s (%s)"):format(message, kind) end
  return got
end

-- ---- geometry ------------------------------------------------------------------------------

local tensor_shape = compare.records({ "tensor" }, {
  projection = compare.list(compare.list "text"),
  affine = compare.records({ "rank" }, {
    coefficients = compare.map "number",
    constant = "number",
  }),
  relevancy = compare.map "text",
  stride_and_halo = compare.records({ "rank", "rank_variable" }, {
    stride = "number", halo = "number",
  }),
  dense_tile_occupancy = compare.list(compare.object {
    tile = compare.map "number", value = "number",
  }),
  dense_tile_occupancy_formula = compare.object {
    formula = "text", values = compare.list "number",
  },
})
local geometry_shape = compare.object {
  tensors = tensor_shape,
  variables_only_used_alone = compare.set(),
}

-- The einsum is not given whole; which tensor is written has no part in the geometry.
local function workload_of(raw)
  local tensors = {}
  for i, tensor in ipairs(raw.expected.tensors) do
    tensors[i] = {
      tensor = tensor.tensor, projection = tensor.projection,
      output = i == #raw.expected.tensors, bits_per_value = 1,
    }
  end
  return require "einloom.workload".new {
    rank_variables = raw.rank_variables,
    einsums = { { name = raw.einsum, tensors = tensors } },
  }
end

local function affine_records(tensor)
  local records = {}
  for i, form in ipairs(tensor.affine) do
    local coefficients = {}
    for _, term in ipairs(form.terms) do coefficients[term[1]] = term[2] end
    records[i] =
      { rank = tensor.projection[i][1], constant = form.constant, coefficients = coefficients }
  end
  return records
end

local function halos(w, access, tensor)
  local records = {}
  for i, form in ipairs(tensor.affine) do
    for _, term in ipairs(form.terms) do
      local stride, halo = w:stride_halo(0, access, i - 1, term[1])
      records[#records + 1] = {
        rank = tensor.projection[i][1], rank_variable = term[1], stride = stride, halo = halo,
      }
    end
  end
  return records
end

local function symbolic_extents(variables)
  local extents = {}
  for variable in pairs(variables) do extents[variable] = core.symbol("t_" .. variable) end
  return extents
end

local function occupancies(w, access, expected)
  local list = {}
  for i, sample in ipairs(expected.dense_tile_occupancy or {}) do
    list[i] = { tile = sample.tile, value = w:tile_occupancy(0, access, sample.tile) }
  end
  return list
end

-- The formula is compared by value at the tiles of the case.
local function formula_values(e, expected)
  local values = {}
  for i, sample in ipairs(expected.dense_tile_occupancy or {}) do
    local point = {}
    for variable, extent in pairs(sample.tile) do point["t_" .. variable] = extent end
    values[i] = points.at(e, point)
  end
  return values
end

local function relevancies(w, access, variables)
  local map = {}
  for variable in pairs(variables) do map[variable] = w:relevancy(0, access, variable) end
  return map
end

local function used_alone(w, variables)
  local names = {}
  for variable in pairs(variables) do
    if w:used_alone(0, variable) then names[#names + 1] = variable end
  end
  return names
end

local function geometry(raw, workload)
  local w = require "einloom.model".compile_workload(workload)
  local tensors = {}
  for i, tensor in ipairs(workload.einsums[1].tensors) do
    local access, expected = i - 1, raw.expected.tensors[i]
    local formula = w:tile_occupancy(0, access, symbolic_extents(raw.rank_variables))
    tensors[i] = {
      tensor = tensor.tensor,
      projection = tensor.projection,
      affine = affine_records(tensor),
      relevancy = relevancies(w, access, raw.rank_variables),
      stride_and_halo = halos(w, access, tensor),
      dense_tile_occupancy = occupancies(w, access, expected),
      dense_tile_occupancy_formula = { formula = "", values = formula_values(formula, expected) },
    }
  end
  return { tensors = tensors, variables_only_used_alone = used_alone(w, raw.rank_variables) }
end

-- The expected side with the formula's values in place of its text.
local function with_formula_values(expected)
  local out = {}
  for key, value in pairs(expected) do out[key] = value end
  out.tensors = setmetatable({}, core.json.array)
  for i, tensor in ipairs(expected.tensors) do
    local copy = {}
    for key, value in pairs(tensor) do copy[key] = value end
    if tensor.dense_tile_occupancy_formula ~= nil then
      local e = core.parse(tensor.dense_tile_occupancy_formula)
      local values = setmetatable(formula_values(e, tensor), core.json.array)
      for j, value in ipairs(values) do values[j] = tostring(value) end
      copy.dense_tile_occupancy_formula = { formula = "", values = values }
    end
    out.tensors[i] = copy
  end
  return out
end

--- Runs one case.
---@param run einloom.comparison
---@param raw table decoded case
function tiles.check(run, raw)
  run.names = raw.rank_variables or {}
  if raw["function"] == "tile_sequence" then
    local got, message = tile_sequence(raw)
    if not got then return run.differ("", "a result", message) end
    compare.check(run, sequence_shape, "expected", raw.expected, got)
  elseif raw["function"] == "tensor_geometry" then
    local got = geometry(raw, workload_of(raw))
    compare.check(run, geometry_shape, "expected", with_formula_values(raw.expected), got)
  else
    run.differ("function", "tile_sequence or tensor_geometry", tostring(raw["function"]))
  end
end

return tiles
