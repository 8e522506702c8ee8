-- SPDX-License-Identifier: MIT
-- Options of a space, each described once: checks, defaults, hints and the table of the manual all
-- come from this list.

local errors = require "einloom.errors"
local mapping = require "einloom.mapping"
local objective = require "einloom.search.objective"

local options = {}

local KIND = "bad_argument"

---@class einloom.SpaceOption
---@field name string
---@field kind string key of `kinds`
---@field default any
---@field text string what it does

---@type einloom.SpaceOption[]
options.list = {
  { name = "minimise", kind = "objective", default = "energy",
    text = "what is best: energy, latency, energy_delay_product, usage (of memories), a list "
      .. "of them (all points that no other one beats), or a formula in energy and latency that "
      .. "never falls where they grow" },
  { name = "model", kind = "model", default = "reference",
    text = "how mappings are counted: `reference` or `exact`" },
  { name = "temporal_factors", kind = "factors", default = "perfect",
    text = "imperfect: a variable that is in no sum and has a temporal loop may leave a part at "
      .. "its outermost loop" },
  { name = "spatial_factors", kind = "factors", default = "perfect",
    text = "imperfect: the same for a variable that has a spatial loop" },
  { name = "tiling_coarseness", kind = "ratio", default = 1,
    text = "of the tiles that a loop may have, ascending, those are left out that are smaller than "
      .. "so many times the one kept before; one trip is always kept" },
  { name = "objective_tolerance", kind = "tolerance", default = 0,
    text = "what is given may be worse than the best by this share: a least value, or each energy "
      .. "and latency of a front" },
  { name = "resource_usage_tolerance", kind = "tolerance", default = 0,
    text = "the same of the use of each memory of a front" },
  { name = "max_fused_loops", kind = "count", default = math.huge,
    text = "loops with several trips that einsums share" },
  { name = "max_fused_loops_per_rank_variable", kind = "count", default = 1,
    text = "such loops of one variable" },
  { name = "force_memory_hierarchy_order", kind = "boolean", default = true,
    text = "what an outer memory holds stands above what an inner one holds, of any tensor" },
  { name = "explore_loop_orders", kind = "boolean", default = true,
    text = "try each variable in a sum first in its place; otherwise the first one by name" },
  { name = "mapping", kind = "mapping", default = false,
    text = "a mapping with holes: only what completes it is searched" },
  { name = "one_spatial_dim_per_variable", kind = "boolean", default = false,
    text = "a variable is spread over one dimension of a component" },
}

local by_name = {}
for _, option in ipairs(options.list) do by_name[option.name] = option end

-- What was given, as messages show it.
local function shown(x)
  if type(x) == "string" then return ("'%s'"):format(x) end
  if type(x) ~= "table" then return tostring(x) end
  for _, item in ipairs(x) do
    if type(item) ~= "string" then return "a table" end
  end
  return #x > 0 and ("'%s'"):format(table.concat(x, ",")) or "a table"
end

local function one_of(known, expected)
  return function(x)
    if known[x] then return x end
    return nil, expected, type(x) == "string" and errors.hint(x, errors.keys(known)) or ""
  end
end

local function number_from(least, expected)
  return function(x)
    if type(x) == "number" and x >= least and x < math.huge then return x end
    return nil, expected
  end
end

-- Each gives back the value as it is used, or nil, what was expected and a hint.
options.kinds = {
  boolean = one_of({ [true] = true, [false] = true }, "true or false"),
  model = one_of({ reference = true, exact = true }, "reference or exact"),
  factors = one_of({ perfect = true, imperfect = true }, "perfect or imperfect"),
  count = function(x)
    if x == math.huge then return x end
    local n = math.type(x) and math.tointeger(x)
    if n and n >= 0 then return n end
    return nil, "a count: 0, 1, ... or math.huge for no limit"
  end,
  ratio = number_from(1, "a number from 1 on"),
  tolerance = number_from(0, "a number from 0 on"),
  objective = objective.new,
  mapping = function(x)
    if x == false or mapping.is(x) then return x end
    return nil, "a mapping"
  end,
}

--- All options with their values: those given, checked, and the defaults.
---@param given? table
---@return table<string, any>
function options.of(given)
  local where = "options of loom.space"
  if given ~= nil and type(given) ~= "table" then
    errors.raise(KIND, ("table expected, got %s"):format(type(given)), { path = where })
  end
  errors.check_keys(KIND, given or {}, by_name, where)
  local result = {}
  for _, option in ipairs(options.list) do
    local x = given and given[option.name]
    if x == nil then x = option.default end
    local value, expected, hint = options.kinds[option.kind](x)
    if value == nil then
      errors.raise(KIND, ("%s: %s expected, got %s%s"):format(option.name, expected, shown(x),
        hint or ""), { path = where, name = option.name })
    end
    result[option.name] = value
  end
  return result
end

local function default_text(x)
  if x == math.huge then return "no limit" end
  if x == false then return "none" end
  return tostring(x)
end

--- The options as rows of a table: name, default, meaning.
---@return string[]
function options.rows()
  local rows = {}
  for i, option in ipairs(options.list) do
    local default = option.kind == "boolean" and tostring(option.default)
      or default_text(option.default)
    rows[i] = ("| `%s` | %s | %s |"):format(option.name, default, option.text)
  end
  return rows
end

--- The values of all options in one line, the same for equal ones.
---@param all table<string, any>
---@return string
function options.text(all)
  local parts = {}
  for i, option in ipairs(options.list) do
    local x = all[option.name]
    parts[i] = ("%s=%s"):format(option.name, type(x) == "table" and x.text or tostring(x))
  end
  return table.concat(parts, " ")
end

return options
