-- SPDX-License-Identifier: MIT
-- Which tiles need not divide, as it is described (doc/formulas.md#search-uneven-tiles), by no code
-- of searches; and small cases with such tiles.

local core = require "einloom.core"
local small = require "support.small_cases"

local uneven = {}

--- The settings of temporal and spatial factors with uneven tiles.
uneven.settings = {
  { "imperfect", "perfect" }, { "perfect", "imperfect" }, { "imperfect", "imperfect" },
}

--- Whether tiles of a variable may leave a part: it is in no sum.
function uneven.may_leave(options, step, v)
  for _, t in ipairs(step.tensors) do
    if t.relevancy[v] == "partial" then return false end
  end
  return options.temporal_factors == "imperfect" or options.spatial_factors == "imperfect"
end

-- Whether a tile is among those that are kept around an inner one: multiples of it, ascending, that
-- divide the size, or with uneven tiles the least with so many trips over it.
local function is_kept(size, inner, tile, any, coarseness)
  local kept, trips = 0, {}
  for x = inner, tile, inner do
    local n = math.ceil(size / x)
    if (any and not trips[n] or not any and size % x == 0) and x >= coarseness * kept then
      kept = x
    end
    trips[n] = true
  end
  return kept == tile
end

--- Whether the tiles that one variable has in loops with several trips, outermost first, {tile =,
--- dim =}, are some of the space: where the first does not divide the size, a loop of an imperfect
--- kind is needed. All but the first divide.
function uneven.allows(options, size, cuts, any)
  local leaves, of_kind = size % (cuts[1] and cuts[1].tile or 1) ~= 0, false
  for _, cut in ipairs(cuts) do
    local factors = cut.dim and options.spatial_factors or options.temporal_factors
    of_kind = of_kind or factors == "imperfect"
  end
  if leaves and not of_kind then return false end
  for j = 1, #cuts - 1 do
    if not is_kept(size, cuts[j + 1].tile, cuts[j].tile, any, options.tiling_coarseness) then
      return false
    end
  end
  return true
end

local sizes = {
  product = { m = { 2, 5 }, k = { 2, 2 }, n = { 2, 6 } },
  array = { m = { 2, 5 }, k = { 1, 2 }, n = { 1, 3 } },
  window = { p = { 2, 2 }, r = { 2, 2 }, c = { 3, 7 } },
  pair = { m = { 2, 3 }, n = { 2, 3 } },
}
sizes.deep, sizes.bounded = sizes.array, sizes.array

uneven.kinds = { "product", "window", "array", "deep", "bounded", "pair" }

--- A decoded case of a kind with uneven tiles.
---@param kind string
---@param setting string[] temporal and spatial factors
---@return table
function uneven.case(kind, setting)
  local raw, drawn = small.case(kind), {}
  raw.limits.temporal_factors, raw.limits.spatial_factors = setting[1], setting[2]
  for _, v in ipairs { "c", "k", "m", "n", "p", "r" } do
    local range = sizes[kind][v]
    drawn[v] = range and math.random(range[1], range[2])
  end
  for _, e in ipairs(raw.workload.einsums) do
    for v, n in pairs(drawn) do
      if e.iterate[v] then e.iterate[v] = n end
    end
  end
  return raw
end

--- Asks a share of instances of both dimensions of a case with an array, with small memories.
function uneven.ask(raw)
  for _, d in ipairs(raw.hardware.paths[1].fanout.Array) do
    d.min_fraction_used = ({ 0.5, 0.8, 1 })[math.random(3)]
  end
  for _, level in ipairs(raw.hardware.levels) do
    if level.name == "Buf" then level.capacity_bits = 8 * math.random(2, 8) end
    if level.name == "Reg" then level.capacity_bits = 8 * math.random(1, 4) end
  end
  return raw
end

function uneven.text(seed, round, raw)
  return ("LOOM_SEED=%d, round %d, %s"):format(seed, round, core.json.encode(raw))
end

return uneven
