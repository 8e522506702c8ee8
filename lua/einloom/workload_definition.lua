-- SPDX-License-Identifier: MIT
-- Reads the definition of a workload, as text or in the normal form, into raw einsums: lists of
-- accesses whose indices are parsed, not yet named or measured.

local affine = require "einloom.affine"
local einsum = require "einloom.einsum"
local errors = require "einloom.errors"
local sets = require "einloom.sets"
local value = require "einloom.value"

local definition = {}

local KIND = "bad_workload"

--- The keys of a definition.
definition.keys = {
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

--- x if it is of the expected type, the default if nil; else an error.
---@param x any
---@param expected string
---@param path string
---@param default? any
---@return any
function definition.typed(x, expected, path, default)
  if x == nil then return default end
  if type(x) ~= expected then fail(("%s expected, got %s"):format(expected, type(x)), path) end
  return x
end

local typed = definition.typed

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
    expression = parsed.expression, op = parsed.op, body = parsed.body, source = parsed.source,
  }
end

local function projection(list, path)
  local indices = {}
  if list == nil then fail("missing projection", path) end
  for i, pair in ipairs(errors.list(KIND, list, path, "pairs {rank, index}")) do
    local place = ("%s[%d]"):format(path, i)
    errors.list(KIND, pair, place, "rank and index")
    if #pair ~= 2 or type(pair[1]) ~= "string" or type(pair[2]) ~= "string" then
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
    if t.tensors == nil then fail("einsum without tensors", path) end
    for i, x in ipairs(errors.list(KIND, t.tensors, path .. ".tensors", "tensors")) do
      e.tensors[i] = tensor_access(x, ("%s.tensors[%d]"):format(path, i), seen)
    end
  end
  errors.check_keys(KIND, t, einsum_keys, path, t[1] ~= nil and 1 or 0)
  e.is_copy = typed(t.is_copy, "boolean", path .. ".is_copy", e.is_copy)
  if e.is_copy and e.expression and not einsum.moves_only(e.op, e.expression) then
    fail("a copy is written: copy Out[...] = In[...]", path)
  end
  e.n_instances = t.n_instances
  e.own_renames = typed(t.renames, "table", path .. ".renames", {})
  return e
end

-- Names that sets have are no names of tensors.
local function check_name(e, t, path)
  if not sets.names[t.tensor] then return end
  local message = ("%s is a set of tensors: no tensor can be called so"):format(t.tensor)
  if t.source then
    errors.raise_at(KIND, e.source, t.position, message, { name = t.tensor })
  end
  fail(message, (t.path or path) .. ".tensor", t.tensor)
end

local function check_einsum(e, path)
  local n_inputs, n_outputs = 0, 0
  for _, t in ipairs(e.tensors) do
    check_name(e, t, path)
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

--- The einsums of a definition, raw and checked one by one.
---@param def table
---@return table[]
function definition.read_einsums(def)
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
  local listed = def.einsums == nil and {} or def.einsums
  for i, x in ipairs(errors.list(KIND, listed, "workload.einsums", "einsums")) do
    add(x, ("workload.einsums[%d]"):format(i))
  end
  if #list == 0 then fail("no einsums", "workload") end
  return list
end

--- All rank variables in order of mention (per einsum outputs first, as people name m, n before k);
--- gives each einsum its own list too.
---@param list table[]
---@return string[]
function definition.list_variables(list)
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

--- Raises where an einsum reads what only a later one writes.
---@param list table[]
function definition.check_order(list)
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

--- Sizes by variable, sizes by rank, and the path of the former.
---@param def table
---@return table<string, einloom.Value> sizes, table<string, einloom.Value> rank_sizes, string path
function definition.read_sizes(def)
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

--- The renames of one raw einsum: its own before those of the workload.
---@param def table
---@param e table
---@return table<string, { set: einloom.Set, expected_count: integer?, path: string }>
function definition.read_renames(def, e)
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
        errors.check_keys(KIND, x, { expected_count = true }, place, 1)
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

return definition
