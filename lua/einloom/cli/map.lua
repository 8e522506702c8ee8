-- SPDX-License-Identifier: MIT
-- einloom map: the best mapping of a workload on an architecture, or the front of several figures.

local drive = require "einloom.cli.drive"
local input = require "einloom.cli.input"
local problem = require "einloom.cli.problem"
local terminal = require "einloom.cli.terminal"

local map = {}

function map.declare(parser)
  local command = parser:command("map", "Search for the best mapping, or for the front of several "
    .. "figures; print it as a script that eval takes. Exit status: 0 all of the space is "
    .. "searched, 1 an error or no mapping fits, 2 wrong usage, 75 stopped before the end.")
  command:argument("files", "A script that returns a workload and one that returns an "
    .. "architecture, or one that returns both; or a JSON case (mapping/1 or search/1)."):args "1-2"
  command:option("--minimize", "What is best: energy, latency, energy_delay_product (edp), usage, "
    .. "or a formula in energy and latency.")
  command:option("--pareto", "Figures, e.g. energy,latency: all mappings that no other one beats.")
  command:option("--keep", "A mapping with holes (a text, or a script that returns it): what is "
    .. "fixed stays.")
  command:option("--strategy", "How is searched: a name, or a script that returns a strategy.")
    :default "optimal"
  command:option("--set", "An option of the strategy, NAME=VALUE."):args(1):count "*"
  command:option("--seed", "Seed of strategies that draw at random.")
  command:option("--evaluations", "Mappings that are evaluated, at most.")
  command:option("--time-limit", "Seconds, after which the best so far is the answer.")
    :target "time_limit"
  command:option("--case", "The one case of the file with this id.")
  input.declare_scripts(command)
  command:flag("--json", "Print cases with their results, and what was searched, as JSON.")
  problem.declare(command)
end

-- ---- the search -----------------------------------------------------------------------------

local function number(args, name, kind)
  local text = args[name]
  if text == nil then return nil end
  local x = tonumber(text)
  if kind == "integer" then x = x and math.tointeger(x) end
  if x and x >= 0 then return x end
  return terminal.fail("usage", ("--%s expects %s from 0 on, not '%s'"):format(
    name:gsub("_", "-"), kind == "integer" and "an integer" or "a number", text))
end

local function strategy_of(name)
  if not name:match "%.lua$" then return name end
  return input.run_lua(name, input.read_file(name))[1]
end

local function search_options(args)
  local options = {
    strategy = strategy_of(args.strategy), seed = number(args, "seed", "integer"),
    evaluations = number(args, "evaluations", "integer"), time = number(args, "time_limit"),
  }
  for _, text in ipairs(args.set) do
    local name, value = text:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
    if not name then terminal.fail("usage", ("--set expects NAME=VALUE, not '%s'"):format(text)) end
    options[name] = tonumber(value) or value
  end
  return options
end

-- ---- the answer -----------------------------------------------------------------------------

local reasons = { interrupt = "Ctrl-C", time = "the limit of time", evaluations = "the limit of "
  .. "evaluations" }

-- Lines about how the search went.
local function notes_of(search, stopped, minimise)
  local show = require "einloom.show.progress"
  local p = search:progress()
  local n = p.candidates or p.evaluated
  local notes = { ("%s by %s: %s candidates in %s"):format(table.concat(minimise, ", "),
    search.name, n, show.duration(p.seconds)) }
  if stopped then
    local gap = p.best and p.bound and show.gap(p.best[minimise[1]], p.bound)
    notes[2] = ("stopped by %s: the best so far%s"):format(reasons[stopped] or stopped,
      gap and ", " .. gap or "")
  end
  return notes
end

local function about(search, stopped, minimise, options)
  local p = search:progress()
  return {
    minimise = minimise, strategy = search.name, seed = search.seed, stopped = stopped,
    candidates = p.candidates or p.evaluated, seconds = p.seconds, bound = p.bound,
    best = p.best and p.best[minimise[1]], fallen = p.fallen, model = options.model,
    einloom = require "einloom.core".version,
  }
end

-- Why there is nothing, and the status.
local function nothing(search)
  local fallen, lines = search:progress().fallen, {}
  for rule, n in pairs(fallen) do lines[#lines + 1] = ("  %s: %d candidates"):format(rule, n) end
  table.sort(lines)
  terminal.complain(#lines > 0 and "no mapping fits:\n" .. table.concat(lines, "\n")
    or "no mapping was found")
  return terminal.FAILED
end

function map.run(args)
  input.run_first(args.with)
  if args.json then terminal.print_to_err() end
  local given = problem.read(args.files, args.case)
  local options = problem.options(args, given.options)
  local space = require "einloom.space".new(given.workload, given.arch, options)
  local minimise, model = space.case.objective.names, space.options.model
  local search = space:search(search_options(args))
  local stopped = drive.run(search, {
    minimise = minimise[1], time = number(args, "time_limit"), shown = terminal.is_terminal(),
  })
  local found = search:found()
  local status = stopped and terminal.STOPPED or terminal.OK
  if #found.points == 0 then return stopped and status or nothing(search) end
  local show = require "einloom.show.found"
  local points = show.points(found, model, minimise)
  if args.json then
    terminal.say(show.json(points, about(search, stopped, minimise, space.options)))
  else
    terminal.say(show.script(points, notes_of(search, stopped, minimise), given, model))
  end
  return status
end

return map
