-- SPDX-License-Identifier: MIT
-- What a search minimises: one figure, several, or a formula of energy and latency.

local core = require "einloom.core"
local errors = require "einloom.errors"

local objective = {}

---@class einloom.Objective
---@field names string[] figures, or the text of a formula
---@field figures table<string, true> energy, latency, usage: what points have to be compared by
---@field is_front boolean all points that no other one beats, not one best
---@field product boolean energy times latency alone
---@field formula? einloom.Expr in energy and latency, for one best point
---@field program? einloom.Program the formula compiled
---@field text string

local real = { integer = false, min = 0 }
local energy, latency = core.symbol("energy", real), core.symbol("latency", real)

-- Figures with what they are made of.
local known = {
  energy = { energy = true }, latency = { latency = true }, usage = { usage = true },
  energy_delay_product = { energy = true, latency = true },
}
local other_names = { edp = "energy_delay_product", EDP = "energy_delay_product" }

local expected = "energy, latency, energy_delay_product, usage, a list of them or a formula in "
  .. "energy and latency"

local function figure(name)
  name = other_names[name] or name
  return known[name] and name
end

local function new(names)
  local figures = {}
  for _, name in ipairs(names) do
    for part in pairs(known[name]) do figures[part] = true end
  end
  local is_front = #names > 1 or names[1] == "usage"
  return {
    names = names, figures = figures, is_front = is_front,
    product = names[1] == "energy_delay_product" and not is_front,
    text = table.concat(names, ", "),
  }
end

-- Raises unless a formula never falls where energy or latency grow: only then is its least value
-- on the front of both.
local function check_monotone(formula, text)
  for _, symbol in ipairs { energy, latency } do
    if core.int(0):le(formula:diff(symbol)) ~= true then
      errors.raise("bad_argument",
        ("minimise: '%s' is not known never to fall where %s grows"):format(text, symbol:name()),
        { path = "options of loom.space" })
    end
  end
end

local function formula_of(x)
  local formula = x
  if type(x) == "string" then
    local ok, e = pcall(core.parse, x, "minimise", { energy, latency })
    if not ok then error(e, 0) end
    formula = e
  end
  for _, symbol in ipairs(formula:symbols()) do
    if symbol ~= energy and symbol ~= latency then
      errors.raise("bad_argument", ("minimise: no figure %s%s"):format(symbol:name(),
        errors.hint(symbol:name(), errors.keys(known))), { path = "options of loom.space" })
    end
  end
  check_monotone(formula, tostring(x))
  return {
    names = { "formula" }, figures = { energy = true, latency = true }, is_front = false,
    product = false, formula = formula, text = tostring(x),
  }
end

local function list_of(x)
  local names, seen = {}, {}
  for i, name in ipairs(x) do
    local one = figure(name)
    if not one or seen[one] then
      return nil, one and "each figure once" or expected,
        type(name) == "string" and errors.hint(name, errors.keys(known)) or ""
    end
    seen[one], names[i] = true, one
  end
  if #names == 0 then return nil, expected end
  if #names > 1 and seen.energy_delay_product then
    return nil, "figures that are not made of each other"
  end
  return new(names)
end

--- The objective that an option says, or nil, what was expected and a hint.
---@param x any
---@return einloom.Objective? result, string? expected, string? hint
function objective.new(x)
  if type(x) == "string" and figure(x) then return new { figure(x) } end
  if type(x) == "string" or core.is_expr(x) then return formula_of(x) end
  if type(x) ~= "table" then return nil, expected end
  return list_of(x)
end

--- The value of a formula that is minimised.
---@param self einloom.Objective
---@param point table {energy =, latency =}
---@return number
function objective.value(self, point)
  self.program = self.program or core.compile({ self.formula }, { energy, latency })
  return self.program:eval({ { point.energy }, { point.latency } })[1][1]
end

return objective
