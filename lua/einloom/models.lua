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
    fail("%s %s is outside the table, %s to %s%s", what, tostring(x), tostring(low),
      tostring(high), extrapolate == nil and " (extrapolate = true goes on beyond its ends)" or "")
  end
  if #xs < 2 then fail("the table of %s has fewer than two points", what) end
  local i = 1
  while i < #xs - 1 and x > xs[i + 1] do i = i + 1 end
  return xs[i], xs[i + 1]
end

-- Six digits: more would pretend to know, and make exact sums long.
local function rounded(y)
  if not (y > 0 and y < math.huge) then
    fail("the model gives %s there, which is not a positive number", tostring(y))
  end
  return tonumber(("%.6g"):format(y))
end

-- y * w / unit, where the width w may be an expression.
local function times(y, w, unit)
  if core.is_expr(w) then return rounded(y) * (w / unit) end
  return rounded(y * w / unit)
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

local function shown(x)
  return type(x) == "string" and ("%q"):format(x) or core.is_expr(x) and tostring(x) or type(x)
end

local function number(x, what)
  if x == nil then fail("%s is missing: a number expected", what) end
  local n = x
  if core.is_expr(x) then n = x:tonumber() end
  if type(n) ~= "number" then fail("%s: a number expected, got %s", what, shown(x)) end
  if not (n > 0 and n < math.huge) then
    fail("%s must be positive and finite, not %s", what, tostring(x))
  end
  return math.tointeger(n) or n
end

-- A width may also be a formula.
local function width(x)
  if core.is_expr(x) and not x:is_number() then return x end
  return number(x, "width")
end

local function efficiency(x)
  local n = number(x, "efficiency")
  if n > 1 then fail("efficiency must be at most 1, not %s", tostring(x)) end
  return n
end

local function flag(x, what)
  if type(x) ~= "boolean" then fail("%s: true or false expected, got %s", what, shown(x)) end
  return x
end

local readers = {
  bits = number, sum = number, node = number, voltage = number, size = number, width = width,
  efficiency = efficiency, extrapolate = flag,
}

-- The options of a model, each checked.
local function check(options, known, name)
  if options == nil then options = {} end
  if type(options) ~= "table" then fail("loom.models.%s needs a table", name) end
  if (getmetatable(options) or {}).__name == "einloom.component" then
    fail("loom.models.%s makes the function that belongs here: call it, e.g. loom.models.%s%s",
      name, name, name == "dram" and ' "HBM2"' or known.bits and "{ bits = 8 }" or "{}")
  end
  errors.check_keys(KIND, options, known, "loom.models." .. name, 1)
  local result = { options[1] }
  for key, read in pairs(readers) do
    if options[key] ~= nil then result[key] = read(options[key], key) end
  end
  return result
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
    return interpolate(points, node, "node", false, function(at)
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
    from, to = number(from, "from"), number(to, "to")
    if voltages == nil then voltages = {} end
    if type(voltages) ~= "table" then
      fail("voltages: a table expected, got %s", shown(voltages))
    end
    errors.check_keys(KIND, voltages, { from = true, to = true }, "voltages")
    local v = {}
    for key, x in pairs(voltages) do v[key] = number(x, "voltages." .. key) end
    if from == to and v.from == v.to then return 1 end
    return rounded(energy_of(to, v.to) / energy_of(from, v.from))
  end

  --- What an area in one node is multiplied with in another.
  ---@param from number nm
  ---@param to number nm
  ---@return number
  function models.area_ratio(from, to)
    from, to = number(from, "from"), number(to, "to")
    if from == to then return 1 end
    local points = tables.node_area.points
    return rounded(interpolate(points, to, "node", false)
      / interpolate(points, from, "node", false))
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
  -- `what` is the option that says the width.
  local function cost(name, options, what)
    local t = tables[name]
    local points = kind_of(t, options, "int", name:match "^%a+").points
    local y = interpolate(points, number(options[what], what), what, options.extrapolate)
    return rounded(scale[name:find "_area$" and "area" or "energy"](y, t, options))
  end
  for _, name in ipairs { "adder", "multiplier", "adder_area", "multiplier_area" } do
    models[name] = function(options)
      local y = cost(name, check(options, operator_options, name), "bits")
      return function() return y end
    end
  end

  -- A multiplier and an adder that is `sum` bits wide.
  for _, suffix in ipairs { "", "_area" } do
    local name = "mac" .. suffix
    models[name] = function(options)
      options = check(options, { bits = true, sum = true, node = true, voltage = true,
        extrapolate = true }, name)
      local product = cost("multiplier" .. suffix, options, "bits")
      local y = rounded(product
        + cost("adder" .. suffix, options, options.sum and "sum" or "bits"))
      return function() return y end
    end
  end
end

local function memories(tables, models, scale)
  local function size_of(options, component)
    return number(options.size or component and component.size, "size")
  end

  local function width_of(options, action)
    return options.width or width(action and action.bits_per_action or 1)
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
    return function(component)
      return rounded(cell * size_of(options, component) / (options.efficiency or 1))
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

-- ---- tables of one's own ----

local function check_points(points, path, check_value)
  if type(points) ~= "table" then fail("%s: a table expected, got %s", path, shown(points)) end
  if next(points) == nil then fail("%s has no points", path) end
  for x, y in pairs(points) do
    number(x, path .. ": a key")
    check_value(y, ("%s[%s]"):format(path, tostring(x)))
  end
end

-- {a, b, c, volts} of the energy of a node.
local function check_fit(y, path)
  if type(y) ~= "table" or #y ~= 4 then fail("%s: {a, b, c, volts} expected", path) end
  for i = 1, 3 do
    local x = y[i]
    if type(x) ~= "number" or not (x > -math.huge and x < math.huge) then
      fail("%s[%d]: a number expected, got %s", path, i, shown(x))
    end
  end
  number(y[4], path .. "[4]")
end

local function check_kind(kind, path)
  if type(kind) ~= "table" then fail("%s: a table with points expected, got %s", path,
    shown(kind)) end
  errors.check_keys(KIND, kind, { points = true }, path)
  check_points(kind.points, path .. ".points", number)
end

-- What belongs in each table; `kinds` checks what stands under other names.
local operator = { node = true, voltage = true, kinds = check_kind }
local points_alone = { points = true }
local layouts = {
  sram = { node = true, voltage = true, width = true, points = true },
  dram = { kinds = number }, adder = operator, multiplier = operator, adder_area = operator,
  multiplier_area = operator, sram_cell = points_alone, node_energy = points_alone,
  node_area = points_alone,
}

local function check_tables(own)
  if type(own) ~= "table" then fail "loom.models.from needs a table of tables" end
  errors.check_keys(KIND, own, published, "loom.models.from")
  for name, t in pairs(own) do
    local layout = layouts[name]
    if type(t) ~= "table" then fail("%s: a table expected, got %s", name, shown(t)) end
    errors.check_keys(KIND, t, layout.kinds and t or layout, name)
    for key, x in pairs(t) do
      local path = name .. "." .. key
      if key == "points" and layout.points then
        check_points(x, path, name == "node_energy" and check_fit or number)
      else
        (layout[key] and number or layout.kinds)(x, path)
      end
    end
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
    check_tables(own)
    return library(merged(tables, own))
  end
  return setmetatable(models, { __index = function(self, name)
    fail("loom.models has no '%s'%s", tostring(name), errors.hint(tostring(name),
      errors.keys(self)))
  end })
end

return library(published)
