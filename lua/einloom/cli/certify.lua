-- SPDX-License-Identifier: MIT
-- einloom certify: proofs that nothing better than what a search found exists, checked
-- independently.

local core = require "einloom.core"
local terminal = require "einloom.cli.terminal"

local certify = {}

function certify.declare(parser)
  local command = parser:command("certify",
    "Check certificates of optimality: proofs that no mapping is better than what was found.")
  command:argument("files", "Certificates, as a search writes them."):args "+"
  command:flag("--json", "Print what was checked as JSON, one line for each file.")
end

-- One of "a", "a and b", "a, b and c".
local function listed(parts)
  if #parts < 2 then return parts[1] or "" end
  return table.concat(parts, ", ", 1, #parts - 1) .. " and " .. parts[#parts]
end

local function counted(report)
  local parts = {}
  for _, reason in ipairs(report.reasons) do
    if reason.count > 0 then parts[#parts + 1] = ("%d %s"):format(reason.count, reason.text) end
  end
  local text = ("%d templates, %d leaves: %s")
    :format(report.templates, report.leaves, listed(parts))
  if (report.open or 0) == 0 then return text end
  return ("%s; %d of them joined to nothing better"):format(text, report.open)
end

-- By how much a claim may be worse than what is best.
local function within(report)
  local parts = {}
  if report.tolerance then parts[1] = ("a share of %s"):format(report.tolerance) end
  if report.usage_tolerance then
    parts[#parts + 1] = ("%s of the use of memories"):format(report.usage_tolerance)
  end
  return #parts > 0 and " by more than " .. table.concat(parts, ", ") or ""
end

local function claimed(report)
  if #report.claims == 0 then return "no mapping fits" end
  if #report.claims > 1 then
    return ("no mapping is outside the front of %d points (%s)%s"):format(#report.claims,
      report.minimise, within(report))
  end
  return ("no mapping is better than %s = %.17g%s"):format(report.minimise, report.claims[1][1],
    within(report))
end

local function check(path, json)
  local start = core.clock()
  local report, message, kind = require "einloom.certify".check(path)
  local seconds = core.clock() - start
  if json then
    local data = report or { error = kind, message = message }
    data.file, data.seconds, data.holds = path, seconds, report ~= nil
    terminal.say(core.json.encode(data, { sort_keys = true }))
  elseif report then
    terminal.say(("%s: %s; %s; %.1f s"):format(path, claimed(report), counted(report), seconds))
  end
  if not report and not json then terminal.complain(message) end
  return report ~= nil
end

function certify.run(args)
  local holds = true
  for _, path in ipairs(args.files) do holds = check(path, args.json) and holds end
  return holds and terminal.OK or terminal.FAILED
end

return certify
