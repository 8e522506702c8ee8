-- SPDX-License-Identifier: MIT
-- The einsum grammar:  [label:] [copy] Out[index, ...] {, Out[...]} op expression
-- with op one of = += *= max= min=.  An einsum accesses each tensor once.
-- Einsums of kernels may also read a tensor at several places, compare (<= < >= > == ~=), read at
-- an index that is loaded: table[idx[i], j], have sizes in indices, and change a tensor in place:
-- update Out[index, ...] op expression.

local affine = require "einloom.affine"
local lexer = require "einloom.lexer"
local precedence = require "einloom.precedence"

local einsum = {}

---@class einloom.Access
---@field tensor string
---@field indices einloom.Index[]
---@field output boolean
---@field position integer

---@class einloom.Einsum
---@field name string the label, or the first output
---@field labelled boolean
---@field is_copy boolean
---@field is_update boolean of kernels: it changes its output in place
---@field op string "=", "+=", "*=", "max=" or "min="
---@field op_position integer
---@field accesses einloom.Access[] inputs in order of mention, then outputs
---@field expression table tree of {op=, position=, ...}, the position in the text; access leaves
--- hold their place in `accesses`
---@field variables string[] rank variables in order of mention, outputs first
---@field reduced string[] those missing on the left
---@field body string the text without label and `copy`, on one line
---@field source { name: string, text: string }

-- Gathers inside the index of a gather up to this depth.
local max_gathers = 20

local scan = lexer.new {
  "//", "+=", "*=", "->", "=", "+", "-", "*", "/", "%", "^", "(", ")", "[", "]", ",", ":",
}
local scan_kernel = lexer.new {
  "//", "+=", "*=", "->", "<=", ">=", "==", "~=", "=", "<", ">", "+", "-", "*", "/", "%", "^", "(",
  ")", "[", "]", ",", ":",
}

local function index(lex)
  local rank
  if lex.kind == "name" and lex:peek() == ":" then
    rank = lex:accept "name"
    lex:advance()
  end
  local result = affine.read(lex)
  result.rank = rank
  return result
end

local function indices(lex)
  local list = {}
  local open = lex.position
  lex:expect "["
  while lex.kind ~= "]" do
    list[#list + 1] = index(lex)
    if lex.kind ~= "," then break end
    lex:advance()
    if lex.kind == "]" then lex:fail "expected an index expression after ','" end
  end
  if lex.kind ~= "]" then
    local hint = lex.kind == "/" and " (division is //)" or ""
    lex:fail(("expected ',' or ']' to close the '[' at column %d, found %s%s")
      :format(open, lex:shown(), hint))
  end
  lex:advance()
  return list
end

local function same_indices(a, b)
  if #a ~= #b then return false end
  for i, x in ipairs(a) do
    if x.text ~= b[i].text or (x.rank and b[i].rank and x.rank ~= b[i].rank) then return false end
  end
  return true
end

-- The access before this one that it repeats, if any.
local function repeated(state, lex, tensor, list, position)
  local before = state.by_tensor[tensor]
  if before and before.output and not state.is_update then
    lex:fail(("tensor %s is both written and read; give the result another name"):format(tensor),
      position, "bad_workload", { name = tensor })
  end
  if state.places then
    local texts = {}
    for i, x in ipairs(list) do texts[i] = x.text end
    local place = tensor .. "[" .. table.concat(texts, ",") .. "]"
    before = state.places[place]
    if not before then state.places[place] = #state.inputs + 1 end
    return state.inputs[before]
  end
  if before and not same_indices(before.indices, list) then
    lex:fail(("tensor %s is read with two different index lists; one of them needs a tensor of"
      .. " its own"):format(tensor), position, "bad_workload", { name = tensor })
  end
  return before
end

-- Records an access of the right side; returns its position among the inputs.
local function record(state, lex, tensor, list, position)
  local before = repeated(state, lex, tensor, list, position)
  if before then return before.number end
  local access = { tensor = tensor, indices = list, output = false, position = position }
  state.inputs[#state.inputs + 1] = access
  access.number = #state.inputs
  state.by_tensor[tensor] = access
  return access.number
end

-- Reads accesses inside indices; the name of a value loaded is $ and the position of its access.
local function loads(state, lex)
  local depth = 0
  return function(name, position)
    if depth == max_gathers then
      lex:fail(("indices loaded by loaded indices beyond depth %d"):format(max_gathers), position,
        "depth")
    end
    depth = depth + 1
    local number = record(state, lex, name, indices(lex), position)
    depth = depth - 1
    return "$" .. number
  end
end

local function bare(state, lex, name, position)
  local is_size = lex.size_of and lex.size_of(name)
  if state.by_tensor[name] or not is_size and name:find "^%u" then
    lex:fail(("%s has no indices: write %s[] for a tensor of one value, or a scalar in lower case")
      :format(name, name), position, "bad_workload", { name = name })
  end
  return { op = "scalar", name = name, position = position }
end

-- Sums and products stay flat lists.
local function join(op, left, right, position)
  if left.op == op then
    left[#left + 1] = right
    return left
  end
  return { op = op, position = position, left, right }
end

local function right_side(state)
  local grammar = {
    what = "a tensor, a scalar or a call",
    prefix = { ["-"] = 7, ["+"] = 7 },
    infix = {
      ["+"] = 5, ["-"] = 5, ["*"] = 6, ["/"] = 6, ["//"] = 6, ["%"] = 6, ["^"] = 8,
      ["<"] = 4, ["<="] = 4, [">"] = 4, [">="] = 4, ["=="] = 4, ["~="] = 4,
    },
    right = { ["^"] = true },
  }
  function grammar.operand(lex)
    local position = lex.position
    local number = lex:accept "number"
    if number then return { op = "number", value = number, position = position } end
    local name = lex:accept "name"
    if not name then return nil end
    if lex.kind == "[" then
      return { op = "access", position = position,
        record(state, lex, name, indices(lex), position) }
    end
    if lex:accept "(" then return name, true end
    return bare(state, lex, name, position)
  end
  function grammar.unary(op, value, position)
    if op == "+" then return value end
    if value.op == "neg" then return value[1] end
    return { op = "neg", position = position, value }
  end
  function grammar.binary(op, left, right, position)
    if op == "+" or op == "*" then return join(op, left, right, position) end
    return { op = op, position = position, left, right }
  end
  function grammar.call(name, arguments, position)
    arguments.op, arguments.name, arguments.position = "call", name, position
    return arguments
  end
  return grammar
end

local function outputs(state, lex)
  repeat
    local name, position = lex:expect("name", "an output tensor")
    if state.by_tensor[name] then
      lex:fail(("tensor %s is written twice"):format(name), position, "bad_workload",
        { name = name })
    end
    local list = lex.kind == "[" and indices(lex) or {}
    local access = { tensor = name, indices = list, output = true, position = position }
    state.outputs[#state.outputs + 1] = access
    state.by_tensor[name] = access
  until not lex:accept ","
end

local function operator(lex)
  for _, op in ipairs { "=", "+=", "*=" } do
    if lex:accept(op) then return op end
  end
  if (lex.value == "max" or lex.value == "min") and lex:peek() == "=" then
    local op = lex:accept "name" .. "="
    lex:advance()
    return op
  end
  lex:fail(("expected =, +=, *=, max= or min=, found %s"):format(lex:shown()))
end

local function variables(state)
  local all, reduced, seen = {}, {}, {}
  local function visit(accesses, into)
    for _, access in ipairs(accesses) do
      for _, i in ipairs(access.indices) do
        for _, name in ipairs(i.names) do
          if not seen[name] and name:sub(1, 1) ~= "$" then
            seen[name] = true
            all[#all + 1] = name
            if into then into[#into + 1] = name end
          end
        end
      end
    end
  end
  visit(state.outputs)
  visit(state.inputs, reduced)
  return all, reduced
end

--- Whether an einsum only moves values: Out[...] = In[...].
---@param op string
---@param expression table
---@return boolean
function einsum.moves_only(op, expression)
  return op == "=" and expression.op == "access"
end

local function check_copy(state, lex, op, expression)
  if einsum.moves_only(op, expression) and #state.outputs == 1 then return end
  lex:fail("a copy is written: copy Out[...] = In[...]", 1, "bad_workload")
end

local function label_of(lex)
  if lex.kind ~= "name" or lex:peek() ~= ":" then return nil end
  local label = lex:accept "name"
  lex:advance()
  return label
end

-- Whether a word that is no tensor stands before one; moves past it.
local function keyword(lex, word)
  local found = lex.value == word and lex.kind == "name" and lex:peek() == "name"
  if found then lex:advance() end
  return found
end

-- The expression, up to the end of the text.
local function body_of(state, lex)
  local expression = precedence.parse(lex, right_side(state))
  if lex.kind ~= "end" then
    lex:fail(("expected an operator or the end of the einsum, found %s"):format(lex:shown()))
  end
  return expression
end

--- Parses one einsum.
---@param text string
---@param name? string chunk name for messages
---@param kernel? { size_of?: fun(name: string): integer|true|nil } of a kernel: repeated reads,
--- comparisons, loaded indices and updates are allowed, and names in indices that are numbers or
--- (true) sizes
---@return einloom.Einsum
function einsum.parse(text, name, kernel)
  local source = { name = name or "einsum", text = text }
  local lex = (kernel and scan_kernel or scan)(source)
  local state = { by_tensor = {}, places = kernel and {}, inputs = {}, outputs = {} }
  local label = label_of(lex)
  if kernel then lex.load, lex.size_of = loads(state, lex), kernel.size_of end
  local is_copy = keyword(lex, "copy")
  state.is_update = kernel ~= nil and keyword(lex, "update")
  local body = lex:slice(lex.position, #text + 1):gsub("%s+", " "):gsub(" ?, ?", ", ")
  outputs(state, lex)
  local op_position = lex.position
  local op = operator(lex)
  local expression = body_of(state, lex)
  if is_copy then check_copy(state, lex, op, expression) end
  local all, reduced = variables(state)
  local accesses = table.move(state.outputs, 1, #state.outputs, #state.inputs + 1,
    table.move(state.inputs, 1, #state.inputs, 1, {}))
  return {
    name = label or state.outputs[1].tensor, labelled = label ~= nil, is_copy = is_copy, op = op,
    op_position = op_position, is_update = state.is_update, accesses = accesses,
    expression = expression, variables = all, reduced = reduced, body = body, source = source,
  }
end

return einsum
