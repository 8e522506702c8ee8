-- SPDX-License-Identifier: MIT
-- The best of the whole space: templates of every einsum are explored with bounds, what may be part
-- of a best mapping is kept, and einsums are joined in their order (doc/formulas.md#search).

local engine = require "einloom.search.engine"

local optimal = { defaults = {} }

function optimal.search(space, search)
  local explored = engine.new(space)
  local units = space:units()
  for i, unit in ipairs(units) do
    explored:add(unit)
    search:pause("templates", i, #units)
  end
  for shape = 1, #space.shapes do
    explored:explore(shape)
    search:pause("tiles", shape, #space.shapes)
  end
  explored:join()
  search:report(explored:points())
end

return optimal
