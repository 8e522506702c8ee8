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

-- Instructions of Lua between two looks at what came: well under a millisecond.
local look_every = 2000

-- A timer goes up to that; a longer limit is none.
local most_seconds <const> = 1e9

---@class einloom.Catch Ctrl-C, SIGTERM and a timer, from drive.catch on
---@field began number by core.clock
---@field time? number seconds
local Catch = {}
Catch.__index = Catch

--- Catches Ctrl-C, SIGTERM and the end of `time` seconds till it is released.
---@param time? number
---@return einloom.Catch
function drive.catch(time)
  local signals = interrupts()
  local self = setmetatable({ signals = signals, began = core.clock(), time = time }, Catch)
  self.caught = signals.caught
  signals.catch(core.default, time and time < most_seconds and time or nil)
  return self
end

--- Signals do again what they did before. More than once does nothing.
function Catch:release()
  if self.released then return end
  self.released = true
  self.signals.release()
end
Catch.__close = Catch.release

--- Seconds of the limit that are left.
---@return number?
function Catch:left()
  return self.time and math.max(self.time - (core.clock() - self.began), 0)
end

--- Calls work(...), which is ended wherever it is in Lua or in a long call of the core when
--- something is caught: then the answer is the reason ("interrupt", "time"), else nil.
---@param work function
---@return string? caught
function Catch:during(work, ...)
  local hook, mask, count = debug.gethook()
  local ended_by
  debug.sethook(function()
    local why = self.caught()
    if not why then return end
    ended_by = why
    error({ kind = "stopped", why = why, message = "stopped" }, 0)
  end, "", look_every)
  local ok, problem = pcall(work, ...)
  debug.sethook(hook, mask, count)
  if ok then return nil end
  -- Whatever has become of the error on its way out.
  local by_core = type(problem) == "table" and problem.kind == "stopped"
  local why = ended_by or by_core and self.caught()
  if why then return why end
  return error(problem, 0)
end

-- One step; false at the end, and the reason why it came early.
local function step(search, caught)
  local ok, more = pcall(search.step, search)
  local why = caught()
  if why then
    search:stop(why)
    return false, why
  end
  if not ok then error(more, 0) end
  return more, search:progress().stopped
end

local function show(search, time, width)
  local line = progress.line(search:progress(), search.space.case, time)
  terminal.write_error("\r\27[K" .. line:sub(1, width - 1))
end

--- Runs the search; why it was stopped before its end ("interrupt" or "time"), or nil. What is
--- caught is released.
---@param search einloom.Search
---@param options { catch: einloom.Catch, shown: boolean, keep: fun() } whether lines about the
--- search are shown; what keeps its position, before anything is said about it
---@return string? stopped
function drive.run(search, options)
  local catch <close>, last = options.catch, core.clock()
  local width = options.shown and terminal.width()
  search.interrupted = catch.caught
  local ok, more, stopped
  repeat
    ok, more, stopped = pcall(step, search, catch.caught)
    if ok and core.clock() - last >= pace then
      options.keep()
      if options.shown then show(search, catch.time, width) end
      last = core.clock()
    end
  until not ok or not more
  catch:release()
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
  local catch <close>, last = drive.catch(options.time), core.clock()
  local width = options.shown and terminal.width()
  local function watch(state)
    if options.shown and core.clock() - last >= pace then
      terminal.write_error("\r\27[K" .. state.text:sub(1, width - 1))
      last = core.clock()
    end
    return catch.caught()
  end
  local result = table.pack(pcall(work, watch))
  local caught = catch.caught()
  catch:release()
  if options.shown then terminal.write_error "\r\27[K" end
  if not result[1] then error(result[2], 0) end
  return caught, table.unpack(result, 2, result.n)
end

return drive
