-- SPDX-License-Identifier: MIT
-- The head of a certificate: the space it is about, and the points that it claims to be best.

local core = require "einloom.core"
local errors = require "einloom.errors"
local goal = require "einloom.certify.goal"
local loom = require "einloom"
local members = require "einloom.certify.members"
local read_case = require "einloom.case.read"
local readonly = require "einloom.readonly"
local space = require "einloom.space"
local space_options = require "einloom.search.options"
local write_case = require "einloom.case.write"

local head = { schema = "certificate/1" }

-- A better mapping may go unnoticed if it is better by less than this share: far more than what
-- rounding can do to a bound.
local SLACK <const> = 1e-9

local array = core.json.array

-- Options of a space that a certificate takes into account; others have to be left out.
local known_options = {
  minimise = true, model = true, temporal_factors = true, spatial_factors = true,
  tiling_coarseness = true, objective_tolerance = true, resource_usage_tolerance = true,
  max_fused_loops = true,
  max_fused_loops_per_rank_variable = true, force_memory_hierarchy_order = true,
  explore_loop_orders = true, one_spatial_dim_per_variable = true,
}

local function refuse(message, ...) errors.raise("certificate", message:format(...)) end

-- The ranks of a shared tensor stand in one order, so that their numbers say which is which.
local function check_ranks(s)
  local known = {}
  for _, step in ipairs(s.steps) do
    for _, t in ipairs(step.tensors) do
      local names = {}
      for i, rank in ipairs(t.access.projection) do names[i] = rank[1] end
      local sorted = table.move(names, 1, #names, 1, {})
      table.sort(sorted)
      local set, order = table.concat(sorted, " "), table.concat(names, " ")
      local first = known[t.name] or { set = set, order = order }
      known[t.name] = first
      if first.set == set and first.order ~= order then
        refuse("einsums list the ranks of %s in different orders", t.name)
      end
    end
  end
end

-- Bounds are taken in double: sizes of memories have to be what they are there.
local function check_sizes(s)
  for _, component in ipairs(readonly.raw(s.arch).components) do
    local size = component.class == "Memory" and component.size
    if size and size ~= math.huge and not (math.type(size) and size < 2 ^ 53) then
      refuse("no certificate is about memories of a size that is not exact in double, as %s has",
        component.name)
    end
  end
end

--- Raises where a space has something that no certificate is about.
---@param s einloom.Space
function head.check_space(s)
  local defaults = space_options.of()
  for name, x in pairs(s.options) do
    if not known_options[name] and x ~= defaults[name] then
      refuse("no certificate is about the option %s", name)
    end
  end
  if s.options.model ~= "reference" then
    refuse("no certificate is about the model %s", s.options.model)
  end
  if #s.steps > 1 and s.case.objective.figures.usage then
    refuse "no certificate is about the use of memories by several einsums"
  end
  check_ranks(s)
  check_sizes(s)
end

local function number(x) return type(x) == "number" and x or x:tonumber() end

-- What a mapping costs, from its text and the analysis alone; nil and why it is not valid.
local function figures_of(s, text)
  local result, message = loom.analyze(s.workload, s.arch, loom.mapping(text),
    { model = s.options.model })
  if not result then return nil, message end
  local energy, problem = result:energy()
  if not energy then return nil, problem end
  local usage = {}
  for name, x in pairs(result:usage()) do usage[name] = number(x) end
  return { energy = number(energy), latency = number(result:latency()), usage = usage }
end

-- ---- writing ----

local function list(t) return setmetatable(table.move(t, 1, #t, 1, {}), array) end

local function claim_of(s, point)
  local choices = setmetatable({}, array)
  for i, choice in ipairs(point.candidate.choices) do
    choices[i] = {
      template = choice.template, tiles = list(choice.tiles),
      fused = choice.fused and list(choice.fused) or nil,
    }
  end
  local problem = members.outside(s, choices)
  if problem then refuse("what was found is not in the space: %s", problem) end
  local mapping, rule = s:mapping(point.candidate)
  if not mapping then refuse("what was found is not in the space (%s)", rule) end
  local text = tostring(mapping)
  local figures, message = figures_of(s, text)
  if not figures then refuse("what was found is not valid: %s", message) end
  return {
    energy = figures.energy, latency = figures.latency, usage = figures.usage, choices = choices,
    mapping = text,
  }
end

local function options_of(s)
  local out = {}
  for name in pairs(known_options) do
    local x = s.options[name]
    if name == "minimise" then x = x.formula and x.text or list(x.names) end
    out[name] = x == math.huge and "inf" or x
  end
  return out
end

--- The head of a certificate for points that a search found, as data.
---@param s einloom.Space
---@param points table[]
---@return table
function head.new(s, points)
  local data = write_case.to_json(s.workload, s.arch, { nodes = {} })
  local claims = setmetatable({}, array)
  for i, point in ipairs(points) do claims[i] = claim_of(s, point) end
  return {
    schema = head.schema, workload = data.workload, arch = data.arch, options = options_of(s),
    slack = SLACK, claims = claims,
  }
end

-- ---- reading ----

local function read_space(data)
  local case = read_case.from_json {
    schema = read_case.schema, workload = data.workload, arch = data.arch,
    mapping = { nodes = setmetatable({}, array) },
  }
  local given = {}
  for name, x in pairs(data.options) do given[name] = x == "inf" and math.huge or x end
  return space.new(case.workload, case.arch, given)
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, x in pairs(a) do
    if not same(x, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local claim_keys = { energy = true, latency = true, usage = true, choices = true, mapping = true }

-- The figures of a claim, computed anew; raises where anything differs.
local function check_claim(s, claim, i)
  local at = ("claim %d: "):format(i)
  if type(claim) ~= "table" then refuse("%sa mapping with its figures was expected", at) end
  errors.check_keys("certificate", claim, claim_keys, "claim")
  local problem = members.outside(s, claim.choices)
  if problem then refuse("%s%s", at, problem) end
  local mapping, rule = s:mapping(claim)
  if not mapping then refuse("%sthe choices are not in the space (%s)", at, rule) end
  if tostring(mapping) ~= claim.mapping then
    refuse("%sthe mapping is not the one of the choices", at)
  end
  local figures, message = figures_of(s, claim.mapping)
  if not figures then refuse("%sthe mapping is not valid: %s", at, message) end
  for _, key in ipairs { "energy", "latency", "usage" } do
    if not same(figures[key], claim[key]) then refuse("%sthe mapping has another %s", at, key) end
  end
  return figures
end

-- A front has no point that another one is better than.
local function check_front(g)
  for i, a in ipairs(g.points) do
    for k, b in ipairs(g.points) do
      local less, more = false, false
      for q, x in ipairs(a) do
        less, more = less or x < b[q], more or x > b[q]
      end
      if less and not more then refuse("claim %d is better than claim %d", i, k) end
    end
  end
end

local head_keys = {
  schema = true, workload = true, arch = true, options = true, slack = true, claims = true,
}

--- The space and the goal of a head; raises where the claims are not true of the space.
---@param data table
---@return einloom.Space
---@return einloom.CertifyGoal
function head.read(data)
  if type(data) ~= "table" or data.schema ~= head.schema then
    refuse("a certificate begins with the schema %s", head.schema)
  end
  errors.check_keys("certificate", data, head_keys, "head")
  for _, key in ipairs { "workload", "arch", "options" } do
    if type(data[key]) ~= "table" then refuse("a certificate has its %s", key) end
  end
  if type(data.slack) ~= "number" or data.slack < 0 or data.slack > 1e-6 then
    refuse "the slack is a number from 0 to 1e-6"
  end
  local s = read_space(data)
  head.check_space(s)
  local figures = {}
  for i, claim in ipairs(errors.list("certificate", data.claims, "claims", "claims")) do
    figures[i] = check_claim(s, claim, i)
  end
  if not s.case.objective.is_front and #figures > 1 then refuse "one best mapping was expected" end
  local g = goal.new(s.case.objective, figures, data.slack, s.options)
  check_front(g)
  return s, g
end

return head
