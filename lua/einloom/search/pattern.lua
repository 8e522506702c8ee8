-- SPDX-License-Identifier: MIT
-- A mapping with holes as what it asks of each einsum: the nodes from the root to its compute node,
-- as items that holders and loops of a template are held against.

local errors = require "einloom.errors"
local holes = require "einloom.mapping_holes"
local mapping_text = require "einloom.mapping_text"
local readonly = require "einloom.readonly"

local pattern = {}

---@class einloom.Pattern
---@field nodes einloom.Node[]
---@field text string
---@field paths table<string, einloom.PatternPath> by einsum
---@field splits einloom.PatternSplit[] outer before inner, then seams
---@field seam_of table<einloom.Node, einloom.PatternSplit> behind nodes above splits that may have
--- loops: einsums have the same loops up to there
---@field whole boolean every einsum of the workload is in it

---@class einloom.PatternPath
---@field einsum string
---@field nodes einloom.Node[] from the root to the compute node; splits stand for their branches
---@field leaf einloom.Node
---@field splits einloom.PatternSplit[] above it, then seams

---@class einloom.PatternSplit
---@field node einloom.Node
---@field branches string[][] names of the einsums in each branch
---@field crossing table<string, true> tensors that several branches use
---@field ranks table<string, integer> a number for each variable that may be one loop

---@class einloom.PatternItem
---@field kind "hold"|"more"|"loop"|"gap"|"split"
---@field index integer
---@field node einloom.Node
---@field level? integer
---@field tensor? einloom.SearchTensor
---@field optional? boolean
---@field variable? string
---@field dim? einloom.SearchDimension
---@field temporal? boolean
---@field spatial? boolean
---@field holders? boolean
---@field split? einloom.PatternSplit
---@field seam? einloom.PatternSplit
---@field shared? boolean above a split

--- A message with the place of a node.
---@param node einloom.Node
---@param kind string
---@param message string
---@return einloom.Error
function pattern.problem(node, kind, message)
  local at = mapping_text.position_of(node)
  local _, e = pcall(function()
    if at then errors.raise_at(kind, at[1], at[2], message) end
    errors.raise(kind, message, { path = node.where })
  end)
  e.caller = nil
  return e
end

local function refuse(node, message)
  error(pattern.problem(node, "bad_mapping", message), 0)
end

-- ---- the tree ----

local known = {
  storage = true, toll = true, temporal = true, spatial = true, loops = true, anything = true,
  sequential = true, compute = true,
}

local function check_loop(node)
  if node.initial_tile_shape or node.step or node.tiles then
    refuse(node, "a search has loops with one tile shape only")
  end
  if not holes.is_open(node.tile_shape) and math.type(node.tile_shape) ~= "integer" then
    refuse(node, ("tile %s: a search takes numbers, ?, a set or a range")
      :format(tostring(node.tile_shape)))
  end
end

local function einsum_of(node, w)
  if node.einsum then
    local names = {}
    for i, e in ipairs(w.einsums) do
      if e.name == node.einsum then return node.einsum end
      names[i] = e.name
    end
    refuse(node, ("no einsum %s%s"):format(node.einsum, errors.hint(node.einsum, names)))
  end
  if #w.einsums > 1 then refuse(node, "which einsum? write EINSUM on " .. node.component) end
  return w.einsums[1].name
end

-- Raises unless a holder and what it holds are there.
local function check_holder(node, w, names)
  if not names[node.component] then
    refuse(node, ("no component %s%s"):format(node.component, errors.hint(node.component,
      errors.keys(names))))
  end
  local tensors = {}
  for _, e in ipairs(w.einsums) do
    for _, t in ipairs(e.tensors) do tensors[t.tensor] = true end
  end
  for _, name in ipairs(node.tensors or {}) do
    if not tensors[name] then
      refuse(node, ("unknown tensor %s%s"):format(name, errors.hint(name, errors.keys(tensors))))
    end
  end
end

local read_list

-- The branches of a split: its einsums come in the order of the workload.
local function read_split(self, node, above, w)
  local split = { node = node, branches = {} }
  self.splits[#self.splits + 1] = split
  self.of_node[node] = split
  local path = table.move(above, 1, #above, 1, {})
  path[#path + 1] = node
  for i, branch in ipairs(node.branches) do split.branches[i] = read_list(self, branch, path, w) end
end

-- Reads a list below the nodes `above`; gives back the einsums in it.
function read_list(self, list, above, w)
  local path, names = table.move(above, 1, #above, 1, {}), {}
  for _, node in ipairs(list) do
    if not known[node.node] then refuse(node, ("a search has no %s nodes"):format(node.node)) end
    if node.node == "compute" then
      local name = einsum_of(node, w)
      if self.paths[name] then refuse(node, ("einsum %s is computed twice"):format(name)) end
      self.paths[name] = { einsum = name, nodes = path, leaf = node, splits = {} }
      for _, above_ in ipairs(path) do
        table.insert(self.paths[name].splits, self.of_node[above_])
      end
      names[#names + 1] = name
    elseif node.node == "sequential" then
      read_split(self, node, path, w)
      for _, branch in ipairs(self.of_node[node].branches) do
        table.move(branch, 1, #branch, #names + 1, names)
      end
    else
      if node.tile_shape then check_loop(node) end
      if node.tensors then check_holder(node, w, self.components) end
      path[#path + 1] = node
    end
  end
  if #names == 0 then
    local last = list[#list]
    local message = "what computes here? a compute unit ends each nest"
    if last then refuse(last, message) end
    errors.raise("bad_mapping", message, { path = "mapping" })
  end
  return names
end

-- Tensors that several branches of a split use.
local function crossing(split, w)
  local users, result = {}, {}
  for i, branch in ipairs(split.branches) do
    for _, name in ipairs(branch) do
      for _, e in ipairs(w.einsums) do
        for _, t in ipairs(e.name == name and e.tensors or {}) do
          if users[t.tensor] and users[t.tensor] ~= i then result[t.tensor] = true end
          users[t.tensor] = i
        end
      end
    end
  end
  return result
end

-- Einsums of a split stand in a row, in their order.
local function check_order(self, w)
  local position = {}
  for i, e in ipairs(w.einsums) do position[e.name] = i end
  for _, split in ipairs(self.splits) do
    local last
    for _, branch in ipairs(split.branches) do
      for _, name in ipairs(branch) do
        local here = position[name]
        if last and here < last then
          refuse(self.paths[name].leaf, ("%s comes before %s in the workload"):format(name,
            w.einsums[last].name))
        elseif last and here > last + 1 then
          refuse(split.node, ("einsum %s comes between, and is in no branch")
            :format(w.einsums[last + 1].name))
        end
        last = here
      end
    end
  end
end

-- Variables that can be one loop of several einsums have one number: those of one name, and those
-- that a loop names together.
local function number_variables(self, w)
  local class = {}
  local function find(v)
    while class[v] and class[v] ~= v do v = class[v] end
    return v
  end
  for _, path in pairs(self.paths) do
    for _, node in ipairs(path.nodes) do
      local first
      for _, e in ipairs(type(node.rank_variable) == "table" and errors.keys(node.rank_variable)
        or {}) do
        local v = find(node.rank_variable[e])
        if first then class[v] = find(first) end
        first = first or v
      end
    end
  end
  local number, ranks, n = {}, {}, 0
  for _, v in ipairs(w.variables) do
    local root = find(v)
    if not number[root] then number[root], n = n, n + 1 end
    ranks[v] = number[root]
  end
  for _, split in ipairs(self.splits) do
    split.ranks, split.crossing = ranks, crossing(split, w)
  end
end

-- Seams behind nodes above a split that may have loops, where others that may come below them.
local function add_seams(self, w)
  for _, e in ipairs(w.einsums) do
    local path = self.paths[e.name]
    local follows = false
    for i = path and #path.nodes or 0, 1, -1 do
      local node = path.nodes[i]
      if node.node == "sequential" then
        follows = nil
      elseif not node.tensors then
        if follows then
          local ranks = self.splits[1].ranks
          local seam = self.seam_of[node] or { node = node, branches = {}, ranks = ranks }
          if not self.seam_of[node] then self.splits[#self.splits + 1] = seam end
          self.seam_of[node] = seam
          table.insert(path.splits, seam)
        end
        if follows == nil then follows = true end
      end
    end
  end
end

--- What a mapping asks for. Raises where it holds what no search has.
---@param m einloom.Mapping
---@param workload einloom.Workload
---@param arch einloom.Arch
---@return einloom.Pattern
function pattern.new(m, workload, arch)
  local w, raw = readonly.raw(workload), readonly.raw(m)
  local self = { nodes = raw.nodes, text = tostring(m), paths = {}, splits = {}, of_node = {},
    seam_of = {}, components = {} }
  for _, name in ipairs(arch:names()) do self.components[name] = true end
  read_list(self, raw.nodes, {}, w)
  check_order(self, w)
  number_variables(self, w)
  add_seams(self, w)
  self.whole = true
  for _, e in ipairs(w.einsums) do self.whole = self.whole and self.paths[e.name] ~= nil end
  return self
end

-- ---- items of one einsum on one way ----

local function level_of(way, name)
  for i, level in ipairs(way.levels) do
    if level.name == name then return i, level end
  end
end

local kinds = { storage = "store", toll = "pass_through" }

local function add_holder(items, node, way)
  local by_name, optional = {}, {}
  for _, t in ipairs(way.tensors) do by_name[t.name] = t end
  for _, name in ipairs(node.optional or {}) do optional[name] = true end
  local index, level = level_of(way, node.component)
  for _, name in ipairs(node.tensors) do
    local t = by_name[name]
    if t and not level and not optional[name] then
      return ("%s is not on the way of %s to %s"):format(node.component, way.einsum, way.compute)
    elseif t and level then
      if level.kind ~= kinds[node.node] then
        return ("%s is no %s"):format(node.component, node.node)
      elseif node.persistent and not t.persistent then
        return ("%s is not persistent in the workload"):format(name)
      end
      items[#items + 1] = {
        kind = "hold", node = node, level = index, tensor = t, optional = optional[name] or false,
      }
    end
  end
  if node.more and level then
    items[#items + 1] = { kind = "more", node = node, level = index }
  end
end

local function add_loop(items, node, way)
  local v = node.rank_variable
  if type(v) == "table" then v = v[way.einsum] end
  if not v or not way.sizes[v] then
    return ("einsum %s has no variable %s%s"):format(way.einsum, tostring(v or "here"),
      v and errors.hint(v, errors.keys(way.sizes)) or "")
  end
  local item = { kind = "loop", node = node, variable = v }
  if node.node == "spatial" then
    local index, level = level_of(way, node.component)
    for _, dim in ipairs(level and level.dims or {}) do
      if dim.name == node.dim then item.dim, item.level = dim, index end
    end
    if not item.dim then
      return ("no dimension %s.%s on the way of %s to %s"):format(node.component, node.dim,
        way.einsum, way.compute)
    end
  end
  items[#items + 1] = item
end

local adders = {
  storage = add_holder, toll = add_holder, temporal = add_loop, spatial = add_loop,
  loops = function(items, node)
    items[#items + 1] = {
      kind = "gap", node = node, temporal = node.kind ~= "spatial",
      spatial = node.kind ~= "temporal",
    }
  end,
  anything = function(items, node)
    items[#items + 1] = {
      kind = "gap", node = node, temporal = true, spatial = true, holders = true,
    }
  end,
}

--- The items of a path on a way; nil, the node and a message where the way has no place for it.
---@param self einloom.Pattern
---@param path einloom.PatternPath
---@param way einloom.SearchWay
---@return einloom.PatternItem[]? items
---@return einloom.Node? node
---@return string? message
function pattern.items(self, path, way)
  local items = {}
  if path.leaf.component ~= way.compute then
    return nil, path.leaf, ("%s does not run einsum %s"):format(path.leaf.component, path.einsum)
  end
  for _, node in ipairs(path.nodes) do
    local problem
    if node.node == "sequential" then
      items[#items + 1] = { kind = "split", node = node, split = self.of_node[node] }
    else
      problem = adders[node.node](items, node, way)
    end
    if problem then return nil, node, problem end
    if self.seam_of[node] then items[#items].seam = self.seam_of[node] end
  end
  local shared
  for i = #items, 1, -1 do
    shared = shared or items[i].kind == "split"
    items[i].index, items[i].shared = i, shared
  end
  return items
end

return pattern
