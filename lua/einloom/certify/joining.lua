-- SPDX-License-Identifier: MIT
-- Joins choices for single einsums in their order, with what memories hold while each runs, and
-- looks for a mapping that is better than what is claimed (doc/formulas.md#certificates-joining).

local completions = require "einloom.certify.completions"
local errors = require "einloom.errors"
local readonly = require "einloom.readonly"
local value = require "einloom.value"

local joining = {}

-- More rows than that are no proof that anybody waits for.
local MOST_ROWS <const> = 200000

-- Needs of doubles that are sums of exact numbers of bits.
local ROUNDING <const> = 1e-13

---@class einloom.JoinedRow
---@field energy number
---@field latency number
---@field most table<string, number[]> by memory: the most that any einsum before needs, of those
--- with which later ones share 0, 1, … loops
---@field kept table<string, number[]> by memory: reserved by einsums before under 0, 1, … loops, as
--- long as later ones share more

-- ---- states ----

-- The tensors after a step: their places, loops above, memory and bits.
local function carry(step, state, point)
  local before, list, depth = {}, {}, 0
  for k, name in ipairs(step.before) do before[name] = state.tensors[k] end
  for k, name in ipairs(step.after) do
    local p = step.own[name]
    list[k] = before[name]
    if not list[k] then
      local t = point.shared[p]
      list[k] = { place = point.places[p], depth = t.depth, memory = t.memory, bits = t.bits }
    end
    depth = math.max(depth, list[k].depth)
  end
  return list, depth
end

local function key_of(list)
  local parts = {}
  for k, t in ipairs(list) do parts[k] = t.place end
  return table.concat(parts, ";")
end

local function fits(step, state, point)
  for k, name in ipairs(step.before) do
    local p = step.own[name]
    if p and point.places[p] ~= state.tensors[k].place then return false end
  end
  return true
end

-- ---- memories ----

-- Reservations of a step in one memory by depth, and all of them: those of its own, and tensors
-- that it is the first to use; and those that end with it.
local function reserved(step, state, point, memory)
  local own, ending, alive = {}, {}, 0
  local known, later = {}, {}
  for k, name in ipairs(step.before) do known[name] = state.tensors[k] end
  for _, name in ipairs(step.after) do later[name] = true end
  for _, r in ipairs(point.own) do
    if r.memory == memory then own[#own + 1] = r end
  end
  local starting = {}
  for p, name in ipairs(step.tensors) do
    local t = known[name] or point.shared[p]
    if t.memory == memory then
      alive = alive + t.bits
      if not known[name] then starting[#starting + 1] = t end
      if not later[name] then ending[#ending + 1] = t end
    end
  end
  for k, name in ipairs(step.before) do
    local t = state.tensors[k]
    if not step.own[name] and t.memory == memory then alive = alive + t.bits end
  end
  return own, starting, ending, alive
end

local function sum_above(list, depth)
  local bits = 0
  for _, r in ipairs(list) do
    if r.depth < depth then bits = bits + r.bits end
  end
  return bits
end

-- One memory of a row and a point: what is needed and kept after the step, nil where that is too
-- much.
local function advance_memory(step, state, row, point, memory, depth, limit)
  local own, starting, ending, alive = reserved(step, state, point, memory)
  local most, kept = {}, {}
  local need = alive + sum_above(own, math.huge)
  for t = 0, state.depth - 1 do need = need + row.kept[memory][t] end
  for t = 0, depth do most[t] = 0 end
  for t = 0, state.depth do
    local x = row.most[memory][t]
    if x > 0 then x = x + sum_above(own, t) + sum_above(starting, t) end
    local at = math.min(t, depth)
    most[at] = math.max(most[at], x)
  end
  most[depth] = math.max(most[depth], need)
  for t = 0, depth do
    if most[t] > limit * (1 + ROUNDING) then return nil end
  end
  for t = 0, depth - 1 do
    kept[t] = t < state.depth and row.kept[memory][t] or 0
    for _, list in ipairs { own, ending } do
      for _, r in ipairs(list) do
        if math.max(r.depth, 0) == t then kept[t] = kept[t] + r.bits end
      end
    end
  end
  return most, kept
end

-- ---- rows ----

local function at_most(a, b)
  for t = 0, #a do
    if a[t] and a[t] > b[t] then return false end
  end
  return true
end

local function dominates(memories, a, b)
  if a.energy > b.energy or a.latency > b.latency then return false end
  for name in pairs(memories) do
    if not at_most(a.most[name], b.most[name]) or not at_most(a.kept[name], b.kept[name]) then
      return false
    end
  end
  return true
end

-- Adds a row to a state unless another one is at most it in everything.
local function add_row(memories, state, row)
  local kept = 0
  for _, other in ipairs(state.rows) do
    if dominates(memories, other, row) then return end
  end
  for i = 1, #state.rows do
    local other = state.rows[i]
    if not dominates(memories, row, other) then
      kept = kept + 1
      state.rows[kept] = other
    end
  end
  for i = kept + 2, #state.rows do state.rows[i] = nil end
  state.rows[kept + 1] = row
end

local function join(self, step, state, row, point, after)
  local energy = row.energy + point.energy
  local latency = row.latency + (self.timed and point.latency or 0)
  local better = false
  for _, pair in ipairs(after.rest) do
    local figures = { energy = energy + pair[1], latency = latency + pair[2] }
    better = better or not self.goal:closes(figures)
  end
  if not better then return end
  local result = { energy = energy, latency = latency, most = {}, kept = {} }
  for name, limit in pairs(self.memories) do
    result.most[name], result.kept[name] =
      advance_memory(step, state, row, point, name, after.depth, limit)
    if not result.most[name] then return end
  end
  add_row(self.memories, after, result)
end

local function next_states(self, step, states, list, rest)
  local after, known, n = {}, {}, 0
  for _, state in ipairs(states) do
    for _, point in ipairs(list) do
      if fits(step, state, point) then
        local tensors, depth = carry(step, state, point)
        local key = key_of(tensors)
        local target = known[key]
        if not target then
          target = { tensors = tensors, depth = depth, rows = {}, rest = rest[key] or {} }
          known[key] = target
          after[#after + 1] = target
        end
        for _, row in ipairs(state.rows) do join(self, step, state, row, point, target) end
      end
    end
  end
  for _, state in ipairs(after) do n = n + #state.rows end
  if n > MOST_ROWS then
    errors.raise("certificate", ("joining einsums takes more than %d rows"):format(MOST_ROWS))
  end
  return after, n
end

--- Bits of the memories of a space that have a limit.
---@param s einloom.Space
---@return table<string, number>
function joining.memories(s)
  local memories = {}
  for _, component in ipairs(readonly.raw(s.arch).components) do
    local size = component.class == "Memory" and value.nearest(component.size) or math.huge
    if size < math.huge then memories[component.name] = size end
  end
  return memories
end

--- Whether points, open leaves with what they reserve, join to a mapping that is better than what
--- is claimed; and how many rows were looked at.
---@param close einloom.Closing
---@param list einloom.CertifyPoint[]
---@param memories table<string, number> bits of those with a limit
---@return boolean
---@return integer
function joining.better(close, list, memories)
  local self = { goal = close.goal, timed = close.timed, memories = memories }
  local by_shape, groups = {}, {}
  for shape = 1, close.n_shapes do by_shape[shape], groups[shape] = {}, {} end
  for _, point in ipairs(list) do
    for _, places in ipairs(point.keys) do
      local front = { { point.energy, self.timed and point.latency or 0 } }
      table.insert(groups[point.shape], { places = places, front = front })
      local one = setmetatable({ places = places }, { __index = point })
      table.insert(by_shape[point.shape], one)
    end
  end
  local _, rest = completions.of(close.steps, groups)
  local first = { energy = 0, latency = 0, most = {}, kept = {} }
  for name in pairs(memories) do first.most[name], first.kept[name] = { [0] = 0 }, {} end
  local states, total = { { tensors = {}, depth = 0, rows = { first } } }, 0
  for i, step in ipairs(close.steps) do
    local n
    states, n = next_states(self, step, states, by_shape[step.shape], rest[i])
    total = total + n
    if n == 0 then return false, total end
  end
  return true, total
end

return joining
