-- SPDX-License-Identifier: MIT
-- What is searched, from the command line: a workload and an architecture from scripts or a case,
-- and the options of their space.

local errors = require "einloom.errors"
local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local problem = {}

-- ---- workload and architecture --------------------------------------------------------------

local function name_of(x)
  local meta = getmetatable(x)
  return type(meta) == "table" and meta.__name or type(x)
end

local function expect(is, x, what, path)
  if is(x) then return x end
  local name = name_of(x)
  local article = name:match "^[aeiou]" and "an" or "a"
  local hint = input.of_function(path, x)
  return terminal.fail("script", ("the script should return %s%s"):format(what, hint ~= "" and hint
    or x == nil and ", not nothing" or (", not %s %s"):format(article, name)), path)
end

local function is_workload(x) return require "einloom.workload".is(x) end
local function is_arch(x) return require "einloom.arch".is(x) end

-- What has parts: a plain table, e.g. {workload =, arch =}, or a result.
local function parts_of(x)
  local plain = type(x) == "table" and getmetatable(x) == nil
  return (plain or require "einloom.result".is(x)) and x or nil
end

local function returned(path, text)
  local values = input.run_lua(path, text)
  if values[1] == nil and type(values[2]) == "string" then
    terminal.refuse(values[3] or "script", ("%s: %s"):format(errors.printable(path), values[2]))
  end
  return values
end

local function one_script(path, text)
  local values = returned(path, text)
  local parts = parts_of(values[1])
  local result = parts or { workload = values[1], arch = values[2] }
  return {
    workload = expect(is_workload, result.workload, "a workload and an architecture", path),
    arch = expect(is_arch, result.arch, "an architecture behind the workload", path),
    options = {},
    source = { parts and ("local subject = dofile %q"):format(path)
      or ("local workload, arch = dofile %q"):format(path) },
    names = parts and { "subject.workload", "subject.arch" } or { "workload", "arch" },
  }
end

-- One of two scripts; how its value is called in a script that runs it.
local function half(path, text, key, is, what)
  local value = returned(path, text)[1]
  local parts = parts_of(value)
  local found = expect(is, parts and parts[key] or value, what, path)
  return found, ("local %s = %s"):format(key, parts and ("(dofile %q).%s"):format(path, key)
    or ("dofile %q"):format(path))
end

local function two_scripts(first, text, second)
  local workload, workload_line = half(first, text, "workload", is_workload, "a workload")
  local arch, arch_line =
    half(second, input.read_file(second), "arch", is_arch, "an architecture")
  return {
    workload = workload, arch = arch, options = {}, source = { workload_line, arch_line },
    names = { "workload", "arch" },
  }
end

local function case_of(path, id, text)
  local found = require "einloom.case.problem".load(path, id, text)
  local call = id and ("(%q, %q)"):format(path, id) or ("(%q)"):format(path)
  return {
    workload = found.workload, arch = found.arch, options = found.options,
    source = { 'local case = require "einloom.case.problem".load' .. call },
    names = { "case.workload", "case.arch" },
  }
end

--- What the files of a command line say: workload, arch, options of their space, and how a script
--- gets at the first two: lines (`source`) and expressions (`names`).
---@param files string[]
---@param id? string of a case
---@return table
function problem.read(files, id)
  if files[1] == "-" and files[2] == "-" then
    terminal.fail("usage", "the standard input is one of the two scripts at most")
  end
  local text = input.read_file(files[1])
  if input.is_json(files[1], text) then
    if files[2] then terminal.fail("usage", "a case has its architecture; no second file") end
    return case_of(files[1], id, text)
  end
  if id then terminal.fail("usage", "--case is for files of cases") end
  return files[2] and two_scripts(files[1], text, files[2]) or one_script(files[1], text)
end

-- ---- options --------------------------------------------------------------------------------

-- Those that have options of the command line of their own.
local apart = { minimise = true, mapping = true }

local function flag(name) return "--" .. name:gsub("_", "-") end

local choices = {
  boolean = { "true", "false" }, factors = { "perfect", "imperfect" },
}

--- The options of a space by their names.
function problem.declare(command)
  for _, option in ipairs(require "einloom.search.options".list) do
    if not apart[option.name] then
      local declared = command:option(flag(option.name), option.text .. "."):target(option.name)
      if choices[option.kind] then declared:choices(choices[option.kind]) end
    end
  end
end

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  if text == "inf" then return math.huge end
  return tonumber(text) or text
end

-- The mapping with holes in a file: its text, or a script that returns it.
local function read_mapping(path)
  local loom = require "einloom"
  local text = input.read_file(path)
  if not path:match "%.lua$" then return loom.mapping(text, { name = path }) end
  local value = input.run_lua(path, text)[1]
  local parts = parts_of(value)
  return parts and parts.mapping or value
end

local function list_of(text)
  local list = {}
  for name in text:gmatch "[^,%s]+" do list[#list + 1] = name end
  return list
end

-- The options of the space that the command line gives, behind those of the files.
local function options_of(args, of_files)
  local result = {}
  for name, value in pairs(of_files) do result[name] = value end
  for _, option in ipairs(require "einloom.search.options".list) do
    local text = args[option.name]
    if text and not apart[option.name] then result[option.name] = value_of(text) end
  end
  if args.minimize then result.minimise = args.minimize end
  if args.pareto then result.minimise = list_of(args.pareto) end
  if args.keep then result.mapping = read_mapping(args.keep) end
  return result
end

-- Figures of a list, which is no formula.
local function is_list_of_names(text)
  if not text:find(",", 1, true) then return false end
  for part in (text .. ","):gmatch "([^,]*)," do
    if not part:match "^%s*[%a_][%w_]*%s*$" then return false end
  end
  return true
end

local function check_figures(args)
  if args.minimize and args.pareto then
    terminal.fail("usage", "--minimize and --pareto exclude each other")
  end
  if args.minimize and is_list_of_names(args.minimize) then
    terminal.fail("usage", "--minimize takes one figure or a formula; --pareto takes several")
  end
  if args.pareto and not args.pareto:match "^%s*[^,%s]+%s*$" and not is_list_of_names(args.pareto)
  then
    terminal.fail("usage", ("--pareto expects figures, e.g. energy,latency, not '%s'"):format(
      args.pareto))
  end
end

-- An error about an option that the command line gives, as one about it by its name there.
local function of_command_line(e, args)
  local in_formula = args.minimize and type(e) == "table" and e.file == "minimise"
  if in_formula then e.file = "--minimize" end
  if not errors.is(e) then return e end
  local name = e.path == "options of loom.space" and e.name
  if not name then return e end
  local own = args[name] and flag(name) or name == "mapping" and args.keep and "--keep"
    or name == "minimise" and (args.minimize and "--minimize" or args.pareto and "--pareto")
  if not own then return e end
  local message = e.message:gsub("^" .. name .. ": ", "", 1)
  return { kind = e.kind, message = own .. ": " .. message }
end

--- The space of what the files and the command line say; whether it has a mapping at all is not
--- looked at, since that may take long.
---@param given table of problem.read
---@param args table
---@return einloom.Space
function problem.space(given, args)
  check_figures(args)
  local ok, space = pcall(require "einloom.space".new, given.workload, given.arch,
    options_of(args, given.options), true)
  if not ok then error(of_command_line(space, args), 0) end
  return space
end

--- Fails where nothing completes the mapping with holes that the command line gives.
---@param space einloom.Space
---@param args table
function problem.check(space, args)
  local ok, message, kind = pcall(space.incomplete, space)
  if not ok then error(of_command_line(message, args), 0) end
  if message then terminal.refuse(kind, message) end
end

return problem
