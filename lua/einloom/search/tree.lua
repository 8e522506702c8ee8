-- SPDX-License-Identifier: MIT
-- The mapping of a result: the loops of each einsum with their tiles, joined where tensors that
-- several einsums use are kept under the same loops.

local mapping = require "einloom.mapping"

local tree = {}

---@class einloom.ChosenPath
---@field step einloom.SearchStep
---@field levels table[][] holders under 0, 1, ... fused loops; the rest of the path after the last
---@field loops table[] the fused loops with several trips, {variable =, tile =, dim =, level =}
---@field rest table[] nodes below the fused loops
---@field depth table<any, integer> fused loops above the outermost holder of a shared tensor, by
--- its name, or above a split

local function holder(way, node)
  return {
    node = node.toll and "toll" or "storage", component = way.levels[node.level].name,
    tensors = { node.tensor.name },
    persistent = not node.toll and node.backs and node.tensor.persistent or nil,
    shared = node.backs and node.tensor.shared, toll = node.toll,
  }
end

local function loop(way, node, tile)
  return {
    node = node.dim and "spatial" or "temporal", rank_variable = node.variable, tile_shape = tile,
    component = node.dim and way.levels[node.level].name or nil, dim = node.dim and node.dim.name,
  }
end

-- The fused loops of a path in the order of `variables`, holders in between.
local function fused_part(way, entries, variables)
  local levels, loops, depth = { {} }, {}, {}
  local taken, waiting = {}, {}
  local function take()
    local wanted = variables[#loops + 1]
    for i, e in ipairs(waiting) do
      if not taken[e] and e.node.variable == wanted then
        taken[e] = true
        loops[#loops + 1] = loop(way, e.node, e.tile)
        levels[#levels + 1] = {}
        table.remove(waiting, i)
        return true
      end
    end
    return false
  end
  for _, e in ipairs(entries) do
    if e.node.tensor then
      while #waiting > 0 and take() do end
      table.insert(levels[#levels], holder(way, e.node))
      if e.node.backs and e.node.tensor.shared then depth[e.node.tensor.name] = #loops end
    else
      waiting[#waiting + 1] = e
    end
  end
  while #waiting > 0 and take() do end
  return levels, loops, depth
end

--- One einsum of a result.
---@param step einloom.SearchStep
---@param template einloom.Template
---@param tiles integer[]
---@param variables string[] of the fused loops with several trips
---@return einloom.ChosenPath
function tree.path(step, template, tiles, variables)
  local extent, entries, rest, i, last_shared = {}, {}, {}, 0, 0
  local way, depths = template.way, {}
  for _, split in ipairs(template.splits) do depths[split.split] = 0 end
  for v, size in pairs(step.sizes) do extent[v] = size end
  for k, node in ipairs(template.nodes) do
    if node.tensor and node.backs and node.tensor.shared then last_shared = k end
  end
  for k, node in ipairs(template.nodes) do
    local part = (k <= last_shared or node.fused) and entries or rest
    if node.tensor then
      part[#part + 1] = part == rest and holder(way, node) or { node = node }
    else
      i = i + 1
      local tile = tiles[i]
      local several = tile < extent[node.variable]
      for _, split in ipairs(several and template.splits or {}) do
        if i <= split.n_loops then depths[split.split] = depths[split.split] + 1 end
      end
      if several or node.pinned and part == rest then
        part[#part + 1] = part == rest and loop(way, node, tile) or { node = node, tile = tile }
      end
      extent[node.variable] = tile
    end
  end
  local levels, loops, depth = fused_part(way, entries, variables)
  for split, d in pairs(depths) do depth[split] = d end
  rest[#rest + 1] = { node = "compute", einsum = step.einsum, component = way.compute }
  return { step = step, levels = levels, loops = loops, rest = rest, depth = depth }
end

-- Loops shared at each boundary between a path and the next: above every tensor used on both sides.
local function boundaries(paths)
  local first, last, depth, shared = {}, {}, {}, {}
  for i, path in ipairs(paths) do
    for tensor, d in pairs(path.depth) do
      first[tensor] = first[tensor] or i
      last[tensor] = i
      depth[tensor] = d
    end
  end
  for i = 1, #paths - 1 do
    shared[i] = 0
    for tensor, d in pairs(depth) do
      if first[tensor] <= i and last[tensor] > i and d > shared[i] then shared[i] = d end
    end
  end
  return shared
end

local function add_holders(list, path, d, seen)
  for _, h in ipairs(path.levels[d + 1] or {}) do
    local key = h.component .. "\0" .. h.tensors[1]
    if not (h.shared and seen[key]) then
      if h.shared then seen[key] = true end
      list[#list + 1] = {
        node = h.node, component = h.component, tensors = h.tensors, persistent = h.persistent,
      }
    end
  end
end

local body

-- A loop that stands for one loop of each path from i to j.
local function shared_loop(paths, i, j, d)
  local first = paths[i].loops[d]
  local by_einsum, differs = {}, false
  for k = i, j do
    local v = paths[k].loops[d].rank_variable
    by_einsum[paths[k].step.einsum] = v
    differs = differs or v ~= first.rank_variable
  end
  local result = {}
  for key, x in pairs(first) do result[key] = x end
  if differs then result.rank_variable = by_einsum end
  return result
end

-- Holders of shared tensors that several runs use go above the split.
local function add_common(list, paths, runs, d, seen)
  local users = {}
  for _, run in ipairs(runs) do
    local own = {}
    for k = run[1], run[2] do
      for _, h in ipairs(paths[k].levels[d + 1] or {}) do
        if h.shared then own[h.component .. "\0" .. h.tensors[1]] = h end
      end
    end
    for key in pairs(own) do users[key] = (users[key] or 0) + 1 end
  end
  for _, run in ipairs(runs) do
    for k = run[1], run[2] do
      for _, h in ipairs(paths[k].levels[d + 1] or {}) do
        local key = h.component .. "\0" .. h.tensors[1]
        if h.shared and users[key] > 1 and not seen[key] then
          seen[key] = true
          list[#list + 1] = {
            node = h.node, component = h.component, tensors = h.tensors,
            persistent = h.persistent,
          }
        end
      end
    end
  end
end

-- The paths from i to j below d shared loops, as runs that share one loop more.
local function runs_of(shared, i, j, d)
  local runs, from = {}, i
  for k = i, j do
    if k == j or shared[k] <= d then
      runs[#runs + 1] = { from, k }
      from = k + 1
    end
  end
  return runs
end

local function run_nodes(list, paths, shared, run, d, seen)
  for k = run[1], run[2] do add_holders(list, paths[k], d, seen) end
  if run[1] < run[2] then
    list[#list + 1] = shared_loop(paths, run[1], run[2], d + 1)
    body(list, paths, shared, run[1], run[2], d + 1)
    return
  end
  local path = paths[run[1]]
  for k = d + 1, #path.loops do
    list[#list + 1] = path.loops[k]
    add_holders(list, path, k, {})
  end
  for _, node in ipairs(path.rest) do list[#list + 1] = node end
end

function body(list, paths, shared, i, j, d)
  local runs, seen = runs_of(shared, i, j, d), {}
  if #runs == 1 then return run_nodes(list, paths, shared, runs[1], d, seen) end
  add_common(list, paths, runs, d, seen)
  local branches = {}
  for k, run in ipairs(runs) do
    branches[k] = {}
    run_nodes(branches[k], paths, shared, run, d, seen)
  end
  list[#list + 1] = { node = "sequential", branches = branches }
end

local function strip(nodes)
  for _, node in ipairs(nodes) do
    node.shared, node.toll = nil, nil
    for _, branch in ipairs(node.branches or {}) do strip(branch) end
  end
  return nodes
end

--- The mapping of all einsums.
---@param paths einloom.ChosenPath[]
---@return einloom.Mapping
function tree.mapping(paths)
  local nodes = {}
  body(nodes, paths, boundaries(paths), 1, #paths, 0)
  return mapping.new { nodes = strip(nodes) }
end

return tree
