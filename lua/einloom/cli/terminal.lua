-- SPDX-License-Identifier: MIT
-- What the commands write and how they fail.

local errors = require "einloom.errors"

local terminal = {}

--- Exit statuses; STOPPED: before the end, with what was found so far; INTERRUPTED: by Ctrl-C.
terminal.OK, terminal.FAILED, terminal.USAGE, terminal.STOPPED = 0, 1, 2, 75
terminal.INTERRUPTED = 130

-- Where the running command writes.
local out, err = io.stdout, io.stderr

--- Where commands write from now on.
---@param streams? { out: file*, err: file* } in place of the standard ones
function terminal.use(streams)
  out, err = io.stdout, io.stderr
  if streams then out, err = streams.out, streams.err end
end

--- Writes a line of the answer.
function terminal.say(...) out:write(table.concat({ ... }), "\n") end

--- Writes a line about something wrong. Names from files may hold anything; what would steer a
--- terminal is shown as \27 and the like.
---@param text string
function terminal.complain(text)
  local plain = text:gsub("[%c\127]", function(c)
    return c ~= "\n" and c ~= "\t" and ("\\%d"):format(c:byte()) or nil
  end)
  err:write("einloom: ", plain, "\n")
end

--- Raises an error in what a file or the command line says.
---@param kind string
---@param message string
---@param file? string
function terminal.fail(kind, message, file)
  error(errors.new(kind, message, { file = file }), 0)
end

--- Raises what an analysis answers, with the lines that its message has.
---@param kind string
---@param message string
function terminal.refuse(kind, message) error({ kind = kind, message = message }, 0) end

--- What a problem says.
---@param problem any
---@return string
function terminal.message_of(problem)
  local message = type(problem) == "table" and problem.message
  local written = (getmetatable(problem) or {}).__tostring
  if message and (problem.kind == nil or not written) then return tostring(message) end
  return tostring(problem)
end

--- Writes answers as they stand, without a line's end.
---@param text string
function terminal.write(text)
  out:write(text)
  out:flush()
end

--- Writes to the stream of errors as it stands.
---@param text string
function terminal.write_error(text) err:write(text) end

--- Whether people see the stream of errors while it is written.
function terminal.is_terminal() return err == io.stderr and os.execute "test -t 2" == true end

--- Characters in a line of the terminal on the stream of errors, 80 where that is not known.
function terminal.width()
  local pipe = io.popen "stty size 2>/dev/null <&2"
  local text = pipe and pipe:read "a" or ""
  if pipe then pipe:close() end
  local width = math.tointeger(text:match "^%d+ (%d+)")
  return width and width > 0 and width or 80
end

--- Where the standard output is for the answer alone, what a script prints goes to the other one.
function terminal.print_to_err()
  io.output(io.stderr)
  _G.print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    err:write(table.concat(parts, "\t"), "\n")
  end
end

--- Prints the nest and the costs at one point; false where a limit is exceeded.
function terminal.print_result(subject, r, place)
  terminal.say(tostring(r))
  local costs, message, kind = r:costs_text()
  if costs then
    terminal.say("\n", costs)
  else
    local before = (subject.name or "") .. (place and place .. ": " or "")
    terminal.complain(("%s%s (%s)"):format(before, message, kind))
  end
  return costs ~= nil
end

return terminal
