-- SPDX-License-Identifier: MIT
-- Draws mappings, each by itself.

local random = { defaults = {}, evaluations = 1000 }

function random.search(space, search)
  while true do
    search:checkpoint {}
    local candidate = space:random(search.rng)
    if not candidate then return end
    search:try(candidate)
  end
end

return random
