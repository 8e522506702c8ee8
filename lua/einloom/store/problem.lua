-- SPDX-License-Identifier: MIT
-- Spaces as plain data, from which the same space is made again: what a store says it is of.

local core = require "einloom.core"
local errors = require "einloom.errors"
local readonly = require "einloom.readonly"

local problem = {}

local KIND = "store"

-- ---- writing --------------------------------------------------------------------------------

-- Functions have no text.
local function check_functions(nodes)
  for _, node in ipairs(nodes) do
    for _, branch in ipairs(node.branches or {}) do check_functions(branch) end
    for key, value in pairs(node) do
      if type(value) == "function" then
        errors.raise(KIND, ("%s of %s is a function: a store takes only what can be written down")
          :format(key, node.name))
      end
    end
  end
end

-- Objectives and mappings with holes have a text from which they are made again.
local function option_data(value)
  if value == math.huge then return "inf" end
  if type(value) ~= "table" then return value end
  if value.names and not value.formula then
    return setmetatable(table.move(value.names, 1, #value.names, 1, {}), core.json.array)
  end
  return value.text
end

local function options_data(options)
  local data = {}
  for _, option in ipairs(require "einloom.search.options".list) do
    local value = options[option.name]
    if value ~= nil then data[option.name] = option_data(value) end
  end
  return data
end

--- A space as plain data. Raises where it holds what has no text.
---@param space einloom.Space
---@return table
function problem.data(space)
  check_functions(readonly.raw(space.arch).nodes)
  local case = require "einloom.case".to_json(space.workload, space.arch, { nodes = {} })
  local data = {
    einloom = core.version, workload = case.workload, arch = case.arch,
    options = options_data(space.options),
  }
  -- As it comes back from a file: numbers and lists have one form.
  return core.json.decode(core.json.encode(data))
end

-- ---- reading --------------------------------------------------------------------------------

local function option_value(option, data)
  if data == "inf" then return math.huge end
  if option.name == "mapping" and data then return require "einloom".mapping(data) end
  return data
end

--- The space of plain data; raises an error where this program makes another one of it.
---@param data table
---@return einloom.Space
function problem.space(data)
  if data.einloom ~= core.version then
    errors.raise(KIND, ("the search was begun by einloom %s, this is %s"):format(
      tostring(data.einloom), core.version))
  end
  local case = require "einloom.case".from_json {
    workload = data.workload, arch = data.arch,
    mapping = { nodes = setmetatable({}, core.json.array) },
  }
  local options = {}
  for _, option in ipairs(require "einloom.search.options".list) do
    local value = data.options[option.name]
    if value ~= nil then options[option.name] = option_value(option, value) end
  end
  return require "einloom.space".new(case.workload, case.arch, options)
end

return problem
