-- SPDX-License-Identifier: MIT
-- How a mapping is counted: the model and the conventions of the model `exact`, by name, with what
-- holds where an analysis does not say.

local errors = require "einloom.errors"

local conventions = {}

---@class einloom.Conventions
---@field model? "exact"|"reference"
---@field lifetime? "scope"|"retain" what storage nodes that do not say do at the end of a visit
---@field drain_reads? boolean reading values to write them back is an action of their memory
---@field partial_sums? "every_unit"|"one_unit" which of the units that reduce into a value get its
--- old sum

--- The options that say how is counted, in the order in which they are told: name, values (the
--- first is the one of the reference model), what to call it on the command line.
conventions.list = {
  { name = "model", values = { "reference", "exact" } },
  { name = "lifetime", values = { "scope", "retain" } },
  { name = "drain_reads", values = { true, false } },
  { name = "partial_sums", values = { "every_unit", "one_unit" } },
}

--- What holds where an analysis does not say.
---@type einloom.Conventions
conventions.defaults = {
  model = "exact", lifetime = "scope", drain_reads = true, partial_sums = "every_unit",
}

conventions.names = {}
for _, option in ipairs(conventions.list) do conventions.names[option.name] = true end

local function known_value(option, x)
  for _, value in ipairs(option.values) do
    if x == value then return true end
  end
  return false
end

local function values_text(option)
  local names = {}
  for i, value in ipairs(option.values) do names[i] = tostring(value) end
  return table.concat(names, " or ")
end

--- Raises an error object unless what a table says of how is counted are values there are.
---@param t table other keys are left alone
---@param kind string kind of the error
---@param where? string path in the message
function conventions.check(t, kind, where)
  for _, option in ipairs(conventions.list) do
    local x = t[option.name]
    if x ~= nil and not known_value(option, x) then
      local names = {}
      for i, value in ipairs(option.values) do names[i] = tostring(value) end
      local text, hint = tostring(x), ""
      if type(x) == "string" then
        local flag = type(option.values[1]) == "boolean"
        text = flag and ("the string '%s'"):format(x) or x
        hint = flag and "" or errors.hint(x, names)
      end
      errors.raise(kind, ("%s: %s expected, got %s%s"):format(option.name, values_text(option),
        text, hint), { path = where, name = option.name })
    end
  end
end

--- The value of a text: true and false for drain_reads.
---@param name string
---@param text string
---@return any
function conventions.value_of(name, text)
  for _, option in ipairs(conventions.list) do
    for _, value in ipairs(option.name == name and option.values or {}) do
      if tostring(value) == text then return value end
    end
  end
  return text
end

--- All of them: what a table says, and the defaults.
---@param t? table
---@return einloom.Conventions
function conventions.of(t)
  local all = {}
  for _, option in ipairs(conventions.list) do
    local x = t and t[option.name]
    if x == nil then x = conventions.defaults[option.name] end
    all[option.name] = x
  end
  return all
end

--- The options of the core for conventions that are complete.
---@param t einloom.Conventions
---@return table
function conventions.core_options(t)
  return {
    model = t.model, lifetime = t.lifetime, uncounted_drains = not t.drain_reads,
    partial_sums_to_one_unit = t.partial_sums == "one_unit",
  }
end

local said = {
  lifetime = { retain = "contents are retained between visits" },
  drain_reads = { [false] = "reads for writing back are not counted" },
  partial_sums = { one_unit = "old partial sums go to one unit" },
}

--- What was counted how, for people: the model, and each convention that is not the usual one.
---@param t einloom.Conventions complete
---@return string
function conventions.text(t)
  local parts = { "model " .. t.model }
  for i = 2, #conventions.list do
    local name = conventions.list[i].name
    local text = said[name][t[name]]
    if text then parts[#parts + 1] = text end
  end
  return table.concat(parts, "; ")
end

--- The conventions that are not those of the reference model, with the model: for cases.
---@param t einloom.Conventions complete
---@return string model
---@return table? others nil where there are none
function conventions.for_case(t)
  local others = {}
  for i = 2, #conventions.list do
    local option = conventions.list[i]
    if t[option.name] ~= option.values[1] then others[option.name] = t[option.name] end
  end
  return t.model, next(others) and others or nil
end

return conventions
