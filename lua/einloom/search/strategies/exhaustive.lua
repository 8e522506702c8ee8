-- SPDX-License-Identifier: MIT
-- Tries every mapping of the space: all tiles of all templates, every einsum with every other.
-- For small spaces: what the other strategies are held against.

local join = require "einloom.search.join"

local exhaustive = { defaults = {} }

-- Choices of tiles that are tried together, of one template of the first einsum.
local at_once = 1000

-- Adds the choices of tiles of a template that keep to the rules about its einsum alone.
local function add_choices(choices, template)
  for tiles in template:points() do
    choices[#choices + 1] = { template = template.number, tiles = tiles }
  end
end

-- Calls try(choices) with those of a template, some at once; `from` of them are left out.
local function in_parts(template, from, try)
  local choices, n = {}, 0
  for tiles in template:points() do
    n = n + 1
    if n > from then choices[#choices + 1] = { template = template.number, tiles = tiles } end
    if #choices == at_once then
      try(choices, n - at_once)
      choices = {}
    end
  end
  if #choices > 0 then try(choices, n - #choices) end
end

-- The position is a template of the first einsum, the choices of its tiles that are done, and the
-- candidates of the next ones that are.
function exhaustive.search(space, search)
  local state, others = search.state or { template = 1, choices = 0, done = 0 }, {}
  for i = 2, #space.steps do
    others[i - 1] = {}
    for _, template in ipairs(space:templates(i)) do
      add_choices(others[i - 1], template)
      search:pause("tiles", i, #space.steps)
    end
  end
  local joined, templates = join.behind(space, others), space:templates(1)
  for number = state.template, #templates do
    local same = number == state.template
    in_parts(templates[number], same and state.choices or 0, function(choices, before)
      local done = same and before == state.choices and state.done or 0
      local n = 0
      for candidate in joined(choices) do
        n = n + 1
        if n > done then
          search:checkpoint { template = number, choices = before, done = n - 1 }
          search:try(candidate)
        end
      end
      search.phase, search.done, search.total = "templates", number, #templates
    end)
  end
end

return exhaustive
