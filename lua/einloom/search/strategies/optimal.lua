-- SPDX-License-Identifier: MIT
-- The best of the whole space: every template of every einsum is sketched (some good points of it),
-- then explored with the sketches as bounds; what may be part of a best mapping is kept, and
-- einsums are joined in their order (doc/formulas.md#search).

local engine = require "einloom.search.engine"
local stages = require "einloom.search.stages"

local optimal = { defaults = { threads = 1 }, ranges = { threads = { 1, 64 } } }

function optimal.search(space, search)
  for i in ipairs(space.steps) do
    space:list(i)
    search:pause("einsums", i, #space.steps)
  end
  local threads = search.options.threads
  local work = {
    engine = engine.new(space, threads), units = space:units(), search = search,
    at_once = threads > 1 and 8 * threads or 1, finished = {}, pending = {},
  }
  stages.add_units(work)
  search.remember = function() return stages.state(work) end
  stages.begin(work, #space.shapes)
  for shape in ipairs(space.shapes) do -- what lies between the two takes memory
    stages.sketch(work, shape)
    stages.explore(work, shape)
  end
  if search.ledger and not search.ledger.whole then return stages.look(work) end
  stages.join(work)
end

return optimal
