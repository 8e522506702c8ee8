-- SPDX-License-Identifier: MIT
-- Several einsums of a candidate together: whether tensors that they share are kept in one place
-- under the same loops, and what each memory holds while each einsum runs
-- (doc/formulas.md#search-joining, #costs-lifetimes).

local joint = {}

-- Number of loops with several trips among the first n of the fused ones.
local function count_several(trips, n)
  local count = 0
  for k = 1, n do
    if trips[k] > 1 then count = count + 1 end
  end
  return count
end

--- The fused loops with several trips in the order of the variables given, of which loops with
--- nothing between them may change places; nil where they cannot stand so.
---@param step einloom.SearchStep
---@param nest einloom.Nest
---@param trips integer[]
---@param names? string[] variables; without them the order of the template
---@return integer[]? loops
function joint.order(step, nest, trips, names)
  local waiting, order = {}, {}
  for k = 1, nest.n_fused do
    if trips[k] > 1 then waiting[#waiting + 1] = k end
  end
  if not names then return waiting end
  if #names ~= #waiting then return nil end
  for i, name in ipairs(names) do
    local found
    for j, k in ipairs(waiting) do
      local loop = nest.loops[k]
      if loop.segment ~= nest.loops[waiting[1]].segment then break end
      if step.variables[loop.variable] == name then
        found = j
        break
      end
    end
    if not found then return nil end
    order[i] = table.remove(waiting, found)
  end
  return order
end

-- What others have to agree on: memory, then rank, tile and dimension of each loop above.
local function place_of(part, backing)
  local nest, names = part.nest, { part.nest.template.way.levels[backing.level].name }
  local tensor = nest.step.tensors[backing.tensor]
  local depth = count_several(part.trips, backing.n_loops)
  for i = 1, depth do
    local k = part.order[i]
    local loop = nest.loops[k]
    local dim = loop.dim and nest.template.way.levels[loop.level].name .. "." .. loop.dim.name or ""
    names[#names + 1] = ("%s:%d:%s"):format(
      joint.rank_of(nest.step, tensor, loop.variable) or "?", part.tiles[k], dim)
  end
  return table.concat(names, " "), depth
end

--- The number of the rank that a variable indexes alone; the last one of several.
---@param step einloom.SearchStep
---@param tensor einloom.SearchTensor
---@param variable integer
---@return integer?
function joint.rank_of(step, tensor, variable)
  local rank
  for k, form in ipairs(tensor.access.affine) do
    if #form.terms == 1 and form.terms[1][1] == step.variables[variable] then rank = k end
  end
  return rank
end

-- Shared tensors by name: first and last part that uses them, loops above; or the rule that is
-- broken.
local function list_shared(steps, parts)
  local shared = {}
  for i, part in ipairs(parts) do
    for _, backing in ipairs(part.nest.backings) do
      local name = steps[i].tensors[backing.tensor].name
      local place, depth = place_of(part, backing)
      local known = shared[name]
      if not known then
        shared[name] = { first = i, last = i, place = place, depth = depth, users = { [i] = true } }
      elseif known.place ~= place then
        return nil, "join:" .. name
      else
        known.last, known.users[i] = i, true
      end
    end
  end
  return shared
end

-- Loops that each part shares with the next one: those above the deepest tensor used on both sides.
-- A part that uses none of the deepest tensors would have to stand in loops that are over.
local function boundaries(shared, n)
  local depth = {}
  for i = 1, n - 1 do
    local reached = 0
    depth[i] = 0
    for _, t in pairs(shared) do
      if t.first <= i and t.last > i then
        depth[i] = math.max(depth[i], t.depth)
        if t.users[i + 1] then reached = math.max(reached, t.depth) end
      end
    end
    if reached < depth[i] then return nil end
  end
  return depth
end

-- What is kept in one memory while part `step` runs.
local function bits_at(reservations, step, least)
  local sum = 0
  for _, r in ipairs(reservations) do
    local kept = r.first and r.first <= step and step <= r.last
    for _, own in ipairs(kept and {} or r) do
      kept = kept or own.depth < 0 or own.part == step or own.depth < least(own.part, step)
    end
    if kept then sum = sum + r.bits end
  end
  return sum
end

-- Reservations by memory; those of a shared tensor in one memory are one.
local function list_reservations(steps, parts, shared)
  local memories, names = {}, {}
  for i, part in ipairs(parts) do
    for k, row in ipairs(part.nest.memory) do
      local list = memories[row.component]
      if not list then
        list = { size = row.size }
        memories[row.component], names[#names + 1] = list, row.component
      end
      local name, r = steps[i].tensors[row.tensor].name, nil
      if row.backs then r = list[name] end
      if not r then
        r = { bits = 0 }
        list[#list + 1] = r
        if row.backs then
          list[name], r.first, r.last = r, shared[name].first, shared[name].last
        end
      end
      r.bits = math.max(r.bits, part.bits[k])
      local depth = row.depth < 0 and -1 or count_several(part.trips, row.depth)
      r[#r + 1] = { part = i, depth = depth }
    end
  end
  return memories, names
end

---@class einloom.Fit
---@field shared table<string, table> by tensor: first and last part, loops above
---@field depth integer[] loops that each part shares with the next one

--- How the parts of a candidate stand in each other's loops, or nil and the rule that is broken.
---@param steps einloom.SearchStep[]
---@param parts table[] {nest =, tiles =, trips =, order =}, one for each step
---@return einloom.Fit? fit
---@return string? rule
function joint.fit(steps, parts)
  local shared, rule = list_shared(steps, parts)
  if not shared then return nil, rule end
  local depth = boundaries(shared, #parts)
  if not depth then return nil, "join" end
  return { shared = shared, depth = depth }
end

--- The nodes of a part that stand above what is beside them in the nest: outermost holders of
--- tensors that an einsum before has in the same loops, or that stand above a split.
---@param steps einloom.SearchStep[]
---@param parts table[]
---@param fit einloom.Fit
---@param i integer
---@return table<integer, true>
function joint.hoisted(steps, parts, fit, i)
  local nodes = {}
  for _, backing in ipairs(parts[i].nest.backings) do
    local t = fit.shared[steps[i].tensors[backing.tensor].name]
    local above = t.first < i
    for k = t.first, t.last - 1 do above = above or fit.depth[k] == t.depth end
    if above then nodes[backing.node] = true end
  end
  return nodes
end

--- The use of each memory by name, at most 1, or nil and the rule that is broken.
---@param steps einloom.SearchStep[]
---@param parts table[] {nest =, trips =, bits =}, one for each step
---@param fit einloom.Fit
---@return table<string, number>? usage
---@return string? rule
function joint.usage(steps, parts, fit)
  local function least(a, b)
    if a > b then a, b = b, a end
    local found = math.huge
    for k = a, b - 1 do found = math.min(found, fit.depth[k]) end
    return found
  end
  local usage = {}
  local memories, names = list_reservations(steps, parts, fit.shared)
  for _, name in ipairs(names) do
    local most = 0
    for step = 1, #parts do most = math.max(most, bits_at(memories[name], step, least)) end
    if most > memories[name].size then return nil, "capacity:" .. name end
    usage[name] = most / memories[name].size
  end
  return usage
end

return joint
