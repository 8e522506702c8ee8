-- SPDX-License-Identifier: MIT
-- What the search has to know of each einsum: variables, tensors and how they are indexed, the
-- levels on the way to its compute unit with what they hold, and the limits of spatial loops.

local arch = require "einloom.arch"
local sets = require "einloom.sets"

local steps = {}

local function relevancy(access)
  local result = {}
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      local v = term[1]
      local kind = #form.terms == 1 and "relevant" or "partial"
      if result[v] ~= "relevant" then result[v] = kind end
    end
  end
  return result
end

local function set(list)
  local result = {}
  for _, x in ipairs(list or {}) do result[x] = true end
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

-- Variables that a spatial loop of a dimension may not have.
local function excluded(tensors, names)
  local result, wanted = {}, set(names)
  for _, t in ipairs(tensors) do
    for v in pairs(wanted[t.name] and t.relevancy or {}) do result[v] = true end
  end
  return result
end

local function dims_of(path, name, tensors)
  local list = {}
  for _, d in ipairs(path.fanout[name] or {}) do
    list[#list + 1] = {
      name = d.dim, count = d.count, min_fraction = d.min_fraction_used or 0,
      excluded = excluded(tensors, d.loops_must_reuse),
    }
  end
  return list
end

local kinds = { Memory = "store", Toll = "pass_through", Container = "array", Compute = "compute" }

local function levels_of(machine, path, tensors)
  local list, region = {}, 0
  for i, name in ipairs(path.levels) do
    local component, hold = machine:component(name), path.hold[name] or {}
    local dims = dims_of(path, name, tensors)
    if #dims > 0 then region = region + 1 end
    local must = hold.must_hold or {}
    list[i] = {
      name = name, kind = kinds[component.class], component = component, dims = dims,
      region = region, all_not_held_in = must.all_not_held_in,
      must = must.all_not_held_in and {} or set(must), may = set(hold.may_hold),
    }
  end
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

-- Variables whose temporal tiles need not divide, by position: those that are in no sum.
local function uneven(case, variables, tensors)
  if case.limits.temporal_factors ~= "imperfect" then return nil end
  local list = {}
  for i, v in ipairs(variables) do
    list[i] = true
    for _, t in ipairs(tensors) do list[i] = list[i] and t.relevancy[v] ~= "partial" end
  end
  return list
end

--- One step for each path of the case, in the order of the einsums.
---@param case { workload: einloom.Workload, arch: einloom.Arch, paths: table[], limits: table }
---@return einloom.SearchStep[]
function steps.of(case)
  local list = {}
  for _, e in ipairs(case.workload.einsums) do
    for _, path in ipairs(case.paths) do
      if path.einsum == e.name then
        local tensors = tensors_of(case.workload, e)
        local variables, sizes = variables_of(case.workload, e)
        list[#list + 1] = {
          einsum = e.name, n_instances = e.n_instances, compute = path.compute,
          is_copy = e.is_copy, tensors = tensors, variables = variables, sizes = sizes,
          levels = levels_of(case.arch, path, tensors), outermost = 1,
          uneven = uneven(case, variables, tensors),
          force_order = case.limits.force_memory_hierarchy_order ~= false,
          max_shared_loops = case.limits.max_shared_loops or math.huge,
        }
      end
    end
  end
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

local function level_text(case, step, level, position, number)
  local parts = {
    level.name, by_position(level.must, position), by_position(level.may, position),
    table.concat(level.all_not_held_in or {}, ","),
    component_text(case, step, level.component, position),
  }
  for _, d in ipairs(level.dims) do
    local without = {}
    for v in pairs(d.excluded) do without[number[v] or "one"] = true end
    parts[#parts + 1] = ("%s:%s:%s:%s"):format(d.name, d.count, d.min_fraction,
      table.concat(sorted(without), ","))
  end
  return table.concat(parts, "|")
end

--- A text that steps have in common when they differ in names alone.
---@param case table
---@param step einloom.SearchStep
---@return string
function steps.signature(case, step)
  local position, number, parts = {}, {}, { step.compute, tostring(step.is_copy) }
  for i, v in ipairs(step.variables) do
    number[v] = i
    parts[#parts + 1] = tostring(step.sizes[v])
  end
  for i, t in ipairs(step.tensors) do
    position[t.name] = i
    parts[#parts + 1] = access_text(t, number)
  end
  for _, level in ipairs(step.levels) do
    parts[#parts + 1] = level_text(case, step, level, position, number)
  end
  parts[#parts + 1] = tostring(step.n_instances)
  return table.concat(parts, "\n")
end

return steps
