-- SPDX-License-Identifier: MIT
-- Index expressions of a tensor: affine forms of rank variables with integer coefficients, and
-- quasi-affine ones (`//`, `%`), which parse and are kept as trees.  Where the reader of an index
-- allows it, a value loaded from a tensor is a variable too, and names of sizes may be factors and
-- divisors.  An affine form holds no zero coefficient and its names are in order of first mention.

local lexer = require "einloom.lexer"
local precedence = require "einloom.precedence"

local affine = {}

---@class einloom.Affine
---@field constant integer
---@field names string[] variables in order of first mention
---@field terms table<string, integer> coefficient of each variable

---@class einloom.Index
---@field text string canonical text
---@field affine? einloom.Affine nil when the index is quasi-affine
---@field tree? table the operators of a quasi-affine index
---@field names string[] variables in order of first mention
---@field position integer where it starts in the text
---@field rank? string explicit rank name
---@field nonaffine_position? integer where its first // or % is

local function constant(value)
  return { constant = value, names = {}, terms = {} }
end

local function is_constant(value)
  return value.terms ~= nil and #value.names == 0
end

local function checked(exact, wrapped, position, lex)
  if math.abs(exact) >= 2 ^ 62 then
    lex:fail("integer in an index is too large", position, "bad_workload")
  end
  return wrapped
end

local function plus(a, b, position, lex)
  return checked(a + 0.0 + b, a + b, position, lex)
end

local function times(a, b, position, lex)
  return checked((a + 0.0) * b, a * b, position, lex)
end

-- left + factor * right, into left.
local function add(left, right, factor, position, lex)
  left.constant = plus(left.constant, factor * right.constant, position, lex)
  for _, name in ipairs(right.names) do
    local before = left.terms[name]
    if not before then left.names[#left.names + 1] = name end
    left.terms[name] = plus(before or 0, factor * right.terms[name], position, lex)
  end
  return left
end

local function scale(value, factor, position, lex)
  value.constant = times(value.constant, factor, position, lex)
  for _, name in ipairs(value.names) do
    value.terms[name] = times(value.terms[name], factor, position, lex)
  end
  return value
end

--- The canonical text of an affine form, e.g. "2*p + r - 1".
---@param value einloom.Affine
---@return string
function affine.text(value)
  local parts = {}
  local function part(coefficient, name)
    local sign = coefficient < 0 and "-" or "+"
    local size = math.abs(coefficient)
    local text = name and (size == 1 and name or size .. "*" .. name) or tostring(size)
    if #parts > 0 then
      parts[#parts + 1] = (" %s %s"):format(sign, text)
    else
      parts[1] = (sign == "-" and "-" or "") .. text
    end
  end
  for _, name in ipairs(value.names) do
    if value.terms[name] ~= 0 then part(value.terms[name], name) end
  end
  if value.constant ~= 0 or #parts == 0 then part(value.constant) end
  return table.concat(parts)
end

local function factor_text(value)
  if not value.terms then return "(...)" end
  local text = affine.text(value)
  return text:find " " and "(" .. text .. ")" or text
end

local function divisible(value, divisor)
  if value.constant % divisor ~= 0 then return false end
  for _, coefficient in pairs(value.terms) do
    if coefficient % divisor ~= 0 then return false end
  end
  return true
end

-- Whether nothing but numbers and sizes is in a value.
local function is_size(value) return value.sized or is_constant(value) end

local function by_size(op, left, right, position)
  return { op = op, left, right, position = position, sized = is_size(left) and is_size(right) }
end

local function divide(op, left, right, position, lex)
  if right.sized then return by_size(op .. "by", left, right, position) end
  if not is_constant(right) or right.constant <= 0 then
    lex:fail(("the right side of %s in an index must be a positive integer"):format(op), position)
  end
  local divisor = right.constant
  if left.terms and divisible(left, divisor) then
    if op == "%" then return scale(left, 0, position, lex) end
    left.constant = left.constant // divisor
    for name, coefficient in pairs(left.terms) do left.terms[name] = coefficient // divisor end
    return left
  end
  if left.terms and #left.names == 0 then
    return constant(op == "%" and left.constant % divisor or left.constant // divisor)
  end
  return { op = op, left, divisor, position = position, sized = left.sized }
end

local function sum(left, right, position)
  if left.op == "+" then
    left[#left + 1], left.sized = right, is_size(left) and is_size(right)
    return left
  end
  return { op = "+", left, right, position = left.position or right.position or position,
    sized = is_size(left) and is_size(right) }
end

local function multiply(left, right, position, lex)
  if left.terms and right.terms then
    if is_constant(right) then return scale(left, right.constant, position, lex) end
    if is_constant(left) then return scale(right, left.constant, position, lex) end
  elseif is_constant(left) or is_constant(right) then
    local tree = left.terms and right or left
    local factor = left.terms and left.constant or right.constant
    return { op = "*", tree, factor, position = tree.position, sized = tree.sized }
  end
  if is_size(left) or is_size(right) then return by_size("product", left, right, position) end
  lex:fail(("index %s*%s multiplies rank variables: it is not affine")
    :format(factor_text(left), factor_text(right)), position, "bad_workload")
end

local grammar = {
  what = "an index expression",
  prefix = { ["-"] = 4, ["+"] = 4 },
  infix = { ["+"] = 2, ["-"] = 2, ["*"] = 3, ["//"] = 3, ["%"] = 3 },
}

function grammar.operand(lex)
  local position = lex.position
  local text = lex:accept "number"
  if text then
    local value = math.tointeger(tonumber(text))
    if not value or math.abs(value) >= 2 ^ 62 or text:find "[.eE]" then
      lex:fail(("an index needs integers, not %s"):format(text), position)
    end
    return constant(value)
  end
  local name = lex:accept "name"
  if not name then return nil end
  local size = lex.size_of and lex.kind ~= "[" and lex.size_of(name)
  if math.type(size) == "integer" then return constant(size) end
  if size then return { op = "size", name = name, position = position, sized = true } end
  if lex.kind == "[" and lex.load then
    name = lex.load(name, position)
  elseif lex.kind == "[" or lex.kind == "(" then
    lex:fail(("%s%s: an index is made of rank variables and integers"):format(name, lex.kind),
      position)
  end
  return { constant = 0, names = { name }, terms = { [name] = 1 } }
end

function grammar.unary(op, value, position, lex)
  if op == "+" then return value end
  if value.terms then return scale(value, -1, position, lex) end
  return { op = "*", value, -1, position = value.position, sized = value.sized }
end

function grammar.binary(op, left, right, position, lex)
  if op == "//" or op == "%" then return divide(op, left, right, position, lex) end
  if op == "*" then return multiply(left, right, position, lex) end
  local factor = op == "-" and -1 or 1
  if left.terms and right.terms then return add(left, right, factor, position, lex) end
  if factor == -1 then right = grammar.unary("-", right, position, lex) end
  return sum(left, right, position)
end

-- The variables of a tree, in order, without recursion.
local function tree_names(tree)
  local names, seen, stack = {}, {}, { tree }
  while #stack > 0 do
    local node = table.remove(stack)
    if type(node) == "table" and node.terms then
      for _, name in ipairs(node.names) do
        if not seen[name] then
          seen[name] = true
          names[#names + 1] = name
        end
      end
    elseif type(node) == "table" then
      for i = #node, 1, -1 do stack[#stack + 1] = node[i] end
    end
  end
  return names
end

local function affine_steps(value, into)
  into[#into + 1] = { "constant", value.constant }
  for _, name in ipairs(value.names) do
    into[#into + 1] = { "variable", name }
    into[#into + 1] = { "scale", value.terms[name] }
    into[#into + 1] = { "add" }
  end
end

local operations = { ["*"] = "scale", ["//"] = "floor_div", ["%"] = "mod" }
local binary = { product = "product", ["//by"] = "floor_div_by", ["%by"] = "mod_by" }

--- The operators of a quasi-affine index as steps on a stack: {"variable", name}, {"constant", n},
--- {"add"}, {"scale", n}, {"floor_div", n}, {"mod", n}; with sizes also {"size", name}, and of the
--- two values on top {"product"}, {"floor_div_by"} and {"mod_by"}.
---@param tree table
---@return table[]
function affine.steps(tree)
  local steps, stack = {}, { tree }
  while #stack > 0 do
    local node = table.remove(stack)
    if node.terms then
      affine_steps(node, steps)
    elseif node.step then
      steps[#steps + 1] = node.step
    elseif node.op == "size" then
      steps[#steps + 1] = { "size", node.name }
    elseif binary[node.op] then
      stack[#stack + 1] = { step = { binary[node.op] } }
      stack[#stack + 1], stack[#stack + 2] = node[2], node[1]
    elseif node.op == "+" then
      for i = #node, 1, -1 do
        if i > 1 then stack[#stack + 1] = { step = { "add" } } end
        stack[#stack + 1] = node[i]
      end
    else
      stack[#stack + 1] = { step = { operations[node.op], node[2] } }
      stack[#stack + 1] = node[1]
    end
  end
  return steps
end

-- Drops the terms that cancelled.
local function settle(value)
  local names = {}
  for _, name in ipairs(value.names) do
    if value.terms[name] ~= 0 then names[#names + 1] = name else value.terms[name] = nil end
  end
  value.names = names
  return value
end

--- Reads one index expression.  `load` of the lexer, if it has one, reads the indices behind the
--- name of a tensor and gives the name of the variable that stands for the value loaded.
---@param lex einloom.Lexer
---@return einloom.Index
function affine.read(lex)
  local start = lex.position
  local value = precedence.parse(lex, grammar)
  if value.terms then
    settle(value)
    return { text = affine.text(value), affine = value, names = value.names, position = start }
  end
  return {
    text = lex:slice(start, lex.stop), tree = value, names = tree_names(value), position = start,
    nonaffine_position = value.position,
  }
end

local scan = lexer.new { "//", "+", "-", "*", "%", "/", "(", ")", "[", "]", "," }

--- Parses a whole text as one index expression.
---@param text string
---@param name? string chunk name for messages
---@return einloom.Index
function affine.parse(text, name)
  local lex = scan { name = name or "index", text = text }
  local index = affine.read(lex)
  if lex.kind ~= "end" then
    local hint = lex.kind == "/" and " (division is //)" or ""
    lex:fail(("expected an operator or the end of the index, found %s%s"):format(lex:shown(), hint))
  end
  return index
end

--- Whether a variable stands in an index of a tensor.
---@param access einloom.Access with its `affine` forms
---@param variable string
function affine.indexes(access, variable)
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      if term[1] == variable then return true end
    end
  end
  return false
end

return affine
