-- SPDX-License-Identifier: MIT
-- What a kernel reads at several places, where a memory holds all of it: a copy before the kernel
-- loads it once, and every access reads what is held there.

local blocks = require "einloom.kernels.blocks"
local core = require "einloom.core"
local einsums = require "einloom.kernels.einsums"
local holding = require "einloom.kernels.holding"

local wholes = {}

---@class einloom.Whole
---@field from string the tensor in the memory at the top
---@field tensor string what is held of it
---@field component string
---@field item einloom.KernelItem the copy
---@field variables einloom.KernelVariable[] of the copy

-- ---- what is read ---------------------------------------------------------------------------

-- The least and the greatest value of an index; nil where a size is no number.
local function reach(sizes, form)
  local low, high = form.constant, form.constant
  for name, coefficient in pairs(form.terms) do
    local size = sizes[name]:tointeger()
    if not size then return nil end
    local most = coefficient * (size - 1)
    if most > 0 then high = high + most else low = low + most end
  end
  return low, high
end

-- The box around an access, one range for each dimension, and how many values it touches at most.
local function box_of(sizes, access)
  local box, inside, points, seen = {}, 1, 1, {}
  for d, form in ipairs(access.indices) do
    local low, high = reach(sizes, form)
    if not low then return nil end
    box[d], inside = { low = low, high = high }, inside * (high - low + 1)
    for name in pairs(form.terms) do
      if not seen[name] then points = points * sizes[name]:tointeger() end
      seen[name] = true
    end
  end
  return box, math.min(inside, points)
end

local function widen(box, other)
  for d, range in ipairs(other) do
    box[d].low, box[d].high = math.min(box[d].low, range.low), math.max(box[d].high, range.high)
  end
end

-- Tensors that are read alone, with their different accesses, in order of their first use.
local function read_tensors(sections)
  local list, by_tensor = {}, {}
  einsums.each_access(sections, function(access, output)
    local own = by_tensor[access.tensor]
    if not own then
      own = { tensor = access.tensor, accesses = {}, seen = {} }
      by_tensor[access.tensor], list[#list + 1] = own, own
    end
    own.written = own.written or output
    if not own.seen[access.text] then own.accesses[#own.accesses + 1] = access end
    own.seen[access.text] = true
  end)
  return list
end

-- The box around all that is read of a tensor, if it has fewer values than its accesses have one by
-- one.
local function box_worth(sizes, read)
  if read.written or #read.accesses < 2 then return nil end
  local box, apart, values = nil, 0, 1
  for _, access in ipairs(read.accesses) do
    local own, touched = box_of(sizes, access)
    if not own then return nil end
    if box then widen(box, own) else box = own end
    apart = apart + touched
  end
  for _, range in ipairs(box) do values = values * (range.high - range.low + 1) end
  return values < apart and box or nil, values
end

-- ---- where ---------------------------------------------------------------------------------

-- Whether a memory is cut along a loop that indexes the tensor.
local function is_cut(state, level, read)
  for _, access in ipairs(read.accesses) do
    for _, form in ipairs(access.indices) do
      for name in pairs(form.terms) do
        local block = (state.blocks[level] or {})[name]
        if block and state.tile[name]:eq(block) ~= true then return true end
      end
    end
  end
  return false
end

-- The outermost memory that may hold all of a tensor and has room: outside what runs side by side,
-- not behind a toll, and not cut along the tensor.
local function take(state, read, values)
  local below = 0
  for i, component in ipairs(state.arch.nodes) do
    local aside = component.class == "Toll" or #blocks.parallel(state, component) > 0
    if aside then return nil end
    if i > 1 and component.class == "Memory" then
      below = below + 1
      if is_cut(state, component.name, read) then return nil end
      if holding.take(state.memories[below], read.tensor, core.int(values)) then return below end
    end
  end
end

-- ---- copies --------------------------------------------------------------------------------

local function fresh(state, name) return einsums.fresh(state.taken, name) end

local function make(state, read, box, memory)
  local whole = { from = read.tensor, tensor = fresh(state, read.tensor .. "_whole"),
    component = memory.name, variables = {} }
  local from, to = {}, {}
  for d, range in ipairs(box) do
    local name = fresh(state, ("%s_%d"):format(read.tensor, d))
    whole.variables[d] = { name = name, size = core.int(range.high - range.low + 1) }
    from[d] = { constant = range.low, names = { name }, terms = { [name] = 1 } }
    to[d] = { constant = 0, names = { name }, terms = { [name] = 1 } }
  end
  whole.item = einsums.copy(fresh(state, "load_" .. read.tensor),
    einsums.access(read.tensor, from), einsums.access(whole.tensor, to))
  return whole
end

-- Every access of the tensor becomes one of what is held.
local function redirect(sections, whole, box)
  for _, section in ipairs(sections) do
    for _, item in ipairs(section.items) do
      for i, access in ipairs(item.inputs) do
        if access.tensor == whole.from then
          local indices = {}
          for d, form in ipairs(access.indices) do
            indices[d] = { constant = form.constant - box[d].low, names = form.names,
              terms = form.terms }
          end
          item.inputs[i] = einsums.access(whole.tensor, indices)
        end
      end
    end
  end
end

-- What is held may be held again further in, as the tensor may.
local function permit(memories, place, whole)
  for i, memory in ipairs(memories) do
    local may_hold = memory.may_hold
    function memory.may_hold(tensor)
      if tensor ~= whole.tensor then return may_hold(tensor) end
      return i > place and may_hold(whole.from)
    end
  end
end

--- What is held whole, where blocks are given; the sections change, and the memories have less
--- room.
---@param state table of kernels/mapping.lua
---@param sections einloom.KernelSection[]
---@return einloom.Whole[]
function wholes.of(state, sections)
  local list = {}
  if not state.blocks then return list end
  state.taken = einsums.names(sections)
  for _, variable in ipairs(state.variables) do state.taken[variable.name] = true end
  for _, read in ipairs(read_tensors(sections)) do
    local box, values = box_worth(state.tile, read)
    local place = box and take(state, read, values)
    if place then
      local whole = make(state, read, box, state.memories[place])
      redirect(sections, whole, box)
      permit(state.memories, place, whole)
      state.bits[whole.tensor] = state.bits[read.tensor]
      list[#list + 1] = whole
    end
  end
  return list
end

return wholes
