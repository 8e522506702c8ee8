-- SPDX-License-Identifier: MIT
-- einloom repl: reads, evaluates and prints Lua.

local terminal = require "einloom.cli.terminal"

local repl = {}

function repl.declare(parser)
  parser:command("repl", "Read, evaluate and print Lua, with the module as `loom`.")
end

function repl.run(_)
  require "einloom.repl".run(function() return io.stdin:read "l" end, terminal.write, {
    prompt = os.execute "test -t 0" == true, write_error = terminal.write_error,
  })
  return terminal.OK
end

return repl
