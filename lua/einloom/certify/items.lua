-- SPDX-License-Identifier: MIT
-- Formulas as sums of items: a number times one function per variable, each a formula in the tiles
-- of that variable alone which is nowhere negative (doc/formulas.md#certificates-bounds).

local core = require "einloom.core"
local errors = require "einloom.errors"

local items = {}

---@class einloom.Item
---@field coefficient number
---@field functions table<string, einloom.Expr> by variable; none: 1

---@class einloom.Domain
---@field variable_of table<string, string> by name of the symbol of a tile
---@field range fun(variable: string, e: einloom.Expr): number, number least and largest value

local function variables_of(domain, e)
  local seen, only = {}, nil
  for _, symbol in ipairs(e:symbols()) do
    local name = symbol:name()
    local v = domain.variable_of[name]
    if not v then errors.raise("bound", ("%s is not a tile of a loop"):format(name)) end
    if not seen[v] then
      if only ~= nil then return nil end
      seen[v], only = true, v
    end
  end
  return only or false
end

local function same(a, b)
  for v, f in pairs(a.functions) do
    if b.functions[v] ~= f then return false end
  end
  for v in pairs(b.functions) do
    if not a.functions[v] then return false end
  end
  return true
end

-- Items with the same functions as one.
local function merge(list)
  local merged = {}
  for _, item in ipairs(list) do
    local found
    for _, other in ipairs(merged) do
      if same(item, other) then
        found = other
        break
      end
    end
    if found then
      found.coefficient = found.coefficient + item.coefficient
    else
      merged[#merged + 1] = { coefficient = item.coefficient, functions = item.functions }
    end
  end
  return merged
end

local one = core.int(1)

-- Variables in which p and n differ, in order; nil if p may be smaller than n in one of them.
local function differences(domain, p, n)
  local list, names = {}, {}
  for v in pairs(p.functions) do names[v] = true end
  for v in pairs(n.functions) do names[v] = true end
  for v in pairs(names) do
    local a, b = p.functions[v] or one, n.functions[v] or one
    if a ~= b then
      if domain.range(v, a - b) < 0 then return nil end
      list[#list + 1] = v
    end
  end
  table.sort(list)
  return list
end

local function partner(domain, list, n)
  local best, least
  for _, p in ipairs(list) do
    if p.coefficient > 0 and not p.difference then
      local names = differences(domain, p, n)
      if names and #names > 0 and (not best or #names < #least) then best, least = p, names end
    end
  end
  return best, least
end

-- P - N as a sum of products without negative functions: variables change from P to N one by one.
local function telescope(out, p, n, names, amount)
  local functions = {}
  for v, f in pairs(p.functions) do functions[v] = f end
  for _, v in ipairs(names) do
    local item = { coefficient = amount, functions = {}, difference = true }
    for u, f in pairs(functions) do item.functions[u] = f end
    local a, b = p.functions[v] or one, n.functions[v] or one
    item.functions[v] = a - b
    out[#out + 1] = item
    functions[v] = b ~= one and b or nil
  end
end

-- A text of an item by what its functions are worth: the same whatever came before in a session,
-- which the order in formulas is not.
local function key_of(domain, item)
  local names, parts = {}, { ("%+.10e"):format(item.coefficient) }
  for v in pairs(item.functions) do names[#names + 1] = v end
  table.sort(names)
  for _, v in ipairs(names) do
    parts[#parts + 1] = ("%s %.10e %.10e"):format(v, domain.range(v, item.functions[v]))
  end
  return table.concat(parts, ";")
end

local function sorted(domain, list)
  local keys, copy = {}, table.move(list, 1, #list, 1, {})
  for i, item in ipairs(list) do keys[item] = { key_of(domain, item), i } end
  table.sort(copy, function(a, b)
    local x, y = keys[a], keys[b]
    if x[1] ~= y[1] then return x[1] < y[1] end
    return x[2] < y[2]
  end)
  return copy
end

-- Negative items against positive ones that are nowhere smaller, as far as they reach.
local function pair(domain, list, inner)
  local out = {}
  list = sorted(domain, list)
  for _, n in ipairs(list) do
    local constant = next(n.functions) == nil and not inner
    while n.coefficient < 0 and not constant do
      local p, names = partner(domain, list, n)
      if not p then break end
      local amount = math.min(p.coefficient, -n.coefficient)
      p.coefficient, n.coefficient = p.coefficient - amount, n.coefficient + amount
      telescope(out, p, n, names, amount)
    end
  end
  for _, item in ipairs(list) do
    if item.coefficient ~= 0 then out[#out + 1] = item end
  end
  return merge(out)
end

local function product(a, b)
  local out = {}
  for _, x in ipairs(a) do
    for _, y in ipairs(b) do
      local item = { coefficient = x.coefficient * y.coefficient, functions = {} }
      for v, f in pairs(x.functions) do item.functions[v] = f end
      for v, f in pairs(y.functions) do
        item.functions[v] = item.functions[v] and item.functions[v] * f or f
        if item.functions[v] == one then item.functions[v] = nil end
      end
      out[#out + 1] = item
    end
  end
  return merge(out)
end

local list_of

local function sum_of(domain, e, inner)
  local list = {}
  for _, arg in ipairs(e:args()) do
    for _, item in ipairs(list_of(domain, arg, true)) do list[#list + 1] = item end
  end
  return pair(domain, merge(list), inner)
end

local function power_of(domain, e)
  local exponent = e:arg(2):tointeger()
  if not exponent or exponent < 1 or exponent > 8 then
    errors.raise("bound", ("a bound needs sums of products of tiles, not %s"):format(tostring(e)))
  end
  local base = list_of(domain, e:arg(1), true)
  local result = base
  for _ = 2, exponent do result = product(result, base) end
  return result
end

-- A formula in the tiles of one variable, if it does not change its sign.
local function single(domain, v, e)
  local least, most = domain.range(v, e)
  if least >= 0 then return { { coefficient = 1, functions = { [v] = e } } } end
  if most <= 0 then return { { coefficient = -1, functions = { [v] = -e } } } end
  return nil
end

function list_of(domain, e, inner)
  local v = variables_of(domain, e)
  if v == false then
    local x = e:tonumber()
    if not x then errors.raise("bound", ("%s is no number"):format(tostring(e))) end
    return x ~= 0 and { { coefficient = x, functions = {} } } or {}
  end
  local list = v and single(domain, v, e)
  if list then return list end
  local kind = e:kind()
  if kind == "add" then return sum_of(domain, e, inner) end
  if kind == "pow" then return power_of(domain, e) end
  if kind ~= "mul" then
    errors.raise("bound", ("a bound needs sums of products of tiles, not %s"):format(tostring(e)))
  end
  list = { { coefficient = 1, functions = {} } }
  for _, arg in ipairs(e:args()) do list = product(list, list_of(domain, arg, true)) end
  return list
end

--- A formula as a sum of items. Raises an error object of kind `bound` where it has no such form.
---@param domain einloom.Domain
---@param e einloom.Expr
---@return einloom.Item[]
function items.of(domain, e) return list_of(domain, e, false) end

return items
