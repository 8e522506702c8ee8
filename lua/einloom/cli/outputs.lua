-- SPDX-License-Identifier: MIT
-- Files that commands write: known to be writable before any work is done for them, and left as
-- they are where it fails.

local errors = require "einloom.errors"
local terminal = require "einloom.cli.terminal"
local written = require "einloom.written"

local outputs = {}

-- A path without what changes nothing in it.
local function plain(path) return (path:gsub("/%.?/+", "/"):gsub("^%./+", "")) end

--- Fails where a file cannot be written, or is one that the command reads or keeps. What is there
--- stays as it is.
---@param flag string the option that names it
---@param path string
---@param inputs string[]
function outputs.check(flag, path, inputs)
  for _, input in ipairs(inputs) do
    if plain(path) == plain(input) then
      terminal.fail("usage", ("%s: %s is a file that the command needs"):format(flag,
        errors.printable(path)))
    end
  end
  local ok, message = written.check(path)
  if not ok then terminal.refuse("file", ("%s: %s"):format(flag, message)) end
end

--- Writes a file.
---@param flag string the option that names it
---@param path string
---@param text string
function outputs.write(flag, path, text)
  local file, message = written.open(path)
  if not file then terminal.refuse("file", ("%s: %s"):format(flag, message)) end
  local ok, problem = file:write(text)
  if ok then ok, problem = file:close() else file:drop() end
  if not ok then terminal.refuse("file", ("%s: %s: %s"):format(flag, path, problem)) end
end

return outputs
