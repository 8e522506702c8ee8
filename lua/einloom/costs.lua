-- SPDX-License-Identifier: MIT
-- What a result costs: r:energy{by = "component"}, r:latency(), r:usage{by = "tensor"}, ... as
-- formulas, or as numbers at the result's point. A breakdown that does not exist is an error that
-- names those that do.

local errors = require "einloom.errors"
local model = require "einloom.model"
local points = require "einloom.points"

local costs = {}

-- Core result -> core costs; kept as long as the result is.
local kept = setmetatable({}, { __mode = "k" })

-- Costs of a result's data, or nil, message, kind where a limit is not met.
local function costs_of(data)
  local found = kept[data.raw]
  if not found then
    found = table.pack(model.cost(data.raw, data.workload, data.arch, data.mapping))
    kept[data.raw] = found
  end
  return table.unpack(found, 1, found.n)
end

local function at(data, value) return points.at(value, data.point) end

-- ---- breakdowns ---------------------------------------------------------------------------

-- The names of a breakdown: `by` of the options, a name or a list of names.
local function read_by(quantity, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    error(("%s takes a table, e.g. { by = %q }"):format(quantity, known[1]), 3)
  end
  for key in pairs(options) do
    if key ~= "by" then
      error(("%s has no option '%s'; known: by"):format(quantity, tostring(key)), 3)
    end
  end
  local names = type(options.by) == "table" and options.by or { options.by }
  local seen = {}
  for _, name in ipairs(names) do
    local found = false
    for _, other in ipairs(known) do found = found or other == name end
    if not found or seen[name] then
      error(("%s has no breakdown by '%s'%s; known: %s"):format(quantity, tostring(name),
        seen[name] and " twice" or "", table.concat(known, ", ")), 3)
    end
    seen[name] = true
  end
  return names
end

-- Rows {name =, ..., value} as tables nested by the names; what has none is under "none". Values
-- that fall together are added.
local function nested(data, rows, names, value)
  local out = {}
  for _, row in ipairs(rows) do
    local t = out
    for i = 1, #names - 1 do
      local key = row[names[i]] or "none"
      t[key] = t[key] or {}
      t = t[key]
    end
    local key = row[names[#names]] or "none"
    local x = at(data, row[value])
    t[key] = t[key] and t[key] + x or x
  end
  return out
end

local function each_einsum(c, visit)
  for _, name in ipairs(c:einsums()) do visit(name, c:einsum(name)) end
end

-- ---- what is asked ------------------------------------------------------------------------

local methods = {}

--- Energy of the whole workload, repeats included; `by`: einsum, component, tensor, action.
--- Operations and leakage (the action "leak") are of tensor "none".
---@param options? { by: string|string[] }
---@return einloom.Expr|table? energy, string? message, string? kind
function methods.energy(data, options)
  local by = read_by("energy", options, { "einsum", "component", "tensor", "action" })
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  if #by == 0 then return at(data, c:total().energy) end
  return nested(data, c:energy(table.unpack(by)), by, "energy")
end

--- Actions of the whole workload, repeats included; `by` as for energy, without it all four.
---@param options? { by: string|string[] }
---@return table? actions, string? message, string? kind
function methods.actions(data, options)
  local all = { "einsum", "component", "tensor", "action" }
  local by = read_by("actions", options, all)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  local rows = {}
  each_einsum(c, function(name, e)
    for _, row in ipairs(e.actions) do
      row.einsum, row.count = name, row.total * e.n_instances
      rows[#rows + 1] = row
    end
  end)
  return nested(data, rows, #by > 0 and by or all, "count")
end

--- Time from start to end; `by`: einsum, component (the time that it works).
---@param options? { by: string|string[] }
---@return einloom.Expr|table? latency, string? message, string? kind
function methods.latency(data, options)
  local by = read_by("latency", options, { "einsum", "component" })
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  if #by == 0 then return at(data, c:total().latency) end
  local rows = {}
  each_einsum(c, function(name, e)
    if #by == 1 and by[1] == "einsum" then
      rows[#rows + 1] = { einsum = name, time = e.latency }
      return
    end
    for _, component in ipairs(e.components) do
      if component.latency then
        rows[#rows + 1] = {
          einsum = name, component = component.component, time = component.latency * e.n_instances,
        }
      end
    end
  end)
  return nested(data, rows, by, "time")
end

-- The largest of some rows by a field, where all are numbers at the point.
local function largest(data, rows, field)
  local best, most
  for _, row in ipairs(rows) do
    local x = at(data, row[field])
    if not x:is_number() then return nil end
    if not most or most:lt(x) then best, most = row, x end
  end
  return best
end

--- The component that bounds each einsum, by einsum; false where symbols decide.
---@return table<string, string|false>? bounds, string? message, string? kind
function methods.bound_by(data)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  local out = {}
  each_einsum(c, function(name, e)
    local mapped = {}
    for _, component in ipairs(e.components) do
      if component.latency then table.insert(mapped, 1, component) end
    end
    local slowest = largest(data, mapped, "latency")
    out[name] = e.bound_by or slowest and slowest.component or false
  end)
  return out
end

local usage = {}

-- The fraction of each memory that is in use when most is.
function usage.memory(data, c) return nested(data, c:total().peaks, { "component" }, "fraction") end

-- The same while each einsum runs.
function usage.step(data, c)
  local t, names = c:total(), c:einsums()
  for _, row in ipairs(t.steps) do row.einsum = names[row.step] end
  return nested(data, t.steps, { "component", "einsum" }, "fraction")
end

local function peak_step(data, t, peak)
  if peak.step then return peak.step end
  local steps = {}
  for _, row in ipairs(t.steps) do
    if row.component == peak.component then steps[#steps + 1] = row end
  end
  local step = largest(data, steps, "bits")
  if not step then
    error(("symbols decide when most of %s is in use: give a point first"):format(peak.component),
      4)
  end
  return step.step
end

-- The tensors that are in each memory when most of it is in use.
function usage.tensor(data, c)
  local t, rows = c:total(), {}
  for _, peak in ipairs(t.peaks) do
    local step = peak_step(data, t, peak)
    for _, row in ipairs(t.residents) do
      if row.component == peak.component and row.step == step then rows[#rows + 1] = row end
    end
  end
  return nested(data, rows, { "component", "tensor" }, "fraction")
end

-- Used parts of dimensions, by einsum.
function usage.dimension(data, c)
  local rows = {}
  each_einsum(c, function(name, e)
    for _, row in ipairs(e.spatial) do
      row.einsum, row.dimension = name, row.component .. "." .. row.dim
      rows[#rows + 1] = row
    end
  end)
  return nested(data, rows, { "einsum", "dimension" }, "fraction")
end

--- Fractions in use; `by`: memory (the default: at most), tensor (what is there then), step (while
--- each einsum runs), dimension (of instances).
---@param options? { by: string }
---@return table? usage, string? message, string? kind
function methods.usage(data, options)
  local by = read_by("usage", options, { "memory", "tensor", "step", "dimension" })
  if #by > 1 then error("usage has one breakdown at a time", 3) end
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  return usage[by[1] or "memory"](data, c)
end

--- Area of all instances; `by`: component.
---@param options? { by: string }
---@return einloom.Expr|table? area, string? message, string? kind
function methods.area(data, options)
  local by = read_by("area", options, { "component" })
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  local t = c:total()
  if #by == 0 then return at(data, t.area) end
  return nested(data, t.components, by, "area")
end

--- The limits of the architecture: {kind, einsum, component, dim, needed, available, condition},
--- condition 1 where the limit is met.
---@return table[]? constraints, string? message, string? kind
function methods.constraints(data)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  local list = c:total().constraints
  for _, row in ipairs(list) do
    for key, value in pairs(row) do row[key] = at(data, value) end
  end
  return list
end

--- All of it as text, as `einloom eval` prints it; nil where a limit is exceeded, at the point too.
---@return string? text, string? message, string? kind
function methods.costs_text(data)
  local limits, message, kind = methods.constraints(data)
  if not limits then return nil, message, kind end
  local show = require "einloom.show.costs"
  message, kind = show.exceeded(limits)
  if message then return nil, message, kind end
  return show.text(costs_of(data), data.arch, data.point, methods.bound_by(data))
end

--- A method of results by its name, or nil.
---@param name any
---@return function?
function costs.method(name) return methods[name] end

--- The names of the methods.
---@return string[]
function costs.names() return errors.keys(methods) end

return costs
