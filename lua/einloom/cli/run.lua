-- SPDX-License-Identifier: MIT
-- einloom run: runs a Lua script with its arguments.

local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local run = {}

function run.declare(parser)
  local command = parser:command("run", "Run a Lua script.")
  command:argument("file", "The script.")
  command:argument("args", "Arguments of the script."):args "*"
end

function run.run(args)
  local text = input.read_file(args.file)
  _G.arg = table.move(args.args, 1, #args.args, 1, { [0] = args.file })
  input.run_lua(args.file, text, args.args)
  return terminal.OK
end

return run
