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
---@field has_steps? boolean the formula rounds: bounds with a slack say nothing about it
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

local function refuse(message, ...)
  errors.raise("bad_argument", message:format(...),
    { path = "options of loom.space", name = "minimise" })
end

-- ---- formulas that never fall ----

-- How an expression goes with energy and latency, both at least 0: "const", "up" (it falls
-- nowhere), "down" (it grows nowhere), or nil where that is not proven.
local way_of

local flipped = { const = "const", up = "down", down = "up" }

local function is_never_negative(e) return core.int(0):le(e) == true end

-- The way that all have in common.
local function common(args)
  local way = "const"
  for _, arg in ipairs(args) do
    local own = way_of(arg)
    if not own or own ~= "const" and way ~= "const" and own ~= way then return nil end
    if own ~= "const" then way = own end
  end
  return way
end

local function product_way(args)
  local factors, is_flipped = {}, false
  for _, arg in ipairs(args) do
    if arg:kind() ~= "num" then
      factors[#factors + 1] = arg
    elseif not is_never_negative(arg) then
      is_flipped = not is_flipped
    end
  end
  for _, factor in ipairs(factors) do
    if #factors > 1 and not is_never_negative(factor) then return nil end
  end
  local way = common(factors)
  return way and is_flipped and flipped[way] or way
end

local function power_way(base, exponent)
  local way, n = way_of(base), exponent:tointeger()
  if not way or not n then return nil end
  if (n < 0 or n % 2 == 0) and not is_never_negative(base) then return nil end
  return n < 0 and flipped[way] or way
end

local ways = {
  num = function() return "const" end,
  sym = function() return "up" end,
  add = common, max = common, min = common, floor = common, ceil = common, mul = product_way,
  pow = function(args) return power_way(args[1], args[2]) end,
}

function way_of(e)
  local own = ways[e:kind()]
  return own and own(e:args())
end

-- Whether every part is a sum, a product or a power of what is never negative: no steps, no poles
-- but at 0, so that derivatives tell how the whole goes.
local function is_smooth(e)
  local kind = e:kind()
  if kind == "num" or kind == "sym" then return true end
  if kind == "pow" then
    local base, exponent = e:arg(1), e:arg(2):tointeger()
    if not exponent or exponent < 0 and power_way(base, e:arg(2)) == nil then return false end
    return is_smooth(base)
  end
  if kind ~= "add" and kind ~= "mul" then return false end
  for _, arg in ipairs(e:args()) do
    if not is_smooth(arg) then return false end
  end
  return true
end

local function has_steps(e)
  local kind = e:kind()
  if kind == "num" or kind == "sym" then return false end
  if kind == "floor" or kind == "ceil" then return true end
  for _, arg in ipairs(e:args()) do
    if has_steps(arg) then return true end
  end
  return false
end

-- Raises unless a formula never falls where energy or latency grow: only then is its least value on
-- the front of both.
local function check_monotone(formula, text)
  local way = way_of(formula)
  if way == "up" or way == "const" then return end
  local smooth = is_smooth(formula)
  for _, symbol in ipairs { energy, latency } do
    if not smooth or core.int(0):le(formula:diff(symbol)) ~= true then
      refuse("minimise: '%s' is not known never to fall where %s grows%s", text,
        smooth and symbol:name() or "energy or latency", smooth and "" or ": a formula may have "
          .. "sums, products and powers of what is never negative, quotients by constants, max, "
          .. "min, floor and ceil")
    end
  end
end

-- ---- reading ----

-- The product by its names in a formula.
local function without_product(text)
  for _, name in ipairs { "edp", "EDP", "energy_delay_product" } do
    text = text:gsub("%f[%w_]" .. name .. "%f[^%w_]", "(energy*latency)")
  end
  return text
end

local function formula_of(x)
  local formula = x
  if type(x) == "string" then
    local ok, e = pcall(core.parse, without_product(x), "minimise", { energy, latency })
    if not ok then error(e, 0) end
    formula = e
  end
  for _, symbol in ipairs(formula:symbols()) do
    local name = symbol:name()
    if name == "usage" then
      refuse("minimise: a formula is of energy and latency, not of usage: a list of figures, such "
        .. "as energy and usage, has it")
    elseif symbol ~= energy and symbol ~= latency then
      refuse("minimise: no figure %s%s", name, errors.hint(name, errors.keys(known)))
    end
  end
  check_monotone(formula, tostring(x))
  return {
    names = { "formula" }, figures = { energy = true, latency = true }, is_front = false,
    product = false, formula = formula, text = tostring(x), has_steps = has_steps(formula),
  }
end

local function list_of(x)
  local names, seen = {}, {}
  for i, name in ipairs(x) do
    local one = figure(name)
    if not one then
      return nil, "a list of figures", (": '%s' is none%s"):format(tostring(name),
        type(name) == "string" and errors.hint(name, errors.keys(known)) or "")
    elseif seen[one] then
      return nil, "each figure once", (": %s is there twice"):format(one)
    end
    seen[one], names[i] = true, one
  end
  if #names == 0 then return nil, expected end
  if #names > 1 and seen.energy_delay_product then
    return nil, "figures that are not made of each other",
      ": energy_delay_product is energy times latency"
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

local function program_of(self)
  self.program = self.program or core.compile({ self.formula }, { energy, latency })
  return self.program
end

--- The exact value of a formula that is minimised.
---@param self einloom.Objective
---@param figures { energy: einloom.Expr, latency: einloom.Expr }
---@return einloom.Expr
function objective.exact(self, figures)
  local ok, x = pcall(function()
    return program_of(self):exact({ figures.energy, figures.latency })[1]
  end)
  if ok and x:is_number() then return x end
  errors.raise("bad_argument", ("%s has no exact value where energy is %s and latency %s%s"):format(
    self.text, tostring(figures.energy), tostring(figures.latency),
    ok and "" or ": " .. (errors.is(x) and x.message or tostring(x):gsub("^[^\n]-:%d+: ", ""))),
    { path = "options of loom.space", name = "minimise" })
end

--- The value of a formula that is minimised.
---@param self einloom.Objective
---@param point table {energy =, latency =}
---@return number
function objective.value(self, point)
  return program_of(self):eval({ { point.energy }, { point.latency } })[1][1]
end

return objective
