-- SPDX-License-Identifier: MIT
-- Runs a search to its end, to a limit of time or to Ctrl-C, with a line about it on a terminal.

local core = require "einloom.core"
local progress = require "einloom.show.progress"
local terminal = require "einloom.cli.terminal"

local drive = {}

-- Seconds between two lines of progress.
local pace = 0.2

-- The program's own module: Ctrl-C and a timer stop the engine. Where another program runs this,
-- both act between steps alone.
local function interrupts()
  local ok, module = pcall(require, "einloom.interrupts")
  if ok then return module end
  return { catch = function() end, caught = function() return nil end, release = function() end }
end

local function is_stop(problem) return type(problem) == "table" and problem.kind == "stopped" end

-- One step; false at the end, or the reason the search was stopped for.
local function step(search, signals)
  local ok, more = pcall(search.step, search)
  local caught = signals.caught()
  if not ok and not (is_stop(more) and caught) then error(more, 0) end
  if caught then return false, caught end
  return more, search:progress().stopped
end

--- Runs the search; why it was stopped ("interrupt", "time", ...), or nil when all is done.
---@param search einloom.Search
---@param options { minimise: string, time: number?, shown: boolean }
---@return string? stopped
function drive.run(search, options)
  local signals, last = interrupts(), core.clock()
  local function show()
    terminal.write_error("\r\27[K" .. progress.line(search:progress(), options.minimise,
      options.time))
  end
  signals.catch(options.time)
  local ok, more, stopped
  repeat
    ok, more, stopped = pcall(step, search, signals)
    if options.shown and core.clock() - last >= pace then
      show()
      last = core.clock()
    end
  until not ok or not more
  signals.release()
  if options.shown then terminal.write_error "\r\27[K" end
  if not ok then error(more, 0) end
  return stopped
end

return drive
