-- SPDX-License-Identifier: MIT
-- einloom verify: the cases of files, computed and compared strictly.

local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local verify = {}

function verify.declare(parser)
  local command = parser:command("verify", "Compute the cases of files and compare strictly.")
  command:argument("files",
    "JSON files: schemas mapping/1, fixed/1, search/1, simd/1, tiles/1, expr/1; - is the standard "
    .. "input."):args "+"
  command:option("--layer", "What is compared: reuse, costs, totals, search or all."):default "all"
    :choices { "reuse", "costs", "totals", "search", "all" }
  input.declare_scripts(command)
end

function verify.run(args)
  local module = require "einloom.verify"
  input.run_first(args.with)
  local summary =
    module.files(args.files, args.layer, terminal.say, terminal.complain)
  if summary.left_out > 0 then
    terminal.say(summary.left_out, " left out by --layer ", args.layer)
  end
  terminal.say(module.verdict(summary))
  return summary.failed == 0 and terminal.OK or terminal.FAILED
end

return verify
