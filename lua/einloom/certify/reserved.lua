-- SPDX-License-Identifier: MIT
-- What the holders of a template reserve in memories with a limit.  There is a template for every
-- way in which reservations sink, but for holders right above one of a shared tensor, which may
-- stand higher in a mapping: what counts of them is the furthest that they can sink
-- (doc/formulas.md#certificates-reservations).

local core = require "einloom.core"
local errors = require "einloom.errors"
local holds = require "einloom.search.holds"
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

local function is_sum(holder, loop)
  return not loop.dim and holder.tensor.relevancy[loop.variable] == "partial"
end

-- Whether a reservation may sink through a loop.
local function passes(holder, loop)
  return not loop.dim and holder.tensor.relevancy[loop.variable] ~= nil
end

local function joined(list, ...)
  local longer = table.move(list, 1, #list, 1, {})
  for _, x in ipairs { ... } do longer[#longer + 1] = x end
  return longer
end

-- Whether a holder may stand above another one in a mapping of which there is no template with the
-- two in that order: an outermost one of a shared tensor that has to stand below.
local function may_be_above(template, at, i)
  local way, holder, node = template.way, template.nodes[at], template.nodes[i]
  local rises = node.backs and node.tensor.shared and holds.precedes(way, holder, node)
  if not rises or not holds.sinks_past(way, holder, node) then return rises or false end
  for k = i + 1, #template.nodes do
    local other = template.nodes[k]
    if other.tensor and other.backs and other.tensor.shared then return true end
  end
  return false
end

-- The loops between holders below a node, place after place, as long as what is in between may
-- stand above the node.
local function places_below(template, at, number, loops)
  local list, place = {}, {}
  for i = at + 1, #template.nodes do
    local node = template.nodes[i]
    if node.variable then
      number = number + 1
      place[#place + 1] = loops[number]
    else
      list[#list + 1], place = place, {}
      if not may_be_above(template, at, i) then return list end
    end
  end
  list[#list + 1] = place
  return list
end

-- Whether there is a template for every loop in a sum that a reservation may sink into first.
local function has_each_order(way, holder, place)
  local n = 0
  for _, loop in ipairs(place) do n = n + (is_sum(holder, loop) and 1 or 0) end
  return n < 2 or way.every_order
end

-- The places where the reservation of a holder may end, outermost first: that of the template, and
-- where not every order has one and behind holders of shared tensors the furthest there may be.
local function stages_of(template, at, loops, own)
  local holder, number = template.nodes[at], 0
  for i = 1, at do
    if template.nodes[i].variable then number = number + 1 end
  end
  local above, stages = table.move(loops, 1, number, 1, {}), { { above = own, needs = {} } }
  local needs
  for _, place in ipairs(places_below(template, at, number, loops)) do
    if needs or not has_each_order(template.way, holder, place) then
      local furthest = above
      for _, loop in ipairs(place) do
        if passes(holder, loop) then furthest = joined(furthest, loop) end
      end
      stages[#stages + 1] = { above = furthest, needs = needs or {} }
    end
    above, needs = joined(above, table.unpack(place)), place
  end
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
  result.stages = stages_of(template, at, loops, own)
  for _, stage in ipairs(result.stages) do stage.bits = width * values(stage.above) end
  return result
end

return reserved
