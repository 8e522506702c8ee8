-- SPDX-License-Identifier: MIT
-- `einloom compare`: where the models `reference` and `exact` differ on a mapping, field by field,
-- and by which rule.

local buffets = require "einloom.result.buffet"
local core = require "einloom.core"
local errors = require "einloom.errors"
local origins = require "einloom.result.origins"
local reasons = require "einloom.compare.reasons"

local compare = {}

---@class einloom.Difference
---@field einsum string
---@field level? string nil for operations and fanout
---@field tensor? string
---@field field string
---@field reference einloom.Expr
---@field exact einloom.Expr

---@class einloom.Comparison
---@field differences einloom.Difference[]
---@field why { einsum: string, level: string?, tensor: string?, reasons: string[] }[]
---@field agreeing integer fields on which the models agree
---@field refused? string why the reference cannot count the mapping
---@field exact einloom.Result
---@field reference? einloom.Result

local function same(a, b)
  if a == b then return true end
  if not core.is_expr(a) or not core.is_expr(b) then return false end
  return a:eq(b) == true or (a - b):expand():eq(0) == true
end

-- What the reference cannot read: lifetimes are left to it.
local function without_lifetimes(nodes)
  local list = {}
  for i, node in ipairs(nodes) do
    local copy = {}
    for key, value in pairs(node) do copy[key] = value end
    copy.lifetime = nil
    if node.branches then
      copy.branches = {}
      for b, branch in ipairs(node.branches) do copy.branches[b] = without_lifetimes(branch) end
    end
    list[i] = copy
  end
  return list
end

local function analyze(w, a, m, options, model)
  local own = {}
  for key, value in pairs(options or {}) do own[key] = value end
  own.model = model
  if model == "reference" then
    own.lifetime, own.drain_reads, own.partial_sums = nil, nil, nil
    m = require "einloom.mapping".new {
      nodes = without_lifetimes(require "einloom.readonly".raw(m).nodes),
    }
  end
  return require "einloom".analyze(w, a, m, own)
end

local buffet_fields = {}
for _, field in ipairs(buffets.fields) do
  if field ~= "n_loops_above" and field ~= "persistent" then
    buffet_fields[#buffet_fields + 1] = field
  end
end
local compute_fields = { "total_ops", "max_per_unit_ops", "max_latency" }

-- Adds the fields in which two tables differ, and returns their names.
local function differ(found, about, fields, reference, exact)
  local names = {}
  for _, field in ipairs(fields) do
    if same(reference[field], exact[field]) then
      found.agreeing = found.agreeing + 1
    else
      names[#names + 1] = field
      found.differences[#found.differences + 1] = {
        einsum = about.einsum, level = about.level, tensor = about.tensor, field = field,
        reference = reference[field], exact = exact[field],
      }
    end
  end
  return names
end

local function explain(found, about, list)
  found.why[#found.why + 1] =
    { einsum = about.einsum, level = about.level, tensor = about.tensor, reasons = list }
end

local function find(einsum, level, tensor)
  for _, b in ipairs(einsum.buffets) do
    if b.level == level and b.tensor == tensor then return b end
  end
end

local function compare_einsum(found, reference, exact)
  for _, b in ipairs(exact.buffets) do
    local about = { einsum = exact.name, level = b.level, tensor = b.tensor }
    local other = find(reference, b.level, b.tensor)
    local names = other and differ(found, about, buffet_fields, other, b) or {}
    if #names > 0 then explain(found, about, reasons.of_buffet(b, other, names)) end
  end
  local about = { einsum = exact.name }
  local any = #differ(found, about, compute_fields, reference.compute, exact.compute) > 0
  for i, row in ipairs(reference.fanout) do
    local name = ("fanout.%s.%s"):format(row.component, row.dim)
    local names = differ(found, about, { name }, { [name] = row.used },
      { [name] = exact.fanout[i].used })
    any = any or #names > 0
  end
  if any then explain(found, about, reasons.of_operations(exact)) end
end

local function compare_totals(found)
  local r, e = found.reference, found.exact
  for _, name in ipairs { "energy", "latency" } do
    local ok, theirs = pcall(r[name], r)
    local fine, ours = pcall(e[name], e)
    if ok and fine and theirs and ours then
      differ(found, {}, { name }, { [name] = theirs }, { [name] = ours })
    end
  end
end

--- Analyses a mapping with both models and gives where they differ. A mapping that the model exact
--- refuses gives nil, a message and its kind.
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@param options? table as for loom.analyze, without a model
---@param point? table<string, any> numbers for symbols
---@return einloom.Comparison? comparison
---@return string? message
---@return string? kind
function compare.models(w, a, m, options, point)
  if options and options.model ~= nil then
    errors.raise("bad_argument", "model: both are compared", { path = "options of compare" })
  end
  local exact, message, kind = analyze(w, a, m, options, "exact")
  if not exact then return nil, message, kind end
  local found = { differences = {}, why = {}, agreeing = 0 }
  local reference
  reference, message = analyze(w, a, m, options, "reference")
  if point and next(point) then
    exact, reference = exact(point), reference and reference(point)
  end
  found.exact, found.reference = exact, reference
  if reference then
    origins.quietly(function()
      for i, einsum in ipairs(exact.einsums) do
        compare_einsum(found, reference.einsums[i], einsum)
      end
      compare_totals(found)
    end)
  else
    found.refused = message
  end
  return setmetatable(found, { __tostring = require "einloom.show.compared".text })
end

return compare
