-- SPDX-License-Identifier: MIT
-- Recorded searches beside AccelForge's, both measured now: seconds of the processor of both and
-- their ratio.  Run by scripts/bench map --peer, in the release build.
local core = require "einloom.core"
local read = require "einloom.case.search"

local VARIABLE = "EINLOOM_ACCELFORGE"
local QUICK = 2 -- seconds that the recorded search took
local HOW = VARIABLE .. [[ has to name the Python of an environment with AccelForge, for example:
  python3.12 -m venv ~/accelforge
  ~/accelforge/bin/pip install accelforge
  EINLOOM_ACCELFORGE=~/accelforge/bin/python scripts/bench map --peer
]]

local function fail(message)
  io.stderr:write("scripts/bench map --peer: ", message, "\n")
  os.exit(2)
end

local function quote(text) return "'" .. text:gsub("'", [['\'']]) .. "'" end

local function is_quick(raw)
  return raw.peer.wall_s.make + raw.peer.wall_s.join < QUICK
end

-- The cases that are meant, in the order of the file.
local function choose(cases, arguments)
  if #arguments == 0 then
    local list = {}
    for _, case in ipairs(cases) do
      if is_quick(case.raw) then list[#list + 1] = case end
    end
    return list
  end
  if #arguments == 1 and arguments[1] == "--all" then return cases end
  local by_id, list = {}, {}
  for _, case in ipairs(cases) do by_id[case.id] = case end
  for _, id in ipairs(arguments) do
    list[#list + 1] = by_id[id] or fail(("no case %q is recorded"):format(id))
  end
  return list
end

local function seconds_of(case)
  collectgarbage()
  local start = os.clock()
  read.space(case):search()
  return os.clock() - start
end

local file = ...
local python = os.getenv(VARIABLE)
if not python or python == "" then fail(HOW) end
local cases = choose(read.load(file), { select(2, ...) })
local command = { quote(python), "scripts/bench_peer_accelforge.py", quote(file) }
for _, case in ipairs(cases) do command[#command + 1] = quote(case.id) end
local peer = assert(io.popen(table.concat(command, " ")))
local sum, n, stopped = 0, 0, nil
for i, case in ipairs(cases) do
  local line = peer:read "l"
  if not line then
    stopped = i
    break
  end
  local answer = core.json.decode(line)
  assert(answer.id == case.id)
  if answer.refused then
    print(("%-32s not compared: %s"):format(case.id, answer.refused))
  else
    if n == 0 then seconds_of(case) end -- as the peer does: what all cases share is there
    local seconds = seconds_of(case)
    print(("%-32s %9.4f s, AccelForge %9.3f s: %6.0f times"):format(case.id, seconds,
      answer.seconds, answer.seconds / seconds))
    sum, n = sum + math.log(answer.seconds / seconds), n + 1
  end
end
if stopped == 1 then fail("AccelForge could not be run; " .. HOW) end
if not peer:close() or stopped then fail("AccelForge failed at " .. cases[stopped or #cases].id) end
if n > 0 then
  print(("%-32s %38.0f times, geometric mean of %d"):format("all", math.exp(sum / n), n))
end
