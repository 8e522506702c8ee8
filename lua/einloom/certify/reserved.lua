-- SPDX-License-Identifier: MIT
-- What the holders of a template reserve in memories with a limit.  In a mapping, loops with one
-- trip are gone, holders of shared tensors may stand higher, and fused loops of one place in
-- another order, so a reservation may sink further than in the template; what counts is the
-- furthest that it can (doc/formulas.md#certificates-reservations).

local core = require "einloom.core"
local errors = require "einloom.errors"
local model = require "einloom.model"
local readonly = require "einloom.readonly"

local reserved = {}

---@class einloom.Reserved
---@field memory string
---@field tensor string
---@field backs boolean of a shared tensor
---@field persistent boolean
---@field stages einloom.ReservedStage[] places of the reservation, outermost first

---@class einloom.ReservedStage
---@field above table[] loops above
---@field bits einloom.Expr
---@field needs table[] loops that have to have one trip for the stage before not to be the last

local function position_of(list, key, name)
  for i, x in ipairs(list) do
    if x[key] == name then return i end
  end
  return nil
end

-- Values of a tensor's tile under the first n loops, as a formula.
local function occupancy_of(case, way, tensor)
  local w = readonly.raw(case.workload)
  local e = position_of(w.einsums, "name", way.einsum)
  local a = position_of(w.einsums[e].tensors, "tensor", tensor.name)
  local built = model.compile_workload(case.workload)
  return function(extents)
    local values, message, kind = built:tile_occupancy(e - 1, a - 1, extents)
    if not values then errors.raise(kind, message) end
    return values
  end
end

-- The loops of a template with their tiles as symbols: {variable, j, tile, dim, level, fused}.
local function loops_of(template)
  local last, list, count = {}, {}, {}
  for _, node in ipairs(template.nodes) do
    if node.variable then
      local v = node.variable
      count[v] = (count[v] or 0) + 1
      list[#list + 1] = {
        variable = v, j = count[v], dim = node.dim, level = node.level, fused = node.fused,
        tile = core.symbol("tile" .. #list + 1),
      }
      last[v] = list[#list]
    end
  end
  for _, loop in pairs(last) do loop.tile = core.int(1) end
  return list
end

local function extents_under(way, loops)
  local extents = {}
  for v, size in pairs(way.sizes) do extents[v] = size end
  for _, loop in ipairs(loops) do extents[loop.variable] = loop.tile end
  return extents
end

-- Whether a reservation passes a loop that runs more than once, and whether it goes on behind it.
local function passes(holder, loop)
  if loop.dim then return loop.level == holder.level, loop.level == holder.level end
  local relevancy = holder.tensor.relevancy[loop.variable]
  return relevancy ~= nil, relevancy == "relevant"
end

local function joined(list, ...)
  local longer = table.move(list, 1, #list, 1, {})
  for _, x in ipairs { ... } do longer[#longer + 1] = x end
  return longer
end

-- Fused loops of one place may come in any order: those that are passed first. A holder below
-- stands higher only if no loop with several trips is in between.
local function add_fused_place(stages, holder, place, above, needs)
  local passed = above
  for _, loop in ipairs(place) do
    if passes(holder, loop) then passed = joined(passed, loop) end
  end
  stages[#stages + 1] = { above = passed, needs = needs }
  return place
end

-- Others stand as they do.
local function add_place(stages, holder, place, above, needs)
  for _, loop in ipairs(place) do
    local into, on = passes(holder, loop)
    if not on then
      stages[#stages + 1] = { above = into and joined(above, loop) or above, needs = needs }
      needs = { loop }
    end
    above = joined(above, loop)
  end
  return needs
end

-- The loops between holders below a node, place after place, up to a holder that stays where it is.
local function places_below(template, at, number, loops)
  local list, place = {}, {}
  for i = at + 1, #template.nodes do
    local node = template.nodes[i]
    if node.variable then
      number = number + 1
      place[#place + 1] = loops[number]
    else
      if #place > 0 then list[#list + 1] = place end
      place = {}
      if not (node.backs and node.tensor.shared) then return list end
    end
  end
  if #place > 0 then list[#list + 1] = place end
  return list
end

-- The places where the reservation of a holder may end, outermost first.
local function stages_of(template, at, loops)
  local holder, number = template.nodes[at], 0
  for i = 1, at do
    if template.nodes[i].variable then number = number + 1 end
  end
  local above, stages, needs = table.move(loops, 1, number, 1, {}), {}, {}
  local fused = false
  for _, place in ipairs(places_below(template, at, number, loops)) do
    fused = place[1].fused
    needs = (fused and add_fused_place or add_place)(stages, holder, place, above, needs)
    above = joined(above, table.unpack(place))
  end
  if not fused then stages[#stages + 1] = { above = above, needs = needs } end
  return stages
end

local function find_holder(template, row)
  for i, node in ipairs(template.nodes) do
    if node.tensor and node.tensor.name == row.tensor
      and template.way.levels[node.level].name == row.component then
      return i
    end
  end
  if template.way.is_copy then return nil end
  return errors.raise("bound", ("%s does not hold %s"):format(row.component, row.tensor))
end

--- What one row of the costs may be in a mapping; nil where a copy has one for a tensor that it
--- holds under another name, which then does not count.
---@param case einloom.SearchProblem
---@param template einloom.Template
---@param row table component, tensor, n_loops_above, bits, as of the template
---@return einloom.Reserved?
function reserved.of(case, template, row)
  local at, loops = find_holder(template, row), loops_of(template)
  local node = at and template.nodes[at]
  if not node then return nil end
  local own = table.move(loops, 1, row.n_loops_above, 1, {})
  local result = {
    memory = row.component, tensor = row.tensor, persistent = row.n_loops_above < 0,
    backs = node.backs and node.tensor.shared or false,
    stages = { { above = own, bits = row.bits, needs = {} } },
  }
  if result.persistent or node.backs or template.way.is_copy then return result end
  local occupancy = occupancy_of(case, template.way, node.tensor)
  local function values(above) return occupancy(extents_under(template.way, above)) end
  local width = (row.bits / values(own)):expand()
  if not width:is_number() then
    errors.raise("bound", ("bits of %s in %s are not its values times a width")
      :format(row.tensor, row.component))
  end
  result.stages = stages_of(template, at, loops)
  for _, stage in ipairs(result.stages) do stage.bits = width * values(stage.above) end
  return result
end

return reserved
