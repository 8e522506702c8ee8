-- SPDX-License-Identifier: MIT
-- Parts of single einsums put together to whole candidates: those in which every shared tensor is
-- in one place under the same loops.

local errors = require "einloom.errors"
local fill = require "einloom.search.fill"
local joint = require "einloom.search.joint"
local nest = require "einloom.search.nest"
local rules = require "einloom.search.rules"

local join = {}

-- Every order of the fused loops of a choice, loops with nothing between them changing places.
local function orders(own, loops, visit)
  local function place(from)
    if from > #loops then return visit(loops) end
    for i = from, #loops do
      if own.loops[loops[i]].segment ~= own.loops[loops[from]].segment then break end
      table.insert(loops, from, table.remove(loops, i))
      place(from + 1)
      table.insert(loops, i, table.remove(loops, from))
    end
  end
  place(1)
end

local function names_of(step, own, loops)
  local names = {}
  for j, k in ipairs(loops) do names[j] = step.variables[own.loops[k].variable] end
  return names
end

-- Calls visit(choice, places) with a choice in each order that it does not fix itself.
local function each_order(space, i, choice, visit)
  local step = space.steps[i]
  local own = nest.of(space, space.shape_of[i], choice.template)
  local rule, trips = rules.loops(space.options, step, own, choice.tiles, choice.fullest)
  if rule then
    errors.raise("bad_candidate", ("a part of %s breaks a rule: %s"):format(step.einsum, rule))
  end
  local function with(loops)
    local part = { nest = own, tiles = choice.tiles, trips = trips, order = loops }
    visit({
      template = choice.template, tiles = choice.tiles, fused = names_of(step, own, loops),
      fullest = choice.fullest,
    }, fill.places(step, part))
  end
  if choice.fused then return with(assert(joint.order(step, own, trips, choice.fused))) end
  orders(own, joint.order(step, own, trips), with)
end

local function text_of(place)
  local parts = { place.level }
  for j, loop in ipairs(place.loops) do
    parts[j + 1] = ("%s:%d:%s.%s"):format(loop.rank, loop.tile, loop.level, loop.dim)
  end
  return table.concat(parts, " ")
end

-- A text of where the tensors are that this einsum shares with earlier ones.
local function key_of(names, texts)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = texts[name] end
  return table.concat(parts, "|")
end

-- Shared tensors of an einsum that an earlier one uses, in the order of names.
local function known_before(space, i)
  local names = {}
  for _, t in ipairs(space.steps[i].tensors) do
    for k = 1, i - 1 do
      for _, other in ipairs(space.steps[k].tensors) do
        if other.name == t.name and names[#names] ~= t.name then names[#names + 1] = t.name end
      end
    end
  end
  return names
end

-- Choices of an einsum by where they have what earlier einsums share.
local function index(space, i, choices)
  local names, by_key = known_before(space, i), {}
  for _, choice in ipairs(choices) do
    each_order(space, i, choice, function(ordered, places)
      local texts = {}
      for name, place in pairs(places) do texts[name] = text_of(place) end
      local key = key_of(names, texts)
      by_key[key] = by_key[key] or {}
      table.insert(by_key[key], { choice = ordered, texts = texts })
    end)
  end
  return { names = names, by_key = by_key }
end

local function check(space, lists, first)
  if type(lists) == "table" and #lists == #space.steps - first + 1 then return end
  errors.raise("bad_candidate", ("a list of choices for each of %d einsums was expected"):format(
    #space.steps))
end

-- Goes through the candidates of indices, one for each einsum.
local function each(indices)
  local function extend(i, choices, texts)
    if i > #indices then
      return coroutine.yield { choices = table.move(choices, 1, #choices, 1, {}) }
    end
    local own = indices[i]
    for _, part in ipairs(own.by_key[key_of(own.names, texts)] or {}) do
      choices[i] = part.choice
      extend(i + 1, choices, setmetatable(part.texts, { __index = texts }))
    end
  end
  return coroutine.wrap(function() extend(1, {}, {}) end)
end

--- Goes through the candidates that parts of single einsums make: lists of choices, one list for
--- each einsum. A choice without `fused` stands for every order of its fused loops.
---@param space einloom.Space
---@param lists einloom.Choice[][]
---@return fun(): einloom.Candidate?
function join.each(space, lists)
  check(space, lists, 1)
  local indices = {}
  for i, choices in ipairs(lists) do indices[i] = index(space, i, choices) end
  return each(indices)
end

--- The same with the first einsum's choices to come: a function that takes a list of them and goes
--- through the candidates that they make with the other lists.
---@param space einloom.Space
---@param others einloom.Choice[][] one list for each einsum but the first
---@return fun(choices: einloom.Choice[]): fun(): einloom.Candidate?
function join.behind(space, others)
  check(space, others, 2)
  local indices = {}
  for i, choices in ipairs(others) do indices[i + 1] = index(space, i + 1, choices) end
  return function(choices)
    indices[1] = index(space, 1, choices)
    return each(indices)
  end
end

return join
