-- SPDX-License-Identifier: MIT
-- Writes certificates: for each template the tree of bounds that shows that nothing in it is better
-- than what was found.  Only the answer of the search is used, not how it came to it.

local bounds = require "einloom.certify.bounds"
local core = require "einloom.core"
local errors = require "einloom.errors"
local goal = require "einloom.certify.goal"
local head = require "einloom.certify.head"
local templates = require "einloom.search.templates"
local tree = require "einloom.certify.tree"

local producer = {}

local array = core.json.array

local function copy_path(path)
  local at = setmetatable({}, array)
  for i, step in ipairs(path) do at[i] = setmetatable({ step[1], step[2], step[3] }, array) end
  return at
end

local function contradict(template, path)
  errors.raise("certificate", ("%s is better than what was found, in the template %s")
    :format(tree.text(path), templates.text(template)))
end

--- Calls write(data) for every line of a certificate; raises where the claim cannot be proved.
---@param s einloom.Space
---@param points table[] of a search
---@param write fun(data: table)
function producer.run(s, points, write)
  head.check_space(s)
  local first, n_leaves = head.new(s, points), 0
  local g = goal.new(s.case.objective, first.claims, first.slack)
  write(first)
  for number, template in ipairs(s:list(1)) do
    write { einsum = 1, template = number, text = templates.text(template) }
    local b = bounds.of(s.case, template)
    local function closed(nodes)
      local reason = tree.reason(b, nodes, g.memories)
      return not reason.energy or g:closes(reason)
    end
    tree.grow(b, closed, function(path, nodes)
      local leaf = tree.reason(b, nodes, g.memories)
      if leaf.energy and not g:closes(leaf) then contradict(template, path) end
      leaf.at = copy_path(path)
      n_leaves = n_leaves + 1
      write(leaf)
    end)
  end
  write { templates = #s:list(1), leaves = n_leaves }
end

return producer
