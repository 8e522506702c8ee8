-- SPDX-License-Identifier: MIT
-- Spaces of mappings: what a workload can do on an architecture within limits, and what searches of
-- it are made of.  Einsums of one shape are explored once.

local arch = require "einloom.arch"
local candidate = require "einloom.search.candidate"
local draw = require "einloom.search.draw"
local errors = require "einloom.errors"
local fingerprint = require "einloom.search.fingerprint"
local holds = require "einloom.search.holds"
local join = require "einloom.search.join"
local moves = require "einloom.search.moves"
local space_options = require "einloom.search.options"
local readonly = require "einloom.readonly"
local pattern = require "einloom.search.pattern"
local run = require "einloom.search.run"
local steps = require "einloom.search.steps"
local symbols = require "einloom.case.symbols"
local template = require "einloom.search.template"
local templates = require "einloom.search.templates"
local value = require "einloom.value"
local workload = require "einloom.workload"

local space = {}

---@class einloom.SearchProblem
---@field workload einloom.Workload
---@field arch einloom.Arch
---@field options table<string, any> all of them, checked
---@field objective einloom.Objective

---@class einloom.Space
---@field case einloom.SearchProblem
---@field workload einloom.Workload
---@field arch einloom.Arch
---@field options table<string, any>
---@field steps einloom.SearchStep[] one for each einsum
---@field shapes table[] einsums that differ in more than names: {step =, their numbers}
---@field shape_of integer[] the number of the shape of each einsum
local Space = { __name = "einloom.space" }
Space.__index = Space

---@class einloom.SearchUnit
---@field einsum integer number of the shape
---@field template integer number of the template
---@field text string both in one line

-- Steps that have a signature in common.
local function shapes_of(case, list)
  local shapes, shape_of, known = {}, {}, {}
  for i, step in ipairs(list) do
    local key = steps.signature(case, step)
    if not known[key] then
      shapes[#shapes + 1] = { step = step, signature = key }
      known[key] = #shapes
    end
    shape_of[i] = known[key]
    table.insert(shapes[known[key]], i)
  end
  return shapes, shape_of
end

-- Raises where an architecture bounds loops of a variable that no einsum has.
local function check_bounds(w, a)
  local known = readonly.raw(w).rank_variables
  for _, component in ipairs(readonly.raw(a).components) do
    for _, dim in ipairs(component.spatial or {}) do
      for i, bound in ipairs(dim.loop_bounds or {}) do
        for _, v in ipairs(bound.variables or {}) do
          if known[v] == nil then
            errors.raise("bad_arch", ("no variable '%s' in the workload%s"):format(v,
              errors.hint(v, errors.keys(known))),
              { path = ("arch.%s.%s.loop_bounds[%d]"):format(component.name, dim.name, i) })
          end
        end
      end
    end
  end
end

-- Tiles are 32-bit integers in the core.
local most_values <const> = 2147483647

local function check_sizes(w)
  local sizes = readonly.raw(w).rank_variables
  for _, v in ipairs(errors.keys(sizes)) do
    if value.nearest(sizes[v]) > most_values then
      errors.raise("bad_argument", ("a search takes variables of at most %d values, %s has %s")
        :format(most_values, v, tostring(sizes[v])), { path = "workload.sizes", name = v })
    end
  end
end

local function check_arguments(w, a)
  local function check(ok, x, position, what)
    if ok then return end
    errors.raise("bad_argument", ("argument %d: %s expected, got %s")
      :format(position, what, type(x)), { path = "loom.space" })
  end
  check(workload.is(w), w, 1, "workload")
  check(arch.is(a), a, 2, "architecture")
  check_bounds(w, a)
  local found = symbols.of(readonly.raw(w), readonly.raw(a), { nodes = {} })
  local names = errors.keys(found)
  if #names > 0 then
    errors.raise("bad_argument", ("a search needs numbers: give %s a value")
      :format(table.concat(names, ", ")), { path = "loom.space", name = names[1] })
  end
  check_sizes(w)
end

--- The space of mappings of a workload on an architecture. What the levels of the architecture keep
--- and which loops its dimensions take limits it; options limit it further. Where nothing completes
--- the mapping among the options, the answer is nil, a message and its kind.
---@param w einloom.Workload
---@param a einloom.Arch
---@param given? table options by name, see einloom.search.options
---@param unlisted? boolean whether anything completes the mapping is not looked at, see
--- Space:incomplete
---@return einloom.Space? space
---@return string? message
---@return string? kind
function space.new(w, a, given, unlisted)
  check_arguments(w, a)
  local all = space_options.of(given)
  for _, name in ipairs { "temporal_factors", "spatial_factors" } do
    if all.model == "exact" and all[name] == "imperfect" then
      errors.raise("bad_argument", "in the model exact a search has perfect factors only",
        { path = "options of loom.space", name = name })
    end
  end
  if all.mapping then all.mapping = pattern.new(all.mapping, w, a) end
  local case = { workload = w, arch = a, options = all, objective = all.minimise }
  local list = steps.of(case)
  local shapes, shape_of = shapes_of(case, list)
  local self = setmetatable({
    case = case, workload = w, arch = a, options = all, steps = list, shapes = shapes,
    shape_of = shape_of, lists = {}, nests = {}, problems = {},
  }, Space)
  local message, kind
  if not unlisted then message, kind = self:incomplete() end
  if message then return nil, message, kind end
  return self
end

-- Raises for an einsum without any template: what is in the way of its first way to a unit.
local function refuse_step(step)
  local message
  for _, way in ipairs(step.ways) do
    local unheld, level, tensor = holds.problem(way)
    if #unheld > 0 then
      message = ("no level may hold %s of einsum %s (keep, may_keep, back)"):format(
        table.concat(unheld, ", "), step.einsum)
    elseif level then
      message = ("%s is to be the first to hold %s of einsum %s (back), but a level above holds it")
        :format(level, tensor, step.einsum)
    end
    if message then break end
  end
  errors.raise("bad_arch", message
    or ("einsum %s has no loops and holders that keep to what levels may hold"):format(step.einsum),
    { path = "arch", name = step.einsum })
end

--- The templates of an einsum, as data; raises where what levels may hold leaves none.
---@param i integer
---@return einloom.Template[]
function Space:list(i)
  if not self.lists[i] then
    local list = {}
    self.problems[i] =
      templates.each(self.steps[i], function(t) list[#list + 1] = t end)
    if #list == 0 and not self.steps[i].pattern then refuse_step(self.steps[i]) end
    self.lists[i] = list
  end
  return self.lists[i]
end

--- Why nothing completes the mapping among the options: the message of the first einsum without a
--- template, and its kind.
---@return string? message
---@return string? kind
function Space:incomplete()
  for i, step in ipairs(self.options.mapping and self.steps or {}) do
    if step.pattern and #self:list(i) == 0 then
      return tostring(self.problems[i]), "no_mapping"
    end
  end
end

--- Units of work: every template of every shape, in an order that depends on the input alone.
---@return einloom.SearchUnit[]
function Space:units()
  local units = {}
  for shape, entry in ipairs(self.shapes) do
    for number, t in ipairs(self:list(entry[1])) do
      units[#units + 1] = { einsum = shape, template = number, text = templates.text(t) }
    end
  end
  return units
end

--- The mapping of a candidate.
Space.mapping = candidate.mapping

--- Figures of a candidate, or nil and the rule that it breaks.
Space.evaluate = candidate.evaluate

--- A candidate that keeps to every rule, drawn by construction, or nil.
Space.random = draw.candidate

--- Goes through the candidates next to one.
Space.neighbours = moves.each

--- One of the candidates next to one, drawn, or nil.
Space.neighbour = moves.draw

--- The candidate with another choice for one einsum, or nil.
Space.replace = moves.replace

--- A text that equal candidates have in common.
Space.key = candidate.key

--- Goes through the candidates that choices for single einsums make.
Space.join = join.each

--- The templates of an einsum, or of all.
Space.templates = template.list

--- Without options searches the space to the end: the best point, or the front where several
--- figures are minimised. With options a search that has not begun.
---@param options? table strategy, seed, time, evaluations and options of the strategy
---@return einloom.Found|einloom.Search
function Space:search(options)
  if options == nil then return run.new(self, {}):run() end
  return run.new(self, options)
end

--- A text that equal spaces have in common.
Space.fingerprint = fingerprint

--- A search that was saved.
Space.resume = run.resume

return space
