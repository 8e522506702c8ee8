-- SPDX-License-Identifier: MIT
-- What commands read: points and conventions from the command line, subjects (workload, arch,
-- mapping, or a result) from scripts and files of cases.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"
local terminal = require "einloom.cli.terminal"

local input = {}

-- ---- points -------------------------------------------------------------------------------

local function read_assignment(text, point)
  local name, value = text:match "^%s*([%a_][%w_.]*)%s*=%s*(.-)%s*$"
  local ok, number = pcall(core.number, value)
  if not name or not ok then
    terminal.fail("usage", ("--at expects NAME=NUMBER,..., not '%s'"):format(text))
  end
  if point[name] then terminal.fail("usage", ("--at gives %s twice"):format(name)) end
  point[name] = number
end

--- Points from the texts of --at: "M0=16,K0=4".
---@param texts string[]
---@return table<string, any>[]
function input.points(texts)
  local points = {}
  for i, text in ipairs(texts) do
    points[i] = {}
    for part in (text .. ","):gmatch "([^,]*)," do read_assignment(part, points[i]) end
  end
  return points
end

--- The value of an option that is a number from 0 on, if it is given.
---@param args table
---@param name string
---@param kind? "integer"
---@return number?
function input.number(args, name, kind)
  local text = args[name]
  if text == nil then return nil end
  local x = tonumber(text)
  if kind == "integer" then x = x and math.tointeger(x) end
  if x and x >= 0 then return x end
  return terminal.fail("usage", ("--%s expects %s from 0 on, not '%s'"):format(
    name:gsub("_", "-"), kind == "integer" and "an integer" or "a number", text))
end

-- ---- how is counted -----------------------------------------------------------------------

-- What the command line says of how is counted.
local function given_conventions(args)
  local given = {}
  for name in pairs(conventions.names) do
    if args[name] then given[name] = conventions.value_of(name, args[name]) end
  end
  return given
end

--- Analyses that do not say how to count follow the command line.
function input.set_conventions(args)
  for name, value in pairs(given_conventions(args)) do conventions.defaults[name] = value end
end

--- The options of a subject; the command line comes before the file.
function input.options_of(subject, args)
  local options = {}
  for name, value in pairs(subject.options or {}) do options[name] = value end
  for name, value in pairs(given_conventions(args)) do options[name] = value end
  return options
end

-- ---- files --------------------------------------------------------------------------------

--- What an error adds where a script returns a function.
---@param path string
---@param value any
---@return string
function input.of_function(path, value)
  if type(value) ~= "function" then return "" end
  return (", not a function: write a script that calls it, e.g. return (dofile %q)(...) with its "
    .. "arguments in place of the dots"):format(path)
end

local function subject_of_values(path, values)
  local result = require "einloom.result"
  local first = values[1]
  if result.is(first) then return { id = path, result = first } end
  if first == nil and type(values[2]) == "string" then
    terminal.refuse(values[3] or "script", errors.printable(path) .. ": " .. values[2])
  end
  if values.n >= 3 then
    return { id = path, workload = first, arch = values[2], mapping = values[3] }
  end
  if type(first) == "table" and first.workload and first.arch and first.mapping then
    return {
      id = path, workload = first.workload, arch = first.arch, mapping = first.mapping,
      options = first.options,
    }
  end
  terminal.fail("script", "the script should return a result, a table with workload, arch and "
    .. "mapping, or these three" .. input.of_function(path, first), path)
end

--- The text of a file; "-" is the standard input.
function input.read_file(path) return require "einloom.case.read".read_file(path) end

local function script_traceback(problem)
  if type(problem) == "table" and problem.kind then return problem end
  return { kind = "script", message = errors.traceback(tostring(problem)) }
end

--- Runs what was read from a file; the values it returns, packed.
---@param path string
---@param text string
---@param args? string[]
function input.run_lua(path, text, args)
  local source = text:gsub("^#[^\n]*", "")
  local chunk, message = load(source, path == "-" and "=stdin" or "@" .. path, "t")
  if not chunk then
    local named = not (path == "-" or message:find(path, 1, true)) and path or nil
    error(errors.new("syntax", message, { file = named }), 0)
  end
  local values = table.pack(xpcall(chunk, script_traceback, table.unpack(args or {})))
  if not values[1] then error(values[2], 0) end
  return table.pack(table.unpack(values, 2, values.n))
end

--- Whether a file is taken as JSON.
function input.is_json(path, text)
  if path:match "%.json$" then return true end
  if path:match "%.lua$" then return false end
  return text:match "^%s*[{%[]" ~= nil
end

--- Runs scripts that come first, e.g. to add kinds of nodes with loom.analyzer.
function input.run_first(paths)
  for _, path in ipairs(paths) do input.run_lua(path, input.read_file(path)) end
end

local function select_cases(case, list, wanted, path)
  if not wanted then return list end
  local ids = {}
  for i, raw in ipairs(list) do
    ids[i] = case.label(list, i)
    if ids[i] == wanted then return { raw } end
  end
  terminal.fail("usage", ("%s has no case '%s'%s"):format(path, wanted, errors.hint(wanted, ids)))
end

--- What a file holds to be evaluated: a list of {name =, raw =, open =}, of which `open` gives a
--- subject; and whether they want titles.
function input.subjects(path, args, text)
  text = text or input.read_file(path)
  if not input.is_json(path, text) then
    if args.case then terminal.fail("usage", "--case is for files of cases") end
    return { { open = function() return subject_of_values(path, input.run_lua(path, text)) end } }
  end
  local case = require "einloom.case"
  local list = {}
  local decoded = case.list(case.decode_file(path, text), path)
  local chosen = select_cases(case, decoded, args.case, path)
  for i, raw in ipairs(chosen) do
    local name = ("%s: %s: "):format(path, case.label(chosen, i))
    list[i] = { name = name, raw = raw, open = function() return case.from_json(raw) end }
  end
  return list, #list ~= 1
end

--- Calls visit with every subject of a list; what one raises is written and does not stop the
--- others. Failed if a visit raised an error or gave false.
---@param list table[] of input.subjects
---@param visit fun(entry: table, i: integer): boolean?
---@param failed? fun(entry: table, problem: table) called behind what was written
---@return integer status
function input.each(list, visit, failed)
  local status = terminal.OK
  for i, entry in ipairs(list) do
    local ok, answer = pcall(visit, entry, i)
    if ok and answer == false then status = terminal.FAILED end
    if not ok then
      if type(answer) ~= "table" or answer.kind == "usage" then error(answer, 0) end
      if entry.raw then answer.caller = nil end
      terminal.complain((entry.name or "") .. terminal.message_of(answer))
      status = terminal.FAILED
      if failed then failed(entry, answer) end
    end
  end
  return status
end

--- The points to evaluate at and where each was given: those of --at, else those of the case.
function input.points_of(subject, args)
  local list, places = input.points(args.at), {}
  for i, text in ipairs(args.at) do places[i] = "--at " .. text end
  if #list > 0 then return list, places end
  list = subject.samples or {}
  for i = 1, #list do places[i] = ("samples[%d]"):format(i) end
  return list, places
end

-- ---- the command line -----------------------------------------------------------------------

--- The option for scripts that come first.
function input.declare_scripts(command)
  command:option("--with", "A Lua script to run first, e.g. one that adds kinds of nodes."):args(1)
    :count "*"
end

--- The options that say what of a file is analysed, and at which points.
function input.declare(command)
  command:option("--at", "Numbers for symbols, e.g. M0=16,K0=4; once per point."):args(1):count "*"
  command:option("--case", "The one case of the file with this id.")
  input.declare_scripts(command)
end

--- The options that say how is counted.
function input.declare_conventions(command, with_model)
  if with_model then
    command:option("--model", "How is counted: exact or reference.")
      :choices { "exact", "reference" }
  end
  command:option("--lifetime", "Contents of storage between visits: scope (dropped) or retain, "
    .. "where the mapping does not say."):choices { "scope", "retain" }
  command:option("--drain-reads", "Whether reading values to write them back is counted."):target
    "drain_reads":choices { "true", "false" }
  command:option("--partial-sums", "Which units that reduce into a value get its old sum."):target
    "partial_sums":choices { "every_unit", "one_unit" }
end

return input
