-- SPDX-License-Identifier: MIT
-- Templates as users see them: loop nests of one einsum with open tiles, their formulas, all their
-- points, and figures of many points at once.

local analysis = require "einloom.search.analysis"
local arguments = require "einloom.search.arguments"
local draw = require "einloom.search.draw"
local errors = require "einloom.errors"
local goals = require "einloom.search.goals"
local loom = require "einloom"
local nest = require "einloom.search.nest"
local templates = require "einloom.search.templates"
local tiles = require "einloom.search.tiles"

local template = {}

---@class einloom.SearchTemplate
---@field einsum string
---@field step integer the number of the einsum
---@field number integer of the template among those of the einsum
---@field text string
---@field loops table[] {variable =, dimension? =, fused =, tile? = name of the open tile}
local Template = { __name = "einloom.template" }
Template.__index = Template
Template.__tostring = function(self) return self.text end

local function loops_of(own, step)
  local open, loops = {}, {}
  for _, k in ipairs(own.open) do open[k] = true end
  for k, loop in ipairs(own.loops) do
    local level = loop.dim and own.template.way.levels[loop.level].name
    loops[k] = {
      variable = step.variables[loop.variable], fused = loop.fused,
      dimension = loop.dim and level .. "." .. loop.dim.name or nil,
      tile = open[k] and "tile" .. k or nil,
    }
  end
  return loops
end

local function new(space, i, number)
  local own, step = nest.of(space, space.shape_of[i], number), space.steps[i]
  return setmetatable({
    space = space, step = i, einsum = step.einsum, number = number, nest = own,
    text = templates.text(space:list(i)[number]), loops = loops_of(own, step),
  }, Template)
end

--- The templates of an einsum in their order; without a number those of all einsums.
---@param space einloom.Space
---@param i? integer number of the einsum
---@return einloom.SearchTemplate[]
function template.list(space, i)
  if i ~= nil and not space.steps[i] then
    errors.raise("bad_argument", ("einsums are 1 to %d, not %s"):format(#space.steps,
      tostring(i)), { path = "space:templates" })
  end
  local list = {}
  for step = i or 1, i or #space.steps do
    for number in ipairs(space:list(step)) do list[#list + 1] = new(space, step, number) end
  end
  return list
end

-- ---- formulas ----

--- The mapping of the einsum with its open tiles as symbols tile1, tile2, ... by loop.
---@return einloom.Mapping
function Template:mapping()
  local t, nodes, k = self.space:list(self.step)[self.number], {}, 0
  local levels, shapes = t.way.levels, analysis.tiles(self.space.case, t)
  for _, node in ipairs(t.nodes) do
    if node.tensor then
      local kind = node.toll and loom.toll_node or loom.storage
      nodes[#nodes + 1] = kind {
        levels[node.level].name, node.tensor.name,
        persistent = not node.toll and node.backs and node.tensor.persistent or nil,
      }
    else
      k = k + 1
      local tile = shapes[k]
      local kind = node.dim and loom.spatial or loom.temporal
      nodes[#nodes + 1] = kind {
        node.variable, tile_shape = tile,
        component = node.dim and levels[node.level].name or nil, dim = node.dim and node.dim.name,
      }
    end
  end
  nodes[#nodes + 1] = loom.compute_node { t.way.compute, einsum = self.einsum }
  return loom.mapping(nodes)
end

--- The analysis of the template: formulas in its open tiles.
---@return einloom.Result
function Template:analyze()
  local space = self.space
  local result, message, kind = loom.analyze(space.workload, space.arch, self:mapping(), {
    model = space.options.model, allow_unmapped_einsums = true,
  })
  if not result then errors.raise(kind, message) end
  return result
end

--- Tiles by the names that they have in formulas.
---@param list integer[] tiles of all loops
---@return table<string, integer>
function Template:point(list)
  arguments.list(list, "template:point", "a list of tiles")
  local point = {}
  for k, loop in ipairs(self.loops) do
    if loop.tile then point[loop.tile] = list[k] end
  end
  return point
end

-- ---- points ----

local function chains(self)
  local own = self.nest
  own.lists = own.lists
    or tiles.chains(self.space.options, self.space.steps[self.step], own)
  return own.lists
end

--- How many tiles the loops can have, rules about variables together not asked.
---@return integer
function Template:size() return tiles.count(chains(self)) end

--- The rule about this einsum alone that tiles break, or nil.
---@param list integer[]
---@return string?
function Template:check(list)
  arguments.list(list, "template:check", "a list of tiles")
  local part, rule = draw.part(self.space, self.step, self.number, list)
  return not part and rule or nil
end

--- Goes through the tiles that keep to every rule about the einsum alone.
---@return fun(): integer[]?
function Template:points()
  local each = tiles.each(self.space.options, self.nest, chains(self))
  return function()
    local list = each()
    while list and self:check(list) do list = each() end
    return list and table.move(list, 1, #list, 1, {})
  end
end

--- Goes through the tiles that keep to every rule about loops, as blocks of columns: the k-th
--- column has the tiles of the k-th loop. Memories are not asked: `evaluate` does.
---@param size? integer points of a block at most, 4096 unless given
---@return fun(): integer[][]?
function Template:blocks(size)
  arguments.count(size, "template:blocks", "points of a block")
  local each = tiles.each(self.space.options, self.nest, chains(self))
  return function()
    local columns, n = {}, 0
    for k in ipairs(self.loops) do columns[k] = {} end
    while n < (size or 4096) do
      local list = each()
      if not list then break end
      n = n + 1
      for k, tile in ipairs(list) do columns[k][n] = tile end
    end
    return n > 0 and columns or nil
  end
end

-- ---- figures of many points ----

local function bad_tiles(self, k, message, ...)
  errors.raise("bad_argument", ("loop %d of %d (%s): " .. message):format(k, #self.loops,
    self.loops[k].variable, ...), { path = "template:evaluate" })
end

local function open_columns(self, columns)
  local inputs, n = {}, nil
  arguments.list(columns, "template:evaluate", "columns of tiles")
  for i, k in ipairs(self.nest.open) do
    local column = columns[k]
    if type(column) ~= "table" or n and #column ~= n then
      bad_tiles(self, k, "a column of %s tiles was expected", n or "its")
    end
    inputs[i], n = column, #column
  end
  return inputs, n or columns[1] and #columns[1] or 1
end

-- For each point the first limit that it exceeds, or false.
local function broken(limits, n)
  local rule = {}
  for p = 1, n do rule[p] = false end
  for _, limit in ipairs(limits) do
    local column, most = limit.column, limit.most
    for p = 1, n do
      if column[p] > most and not rule[p] then rule[p] = limit.rule end
    end
  end
  return rule
end

-- The outputs of a program of open tiles; raises unless these are integers from 1 to the size of
-- their variable.
local function figures_of(self, program, inputs)
  local open, sizes, most = self.nest.open, self.space.steps[self.step].sizes, {}
  for i, k in ipairs(open) do most[i] = sizes[self.loops[k].variable] end
  local out, i, p = program:eval(inputs, most)
  if not out then
    bad_tiles(self, open[i], "tile %d is %s, not an integer from 1 to %d", p,
      tostring(inputs[i][p]), most[i])
  end
  return out
end

---@class einloom.TemplateFigures
---@field energy number[]
---@field latency number[]
---@field bits table<string, number[]> by memory
---@field rule (string|false)[] the limit that is exceeded: "capacity:GLB", "fanout:PE.x"

--- Figures of many points, in double. The k-th column has the tiles of the k-th loop; columns of
--- loops without an open tile may be missing.
---@param columns integer[][]
---@return einloom.TemplateFigures
function Template:evaluate(columns)
  local program, components = nest.block(self.space, self.nest)
  local inputs, n = open_columns(self, columns)
  local out, bits, limits = figures_of(self, program, inputs), {}, {}
  for i, row in ipairs(self.nest.spatial) do
    limits[#limits + 1] = {
      rule = "fanout:" .. row.component .. "." .. row.dim, most = row.count,
      column = out[2 + #components + i],
    }
  end
  for i, component in ipairs(components) do
    bits[component.name] = out[2 + i]
    if component.size < math.huge then
      limits[#limits + 1] = {
        rule = "capacity:" .. component.name, most = component.size, column = out[2 + i],
      }
    end
  end
  return { energy = out[1], latency = out[2], bits = bits, rule = broken(limits, n) }
end

-- Figures of one point of a block.
local function figures_at(result, p)
  local bits = {}
  for name, column in pairs(result.bits) do bits[name] = column[p] end
  return goals.complete { energy = result.energy[p], latency = result.latency[p], bits = bits }
end

--- The tiles with the least value, of all that keep to every rule about the einsum alone: of a
--- figure by name, or of a function of energy, latency, energy_delay_product and bits by memory.
---@param f "energy"|"latency"|"energy_delay_product"|fun(figures: table): number?
---@return integer[]? tiles
---@return table? figures
function Template:best(f)
  local names = { energy = true, latency = true, energy_delay_product = true }
  if type(f) ~= "function" and not names[f] then
    errors.raise("bad_argument", ("no figure '%s'%s"):format(tostring(f),
      errors.hint(tostring(f), errors.keys(names))), { path = "template:best" })
  end
  local value = type(f) == "function" and f or function(figures) return figures[f] end
  local best, least, figures
  for columns in self:blocks() do
    local result = self:evaluate(columns)
    for p, rule in ipairs(result.rule) do
      if not rule then
        local own = figures_at(result, p)
        local x = value(own)
        if x and (not least or x < least) then
          best, least, figures = {}, x, own
          for k, column in ipairs(columns) do best[k] = column[p] end
        end
      end
    end
  end
  return best, figures
end

return template
