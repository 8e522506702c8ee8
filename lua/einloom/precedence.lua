-- SPDX-License-Identifier: MIT
-- Operator-precedence parsing with an explicit stack: no recursion, linear time, and brackets only
-- up to a stated depth.  The grammar and the values are the caller's.

local errors = require "einloom.errors"

local precedence = {}

--- Brackets inside brackets up to this depth.
precedence.max_depth = 200

---@class einloom.Grammar
---@field prefix table<string, integer> prefix operators and their binding power
---@field infix table<string, integer> infix operators and their binding power
---@field right? table<string, boolean> the infix operators that group to the right
---@field operand fun(lex: einloom.Lexer): any, boolean? value, or (name, true): a call was opened
---@field unary fun(op: string, value: any, position: integer, lex: einloom.Lexer): any
---@field binary fun(op: string, left: any, right: any, position: integer, lex: einloom.Lexer): any
---@field call? fun(name: any, arguments: any[], position: integer, lex: einloom.Lexer): any
---@field what string how to call an operand in messages

local function apply(grammar, lex, operators, values)
  local top = table.remove(operators)
  local n = #values
  if top.unary then
    values[n] = grammar.unary(top.op, values[n], top.position, lex)
  else
    local right = table.remove(values)
    values[n - 1] = grammar.binary(top.op, values[n - 1], right, top.position, lex)
  end
end

local function open(lex, operators, frame, depth)
  if depth >= precedence.max_depth then
    lex:fail(("brackets nested beyond depth %d"):format(precedence.max_depth), frame.position,
      "depth")
  end
  operators[#operators + 1] = frame
  return depth + 1
end

-- Applies what stands above the innermost bracket, or everything; returns the bracket's frame.
local function unwind(grammar, lex, operators, values)
  while #operators > 0 and not operators[#operators].bracket do
    apply(grammar, lex, operators, values)
  end
  return operators[#operators]
end

local function infix(grammar, lex, operators, values, power)
  local right = grammar.right and grammar.right[lex.kind]
  while #operators > 0 do
    local top = operators[#operators]
    if top.bracket or top.power < power or (right and top.power == power and not top.unary) then
      break
    end
    apply(grammar, lex, operators, values)
  end
  operators[#operators + 1] = { op = lex.kind, power = power, position = lex.position }
  lex:advance()
end

local function close(grammar, lex, operators, values)
  local frame = unwind(grammar, lex, operators, values)
  table.remove(operators)
  lex:advance()
  if frame.call then
    local arguments = frame.arguments
    arguments[#arguments + 1] = table.remove(values)
    values[#values + 1] = grammar.call(frame.call, arguments, frame.position, lex)
  end
end

-- Reads up to the next operand, prefix operators and opening brackets included.  Returns the depth
-- and whether an operand was read.
local function operand(grammar, lex, operators, values, depth)
  local kind, position = lex.kind, lex.position
  local power = grammar.prefix[kind]
  if power then
    operators[#operators + 1] = { op = kind, power = power, unary = true, position = position }
    lex:advance()
    return depth, false
  end
  if lex:accept "(" then
    return open(lex, operators, { bracket = true, position = position }, depth), false
  end
  local value, called = grammar.operand(lex)
  if called then
    local frame = { bracket = true, call = value, arguments = {}, position = position }
    depth = open(lex, operators, frame, depth)
    if lex:accept ")" then
      table.remove(operators)
      values[#values + 1] = grammar.call(value, {}, position, lex)
      return depth - 1, true
    end
    return depth, false
  end
  if value == nil then
    lex:fail(("expected %s, found %s"):format(grammar.what, lex:shown()))
  end
  values[#values + 1] = value
  return depth, true
end

local function unclosed(lex, frame)
  local line, column = errors.position(lex.source, frame.position)
  local bracket = frame.call and "call" or "'('"
  lex:fail(("expected ')' to close the %s at %d:%d, found %s")
    :format(bracket, line, column, lex:shown()))
end

--- Parses one expression, up to the first token that cannot continue it.
---@param lex einloom.Lexer
---@param grammar einloom.Grammar
---@return any value
function precedence.parse(lex, grammar)
  local operators, values = {}, {}
  local depth, complete = 0, false
  while true do
    if not complete then
      depth, complete = operand(grammar, lex, operators, values, depth)
    else
      local power = grammar.infix[lex.kind]
      if power then
        infix(grammar, lex, operators, values, power)
        complete = false
      elseif depth > 0 and lex.kind == ")" then
        close(grammar, lex, operators, values)
        depth = depth - 1
      else
        local frame = unwind(grammar, lex, operators, values)
        if not frame then return values[1] end
        if not (frame.call and lex:accept ",") then unclosed(lex, frame) end
        frame.arguments[#frame.arguments + 1] = table.remove(values)
        complete = false
      end
    end
  end
end

return precedence
