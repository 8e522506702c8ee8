-- SPDX-License-Identifier: MIT
-- einloom eval: the loop nest and the costs of mappings, as text or as JSON.

local cases = require "einloom.cli.cases"
local errors = require "einloom.errors"
local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local eval = {}

function eval.declare(parser)
  local command = parser:command("eval", "Analyse a mapping; print the loop nest and the costs.")
  command:argument("file", "A Lua script that returns what to analyse, or a JSON case or file of "
    .. "cases; - is the standard input.")
  input.declare(command)
  command:flag("--lift",
    "Put storage above the loops directly above it that do not index its tensor.")
  input.declare_conventions(command, true)
  command:flag("--json", "Print the case with its results filled in, as JSON.")
end

local function analyze(subject, args)
  local loom = require "einloom"
  local options = input.options_of(subject, args)
  local mapping = subject.mapping
  if args.lift then mapping = require "einloom.lift".mapping(mapping, subject.workload) end
  local r, message, kind = loom.analyze(subject.workload, subject.arch, mapping, options)
  if not r then terminal.refuse(kind, message) end
  return r
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

local function print_text(subject, r, args, titled)
  if titled then terminal.say("-- ", subject.id) end
  local list, places = input.points_of(subject, args)
  if #list == 0 then return terminal.print_result(subject, r) end
  local done = true
  for i = 1, #args.at > 0 and #list or 1 do
    if i > 1 then terminal.say "" end
    done = terminal.print_result(subject, at(r, list[i], places[i]), places[i]) and done
  end
  return done
end

local function json_of(subject, r, args)
  local case = require "einloom.case"
  local list, places = input.points_of(subject, args)
  for i, point in ipairs(list) do at(r, point, places[i]) end
  if #list == 0 and next(r.point) then list = { r.point } end
  local samples_of_case = subject.raw ~= nil and #args.at == 0
  local filled, message, kind = case.with_results(r, list, samples_of_case)
  return cases.entitle(filled, subject), message, kind
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
  if message then terminal.refuse(kind, message) end
  return true
end

function eval.run(args)
  input.points(args.at)
  input.set_conventions(args)
  input.run_first(args.with)
  if args.json then terminal.print_to_err() end
  local filled, before = {}, 0
  local list, titled = input.subjects(args.file, args)
  local status = input.each(list, function(entry, i)
    if i > 1 and not args.json then terminal.say "" end
    before = #filled
    return eval_one(entry, args, filled, titled)
  end, function(entry, problem)
    if args.json and #filled == before then
      filled[#filled + 1] = cases.refused(entry, problem, args)
    end
  end)
  if args.json and #filled > 0 then cases.print(filled) end
  return status
end

return eval
