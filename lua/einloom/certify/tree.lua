-- SPDX-License-Identifier: MIT
-- The proof of one template: a tree that chooses the tile of one loop at a time, next to the loop
-- before of the same variable, until a bound says that no better mapping is left.  A leaf has the
-- choices on the way to it, each {variable, tile} or {variable, first tile, last tile}, and a
-- reason.

local chains = require "einloom.certify.chains"

local tree = {}

---@class einloom.CertifyLeaf
---@field at table[] the choices
---@field exceeds? string the memory or dimension that is too small
---@field needs? number what it would have to hold, at least
---@field loops? boolean bounds of loops over dimensions are not kept to
---@field shares? boolean dimensions are not used as fully as they can be
---@field fused? boolean more fused loops than may run more than once
---@field energy? number lower bound
---@field latency? number lower bound
---@field usage? table<string, number> lower bounds, where use of memories is minimised

--- The reason why nothing below a state is of use, or the bounds of its figures.
---@param bounds einloom.Bounds
---@param nodes einloom.ChainNode[]
---@param memories string[] whose use is minimised
---@return table
function tree.reason(bounds, nodes, memories)
  local name, needed = bounds:exceeded(nodes)
  if name then return { exceeds = name, needs = needed } end
  if not bounds:loops_fit(nodes) then return { loops = true } end
  if not bounds:shares_fit(nodes) then return { shares = true } end
  if not bounds:fused_fit(nodes) then return { fused = true } end
  local energy, latency = bounds:figures(nodes)
  local usage = #memories > 0 and bounds:usage(nodes) or nil
  return { energy = energy, latency = latency, usage = usage }
end

-- ---- growing ----

-- The variable whose next loop leaves the fewest choices to look at.
local function next_variable(nodes, closed)
  local best, least
  for i, node in ipairs(nodes) do
    if node.children then
      local open = #node.children / 1024
      for _, child in ipairs(node.children) do
        nodes[i] = child
        if not closed(nodes) then open = open + 1 end
      end
      nodes[i] = node
      if not best or open < least then best, least = i, open end
    end
  end
  return best
end

-- The last of the children from `first` on that close together.
local function span_end(nodes, i, node, first, closed)
  local last = first
  while last < #node.children do
    nodes[i] = chains.span(node.children, first, last + 1)
    if not closed(nodes) then break end
    last = last + 1
  end
  return last
end

--- Calls visit(path, nodes) with every leaf of the smallest tree that was found: states that are
--- closed, and those of which every tile is chosen.
---@param bounds einloom.Bounds
---@param closed fun(nodes: einloom.ChainNode[]): boolean
---@param visit fun(path: table[], nodes: einloom.ChainNode[])
function tree.grow(bounds, closed, visit)
  local nodes, path = bounds:root(), {}
  local function go()
    if closed(nodes) then return visit(path, nodes) end
    local i = next_variable(nodes, closed)
    if not i then return visit(path, nodes) end
    local node, v, k = nodes[i], bounds.variables[i], 1
    while k <= #node.children do
      local last = k
      nodes[i] = node.children[k]
      if closed(nodes) then last = span_end(nodes, i, node, k, closed) end
      nodes[i] = chains.span(node.children, k, last)
      path[#path + 1] = { v, node.children[k].tile, last > k and node.children[last].tile or nil }
      if last > k then visit(path, nodes) else go() end
      path[#path] = nil
      k = last + 1
    end
    nodes[i] = node
  end
  go()
end

-- ---- checking ----

--- A path as a text, e.g. `m 8, n 2..64`.
---@param path table[]
---@return string
function tree.text(path)
  if #path == 0 then return "no tile chosen" end
  local parts = {}
  for i, step in ipairs(path) do
    parts[i] = step[3] and ("%s %s..%s"):format(step[1], step[2], step[3])
      or ("%s %s"):format(step[1], step[2])
  end
  return table.concat(parts, ", ")
end

---@class einloom.LeafReader
---@field peek fun(): einloom.CertifyLeaf?, integer the next leaf and its line
---@field take fun() goes on to the one after
---@field fail fun(line: integer, message: string, ...: any) raises

local function expect(reader, path, line)
  return reader.fail(line, "a leaf for %s was expected", tree.text(path))
end

local function position_of(bounds, name)
  for i, v in ipairs(bounds.variables) do
    if v == name then return i end
  end
  return nil
end

-- The last of the children that a leaf is about, which begins with child k.
local function last_child(reader, node, k, leaf, depth, line)
  local tile = leaf.at[depth][3]
  if tile == nil then return k end
  for last = k + 1, #node.children do
    if node.children[last].tile == tile and #leaf.at == depth then return last end
  end
  return reader.fail(line, "%s is no range of tiles that a leaf may end with",
    tree.text(leaf.at))
end

--- Goes through a tree and calls visit(leaf, line, nodes) with every leaf; raises where a choice is
--- missing, comes twice or is none.
---@param bounds einloom.Bounds
---@param reader einloom.LeafReader
---@param visit fun(leaf: einloom.CertifyLeaf, line: integer, nodes: einloom.ChainNode[])
function tree.check(bounds, reader, visit)
  local nodes, path = bounds:root(), {}
  local go
  -- The next leaf, which is below the path.
  local function next_leaf()
    local leaf, line = reader.peek()
    for d, step in ipairs(path) do
      local other = leaf and leaf.at[d]
      if not other or other[1] ~= step[1] or other[2] ~= step[2] then
        return expect(reader, path, line)
      end
    end
    if not leaf then return expect(reader, path, line) end
    return leaf, line
  end
  local function choose(v)
    local depth, i = #path + 1, position_of(bounds, v)
    local node, k = i and nodes[i], 1
    while k <= #node.children do
      path[depth] = { v, node.children[k].tile }
      local leaf, line = next_leaf()
      local last = last_child(reader, node, k, leaf, depth, line)
      path[depth][3] = leaf.at[depth][3]
      nodes[i] = chains.span(node.children, k, last)
      go()
      path[depth] = nil
      k = last + 1
    end
    nodes[i] = node
  end
  function go()
    local leaf, line = next_leaf()
    if #leaf.at == #path then
      reader.take()
      return visit(leaf, line, nodes)
    end
    local v = leaf.at[#path + 1][1]
    local i = position_of(bounds, v)
    if not i or not nodes[i].children then
      return reader.fail(line, "%s has no loop left to choose after %s", tostring(v),
        tree.text(path))
    end
    return choose(v)
  end
  go()
end

return tree
