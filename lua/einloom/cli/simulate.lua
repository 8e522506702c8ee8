-- SPDX-License-Identifier: MIT
-- einloom simulate: the counts of a mapping by walking every point of its loops.

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
end

-- Walks one subject at each of its points; false where it exceeds a limit.
local function simulate_one(entry, args, titled)
  local loom = require "einloom"
  local subject = entry.open()
  subject.name = entry.name
  local from = subject.result or subject
  local list, places = input.points_of(subject, args)
  if titled then terminal.say("-- ", subject.id) end
  local done = true
  for i, point in ipairs(#list > 0 and list or { subject.result and from.point or {} }) do
    local options = input.options_of(subject, args)
    options.model, options.at = nil, point
    local r, message, kind = loom.simulate(from.workload, from.arch, from.mapping, options)
    if not r then terminal.refuse(kind, message) end
    if i > 1 then terminal.say "" end
    done = terminal.print_result(subject, r, places[i]) and done
  end
  return done
end

function simulate.run(args)
  input.points(args.at)
  input.set_conventions(args)
  input.run_first(args.with)
  local list, titled = input.subjects(args.file, args)
  return input.each(list, function(entry, i)
    if i > 1 then terminal.say "" end
    return simulate_one(entry, args, titled)
  end)
end

return simulate
