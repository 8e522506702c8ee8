-- SPDX-License-Identifier: MIT
-- How far the dimensions with a least share can be used by the spatial loops of a template: of the
-- uses that loops can have, those that no other one exceeds (doc/formulas.md#search-least-shares).

local chain = require "einloom.search.chain"

local spread = {}

-- Uses that differ by a smaller share are one: quotients of uneven tiles are not exact.
local CLOSE <const> = 1e-9

--- The part of the share that is asked for which a use is, at most 1.
---@param dim table {count =, min_fraction =}
---@param used number
---@return number
function spread.share(dim, used)
  return math.min(used / dim.count / dim.min_fraction, 1)
end

-- Uses that differ in counts or in what is left of the variable at hand.
local function distinct(uses)
  local result, seen = {}, {}
  for _, use in ipairs(uses) do
    local key = table.concat(use.counts, " ") .. " " .. use.left
    if not seen[key] then
      seen[key] = true
      result[#result + 1] = use
    end
  end
  return result
end

-- Loops of dimensions with a least share, by variable: {loop =, dim = number of the dimension}.
local function asked_loops(nest, dims)
  local lists = {}
  for v, loops in ipairs(nest.of_variable) do
    lists[v] = {}
    for _, k in ipairs(loops) do
      for d, dim in ipairs(dims) do
        if nest.loops[k].dim == dim.of then
          lists[v][#lists[v] + 1] = { loop = k, dim = d }
        end
      end
    end
  end
  return lists
end

-- Every use with one more loop of any number of trips that divides what is left of its variable.
local function with_loop(uses, variable, position, loop, count)
  local result = table.move(uses, 1, #uses, 1, {})
  for _, use in ipairs(uses) do
    for trips = 2, math.min(use.left, count // use.counts[loop.dim]) do
      if use.left % trips == 0 then
        local counts = table.move(use.counts, 1, #use.counts, 1, {})
        counts[loop.dim] = counts[loop.dim] * trips
        local own = table.move(use.trips, 1, #use.trips, 1, {})
        own[#own + 1] = { variable = variable, position = position, trips = trips }
        result[#result + 1] =
          { counts = counts, left = use.left // trips, trips = own, chains = use.chains }
      end
    end
  end
  return distinct(result)
end

-- Negative: a is fuller in one dimension and nowhere less full than b; positive: the other way.
local function compare(a, b)
  local less, more = 0, 0
  for d, x in ipairs(a) do
    if x > b[d] * (1 + CLOSE) then less = 1 end
    if b[d] > x * (1 + CLOSE) then more = 1 end
  end
  return more - less
end

-- Uses whose shares no other one exceeds.
local function fullest(dims, uses)
  local front = {}
  for _, use in ipairs(uses) do
    local shares, kept, exceeded = {}, {}, false
    for d, dim in ipairs(dims) do shares[d] = spread.share(dim, use.counts[d]) end
    use.shares = shares
    for _, other in ipairs(front) do
      local order = compare(shares, other.shares)
      if order == 0 then kept[#kept + 1] = other end
      if order > 0 then
        exceeded = true
        break
      end
    end
    if not exceeded then
      kept[#kept + 1] = use
      front = kept
    end
  end
  return front
end

-- Whether tiles depend on those inside of them.
local function by_chain(nest, variable)
  return nest.uneven[variable] ~= false or nest.step.coarseness > 1
end

-- Every use with a chain of tiles of such a variable.
local function with_chains(nest, uses, dims, variable)
  local known, found = {}, {}
  for _, list in ipairs(chain.all(nest, variable)) do
    local counts, outer = {}, nest.step.sizes[nest.step.variables[variable]]
    for d in ipairs(dims) do counts[d] = 1 end
    for j, k in ipairs(nest.of_variable[variable]) do
      for d, dim in ipairs(dims) do
        if nest.loops[k].dim == dim.of then
          counts[d] = counts[d] * chain.pieces(outer, list[j])
        end
      end
      outer = list[j]
    end
    local key = table.concat(counts, " ")
    if not known[key] then
      known[key] = true
      found[#found + 1] = { counts = counts, chain = list }
    end
  end
  local result = {}
  for _, use in ipairs(uses) do
    for _, own in ipairs(found) do
      local counts, fits = {}, true
      for d, dim in ipairs(dims) do
        counts[d] = use.counts[d] * own.counts[d]
        fits = fits and counts[d] <= dim.count * (1 + CLOSE)
      end
      local chains = {}
      for v, list in pairs(use.chains) do chains[v] = list end
      chains[variable] = own.chain
      if fits then
        result[#result + 1] = { counts = counts, left = 1, trips = use.trips, chains = chains }
      end
    end
  end
  return distinct(result)
end

local function list_uses(nest, dims, lists)
  local ones = {}
  for d in ipairs(dims) do ones[d] = 1 end
  local uses = { { counts = ones, left = 1, trips = {}, chains = {} } }
  for v, loops in ipairs(lists) do
    if #loops > 0 and by_chain(nest, v) then
      uses = with_chains(nest, uses, dims, v)
    elseif #loops > 0 then
      for _, use in ipairs(uses) do use.left = nest.step.sizes[nest.step.variables[v]] end
      for position, loop in ipairs(loops) do
        uses = with_loop(uses, v, position, loop, dims[loop.dim].count)
      end
      for _, use in ipairs(uses) do use.left = 1 end
      uses = distinct(uses)
    end
  end
  return fullest(dims, uses)
end

-- What the uses depend on; of some variables that is all their loops.
local function key_of(nest, lists)
  local parts = {}
  for v, loops in ipairs(lists) do
    for _, loop in ipairs(loops) do parts[#parts + 1] = v .. ":" .. loop.dim end
    local uneven = nest.uneven[v] or { absorbs = {}, n_leading = 0 }
    for j, k in ipairs(#loops > 0 and by_chain(nest, v) and nest.of_variable[v] or {}) do
      local loop = nest.loops[k]
      parts[#parts + 1] = ("%d.%d%s%s%d"):format(v, j, loop.dim and loop.dim.name or "",
        uneven.absorbs[k] and "*" or "", uneven.n_leading)
    end
  end
  return table.concat(parts, " ")
end

--- The fullest uses of the dimensions with a least share, each with the trips of some loops that
--- give it; nil without such dimensions. Nests whose loops are spread alike have one list.
---@param nest einloom.Nest
---@param known table<string, table> lists of other nests of the shape
---@return { dims: table[], uses: { counts: integer[], trips: table[] }[], loops: table[][] }?
function spread.list(nest, known)
  local dims, names = {}, {}
  for _, dim in ipairs(nest.spatial) do
    if dim.min_fraction > 0 then
      dims[#dims + 1], names[#names + 1] = dim, dim.component .. "." .. dim.dim
    end
  end
  if #dims == 0 then return nil end
  local lists = asked_loops(nest, dims)
  local key = table.concat(names, " ") .. " " .. key_of(nest, lists)
  if not known[key] then known[key] = list_uses(nest, dims, lists) end
  return { dims = dims, uses = known[key], loops = lists }
end

--- The same, made when it is first asked for; nil of nests that belong to no shape.
---@param nest einloom.Nest
---@return table?
function spread.of(nest)
  if nest.spread == nil then
    nest.spread = nest.spreads and spread.list(nest, nest.spreads) or false
  end
  return nest.spread or nil
end

return spread
