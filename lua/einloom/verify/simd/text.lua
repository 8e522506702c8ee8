-- SPDX-License-Identifier: MIT
-- Texts of index expressions in cases of simd/1: the symbols that their names stand for, how far a
-- form is simplified, and the comparison of an expression with a recorded text.

local core = require "einloom.core"
local errors = require "einloom.errors"

local text = {}

local null, array = core.json.null, core.json.array

-- ---- symbols -------------------------------------------------------------------------------

-- What is assumed of names: any integer, a size, and all others (loop variables, flat indices,
-- values loaded at run time) start at 0. The upper bound of a size is for proofs alone.
local function assumptions(name, sizes)
  local size = sizes[name]
  if size then return { min = size.min or (size.unbacked and 0 or 1) } end
  if name:match "^t_%d+$" then return { min = math.mininteger } end
  if name:match "^s%d+$" then return { min = 1 } end
  return { min = 0 }
end

---@class einloom.SimdTexts
---@field symbols table<string, einloom.Expr> by name, made when a text mentions them
---@field sizes table<string, table> what a case says of its symbolic sizes
local Texts = {}
Texts.__index = Texts

--- Reads the texts of one case.
---@param sizes? table<string, table>
---@return einloom.SimdTexts
function text.reader(sizes)
  return setmetatable({ symbols = {}, sizes = sizes or {} }, Texts)
end

---@param name string
---@return einloom.Expr
function Texts:symbol(name)
  local known = self.symbols[name]
  if not known then
    known = core.symbol(name, assumptions(name, self.sizes))
    self.symbols[name] = known
  end
  return known
end

--- An expression from its text, or from an integer.
---@param given string|integer
---@return einloom.Expr
function Texts:parse(given)
  if math.type(given) == "integer" then return core.int(given) end
  if type(given) ~= "string" then
    errors.raise("bad_case", ("the text of an expression expected, got %s"):format(
      core.json.encode(given)))
  end
  local symbols = {}
  for name, after in given:gmatch "([%a_][%w_]*)%s*(%(?)" do
    if after == "" then symbols[#symbols + 1] = self:symbol(name) end
  end
  return core.parse(given, "case", symbols)
end

---@param list string[]
---@return einloom.Expr[]
function Texts:parse_all(list)
  local parsed = {}
  for i, one in ipairs(list) do parsed[i] = self:parse(one) end
  return parsed
end

--- Hints of the sizes: example values, false for sizes without one.
---@return table<string, integer|false>
function Texts:hints()
  local hints = {}
  for name, size in pairs(self.sizes) do hints[name] = not size.unbacked and size.hint or false end
  return hints
end

--- The extents of variables, and of sizes that have an upper bound.
---@param ranges? table<string, string>
---@return table<string, einloom.Expr>
function Texts:extents(ranges)
  local extents = {}
  for name, size in pairs(ranges or {}) do
    self:symbol(name)
    extents[name] = self:parse(size)
  end
  for name, size in pairs(self.sizes) do
    if size.max then extents[name] = core.int(size.max) + 1 end
  end
  return extents
end

--- What is given of the sizes, keyed by symbols.
---@return { hints: table<einloom.Expr, integer|false>, extents: table<einloom.Expr, einloom.Expr> }
function Texts:given()
  local given = { hints = {}, extents = {} }
  for name, hint in pairs(self:hints()) do given.hints[self:symbol(name)] = hint end
  for name, extent in pairs(self:extents()) do given.extents[self:symbol(name)] = extent end
  return given
end

-- ---- forms ---------------------------------------------------------------------------------

local counted = { floor_div = "fdiv", floor = "fdiv", ceil = "fdiv", mod = "modidx",
  mod_index = "modidx" }

local function count_nodes(e, form)
  local name = counted[e:kind()]
  if name then form[name] = form[name] + 1 end
  for _, arg in ipairs(e:args()) do count_nodes(arg, form) end
end

local divisions = { floor_div = true, floor = true, ceil = true }

-- What a term has beside its one division; nil where it has none.
local function scale_of_division(term)
  if divisions[term:kind()] then return core.int(1) end
  if term:kind() ~= "mul" then return nil end
  for _, factor in ipairs(term:args()) do
    if divisions[factor:kind()] then return term / factor end
  end
  return nil
end

-- Whether one of the terms may as well stand in a division of another, as the reference leaves it:
-- 4*((x + 1) // 3) - 8 is 4*((x - 5) // 3). Building takes it out.
local function one_fits_a_division(terms)
  for _, term in ipairs(terms) do
    local scale = scale_of_division(term)
    for _, other in ipairs(scale and terms or {}) do
      local ratio = not scale_of_division(other) and other / scale
      if ratio and ratio:is_number() and ratio:is_integer() then return true end
    end
  end
  return false
end

local function count_terms(e)
  if e:kind() ~= "add" then return 1 end
  local terms = e:args()
  return one_fits_a_division(terms) and #terms - 1 or #terms
end

--- Divisions, modular indices and terms of an expression, as written out.
---@param e einloom.Expr
---@return { fdiv: integer, modidx: integer, terms: integer }
function text.form(e)
  local form = { fdiv = 0, modidx = 0, terms = count_terms(e) }
  count_nodes(e, form)
  return form
end

local function count(given, pattern)
  local n = 0
  for _ in given:gmatch(pattern) do n = n + 1 end
  return n
end

--- The same of a recorded text.
---@param given string
---@return { fdiv: integer, modidx: integer, terms: integer }
function text.form_of_text(given)
  local outside = given:gsub("%b()", "()")
  return {
    fdiv = count(given, "fdiv%("),
    modidx = count(given, "modidx%(") + count(given, "p?mod%("),
    terms = 1 + count(outside, "[%w%)] [%+%-] "),
  }
end

local function larger(got, limit)
  for _, key in ipairs { "fdiv", "modidx", "terms" } do
    if got[key] > (limit[key] or 0) then return key end
  end
  return nil
end

local function value_at(e, at)
  local point = {}
  for _, symbol in ipairs(e:symbols()) do
    local name = symbol:name()
    if at[name] == nil then return nil end
    point[name] = at[name]
  end
  return e(point):reveal()
end

local function recorded(value)
  if getmetatable(value) == array then value = #value == 1 and value[1] or nil end
  local ok, number = pcall(core.number, value)
  return ok and number or nil
end

-- Every sample must be reproduced, whatever the form.
local function check_samples(run, at, got, samples)
  for i, sample in ipairs(samples) do
    local wanted, value = recorded(sample.value), value_at(got, sample.at)
    if not wanted or value ~= wanted then
      run.differ(("%s at samples[%d]"):format(at, i), core.json.encode(sample.value),
        ("%s = %s"):format(got, value or "no value"))
      return
    end
  end
end

-- Points drawn for cases without samples: small values, the same in every run.
local function draw(state, lo)
  state[1] = (state[1] * 1103515245 + 12345) & 0x7fffffff
  return lo + (state[1] >> 8) % 24
end

local drawn_points = 200

local function agrees_somewhere_else(expected, got)
  local state, names = { 1 }, {}
  for _, e in ipairs { expected, got } do
    for _, symbol in ipairs(e:symbols()) do names[symbol:name()] = symbol end
  end
  for _ = 1, drawn_points do
    local at = {}
    for _, name in ipairs(errors.keys(names)) do
      local lo = names[name]:bounds()
      at[name] = draw(state, lo and lo:tointeger() or -12)
    end
    if value_at(expected, at) ~= value_at(got, at) then return false end
  end
  return true
end

--- Compares an expression with a recorded text. Equal expressions pass; others must reproduce every
--- sample (without samples: agree at drawn points) and be simplified as far as recorded.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string where in the case
---@param expected string
---@param got einloom.Expr
---@param raw? table has `samples` and `form`
function text.check(run, texts, at, expected, got, raw)
  local samples, form = raw and raw.samples, raw and raw.form
  if samples then check_samples(run, at, got, samples) end
  local wanted = texts:parse(expected)
  if wanted == got or wanted:simplify() == got then return end
  local key = larger(text.form(got), form or text.form_of_text(tostring(expected)))
  if key then return run.differ(at, expected, ("%s with more %s"):format(got, key)) end
  if not samples and not agrees_somewhere_else(wanted, got) then
    run.differ(at, expected, tostring(got))
  end
end

--- Compares a list of expressions with recorded texts, in order.
---@param run einloom.comparison
---@param texts einloom.SimdTexts
---@param at string
---@param expected string[]
---@param got einloom.Expr[]
function text.check_list(run, texts, at, expected, got)
  if getmetatable(expected) ~= array or #expected ~= #got then
    return run.differ(at, core.json.encode(expected), ("%d entries"):format(#got))
  end
  for i, one in ipairs(expected) do
    text.check(run, texts, ("%s[%d]"):format(at, i), one, got[i])
  end
end

--- Differs where a case has a key its family does not have.
---@param run einloom.comparison
---@param raw table
---@param known table<string, boolean>
function text.check_keys(run, raw, known)
  for _, key in ipairs(errors.keys(raw)) do
    if not known[key] then
      run.differ(tostring(key), "no such key", core.json.encode(raw[key]))
    end
  end
end

--- Whether a recorded value is JSON's null or absent.
function text.is_null(value) return value == nil or value == null end

--- A set of names.
function text.keys(...)
  local set = {}
  for _, name in ipairs { ... } do set[name] = true end
  return set
end

return text
