-- SPDX-License-Identifier: MIT
-- einloom simulate: the counts of a mapping by walking every point of its loops, as text or JSON.

local cases = require "einloom.cli.cases"
local core = require "einloom.core"
local errors = require "einloom.errors"
local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local simulate = {}

function simulate.declare(parser)
  local command = parser:command("simulate", "Count a mapping by walking every point of its loops; "
    .. "print the loop nest and the costs.")
  command:argument("file",
    "As of eval; sizes and tiles are numbers, or --at makes numbers of them.")
  input.declare(command)
  input.declare_conventions(command)
  command:flag("--json", "Print the case of each point with its results filled in, as JSON.")
end

local function walk(subject, args, point)
  local options = input.options_of(subject, args)
  options.model, options.at = nil, point
  local r, message, kind = require "einloom".simulate(subject.workload, subject.arch,
    subject.mapping, options)
  return r or terminal.refuse(kind, message)
end

-- The same subject with numbers in place of what a point gives.
local function at(subject, point)
  local case = require "einloom.case"
  local there = case.from_json(case.to_json_at(subject.workload, subject.arch, subject.mapping,
    point))
  return {
    workload = there.workload, arch = there.arch, mapping = there.mapping,
    options = subject.options,
  }
end

-- "M0=16,K0=4"
local function point_text(point)
  local parts = {}
  for i, name in ipairs(errors.keys(point)) do
    parts[i] = ("%s=%s"):format(name, core.is_expr(point[name]) and point[name]
      or core.number(point[name]))
  end
  return table.concat(parts, ",")
end

-- The case of one point with its results; raises where it exceeds a limit.
local function json_of(subject, args, point)
  local there = next(point) and at(subject, point) or subject
  local filled, message, kind = require "einloom.case".with_results(walk(there, args, {}))
  cases.entitle(filled, subject)
  if next(point) then
    filled.id = ("%s at %s"):format(subject.id, point_text(point))
  end
  return filled, message, kind
end

local function print_json(subject, args, points, filled)
  local done = true
  for _, point in ipairs(points) do
    local message, kind
    filled[#filled + 1], message, kind = json_of(subject, args, point)
    if message then
      terminal.complain(("%s: %s (%s)"):format(filled[#filled].id, message, kind))
      done = false
    end
  end
  return done
end

local function print_text(subject, args, points, places)
  local done = true
  for i, point in ipairs(points) do
    local r = walk(subject, args, point)
    if i > 1 then terminal.say "" end
    done = terminal.print_result(subject, r, places[i]) and done
  end
  return done
end

-- Walks one subject at each of its points; false where it exceeds a limit.
local function simulate_one(entry, args, titled, filled)
  local subject = entry.open()
  local from = subject.result
  if from then
    subject.workload, subject.arch, subject.mapping = from.workload, from.arch, from.mapping
  end
  subject.name = entry.name
  local points, places = input.points_of(subject, args)
  if #points == 0 then points = { from and from.point or {} } end
  if args.json then return print_json(subject, args, points, filled) end
  if titled then terminal.say("-- ", subject.id) end
  return print_text(subject, args, points, places)
end

-- Kinds of refusals that are of walking, not of what is walked.
local of_walking = { limit = true, domain = true }

function simulate.run(args)
  input.points(args.at)
  input.set_conventions(args)
  input.run_first(args.with)
  if args.json then terminal.print_to_err() end
  local filled, before = {}, 0
  local list, titled = input.subjects(args.file, args)
  local status = input.each(list, function(entry, i)
    if i > 1 and not args.json then terminal.say "" end
    before = #filled
    return simulate_one(entry, args, titled, filled)
  end, function(entry, problem)
    if args.json and #filled == before and not of_walking[problem.kind] then
      filled[#filled + 1] = cases.refused(entry, problem, args, "exact")
    end
  end)
  if args.json and #filled > 0 then cases.print(filled) end
  return status
end

return simulate
