-- SPDX-License-Identifier: MIT
-- Spaces of mappings: what a workload can do on an architecture within limits, and what searches of
-- it are made of.  Einsums of one shape are explored once.

local candidate = require "einloom.search.candidate"
local fingerprint = require "einloom.search.fingerprint"
local run = require "einloom.search.run"
local steps = require "einloom.search.steps"
local templates = require "einloom.search.templates"

local space = {}

---@class einloom.Space
---@field case table {workload =, arch =, paths =, limits =, minimise =}
---@field steps einloom.SearchStep[] one for each einsum
---@field shapes table[] einsums that differ in more than names: {step =, their numbers}
---@field shape_of integer[] the number of the shape of each einsum
local Space = {}
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

--- A space of mappings: a case has a workload, an architecture, the paths of each einsum with what
--- may be held where (as in schema search/1), limits and what is minimised.
---@param case table
---@return einloom.Space
function space.new(case)
  local list = steps.of(case)
  local shapes, shape_of = shapes_of(case, list)
  return setmetatable({
    case = case, steps = list, shapes = shapes, shape_of = shape_of, lists = {},
  }, Space)
end

--- The templates of an einsum, as data.
---@param i integer
---@return einloom.Template[]
function Space:list(i)
  if not self.lists[i] then
    local list = {}
    templates.each(self.steps[i], function(template) list[#list + 1] = template end)
    self.lists[i] = list
  end
  return self.lists[i]
end

--- Units of work: every template of every shape, in an order that depends on the input alone.
---@return einloom.SearchUnit[]
function Space:units()
  local units = {}
  for shape, entry in ipairs(self.shapes) do
    for number in ipairs(self:list(entry[1])) do
      units[#units + 1] = {
        einsum = shape, template = number,
        text = ("%s template %d"):format(entry.step.einsum, number),
      }
    end
  end
  return units
end

--- The mapping of a candidate.
Space.mapping = candidate.mapping

--- Figures of a candidate, or nil and the rule that it breaks.
Space.evaluate = candidate.evaluate

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
