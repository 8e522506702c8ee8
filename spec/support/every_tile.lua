-- SPDX-License-Identifier: MIT
-- Every choice of tiles of every template of one einsum, each analysed: the space with least shares
-- as it is described, by no code of searches or certificates.

local goals = require "einloom.search.goals"
local loom = require "einloom"
local uneven = require "support.uneven"

local every_tile = {}

local CLOSE <const> = 1e-9

local allows = {
  ["=="] = function(a, b) return math.abs(a - b) < CLOSE end,
  ["<="] = function(a, b) return a < b + CLOSE end,
  [">="] = function(a, b) return a > b - CLOSE end,
  ["<"] = function(a, b) return a < b - CLOSE end,
  [">"] = function(a, b) return a > b + CLOSE end,
}

-- Calls visit(loops, tiles by loop, trips by loop) for every choice of tiles.
local function each(options, template, visit)
  local of, loops, way = {}, {}, template.way
  for _, node in ipairs(template.nodes) do
    if node.variable then
      loops[#loops + 1] = node
      of[node.variable] = of[node.variable] or {}
      table.insert(of[node.variable], #loops)
    end
  end
  local tiles, trips = {}, {}
  local function go(i, j, outer)
    local v = way.variables[i]
    if not v then return visit(loops, tiles, trips) end
    local k = of[v][j]
    if not k then
      local cuts = {}
      for _, own in ipairs(of[v]) do
        if trips[own] > 1 then cuts[#cuts + 1] = { tile = tiles[own], dim = loops[own].dim } end
      end
      if outer == 1 and uneven.allows(options, way.sizes[v], cuts,
        uneven.may_leave(options, way, v)) then
        go(i + 1, 1, way.sizes[way.variables[i + 1]])
      end
      return
    end
    local any = outer == way.sizes[v] and uneven.may_leave(options, way, v)
    for tile = 1, outer do
      if any or outer % tile == 0 then
        tiles[k], trips[k] = tile, outer / tile
        go(i, j + 1, tile)
      end
    end
  end
  go(1, 1, way.sizes[way.variables[1]])
end

local function keeps_to(bound, dim, loops, trips)
  local is_product, op = bound.op:match "^(p?r?o?d?u?c?t?)(.*)$"
  local product = 1
  for v in pairs(bound.variables) do
    local own = 1
    for k, loop in ipairs(loops) do
      if loop.dim == dim and loop.variable == v then own = own * trips[k] end
    end
    if is_product == "" and not allows[op](own, bound.value) then return false end
    product = product * own
  end
  return is_product == "" or allows[op](product, bound.value)
end

-- The part of what is asked for that is used, by dimension; nil where a dimension is too small; and
-- whether bounds of loops are kept to.
local function shares_of(way, loops, trips)
  local shares, kept = {}, true
  for _, level in ipairs(way.levels) do
    for _, dim in ipairs(level.dims) do
      local used = 1
      for k, loop in ipairs(loops) do
        if loop.dim == dim then used = used * trips[k] end
      end
      if used > dim.count + 1e-9 then return nil end
      if dim.min_fraction > 0 then
        shares[#shares + 1] = math.min(1, used / dim.count / dim.min_fraction)
      end
      for _, bound in ipairs(dim.bounds) do
        kept = kept and keeps_to(bound, dim, loops, trips)
      end
    end
  end
  return shares, kept
end

local function value_of(space, number, tiles)
  local mapping = space:mapping {
    choices = { { template = number, tiles = table.move(tiles, 1, #tiles, 1, {}) } },
  }
  local result = loom.analyze(space.workload, space.arch, mapping, { model = "reference" })
  local energy = result and result:energy()
  if not energy then return nil end
  return goals.values(space.case, goals.complete {
    energy = energy:tonumber(), latency = result:latency():tonumber(),
  })[1]
end

local function is_fuller(a, b)
  local more = false
  for d, x in ipairs(a) do
    if x < b[d] - 1e-9 then return false end
    more = more or x > b[d] + 1e-9
  end
  return more
end

local function exceeded(list, shares)
  for _, one in ipairs(list) do
    if is_fuller(one.shares, shares) then return true end
  end
  return false
end

--- The least of the objective, and whether a template is used less fully than its loops allow since
--- limits leave no tiles for that.
---@param space einloom.Space of one einsum
---@return number best, boolean fell
function every_tile.best(space)
  local best, fell = math.huge, false
  for number, template in ipairs(space:list(1)) do
    local all, fitting = {}, {}
    each(space.options, template, function(loops, tiles, trips)
      local shares, kept = shares_of(template.way, loops, trips)
      if not shares then return end
      all[#all + 1] = { shares = shares }
      local value = kept and value_of(space, number, tiles)
      if value then fitting[#fitting + 1] = { shares = shares, value = value } end
    end)
    for _, one in ipairs(fitting) do
      if not exceeded(fitting, one.shares) then
        best, fell = math.min(best, one.value), fell or exceeded(all, one.shares)
      end
    end
  end
  return best, fell
end

return every_tile
