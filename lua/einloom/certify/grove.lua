-- SPDX-License-Identifier: MIT
-- The trees of all templates of several einsums, grown together: leaves that can be part of a
-- better mapping get one choice more, until none is left but choices of all tiles.

local bounds = require "einloom.certify.bounds"
local chains = require "einloom.certify.chains"
local places = require "einloom.certify.places"
local templates = require "einloom.search.templates"
local tree = require "einloom.certify.tree"

local grove = {}

---@class einloom.GroveTree
---@field shape integer
---@field number integer of the template
---@field text string
---@field bounds einloom.Bounds
---@field places einloom.CertifyPlaces
---@field root table

local function sizes_of(template)
  local sizes = {}
  for i, v in ipairs(template.way.variables) do sizes[i] = template.way.sizes[v] end
  return sizes
end

-- A state of a tree with its reason.
local function entry(one, nodes)
  local e = tree.reason(one.bounds, nodes, {})
  e.tree, e.nodes, e.shape = one, nodes, one.shape
  e.keys = e.energy and places.keys(one.places, nodes, one.sizes)
  return e
end

--- The trees of a space, one leaf each.
---@param s einloom.Space
---@param state { text: string? } gets what is done at the time
---@return einloom.GroveTree[]
function grove.new(s, state)
  local list = {}
  for shape, found in ipairs(s.shapes) do
    for number, template in ipairs(s:list(found[1])) do
      local one = {
        shape = shape, number = number, text = templates.text(template),
        bounds = bounds.of(s.case, template), places = places.of(template),
        sizes = sizes_of(template),
      }
      one.root = entry(one, one.bounds:root())
      list[#list + 1] = one
      state.text = ("proving: %d templates"):format(#list)
    end
  end
  return list
end

-- The variables on which the places of a state still depend.
local function undecided(e)
  local open = {}
  for _, loop in ipairs(e.tree.places.loops) do
    if #(places.chosen(e.nodes[loop.variable]) or {}) < loop.j then open[loop.variable] = true end
  end
  return open
end

-- The variable to choose next: one that places depend on, or else one with few choices.
local function next_variable(e)
  local open = not e.keys and undecided(e)
  local best, least
  for i, node in ipairs(e.nodes) do
    if node.children then
      local rank = #node.children + (open and not open[i] and 1e9 or 0)
      if not best or rank < least then best, least = i, rank end
    end
  end
  return best
end

-- Gives a leaf children; false if all its tiles are chosen.
local function branch(e)
  local i = next_variable(e)
  if not i then return false end
  e.variable, e.children = i, {}
  for k, child in ipairs(e.nodes[i].children) do
    local nodes = table.move(e.nodes, 1, #e.nodes, 1, {})
    nodes[i] = child
    e.children[k] = entry(e.tree, nodes)
  end
  return true
end

local function add_leaves(e, list)
  if e.energy then list[#list + 1] = e end
end

--- Grows trees until every leaf is closed or has all its tiles chosen; returns what stays open.
---@param close einloom.Closing
---@param trees einloom.GroveTree[]
---@param state { text: string? } gets what is done at the time
---@return einloom.OpenLeaf[]
function grove.grow(close, trees, state)
  local leaves = {}
  for _, one in ipairs(trees) do add_leaves(one.root, leaves) end
  while true do
    state.text = ("proving: %d templates, %d leaves left"):format(#trees, #leaves)
    local open, grown, rest = close:run(leaves), false, {}
    for _, e in ipairs(open) do
      if branch(e) then grown = true end
    end
    if not grown then return open end
    for _, e in ipairs(leaves) do
      if e.children then
        for _, child in ipairs(e.children) do add_leaves(child, rest) end
      else
        rest[#rest + 1] = e
      end
    end
    leaves = rest
  end
end

-- The last of the children from k on that exceed limits together, and the state of all of them.
local function exceeding(e, k)
  local last, all = k, e.children[k]
  while last < #e.children and all.exceeds do
    local nodes = table.move(e.nodes, 1, #e.nodes, 1, {})
    nodes[e.variable] = chains.span(e.nodes[e.variable].children, k, last + 1)
    local wider = entry(e.tree, nodes)
    if not wider.exceeds then break end
    last, all = last + 1, wider
  end
  return last, all
end

--- Calls visit(path, leaf) with every leaf of a tree in its order.
---@param one einloom.GroveTree
---@param visit fun(path: table[], leaf: table)
function grove.walk(one, visit)
  local path = {}
  local function go(e)
    if not e.children then return visit(path, e) end
    local v, options, k = one.bounds.variables[e.variable], e.nodes[e.variable].children, 1
    while k <= #e.children do
      local last, all = exceeding(e, k)
      path[#path + 1] = { v, options[k].tile, last > k and options[last].tile or nil }
      go(all)
      path[#path] = nil
      k = last + 1
    end
  end
  go(one.root)
end

return grove
