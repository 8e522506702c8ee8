-- SPDX-License-Identifier: MIT
-- einloom compare: where two ways of counting differ and why.

local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local compare = {}

function compare.declare(parser)
  local command = parser:command("compare", "Print where the models reference and exact differ and "
    .. "why; for cases of schema fixed/1, where other tools differ.")
  command:argument("file",
    "A Lua script that returns what to analyse, or a JSON case or file of cases.")
  input.declare(command)
  input.declare_conventions(command)
end

-- Prints how the models differ on one subject; false where there is nothing to compare.
local function compare_models(entry, args)
  local subject = entry.open()
  local r = subject.result
  local w, a, m = subject.workload, subject.arch, subject.mapping
  if r then w, a, m = r.workload, r.arch, r.mapping end
  local options = input.options_of(subject, args)
  options.model = nil
  local points = input.points_of(subject, args)
  for i = 1, #args.at > 0 and #points or 1 do
    local compared, message, kind =
      require "einloom.compare".models(w, a, m, options, points[i])
    if not compared then terminal.refuse(kind, message) end
    if i > 1 then terminal.say "" end
    terminal.say(tostring(compared))
  end
end

-- Cases that hold what other tools print are compared with those.
local function compare_tools(decoded, args)
  local module, first = require "einloom.compare.fixed", true
  for _, raw in ipairs(decoded.cases or { decoded }) do
    if not args.case or raw.id == args.case then
      if not first then terminal.say "" end
      terminal.say(module.text(raw))
      first = false
    end
  end
  if first then terminal.fail("usage", ("%s has no case '%s'"):format(args.file, args.case)) end
  return terminal.OK
end

function compare.run(args)
  input.points(args.at)
  input.run_first(args.with)
  local text = input.read_file(args.file)
  if input.is_json(args.file, text) then
    local decoded = require "einloom.case".decode_file(args.file, text)
    if decoded.schema == "fixed/1" then return compare_tools(decoded, args) end
  end
  local list, titled = input.subjects(args.file, args, text)
  return input.each(list, function(entry, i)
    if i > 1 then terminal.say "" end
    if titled then terminal.say("-- ", entry.name:match "([^:]+): $" or entry.name) end
    compare_models(entry, args)
  end)
end

return compare
