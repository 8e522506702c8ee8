-- SPDX-License-Identifier: MIT
-- Candidates: a template and its tiles for each einsum. What mapping they are, and what it costs.

local arguments = require "einloom.search.arguments"
local errors = require "einloom.errors"
local filled = require "einloom.search.filled"
local goals = require "einloom.search.goals"
local joint = require "einloom.search.joint"
local loom = require "einloom"
local nest = require "einloom.search.nest"
local readonly = require "einloom.readonly"
local rules = require "einloom.search.rules"
local standing = require "einloom.search.standing"
local tree = require "einloom.search.tree"

local candidate = {}

---@class einloom.Candidate
---@field choices einloom.Choice[] one for each einsum

---@class einloom.Choice
---@field template integer the number of the template among those of the einsum
---@field tiles integer[] of its loops, outermost first
---@field fused? string[] variables of the fused loops with several trips, in the order that fits
--- the other einsums; that of the template without it
---@field fullest? boolean found by the strategy optimal, where limits leave no tiles for a fuller
--- use of dimensions with a least share

-- The nest of a choice with the trips and the order of its loops, or nil and the rule it breaks: of
-- all about the einsum, or of those that make it a mapping.
local function part_of(space, c, i, only_mapping)
  local choice, step = arguments.choice(space, c, i), space.steps[i]
  local own = nest.of(space, space.shape_of[i], choice.template)
  local trips, rule = rules.trips_of(step, own, choice.tiles)
  if trips and not only_mapping then
    rule = rules.loops(space.options, step, own, choice.tiles, choice.fullest)
  end
  if rule then return nil, rule end
  local order = joint.order(step, own, trips, choice.fused)
  if not order then return nil, "fused:" .. step.einsum end
  return { nest = own, tiles = choice.tiles, trips = trips, order = order }
end

-- The mapping of a candidate that a search found, with the loops that its einsums share.
local function joined(space, c)
  local choices = {}
  for i, step in ipairs(space.steps) do
    local choice = arguments.choice(space, c, i)
    if not choice.fused then
      errors.raise("bad_candidate", ("the choice for %s has no `fused`: splits of the mapping with "
        .. "holes need it"):format(step.einsum))
    end
    local template = space:list(i)[choice.template]
    choices[i] = { template = template, tiles = choice.tiles, fused = choice.fused }
  end
  return filled.mapping(space, choices)
end

--- The mapping of a candidate, whether it keeps to limits or not; nil and the rule that it breaks
--- where it is none.
---@param space einloom.Space
---@param c einloom.Candidate
---@return einloom.Mapping?
---@return string? rule
function candidate.mapping(space, c)
  local paths, choices, pattern = {}, {}, space.options.mapping
  if pattern and pattern.whole and #pattern.splits > 0 then return joined(space, c) end
  for i, step in ipairs(space.steps) do
    local part, rule = part_of(space, c, i, true)
    if not part then return nil, rule end
    local names, template = {}, space:list(i)[c.choices[i].template]
    for j, k in ipairs(part.order) do names[j] = step.variables[part.nest.loops[k].variable] end
    choices[i] = { template = template, tiles = part.tiles, fused = names }
    paths[i] = tree.path(step, template, part.tiles, names)
  end
  if pattern and pattern.whole then return filled.mapping(space, choices) end
  return tree.mapping(paths)
end

-- The part with its nodes where reservations sink as they do in the mapping.
local function as_it_stands(step, part, hoisted)
  local own, from, now = standing.nest(part.nest, part.trips, part.order, hoisted)
  if not own then return part end
  local tiles, names = {}, {}
  for k, other in ipairs(from) do tiles[k] = part.tiles[other] end
  for j, k in ipairs(part.order) do names[j] = step.variables[part.nest.loops[k].variable] end
  local trips = rules.trips(own, tiles)
  local order = joint.order(step, own, trips, names)
  return as_it_stands(step, { nest = own, tiles = tiles, trips = trips, order = order }, now)
end

--- A text that equal candidates have in common.
---@param space einloom.Space
---@param c einloom.Candidate
---@return string
function candidate.key(space, c)
  arguments.candidate(space, c)
  local parts = {}
  for i, choice in ipairs(c.choices) do
    parts[i] = ("%d: %s: %s"):format(choice.template, table.concat(choice.tiles, " "),
      choice.fused and table.concat(choice.fused, " ") or "-")
  end
  return table.concat(parts, "; ")
end

local function exact_values(space, part)
  local program, tiles = nest.program(space, part.nest), {}
  for i, k in ipairs(part.nest.open) do tiles[i] = part.tiles[k] end
  return program:exact(tiles)
end

-- The rule about limits that a result breaks.
local function broken_limit(result)
  for _, row in ipairs(result:constraints()) do
    if row.condition:tointeger() == 0 then
      return ("%s:%s%s"):format(row.kind, row.component, row.dim and "." .. row.dim or "")
    end
  end
end

-- Figures by the analysis of the mapping: one with holes stands as it is written, loops with one
-- trip and all.
local function analysed(space, mapping)
  local result, _, kind = loom.analyze(space.workload, space.arch, mapping,
    { model = space.options.model })
  if not result then return nil, kind end
  local energy, _, problem = result:energy()
  if not energy then return nil, broken_limit(result) or problem end
  local usage = {}
  for name, x in pairs(result:usage()) do usage[name] = x:tonumber() end
  return { energy = energy, latency = result:latency(), usage = usage }
end

-- Sums of fewer bits are exact integers and doubles.
local most_bits <const> = 1 << 48

-- The bits of each row of memory as integers, or nil where they are none or too large.
local function bits_of(values, n)
  local bits = {}
  for k = 1, n do
    local x = values[2 + k]:tointeger()
    if not x or x > most_bits then return nil end
    bits[k] = x
  end
  return bits
end

-- Every memory has its share: none where it has no limit or holds nothing.
local function all_memories(space, figures)
  for _, component in ipairs(readonly.raw(space.arch).components) do
    local name = component.name
    if component.class == "Memory" then figures.usage[name] = figures.usage[name] or 0.0 end
  end
  return figures
end

-- The analysis of the whole mapping of a candidate.
local function by_analysis(space, c)
  local mapping, rule = candidate.mapping(space, c)
  if not mapping then return nil, rule end
  local figures
  figures, rule = analysed(space, mapping)
  if not figures then return nil, rule end
  return all_memories(space, figures)
end

--- Energy and latency of a candidate as exact numbers, and the share that it uses of each memory
--- in double; or nil and the rule that it breaks.
---@param space einloom.Space
---@param c einloom.Candidate
---@return { energy: einloom.Expr, latency: einloom.Expr, usage: table<string, number> }? figures
---@return string? rule
function candidate.exact(space, c)
  if space.options.mapping or space.options.model == "exact" then return by_analysis(space, c) end
  local steps, parts, energy, latency = space.steps, {}, nil, nil
  for i in ipairs(steps) do
    local part, rule = part_of(space, c, i)
    if not part then return nil, rule end
    parts[i] = part
  end
  local fit, rule = joint.fit(steps, parts)
  if not fit then return nil, rule end
  for i, step in ipairs(steps) do
    local part = as_it_stands(step, parts[i], joint.hoisted(steps, parts, fit, i))
    local values = exact_values(space, part)
    local bits = bits_of(values, #part.nest.memory)
    if not bits then return by_analysis(space, c) end
    energy = energy and energy + values[1] or values[1]
    latency = latency and latency + values[2] or values[2]
    part.bits = bits
    parts[i] = part
  end
  local usage, broken = joint.usage(steps, parts, fit)
  if not usage then return nil, broken end
  return all_memories(space, { energy = energy, latency = latency, usage = usage })
end

--- Figures of a candidate: energy, latency, their product, and the share that it uses of each
--- memory (0 of one without a limit); or nil and the rule that it breaks. They are those of the
--- analysis of its mapping, to the last digit.
---@param space einloom.Space
---@param c einloom.Candidate
---@return table? figures
---@return string? rule
function candidate.evaluate(space, c)
  local figures, rule = candidate.exact(space, c)
  if not figures then return nil, rule end
  figures.energy, figures.latency = figures.energy:tonumber(), figures.latency:tonumber()
  return goals.complete(figures)
end

return candidate
