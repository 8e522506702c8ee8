-- SPDX-License-Identifier: MIT
-- What stands in C for indices and for what operations compute: indices are 64-bit integers, all
-- other arithmetic is in doubles.

local core = require "einloom.core"
local errors = require "einloom.errors"
local scalar = require "einloom.kernels.scalar"

local ctext = {}

local function refuse(message) errors.raise("bad_plan", message) end

--- A pattern of scalar.lua with what stands for %1 and %2.
---@param pattern string
---@param a string
---@param b? string
---@return string
function ctext.fill(pattern, a, b)
  return (pattern:gsub("%%([12])", function(n) return n == "1" and a or b end))
end

-- ---- integers ------------------------------------------------------------------------------

local integer

local function joined(e, between, name)
  local parts = {}
  for i, arg in ipairs(e:args()) do parts[i] = integer(arg, name) end
  return "(" .. table.concat(parts, between) .. ")"
end

local function power(e, name)
  local base, exponent = e:arg(1), e:arg(2):tointeger()
  if not exponent or exponent < 1 or exponent > 8 then refuse "an index has a power" end
  return "(" .. integer(base, name) .. (" * " .. integer(base, name)):rep(exponent - 1) .. ")"
end

local function called(function_name)
  return function(e, name)
    return ("%s(%s, %s)"):format(function_name, integer(e:arg(1), name), integer(e:arg(2), name))
  end
end

local kinds = {
  add = function(e, name) return joined(e, " + ", name) end,
  mul = function(e, name) return joined(e, " * ", name) end,
  pow = power,
  floor_div = called "el_floor_div",
  mod = called "el_floor_mod",
  opaque = function(e, name) return integer(e:arg(1), name) end,
  mod_index = function(e, name)
    local digit = called "el_floor_div"(e, name)
    return ("el_floor_mod(%s, %s)"):format(digit, integer(e:arg(3), name))
  end,
}

--- An index as C; `name` gives what stands for a symbol.
---@param e einloom.Expr
---@param name fun(symbol: string): string
---@return string
function ctext.integer(e, name)
  local n = e:tointeger()
  if n then return n < 0 and ("(%d)"):format(n) or ("%d"):format(n) end
  local kind = e:kind()
  if kind == "sym" then return name(e:name()) end
  if not kinds[kind] then refuse(("no C for the index %s"):format(tostring(e))) end
  return kinds[kind](e, name)
end
integer = ctext.integer

-- ---- bodies --------------------------------------------------------------------------------

--- A number as C.
---@param x number
---@return string
function ctext.number(x)
  if x ~= x then return "NAN" end
  if x == math.huge then return "INFINITY" end
  if x == -math.huge then return "(-INFINITY)" end
  local text = ("%.17g"):format(x)
  if not text:find "[.en]" then text = text .. ".0" end
  return x < 0 and "(" .. text .. ")" or text
end

--- A load of a statement as it is in memory or held.
---@param state table of ccode.lua
---@param statement einloom.Statement
---@param n integer
---@return string
function ctext.load(state, statement, n)
  local load = statement.loads[n]
  if load.held then return "v_" .. state.id(load.tensor) .. (load.tag or "") end
  return state.element(load.tensor, load.index, statement)
end

--- The double that a load is.
---@param state table
---@param statement einloom.Statement
---@param n integer
---@return string
function ctext.value(state, statement, n)
  local dtype = state.graph.tensors[statement.loads[n].tensor].dtype
  return ctext.fill(scalar.from[dtype], ctext.load(state, statement, n))
end

-- The pattern of two values for all of them, from the left, each text taken up once.
local function folded(pattern, parts)
  local before, between, behind = pattern:match "^(.-)%%1(.-)%%2(.*)$"
  if before == "(" and (between == " + " or between == " * ") then
    return "(" .. table.concat(parts, between) .. ")"
  end
  local texts = { before:rep(#parts - 1), parts[1] }
  for i = 2, #parts do
    texts[#texts + 1] = between
    texts[#texts + 1] = parts[i]
    texts[#texts + 1] = behind
  end
  return table.concat(texts)
end

--- What a statement computes, or a part of it.
---@param state table
---@param statement einloom.Statement
---@param node table of kernels/body.lua
---@return string
function ctext.body(state, statement, node)
  if node.op == "number" then return ctext.number(node.value) end
  if node.op == "load" then return ctext.value(state, statement, node[1]) end
  if node.op == "size" then return "(double)" .. state.integer(core.symbol(node.name)) end
  if node.op == "loop" then
    return "(double)" .. state.integer(statement.loops[node.name], statement)
  end
  local parts = {}
  for i, child in ipairs(node) do parts[i] = ctext.body(state, statement, child) end
  local name = node.op == "call" and node.name or node.op
  if name == "select" then
    return ("(%s != 0 ? %s : %s)"):format(parts[1], parts[2], parts[3])
  end
  local pattern = scalar.c[name]
  if #parts == 1 then
    return (name == "max" or name == "min") and parts[1] or ctext.fill(pattern, parts[1])
  end
  return folded(pattern, parts)
end

return ctext
