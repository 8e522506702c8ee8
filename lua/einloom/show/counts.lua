-- SPDX-License-Identifier: MIT
-- What the counts of one buffet are made of: the loops above its holder and how each acts, the
-- values of one visit, the actions of one value. Only says what a result already holds.

local arch_module = require "einloom.arch"
local buffets = require "einloom.result.buffet"
local core = require "einloom.core"
local nest_show = require "einloom.show.nest"
local result = require "einloom.result"
local sets = require "einloom.sets"

local counts = {}

---@class einloom.CountsView
---@field einsum einloom.EinsumResult with its formulas
---@field buffet einloom.Buffet
---@field tensor string
---@field level string
---@field nest table[] of the tensor
---@field position? integer of the holder in the nest; nil in copies
---@field parent? string the next outer holder
---@field loops table[] above the holder: {node =, class =, shared =}

function counts.is_loop(node) return node.kind == "temporal" or node.kind == "spatial" end

local function is_holder(node)
  return not counts.is_loop(node) and node.kind ~= "reservation" and node.kind ~= "compute"
end

local function is_level(node) return is_holder(node) or node.kind == "compute" end

-- ---- loops ----------------------------------------------------------------------------------

local function relevancy(view, variable)
  for _, form in ipairs(view.access.affine) do
    for _, term in ipairs(form.terms) do
      if term[1] == variable then
        local alone = #form.terms == 1 and form.constant == 0 and not form.steps
        return alone and "relevant" or "partially relevant"
      end
    end
  end
  return "irrelevant"
end

local function component(view, name)
  return view.arch:component(name)
end

local function may_reuse(view, node)
  for _, dimension in ipairs(component(view, node.component).spatial) do
    if dimension.name == node.dim then
      return arch_module.reusable(dimension, view.context, node.component)[view.tensor] == true
    end
  end
  return false
end

local function loops_above(view)
  local loops, outermost = {}, true
  for i = view.position - 1, 1, -1 do
    local node = view.nest[i]
    if is_holder(node) then outermost = false end
    if counts.is_loop(node) then
      local class = relevancy(view, node.variable)
      local shared = node.kind == "spatial" and outermost and class == "irrelevant"
        and may_reuse(view, node)
      table.insert(loops, 1, { node = node, class = class, shared = shared })
    end
  end
  return loops
end

--- Which loops multiply a count.
function counts.every() return true end
function counts.not_shared(loop) return not loop.shared end
function counts.first_touch(loop)
  if loop.node.kind == "spatial" then return not loop.shared end
  return loop.class == "relevant"
end

-- The loops of each variable that does not index the tensor and that no units share, in order.
local function loops_by_variable(view)
  local list, found = {}, {}
  for _, loop in ipairs(view.loops) do
    local variable = loop.node.variable
    if loop.class == "irrelevant" and not loop.shared then
      if not found[variable] then
        found[variable] = { variable = variable, loops = {} }
        list[#list + 1] = found[variable]
      end
      table.insert(found[variable].loops, loop)
    end
  end
  return list
end

--- How often clipped tiles of a tensor come again: loops, one for each variable that does not index
--- it and is walked whole.
---@param view einloom.CountsView
---@return table[]
function counts.again(view)
  local again = {}
  for _, entry in ipairs(loops_by_variable(view)) do
    local innermost = entry.loops[#entry.loops].node
    if #entry.loops > 1 and innermost.tile:eq(1) == true then
      local trips = core.sum { view.einsum:size(entry.variable) }
      again[#again + 1] = { node = { variable = entry.variable, trips = trips } }
    else
      table.move(entry.loops, 1, #entry.loops, #again + 1, again)
    end
  end
  return again
end

--- Values of the whole tensor, or nil where an index is no variable alone.
---@return userdata?
function counts.whole(view)
  local sizes = { core.int(1) }
  for _, form in ipairs(view.access.affine) do
    local only = #form.terms == 1 and not form.steps and form.terms[1]
    if #form.terms > 1 or only and only[2] ~= 1 or form.steps then return nil end
    if only then sizes[#sizes + 1] = core.sum { view.einsum:size(only[1]) } end
  end
  return core.product(sizes)
end

--- A first factor times the trips of some loops: as text and as an expression; nil where there is
--- no first factor, or a loop has no one number of trips.
---@param first? userdata
---@param loops table[]
---@param multiplies fun(loop: table): boolean
---@return string?, userdata?
function counts.product(first, loops, multiplies)
  if not first then return nil end
  local factors, values = { tostring(first) }, { first }
  for _, loop in ipairs(loops) do
    if multiplies(loop) and not loop.node.trips then return nil end
  end
  for _, loop in ipairs(loops) do
    if multiplies(loop) then
      factors[#factors + 1] = ("(%s: %s)"):format(loop.node.variable, loop.node.trips)
      values[#values + 1] = loop.node.trips
    end
  end
  return table.concat(factors, " x "), core.product(values)
end

-- ---- values and actions -----------------------------------------------------------------------

local function extents_at(view, position)
  local extents = {}
  for _, variable in ipairs(view.einsum:variables_of(view.tensor)) do
    extents[variable] = view.einsum:size(variable)
  end
  for i = 1, position do
    local node = view.nest[i]
    if node.variable and extents[node.variable] then extents[node.variable] = node.tile end
  end
  return extents
end

--- Values that go in or out with one visit.
---@return userdata
function counts.fill(view)
  if view.nest[view.position].kind == "compute" then return core.int(1) end
  if view.exact then return view.buffet.values end
  return view.einsum:values_in(view.tensor, extents_at(view, view.position))
end

-- The tensor's value in a field that may be keyed by sets.
local function of_tensor(view, field, path)
  if field == nil then return nil end
  return sets.resolve(field, view.context, path)[view.tensor]
end

--- Actions of one value moved; an action that is not given moves one bit.
---@param name string "read" or "write"
---@return userdata
function counts.rate(view, name)
  local node = component(view, view.level)
  local action = {}
  for _, given in ipairs(node.actions or {}) do
    if given.name == name then action = given end
  end
  local values = of_tensor(view, action.values_per_action, node.name)
    or of_tensor(view, node.values_per_action, node.name)
  if values then return 1 / core.sum { values } end
  local bits = of_tensor(view, node.bits_per_value, node.name) or view.access.bits_per_value
  return core.sum { bits } / (action.bits_per_action or 1)
end

--- "up", "down" or "up_and_down": what a toll counts of the tensor.
---@return string
function counts.direction(view)
  local node = component(view, view.level)
  return of_tensor(view, node.direction, node.name) or "up_and_down"
end

--- The buffet of the tensor next further in, or nil.
---@return einloom.Buffet?
function counts.child(view)
  for i = view.position + 1, #view.nest do
    local node = view.nest[i]
    if is_level(node) then return view.einsum.levels[node.component][view.tensor] end
  end
end

-- ---- the view ---------------------------------------------------------------------------------

local function access_of(definition, tensor)
  for _, access in ipairs(definition.tensors) do
    if access.tensor == tensor then return access end
  end
end

local function position_of(nest, level)
  for i, node in ipairs(nest) do
    if is_level(node) and node.component == level then return i end
  end
end

--- What there is to know of a buffet.
---@param buffet einloom.Buffet
---@return einloom.CountsView
function counts.view(buffet)
  local einsum = buffets.einsum_of(buffet)
  local _, formulas = result.formulas(einsum)
  local workload, arch = result.context_of(einsum)
  local view = {
    einsum = formulas, tensor = buffet.tensor, level = buffet.level, arch = arch,
    buffet = formulas.levels[buffet.level][buffet.tensor], nest = formulas:nest(buffet.tensor),
    definition = formulas:definition(), context = workload:context(formulas.name),
  }
  view.exact = result.conventions_of(einsum).model == "exact"
  view.access = access_of(view.definition, view.tensor)
  view.position = position_of(view.nest, view.level)
  view.parent = nest_show.parent_of(formulas, view.buffet)
  view.loops = view.definition.is_copy and {} or loops_above(view)
  for _, node in ipairs(view.nest) do view.patterned = view.patterned or node.first ~= nil end
  return view
end

return counts
