-- SPDX-License-Identifier: MIT
-- Searching where costs are no sums of products of tiles: windows with strides and holes in the
-- model exact, indices with // and %, latencies that round. Random small cases against all choices
-- of tiles of all templates, which the full analysis evaluates.

local engine = require "einloom.search.engine"
local loom = require "einloom"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
local random = math.random
local function pick(list) return list[random(#list)] end

local ceil, floor, max, min = loom.ceil, loom.floor, loom.max, loom.min
local rules = {
  function(n) return ceil(n.read / 64) + 20 end,
  function(n) return max(n.read / 4, n.write / 2) + 3 end,
  function(n) return floor(n.read / 7) * 2 + ceil(n.write / 3) end,
  function(n) return ceil(max(n.read / 5, n.write) / 3) end,
  function(n) return min(n.read, n.write * 3, 100) / 2 end,
  function(n) return loom.floor_div(n.read + n.write, 5) end,
  -- These may fall where a count grows, or multiply what rounds.
  function(n) return ceil(n.read / 3) * ceil(n.write / 5) end,
  function(n) return loom.mod(n.read, 7) + n.write end,
  function(n) return loom.select(loom.lt(n.read, 100), n.read, 100 + n.write) end,
  function(n) return max(10 - n.read, n.write - 2 * n.read, 0) end,
}

local affine = {
  "Z[p] = A[2*p + r] * B[r]", "Z[p,k] = A[2*p + r,c] * B[r,c,k]", "Z[p] = A[3*p + 2*r] * B[r]",
  "Z[p,q] = A[p + q + r] * B[r]", "Z[p,q] = A[2*p + r,2*q + r] * B[r]",
  "Z[p] = A[2*p + 3*r] * B[r]", "Z[p] = A[4*p + r] * B[r]", "Z[p] = A[p + 2*r,r] * B[r]",
}
local divided = {
  "Z[p] = A[p//2,r] * B[r]", "Z[p] = A[p//2 + r] * B[r]", "Z[p] = A[(p + r) % 3] * B[r]",
}

local function memory(name, size, energy, keep, rule)
  local function rate() return pick { 16, 64, math.huge } end
  return loom.memory {
    name, size = size, keep = keep, latency_rule = rule, leak_power = pick { 0, 0, 0.25 },
    read = { energy = energy, throughput = rate(), bits_per_action = pick { 1, 8 } },
    write = { energy = energy * pick { 1, 1.5 }, throughput = rate() },
  }
end

local function workload(text)
  local sizes = {}
  local all = { p = { 2, 3, 4, 6 }, r = { 2, 3, 4 }, c = { 2 }, k = { 2 }, q = { 2, 3 } }
  for _, v in ipairs { "p", "r", "c", "k", "q" } do
    if text:find("[^%w]" .. v) then sizes[v] = pick(all[v]) end
  end
  return loom.workload { sizes = sizes, bits = { All = 8 }, text }
end

local function arch(rule, spatial)
  local list = {
    memory("L1", math.huge, pick { 10, 100 }, "All", rule()),
    memory("L2", 8 * pick { 4, 6, 10, 20, 40 }, 1, pick { "A", "Z", "B", "All", "A | Z" }, rule()),
  }
  if spatial then
    list[3] = loom.fanout { "PE",
      x = { 4, multicast = pick { true, false }, loop_bounds = pick { nil, {
        {
          variables = pick { { "p", "r" }, { "p" }, { "r" } },
          op = pick { "product<=", "<=", "==" }, value = 2,
        },
      } } } }
  end
  list[#list + 1] = loom.compute { "MAC", energy = 1, throughput = pick { 1, 16 } }
  return loom.arch(list)
end

local function figure(point, minimise)
  return point and point[minimise == "edp" and "energy_delay_product" or minimise]
end

-- What falls and what is handed on is all there is.
local function check_falls(space, about)
  local tried = engine.new(space)
  tried:run()
  local falls, sum = tried:falls(), 0
  for name, n in pairs(falls.rules) do
    if not name:find "^capacity_joint" then sum = sum + n end
  end
  assert.are.equal(falls.size, sum + falls.points, about)
end

local function check(w, a, options, about)
  local space = loom.space(w, a, options)
  local found = space:search()
  local point = found.points[1]
  local other = space:search { strategy = "exhaustive" }:run().points[1]
  local got, best = figure(point, options.minimise), figure(other, options.minimise)
  assert.are.equal(best == nil, got == nil, about)
  check_falls(space, about)
  if not got then return end
  assert.is_true(math.abs(got - best) <= 1e-12 * best,
    ("%s, not %s: %s"):format(got, best, about))
  local r = loom.analyze(w, a, found:mapping(point), { model = options.model })
  if point.energy then assert.are.equal(r:energy():tonumber(), point.energy, about) end
  if point.latency then assert.are.equal(r:latency():tonumber(), point.latency, about) end
end

describe("a search finds what exhaustive finds:", function()
  local function none() return nil end

  local kinds = {
    { "windows with strides and holes", affine, none, "exact", 12 },
    { "divided indices", divided, none, "exact", 6 },
    { "instances", affine, none, "exact", 4, true },
    { "latencies that round", affine, function() return pick(rules) end, "reference", 12 },
    {
      "all of it", affine, function() return random() < 0.6 and pick(rules) or nil end, "exact", 12,
    },
  }
  for k, kind in ipairs(kinds) do
    it(kind[1], function()
      math.randomseed(seed + k)
      for round = 1, kind[5] do
        local text = pick(kind[2])
        local about = ("seed %d, round %d, %s"):format(seed + k, round, text)
        check(workload(text), arch(kind[3], kind[6]),
          { model = kind[4], minimise = pick { "energy", "latency", "edp" } }, about)
      end
    end)
  end

  it("two einsums", function()
    math.randomseed(seed + 20)
    for round = 1, 3 do
      local about = ("seed %d, round %d"):format(seed + 20, round)
      local w = loom.workload {
        sizes = { h = 4, p = 2, r = 2, s = 2 }, bits = { All = 8 },
        "Y[h] = X[h,s] * V[s]", pick { "Z[p] = Y[2*p + r] * W[r]", "Z[p] = Y[p + 2*r] * W[r]" },
      }
      local a = loom.arch {
        memory("L1", math.huge, 50, "X | V | W | Z", random() < 0.5 and pick(rules) or nil),
        loom.memory { "L2", size = 8 * pick { 12, 20 }, keep = "Y", read = { energy = 1 },
          write = { energy = 1 } },
        loom.compute { "MAC", energy = 1, throughput = 1 },
      }
      check(w, a, { model = "exact", minimise = pick { "energy", "latency" } }, about)
    end
  end)
end)
