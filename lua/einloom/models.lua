-- SPDX-License-Identifier: MIT
-- A library of costs of components: functions for the numbers of an architecture, from published
-- tables or from tables of one's own. Energies in pJ, areas in um2, nodes in nm, sizes in bits.

local core = require "einloom.core"
local errors = require "einloom.errors"
local published = require "einloom.published"

local KIND = "bad_argument"

local function fail(message, ...)
  errors.raise(KIND, message:format(...))
end

-- ---- points ----

local function sorted(points)
  local xs = {}
  for x in pairs(points) do xs[#xs + 1] = x end
  table.sort(xs)
  return xs
end

-- The neighbours of x among the points: at the ends the last two, if that is allowed.
local function neighbours(points, x, what, extrapolate)
  local xs = sorted(points)
  local low, high = xs[1], xs[#xs]
  if (x < low or x > high) and not extrapolate then
    fail("%s %s is outside the table, %s to %s (extrapolate = true goes on beyond its ends)",
      what, tostring(x), tostring(low), tostring(high))
  end
  if #xs < 2 then fail("the table of %s has fewer than two points", what) end
  local i = 1
  while i < #xs - 1 and x > xs[i + 1] do i = i + 1 end
  return xs[i], xs[i + 1]
end

-- Six digits: more would pretend to know, and make exact sums long.
local function rounded(y) return tonumber(("%.6g"):format(y)) end

-- y * width / unit, where the width may be an expression.
local function times(y, width, unit)
  if core.is_expr(width) then return rounded(y) * (width / unit) end
  return rounded(y * width / unit)
end

-- The value at x: as published at a point, else on the power law through the two points around it.
local function interpolate(points, x, what, extrapolate, value)
  value = value or function(at) return points[at] end
  if points[x] then return value(x) end
  local x1, x2 = neighbours(points, x, what, extrapolate)
  local y1, y2 = value(x1), value(x2)
  return y1 * (x / x1) ^ (math.log(y2 / y1) / math.log(x2 / x1))
end

-- ---- arguments ----

local function number(x, what)
  if core.is_expr(x) then x = x:tonumber() or fail("%s is not a number: %s", what, tostring(x)) end
  if type(x) ~= "number" then fail("%s is missing: a number expected", what) end
  if not (x > 0 and x < math.huge) then fail("%s must be positive and finite", what) end
  return math.tointeger(x) or x
end

local function check(options, known, name)
  options = options or {}
  if type(options) ~= "table" then fail("loom.models.%s needs a table", name) end
  errors.check_keys(KIND, options, known, "loom.models." .. name, 1)
  return options
end

-- The table of a kind, which the options name first.
local function kind_of(tables, options, default, name)
  local kind = options[1] or default
  local t = tables[kind]
  if kind == "node" or kind == "voltage" or not t then
    local known = {}
    for _, key in ipairs(errors.keys(tables)) do
      if key ~= "node" and key ~= "voltage" then known[#known + 1] = key end
    end
    fail("no %s %s%s", name, tostring(kind), errors.hint(tostring(kind), known))
  end
  return t
end

-- Named entries replace those of the same name; a table of points is replaced as a whole, and a
-- node takes its supply voltage with it.
local function merged(base, own)
  local result = {}
  for key, x in pairs(base) do
    result[key] = type(x) == "table" and merged(x, {}) or x
  end
  if own.node then result.voltage = nil end
  for key, x in pairs(own) do
    local nested = type(x) == "table" and type(base[key]) == "table" and key ~= "points"
    result[key] = nested and merged(base[key], x) or x
  end
  return result
end

-- ---- the library on a set of tables ----

local function scaling(tables, models)
  -- Energy of a node, up to a factor common to all; at its own voltage if none is given.
  local function energy_of(node, voltage)
    local points = tables.node_energy.points
    return interpolate(points, number(node, "node"), "node", false, function(at)
      local a, b, c, nominal = table.unpack(points[at])
      local v = voltage or nominal
      local e = a * v * v + b * v + c
      if e <= 0 then fail("%s V is below what the fit for %d nm covers", tostring(v), at) end
      return e
    end)
  end

  --- What an energy in one node is multiplied with in another.
  ---@param from number nm
  ---@param to number nm
  ---@param voltages? { from: number?, to: number? } V; those of the nodes by default
  ---@return number
  function models.energy_ratio(from, to, voltages)
    voltages = voltages or {}
    if from == to and voltages.from == voltages.to then return 1 end
    return rounded(energy_of(to, voltages.to) / energy_of(from, voltages.from))
  end

  --- What an area in one node is multiplied with in another.
  ---@param from number nm
  ---@param to number nm
  ---@return number
  function models.area_ratio(from, to)
    if from == to then return 1 end
    local points = tables.node_area.points
    return rounded(interpolate(points, number(to, "node"), "node")
      / interpolate(points, number(from, "node"), "node"))
  end

  local scale = {}
  function scale.energy(y, t, options)
    if not (options.node or options.voltage) then return y end
    local to = options.node or t.node
    local voltage = options.voltage or to == t.node and t.voltage or nil
    return y * models.energy_ratio(t.node, to, { from = t.voltage, to = voltage })
  end
  function scale.area(y, t, options)
    return options.node and y * models.area_ratio(t.node, options.node) or y
  end
  return scale
end

local operator_options = { bits = true, node = true, voltage = true, extrapolate = true }

-- Costs of adders and multipliers by width: loom.models.adder{ "int", bits = 8 } and the like.
local function operators(tables, models, scale)
  local function add(name, quantity)
    models[name] = function(options)
      options = check(options, operator_options, name)
      local t = tables[name]
      local points = kind_of(t, options, "int", name:match "^%a+").points
      local bits = number(options.bits, "bits")
      local y = interpolate(points, bits, "bits", options.extrapolate)
      y = rounded(scale[quantity](y, t, options))
      return function() return y end
    end
  end
  add("adder", "energy")
  add("multiplier", "energy")
  add("adder_area", "area")
  add("multiplier_area", "area")

  -- A multiplier and an adder that is `sum` bits wide.
  local function mac(suffix)
    local name = "mac" .. suffix
    models[name] = function(options)
      options = check(options, { bits = true, sum = true, node = true, voltage = true,
        extrapolate = true }, name)
      local own = { options[1], bits = options.bits, node = options.node, voltage = options.voltage,
        extrapolate = options.extrapolate }
      local product = models["multiplier" .. suffix](own)()
      own.bits = options.sum or options.bits
      local y = rounded(product + models["adder" .. suffix](own)())
      return function() return y end
    end
  end
  mac ""
  mac "_area"
end

local function memories(tables, models, scale)
  local function size_of(options, component)
    return number(options.size or component and component.size, "size")
  end

  local function width_of(options, action)
    return options.width or action and action.bits_per_action or 1
  end

  --- Energy of an access to an SRAM: by its size, in proportion to the bits of the access.
  ---@param options? { size: number?, width: number?, node: number?, voltage: number?,
  --- extrapolate: boolean? } size and width are those of the component and the action by default
  function models.sram(options)
    options = check(options, { size = true, width = true, node = true, voltage = true,
      extrapolate = true }, "sram")
    local t = tables.sram
    return function(component, action)
      local size = size_of(options, component)
      local y = interpolate(t.points, size, "size", options.extrapolate)
      return times(scale.energy(y, t, options), width_of(options, action), t.width)
    end
  end

  --- Area of an SRAM: that of its cells, divided by the part of the array that is cells.
  ---@param options { size: number?, node: number, efficiency: number?, extrapolate: boolean? }
  function models.sram_area(options)
    options = check(options, { size = true, node = true, efficiency = true, extrapolate = true },
      "sram_area")
    local cell = interpolate(tables.sram_cell.points, number(options.node, "node"), "node",
      options.extrapolate)
    local efficiency = number(options.efficiency or 1, "efficiency")
    return function(component)
      return rounded(cell * size_of(options, component) / efficiency)
    end
  end

  --- Energy of an access to a DRAM of a kind, e.g. loom.models.dram "HBM2".
  ---@param options string|{ [1]: string, width: number? }
  function models.dram(options)
    if type(options) == "string" then options = { options } end
    options = check(options, { width = true }, "dram")
    local per_bit = kind_of(tables.dram, options, nil, "DRAM")
    return function(_, action) return times(per_bit, width_of(options, action), 1) end
  end
end

local function library(tables)
  local models = { tables = merged(tables, {}) }
  local scale = scaling(tables, models)
  operators(tables, models, scale)
  memories(tables, models, scale)

  --- The library with tables of one's own in the place of the published ones.
  ---@param own table tables by the names of `models.tables`
  function models.from(own)
    if type(own) ~= "table" then fail "loom.models.from needs a table of tables" end
    errors.check_keys(KIND, own, published, "loom.models.from")
    return library(merged(tables, own))
  end
  return models
end

return library(published)
