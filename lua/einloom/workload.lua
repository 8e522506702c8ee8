-- SPDX-License-Identifier: MIT
-- Workloads: einsums with the sizes of their rank variables, bits per value, repeat counts, renames
-- and persistent tensors.  A workload never changes after it is made; one variable name is one
-- variable in every einsum of it.

local affine = require "einloom.affine"
local definition = require "einloom.workload_definition"
local errors = require "einloom.errors"
local ranks = require "einloom.ranks"
local readonly = require "einloom.readonly"
local sets = require "einloom.sets"
local value = require "einloom.value"

local workload = {}

---@class einloom.TensorAccess
---@field tensor string
---@field projection string[][] pairs {rank, index text}
---@field affine table[] per rank {constant =, terms = {{variable, coefficient}, ...}}; a
--- quasi-affine index has `steps` (affine.steps) and its terms only list its variables
---@field output boolean
---@field bits_per_value einloom.Value
---@field persistent boolean

---@class einloom.WorkloadEinsum
---@field name string
---@field is_copy boolean
---@field n_instances einloom.Value
---@field tensors einloom.TensorAccess[]
---@field variables string[] in order of mention
---@field renames table<string, { set: einloom.Set, expected_count: integer? }>
---@field text string the einsum with its label, as it was written or as a product
---@field expression? table the operators of the right side, if it was written as text

---@class einloom.Workload
---@field name? string
---@field rank_variables table<string, einloom.Value> sizes
---@field variables string[] rank variables in order of mention
---@field einsums einloom.WorkloadEinsum[]
---@field n_instances einloom.Value
---@field shared_tensors string[] tensors that einsums outside the workload use too
---@field rank_sizes table<string, einloom.Value> sizes of ranks that were stated
---@field partial? string set of the tensors that may be used in part
local Workload = { __name = "einloom.workload" }
local new_object, view = readonly.class(Workload, "workloads")
local raw = readonly.raw

-- Methods of the table behind a workload.
local Data = {}
Data.__index = Data

local KIND = "bad_workload"

local typed = definition.typed

local function fail(message, path, name)
  errors.raise(KIND, message, { path = path, name = name })
end

-- ---- the finished object ----

local function finish_access(t)
  local access = {
    tensor = t.tensor, output = t.output, bits_per_value = t.bits_per_value,
    persistent = t.persistent, projection = {}, affine = {},
  }
  for i, index in ipairs(t.indices) do
    access.projection[i] = { index.rank, index.text }
    local form = index.affine
    local terms = {}
    for j, v in ipairs(index.names) do terms[j] = { v, form and form.terms[v] or 1 } end
    access.affine[i] = { constant = form and form.constant or 0, terms = terms,
      steps = index.tree and affine.steps(index.tree) }
  end
  return access
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

-- Who reads and who writes each tensor, and the tensors in order of mention.
local function usage(self)
  local tensors, reads, writes, seen, users = {}, {}, {}, {}, {}
  for _, e in ipairs(self.einsums) do
    for _, t in ipairs(e.tensors) do
      if not seen[t.tensor] then
        seen[t.tensor] = true
        tensors[#tensors + 1] = t.tensor
      end
      (t.output and writes or reads)[t.tensor] = true
      users[t.tensor] = (users[t.tensor] or 0) + 1
    end
  end
  local intermediates, shared = {}, set_of(self.shared_tensors)
  for _, tensor in ipairs(tensors) do
    if reads[tensor] and writes[tensor] then intermediates[tensor] = true end
    if users[tensor] > 1 then shared[tensor] = true end
  end
  return { tensors = tensors, reads = reads, writes = writes, intermediates = intermediates,
    shared = shared }
end

local function minus(a, b)
  local result = {}
  for x in pairs(a) do
    if not b[x] then result[x] = true end
  end
  return result
end

-- The context of the whole workload: Inputs are read and never written, Outputs written and never
-- read, Intermediates both.
local function whole_context(self)
  local u = self.usage
  return {
    what = "the workload", tensors = u.tensors, known = {},
    sets = {
      All = set_of(u.tensors), Nothing = {}, Inputs = minus(u.reads, u.writes),
      Outputs = minus(u.writes, u.reads), Intermediates = u.intermediates, Shared = u.shared,
      Persistent = self.persistent_set,
    },
  }
end

-- Renames may use each other, without a circle.
local function add_renames(context, renames)
  local busy = {}
  local function add(name)
    local rename = renames[name]
    if busy[name] then fail(("rename %s is defined by itself"):format(name), rename.path, name) end
    busy[name] = true
    for _, other in ipairs(sets.mentioned(rename.set)) do
      if renames[other] and not context.sets[other] then add(other) end
    end
    context.sets[name] = sets.evaluate(rename.set, context)
  end
  for _, name in ipairs(errors.keys(renames)) do
    if not context.sets[name] then add(name) end
  end
end

local function einsum_context(self, e)
  local u = self.usage
  local tensors, inputs, outputs = {}, {}, {}
  for i, t in ipairs(e.tensors) do
    tensors[i] = t.tensor;
    (t.output and outputs or inputs)[t.tensor] = true
  end
  local context = {
    what = "einsum " .. e.name, tensors = tensors, known = u.tensors,
    sets = {
      All = set_of(tensors), Nothing = {}, Inputs = inputs, Outputs = outputs,
      Intermediates = u.intermediates, Shared = u.shared, Persistent = self.persistent_set,
    },
  }
  add_renames(context, e.renames)
  return context
end

--- The context in which set expressions are evaluated: for one einsum, or for the whole workload.
---@param name? string an einsum
---@param above? table<string, true> tensors held above the position asked about
---@return einloom.SetContext
function Data:context(name, above)
  local context = self.contexts[name or 0]
  if not context then
    if name then
      context = einsum_context(self, self:einsum(name))
    else
      context = whole_context(self)
      for _, e in ipairs(self.einsums) do
        for rename in pairs(e.renames) do
          local members = context.sets[rename] or {}
          for tensor in pairs(self:context(e.name).sets[rename]) do members[tensor] = true end
          context.sets[rename] = members
        end
      end
    end
    self.contexts[name or 0] = context
  end
  if not above then return context end
  return setmetatable({ above = above }, { __index = context })
end

--- The tensors in a set expression, in order.
---@param text string
---@param einsum_name? string evaluate it for one einsum
---@return string[]
function Data:set(text, einsum_name)
  local context = self:context(einsum_name)
  local members = sets.evaluate(sets.parse(text), context)
  local list = {}
  for _, tensor in ipairs(context.tensors) do
    if members[tensor] then list[#list + 1] = tensor end
  end
  return list
end

--- An einsum by name; raises for an unknown one.
---@param name string
---@return einloom.WorkloadEinsum
function Data:einsum(name)
  local names = {}
  for i, e in ipairs(self.einsums) do
    if e.name == name then return e end
    names[i] = e.name
  end
  errors.raise("unknown_einsum", ("no einsum %s%s")
    :format(tostring(name), errors.hint(tostring(name), names)),
    { name = name })
end

--- The names of all tensors in order of mention.
---@return string[]
function Data:tensors()
  return table.move(self.usage.tensors, 1, #self.usage.tensors, 1, {})
end

function Data:__tostring()
  local lines = {}
  for i, e in ipairs(self.einsums) do lines[i] = e.text end
  local parts = {}
  for i, v in ipairs(self.variables) do parts[i] = v .. "=" .. tostring(self.rank_variables[v]) end
  lines[#lines + 1] = table.concat(parts, " ")
  return table.concat(lines, "\n")
end

for name, method in pairs(Data) do
  if type(method) == "function" then
    Workload[name] = function(self, ...) return method(raw(self), ...) end
  end
end

function Workload:context(...) return view(raw(self):context(...)) end
function Workload:einsum(name) return view(raw(self):einsum(name)) end

-- ---- bits, renames, persistence ----

local function check_renames(self)
  local tensors = set_of(self.usage.tensors)
  for _, e in ipairs(self.einsums) do
    local context = self:context(e.name)
    for _, name in ipairs(errors.keys(e.renames)) do
      local rename = e.renames[name]
      local n = 0
      for _ in pairs(context.sets[name]) do n = n + 1 end
      if tensors[name] and not (n == 1 and context.sets[name][name] or n == 0) then
        fail(("rename %s is also the name of a tensor"):format(name), rename.path, name)
      end
      if rename.expected_count and n ~= rename.expected_count then
        fail(("rename %s of einsum %s covers %d tensors, expected %s"):format(name, e.name, n,
          tostring(rename.expected_count)), rename.path, name)
      end
    end
  end
end

local function apply_persistent(self, def)
  self.persistent_set = {}
  for _, e in ipairs(self.einsums) do
    for _, t in ipairs(e.tensors) do
      if t.persistent then self.persistent_set[t.tensor] = true end
    end
  end
  if def.persistent == nil then return end
  local set = sets.parse(typed(def.persistent, "string", "workload.persistent"),
    "workload.persistent")
  local members = sets.evaluate(set, whole_context(self))
  for tensor in pairs(members) do self.persistent_set[tensor] = true end
  for _, e in ipairs(self.einsums) do
    for _, t in ipairs(e.tensors) do t.persistent = self.persistent_set[t.tensor] or false end
  end
  self.contexts = {}
end

local function apply_bits(self, def)
  local bits = {}
  if def.bits ~= nil then bits = sets.resolve(def.bits, self:context(), "workload.bits") end
  for _, tensor in ipairs(errors.keys(bits)) do
    bits[tensor] =
      value.check(bits[tensor], KIND, "workload.bits (" .. tensor .. ")", { above = 0 })
  end
  for _, e in ipairs(self.einsums) do
    for _, t in ipairs(e.tensors) do
      t.bits_per_value = t.bits_per_value or bits[t.tensor]
      if not t.bits_per_value then
        fail(("no bits per value for tensor %s"):format(t.tensor), "workload.bits", t.tensor)
      end
    end
  end
end

local function partial_tensors(self, def)
  if def.partial == nil then return {} end
  local set = sets.parse(typed(def.partial, "string", "workload.partial"), "workload.partial")
  return sets.evaluate(set, self:context())
end

local function shared_list(def)
  local list = {}
  local given = def.shared_tensors == nil and {} or def.shared_tensors
  for i, name in ipairs(errors.list(KIND, given, "workload.shared_tensors", "tensors")) do
    list[i] = typed(name, "string", ("workload.shared_tensors[%d]"):format(i))
  end
  return list
end

local function access_text(t)
  local parts = {}
  for i, pair in ipairs(t.projection) do
    local plain = pair[2]:match "^[%a_][%w_]*$"
    local named = plain and pair[2]:upper() == pair[1]
    parts[i] = named and pair[2] or pair[1] .. ": " .. pair[2]
  end
  return ("%s[%s]"):format(t.tensor, table.concat(parts, ", "))
end

-- What tensors alone say: the outputs are the product of the inputs.
local function product_text(tensors)
  local left, right = {}, {}
  for _, t in ipairs(tensors) do
    local list = t.output and left or right
    list[#list + 1] = access_text(t)
  end
  if #right == 0 then right[1] = "0" end
  return table.concat(left, ", ") .. " = " .. table.concat(right, " * ")
end

-- An einsum as text: as it was written, with its label, or else a product; it reads back.
local function einsum_text(e, tensors)
  return ("%s: %s%s"):format(e.name, e.is_copy and "copy " or "", e.body or product_text(tensors))
end

local function finish_einsum(def, e)
  local tensors = {}
  for i, t in ipairs(e.tensors) do tensors[i] = finish_access(t) end
  return {
    name = e.name, is_copy = e.is_copy, n_instances = e.n_instances, tensors = tensors,
    variables = e.variables, renames = definition.read_renames(def, e), op = e.op,
    expression = e.expression, text = einsum_text(e, tensors),
  }
end

--- Makes a workload from a definition: DESIGN's spelling or the normal form (doc/manual.md).
---@param def table
---@return einloom.Workload
function workload.new(def, ...)
  errors.only_argument("loom.workload", ...)
  if type(def) ~= "table" then errors.raise("bad_argument", "loom.workload needs a table") end
  errors.check_keys(KIND, def, definition.keys, "workload", math.huge)
  local list = definition.read_einsums(def)
  local variables = definition.list_variables(list)
  definition.check_order(list)
  ranks.name(list)
  local sizes, rank_sizes, path = definition.read_sizes(def)
  local self = setmetatable({
    name = typed(def.name, "string", "workload.name"), rank_variables = sizes,
    variables = variables, einsums = {}, shared_tensors = shared_list(def), contexts = {},
    n_instances = value.check(def.n_instances == nil and 1 or def.n_instances, KIND,
      "workload.n_instances", { min = 1, integer = true }),
  }, Data)
  for i, e in ipairs(list) do self.einsums[i] = finish_einsum(def, e) end
  self.usage = usage(self)
  apply_persistent(self, def)
  check_renames(self)
  local partial = partial_tensors(self, def)
  self.partial = def.partial
  self.rank_sizes = rank_sizes
  ranks.derive(list, variables, sizes, rank_sizes, partial, path)
  ranks.check(list, sizes, rank_sizes, partial)
  apply_bits(self, def)
  return new_object(self)
end

--- Whether a value is a workload.
---@return boolean
function workload.is(x)
  return getmetatable(x) == Workload
end

return workload
