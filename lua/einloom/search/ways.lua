-- SPDX-License-Identifier: MIT
-- Ways of an einsum through an architecture to the compute units that may run it: levels from the
-- outermost memory on, with what they must and may hold and which loops their dimensions take.

local errors = require "einloom.errors"
local held = require "einloom.search.held"
local readonly = require "einloom.readonly"
local sets = require "einloom.sets"
local value = require "einloom.value"

local ways = {}

---@class einloom.SearchLevel
---@field name string
---@field kind "store"|"pass_through"|"array"|"compute"
---@field component einloom.Component
---@field region integer number of fanouts above or at the level
---@field dims einloom.SearchDimension[]
---@field keep? einloom.HeldRule tensors that it has to hold
---@field back? einloom.HeldRule tensors that it has to hold, and no level above may
---@field may? einloom.HeldRule tensors that it may hold
---@field no_refetch? table<string, true> tensors fetched once per visit of what they depend on
---@field no_resend? table<string, true>

---@class einloom.SearchDimension
---@field name string
---@field count integer
---@field min_fraction number
---@field excluded table<string, true> variables that none of its loops may have
---@field bounds table[] {variables = set, op, value}: limits of its loops' trips

local kinds = { Memory = "store", Toll = "pass_through", Container = "array", Compute = "compute" }

local function contains(list, x)
  for _, y in ipairs(list) do
    if y == x then return true end
  end
  return false
end

-- Lists of components from the outermost to a compute unit, one for each unit.
local function all_ways(nodes, above, list)
  local way = table.move(above, 1, #above, 1, {})
  for _, node in ipairs(nodes) do
    for _, branch in ipairs(node.branches or {}) do all_ways(branch, way, list) end
    way[#way + 1] = node
    if node.class == "Compute" then list[#list + 1] = way end
  end
  return list
end

local function members(scope, text, path)
  return text and sets.evaluate(sets.parse(text, path), scope.context) or {}
end

-- ---- loops of a dimension ----

-- Variables that index a tensor of a set.
local function indexing(tensors, set)
  local result = {}
  for _, t in ipairs(tensors) do
    for v in pairs(set[t.name] and t.relevancy or {}) do result[v] = true end
  end
  return result
end

-- What a bound of one loop leaves: nothing where the loop has to have one trip.
local function forces_one(op, x)
  return (op == "==" or op == "<=") and x < 2 and x >= 1 or op == "<" and x <= 2
end

local function bound_of(einsum, bound, scope, path)
  local variables = {}
  if bound.indexing then
    variables = indexing(einsum.tensors, members(scope, bound.indexing, path))
  else
    for _, v in ipairs(bound.variables) do
      -- An architecture may name variables that an einsum does not have.
      if einsum.sizes[v] then variables[v] = true end
    end
  end
  return { variables = variables, op = bound.op, value = value.nearest(bound.value) }
end

-- A bound says nothing of variables of which `reuse` lets no loop be here.
local function dimension(einsum, d, scope, path)
  local result = {
    name = d.name, count = value.nearest(d.fanout),
    min_fraction = value.nearest(d.min_usage or 0), bounds = {}, excluded = {},
  }
  local spared = indexing(einsum.tensors, members(scope, d.reuse, path .. ".reuse"))
  for v in pairs(spared) do result.excluded[v] = true end
  for i, b in ipairs(d.loop_bounds or {}) do
    local bound = bound_of(einsum, b, scope, ("%s.loop_bounds[%d].indexing"):format(path, i))
    for v in pairs(spared) do bound.variables[v] = nil end
    local op = bound.op:gsub("^product", "")
    if forces_one(op, bound.value) then
      for v in pairs(bound.variables) do result.excluded[v] = true end
    elseif next(bound.variables) then
      result.bounds[#result.bounds + 1] = bound
    end
  end
  if einsum.is_copy then result.min_fraction = 0 end
  return result
end

-- ---- levels ----

local function rule(component, key, scope, index)
  local text = component[key]
  return text and held.rule(scope, text, ("arch.%s.%s"):format(component.name, key), index)
end

local function holds(level, component, scope, index)
  if level.kind ~= "store" and level.kind ~= "pass_through" then return end
  level.keep = rule(component, "keep", scope, index)
  level.back = rule(component, "back", scope, index)
  level.may = rule(component, "may_keep", scope, index)
  if not component.keep and not component.may_keep then
    level.may = held.rule(scope, "All", "arch", index)
  end
  local function fixed(key)
    return members(scope, component[key], ("arch.%s.%s"):format(component.name, key))
  end
  level.no_refetch = fixed "no_refetch_from_above"
  level.no_resend = fixed "no_resend_to_below"
end

local function levels_of(einsum, way, scope)
  local list, region = {}, 0
  for i, component in ipairs(way) do
    local level = {
      name = component.name, kind = kinds[component.class], component = component, dims = {},
    }
    for k, d in ipairs(component.spatial) do
      level.dims[k] = dimension(einsum, d, scope, ("arch.%s.%s"):format(component.name, d.name))
    end
    if #level.dims > 0 then region = region + 1 end
    level.region = region
    holds(level, component, scope, i)
    list[i] = level
  end
  return list
end

local function names_of(components)
  local names = {}
  for i, component in ipairs(components) do names[i] = component.name end
  return names
end

-- The einsums that compute units name, for a hint.
local function no_unit(einsum, list)
  local named = {}
  for _, way in ipairs(list) do
    for _, name in ipairs(way[#way].einsums) do named[#named + 1] = name end
  end
  errors.raise("bad_arch", ("no compute unit runs einsum %s%s"):format(einsum.einsum,
    errors.hint(einsum.einsum, named)), { path = "arch", name = einsum.einsum })
end

-- The outermost component that holds anything.
local function outermost(levels)
  for i, level in ipairs(levels) do
    if level.kind == "store" then return i end
  end
  return 0
end

--- The ways of an einsum. Raises where no unit runs it.
---@param w einloom.Workload
---@param a einloom.Arch
---@param einsum einloom.SearchStep without its ways
---@return einloom.SearchWay[]
function ways.of(w, a, einsum)
  a = readonly.raw(a)
  local context, names = readonly.raw(w):context(einsum.einsum), names_of(a.components)
  local list, all = {}, all_ways(a.nodes, {}, {})
  for _, way in ipairs(all) do
    local unit = way[#way]
    if not unit.einsums or contains(unit.einsums, einsum.einsum) then
      local scope = held.scope(context, names, names_of(way))
      local levels = levels_of(einsum, way, scope)
      list[#list + 1] = setmetatable({
        compute = unit.name, levels = levels, outermost = outermost(levels), scope = scope,
      }, { __index = einsum })
    end
  end
  if #list == 0 then no_unit(einsum, all) end
  return list
end

return ways
