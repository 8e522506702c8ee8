-- SPDX-License-Identifier: MIT
-- What a kernel holds near its units, so that it is loaded and stored once: a value that several
-- einsums of a kernel use becomes a tensor of its own, which is held where they all are, in the
-- innermost memory that has room; a copy loads it from, or stores it to, the tensor in memory.

local core = require "einloom.core"
local einsums = require "einloom.kernels.einsums"

local holding = {}

---@class einloom.Hold
---@field tensor string
---@field component string
---@field section? integer in the loop of that section; nil: around all sections

-- One value: a tensor at an index, and who uses it.
local function value_of(state, access)
  local key = access.tensor .. "[" .. access.text .. "]"
  local value = state.by_key[key]
  if not value then
    value = { access = access, uses = {}, sections = {}, n_sections = 0 }
    state.by_key[key] = value
    state.values[#state.values + 1] = value
  end
  return value
end

local function note_use(state, access, section, item, writes)
  local value = value_of(state, access)
  value.uses[#value.uses + 1] = { access = access, section = section, item = item }
  if not value.sections[section] then
    value.sections[section] = 0
    value.n_sections = value.n_sections + 1
  end
  value.sections[section] = value.sections[section] + 1
  if writes then value.writer = { section = section, item = item } end
end

-- Values in order of their first use; an einsum that reads a tensor at two places needs each of
-- them as a tensor of its own.
local function values_of(state, sections)
  for s, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      local first = {}
      for _, access in ipairs(item.inputs) do
        note_use(state, access, s, item)
        local before = first[access.tensor]
        if before and before ~= access.text then
          value_of(state, access).apart = true
        end
        first[access.tensor] = before or access.text
      end
      for _, access in ipairs(item.outputs) do note_use(state, access, s, item, true) end
    end
  end
end

-- ---- where ---------------------------------------------------------------------------------

local function variables_in(state, access)
  local found = {}
  for _, form in ipairs(access.indices) do
    for _, name in ipairs(form.names) do found[name] = true end
  end
  local list = {}
  for _, variable in ipairs(state.variables) do
    if found[variable.name] then list[#list + 1] = variable end
  end
  return list
end

-- How much a value is around all sections at one point of the grid.
local function row_values(state, access)
  local values = core.int(1)
  for _, variable in ipairs(variables_in(state, access)) do
    if variable.reduced then values = values * variable.size end
  end
  return values
end

---@class einloom.KernelMemory
---@field name string
---@field room? einloom.Expr bits that are left; nil: without limit
---@field bits fun(tensor: string): einloom.Value of one value
---@field may_hold fun(tensor: string): boolean

--- Takes room in a memory; false where it may not hold the tensor or surely has not so much.
---@param memory einloom.KernelMemory
---@param tensor string
---@param values einloom.Expr
---@return boolean
function holding.take(memory, tensor, values)
  if not memory.may_hold(tensor) then return false end
  if not memory.room then return true end
  local bits = values * memory.bits(tensor)
  if memory.room:lt(bits) == true then return false end
  memory.room = memory.room - bits
  return true
end

-- The innermost memory that may hold the tensor and has room, which is taken; nil without one.
local function take(state, tensor, values)
  for i = #state.memories, 1, -1 do
    local memory = state.memories[i]
    if holding.take(memory, tensor, values) then return memory.name end
  end
end

-- ---- copies --------------------------------------------------------------------------------

local function fresh(state, name) return einsums.fresh(state.taken, name) end

-- A tensor that holds the value at each point of the loops that it depends on.
local function held_access(state, value)
  local indices = {}
  for i, variable in ipairs(variables_in(state, value.access)) do
    indices[i] = { constant = 0, names = { variable.name }, terms = { [variable.name] = 1 } }
  end
  return einsums.access(fresh(state, value.access.tensor .. "_held"), indices)
end

local function copy_of(state, from, to, name)
  return einsums.copy(fresh(state, name), from, to)
end

local function replace(list, old, new)
  for i, access in ipairs(list) do
    if access == old then list[i] = new end
  end
end

-- Uses of the value in these sections become uses of what is held.
local function redirect(value, held, section)
  for _, use in ipairs(value.uses) do
    if not section or use.section == section then
      replace(use.item.inputs, use.access, held)
      replace(use.item.outputs, use.access, held)
    end
  end
end

local function place_of(items, item)
  for i, one in ipairs(items) do
    if one == item then return i end
  end
end

-- ---- holding -------------------------------------------------------------------------------

-- A value around all sections: loaded before the first, stored behind the one that makes it. What
-- a reduction alone uses is held as it is.
local function hold_row(state, value, component)
  local access = value.access
  if not state.external(access.tensor) or #value.uses == 1 then
    state.holds[#state.holds + 1] = { tensor = access.tensor, component = component }
    return
  end
  local held = held_access(state, value)
  redirect(value, held)
  state.bits[held.tensor] = state.bits[access.tensor]
  state.holds[#state.holds + 1] = { tensor = held.tensor, component = component }
  if value.writer then
    local copy = copy_of(state, held, access, "store_" .. access.tensor)
    state.behind[value.writer.section] = state.behind[value.writer.section] or {}
    table.insert(state.behind[value.writer.section], copy)
  else
    table.insert(state.before, copy_of(state, access, held, "load_" .. access.tensor))
  end
end

-- The place of the first item of a section that uses the value.
local function first_use(value, items, section)
  for _, use in ipairs(value.uses) do
    if use.section == section then return place_of(items, use.item) end
  end
end

-- A value inside one section.
local function hold_local(state, sections, value, section, component)
  local access, items = value.access, sections[section].items
  local writer = value.writer and value.writer.section == section and value.writer.item
  if writer and not state.external(access.tensor) and value.n_sections == 1 then
    state.holds[#state.holds + 1] =
      { tensor = access.tensor, component = component, section = section }
    return
  end
  local held, place = held_access(state, value), first_use(value, items, section)
  redirect(value, held, section)
  state.bits[held.tensor] = state.bits[access.tensor]
  state.holds[#state.holds + 1] = { tensor = held.tensor, component = component, section = section }
  if writer then
    table.insert(items, place_of(items, writer) + 1,
      copy_of(state, held, access, "store_" .. access.tensor))
  else
    table.insert(items, place, copy_of(state, access, held, "load_" .. access.tensor))
  end
end

local function hold_sections(state, sections, value)
  for section = 1, #sections do
    local uses = value.sections[section] or 0
    if uses > 1 or value.apart and uses > 0 then
      local component = take(state, value.access.tensor, core.int(1))
      if component then hold_local(state, sections, value, section, component) end
    end
  end
end

-- How many of the variables are loops over the reduction, or not.
local function count(variables, reduced)
  local n = 0
  for _, variable in ipairs(variables) do n = n + (variable.reduced == reduced and 1 or 0) end
  return n
end

-- Whether the value depends on every loop of the grid, or over the reduction.
local function follows(state, value, reduced)
  return count(variables_in(state, value.access), reduced) == count(state.variables, reduced)
end

-- Whether the value is the same all along a loop over the reduction in which it is used.
local function is_steady(state, sections, value)
  for section in pairs(value.sections) do
    if sections[section].inside then return not follows(state, value, true) end
  end
  return false
end

-- What is read as it is, by each einsum for itself: kept along loops that do not change it, unless
-- the only memory keeps it for other points of the grid too.
local function hold_read(state, sections, value)
  local tensor = value.access.tensor
  if state.direct[tensor] or not is_steady(state, sections, value) then return end
  if #state.memories == 1 and not follows(state, value, false) then return end
  local component = take(state, tensor, #value.uses * row_values(state, value.access))
  if not component then return end
  state.direct[tensor] = true
  state.holds[#state.holds + 1] = { tensor = tensor, component = component }
end

local function hold(state, sections, value)
  local reduces = value.writer and value.writer.item.reduces
  -- What other points of the grid use too is for memories above the grid to hold.
  local alone = #value.uses == 1 or not follows(state, value, false)
  if not value.writer and not value.apart and alone then
    return hold_read(state, sections, value)
  end
  if value.n_sections > 1 or reduces or is_steady(state, sections, value) then
    local component = take(state, value.access.tensor, row_values(state, value.access))
    if component then return hold_row(state, value, component) end
  end
  if not reduces then hold_sections(state, sections, value) end
end

-- The sections with what is loaded before all of them and stored behind each.
local function with_copies(state, sections)
  local all, places = {}, {}
  local function add(copies)
    for _, copy in ipairs(copies or {}) do all[#all + 1] = { inside = true, items = { copy } } end
  end
  add(state.before)
  for s, section in ipairs(sections) do
    all[#all + 1] = section
    places[s] = #all
    add(state.behind[s])
  end
  for _, one in ipairs(state.holds) do one.section = one.section and places[one.section] end
  return all
end

--- Holds what several einsums of a kernel use; the sections change.
---@param sections einloom.KernelSection[]
---@param variables einloom.KernelVariable[]
---@param given { bits: table<string, integer>, external: (fun(tensor: string): boolean) }
---@param memories einloom.KernelMemory[] in which one unit may hold its own
---@return einloom.KernelSection[]
---@return einloom.Hold[]
function holding.of(sections, variables, given, memories)
  local state = { values = {}, by_key = {}, variables = variables, bits = given.bits,
    external = given.external, memories = memories, holds = {}, before = {}, behind = {},
    taken = einsums.names(sections), direct = {} }
  values_of(state, sections)
  for _, value in ipairs(state.values) do hold(state, sections, value) end
  return with_copies(state, sections), state.holds
end

return holding
