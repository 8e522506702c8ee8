-- SPDX-License-Identifier: MIT
-- Tries every mapping of the space: all tiles of all templates, every einsum with every other.
-- For small spaces: what the other strategies are held against.

local exhaustive = { defaults = {} }

-- All choices of tiles for one einsum that keep to the rules about it alone.
local function choices_of(space, i, search)
  local choices = {}
  for _, template in ipairs(space:templates(i)) do
    for tiles in template:points() do
      choices[#choices + 1] = { template = template.number, tiles = tiles }
    end
    search:pause("tiles", i, #space.steps)
  end
  return choices
end

function exhaustive.search(space, search)
  local done, lists, n = search.state and search.state.done or 0, {}, 0
  for i in ipairs(space.steps) do lists[i] = choices_of(space, i, search) end
  for candidate in space:join(lists) do
    n = n + 1
    if n > done then
      search:checkpoint { done = n - 1 }
      search:try(candidate)
    end
  end
end

return exhaustive
