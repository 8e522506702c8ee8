-- SPDX-License-Identifier: MIT
-- The program under test, run from specs: the one that runs the spec.
local program = {}

--- Path of the running program.
---@return string
function program.path()
  local lowest = 0
  while arg[lowest - 1] do lowest = lowest - 1 end
  return arg[lowest]
end

--- Runs a command line of the program's arguments.
---@param arguments string shell words
---@return integer status, string output both streams
function program.run(arguments)
  local pipe = assert(io.popen(("'%s' %s 2>&1"):format(program.path(), arguments)))
  local output = pipe:read "a"
  local _, _, status = pipe:close()
  return status, output
end

--- Runs a script given as text.
---@param text string
---@return integer status, string output
function program.run_text(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write(text)
  file:close()
  local status, output = program.run("run " .. name)
  os.remove(name)
  return status, output
end

return program
