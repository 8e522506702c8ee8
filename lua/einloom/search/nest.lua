-- SPDX-License-Identifier: MIT
-- A template made ready to be evaluated again and again: its loops by variable, where shared
-- tensors are kept, and its costs as one program over the tiles of its loops.
-- Invariant: tensors and variables go by their positions, so that one nest serves all einsums of a
-- shape.

local analysis = require "einloom.search.analysis"
local core = require "einloom.core"
local errors = require "einloom.errors"
local value = require "einloom.value"

local nest = {}

---@class einloom.Nest
---@field loops table[] {variable =, dim =, level =, fused =, segment =, tiles? = those allowed}
---@field limited table<integer, true> variables of which a loop has not any tile, or has to have
--- several trips
---@field of_variable integer[][] numbers of the loops of each variable, outermost first
---@field uneven (einloom.Uneven|false)[] variables that may leave a part
---@field n_fused integer
---@field backings table[] {tensor =, level =, n_loops =}: outermost holders of shared tensors
---@field open integer[] numbers of the loops whose tile is open
---@field slots table[] loops under a holder whose reservation may sink through them
---@field node_of integer[] number of the node of each loop
---@field loop_of table<integer, integer> and the other way
---@field memory table[] {component =, size =, tensor =, depth =, backs =}, with the program
---@field spreads? table<string, table> lists of the shape, see spread.of
---@field spread? table|false fullest uses of the dimensions with a least share, once asked for
---@field spatial table[] {component =, dim =, count =, min_fraction =}

-- Whether a bound of a dimension wants loops with several trips.
local function asks_for_trips(dim)
  for _, bound in ipairs(dim.bounds) do
    if not bound.op:find "<=?$" then return true end
  end
  return false
end

local function read_loops(step, template, self)
  local position, segment = {}, 0
  for i, v in ipairs(step.variables) do
    position[v] = i
    self.of_variable[i] = {}
  end
  local at = {}
  for i, t in ipairs(step.tensors) do at[t] = i end
  for i, node in ipairs(template.nodes) do
    if node.tensor then
      segment = segment + 1
      if node.backs and node.tensor.shared then
        self.backings[#self.backings + 1] =
          { tensor = at[node.tensor], level = node.level, n_loops = #self.loops, node = i }
      end
    else
      local k = #self.loops + 1
      local v = position[node.variable]
      if node.border then segment = segment + 1 end
      self.loops[k] = {
        variable = v, dim = node.dim, level = node.level, fused = node.fused, segment = segment,
        tiles = node.tiles,
      }
      if node.tiles or node.dim and asks_for_trips(node.dim) then self.limited[v] = true end
      table.insert(self.of_variable[v], k)
      if node.fused then self.n_fused = self.n_fused + 1 end
    end
  end
end

---@class einloom.Uneven
---@field absorbs table<integer, true> loops, one of which has to have several trips where a part
--- is left
---@field n_leading integer loops at the outside that are left out where they have one trip

-- Which variables may leave a part in this nest, at the first loop with several trips.
local function read_uneven(step, template, self)
  for variable, loops in ipairs(self.of_variable) do
    local kinds, absorbs, n = step.uneven and step.uneven[variable] or 0, {}, 0
    for _, k in ipairs(loops) do
      if kinds & (self.loops[k].dim and 2 or 1) ~= 0 then absorbs[k] = true end
    end
    while n < #loops - 1 and not template.nodes[self.node_of[loops[n + 1]]].pinned do n = n + 1 end
    -- What coarseness leaves of the tiles of a variable does not depend on the loops of a template.
    local any = next(absorbs) or kinds > 0 and step.coarseness > 1
    self.uneven[variable] = any and { absorbs = absorbs, n_leading = n } or false
  end
end

-- The shared tensor that has its outermost holder where a row says; of a copy, whose tensors are in
-- one place together, any such one.
local function backed(step, template, row)
  for _, node in ipairs(template.nodes) do
    local t = node.tensor
    if t and node.backs and t.shared
      and template.way.levels[node.level].name == row.component
      and (step.is_copy or t.name == row.tensor) then
      return t
    end
  end
  return nil
end

local function read_memory(space, step, template, costs, self, outputs)
  local at = {}
  for i, t in ipairs(step.tensors) do at[t], at[t.name] = i, i end
  for _, row in ipairs(costs.memory) do
    local shared = backed(step, template, row)
    self.memory[#self.memory + 1] = {
      component = row.component,
      size = value.nearest(space.case.arch:component(row.component).size),
      tensor = at[shared or row.tensor], depth = math.min(row.n_loops_above, self.n_fused),
      backs = shared ~= nil,
    }
    outputs[#outputs + 1] = row.bits
  end
end

local function read_spatial(self)
  local seen = {}
  for _, loop in ipairs(self.loops) do
    local d = loop.dim
    if d and not seen[d] then
      local row = #self.spatial + 1
      seen[d] = row
      self.spatial[row] = {
        component = self.template.way.levels[loop.level].name, dim = d.name, count = d.count,
        min_fraction = d.min_fraction, of = d, row = row,
      }
    end
    loop.row = d and seen[d]
  end
end

-- Runs of loops under a holder whose reservation may sink: its tensor and the numbers of the loops.
local function sinking_slots(template)
  local slots, slot, k = {}, nil, 0
  for i, node in ipairs(template.nodes) do
    if node.tensor then
      slot = nil
      if not (node.backs or node.toll or node.fixed) then
        slot = { tensor = node.tensor, node = i }
        slots[#slots + 1] = slot
      end
    else
      k = k + 1
      if slot then slot[#slot + 1] = k end
    end
  end
  return slots
end

--- A nest without its program.
---@param step einloom.SearchStep
---@param template einloom.Template
---@return einloom.Nest
function nest.build(step, template)
  local self = {
    loops = {}, of_variable = {}, n_fused = 0, backings = {}, open = {}, memory = {}, spatial = {},
    step = step, template = template, slots = sinking_slots(template), node_of = {}, loop_of = {},
    limited = {}, uneven = {},
  }
  read_loops(step, template, self)
  read_spatial(self)
  for _, list in ipairs(self.of_variable) do
    for i = 1, #list - 1 do self.open[#self.open + 1] = list[i] end
  end
  table.sort(self.open)
  for i, node in ipairs(template.nodes) do
    if not node.tensor then
      self.node_of[#self.node_of + 1] = i
      self.loop_of[i] = #self.node_of
    end
  end
  read_uneven(step, template, self)
  return self
end

--- The program of a nest, made once: energy, latency, then the bits of each row of `memory`.
---@param space einloom.Space
---@param self einloom.Nest
---@return userdata
function nest.program(space, self)
  if self.program then return self.program end
  local step, template = self.step, self.template
  local raw, message, kind = analysis.costs(space.case, template)
  if not raw then errors.raise(kind, message) end
  local costs, symbols = raw:einsum(step.einsum), {}
  local outputs = { costs.dynamic_energy + costs.leak_energy, costs.latency }
  read_memory(space, step, template, costs, self, outputs)
  raw:close()
  local tiles = analysis.tiles(space.case, template)
  for i, k in ipairs(self.open) do symbols[i] = tiles[k] end
  self.program, self.formulas, self.symbols = core.compile(outputs, symbols), outputs, symbols
  return self.program
end

-- Instances used of a dimension: the trips of its loops multiplied.
local function instances(space, self, dim)
  local used, tiles = core.int(1), analysis.tiles(space.case, self.template)
  for variable, loops in ipairs(self.of_variable) do
    local outer = core.int(self.step.sizes[self.step.variables[variable]])
    for _, k in ipairs(loops) do
      local tile = tiles[k] == 1 and core.int(1) or tiles[k]
      if self.loops[k].dim == dim then used = used * outer / tile end
      outer = tile
    end
  end
  return used
end

--- The program of a nest for many points: energy, latency, then the bits of each of `components`
--- and the instances of each row of `spatial`.
---@param space einloom.Space
---@param self einloom.Nest
---@return userdata program
---@return table[] components {name =, size =}
function nest.block(space, self)
  if self.block then return self.block, self.components end
  nest.program(space, self)
  local outputs, components, at = { self.formulas[1], self.formulas[2] }, {}, {}
  for i, row in ipairs(self.memory) do
    local bits, k = self.formulas[2 + i], at[row.component]
    if not k then
      k = #components + 1
      components[k], at[row.component] = { name = row.component, size = row.size }, k
      outputs[2 + k] = bits
    else
      outputs[2 + k] = outputs[2 + k] + bits
    end
  end
  for _, row in ipairs(self.spatial) do outputs[#outputs + 1] = instances(space, self, row.of) end
  self.block, self.components = core.compile(outputs, self.symbols), components
  return self.block, components
end

--- The nest of a template, made once.
---@param space einloom.Space
---@param shape integer
---@param number integer
---@return einloom.Nest
function nest.of(space, shape, number)
  local known = space.nests[shape]
  if not known then
    known = { spreads = {} }
    space.nests[shape] = known
  end
  if not known[number] then
    local entry = space.shapes[shape]
    if #space:list(entry[1])[number].splits > 0 then
      errors.raise("bad_argument", "of a mapping with holes and splits there are no single "
        .. "candidates: strategy optimal searches it", { path = "loom.space" })
    end
    known[number] = nest.build(entry.step, space:list(entry[1])[number])
    known[number].spreads = known.spreads
  end
  return known[number]
end

return nest
