-- SPDX-License-Identifier: MIT
-- Writes certificates: for each template the tree of bounds that shows that nothing in it is better
-- than what was found.  Only the answer of the search is used, not how it came to it.

local bounds = require "einloom.certify.bounds"
local closing = require "einloom.certify.closing"
local core = require "einloom.core"
local errors = require "einloom.errors"
local goal = require "einloom.certify.goal"
local grove = require "einloom.certify.grove"
local head = require "einloom.certify.head"
local joining = require "einloom.certify.joining"
local points = require "einloom.certify.points"
local templates = require "einloom.search.templates"
local tree = require "einloom.certify.tree"

local producer = {}

local array = core.json.array

local function copy_path(path)
  local at = setmetatable({}, array)
  for i, step in ipairs(path) do at[i] = setmetatable({ step[1], step[2], step[3] }, array) end
  return at
end

local function write_template(write, shape, number, text)
  write { einsum = shape, template = number, text = text }
end

local function write_leaf(write, path, reason)
  write {
    at = copy_path(path), exceeds = reason.exceeds, needs = reason.needs, loops = reason.loops,
    shares = reason.shares, fused = reason.fused, energy = reason.energy,
    latency = reason.latency, usage = reason.usage,
  }
end

-- ---- one einsum ----

local function contradict(template, path)
  errors.raise("certificate", ("%s is better than what was found, in the template %s")
    :format(tree.text(path), templates.text(template)))
end

-- Writes the trees of a single einsum, one after the other.
local function single(s, g, write, state)
  local n_leaves = 0
  for number, template in ipairs(s:list(1)) do
    state.text = ("proving: template %d of %d, %d leaves"):format(number, #s:list(1), n_leaves)
    write_template(write, 1, number, templates.text(template))
    local b = bounds.of(s.case, template)
    local function closed(nodes)
      local reason = tree.reason(b, nodes, g.memories)
      return not reason.energy or g:closes(reason)
    end
    tree.grow(b, closed, function(path, nodes)
      local leaf = tree.reason(b, nodes, g.memories)
      if leaf.energy and not g:closes(leaf) then contradict(template, path) end
      write_leaf(write, path, leaf)
      n_leaves = n_leaves + 1
    end)
  end
  return #s:list(1), n_leaves
end

-- ---- several einsums ----

local function several(s, g, write, state)
  -- Bounds of leaves and of those they come from differ by rounding: half of the slack is for that.
  local strict = goal.new(s.case.objective, g.figures, g.slack / 2, s.options)
  local close, trees, n_leaves = closing.new(s, strict), grove.new(s, state), 0
  local open = grove.grow(close, trees, state)
  state.text = ("proving: joining %d leaves"):format(#open)
  for _, leaf in ipairs(open) do points.fill(leaf.tree.bounds, leaf.nodes, leaf) end
  if joining.better(close, open, joining.memories(s)) then
    errors.raise("certificate", "the bounds leave room for a mapping better than what was found")
  end
  for _, one in ipairs(trees) do
    write_template(write, one.shape, one.number, one.text)
    grove.walk(one, function(path, leaf)
      write_leaf(write, path, leaf)
      n_leaves = n_leaves + 1
    end)
  end
  return #trees, n_leaves
end

--- Calls write(data) for every line of a certificate; raises where the claim cannot be proved.
---@param s einloom.Space
---@param found table[] points of a search
---@param write fun(data: table)
---@param state? { text: string } gets what is done at the time
function producer.run(s, found, write, state)
  head.check_space(s)
  local first = head.new(s, found)
  local g = goal.new(s.case.objective, first.claims, first.slack, s.options)
  write(first)
  local prove = #s.steps == 1 and single or several
  local n_templates, n_leaves = prove(s, g, write, state or {})
  write { templates = n_templates, leaves = n_leaves }
end

return producer
