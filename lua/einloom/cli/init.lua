-- SPDX-License-Identifier: MIT
-- The command `einloom`. Exit status: 0 done, 1 an error or a failed check, 2 wrong usage, 75 a
-- search was stopped before its end, 130 Ctrl-C ended another command.
-- A command is a module of this folder: declare(parser) says what it takes, run(args) gives the
-- exit status.

local conventions = require "einloom.conventions"
local core = require "einloom.core"
local terminal = require "einloom.cli.terminal"

local cli = {}

-- In the order in which help lists them.
local commands = {
  "eval", "compare", "simulate", "kernels", "map", "merge", "runs", "certify", "verify", "repl",
  "run",
}

local function module(name) return require("einloom.cli." .. name) end

local function make_parser()
  local parser = require "argparse"("einloom", "Exact symbolic analysis of tensor computations.",
    "Exit status: 0 done, 1 an error or a failed check, 2 wrong usage, 75 stopped before the end.")
  parser:command_target "command"
  parser:require_command(true)
  parser:flag("--version", "Print the version."):action(function()
    error({ stop = "einloom " .. core.version }, 0)
  end)
  for _, name in ipairs(commands) do module(name).declare(parser) end
  function parser.error(self, message)
    error({ usage = self:get_usage() .. "\n\neinloom: " .. message }, 0)
  end
  return parser
end

-- Of an option given twice the last one would win without a word.
local function only_once(parser)
  for _, command in ipairs(parser._commands) do
    for _, option in ipairs(command._options) do
      if option._maxargs > 0 and option._maxcount == 1 then option:overwrite(false) end
    end
  end
  return parser
end

-- argparse ends the process after its help; here the text comes back instead.
local function with_help(parser)
  local function add(p)
    p:add_help { action = function() error({ stop = p:get_help() }, 0) end }
    for _, command in ipairs(p._commands) do add(command) end
  end
  add(parser)
  return parser
end

-- A formula may begin with a minus.
local function with_formulas(arguments)
  local list = {}
  for _, argument in ipairs(arguments) do
    if list[#list] == "--minimize" and argument:match "^%-[^-]" and argument ~= "-h" then
      list[#list] = "--minimize=" .. argument
    else
      list[#list + 1] = argument
    end
  end
  return list
end

local function parse(arguments)
  local parser = with_help(only_once(make_parser()))
  local ok, args = pcall(parser.parse, parser, with_formulas(arguments))
  if ok then return args end
  if type(args) ~= "table" then error(args, 0) end
  if args.stop then
    terminal.say(args.stop)
    return nil, terminal.OK
  end
  if not args.usage then error(args, 0) end
  terminal.write_error(args.usage .. "\n")
  return nil, terminal.USAGE
end

local function traceback(problem)
  if type(problem) == "table" and problem.kind then return problem end
  if type(problem) == "string" and problem:find "interrupted!$" then
    return { kind = "interrupted", message = "interrupted" }
  end
  return debug.traceback(tostring(problem), 2)
end

local statuses = { usage = terminal.USAGE, interrupted = terminal.INTERRUPTED }

--- Runs the command with its arguments.
---@param arguments string[]
---@param streams? { out: file*, err: file* } in place of the standard ones
---@return integer status
function cli.main(arguments, streams)
  terminal.use(streams)
  local args, status = parse(arguments)
  if not args then return status end
  local before = conventions.of()
  local ok, answer = xpcall(module(args.command).run, traceback, args)
  for name, value in pairs(before) do conventions.defaults[name] = value end
  if ok then return answer end
  terminal.complain(terminal.message_of(answer))
  return type(answer) == "table" and statuses[answer.kind] or terminal.FAILED
end

return cli
