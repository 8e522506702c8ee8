-- SPDX-License-Identifier: MIT
-- The best of the whole space: every template of every einsum is sketched (some good points of it),
-- then explored with the sketches as bounds; what may be part of a best mapping is kept, and
-- einsums are joined in their order (doc/formulas.md#search).  A ledger may know what units leave
-- over, and takes down what is found of the others.

local core = require "einloom.core"
local engine = require "einloom.search.engine"

local optimal = { defaults = {} }

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

-- Sketches one unit of every shape, then all: there is something to join early.
local function sketch_all(explored, n_shapes, search)
  local total, done, looked = 0, 0, nil
  for shape = 1, n_shapes do total = total + explored:counts(shape).units end
  local function sketch(shape)
    explored:some(shape, 1)
    done = done + 1
    search:note { candidates = explored:candidates() }
    search:pause("sketches", done, total)
  end
  for shape = 1, n_shapes do sketch(shape) end
  search.rescue = function() look(explored, search) end
  for shape = 1, n_shapes do
    local counts = explored:counts(shape)
    for _ = counts.sketched + 1, counts.units do
      looked = look(explored, search, looked)
      sketch(shape)
    end
  end
end

-- Explores one unit and takes down what it left over.
local function explore(explored, unit, number, search)
  local before, start = explored:counts(unit.einsum), core.clock()
  explored:explore(unit)
  if not search.ledger then return end
  local after, counts = explored:counts(unit.einsum), {}
  for _, name in ipairs { "chains", "combined", "points" } do
    counts[name] = after[name] - before[name]
  end
  search.ledger:keep(number, explored:left_over(unit), core.clock() - start, counts)
end

local function explore_all(explored, units, pending, search)
  local total, done, looked = 0, 0, nil
  for _, list in ipairs(pending) do total = total + #list end
  for _, list in ipairs(pending) do
    for _, number in ipairs(list) do
      explore(explored, units[number], number, search)
      done = done + 1
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
  local explored, units = engine.new(space), space:units()
  local pending = add_units(explored, units, search)
  sketch_all(explored, #space.shapes, search)
  explore_all(explored, units, pending, search)
  if search.ledger and not search.ledger.whole then return look(explored, search) end
  join(explored, search)
end

return optimal
