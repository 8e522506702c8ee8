-- SPDX-License-Identifier: MIT
-- Whether the choices of a claimed mapping are in the space: a claim that is not is no answer of a
-- search, however low its costs are.

local chains = require "einloom.certify.chains"
local shares = require "einloom.certify.shares"

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

local function position(rows, row)
  for i, other in ipairs(rows) do
    local same = true
    for j, tile in ipairs(row) do same = same and other[j] == tile end
    if same then return i end
  end
  return nil
end

local function shares_of(way, lists, positions)
  local asked = shares.of(way, way.variables, lists)
  if not asked then return true end
  local use = {}
  for d = 1, #asked.dims do use[d] = 1 end
  for v, list in pairs(lists) do
    for d, x in ipairs(shares.uses(asked.dims, list)[positions[v]]) do use[d] = use[d] * x end
  end
  return shares.possible(asked, use, use)
end

local function outside(s, i, choice)
  local step, template = s.steps[i], s:list(i)[choice.template]
  if not template then
    return ("%s has no template %s"):format(step.einsum, tostring(choice.template))
  end
  local way, loops = template.way, chains.loops(template)
  local rows, message = rows_of(loops, choice.tiles)
  if not rows then return message end
  local lists, positions, n_fused = chains.lists(way, loops, s.options), {}, 0
  for _, v in ipairs(way.variables) do
    positions[v] = position(lists[v].rows, rows[v])
    if not positions[v] then return ("the tiles of %s are none of the space"):format(v) end
    n_fused = n_fused + select(2, chains.use(loops[v], rows[v], way.sizes[v]))
  end
  if n_fused > s.options.max_fused_loops then
    return ("%s has more fused loops than the limit"):format(step.einsum)
  end
  if not shares_of(way, lists, positions) then
    return ("%s uses dimensions less than they ask for"):format(step.einsum)
  end
  return nil
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
  return nil
end

return members
