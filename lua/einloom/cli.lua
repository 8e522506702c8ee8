-- SPDX-License-Identifier: MIT
-- The command `einloom`. Exit status: 0 done, 1 an error or a failed check, 2 wrong usage.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"

local cli = {}

local OK, FAILED, USAGE = 0, 1, 2

-- Where the running command writes.
local out, err

local function say(...) out:write(table.concat({ ... }), "\n") end

-- Names from files may hold anything; what would steer a terminal is shown as \27 and the like.
local function complain(text)
  local plain = text:gsub("[%c\127]", function(c)
    return c ~= "\n" and c ~= "\t" and ("\\%d"):format(c:byte()) or nil
  end)
  err:write("einloom: ", plain, "\n")
end

local function fail(kind, message, file)
  error(errors.new(kind, message, { file = file }), 0)
end

-- What an analysis answers, with the lines that its message has.
local function refuse(kind, message) error({ kind = kind, message = message }, 0) end

-- ---- points -------------------------------------------------------------------------------

local function read_assignment(text, point)
  local name, value = text:match "^%s*([%a_][%w_.]*)%s*=%s*(.-)%s*$"
  local ok, number = pcall(core.number, value)
  if not name or not ok then
    fail("usage", ("--at expects NAME=NUMBER,..., not '%s'"):format(text))
  end
  if point[name] then fail("usage", ("--at gives %s twice"):format(name)) end
  point[name] = number
end

--- Points from the texts of --at: "M0=16,K0=4".
---@param texts string[]
---@return table<string, any>[]
function cli.points(texts)
  local points = {}
  for i, text in ipairs(texts) do
    points[i] = {}
    for part in (text .. ","):gmatch "([^,]*)," do read_assignment(part, points[i]) end
  end
  return points
end

-- ---- how is counted -------------------------------------------------------------------------

-- What the command line says of how is counted.
local function given_conventions(args)
  local given = {}
  for name in pairs(conventions.names) do
    if args[name] then given[name] = conventions.value_of(name, args[name]) end
  end
  return given
end

-- Analyses that do not say how to count follow the command line.
local function set_conventions(args)
  for name, value in pairs(given_conventions(args)) do conventions.defaults[name] = value end
end

-- The options of a subject; the command line comes before the file.
local function options_of(subject, args)
  local options = {}
  for name, value in pairs(subject.options or {}) do options[name] = value end
  for name, value in pairs(given_conventions(args)) do options[name] = value end
  return options
end

-- ---- eval ---------------------------------------------------------------------------------

local function analyze(subject, args)
  local loom = require "einloom"
  local options = options_of(subject, args)
  local mapping = subject.mapping
  if args.lift then mapping = require "einloom.lift".mapping(mapping, subject.workload) end
  local r, message, kind = loom.analyze(subject.workload, subject.arch, mapping, options)
  if not r then refuse(kind, message) end
  return r
end

local function subject_of_values(path, values)
  local result = require "einloom.result"
  local first = values[1]
  if result.is(first) then return { id = path, result = first } end
  if first == nil and type(values[2]) == "string" then
    refuse(values[3] or "script", errors.printable(path) .. ": " .. values[2])
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
  fail("script", "the script should return a result, a table with workload, arch and " ..
    "mapping, or these three", path)
end

-- With --json the standard output is for JSON alone: what a script prints goes to the other one.
local function print_to_err()
  io.output(io.stderr)
  _G.print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    err:write(table.concat(parts, "\t"), "\n")
  end
end

local function traceback(problem)
  if type(problem) == "table" and problem.kind then return problem end
  return debug.traceback(tostring(problem), 2)
end

local function read_file(path) return require "einloom.case.read".read_file(path) end

local function script_traceback(problem)
  if type(problem) == "table" and problem.kind then return problem end
  return { kind = "script", message = errors.traceback(tostring(problem)) }
end

-- Runs what was read from a file.
local function run_lua(path, text, args)
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

local function is_json(path, text)
  if path:match "%.json$" then return true end
  if path:match "%.lua$" then return false end
  return text:match "^%s*[{%[]" ~= nil
end

-- Scripts that come first, e.g. to add kinds of nodes with loom.analyzer.
local function run_first(paths)
  for _, path in ipairs(paths) do run_lua(path, read_file(path)) end
end

local function select_cases(case, list, wanted, path)
  if not wanted then return list end
  local ids = {}
  for i, raw in ipairs(list) do
    ids[i] = case.label(list, i)
    if ids[i] == wanted then return { raw } end
  end
  fail("usage", ("%s has no case '%s'%s"):format(path, wanted, errors.hint(wanted, ids)))
end

-- What a file holds to be evaluated: a list of functions that give a subject each.
local function subjects(path, args, text)
  text = text or read_file(path)
  if not is_json(path, text) then
    if args.case then fail("usage", "--case is for files of cases") end
    return { { open = function() return subject_of_values(path, run_lua(path, text)) end } }
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

-- The result at a point that was given in `place`.
local function at(r, point, place)
  if next(point) == nil then return r end
  local ok, there = pcall(r, point)
  if ok then return there end
  if not errors.is(there) then error(there, 0) end
  there.message = ("%s: %s"):format(place, there.message)
  there.caller = nil
  error(there, 0)
end

-- The points to evaluate at and where each was given: those of --at, else those of the case.
local function points_of(subject, args)
  local list, places = cli.points(args.at), {}
  for i, text in ipairs(args.at) do places[i] = "--at " .. text end
  if #list > 0 then return list, places end
  list = subject.samples or {}
  for i = 1, #list do places[i] = ("samples[%d]"):format(i) end
  return list, places
end

-- Prints the nest and the costs at one point; false where a limit is exceeded.
local function print_result(subject, r, place)
  say(tostring(r))
  local costs, message, kind = r:costs_text()
  if costs then
    say("\n", costs)
  else
    local before = (subject.name or "") .. (place and place .. ": " or "")
    complain(("%s%s (%s)"):format(before, message, kind))
  end
  return costs ~= nil
end

local function print_text(subject, r, args, titled)
  if titled then say("-- ", subject.id) end
  local list, places = points_of(subject, args)
  if #list == 0 then return print_result(subject, r) end
  local done = true
  for i = 1, #args.at > 0 and #list or 1 do
    if i > 1 then say "" end
    done = print_result(subject, at(r, list[i], places[i]), places[i]) and done
  end
  return done
end

local function json_of(subject, r, args)
  local case = require "einloom.case"
  local list, places = points_of(subject, args)
  for i, point in ipairs(list) do at(r, point, places[i]) end
  if #list == 0 and next(r.point) then list = { r.point } end
  local samples_of_case = subject.raw ~= nil and #args.at == 0
  local filled, message, kind = case.with_results(r, list, samples_of_case)
  for _, key in ipairs { "family", "note", "tags" } do
    if subject.raw then filled[key] = subject.raw[key] end
  end
  filled.id = subject.id
  return filled, message, kind
end

-- A case that has no results: what was read, and the kind of the error.
local function json_of_error(raw, kind, args)
  local filled = {}
  for _, key in ipairs {
    "id", "family", "note", "tags", "symbols", "workload", "arch", "mapping", "samples",
  } do filled[key] = raw[key] end
  local given = { options = require "einloom.case".conventions(raw) }
  filled.schema = "mapping/1"
  filled.model, filled.conventions =
    conventions.for_case(conventions.of(options_of(given, args)))
  filled.expected = { error = kind }
  return filled
end

local function print_json(list)
  local case = require "einloom.case"
  local options = { indent = 2, sort_keys = true }
  if #list == 1 then return say(core.json.encode(list[1], options)) end
  local cases = setmetatable(list, core.json.array)
  say(core.json.encode({ schema = case.schema, cases = cases }, options))
end

local function message_of(problem)
  local message = type(problem) == "table" and problem.message
  local written = (getmetatable(problem) or {}).__tostring
  if message and (problem.kind == nil or not written) then return tostring(message) end
  return tostring(problem)
end

-- A result with its mapping lifted, at the same point.
local function lifted(r, args)
  local options = require "einloom.result".options_of(r)
  for name, value in pairs(r.conventions) do options[name] = value end
  local again = analyze({ workload = r.workload, arch = r.arch, mapping = r.mapping,
    options = options }, args)
  return next(r.point) and again(r.point) or again
end

-- Evaluates one subject; false where it exceeds a limit, raises where it has no result.
local function eval_one(entry, args, filled, titled)
  local subject = entry.open()
  subject.name = entry.name
  local r = subject.result
  if r and args.lift then r = lifted(r, args) end
  r = r or analyze(subject, args)
  if not args.json then return print_text(subject, r, args, titled) end
  local message, kind
  filled[#filled + 1], message, kind = json_of(subject, r, args)
  if message then refuse(kind, message) end
  return true
end

local function eval(args)
  cli.points(args.at)
  set_conventions(args)
  run_first(args.with)
  if args.json then print_to_err() end
  local status, filled = OK, {}
  local list, titled = subjects(args.file, args)
  for i, entry in ipairs(list) do
    if i > 1 and not args.json then say "" end
    local before = #filled
    local ok, problem = pcall(eval_one, entry, args, filled, titled)
    if ok and not problem then status = FAILED end
    if not ok then
      if type(problem) ~= "table" or problem.kind == "usage" then error(problem, 0) end
      if entry.raw then problem.caller = nil end
      complain((entry.name or "") .. message_of(problem))
      status = FAILED
      local is_case = type(entry.raw) == "table" and type(entry.raw.id) == "string"
      if args.json and is_case and #filled == before and problem.kind ~= "bad_point" then
        filled[#filled + 1] = json_of_error(entry.raw, problem.kind, args)
      end
    end
  end
  if args.json and #filled > 0 then print_json(filled) end
  return status
end

-- ---- compare --------------------------------------------------------------------------------

-- Prints how the models differ on one subject; false where there is nothing to compare.
local function compare_models(entry, args)
  local subject = entry.open()
  local r = subject.result
  local w, a, m = subject.workload, subject.arch, subject.mapping
  if r then w, a, m = r.workload, r.arch, r.mapping end
  local options = options_of(subject, args)
  options.model = nil
  local points = points_of(subject, args)
  for i = 1, #args.at > 0 and #points or 1 do
    local compared, message, kind =
      require "einloom.compare".models(w, a, m, options, points[i])
    if not compared then refuse(kind, message) end
    if i > 1 then say "" end
    say(tostring(compared))
  end
end

-- Cases that hold what other tools print are compared with those.
local function compare_tools(decoded, args)
  local module, first = require "einloom.compare.fixed", true
  for _, raw in ipairs(decoded.cases or { decoded }) do
    if not args.case or raw.id == args.case then
      if not first then say "" end
      say(module.text(raw))
      first = false
    end
  end
  if first then fail("usage", ("%s has no case '%s'"):format(args.file, args.case)) end
  return OK
end

local function compare(args)
  cli.points(args.at)
  run_first(args.with)
  local text = read_file(args.file)
  if is_json(args.file, text) then
    local decoded = require "einloom.case".decode_file(args.file, text)
    if decoded.schema == "fixed/1" then return compare_tools(decoded, args) end
  end
  local status = OK
  local list, titled = subjects(args.file, args, text)
  for i, entry in ipairs(list) do
    if i > 1 then say "" end
    if titled then say("-- ", entry.name:match "([^:]+): $" or entry.name) end
    local ok, problem = pcall(compare_models, entry, args)
    if not ok then
      if type(problem) ~= "table" or problem.kind == "usage" then error(problem, 0) end
      complain((entry.name or "") .. message_of(problem))
      status = FAILED
    end
  end
  return status
end

-- ---- simulate -----------------------------------------------------------------------------

-- Walks one subject at each of its points; false where it exceeds a limit.
local function simulate_one(entry, args, titled)
  local loom = require "einloom"
  local subject = entry.open()
  subject.name = entry.name
  local from = subject.result or subject
  local list, places = points_of(subject, args)
  if titled then say("-- ", subject.id) end
  local done = true
  for i, point in ipairs(#list > 0 and list or { subject.result and from.point or {} }) do
    local options = options_of(subject, args)
    options.model, options.at = nil, point
    local r, message, kind = loom.simulate(from.workload, from.arch, from.mapping, options)
    if not r then refuse(kind, message) end
    if i > 1 then say "" end
    done = print_result(subject, r, places[i]) and done
  end
  return done
end

local function simulate(args)
  cli.points(args.at)
  set_conventions(args)
  run_first(args.with)
  local status = OK
  local list, titled = subjects(args.file, args)
  for i, entry in ipairs(list) do
    if i > 1 then say "" end
    local ok, problem = pcall(simulate_one, entry, args, titled)
    if ok and not problem then status = FAILED end
    if not ok then
      if type(problem) ~= "table" or problem.kind == "usage" then error(problem, 0) end
      if entry.raw then problem.caller = nil end
      complain((entry.name or "") .. message_of(problem))
      status = FAILED
    end
  end
  return status
end

-- ---- the other commands ---------------------------------------------------------------------

local function verify(args)
  local module = require "einloom.verify"
  run_first(args.with)
  local summary = module.files(args.files, args.layer, say, complain)
  if summary.left_out > 0 then say(summary.left_out, " left out by --layer ", args.layer) end
  say(module.verdict(summary))
  return summary.failed == 0 and OK or FAILED
end

local function repl(_)
  local module = require "einloom.repl"
  local function write(text)
    out:write(text)
    out:flush()
  end
  module.run(function() return io.stdin:read "l" end, write, {
    prompt = os.execute "test -t 0" == true,
    write_error = function(text) err:write(text) end,
  })
  return OK
end

local function run(args)
  local text = read_file(args.file)
  _G.arg = table.move(args.args, 1, #args.args, 1, { [0] = args.file })
  run_lua(args.file, text, args.args)
  return OK
end

-- ---- the command line -------------------------------------------------------------------------

-- The options that say what of a file is analysed, and at which points.
local function add_input(command)
  command:option("--at", "Numbers for symbols, e.g. M0=16,K0=4; once per point."):args(1):count "*"
  command:option("--case", "The one case of the file with this id.")
  command:option("--with", "A Lua script to run first, e.g. one that adds kinds of nodes."):args(1)
    :count "*"
end

-- The options that say how is counted.
local function add_conventions(command, with_model)
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

local function add_commands(parser)
  local e = parser:command("eval", "Analyse a mapping; print the loop nest and the costs.")
  e:argument("file", "A Lua script that returns what to analyse, or a JSON case or file of "
    .. "cases; - is the standard input.")
  add_input(e)
  e:flag("--lift", "Put storage above the loops directly above it that do not index its tensor.")
  add_conventions(e, true)
  e:flag("--json", "Print the case with its results filled in, as JSON.")
  local c = parser:command("compare", "Print where the models reference and exact differ and why; "
    .. "for cases of schema fixed/1, where other tools differ.")
  c:argument("file", "A Lua script that returns what to analyse, or a JSON case or file of cases.")
  add_input(c)
  add_conventions(c)
  local s = parser:command("simulate", "Count a mapping by walking every point of its loops; print "
    .. "the loop nest and the costs.")
  s:argument("file", "As of eval; sizes and tiles are numbers, or --at makes numbers of them.")
  add_input(s)
  add_conventions(s)
  local v = parser:command("verify", "Compute the cases of files and compare strictly.")
  v:argument("files",
    "JSON files: schemas mapping/1, fixed/1, search/1, simd/1, tiles/1, expr/1; - is the standard "
    .. "input.")
    :args "+"
  v:option("--layer", "What is compared: reuse, costs, totals, search or all."):default "all"
    :choices { "reuse", "costs", "totals", "search", "all" }
  v:option("--with", "A Lua script to run first, e.g. one that adds kinds of nodes."):args(1)
    :count "*"
  parser:command("repl", "Read, evaluate and print Lua, with the module as `loom`.")
  local r = parser:command("run", "Run a Lua script.")
  r:argument("file", "The script.")
  r:argument("args", "Arguments of the script."):args "*"
end

local function make_parser()
  local parser = require "argparse"("einloom", "Exact symbolic analysis of tensor computations.",
    "Exit status: 0 done, 1 an error or a failed check, 2 wrong usage.")
  parser:command_target "command"
  parser:require_command(true)
  parser:flag("--version", "Print the version."):action(function()
    error({ stop = "einloom " .. core.version }, 0)
  end)
  add_commands(parser)
  function parser.error(self, message)
    error({ usage = self:get_usage() .. "\n\neinloom: " .. message }, 0)
  end
  return parser
end

local commands = {
  eval = eval, compare = compare, simulate = simulate, verify = verify, repl = repl, run = run,
}

-- argparse ends the process after its help; here the text comes back instead.
local function with_help(parser)
  local function add(p)
    p:add_help { action = function() error({ stop = p:get_help() }, 0) end }
    for _, command in ipairs(p._commands) do add(command) end
  end
  add(parser)
  return parser
end

local function parse(arguments)
  local parser = with_help(make_parser())
  local ok, args = pcall(parser.parse, parser, arguments)
  if ok then return args end
  if type(args) ~= "table" then error(args, 0) end
  if args.stop then
    say(args.stop)
    return nil, OK
  end
  if not args.usage then error(args, 0) end
  err:write(args.usage, "\n")
  return nil, USAGE
end

--- Runs the command with its arguments.
---@param arguments string[]
---@param streams? { out: file*, err: file* } in place of the standard ones
---@return integer status
function cli.main(arguments, streams)
  out, err = io.stdout, io.stderr
  if streams then out, err = streams.out, streams.err end
  local args, status = parse(arguments)
  if not args then return status end
  local before = conventions.of()
  local ok, answer = xpcall(commands[args.command], traceback, args)
  for name, value in pairs(before) do conventions.defaults[name] = value end
  if ok then return answer end
  complain(message_of(answer))
  return type(answer) == "table" and answer.kind == "usage" and USAGE or FAILED
end

return cli
