-- SPDX-License-Identifier: MIT
-- The best of the whole space: every template of every einsum is sketched (some good points of it),
-- then explored with the sketches as bounds; what may be part of a best mapping is kept, and
-- einsums are joined in their order (doc/formulas.md#search).  A ledger may know what units leave
-- over, and takes down what is found of the others.

local core = require "einloom.core"
local engine = require "einloom.search.engine"

local optimal = { defaults = { threads = 1 } }

-- Seconds between two looks at the best so far; pairs of points between two steps of the join.
local pace, join_work = 1, 100000

-- Adds all units; those that the ledger knows or has not to explore are left to others.
local function add_units(explored, units, search)
  local ledger, pending = search.ledger, {}
  for i, unit in ipairs(units) do
    explored:add(unit)
    pending[unit.einsum] = pending[unit.einsum] or {}
    local known = ledger and ledger:known(i)
    if known or ledger and not ledger:mine(i) then
      explored:leave(unit)
      explored:insert(unit, known or {})
    else
      table.insert(pending[unit.einsum], i)
    end
    search:pause("templates", i, #units)
  end
  return pending
end

-- Says the best of what is known so far, if the last time is long ago.
local function look(explored, search, looked)
  if looked and core.clock() - looked < pace then return looked end
  explored:join_quickly()
  search:report(explored:points())
  search:note { bound = explored:bound() }
  return core.clock()
end

-- Sketches one unit of every shape, then all, some at once: there is something to join early.
local function sketch_all(explored, n_shapes, at_once, search)
  local total, done, looked = 0, 0, nil
  for shape = 1, n_shapes do total = total + explored:counts(shape).units end
  local function sketch(shape, n)
    explored:some(shape, n)
    done = done + n
    search:note { candidates = explored:candidates() }
    search:pause("sketches", done, total)
  end
  for shape = 1, n_shapes do sketch(shape, 1) end
  search.rescue = function() look(explored, search) end
  for shape = 1, n_shapes do
    local counts = explored:counts(shape)
    for first = counts.sketched + 1, counts.units, at_once do
      looked = look(explored, search, looked)
      sketch(shape, math.tointeger(math.min(at_once, counts.units - first + 1)))
    end
  end
end

-- Explores units of one shape and takes down what they left over.
local function explore(explored, units, numbers, search)
  local list, shape = {}, units[numbers[1]].einsum
  for i, number in ipairs(numbers) do list[i] = units[number] end
  local before, start = explored:counts(shape), core.clock()
  explored:explore(list)
  if not search.ledger then return end
  local after, counts = explored:counts(shape), {}
  local seconds = (core.clock() - start) / #numbers
  for _, name in ipairs { "chains", "combined", "points" } do
    counts[name] = (after[name] - before[name]) / #numbers
  end
  for i, number in ipairs(numbers) do
    search.ledger:keep(number, explored:left_over(list[i]), seconds, counts)
  end
end

local function explore_all(explored, units, pending, at_once, search)
  local total, done, looked = 0, 0, nil
  for _, list in ipairs(pending) do total = total + #list end
  for _, list in ipairs(pending) do
    for first = 1, #list, at_once do
      local numbers = table.move(list, first, math.min(first + at_once - 1, #list), 1, {})
      explore(explored, units, numbers, search)
      done = done + #numbers
      looked = look(explored, search, looked)
      search:note { candidates = explored:candidates() }
      search:pause("units", done, total)
    end
  end
end

local function join(explored, search)
  explored:begin_join()
  while explored:join_some(join_work) do search:pause "join" end
  search:report(explored:points())
  search:note { bound = explored:bound() }
end

function optimal.search(space, search)
  for i in ipairs(space.steps) do
    space:list(i)
    search:pause("einsums", i, #space.steps)
  end
  local threads, units = search.options.threads, space:units()
  local explored, at_once = engine.new(space, threads), threads > 1 and 8 * threads or 1
  local pending = add_units(explored, units, search)
  sketch_all(explored, #space.shapes, at_once, search)
  explore_all(explored, units, pending, at_once, search)
  if search.ledger and not search.ledger.whole then return look(explored, search) end
  join(explored, search)
end

return optimal
