-- SPDX-License-Identifier: MIT
-- What a result costs: r:energy{by = "component"}, r:latency(), r:usage{by = "tensor"}, ... as
-- formulas, or as numbers at the result's point. A breakdown that does not exist is an error that
-- names those that do.

local core = require "einloom.core"
local errors = require "einloom.errors"
local model = require "einloom.model"
local points = require "einloom.points"
local records = require "einloom.records"

local costs = {}

-- Core result -> core costs, whatever limits they exceed; kept as long as the result is.
local kept = setmetatable({}, { __mode = "k" })

-- Costs of a result's data, or nil, message, kind where there are none.
local function costs_of(data)
  local found = kept[data.raw]
  if not found then
    found = table.pack(model.cost(data.raw, data.workload, data.arch, data.mapping,
      { allow_exceeded_limits = true }))
    found.limits = found[1] and found[1]:total().constraints
    kept[data.raw] = found
  end
  return table.unpack(found, 1, found.n)
end

local function at(data, value) return points.at(value, data.point) end

local zero = core.int(0)

-- What a limit needs and has at the result's point, as a sentence.
local function limit_text(data, row)
  local what = row.einsum and ("einsum '%s': what is reserved in '%s'"):format(row.einsum,
    row.component) or ("what is in '%s' at once"):format(row.component)
  if row.dim then
    what = ("einsum '%s': dimension '%s' of '%s'"):format(row.einsum, row.dim, row.component)
  end
  return ("%s needs %s %s, %s are available"):format(what, at(data, row.needed),
    row.dim and "instances" or "bits", at(data, row.available))
end

-- The first limit that is exceeded at the result's point: message, kind.
local function first_exceeded(data)
  for _, row in ipairs(kept[data.raw].limits) do
    if at(data, row.condition) == zero then
      local met, message, kind = model.cost(data.raw, data.workload, data.arch, data.mapping)
      if met then message, kind = limit_text(data, row), row.kind end
      return message, kind
    end
  end
end

-- Result's data -> { message, kind } of the limit that it exceeds, or {}.
local excess = setmetatable({}, { __mode = "k" })

-- Costs of a result's data, or nil, message, kind where a limit is exceeded.
local function costs_within(data)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  excess[data] = excess[data] or { first_exceeded(data) }
  message, kind = table.unpack(excess[data], 1, 2)
  if message then return nil, message, kind end
  return c
end

-- ---- options ------------------------------------------------------------------------------

-- The breakdowns of the methods that have some.
local breakdowns = {
  energy = { "einsum", "component", "tensor", "action" },
  actions = { "einsum", "component", "tensor", "action" },
  latency = { "einsum", "component" },
  usage = { "memory", "tensor", "step", "dimension" },
  area = { "component" },
}

-- The message of a mistake in the names of a breakdown, or nil.
local function mistake_in(method, names, known)
  local n, seen = 0, {}
  for key in pairs(names) do
    if math.type(key) ~= "integer" or key < 1 then
      return ("%s: by is a name or a list of names, e.g. by = %q, not a table with keys ('%s')")
        :format(method, known[1], tostring(key))
    end
    n = math.max(n, key)
  end
  for i = 1, n do
    local name, found = names[i], false
    if name == nil then return ("%s: by[%d] is missing"):format(method, i) end
    for _, other in ipairs(known) do found = found or other == name end
    if not found or seen[name] then
      return ("%s has no breakdown by '%s'%s; known: %s"):format(method, tostring(name),
        seen[name] and " twice" or "", table.concat(known, ", "))
    end
    seen[name] = true
  end
  if method == "usage" and n > 1 then return "usage has one breakdown at a time" end
end

-- The names of a breakdown, `by` of the options: a name or a list of names. Mistakes are raised
-- where the method was called.
local function read_by(method, ...)
  local options, known = ..., breakdowns[method]
  if select("#", ...) > (known and 1 or 0) then
    error(("%s takes %s"):format(method, known and "one table of options" or "no options"), 3)
  end
  if options == nil then return {} end
  if type(options) ~= "table" then
    error(("%s takes a table, e.g. { by = %q }"):format(method, known[1]), 3)
  end
  for key in pairs(options) do
    if key ~= "by" then
      error(("%s has no option '%s'; known: by"):format(method, tostring(key)), 3)
    end
  end
  local names = type(options.by) == "table" and options.by or { options.by }
  local mistake = mistake_in(method, names, known)
  if mistake then error(mistake, 3) end
  return names
end

-- ---- breakdowns ---------------------------------------------------------------------------

-- Names that a breakdown may have: one without a row is nil, any other a mistake.
local function names_of(data)
  local names = { einsum = {}, component = {}, tensor = {}, action = {}, dimension = {} }
  for _, einsum in ipairs(data.workload.einsums) do
    names.einsum[einsum.name] = true
    for _, access in ipairs(einsum.tensors) do names.tensor[access.tensor] = true end
  end
  for _, node in ipairs(data.arch.components) do
    names.component[node.name] = true
    for _, action in ipairs(node.actions or {}) do names.action[action.name] = true end
    for _, d in ipairs(node.spatial) do
      names.dimension[("%s.%s"):format(node.name, d.name)] = true
    end
  end
  names.tensor.none = true
  for _, name in ipairs { "read", "write", "compute", "leak" } do names.action[name] = true end
  return names
end

-- Nested tables as records, by the names from the i-th on.
local function sealed(what, t, known, by, i)
  if i < #by then
    for key, inner in pairs(t) do
      t[key] = sealed(("%s of %s"):format(what, key), inner, known, by, i + 1)
    end
  end
  return records.new(what, t, nil, nil, nil, known[by[i]])
end

-- Rows {name =, ..., value} as records nested by the names; what has none is under "none". Values
-- that fall together are added.
local function nested(data, what, rows, names, value)
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
  what = ("the %s by %s"):format(what, table.concat(names, ", "))
  return sealed(what, out, names_of(data), names, 1)
end

local function each_einsum(c, visit)
  for _, name in ipairs(c:einsums()) do visit(name, c:einsum(name)) end
end

-- ---- what is asked ------------------------------------------------------------------------

local methods = {}

--- Energy of the whole workload, repeats included; `by`: einsum, component, tensor, action.
--- Operations and leakage (the action "leak") are of tensor "none".
---@param by string[]
---@return einloom.Expr|table? energy, string? message, string? kind
function methods.energy(data, by)
  local c, message, kind = costs_within(data)
  if not c then return nil, message, kind end
  if #by == 0 then return at(data, c:total().energy) end
  return nested(data, "energy", c:energy(table.unpack(by)), by, "energy")
end

--- Actions of the whole workload, repeats included; `by` as for energy, without it all four.
---@param by string[]
---@return table? actions, string? message, string? kind
function methods.actions(data, by)
  local c, message, kind = costs_within(data)
  if not c then return nil, message, kind end
  local rows = {}
  each_einsum(c, function(name, e)
    for _, row in ipairs(e.actions) do
      row.einsum, row.count = name, row.total * e.n_instances
      rows[#rows + 1] = row
    end
  end)
  return nested(data, "actions", rows, #by > 0 and by or breakdowns.actions, "count")
end

--- Time from start to end; `by`: einsum, component (the time that it works).
---@param by string[]
---@return einloom.Expr|table? latency, string? message, string? kind
function methods.latency(data, by)
  local c, message, kind = costs_within(data)
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
  return nested(data, "latency", rows, by, "time")
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
  local c, message, kind = costs_within(data)
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
  return records.new("bound_by", out)
end

local usage = {}

-- The fraction of each memory that is in use when most is.
function usage.memory(data, c)
  return nested(data, "usage", c:total().peaks, { "component" }, "fraction")
end

-- The same while each einsum runs.
function usage.step(data, c)
  local t, names = c:total(), c:einsums()
  for _, row in ipairs(t.steps) do row.einsum = names[row.step] end
  return nested(data, "usage", t.steps, { "component", "einsum" }, "fraction")
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
      3)
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
  return nested(data, "usage", rows, { "component", "tensor" }, "fraction")
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
  return nested(data, "usage", rows, { "einsum", "dimension" }, "fraction")
end

--- Fractions in use; `by`: memory (the default: at most), tensor (what is there then), step (while
--- each einsum runs), dimension (of instances).
---@param by string[]
---@return table? usage, string? message, string? kind
function methods.usage(data, by)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  return usage[by[1] or "memory"](data, c)
end

--- Area of all instances; `by`: component.
---@param by string[]
---@return einloom.Expr|table? area, string? message, string? kind
function methods.area(data, by)
  local c, message, kind = costs_within(data)
  if not c then return nil, message, kind end
  local t = c:total()
  if #by == 0 then return at(data, t.area) end
  return nested(data, "area", t.components, by, "area")
end

--- The limits of the architecture: {kind, einsum, component, dim, needed, available, condition},
--- condition 1 where the limit is met, 0 where it is exceeded.
---@return table[]? constraints, string? message, string? kind
function methods.constraints(data)
  local c, message, kind = costs_of(data)
  if not c then return nil, message, kind end
  local list = {}
  for i, row in ipairs(kept[data.raw].limits) do
    list[i] = {}
    for key, value in pairs(row) do list[i][key] = at(data, value) end
  end
  return list
end

--- All of it as text, as `einloom eval` prints it.
---@return string? text, string? message, string? kind
function methods.costs_text(data)
  local c, message, kind = costs_within(data)
  if not c then return nil, message, kind end
  return require "einloom.show.costs".text(c, data.arch, data.point, methods.bound_by(data))
end

--- A method of results by its name, or nil: a function of the result's data and its options.
---@param name any
---@return function?
function costs.method(name)
  local method = methods[name]
  if not method then return nil end
  return function(data, ...)
    local by = read_by(name, ...)
    return method(data, by)
  end
end

--- The names of the methods.
---@return string[]
function costs.names() return errors.keys(methods) end

return costs
