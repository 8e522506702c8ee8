-- SPDX-License-Identifier: MIT
-- Workloads: einsums with the sizes of their rank variables, bits per value, repeat counts, renames
-- and persistent tensors.  A workload never changes after it is made; one variable name is one
-- variable in every einsum of it.

local affine = require "einloom.affine"
local einsum = require "einloom.einsum"
local errors = require "einloom.errors"
local ranks = require "einloom.ranks"
local sets = require "einloom.sets"
local value = require "einloom.value"

local workload = {}

---@class einloom.TensorAccess
---@field tensor string
---@field projection string[][] pairs {rank, index text}
---@field affine table[] per rank {constant =, terms = {{variable, coefficient}, ...}}; false:
--- quasi-affine
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
---@field expression? table the operators of the right side, if it was written as text

---@class einloom.Workload
---@field name? string
---@field rank_variables table<string, einloom.Value> sizes
---@field variables string[] rank variables in order of mention
---@field einsums einloom.WorkloadEinsum[]
---@field n_instances einloom.Value
---@field shared_tensors string[] tensors that einsums outside the workload use too
local Workload = { __name = "einloom.workload" }
Workload.__index = Workload

local KIND = "bad_workload"

local keys = {
  name = true, sizes = true, rank_variables = true, rank_sizes = true, bits = true, einsums = true,
  renames = true, persistent = true, partial = true, n_instances = true, shared_tensors = true,
}
local einsum_keys = { name = true, is_copy = true, n_instances = true, renames = true,
  tensors = true }
local tensor_keys = {
  tensor = true, projection = true, output = true, bits_per_value = true, persistent = true,
}

local function fail(message, path, name)
  errors.raise(KIND, message, { path = path, name = name })
end

local function typed(x, expected, path, default)
  if x == nil then return default end
  if type(x) ~= expected then fail(("%s expected, got %s"):format(expected, type(x)), path) end
  return x
end

-- ---- reading the definition ----

local function from_text(text, path)
  local parsed = einsum.parse(text, path)
  local tensors = {}
  for i, access in ipairs(parsed.accesses) do
    local indices = {}
    for j, index in ipairs(access.indices) do indices[j] = index end
    tensors[i] = {
      tensor = access.tensor, output = access.output, indices = indices,
      source = parsed.source, position = access.position, persistent = false,
    }
  end
  return {
    name = parsed.name, labelled = parsed.labelled, is_copy = parsed.is_copy, tensors = tensors,
    expression = parsed.expression, op = parsed.op, source = parsed.source,
  }
end

local function projection(list, path)
  local indices = {}
  for i, pair in ipairs(typed(list, "table", path, nil) or fail("missing projection", path)) do
    local place = ("%s[%d]"):format(path, i)
    if type(pair) ~= "table" or type(pair[1]) ~= "string" or type(pair[2]) ~= "string" then
      fail("pair {rank, index} expected", place)
    end
    local index = affine.parse(pair[2], place)
    index.rank = pair[1]
    index.source = { name = place, text = pair[2] }
    indices[i] = index
  end
  return indices
end

local function tensor_access(t, path, seen)
  typed(t, "table", path)
  errors.check_keys(KIND, t, tensor_keys, path)
  if type(t.tensor) ~= "string" then fail("tensor name expected", path .. ".tensor") end
  if seen[t.tensor] then fail(("tensor %s is listed twice"):format(t.tensor), path, t.tensor) end
  seen[t.tensor] = true
  return {
    tensor = t.tensor, output = typed(t.output, "boolean", path .. ".output", false),
    indices = projection(t.projection, path .. ".projection"), path = path,
    bits_per_value = t.bits_per_value ~= nil and value.check(t.bits_per_value, KIND,
      path .. ".bits_per_value", { above = 0 }) or nil,
    persistent = typed(t.persistent, "boolean", path .. ".persistent", false),
  }
end

local function from_table(t, path)
  local e
  if t[1] ~= nil then
    e = from_text(typed(t[1], "string", path .. "[1]"), path)
    if t.tensors then fail("an einsum is written as text or as tensors, not both", path) end
    if t.name then e.name, e.labelled = typed(t.name, "string", path .. ".name"), true end
  else
    if type(t.name) ~= "string" then fail("einsum without a name", path) end
    e = { name = t.name, labelled = true, tensors = {}, is_copy = false }
    local seen = {}
    for i, x in ipairs(typed(t.tensors, "table", path .. ".tensors", nil)
      or fail("einsum without tensors", path)) do
      e.tensors[i] = tensor_access(x, ("%s.tensors[%d]"):format(path, i), seen)
    end
  end
  errors.check_keys(KIND, t, einsum_keys, path)
  e.is_copy = typed(t.is_copy, "boolean", path .. ".is_copy", e.is_copy)
  e.n_instances = t.n_instances
  e.own_renames = typed(t.renames, "table", path .. ".renames", {})
  return e
end

local function check_einsum(e, path)
  local n_inputs, n_outputs = 0, 0
  for _, t in ipairs(e.tensors) do
    if t.output then n_outputs = n_outputs + 1 else n_inputs = n_inputs + 1 end
  end
  if n_outputs == 0 then fail(("einsum %s has no output tensor"):format(e.name), path, e.name) end
  if e.is_copy and (n_inputs ~= 1 or n_outputs ~= 1) then
    fail(("copy einsum %s needs one input and one output tensor"):format(e.name), path, e.name)
  end
  e.path = path
  e.n_instances = value.check(e.n_instances == nil and 1 or e.n_instances, KIND, path
    .. ".n_instances",
    { min = 1, integer = true })
  e.own_renames = e.own_renames or {}
end

local function read_einsums(def)
  local list, by_name = {}, {}
  local function add(x, path)
    local e
    if type(x) == "string" then
      e = from_text(x, path)
    elseif type(x) == "table" then
      e = from_table(x, path)
    else
      fail(("einsum expected: a text or a table, got %s"):format(type(x)), path)
    end
    check_einsum(e, path)
    if by_name[e.name] then
      fail(("two einsums are called %s%s")
        :format(e.name, e.labelled and "" or ": label one of them"),
        path, e.name)
    end
    by_name[e.name] = e
    list[#list + 1] = e
  end
  for i, x in ipairs(def) do add(x, ("workload[%d]"):format(i)) end
  for i, x in ipairs(typed(def.einsums, "table", "workload.einsums", {})) do
    add(x, ("workload.einsums[%d]"):format(i))
  end
  if #list == 0 then fail("no einsums", "workload") end
  return list
end

-- Variables in order of mention: per einsum outputs first, as people name m, n before k.
local function list_variables(list)
  local all, seen = {}, {}
  for _, e in ipairs(list) do
    local own, have = {}, {}
    for _, outputs in ipairs { true, false } do
      for _, t in ipairs(e.tensors) do
        for _, index in ipairs(t.output == outputs and t.indices or {}) do
          for _, v in ipairs(index.names) do
            if not have[v] then
              have[v] = true
              own[#own + 1] = v
            end
            if not seen[v] then
              seen[v] = true
              all[#all + 1] = v
            end
          end
        end
      end
    end
    e.variables = own
  end
  return all
end

local function check_order(list)
  local writer = {}
  for i, e in ipairs(list) do
    for _, t in ipairs(e.tensors) do
      if t.output then writer[t.tensor] = writer[t.tensor] or i end
    end
  end
  for i, e in ipairs(list) do
    for _, t in ipairs(e.tensors) do
      local w = not t.output and writer[t.tensor]
      if w and w > i then
        fail(("einsum %s reads %s before einsum %s writes it")
          :format(e.name, t.tensor, list[w].name),
          e.path, t.tensor)
      end
    end
  end
end

local function read_sizes(def)
  if def.sizes and def.rank_variables then
    fail("sizes and rank_variables are two names of one thing", "workload")
  end
  local key = def.sizes and "sizes" or "rank_variables"
  local sizes = {}
  for v, size in pairs(typed(def[key], "table", "workload." .. key, {})) do
    if type(v) ~= "string" then fail("sizes are keyed by variable names", "workload." .. key) end
    sizes[v] = value.check(size, KIND, ("workload.%s.%s"):format(key, v),
      { min = 1, integer = true })
  end
  local rank_sizes = {}
  for rank, size in pairs(typed(def.rank_sizes, "table", "workload.rank_sizes", {})) do
    if type(rank) ~= "string" then
      fail("rank_sizes is keyed by rank names", "workload.rank_sizes")
    end
    rank_sizes[rank] = value.check(size, KIND, "workload.rank_sizes." .. rank,
      { min = 1, integer = true })
  end
  return sizes, rank_sizes, "workload." .. key
end

-- ---- the finished object ----

local function finish_access(t)
  local access = {
    tensor = t.tensor, output = t.output, bits_per_value = t.bits_per_value,
    persistent = t.persistent, projection = {}, affine = {},
  }
  for i, index in ipairs(t.indices) do
    access.projection[i] = { index.rank, index.text }
    local form = false
    if index.affine then
      form = { constant = index.affine.constant, terms = {} }
      for j, v in ipairs(index.affine.names) do form.terms[j] = { v, index.affine.terms[v] } end
    end
    access.affine[i] = form
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
function Workload:context(name, above)
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
function Workload:set(text, einsum_name)
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
function Workload:einsum(name)
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
function Workload:tensors()
  return table.move(self.usage.tensors, 1, #self.usage.tensors, 1, {})
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

local function einsum_text(e)
  local left, right = {}, {}
  for _, t in ipairs(e.tensors) do
    local list = t.output and left or right
    list[#list + 1] = access_text(t)
  end
  if #right == 0 then right[1] = "0" end
  return ("%s: %s%s = %s"):format(e.name, e.is_copy and "copy " or "", table.concat(left, ", "),
    table.concat(right, " * "))
end

function Workload:__tostring()
  local lines = {}
  for i, e in ipairs(self.einsums) do lines[i] = einsum_text(e) end
  local parts = {}
  for i, v in ipairs(self.variables) do parts[i] = v .. "=" .. tostring(self.rank_variables[v]) end
  lines[#lines + 1] = table.concat(parts, " ")
  return table.concat(lines, "\n")
end

-- ---- bits, renames, persistence ----

local function read_renames(def, e)
  local renames = {}
  local function add(table_, path)
    for _, name in ipairs(errors.keys(table_)) do
      local place = path .. "." .. name
      local x = table_[name]
      if sets.names[name] then fail(("%s is a set of its own"):format(name), place, name) end
      local text = type(x) == "table" and x[1] or x
      if type(text) ~= "string" then fail("set expression expected", place) end
      local count = type(x) == "table" and x.expected_count or nil
      if type(x) == "table" then
        errors.check_keys(KIND, x, { expected_count = true }, place)
        if count ~= nil then
          count = value.check(count, KIND, place .. ".expected_count", { min = 0, integer = true })
        end
      end
      renames[name] = { set = sets.parse(text, place), expected_count = count, path = place }
    end
  end
  add(typed(def.renames, "table", "workload.renames", {}), "workload.renames")
  add(e.own_renames, e.path .. ".renames")
  return renames
end

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
  for tensor, x in pairs(bits) do
    bits[tensor] = value.check(x, KIND, "workload.bits (" .. tensor .. ")", { above = 0 })
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
  local list = typed(def.shared_tensors, "table", "workload.shared_tensors", {})
  for i, name in ipairs(list) do
    typed(name, "string", ("workload.shared_tensors[%d]"):format(i))
  end
  return list
end

--- Makes a workload from a definition: DESIGN's spelling or the normal form (doc/manual.md).
---@param def table
---@return einloom.Workload
function workload.new(def)
  if type(def) ~= "table" then errors.raise("bad_argument", "loom.workload needs a table") end
  errors.check_keys(KIND, def, keys, "workload")
  local list = read_einsums(def)
  local variables = list_variables(list)
  check_order(list)
  ranks.name(list)
  local sizes, rank_sizes, path = read_sizes(def)
  ranks.derive(list, variables, sizes, rank_sizes, path)
  local self = setmetatable({
    name = typed(def.name, "string", "workload.name"), rank_variables = sizes,
    variables = variables,
    einsums = {}, shared_tensors = shared_list(def), contexts = {}, persistent_set = {},
    n_instances = value.check(def.n_instances == nil and 1 or def.n_instances, KIND,
      "workload.n_instances", { min = 1, integer = true }),
  }, Workload)
  for i, e in ipairs(list) do
    local tensors = {}
    for j, t in ipairs(e.tensors) do tensors[j] = finish_access(t) end
    self.einsums[i] = {
      name = e.name, is_copy = e.is_copy, n_instances = e.n_instances, tensors = tensors,
      variables = e.variables, renames = read_renames(def, e), expression = e.expression, op = e.op,
    }
  end
  self.usage = usage(self)
  apply_persistent(self, def)
  check_renames(self)
  ranks.check(list, sizes, rank_sizes, partial_tensors(self, def))
  apply_bits(self, def)
  return self
end

--- Whether a value is a workload.
---@return boolean
function workload.is(x)
  return getmetatable(x) == Workload
end

return workload
