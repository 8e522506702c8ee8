-- SPDX-License-Identifier: MIT
-- Whether the choices of a claimed mapping are in the space: a claim that is not is no answer of a
-- search, however low its costs are.

local bounds = require "einloom.certify.bounds"
local chains = require "einloom.certify.chains"
local joint = require "einloom.search.joint"
local nest = require "einloom.search.nest"
local rules = require "einloom.search.rules"

local members = {}

-- The tiles of each variable but the last, which is 1; nil and what is wrong.
local function rows_of(loops, tiles)
  local rows = {}
  for v, own in pairs(loops) do
    local row = {}
    for j, loop in ipairs(own) do row[j] = tiles[loop.number] end
    if #row < #own or table.remove(row) ~= 1 then
      return nil, ("the last loop of %s has not tile 1"):format(v)
    end
    rows[v] = row
  end
  return rows
end

-- The node of a variable's tiles below one where they are open; nil where it has not such tiles.
local function node_of(node, row)
  for _, tile in ipairs(row) do
    local below
    for _, child in ipairs(node.children) do
      if child.tile == tile then below = child end
    end
    if not below then return nil end
    node = below
  end
  return node
end

local function outside(s, i, choice)
  local step, template = s.steps[i], s:list(i)[choice.template]
  if not template then
    return ("%s has no template %s"):format(step.einsum, tostring(choice.template))
  end
  local way, loops = template.way, chains.loops(template)
  local rows, message = rows_of(loops, choice.tiles)
  if not rows then return message end
  local b, n_fused = bounds.of(s.case, template), 0
  local nodes = b:root()
  for k, v in ipairs(b.variables) do
    nodes[k] = node_of(nodes[k], rows[v])
    if not nodes[k] then return ("the tiles of %s are none of the space"):format(v) end
    n_fused = n_fused + select(2, chains.use(loops[v], rows[v], way.sizes[v]))
  end
  if n_fused > s.options.max_fused_loops then
    return ("%s has more fused loops than the limit"):format(step.einsum)
  end
  if not b:loops_fit(nodes) then
    return ("%s exceeds bounds of loops (loop_bounds)"):format(step.einsum)
  end
  if not b:shares_fit(nodes) then
    return ("%s uses dimensions less than they ask for"):format(step.einsum)
  end
  return nil
end

-- The rule by which choices do not fit each other, or nil.
local function unfit(s, choices)
  local parts = {}
  for i, choice in ipairs(choices) do
    local step, own = s.steps[i], nest.of(s, s.shape_of[i], choice.template)
    local trips, rule = rules.trips_of(step, own, choice.tiles)
    if not trips then return rule end
    local order = joint.order(step, own, trips, choice.fused)
    if not order then return "fused:" .. step.einsum end
    parts[i] = { nest = own, tiles = choice.tiles, trips = trips, order = order }
  end
  local fit, rule = joint.fit(s.steps, parts)
  return not fit and rule or nil
end

--- What keeps choices, one for each einsum, out of a space; nil if they are in it.
---@param s einloom.Space
---@param choices einloom.Choice[]
---@return string?
function members.outside(s, choices)
  if type(choices) ~= "table" or #choices ~= #s.steps then
    return "a choice for each einsum was expected"
  end
  for i, choice in ipairs(choices) do
    if type(choice) ~= "table" or type(choice.tiles) ~= "table" then
      return "a choice is a template and its tiles"
    end
    local problem = outside(s, i, choice)
    if problem then return problem end
  end
  local rule = unfit(s, choices)
  return rule and ("the choices are not in the space (%s)"):format(rule)
end

return members
