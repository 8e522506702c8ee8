-- SPDX-License-Identifier: MIT
-- Set expressions over the tensors of an einsum or of a workload, and tables keyed by them.
-- ~ binds tightest, then -, &, ^, |.  Where two keys of a table cover one tensor a name beats a set
-- and a narrower set a wider one; no other pair of keys may meet.

local errors = require "einloom.errors"
local lexer = require "einloom.lexer"
local precedence = require "einloom.precedence"

local sets = {}

--- Names every set expression may use.
sets.names = {
  All = true, Nothing = true, Inputs = true, Outputs = true, Intermediates = true, Shared = true,
  Persistent = true, Above = true,
}

---@class einloom.SetContext
---@field tensors string[] the universe, in order
---@field sets table<string, table<string, true>> named sets: those of sets.names and renames
---@field known string[] tensors that exist elsewhere: they name the empty set
---@field above? table<string, true> tensors held above a position of a mapping
---@field what string how to call the universe in messages, e.g. "einsum MM0"

---@class einloom.Set
---@field text string
---@field name? string the expression is just this name

local scan = lexer.new { "&", "|", "-", "^", "~", "(", ")" }

-- The expression in postfix order: evaluation needs no recursion, however long the text.
local function grammar(code)
  local rules = {
    what = "a set of tensors",
    prefix = { ["~"] = 9 },
    infix = { ["-"] = 4, ["&"] = 3, ["^"] = 2, ["|"] = 1 },
  }
  function rules.operand(lex)
    local position = lex.position
    local name = lex:accept "name"
    if not name then return nil end
    code[#code + 1] = { name = name, position = position }
    return true
  end
  function rules.unary(op)
    code[#code + 1] = { op = op }
    return true
  end
  function rules.binary(op)
    code[#code + 1] = { op = op }
    return true
  end
  return rules
end

local cache = setmetatable({}, { __mode = "v" })

--- Parses a set expression.
---@param text string
---@param name? string chunk name for messages
---@return einloom.Set
function sets.parse(text, name)
  local key = (name or "") .. "\0" .. text
  if cache[key] then return cache[key] end
  local source = { name = name or "set", text = text }
  local lex = scan(source)
  local code = {}
  precedence.parse(lex, grammar(code))
  if lex.kind ~= "end" then
    lex:fail(("expected &, |, -, ^ or the end of the set, found %s"):format(lex:shown()))
  end
  local set = { text = text, code = code, source = source }
  if #code == 1 then set.name = code[1].name end
  cache[key] = set
  return set
end

--- The names in a set expression.
---@param set einloom.Set
---@return string[]
function sets.mentioned(set)
  local names = {}
  for _, step in ipairs(set.code) do names[#names + 1] = step.name end
  return names
end

local function member(list, name)
  for _, x in ipairs(list) do
    if x == name then return true end
  end
  return false
end

local function unknown(set, step, context)
  local names = errors.keys(sets.names)
  table.move(context.tensors, 1, #context.tensors, #names + 1, names)
  table.move(context.known, 1, #context.known, #names + 1, names)
  for name in pairs(context.sets) do names[#names + 1] = name end
  errors.raise_at("unknown_tensor", set.source, step.position,
    ("no tensor or set %s in %s%s"):format(step.name, context.what, errors.hint(step.name, names)),
    { name = step.name })
end

local function lookup(set, step, context)
  local name = step.name
  if member(context.tensors, name) then return { [name] = true } end
  if name == "Above" then
    if not context.above then
      errors.raise_at("bad_set", set.source, step.position,
        "Above needs a position in a mapping: it has no meaning here", { name = name })
    end
    return context.above
  end
  if context.sets[name] then return context.sets[name] end
  if member(context.known, name) then return {} end
  return unknown(set, step, context)
end

local combine = {
  ["&"] = function(a, b) return a and b end,
  ["|"] = function(a, b) return a or b end,
  ["-"] = function(a, b) return a and not b end,
  ["^"] = function(a, b) return (a and not b) or (b and not a) end,
}

--- The tensors of the context that a set holds.
---@param set einloom.Set
---@param context einloom.SetContext
---@return table<string, true>
function sets.evaluate(set, context)
  local stack = {}
  for _, step in ipairs(set.code) do
    if step.name then
      stack[#stack + 1] = lookup(set, step, context)
    else
      local right = table.remove(stack)
      local left = step.op == "~" and {} or table.remove(stack)
      local keep = combine[step.op] or function(_, b) return not b end
      local result = {}
      for _, tensor in ipairs(context.tensors) do
        if keep(left[tensor], right[tensor]) then result[tensor] = true end
      end
      stack[#stack + 1] = result
    end
  end
  local result = {}
  for _, tensor in ipairs(context.tensors) do
    if stack[1][tensor] then result[tensor] = true end
  end
  return result
end

-- -1: a inside b; 1: b inside a; 0: equal; nil: neither.
local function relation(a, b)
  local a_in_b, b_in_a = true, true
  for x in pairs(a) do a_in_b = a_in_b and b[x] or false end
  for x in pairs(b) do b_in_a = b_in_a and a[x] or false end
  if a_in_b and b_in_a then return 0 end
  return a_in_b and -1 or b_in_a and 1 or nil
end

local function clash(tensor, a, b, path, equal)
  errors.raise("ambiguous_set",
    ("keys '%s' and '%s' both cover %s and %s"):format(a.text, b.text, tensor,
      equal and "are the same set here" or "neither is inside the other"),
    { path = path, name = tensor })
end

-- The entry whose set lies inside every other one that covers the tensor.
local function choose(tensor, entries, path)
  local best
  local covering = {}
  for _, entry in ipairs(entries) do
    if entry.members[tensor] then
      if entry.is_name then return entry end
      covering[#covering + 1] = entry
      if not best or relation(entry.members, best.members) == -1 then best = entry end
    end
  end
  for _, entry in ipairs(covering) do
    local r = relation(best.members, entry.members)
    if r ~= -1 and not (r == 0 and (entry == best or entry.value == best.value)) then
      clash(tensor, best, entry, path, r == 0)
    end
  end
  return best
end

--- Resolves a table keyed by set expressions: the value of each tensor of the context that some key
--- covers.  A value that is not a table stands for { All = value }.
---@param t any
---@param context einloom.SetContext
---@param path string place of the table, for messages
---@return table<string, any>
function sets.resolve(t, context, path)
  local values = {}
  if type(t) ~= "table" then
    for _, tensor in ipairs(context.tensors) do values[tensor] = t end
    return values
  end
  local entries = {}
  for _, key in ipairs(errors.keys(t)) do
    local set = sets.parse(key, ("%s[%q]"):format(path, key))
    entries[#entries + 1] = {
      text = key, members = sets.evaluate(set, context), value = t[key],
      is_name = set.name and member(context.tensors, set.name),
    }
  end
  for _, tensor in ipairs(context.tensors) do
    local entry = choose(tensor, entries, path)
    if entry then values[tensor] = entry.value end
  end
  return values
end

return sets
