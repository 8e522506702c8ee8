-- SPDX-License-Identifier: MIT
-- Cases with their results as commands print them: of subjects that were read, as JSON.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local cases = {}

-- What a case holds that says nothing of how it is counted.
local notes = { "family", "note", "tags" }

--- A case with its results takes over what the file says about it.
---@param filled table JSON data
---@param subject table of input.subjects
---@return table filled
function cases.entitle(filled, subject)
  for _, key in ipairs(notes) do
    if subject.raw then filled[key] = subject.raw[key] end
  end
  filled.id = subject.id
  return filled
end

-- A case that has no results: what was read, and the kind of the error.
local function of_error(raw, kind, args, model)
  local filled = {}
  for _, key in ipairs {
    "id", "family", "note", "tags", "symbols", "workload", "arch", "mapping", "samples",
  } do filled[key] = raw[key] end
  local given = { options = require "einloom.case".conventions(raw) }
  local options = input.options_of(given, args)
  options.model = model or options.model
  filled.schema = "mapping/1"
  filled.model, filled.conventions = conventions.for_case(conventions.of(options))
  filled.expected = { error = kind }
  return filled
end

--- The subject of an entry was refused: what is to be expected of its case, nil where nothing is.
---@param entry table of input.subjects
---@param problem table
---@param args table
---@param model? string in place of what the case says
---@return table?
function cases.refused(entry, problem, args, model)
  local is_case = type(entry.raw) == "table" and type(entry.raw.id) == "string"
  return is_case and problem.kind ~= "bad_point" and of_error(entry.raw, problem.kind, args, model)
    or nil
end

--- Prints cases: one as it stands, several as a file.
---@param list table[] JSON data
function cases.print(list)
  local case = require "einloom.case"
  local options = { indent = 2, sort_keys = true }
  if #list == 1 then return terminal.say(core.json.encode(list[1], options)) end
  local all = setmetatable(list, core.json.array)
  terminal.say(core.json.encode({ schema = case.schema, cases = all }, options))
end

return cases
