-- SPDX-License-Identifier: MIT
-- A template as a mapping of the core, analysed and costed with symbols for its tiles, and what the
-- engine has to know beside the costs.

local core = require "einloom.core"
local model = require "einloom.model"

local analysis = {}

-- The memory that stands for places at which einsums go apart.
local SPLITS = ""
analysis.splits = SPLITS

local symbols = {}

-- The tile of the i-th loop: one symbol for all templates, so that formulas meet again.
local function symbol(i)
  local s = symbols[i]
  if not s then
    s = core.symbol("tile" .. i)
    symbols[i] = s
  end
  return s
end

---@class einloom.CoreTemplate
---@field loops table[] {variable =, dimension =, tile =}, numbers from 0
---@field n_fused integer
---@field border boolean[]
---@field backings table[]

-- The last loop of each variable cuts it into single values.
local function last_loops(nodes)
  local last = {}
  for _, node in ipairs(nodes) do
    if node.variable then last[node.variable] = node end
  end
  return last
end

local function add_holder(built, way, node)
  local component = way.levels[node.level].name
  local index
  if node.toll then
    index = built:toll(0, component, not node.fixed)
  else
    index = built:storage(0, component, node.backs and node.tensor.persistent or false,
      not node.fixed)
  end
  built:tensor(index, node.tensor.name)
end

-- Numbers of dimensions that the way of a template does not pass.
local function absent_dimensions(way, dimensions)
  local here, absent, seen = {}, {}, {}
  for _, level in ipairs(way.levels) do
    for _, d in ipairs(level.dims) do here[dimensions[d]] = true end
  end
  for _, number in pairs(dimensions) do
    if not here[number] and not seen[number] then absent[#absent + 1] = number end
    seen[number] = true
  end
  return absent
end

--- What the engine needs of a template; `numbers` has the numbers of variables, dimensions, shared
--- tensors and memories of the einsum's space.
---@param case einloom.SearchProblem
---@param template einloom.Template
---@param numbers table
---@return einloom.CoreTemplate
function analysis.describe(case, template, numbers)
  local tiles, loops, border, backings = analysis.tiles(case, template), {}, {}, {}
  local under, n_fused = false, 0
  for _, node in ipairs(template.nodes) do
    if node.tensor then
      under = true
      if node.backs and node.tensor.shared then
        backings[#backings + 1] = {
          tensor = numbers.tensors[node.tensor.name], n_loops = n_fused,
          memory = numbers.memories[template.way.levels[node.level].name],
        }
      end
    else
      local i = #loops + 1
      loops[i] = {
        variable = numbers.variables[node.variable],
        dimension = node.dim and numbers.dimensions[node.dim] or nil,
        tile = tiles[i] ~= 1 and tiles[i] or nil, tiles = node.tiles, pinned = node.pinned,
      }
      if node.fused then
        n_fused = n_fused + 1
        border[n_fused] = under or node.border or false
      end
      under = false
    end
  end
  for _, split in ipairs(template.splits) do
    backings[#backings + 1] = {
      tensor = numbers.splits[split.split], memory = numbers.memories[SPLITS],
      n_loops = split.n_loops,
    }
  end
  return {
    loops = loops, n_fused = n_fused, border = border, backings = backings,
    absent = absent_dimensions(template.way, numbers.dimensions),
  }
end

--- The tiles of the loops of a template: a symbol each, 1 for the last loop of a variable. In the
--- model `exact` a tile divides the one outside of it, so that formulas are those of even tiles.
---@param case einloom.SearchProblem
---@param template einloom.Template
---@return (einloom.Expr|integer)[]
function analysis.tiles(case, template)
  local tiles, last, outer = {}, last_loops(template.nodes), {}
  for _, node in ipairs(template.nodes) do
    local v = node.variable
    if v then
      local i = #tiles + 1
      tiles[i] = last[v] == node and 1 or symbol(i)
      if case.options.model == "exact" and last[v] ~= node then
        tiles[i] = core.symbol("tile" .. i, { divides = outer[v] or template.way.sizes[v] })
        outer[v] = tiles[i]
      end
    end
  end
  return tiles
end

local function add_loop(built, way, node, tile)
  if node.dim then
    built:spatial(0, node.variable, tile, nil, way.levels[node.level].name, node.dim.name)
  else
    built:temporal(0, node.variable, tile)
  end
end

local function build(template, tiles)
  local way, built, i = template.way, core.mapping(), 0
  for _, node in ipairs(template.nodes) do
    for _, unit in ipairs(node.units or {}) do add_loop(built, way, unit, 1) end
    if node.tensor then
      add_holder(built, way, node)
    else
      i = i + 1
      add_loop(built, way, node, tiles[i])
    end
  end
  for _, unit in ipairs(template.units) do add_loop(built, way, unit, 1) end
  built:compute(0, way.einsum, way.compute)
  return built
end

--- The costs of a template with symbols for tiles.
---@param case einloom.SearchProblem
---@param template einloom.Template
---@return userdata? costs, string? message, string? kind
function analysis.costs(case, template)
  local w = model.compile_workload(case.workload)
  local a = model.compile_arch(case.workload, case.arch)
  local built = build(template, analysis.tiles(case, template))
  local result, message, kind = core.analyze(w, a, built, {
    model = case.options.model, allow_unmapped_einsums = true,
    round_trips = template.way.uneven ~= nil,
  })
  if not result then return nil, message, kind end
  return core.cost(result, w, a, built, {
    allow_exceeded_limits = true, leave_undecided = true, latencies = model.latencies(case.arch),
  })
end

return analysis
