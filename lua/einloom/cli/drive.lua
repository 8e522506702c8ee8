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

-- One step; false at the end, and the reason why it came early.
local function step(search, signals)
  local more = search:step()
  local caught = signals.caught()
  if caught then
    search:stop(caught)
    return false, caught
  end
  return more, search:progress().stopped
end

local function show(search, time, width)
  local line = progress.line(search:progress(), search.space.case, time)
  terminal.write_error("\r\27[K" .. line:sub(1, width - 1))
end

--- Runs the search; why it was stopped before its end ("interrupt" or "time"), or nil.
---@param search einloom.Search
---@param options { time: number?, shown: boolean, keep: fun() } with seconds; whether lines about
--- the search are shown; what keeps its position, before anything is said about it
---@return string? stopped
function drive.run(search, options)
  local signals, last = interrupts(), core.clock()
  local width = options.shown and terminal.width()
  signals.catch(core.default, options.time)
  search.interrupted = signals.caught
  local ok, more, stopped
  repeat
    ok, more, stopped = pcall(step, search, signals)
    if ok and core.clock() - last >= pace then
      options.keep()
      if options.shown then show(search, options.time, width) end
      last = core.clock()
    end
  until not ok or not more
  signals.release()
  if options.shown then terminal.write_error "\r\27[K" end
  if not ok then error(more, 0) end
  return stopped ~= "evaluations" and stopped or nil
end

--- Runs work(watch), where watch(state) shows the state's text and gives the reason why the work
--- has to end, or nil.
---@param work fun(watch: fun(state: { text: string }): string?): ...: any
---@param options { time: number?, shown: boolean }
---@return string? caught "interrupt" or "time", where that came meanwhile
---@return any ... what the work returned
function drive.watch(work, options)
  local signals, last = interrupts(), core.clock()
  local width = options.shown and terminal.width()
  local function watch(state)
    if options.shown and core.clock() - last >= pace then
      terminal.write_error("\r\27[K" .. state.text:sub(1, width - 1))
      last = core.clock()
    end
    return signals.caught()
  end
  signals.catch(core.default, options.time)
  local result = table.pack(pcall(work, watch))
  local caught = signals.caught()
  signals.release()
  if options.shown then terminal.write_error "\r\27[K" end
  if not result[1] then error(result[2], 0) end
  return caught, table.unpack(result, 2, result.n)
end

return drive
