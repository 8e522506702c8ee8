-- SPDX-License-Identifier: MIT
-- What the other einsums add, at least, to a choice for one of them: einsums in their order, each
-- with groups of choices that keep the shared tensors in the same places
-- (doc/formulas.md#certificates-joining).

local fronts = require "einloom.certify.fronts"

local completions = {}

---@class einloom.CertifyGroup
---@field places string[] of the shared tensors of the einsum, in their order
---@field front number[][] lower bounds of energy and latency

---@class einloom.CertifyStep
---@field shape integer
---@field tensors string[] shared ones, in their order
---@field own table<string, integer> their positions
---@field before string[] tensors of steps before that this or a later one uses
---@field after string[] tensors of this or steps before that a later one uses

--- How the einsums of a space hang together.
---@param s einloom.Space
---@return einloom.CertifyStep[]
function completions.steps(s)
  local first, last, list = {}, {}, {}
  for i, step in ipairs(s.steps) do
    for _, t in ipairs(step.tensors) do
      if t.shared then first[t.name], last[t.name] = first[t.name] or i, i end
    end
  end
  local alive = {}
  for i, step in ipairs(s.steps) do
    local entry = { shape = s.shape_of[i], tensors = {}, before = alive, after = {} }
    local own = {}
    for _, t in ipairs(step.tensors) do
      if t.shared then
        entry.tensors[#entry.tensors + 1] = t.name
        own[t.name] = #entry.tensors
      end
    end
    for _, name in ipairs(alive) do
      if last[name] > i then entry.after[#entry.after + 1] = name end
    end
    for _, name in ipairs(entry.tensors) do
      if first[name] == i and last[name] > i then entry.after[#entry.after + 1] = name end
    end
    entry.own, alive, list[i] = own, entry.after, entry
  end
  return list
end

-- Groups that look the same from outside as one, by what they share with the einsums before.
local function reduced(step, groups)
  local by_enter, known = {}, {}
  for number, group in ipairs(groups) do
    local enter, leave = {}, {}
    for k, name in ipairs(step.before) do
      enter[k] = step.own[name] and group.places[step.own[name]] or ""
    end
    for k, name in ipairs(step.after) do
      leave[k] = step.own[name] and group.places[step.own[name]] or ""
    end
    local first = table.concat(enter, ";")
    local key = first .. "|" .. table.concat(leave, ";")
    local one = known[key]
    if not one then
      one = { leave = leave, front = {}, numbers = {} }
      known[key] = one
      by_enter[first] = by_enter[first] or {}
      table.insert(by_enter[first], one)
    end
    one.numbers[#one.numbers + 1] = number
    for _, p in ipairs(group.front) do fronts.add(one.front, p[1], p[2]) end
  end
  return by_enter
end

-- What a state shows to a step: places of tensors that the step uses.
local function enters(step, state)
  local parts = {}
  for k, name in ipairs(step.before) do parts[k] = step.own[name] and state.places[k] or "" end
  return table.concat(parts, ";")
end

-- The places after a step.
local function places_after(step, state, group)
  local before, places = {}, {}
  for k, name in ipairs(step.before) do before[name] = state.places[k] end
  for k, name in ipairs(step.after) do
    places[k] = step.own[name] and group.leave[k] or before[name]
  end
  return places
end

-- One step to the right: the states after it, and every way to them.
local function advance(step, groups, states)
  local after, known, ways = {}, {}, {}
  local by_enter = reduced(step, groups)
  for _, state in ipairs(states) do
    for _, group in ipairs(by_enter[enters(step, state)] or {}) do
      local places = places_after(step, state, group)
      local key = table.concat(places, ";")
      local next_state = known[key]
      if not next_state then
        next_state = { places = places, front = {}, rest = {} }
        known[key] = next_state
        after[#after + 1] = next_state
      end
      fronts.add_sums(next_state.front, state.front, group.front)
      ways[#ways + 1] = { state, group, next_state }
    end
  end
  return after, ways
end

--- The least that all other einsums add to each group: for each step a front by number of the
--- group, none for groups that fit nothing; and what the steps after one add to what it leaves: for
--- each step a front by the places after it.
---@param steps einloom.CertifyStep[]
---@param groups einloom.CertifyGroup[][] by shape
---@return number[][][][] others by step and group
---@return table<string, number[][]>[] rest by step
function completions.of(steps, groups)
  local states, ways, rest = { { places = {}, front = { { 0, 0 } }, rest = {} } }, {}, {}
  for i, step in ipairs(steps) do
    states, ways[i] = advance(step, groups[step.shape], states)
    rest[i] = states
  end
  for _, state in ipairs(states) do state.rest = { { 0, 0 } } end
  local result = {}
  for i = #steps, 1, -1 do
    local own = {}
    for _, way in ipairs(ways[i]) do
      local state, group, next_state = way[1], way[2], way[3]
      fronts.add_sums(state.rest, group.front, next_state.rest)
      group.others = group.others or {}
      fronts.add_sums(group.others, state.front, next_state.rest)
    end
    for _, way in ipairs(ways[i]) do
      for _, number in ipairs(way[2].numbers) do own[number] = way[2].others end
    end
    result[i] = own
  end
  for i, list in ipairs(rest) do
    local by_places = {}
    for _, state in ipairs(list) do by_places[table.concat(state.places, ";")] = state.rest end
    rest[i] = by_places
  end
  return result, rest
end

return completions
