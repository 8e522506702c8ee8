-- SPDX-License-Identifier: MIT
-- A search under way: a strategy in a coroutine that goes one step at a time, within limits, and
-- can be saved between any two steps.
-- Invariant: what a strategy does depends on the space, its options, the seed and its last
-- checkpoint alone, so that a search that is resumed gives the answer of one that goes through.

local core = require "einloom.core"
local errors = require "einloom.errors"
local exact = require "einloom.search.exact"
local found = require "einloom.search.found"
local goals = require "einloom.search.goals"
local kept = require "einloom.search.kept"
local rng = require "einloom.search.rng"

local run = { format = 1 }

run.strategies = {
  "annealing", "beam", "exhaustive", "genetic", "hill_climbing", "optimal", "random",
}

---@class einloom.Search
---@field space einloom.Space
---@field options table of the strategy, with its defaults
---@field rng einloom.Rng for the strategy; saved with its checkpoints
---@field state? table what the strategy handed to its last checkpoint, when the search was resumed
---@field ledger? einloom.Ledger what is known of units of work, and takes down what is found
---@field rescue? fun() of the strategy: reports the best so far of a search that is stopped
---@field flush? fun() of the strategy: hands over to the ledger what it has not been told yet
---@field remember? fun(): table the state to save, of a strategy that always knows it
---@field interrupted? fun(): string? why a step is to end at once, for strategies of one's own
---@field stopped? string what ended the search early: "time", "evaluations" or "stopped"
---@field ended_by? string the same, from where its routine was ended
local Search = {}
Search.__index = Search

local limits = {
  strategy = true, seed = true, time = true, evaluations = true, ledger = true,
}

-- ---- starting ----

local function named(name)
  for _, known in ipairs(run.strategies) do
    if known == name then return require("einloom.search.strategies." .. name) end
  end
  errors.raise("bad_search", ("no strategy '%s'%s"):format(tostring(name),
    errors.hint(tostring(name), run.strategies)))
end

-- Raises unless a field of a strategy is absent or of a type.
local function check_field(strategy, name, kind)
  local x = strategy[name]
  if x == nil or type(x) == kind then return end
  errors.raise("bad_search", ("`%s` of a strategy is a %s, not %s"):format(name, kind,
    type(x) == "number" and tostring(x) or type(x)))
end

local function strategy_of(given)
  if type(given) == "function" then return { search = given } end
  if type(given) == "string" then return named(given) end
  if type(given) == "table" and type(given.search) == "function" then
    check_field(given, "defaults", "table")
    check_field(given, "ranges", "table")
    check_field(given, "evaluations", "number")
    return given
  end
  errors.raise("bad_search",
    ("a strategy is a name, a function or a table with a function `search`, not %s"):format(
      type(given)))
end

local function check_limit(options, name, is_kind, kind)
  local x = options[name]
  if x ~= nil and not (is_kind(x) and x >= 0) then
    errors.raise("bad_search", ("%s is %s of at least 0, not %s"):format(name, kind, tostring(x)))
  end
end

local function is_number(x) return math.type(x) ~= nil and x == x end
local function is_integer(x) return math.type(x) == "integer" end

-- Raises unless an option of a strategy is in its range, an integer where its default is one.
local function check_option(strategy, name, x)
  local default, range = strategy.defaults[name], (strategy.ranges or {})[name] or {}
  local least, most = range[1] or -math.huge, range[2] or math.huge
  local is_whole = math.type(default) == "integer"
  if type(default) ~= "number" or x == default then return end
  local fits = is_number(x) and x >= least and x <= most and math.abs(x) < math.huge
  if fits and (not is_whole or is_integer(x)) then return end
  local range_text = most < math.huge and (" from %s to %s"):format(least, most)
    or least > -math.huge and (" of at least %s"):format(least) or ""
  errors.raise("bad_search", ("%s is %s%s, not %s"):format(name,
    is_whole and "an integer" or "a finite number", range_text, tostring(x)))
end

-- The options of a strategy: what was given, then its defaults.
local function own_options(strategy, options)
  local own, known = {}, {}
  for name, x in pairs(strategy.defaults or {}) do own[name], known[#known + 1] = x, name end
  for name, x in pairs(options) do
    if not limits[name] then
      if strategy.defaults and strategy.defaults[name] == nil then
        for limit in pairs(limits) do known[#known + 1] = limit end
        table.sort(known)
        errors.raise("bad_search", ("no option '%s'%s"):format(tostring(name),
          errors.hint(tostring(name), known)))
      end
      x = math.type(x) and math.tointeger(x) or x
      if strategy.defaults then check_option(strategy, name, x) end
      own[name] = x
    end
  end
  return own
end

-- Strategies that have no end of their own come with a number of evaluations.
local function limits_of(strategy, options)
  local own = not options.time and strategy.evaluations or math.huge
  return { time = options.time or math.huge, evaluations = options.evaluations or own }
end

-- Instructions of a strategy between two looks at the time, and after one that ended it: what it
-- does to end has the time for that.
local look_every, then_every = 5000, 1000000

-- Strategies may go on for long between two steps, those of others for ever.
local function watch(self)
  local function look()
    local over = self.seconds + core.clock() - self.step_began >= self.limits.time
    local why = over and "time" or self.interrupted and self.interrupted()
    if not why then return end
    debug.sethook(self.routine, look, "", then_every)
    self.ended_by = why
    error({ kind = "stopped", why = why, message = "stopped" }, 0)
  end
  debug.sethook(self.routine, look, "", look_every)
end

--- Starts a search; nothing is done before its first step.
---@param space einloom.Space
---@param options { strategy: string|function|table|nil, seed: integer?, time: number?,
--- evaluations: integer?, [string]: any } time in seconds from the first step on
---@param checkpoint? table of a search that was saved
---@return einloom.Search
function run.new(space, options, checkpoint)
  if type(options) ~= "table" then
    errors.raise("bad_search", ("options are a table, not %s"):format(type(options)))
  end
  local given = options.strategy or "optimal"
  local strategy = strategy_of(given)
  check_limit(options, "time", is_number, "a number of seconds")
  check_limit(options, "evaluations", is_integer, "an integer")
  if options.seed ~= nil and not is_integer(options.seed) then
    errors.raise("bad_search", ("seed is an integer, not %s"):format(tostring(options.seed)))
  end
  local self = setmetatable({
    space = space, options = own_options(strategy, options), name = given, strategy = strategy,
    ledger = options.ledger, noted = {},
    limits = limits_of(strategy, options),
    seed = options.seed or 1, rng = rng.new(options.seed or 1), evaluated = 0, fallen = {},
    points = {}, phase = "start", done = 0, seconds = 0,
  }, Search)
  self.at_most = function(a, b) return exact.at_most(space, a, b) end
  if checkpoint then self:restore(checkpoint) end
  self.routine = coroutine.create(function() strategy.search(space, self) end)
  watch(self)
  return self
end

-- ---- for whoever runs it ----

local function finish(self, why)
  self.stopped = why
  self.finished = true
  coroutine.close(self.routine)
end

--- Ends the search before its end.
---@param why string
function Search:stop(why)
  if not self.finished or self.stopped then finish(self, why) end
end

--- One unit of work; false when there is none left or a limit is reached.
---@return boolean
function Search:step()
  if self.finished then return false end
  if self.evaluated >= self.limits.evaluations then finish(self, "evaluations") return false end
  if self.seconds >= self.limits.time then finish(self, "time") return false end
  local start = core.clock()
  self.step_began = start
  local ok, problem = coroutine.resume(self.routine)
  self.seconds = self.seconds + (core.clock() - start)
  -- Whatever has become of the error that ended it on its way out.
  local why = self.ended_by or type(problem) == "table" and problem.kind == "stopped"
    and (problem.why or "stopped")
  if not ok and why then
    finish(self, why)
    return false
  end
  if not ok then
    if type(problem) == "string" then
      problem = errors.new("strategy", problem, { traceback = errors.traceback_of(self.routine) })
    elseif not errors.is(problem) and not (type(problem) == "table" and problem.kind) then
      problem = errors.new("strategy", ("a strategy raised an error that is no text: a %s"):format(
        type(problem)), { traceback = errors.traceback_of(self.routine) })
    end
    finish(self, "error")
    error(problem, 0)
  end
  if coroutine.status(self.routine) == "dead" then self.finished = true end
  return not self.finished
end

--- All that is left, up to the limits.
---@return einloom.Found
function Search:run()
  while self:step() do end
  return self:found()
end

--- How far the search is: `phase` with `done` of `total` units, mappings `evaluated`, `candidates`
--- looked at one way or another, those that broke a rule by its name (`fallen`; at its end the
--- strategy optimal has counted all choices of tiles in `falls`), the figures of the `best` so
--- far, a `bound` that no mapping is below, `seconds` in all and in this phase (`phase_seconds`),
--- `finished`, and what `stopped` it.
---@return table
function Search:progress()
  local fallen = {}
  for rule, n in pairs(self.fallen) do fallen[rule] = n end
  return {
    phase = self.phase, done = self.done, total = self.total, evaluated = self.evaluated,
    fallen = fallen, best = goals.best(self.space.case, self.points)[1], seconds = self.seconds,
    finished = self.finished or false, stopped = self.stopped,
    candidates = math.max(self.noted.candidates or 0, self.evaluated), bound = self.noted.bound,
    falls = self.noted.falls, phase_seconds = self.seconds - (self.phase_began or 0),
  }
end

--- What was found so far.
---@return einloom.Found
function Search:found()
  if self.stopped and self.rescue then
    self.rescue()
    self.rescue = nil
  end
  return found.new(self.space, exact.best(self.space, self.points))
end

-- ---- for strategies ----

local function copy(x)
  if type(x) ~= "table" then return x end
  local out = {}
  for key, value in pairs(x) do out[key] = copy(value) end
  return out
end

--- Ends a step: `done` of `total` units of a phase are over.
---@param phase string
---@param done? integer
---@param total? integer
function Search:pause(phase, done, total)
  if phase ~= self.phase then self.phase_began = self.seconds end
  self.phase, self.done, self.total = phase, done or 0, total
  coroutine.yield()
end

--- Notes facts about the search: `candidates` looked at, figures that `bound` all mappings.
---@param facts table
function Search:note(facts)
  for name, x in pairs(facts) do self.noted[name] = x end
end

--- Says what was found instead of all before.
---@param points table[] figures with their `candidate`
function Search:report(points)
  self.points = points
end

-- Keeps a mapping unless one there is as good; those that it beats go.
local function keep(self, figures, candidate)
  local own = copy(figures)
  own.candidate = copy(candidate)
  self.points = kept.with(self.space.case, self.points, own, self.at_most)
end

--- Evaluates a candidate, keeps it if it is among the best so far, and ends a step.
---@param candidate einloom.Candidate
---@return table? figures as of space:evaluate
---@return string? rule that the candidate breaks
function Search:try(candidate)
  local figures, rule = self.space:evaluate(candidate)
  self.evaluated = self.evaluated + 1
  if figures then
    keep(self, figures, candidate)
  else
    self.fallen[rule] = (self.fallen[rule] or 0) + 1
  end
  coroutine.yield()
  return figures, rule
end

--- One number for figures, smaller better: what is minimised, of several figures their product.
---@param figures table
---@return number
function Search:score(figures)
  return goals.score(self.space.case, figures)
end

local function snapshot(self, state)
  return {
    state = copy(state), rng = self.rng.state, evaluated = self.evaluated,
    fallen = copy(self.fallen), points = self.points, phase = self.phase, done = self.done,
    total = self.total,
  }
end

-- Raises where a state holds what cannot be written down.
local function check_state(x, place)
  local kind = type(x)
  if kind == "table" then
    for key, value in pairs(x) do check_state(value, ("%s[%s]"):format(place, tostring(key))) end
  elseif kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
    errors.raise("bad_search", ("%s of a checkpoint is a %s: only numbers, strings, booleans and "
      .. "tables can be kept"):format(place, kind))
  end
end

--- Remembers where the strategy stands: a search that is resumed starts with `state` in its field
--- of that name, and with what was found and counted until now. Without a checkpoint it starts
--- over.
---@param state table of numbers, strings, booleans and tables of them
function Search:checkpoint(state)
  check_state(state, "state")
  self.mark = snapshot(self, state)
end

-- ---- saving ----

--- The search as a table of numbers, strings and tables of them, for space:resume.
---@return table
function Search:save()
  local over, mark = self.finished and not self.stopped, self.mark
  if over or self.remember then mark = snapshot(self, over and {} or self.remember()) end
  local evaluations, options = self.limits.evaluations, {}
  for name, x in pairs(self.options) do
    if x ~= (self.strategy.defaults or {})[name] then options[name] = copy(x) end
  end
  return {
    format = run.format, space = self.space:fingerprint(), finished = over or false,
    strategy = type(self.name) == "string" and self.name or nil, options = options,
    seed = self.seed, evaluations = evaluations < math.huge and evaluations or nil,
    checkpoint = copy(mark),
  }
end

--- Takes up what a checkpoint remembers.
---@param checkpoint table
function Search:restore(checkpoint)
  self.mark = copy(checkpoint)
  self.state, self.rng.state = copy(checkpoint.state), checkpoint.rng
  self.evaluated, self.fallen = checkpoint.evaluated, copy(checkpoint.fallen)
  self.points = copy(checkpoint.points)
  self.phase, self.done, self.total = checkpoint.phase, checkpoint.done, checkpoint.total
end

--- Goes on with a search that was saved, in this process or another one.
---@param space einloom.Space the same as that of the search
---@param saved table of save
---@param options? table limits of this run, and the strategy where it has no name
---@return einloom.Search
function run.resume(space, saved, options)
  if type(saved) ~= "table" or saved.format ~= run.format then
    errors.raise("bad_search", "what is resumed is no search that this version has saved")
  end
  if saved.space ~= space:fingerprint() then
    errors.raise("bad_search", "the search was saved of another space")
  end
  local all = copy(saved.options)
  all.strategy, all.seed, all.evaluations = saved.strategy, saved.seed, saved.evaluations
  for name, x in pairs(options or {}) do
    if not limits[name] or name == "seed" then
      errors.raise("bad_search",
        ("option '%s' cannot change when a search is resumed"):format(name))
    end
    all[name] = x
  end
  if all.strategy == nil then
    errors.raise("bad_search",
      "the strategy of the search has no name: options.strategy has to be it")
  end
  if saved.strategy ~= nil and all.strategy ~= saved.strategy then
    errors.raise("bad_search", ("the search was of strategy '%s'"):format(saved.strategy))
  end
  local self = run.new(space, all, saved.checkpoint)
  self.finished = saved.finished or nil
  return self
end

return run
