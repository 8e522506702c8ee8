-- SPDX-License-Identifier: MIT
-- What the optimal search does one stage after the other, in steps: adds units, sketches and
-- explores them, joins what they left over.  A ledger may know what units leave over, and takes
-- down what is found of the others.

local core = require "einloom.core"
local goals = require "einloom.search.goals"
local ties = require "einloom.search.ties"

local stages = {}

-- Seconds between two looks at the best so far; pairs of points between two steps of the join;
-- seconds between two times at which sketches are kept.
local pace, join_work, keep_every = 1, 100000, 0.5

---@class einloom.SearchWork
---@field engine einloom.Engine
---@field units einloom.SearchUnit[]
---@field search einloom.Search
---@field at_once integer units explored in one step
---@field finished table<integer, true> numbers of the units of which is known what they leave over
---@field pending integer[][] numbers of the others that are to be explored, by shape
---@field done? integer sketched and explored units
---@field total? integer
---@field sketching integer[][] by shape: numbers of units that are to be sketched, in their order
---@field sketched integer[] numbers of units whose sketches are not kept yet
---@field may_restore boolean[] by number of the unit
---@field kept number when sketches were kept last
---@field bound? table figures that no mapping is below
---@field looked? number when the best so far was said last; nil: not every shape has a sketch

-- Units that were explored before the search was saved, with what they left over.
local function explored_before(search)
  local known = {}
  for _, entry in ipairs(search.state and search.state.units or {}) do
    known[entry.number] = entry.points
  end
  return known
end

--- Where the search stands: what the units explored so far left over.
---@param work einloom.SearchWork
---@return table
function stages.state(work)
  local list = {}
  for number, unit in ipairs(work.units) do
    if work.finished[number] then
      list[#list + 1] = { number = number, points = work.engine:left_over(unit) }
    end
  end
  return { units = list }
end

--- Adds all units; those that are known or not to be explored here are left to others.
---@param work einloom.SearchWork
function stages.add_units(work)
  local search, before = work.search, explored_before(work.search)
  work.sketching, work.sketched, work.kept, work.may_restore = {}, {}, core.clock(), {}
  for shape in ipairs(search.space.shapes) do work.sketching[shape] = {} end
  local ledger = search.ledger
  for i, unit in ipairs(work.units) do
    work.engine:add(unit)
    work.pending[unit.einsum] = work.pending[unit.einsum] or {}
    local known = ledger and ledger:known(i) or before[i]
    if known or ledger and not ledger:mine(i) then
      work.engine:leave(unit)
      if known and ledger then
        ledger:trust(i, work.engine.insert, work.engine, unit, known)
      else
        work.engine:insert(unit, known or {})
      end
      work.finished[i] = known and true
    else
      table.insert(work.pending[unit.einsum], i)
    end
    work.may_restore[i] = work.engine:may_restore(unit)
    local sketch = ledger and work.may_restore[i] and ledger:sketch(i)
    if sketch then
      ledger:trust(i, work.engine.restore, work.engine, unit, sketch)
    else
      table.insert(work.sketching[unit.einsum], i)
    end
    search:pause("templates", i, #work.units)
  end
end

--- Keeps the sketches that were made since they were kept last.
---@param work einloom.SearchWork
function stages.keep_sketches(work)
  local list, points, numbers = {}, {}, work.sketched
  work.sketched, work.kept = {}, core.clock()
  for _, number in ipairs(numbers) do
    local unit = work.units[number]
    points[unit.einsum] = points[unit.einsum] or work.engine:sketches(unit.einsum)
    list[#list + 1] = {
      number = number, points = points[unit.einsum][unit.template] or {},
      least = work.engine:sketch_least(unit),
    }
  end
  if #list > 0 then work.search.ledger:keep_sketches(list) end
end

--- Says the best of what is known so far.
---@param work einloom.SearchWork
function stages.look(work)
  work.engine:join_quickly()
  work.search:report(work.engine:points(true))
  work.looked = core.clock()
end

-- Notes what no mapping is below; what has been known before stays known.
local function note_bound(work)
  local bound, before = work.engine:bound(), work.bound or {}
  for _, key in ipairs { "energy", "latency" } do
    if before[key] and before[key] > bound[key] then bound[key] = before[key] end
  end
  work.bound = goals.complete(bound)
  work.search:note { bound = bound }
end

-- Ends a step in which n units were sketched or explored.
local function pause(work, n)
  work.done = work.done + n
  if work.looked and core.clock() - work.looked >= pace then stages.look(work) end
  work.search:note { candidates = work.engine:candidates() }
  note_bound(work)
  work.search:pause("units", work.done, work.total)
end

-- Sketches the next n units of a shape.
local function sketch(work, shape, n)
  local waiting = work.sketching[shape]
  if #waiting == 0 then return end
  work.engine:some(shape, n)
  for i = 1, work.search.ledger and work.search.ledger.store and n or 0 do
    if work.may_restore[waiting[i]] then table.insert(work.sketched, waiting[i]) end
  end
  work.sketching[shape] = table.move(waiting, n + 1, #waiting, 1, {})
  if core.clock() - work.kept >= keep_every then stages.keep_sketches(work) end
  pause(work, n)
end

--- Sketches one unit of every shape, so that there is something to join early.
---@param work einloom.SearchWork
---@param n_shapes integer
function stages.begin(work, n_shapes)
  work.done, work.total = 0, 0
  for _, list in ipairs(work.sketching) do work.total = work.total + #list end
  for _, list in ipairs(work.pending) do work.total = work.total + #list end
  if #work.units > 0 then note_bound(work) end
  for shape = 1, n_shapes do sketch(work, shape, 1) end
  work.search.flush = function() stages.keep_sketches(work) end
  work.search.rescue = function()
    stages.look(work)
    note_bound(work)
  end
  stages.look(work)
end

--- Sketches the units of a shape that are left, some at once.
---@param work einloom.SearchWork
---@param shape integer
function stages.sketch(work, shape)
  while #work.sketching[shape] > 0 do
    sketch(work, shape, math.min(work.at_once, #work.sketching[shape]))
  end
  stages.keep_sketches(work)
end

-- Explores units of one shape and takes down what they left over.
local function explore(work, numbers)
  local engine, ledger = work.engine, work.search.ledger
  local list, shape = {}, work.units[numbers[1]].einsum
  for i, number in ipairs(numbers) do list[i] = work.units[number] end
  local before, start = engine:counts(shape), core.clock()
  engine:explore(list)
  for _, number in ipairs(numbers) do work.finished[number] = true end
  if not ledger then return end
  local after, counts = engine:counts(shape), {}
  local seconds = (core.clock() - start) / #numbers
  for _, name in ipairs { "chains", "combined", "points" } do
    counts[name] = (after[name] - before[name]) / #numbers
  end
  for i, number in ipairs(numbers) do
    ledger:keep(number, engine:left_over(list[i]), seconds, counts)
  end
end

--- Explores the units of a shape that nobody knows.
---@param work einloom.SearchWork
---@param shape integer
function stages.explore(work, shape)
  local list = work.pending[shape] or {}
  for first = 1, #list, work.at_once do
    local last = math.min(first + work.at_once - 1, #list)
    explore(work, table.move(list, first, last, 1, {}))
    pause(work, last - first + 1)
  end
end

--- Joins what units left over; what is found then is the answer, once ties are decided.
---@param work einloom.SearchWork
function stages.join(work)
  local engine, search = work.engine, work.search
  engine:begin_join()
  while engine:join_some(join_work) do search:pause "join" end
  local points = engine:points()
  search:report(points)
  search:note { falls = engine:falls() }
  note_bound(work)
  search.rescue = nil
  search:report(ties.settle(work, points))
end

return stages
