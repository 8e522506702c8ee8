-- SPDX-License-Identifier: MIT
-- What a search answers: the mappings found with their costs and how it went, or why there is none.

local core = require "einloom.core"
local drive = require "einloom.cli.drive"
local input = require "einloom.cli.input"
local outputs = require "einloom.cli.outputs"
local progress = require "einloom.show.progress"
local terminal = require "einloom.cli.terminal"

local answer = {}

local no_proof = "no certificate: the search was stopped before its end"

local reasons = { interrupt = "Ctrl-C", time = "the limit of time" }

-- The least that the value of the objective can be, where there is one value.
local function bound_of(search, p)
  local case = search.space.case
  if case.objective.is_front or not p.bound then return nil end
  return require "einloom.search.goals".values(case, p.bound)[1]
end

-- The value of the objective, as the analysis of the best mapping has it.
local function value_of(search, points)
  local case = search.space.case
  if not points[1] or case.objective.is_front then return nil end
  local numbers = require "einloom.show.found".numbers(points[1])
  return require "einloom.search.goals".values(case, numbers)[1]
end

-- Lines about how the search went.
local function notes_of(search, points, stopped, given)
  local p, sessions = search:progress(), given.sessions
  local notes = { ("%s by %s: %d candidates in %s%s"):format(search.space.case.objective.text,
    given.strategy, p.candidates, progress.duration(p.seconds), sessions and sessions.n > 1
    and ("; %d sessions, %s"):format(sessions.n, progress.duration(sessions.seconds)) or "") }
  if stopped then
    local bound, best = bound_of(search, p), value_of(search, points)
    notes[2] = ("stopped by %s: the best so far%s"):format(reasons[stopped] or stopped,
      bound and best and ", " .. progress.gap(best, bound) or "")
  end
  return notes
end

--- What was searched and how, as plain data.
---@param search einloom.Search
---@param stopped? string
---@param strategy string
---@return table
function answer.about(search, stopped, strategy)
  local p = search:progress()
  return {
    minimise = search.space.case.objective.text, strategy = strategy, seed = search.seed,
    stopped = stopped, candidates = math.tointeger(p.candidates) or p.candidates,
    seconds = p.seconds, model = search.space.options.model, einloom = core.version,
  }
end

-- The same, and what was found and fell of a whole space.
local function about_whole(search, points, stopped, strategy)
  local p, about = search:progress(), answer.about(search, stopped, strategy)
  about.bound, about.best = bound_of(search, p), value_of(search, points)
  about.fallen = {}
  for rule, n in pairs(p.falls and p.falls.rules or p.fallen) do
    about.fallen[rule] = math.tointeger(n) or n
  end
  return about
end

-- What fell to which rule, of all units of work, also of those that a store knows.
local function falls_of(search)
  local falls = search:progress().falls
  local known = falls and search.ledger and search.ledger.n_known > 0
  return known and require "einloom.search.nothing".falls(search.space) or falls
end

-- Lines about what fell to which rule.
local function reasons_of(search)
  local falls, lines = falls_of(search), {}
  if falls then
    local explained = require "einloom.search.nothing".explain(search.space, falls)
    return require "einloom.show.nothing".lines(explained, search.space.arch)
  end
  for rule, n in pairs(search:progress().fallen) do
    lines[#lines + 1] = ("%s: %d candidates"):format(rule, n)
  end
  table.sort(lines)
  return lines
end

-- Whether a dimension asks for a least share.
local function asks_for_shares(arch)
  for _, component in ipairs(require "einloom.readonly".raw(arch).components) do
    for _, dim in ipairs(component.spatial or {}) do
      if dim.min_usage then return true end
    end
  end
  return false
end

-- Seconds for the reasons why a strategy came to no mapping.
local explain_within = 20

-- What every choice of tiles fell to, by a search of the strategy optimal; nil where that takes too
-- long or cannot search the space.
local function found_reasons(space)
  local catch <close>, lines = drive.catch(explain_within), nil
  pcall(catch.during, catch, function()
    local whole = require "einloom.search.engine".new(space, 1)
    whole:run()
    if #whole:points() > 0 then return end
    local explained = require "einloom.search.nothing".explain(space, whole:falls())
    lines = require "einloom.show.nothing".lines(explained, space.arch)
  end)
  return lines
end

-- Why a search that came to its end looked at nothing.
local function untried(search, strategy)
  if search.limits.evaluations == 0 then return "nothing was tried: no mapping may be evaluated" end
  local lines = type(search.name) == "string" and found_reasons(search.space)
  if lines and #lines > 0 then return "no mapping fits\n  " .. table.concat(lines, "\n  ") end
  return ("nothing was tried: the strategy %s came to no mapping; where none fits, the strategy "
    .. "optimal says what is in the way"):format(strategy)
end

-- Says why there is nothing.
local function nothing(search, strategy)
  local p = search:progress()
  if p.candidates == 0 and not p.falls then return terminal.complain(untried(search, strategy)) end
  local lines = reasons_of(search)
  table.insert(lines, 1, "no mapping fits")
  if not p.falls and asks_for_shares(search.space.arch) then
    lines[#lines + 1] = "min_usage: where memories are too small for the fullest use of a "
      .. "dimension, only the strategy optimal goes on with less"
  end
  terminal.complain(table.concat(lines, "\n  "))
end

--- Mappings that a store keeps as the best so far, analysed; those that cannot be are left out.
---@param space einloom.Space
---@param list { mapping: string }[]
---@return einloom.FoundPoint[]
function answer.known(space, list)
  local show, points = require "einloom.show.found", {}
  for _, entry in ipairs(list) do
    local ok, mapping = pcall(require "einloom".mapping, entry.mapping)
    points[#points + 1] = ok and show.point(space, mapping) or nil
  end
  return points
end

-- The best of points, those of the first list before equal ones.
local function best_of(space, ...)
  local show, best, list = require "einloom.show.found", {}, {}
  for _, points in ipairs { ... } do
    for _, point in ipairs(points) do
      local numbers = show.numbers(point)
      numbers.point = point
      best = require "einloom.search.kept".with(space.case, best, numbers)
    end
  end
  for i, numbers in ipairs(best) do list[i] = numbers.point end
  return show.sorted(list)
end

--- The points found, analysed as `einloom eval` does. Of a search that is not at its end, they are
--- not worse than what was known before.
---@param search einloom.Search
---@param known? einloom.FoundPoint[]
---@return einloom.FoundPoint[]
function answer.points(search, known)
  local points = require "einloom.show.found".points(search:found())
  if not search.stopped and search.finished or #(known or {}) == 0 then return points end
  return best_of(search.space, points, known)
end

-- Seconds that a search with a limit of time has left over for its proof.
local function time_left(search, time)
  return time and math.max(time - search:progress().seconds, 1e-3)
end

-- Writes the proof that nothing is better; the status of the command.
local function write_certificate(search, stopped, args)
  if stopped then
    terminal.complain(no_proof)
    return terminal.STOPPED
  end
  local found, write = search:found(), require "einloom.certify".write
  local caught, lines, message, kind = drive.watch(function(watch)
    return write(found, args.certificate, function(state)
      local why = watch(state)
      return why and reasons[why]
    end)
  end, {
    time = time_left(search, args.time_limit and input.number(args, "time_limit")),
    shown = terminal.is_terminal(),
  })
  if lines then return terminal.OK end
  if kind ~= "stopped" then
    terminal.complain(message)
    return terminal.FAILED
  end
  terminal.complain(caught and "no certificate: stopped by " .. reasons[caught] or message)
  return terminal.STOPPED
end

local function print_points(search, points, stopped, given, json)
  local show = require "einloom.show.found"
  if json then
    local about = about_whole(search, points, stopped, given.strategy)
    terminal.say(show.json(points, about))
  else
    terminal.say(show.script(points, notes_of(search, points, stopped, given), given,
      search.space.options.model))
  end
end

--- Fails where the certificate that is asked for cannot be made or written, before any search.
---@param space einloom.Space
---@param args { certificate: string? }
---@param inputs string[] paths that the command reads or keeps
function answer.check(space, args, inputs)
  if not args.certificate then return end
  outputs.check("--certificate", args.certificate, inputs)
  local refused = require "einloom.certify".refused(space)
  if refused then terminal.refuse("certificate", refused) end
end

--- Options of commands that have an answer.
function answer.declare(command)
  command:option("--threads", "Threads of the strategy optimal; the answer does not depend on it.")
  command:option("--certificate", "A file for the proof that nothing is better, which `einloom "
    .. "certify` checks.")
  command:flag("--json", "Print the answer as JSON: cases with their results, what was searched.")
end

--- Says that a command was stopped with nothing to show.
---@param stopped string
---@param args { certificate: string? }
---@return integer status
function answer.complain(stopped, args)
  terminal.complain(("stopped by %s before anything was found"):format(
    reasons[stopped] or stopped))
  if args.certificate then terminal.complain(no_proof) end
  return terminal.STOPPED
end

--- Prints points and writes their certificate; the status of the command.
---@param search einloom.Search
---@param points einloom.FoundPoint[]
---@param stopped? string what ended the search early
---@param given { source: string[], names: string[], strategy: string, sessions: table? } how a
--- script gets workload and architecture; what the strategy is called; of a store, how many
--- sessions there were and their seconds
---@param args { json: boolean?, certificate: string?, time_limit: string? }
---@return integer
function answer.give(search, points, stopped, given, args)
  local status = stopped and terminal.STOPPED or terminal.OK
  if #points > 0 or args.json then
    print_points(search, points, stopped, given, args.json)
  end
  if #points == 0 and stopped then
    answer.complain(stopped, {})
  elseif #points == 0 then
    nothing(search, given.strategy)
    status = terminal.FAILED
  end
  if not args.certificate then return status end
  local proved = write_certificate(search, stopped, args)
  return status ~= terminal.OK and status or proved
end

--- The points as a store keeps them.
---@param points einloom.FoundPoint[]
---@return { figures: table, mapping: string }[]
function answer.kept(points)
  local list = {}
  for i, point in ipairs(points) do
    local figures = {}
    for _, figure in ipairs(point.figures) do figures[figure.name] = tostring(figure.value) end
    list[i] = { figures = figures, mapping = tostring(point.mapping) }
  end
  return list
end

return answer
