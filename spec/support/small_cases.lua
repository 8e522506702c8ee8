-- SPDX-License-Identifier: MIT
-- Random small cases of schema search/1, by kind.

local small = {}

local random = math.random
local function pick(list) return list[random(#list)] end

local function store(name, bits, energy)
  return {
    name = name, kind = "store", capacity_bits = bits,
    leak_power_per_instance = pick { 0, 0, 0.25 },
    time = { rule = pick { "sum_of_actions", "max_of_actions" } },
    actions = {
      read = { energy = energy, per_second = pick { 16, 64, "inf" }, bits = pick { 1, 8 } },
      write = { energy = energy * pick { 1, 1.5 }, per_second = pick { 16, 64, "inf" }, bits = 1 },
    },
  }
end

local function access(tensor, index, bits)
  return { tensor = tensor, index = index, bits_per_value = bits or pick { 8, 16 } }
end

local function einsum(name, iterate, reads, writes)
  return { name = name, iterate = iterate, reads = reads, writes = writes, persistent = {} }
end

local function product()
  return { einsum("A", { m = pick { 2, 3 }, k = 2, n = pick { 2, 3, 4 } },
    { access("X", { M = "m", K = "k" }), access("W", { K = "k", N = "n" }) },
    { access("Y", { M = "m", N = "n" }) }) }
end

local function window()
  return { einsum("A", { p = pick { 2, 3, 4 }, r = pick { 2, 3 }, c = pick { 2, 3 } },
    { access("X", { H = "p + r", C = "c" }), access("W", { R = "r", C = "c" }) },
    { access("Y", { P = "p" }) }) }
end

local function pair()
  local m, n, bits, k = pick { 2, 3 }, pick { 2, 4 }, pick { 8, 16 }, pick { 1, 2 }
  return {
    einsum("A", { m = m, k = k, n = n },
      { access("X", { M = "m", K = "k" }), access("W", { K = "k", N = "n" }) },
      { access("Y", { M = "m", N = "n" }, bits) }),
    einsum("B", { m = m, n = n, q = 3 - k },
      { access("Y", { M = "m", N = "n" }, bits), access("V", { N = "n", Q = "q" }) },
      { access("Z", { M = "m", Q = "q" }) }),
  }
end

-- A tensor of one of the two stays all the time.
local function lasting()
  local einsums, i = pair(), pick { 1, 2 }
  einsums[i].persistent = { ({ "W", "V" })[i] }
  return einsums
end

-- Two einsums with tensors that their shared loops index in sums.
local function sums()
  local r, s, bits = pick { 1, 2 }, pick { 1, 1, 2 }, pick { 8, 16 }
  if r == 2 then s = 1 end
  return {
    einsum("A", { p = 2, k = 2, r = r },
      { access("X", pick { { H = "p + r" }, { H = "p + r", K = "k + r" } }),
        access("W", { R = "r", K = "k" }) },
      { access("Y", { P = "p", K = "k" }, bits) }),
    einsum("B", { p = 2, k = 2, s = s },
      { access("Y", { P = "p", K = "k" }, bits), access("V", { K = "k + s" }) },
      { access("Z", pick { { P = "p" }, { P = "p", K = "k" } }) }),
  }
end

-- Two small einsums for machines with an array above the memory of the tensor between them.
local function spread()
  local list = pair()
  list[1].iterate = { m = 2, k = 1, n = 2 }
  list[2].iterate = { m = 2, n = 2, q = 1 }
  return list
end

local makers = {
  product = product, window = window, pair = pair, array = product, deep = product,
  bounded = product, lasting = lasting, sums = sums, spread = spread,
  stacked = function() return random() < 0.5 and spread() or sums() end,
}

small.kinds = { "product", "window", "pair", "array", "deep" }
-- With bounds of loops, persistent tensors, shared loops over variables in sums, shared loops over
-- instances, two memories below each other with loops that einsums share.
small.special = { "bounded", "lasting", "sums", "spread", "stacked" }

small.all = table.move(small.special, 1, #small.special, #small.kinds + 1,
  table.move(small.kinds, 1, #small.kinds, 1, {}))

local two_einsums = { pair = true, lasting = true, sums = true, spread = true, stacked = true }

--- Whether cases of a kind have two einsums, and so many mappings.
---@param kind string
---@return boolean
function small.is_pair(kind) return two_einsums[kind] or false end

local function names_of(e)
  local names = {}
  for _, list in ipairs { e.reads, e.writes } do
    for _, t in ipairs(list) do names[#names + 1] = t.tensor end
  end
  return names
end

-- Tensors of a pair may do without the outermost memory: the one between and persistent ones.
local function outer(names, kind, e)
  local list = {}
  for _, name in ipairs(names) do
    if not small.is_pair(kind) or name ~= "Y" and name ~= e.persistent[1] then
      list[#list + 1] = name
    end
  end
  return list
end

local function levels_of(kind)
  local levels = {
    store("Main", "inf", pick { 5, 20, 100 }),
    store("Buf", 8 * pick { 4, 6, 8, 12, 20 }, pick { 1, 2 }),
  }
  if kind == "array" or kind == "bounded" or kind == "spread" then
    levels[3] = {
      name = "Array", kind = "array",
      fanout = { { dim = "X", count = pick { 2, 3, 4 } }, { dim = "Y", count = 2 } },
    }
  end
  if kind == "spread" then levels[3].fanout[2] = nil end
  if kind ~= "product" and kind ~= "window" and kind ~= "pair" and kind ~= "lasting"
    and kind ~= "sums" then
    levels[#levels + 1] = store("Reg", 8 * pick { 2, 3, 4 }, 0.5)
  end
  levels[#levels + 1] = {
    name = "MAC", kind = "compute", leak_power_per_instance = 0, time = { rule = "sum_of_actions" },
    actions = { compute = { energy = 1, per_second = pick { 1, 4 } } },
  }
  return levels
end

-- Limits of the trips of one loop, or of two multiplied.
local function bounds_of(e)
  local list, variables = {}, {}
  for v in pairs(e.iterate) do variables[#variables + 1] = v end
  table.sort(variables)
  for i = 1, pick { 0, 0, 1, 2 } do
    local op = pick { "==", "<=", ">=", "<", ">" }
    local some = random() < 0.5 and { pick(variables) } or { variables[1], variables[#variables] }
    list[i] = {
      variables = some, op = pick { "", "product" } .. op,
      value = op == "<" and 3 or op == ">" and 1 or pick { 1, 2, 2, 3 },
    }
  end
  return list
end

-- What the second memory has to hold.
local function inner(names, kind, e)
  if kind == "lasting" then return { "Y", e.persistent[1] } end
  if not small.is_pair(kind) then return { pick(names), pick(names) } end
  local private = {}
  for _, name in ipairs(names) do
    if name ~= "Y" then private[#private + 1] = name end
  end
  if kind == "spread" or kind == "stacked" then return { pick(private) } end
  return { "Y", pick(private) }
end

local function innermost(names, kind)
  if kind == "stacked" then return { "Y", random() < 0.5 and pick(names) or nil } end
  return { kind == "spread" and "Y" or pick(names) }
end

local function path_of(e, kind, levels)
  local names, list = names_of(e), {}
  for i, level in ipairs(levels) do list[i] = level.name end
  local some = inner(names, kind, e)
  local path = {
    einsum = e.name, compute = "MAC", levels = list, fanout = {},
    hold = {
      Main = { must_hold = outer(names, kind, e), may_hold = names },
      Buf = { must_hold = some, may_hold = {} },
      Reg = { must_hold = innermost(names, kind), may_hold = {} },
    },
  }
  if kind == "spread" then
    path.fanout.Array = {
      { dim = "X", count = levels[3].fanout[1].count, loops_must_reuse = {},
        multicast_tensors = pick { names, {} }, min_fraction_used = 0 },
    }
  elseif kind == "array" or kind == "bounded" then
    local own = { pick { "X", "W" } }
    path.fanout.Array = {
      { dim = "X", count = levels[3].fanout[1].count, loops_must_reuse = pick { {}, own },
        multicast_tensors = pick { names, own, {} }, min_fraction_used = 0,
        loop_bounds = kind == "bounded" and bounds_of(e) or nil },
      { dim = "Y", count = 2, loops_must_reuse = {}, multicast_tensors = names,
        min_fraction_used = 0 },
    }
  end
  return path
end

--- A decoded case of a kind.
---@param kind string
---@return table
function small.case(kind)
  local einsums, levels, paths = makers[kind](), levels_of(kind), {}
  for i, e in ipairs(einsums) do paths[i] = path_of(e, kind, levels) end
  return {
    id = kind, minimise = pick { { "energy" }, { "latency" }, { "energy_delay_product" } },
    limits = {
      max_shared_loops = pick { "inf", 1 }, max_shared_loops_per_rank = 1,
      temporal_factors = "perfect", spatial_factors = "perfect",
    },
    workload = { ["repeat"] = kind == "lasting" and 2 or 1, einsums = einsums },
    hardware = { levels = levels, paths = paths },
  }
end

return small
