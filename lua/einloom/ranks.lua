-- SPDX-License-Identifier: MIT
-- Ranks of tensors: their names, and the sizes that link them to the rank variables.  A rank of a
-- tensor has one name and one size in the whole workload.

local core = require "einloom.core"
local errors = require "einloom.errors"
local value = require "einloom.value"

local ranks = {}

local KIND = "bad_workload"

-- Raises at an index where it is written, or at the path of its access.
local function fail_at(t, index, kind, message, name)
  local source = index and index.source or t.source
  if source then
    errors.raise_at(kind, source, index and index.position or t.position or 1, message,
      { name = name })
  end
  errors.raise(kind, message, { path = t.path, name = name })
end

local function is_plain(index)
  local form = index.affine
  return form and #form.names == 1 and form.constant == 0 and form.terms[form.names[1]] == 1
end

local function default_name(index, position)
  if #index.names == 0 then return "RANK" .. position end
  local parts = {}
  for i, name in ipairs(index.names) do parts[i] = name:upper() end
  return table.concat(parts, "_")
end

-- The accesses of all einsums in order.
local function accesses_of(list)
  local all = {}
  for _, e in ipairs(list) do
    for _, t in ipairs(e.tensors) do all[#all + 1] = t end
  end
  return all
end

local function rank_word(n)
  return n == 1 and "1 rank" or n .. " ranks"
end

-- Explicit names of a tensor must agree, position by position, unless every access names all of
-- its ranks: then they may come in any order.
local function same_names(t, first)
  local all, have = true, {}
  for i, index in ipairs(t.indices) do
    all = all and index.rank ~= nil and first.indices[i].rank ~= nil
    if first.indices[i].rank then have[first.indices[i].rank] = true end
  end
  for i, index in ipairs(t.indices) do
    local a, b = index.rank, first.indices[i].rank
    local ok = a == nil or b == nil or a == b or (all and have[a])
    if not ok then
      fail_at(t, index, KIND, ("rank %d of tensor %s is called %s here and %s elsewhere")
        :format(i, t.tensor, a, b), t.tensor)
    end
  end
  return all
end

local function unify(accesses)
  local first = accesses[1]
  for k = 2, #accesses do
    local t = accesses[k]
    if #t.indices ~= #first.indices then
      fail_at(t, nil, KIND, ("tensor %s has %s here and %s elsewhere")
        :format(t.tensor, rank_word(#t.indices), rank_word(#first.indices)), t.tensor)
    end
    same_names(t, first)
    for i, index in ipairs(t.indices) do
      first.indices[i].rank = first.indices[i].rank or index.rank
    end
  end
end

-- Gives each position its name: explicit, else of a plain variable, else made of all variables.
local function assign(accesses)
  local first, used = accesses[1], {}
  for _, index in ipairs(first.indices) do
    if index.rank then used[index.rank] = true end
  end
  for i in ipairs(first.indices) do
    local name = first.indices[i].rank
    if not name then
      local from
      for _, t in ipairs(accesses) do
        if is_plain(t.indices[i]) then
          from = t.indices[i]
          break
        end
      end
      name = default_name(from or first.indices[i], i)
      local base, n = name, 1
      while used[name] do
        n = n + 1
        name = base .. "_" .. n
      end
      used[name] = true
    end
    for _, t in ipairs(accesses) do t.indices[i].rank = t.indices[i].rank or name end
  end
end

--- Names every rank; raises when the accesses of a tensor disagree about its ranks.
---@param list table[] einsums being read
function ranks.name(list)
  local by_tensor, order = {}, {}
  for _, t in ipairs(accesses_of(list)) do
    local seen = {}
    for _, index in ipairs(t.indices) do
      if index.rank and seen[index.rank] then
        fail_at(t, index, KIND, ("tensor %s has two ranks called %s"):format(t.tensor, index.rank),
          t.tensor)
      end
      if index.rank then seen[index.rank] = true end
    end
    if not by_tensor[t.tensor] then
      by_tensor[t.tensor] = {}
      order[#order + 1] = t.tensor
    end
    table.insert(by_tensor[t.tensor], t)
  end
  for _, tensor in ipairs(order) do
    unify(by_tensor[tensor])
    assign(by_tensor[tensor])
  end
end

-- ---- sizes ----

local function describe(index)
  return ("%s = %s"):format(index.rank, index.text)
end

local function full_extent(form, sizes)
  local extent = 1
  for _, v in ipairs(form.names) do
    extent = extent + math.abs(form.terms[v]) * (sizes[v] - 1)
  end
  return extent
end

-- The only variable of the index without a size, if there is exactly one.
local function only_unknown(form, sizes)
  local unknown
  for _, v in ipairs(form.names) do
    if not sizes[v] then
      if unknown then return nil end
      unknown = v
    end
  end
  return unknown
end

local function floor_div(a, b)
  if math.type(a) == "integer" then return a // b end
  return core.floor_div(a, b)
end

local function smaller(a, b)
  if a == nil then return b end
  if type(a) == "number" and type(b) == "number" then return math.min(a, b) end
  return core.min(a, b)
end

local function derive_plain(list, sizes, rank_sizes, partial, from)
  for _, t in ipairs(accesses_of(list)) do
    for _, index in ipairs(t.indices) do
      local size = rank_sizes[index.rank]
      if size and is_plain(index) and not partial[t.tensor] then
        local v = index.names[1]
        if sizes[v] and value.equal(sizes[v], size) == false then
          local other = from[v] and (" (by rank %s)"):format(from[v]) or ""
          fail_at(t, index, KIND, ("rank %s is %s but its variable %s is %s%s")
            :format(index.rank, tostring(size), v, tostring(sizes[v]), other), v)
        end
        if not sizes[v] then
          sizes[v], from[v] = size, index.rank
        end
      end
    end
  end
end

-- How far the term of `v` may reach while the index stays in 0 .. size-1.
local function room(form, sizes, v, size)
  local down = form.terms[v] < 0
  local left = down and form.constant or size - 1 - form.constant
  for _, other in ipairs(form.names) do
    local coefficient = form.terms[other]
    if other ~= v and (coefficient < 0) == down then
      left = left - math.abs(coefficient) * (sizes[other] - 1)
    end
  end
  return left
end

-- One round over the compound indices with a single unknown: the largest size each allows.
local function bounds(list, sizes, rank_sizes, partial)
  local found, any = {}, false
  for _, t in ipairs(accesses_of(list)) do
    for _, index in ipairs(t.indices) do
      local size, form = rank_sizes[index.rank], not partial[t.tensor] and index.affine
      local v = size and form and only_unknown(form, sizes)
      if v then
        local n = floor_div(room(form, sizes, v, size), math.abs(form.terms[v])) + 1
        if type(n) == "number" and n < 1 then
          fail_at(t, index, KIND, ("rank %s of size %s leaves no room for variable %s (size %s)")
            :format(describe(index), tostring(size), v, tostring(n)), v)
        end
        found[v], any = smaller(found[v], n), true
      end
    end
  end
  return any and found or nil
end

local function check_names(list, variables, sizes, rank_sizes, path)
  local known, have = {}, {}
  for _, t in ipairs(accesses_of(list)) do
    for _, index in ipairs(t.indices) do known[index.rank] = true end
  end
  for _, rank in ipairs(errors.keys(rank_sizes)) do
    if not known[rank] then
      errors.raise("unknown_rank", ("no tensor has a rank %s%s")
        :format(rank, errors.hint(rank, errors.keys(known))),
        { path = "workload.rank_sizes", name = rank })
    end
  end
  for _, v in ipairs(variables) do have[v] = true end
  for _, v in ipairs(errors.keys(sizes)) do
    if not have[v] then
      errors.raise("unknown_rank_variable", ("no einsum has a rank variable %s%s")
        :format(v, errors.hint(v, variables)), { path = path, name = v })
    end
  end
end

local function missing(list, sizes, path)
  for _, t in ipairs(accesses_of(list)) do
    for _, index in ipairs(t.indices) do
      for _, v in ipairs(index.names) do
        if not sizes[v] then
          fail_at(t, index, KIND, ("no size for rank variable %s in %s%s")
            :format(v, path, errors.hint(v, errors.keys(sizes), "given")), v)
        end
      end
    end
  end
end

--- Completes `sizes` from `rank_sizes`; raises for contradictions, unknown names, missing sizes.
---@param list table[]
---@param variables string[]
---@param sizes table<string, einloom.Value> completed in place
---@param rank_sizes table<string, einloom.Value>
---@param partial table<string, true> tensors whose ranks say nothing about the variables
---@param path string where sizes are given
function ranks.derive(list, variables, sizes, rank_sizes, partial, path)
  check_names(list, variables, sizes, rank_sizes, path)
  derive_plain(list, sizes, rank_sizes, partial, {})
  local found = bounds(list, sizes, rank_sizes, partial)
  while found do
    for v, n in pairs(found) do sizes[v] = value.plain(n) end
    found = bounds(list, sizes, rank_sizes, partial)
  end
  missing(list, sizes, path)
end

local function range(form, sizes)
  local low, high = form.constant, form.constant
  for _, v in ipairs(form.names) do
    local reach = form.terms[v] * (sizes[v] - 1)
    if form.terms[v] < 0 then low = low + reach else high = high + reach end
  end
  return low, high
end

-- An index must stay inside the stated size and reach its end as far as its strides allow.
local function check_stated(t, index, sizes, size)
  local low, high = range(index.affine, sizes)
  if value.at_most(0, low) == false or value.at_most(high, size - 1) == false then
    fail_at(t, index, KIND, ("rank %s has size %s, but its index runs from %s to %s")
      :format(describe(index), tostring(size), tostring(low), tostring(high)), index.names[1])
  end
  local stride
  for _, v in ipairs(index.affine.names) do
    stride = math.max(stride or 0, math.abs(index.affine.terms[v]))
  end
  if stride and value.at_most(size, high + stride) == false then
    fail_at(t, index, KIND, ("rank %s has size %s, but its variables (%s) reach only to %s")
      :format(describe(index), tostring(size), table.concat(index.names, ", "), tostring(high)),
      index.names[1])
  end
end

local function check_extent(t, index, sizes, first)
  local extent = value.plain(full_extent(index.affine, sizes))
  local before = first[index.rank]
  if not before then
    first[index.rank] = { extent = extent, index = index }
  elseif value.equal(extent, before.extent) == false then
    fail_at(t, index, KIND, ("rank %s of tensor %s has size %s here (%s) and %s elsewhere (%s)")
      :format(index.rank, t.tensor, tostring(extent), index.text, tostring(before.extent),
        before.index.text),
      t.tensor)
  end
end

--- Checks sizes against stated rank sizes and between the accesses of a tensor; tensors in
--- `partial` may be used in part or beyond their edges.
---@param list table[]
---@param sizes table<string, einloom.Value>
---@param rank_sizes table<string, einloom.Value>
---@param partial table<string, true>
function ranks.check(list, sizes, rank_sizes, partial)
  local first = {}
  for _, t in ipairs(accesses_of(list)) do
    first[t.tensor] = first[t.tensor] or {}
    for _, index in ipairs(t.indices) do
      if index.affine and not partial[t.tensor] then
        local size = rank_sizes[index.rank]
        if size then
          check_stated(t, index, sizes, size)
        else
          check_extent(t, index, sizes, first[t.tensor])
        end
      end
    end
  end
end

return ranks
