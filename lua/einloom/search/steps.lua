-- SPDX-License-Identifier: MIT
-- What the search has to know of each einsum: variables, tensors and how they are indexed, and its
-- ways to compute units.

local arch = require "einloom.arch"
local held = require "einloom.search.held"
local readonly = require "einloom.readonly"
local sets = require "einloom.sets"
local ways = require "einloom.search.ways"

local steps = {}

---@class einloom.SearchTensor
---@field name string
---@field shared boolean used by several einsums
---@field persistent boolean
---@field relevancy table<string, "relevant"|"partial"> by variable; nil: not indexed by it
---@field access einloom.TensorAccess

---@class einloom.SearchStep
---@field einsum string
---@field is_copy boolean
---@field n_instances integer
---@field variables string[] those with more than one value, in the order of names
---@field sizes table<string, integer>
---@field tensors einloom.SearchTensor[] in the order of names
---@field uneven? (integer|false)[] variables that may leave a part: 1 with temporal loops, 2 with
--- spatial ones, 3 with both
---@field coarseness number of tiles of loops that may have any
---@field force_order boolean holders follow the order of memories
---@field every_order boolean each variable in a sum is tried first in its place
---@field max_fused_loops number
---@field one_fused_loop boolean of each variable at most one fused loop has several trips
---@field splits einloom.PatternSplit[] of it above the einsum
---@field pattern? einloom.Pattern what its mappings have to complete
---@field ways einloom.SearchWay[] to the units that may run it

--- A way reads everything that it does not have itself from its step.
---@class einloom.SearchWay: einloom.SearchStep
---@field compute string
---@field levels einloom.SearchLevel[] from the outermost memory to the compute unit
---@field outermost integer the first level that stores; its holders stand above all loops
---@field scope einloom.HeldScope

-- Which variables index a tensor, and how: a variable in a sum, or in an index with // or %, has
-- values that share elements.
local function relevancy(access)
  local result = {}
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      local v = term[1]
      local kind = #form.terms == 1 and not form.steps and "relevant" or "partial"
      if result[v] ~= "relevant" then result[v] = kind end
    end
  end
  return result
end

local function tensors_of(workload, e)
  local list, users = {}, {}
  for _, other in ipairs(workload.einsums) do
    for _, t in ipairs(other.tensors) do users[t.tensor] = (users[t.tensor] or 0) + 1 end
  end
  for i, t in ipairs(e.tensors) do
    list[i] = {
      name = t.tensor, shared = users[t.tensor] > 1, persistent = t.persistent,
      relevancy = relevancy(t), access = t,
    }
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function variables_of(workload, e)
  local names, sizes = {}, {}
  for _, v in ipairs(e.variables) do
    sizes[v] = workload.rank_variables[v]
    if sizes[v] > 1 then names[#names + 1] = v end
  end
  table.sort(names)
  return names, sizes
end

-- Variables whose tiles need not divide, by position, with kinds of loops: those in no sum.
local function uneven(options, variables, tensors)
  local kinds = (options.temporal_factors == "imperfect" and 1 or 0)
    + (options.spatial_factors == "imperfect" and 2 or 0)
  if kinds == 0 then return nil end
  local list = {}
  for i, v in ipairs(variables) do
    list[i] = kinds
    for _, t in ipairs(tensors) do
      if t.relevancy[v] == "partial" then list[i] = false end
    end
  end
  return list
end

local function step_of(case, e)
  local options, tensors = case.options, tensors_of(case.workload, e)
  local variables, sizes = variables_of(case.workload, e)
  local step = {
    einsum = e.name, n_instances = e.n_instances, is_copy = e.is_copy, tensors = tensors,
    splits = {}, variables = variables, sizes = sizes,
    uneven = uneven(options, variables, tensors), coarseness = options.tiling_coarseness,
    force_order = options.force_memory_hierarchy_order,
    every_order = options.explore_loop_orders, max_fused_loops = options.max_fused_loops,
    one_fused_loop = options.max_fused_loops_per_rank_variable <= 1,
  }
  local pattern = options.mapping
  if pattern and pattern.paths[e.name] then
    step.pattern, step.splits = pattern, pattern.paths[e.name].splits
  end
  step.ways = ways.of(case.workload, case.arch, step)
  return step
end

--- One step for each einsum, in their order.
---@param case einloom.SearchProblem
---@return einloom.SearchStep[]
function steps.of(case)
  local list = {}
  for i, e in ipairs(readonly.raw(case.workload).einsums) do list[i] = step_of(case, e) end
  return list
end

local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

-- A table of values by tensor as text, the tensors by position.
local function by_position(t, position)
  local parts = {}
  for name, x in pairs(t or {}) do
    if position[name] then parts[#parts + 1] = position[name] .. "=" .. tostring(x) end
  end
  table.sort(parts)
  return table.concat(parts, ",")
end

local function access_text(t, number)
  local parts = { t.shared and "shared" or "own", t.persistent and "persistent" or "",
    t.access.output and "out" or "in", tostring(t.access.bits_per_value) }
  for i, form in ipairs(t.access.affine) do
    local terms = {}
    for k, term in ipairs(form.terms) do
      terms[k] = ("%d*%s"):format(term[2], number[term[1]] or "one")
    end
    table.sort(terms)
    parts[#parts + 1] = ("%d:%d+%s"):format(i, form.constant, table.concat(terms, "+"))
  end
  return table.concat(parts, " ")
end

-- What an architecture says of the tensors of an einsum at one component.
local function component_text(case, step, component, position)
  local context = case.workload:context(step.einsum)
  local parts = {}
  local function add(t)
    local resolved = type(t) == "table" and sets.resolve(t, context, component.name) or {}
    parts[#parts + 1] = by_position(resolved, position)
  end
  add(component.bits_per_value)
  add(component.values_per_action)
  add(component.direction)
  for _, action in ipairs(component.actions or {}) do add(action.values_per_action) end
  for _, d in ipairs(component.spatial) do
    parts[#parts + 1] = by_position(arch.reusable(d, context, component.name), position)
  end
  return table.concat(parts, ";")
end

local function bounds_text(d, number)
  local parts = {}
  for i, b in ipairs(d.bounds) do
    local names = {}
    for v in pairs(b.variables) do names[number[v] or "one"] = true end
    parts[i] = ("%s%s%s"):format(table.concat(sorted(names), ","), b.op, b.value)
  end
  return table.concat(parts, ";")
end

local function level_text(case, way, level, position, number)
  local component = level.component
  local parts = { level.name, component_text(case, way, component, position) }
  local function describe(members) return by_position(members, position) end
  for _, key in ipairs { "keep", "back", "may_keep" } do
    parts[#parts + 1] = component[key]
      and held.signature(way.scope, component[key], component.name, describe) or "-"
  end
  parts[#parts + 1] = describe(level.no_refetch) .. "/" .. describe(level.no_resend)
  for _, d in ipairs(level.dims) do
    local without = {}
    for v in pairs(d.excluded) do without[number[v] or "one"] = true end
    parts[#parts + 1] = ("%s:%s:%s:%s:%s"):format(d.name, d.count, d.min_fraction,
      table.concat(sorted(without), ","), bounds_text(d, number))
  end
  return table.concat(parts, "|")
end

--- A text that steps have in common when they differ in names alone.
---@param case einloom.SearchProblem
---@param step einloom.SearchStep
---@return string
function steps.signature(case, step)
  local position, number, parts = {}, {}, { tostring(step.is_copy) }
  for i, v in ipairs(step.variables) do
    number[v] = i
    parts[#parts + 1] = tostring(step.sizes[v])
  end
  for i, t in ipairs(step.tensors) do
    position[t.name] = i
    parts[#parts + 1] = access_text(t, number)
  end
  for _, way in ipairs(step.ways) do
    parts[#parts + 1] = step.pattern and "way " .. step.einsum or "way"
    for _, level in ipairs(way.levels) do
      parts[#parts + 1] = level_text(case, way, level, position, number)
    end
  end
  parts[#parts + 1] = tostring(step.n_instances)
  return table.concat(parts, "\n")
end

return steps
