-- SPDX-License-Identifier: MIT
-- Coalescing: addresses that grow by one, splits that make them, the analysis of kernels. Recorded
-- kernels are checked by the golden files.

local core = require "einloom.core"

local function variable(name) return core.symbol(name, { min = 0 }) end
local n, p0, p1, p2 = variable "n", variable "p0", variable "p1", variable "p2"

local function parse(text) return core.parse(text, "index", { n }) end

-- The values of an index, a function of a point, at all points of loops of these sizes; position:
-- of the loop that runs fastest.
local function values(sizes, position, value)
  local rows, order = { {} }, {}
  for i in ipairs(sizes) do if i ~= position then order[#order + 1] = i end end
  order[#order + 1] = position
  for _, i in ipairs(order) do
    local longer = {}
    for _, row in ipairs(rows) do
      for at = 0, sizes[i] - 1 do
        local point = { table.unpack(row, 1, #sizes) }
        for k, other in pairs(row) do point[k] = other end
        point[i] = at
        longer[#longer + 1] = point
      end
    end
    rows = longer
  end
  for i, row in ipairs(rows) do rows[i] = value(row) end
  return rows
end

-- The splits outer * t + inner of the loop by which the index grows by one at every point.
local function enumerate(sizes, position, value)
  local list, all, size = {}, values(sizes, position, value), sizes[position]
  for t = 1, size // 2 do
    local good = size % t == 0
    for i = 1, #all do
      if good and (i - 1) % size + t < size and all[i + t] - all[i] ~= 1 then good = false end
    end
    if good then list[#list + 1] = t end
  end
  return list
end

local loops = { n, p0, p1 }

-- A random index over loops of these sizes and its value.
local function random_index(sizes, depth)
  local function pick(list) return list[math.random(#list)] end
  if depth == 0 then
    local i = math.random(#sizes)
    return loops[i], function(point) return point[i] end
  end
  local a, f = random_index(sizes, depth - 1)
  local kind, d, m = math.random(6), pick { 2, 3, 4, 6, 8 }, pick { 2, 3, 4, 5 }
  local c = math.random(-3, 3)
  if kind == 1 then return a // d, function(point) return f(point) // d end end
  if kind == 2 then return a % d, function(point) return f(point) % d end end
  if kind == 3 then
    return core.mod_index(a, d, m), function(point) return f(point) // d % m end
  end
  if kind == 4 then return a + c, function(point) return f(point) + c end end
  local b, g = random_index(sizes, depth - 1)
  if kind == 5 then return a + b, function(point) return f(point) + g(point) end end
  return a + d * b, function(point) return f(point) + d * g(point) end
end

local function seeded(rounds, check)
  local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
  print("LOOM_SEED=" .. seed)
  math.randomseed(seed)
  for _ = 1, (tonumber(os.getenv "EINLOOM_ROUNDS") or rounds) do check() end
end

-- Report PT_solve_for_split (pytorch/pytorch #191603, pull #191605): index in n of a size, its
-- value at n, the splits found by enumeration, whether the factor from the index alone is one.
local reported = {
  { "floor_div(n, 32)", 1024, function(x) return x // 32 end, { 32 }, true },
  { "16*mod_index(n, 1, 8) + floor_div(n, 8)", 128,
    function(x) return 16 * (x % 8) + x // 8 end, { 8 }, true },
  { "mod_index(n, 1, 32)", 1024, function(x) return x % 32 end, {} },
  { "mod_index(mod_index(n, 1, 5), 1, 5)", 25, function(x) return x % 5 end, {} },
  { "mod_index(mod_index(n + 12, 1, 5), 1, 5)", 25, function(x) return (x + 12) % 5 end, {} },
  { "floor_div(n, 6) + 4*mod_index(n, 2, 3)", 24,
    function(x) return x // 6 + 4 * (x // 2 % 3) end, { 6 } },
  { "mod_index(n, 4, 8) + 8*mod_index(n, 1, 4) + 32*floor_div(n, 32)", 128,
    function(x) return x // 4 % 8 + 8 * (x % 4) + 32 * (x // 32) end, {} },
  { "2*n", 32, function(x) return 2 * x end, {} },
  { "floor_div(n, 64) + 4*mod_index(n, 1, 64)", 256,
    function(x) return x // 64 + 4 * (x % 64) end, { 64 }, true },
  { "128*mod_index(n, 1, 32) + mod_index(n, 32, 128)", 4096,
    function(x) return 128 * (x % 32) + x // 32 % 128 end, { 32 }, true },
  { "floor_div(n, 64) + mod_index(32*n, 1, 2048)", 4096,
    function(x) return x // 64 + 32 * x % 2048 end, { 64 } },
}

describe("a split", function()
  for _, item in ipairs(reported) do
    local text, size, value, expected, by_factor = table.unpack(item, 1, 5)
    it("of " .. text .. " is that at which the index grows by one everywhere", function()
      assert.are.same(expected,
        enumerate({ size }, 1, function(point) return value(point[1]) end))
      local split = core.unit_split(parse(text), { { n, size } }, 1)
      assert.are.equal(expected[1], split and split:tointeger())
      if by_factor then
        assert.are.equal(expected[1], core.unit_factor(parse(text)):tointeger())
      end
    end)
  end

  it("is found by factors as the reference does: all products vanish at one value", function()
    for text, expected in pairs {
      ["32*mod_index(n, 1, 4) + mod_index(n, 4, 16) + 16*mod_index(n, 64, 2)"] = false,
      ["mod_index(n, 1, 2) + 2*mod_index(n, 2, 2)"] = false,
      ["16*mod_index(n, 1, 8) + floor_div(n, 8)"] = 8,
    } do
      local factor = core.unit_factor(parse(text))
      assert.are.equal(expected, factor and factor:tointeger() or false, text)
    end
  end)

  it("is found exactly where there is one", function()
    local found = 0
    seeded(300, function()
      local sizes, nest = {}, {}
      for i = 1, math.random(1, 3) do
        sizes[i] = ({ 2, 3, 4, 6, 8, 12, 24 })[math.random(i == 1 and 7 or 4)]
        nest[i] = { loops[i], sizes[i] }
      end
      local e, value = random_index(sizes, math.random(0, 3))
      for position in ipairs(sizes) do
        local expected = enumerate(sizes, position, value)
        local split = core.unit_split(e, nest, position)
        found = found + #expected
        assert.is_true(#expected <= 1)
        assert.are.equal(expected[1], split and split:tointeger(), tostring(e))
      end
    end)
    assert.is_true(found > 0)
  end)

  it("is nothing, never an error, where there is none", function()
    for _, text in ipairs { "2*n", "7", "mod_index(mod_index(n - 12, 1, 5), 1, 5)",
      "mod_index(floor_div(n, 3) + 1, 2, 5)", "floor_div(mod_index(n, 2, 6) + n, 4)",
      "mod_index(mod_index(mod_index(n, 1, 60), 5, 12), 3, 4)", "n*n" } do
      local factor = core.unit_factor(parse(text))
      if factor then assert.is_true(factor:tointeger() > 0, text) end
      assert.is_nil((core.unit_split(parse(text), { { n, 120 } }, 1)), text)
    end
    assert.is_nil(core.unit_factor(n * p0))
  end)

  it("holds for all sizes where sizes are symbols", function()
    local s, t = core.symbol("s0", { min = 2 }), core.symbol("s1", { min = 2 })
    local options = { hints = { [s] = 10, [t] = 12 } }
    for _, item in ipairs {
      { n // s + t * (n % s), s * t, s, function(x, a, b) return x // a + b * (x % a) end },
      { n // s, s * t, s, function(x, a) return x // a end },
      { n + s, t, core.int(1), function(x, a) return x + a end },
      { s * (n % t) + n // t, s * t, t, function(x, a, b) return a * (x % b) + x // b end },
      { n % s + 3 * (n // s), s * t, nil, function(x, a) return x % a + 3 * (x // a) end },
    } do
      local e, size, expected, value = table.unpack(item, 1, 4)
      local split = core.unit_split(e, { { n, size } }, 1, options)
      assert.are.equal(expected, split or nil)
      local without = 0
      for a = 2, 5 do
        for b = 2, 5 do
          local function at(symbolic)
            local point = {}
            for _, symbol in ipairs(symbolic:symbols()) do
              point[symbol:name()] = symbol == s and a or b
            end
            return symbolic(point):tointeger()
          end
          local function index(point) return value(point[1], a, b) end
          local found = enumerate({ at(size) }, 1, index)
          if split then assert.are.same({ at(split) }, found) end
          if #found == 0 then without = without + 1 end
        end
      end
      assert.are.equal(split ~= nil, without == 0)
    end
  end)
end)

describe("the analysis of a kernel", function()
  -- Row sums of a matrix and what they are subtracted from, read by rows and by columns.
  local function kernel()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 48, 64 } }
    g:buffer { name = "b", sizes = { 64, 48 } }
    g:buffer { name = "c", sizes = { 48, 64 }, output = true }
    g:buffer { name = "d", sizes = { 48, 64 }, output = true }
    local at, nest = 64 * p0 + p1, { { p0, 48 }, { p1, 64 } }
    assert(g:op { name = "one", pointwise = nest, reads = { { buffer = "a", index = at } },
      writes = { { buffer = "c", index = at } } })
    assert(g:op { name = "two", pointwise = { { p0, 3072 } },
      reads = { { buffer = "c", index = p0 },
        { buffer = "b", index = 48 * (p0 % 64) + p0 // 64 } },
      writes = { { buffer = "d", index = p0 } } })
    return g
  end

  it("puts all operations into common loops", function()
    local found = kernel():coalesce({ "one", "two" }, { 3072, 1 })
    assert.are.equal(2, #found.pointwise)
    assert.are.equal(core.int(48), found.pointwise[1][2])
    assert.are.equal(2, #found.reads)
    assert.are.same({ "a" }, found.reads[1].buffers)
    assert.are.equal(4 * 3072 * (1 + 2 + 2), found.coalesced[1].score)
    assert.are.equal(4 * 3072, found.coalesced[2].score)
    assert.is_nil(found.split)
  end)

  it("reads what the kernel writes only where it is not the value just written", function()
    local function buffers_read(index)
      local g = core.graph()
      g:buffer { name = "a", sizes = { 64 } }
      g:buffer { name = "c", sizes = { 64 }, output = true }
      g:buffer { name = "d", sizes = { 64 }, output = true }
      for _, op in ipairs { { "one", "a", p0, "c" }, { "two", "c", index, "d" } } do
        assert(g:op { name = op[1], pointwise = { { p0, 64 } },
          reads = { { buffer = op[2], index = op[3] } },
          writes = { { buffer = op[4], index = p0 } } })
      end
      local names = {}
      for _, read in ipairs(g:coalesce({ "one", "two" }, { 64, 1 }).reads) do
        for _, name in ipairs(read.buffers) do names[#names + 1] = name end
      end
      return names
    end
    assert.are.same({ "a" }, buffers_read(p0))
    assert.are.same({ "a", "c" }, buffers_read(63 - p0))
  end)

  it("ranks tilings as doubles fall where they differ by the factor of a range alone", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 400 } }
    g:buffer { name = "s", sizes = { 20 } }
    g:buffer { name = "c", sizes = { 20, 20 }, output = true }
    g:op { name = "flip", pointwise = { { p0, 20 }, { p1, 20 } },
      reads = { { buffer = "a", index = 20 * p0 - p1 + 19 }, { buffer = "s", index = p0 } },
      writes = { { buffer = "c", index = 20 * p0 + p1 } } }
    local best = g:coalesced_tiling({ "flip" }, { 400, 1 })
    assert.are.equal(3200 / 1.025 / 1.025 < 3280 / 1.025 / 1.025 / 1.025, #best.tiling == 3)
    assert.are.equal(3, #best.tiling)
  end)

  it("suggests a split of a loop", function()
    local found = kernel():coalesce({ "two" }, { 3072, 1 })
    assert.are.equal(1, #found.pointwise)
    assert.are.equal(64, found.split.factor)
    assert.are.equal(4 * 3072, found.split.score)
  end)

  it("tiles along what is walked", function()
    local best = kernel():coalesced_tiling({ "one", "two" }, { 3072, 1 })
    local list = {}
    for i, range in ipairs(best.tiling) do list[i] = ("%s %s"):format(range[1], range[2]) end
    assert.are.equal("y 48, x 64, r0_ 1", table.concat(list, ", "))
  end)

  it("gives up on gathers", function()
    local g = core.graph()
    g:buffer { name = "a", sizes = { 64 } }
    g:buffer { name = "c", sizes = { 64 }, output = true }
    g:op { name = "get", pointwise = { { p0, 64 } },
      reads = { { buffer = "a", index = variable "indirect0" } },
      writes = { { buffer = "c", index = p0 } } }
    local found, message = g:coalesce({ "get" }, { 64, 1 })
    assert.is_nil(found)
    assert.is_nil(message)
  end)

  -- What the analysis must find of its own addresses, by looking at every point: scores by
  -- variable, and of suggested splits.
  local function expected_scores(found)
    local nest, sizes, scores, splits = {}, {}, {}, {}
    for _, list in ipairs { found.pointwise, found.reduction } do
      for _, loop in ipairs(list) do
        nest[#nest + 1] = loop[1]:name()
        sizes[#sizes + 1] = loop[2]:tointeger()
      end
    end
    for _, list in ipairs { { found.reads, 1 }, { found.writes, 2 } } do
      for _, address in ipairs(list[1]) do
        local used, score = {}, 4 * #address.buffers * list[2]
        for _, symbol in ipairs(address.index:symbols()) do used[symbol:name()] = true end
        local function value(point)
          local at = {}
          for k, name in ipairs(nest) do at[name] = used[name] and point[k] or nil end
          return address.index(at):tointeger()
        end
        local walked
        for k, name in ipairs(nest) do score = score * (used[name] and sizes[k] or 1) end
        for k, name in ipairs(nest) do
          local t = used[name] and enumerate(sizes, k, value)[1]
          if t == 1 and not walked then
            walked = true
            scores[name] = (scores[name] or 0) + score
          end
        end
        for k, name in ipairs(nest) do
          local t = not walked and used[name] and enumerate(sizes, k, value)[1]
          if t and t > 8 and sizes[k] // t > 8 then
            local key = name .. " " .. t
            splits[key] = (splits[key] or 0) + score
          end
        end
      end
    end
    return scores, splits
  end

  it("is exact where asked: what is walked is walked at every point", function()
    seeded(30, function()
      local function pick(list) return list[math.random(#list)] end
      local sizes = pick { { 144 }, { 12, 12 }, { 4, 120 }, { 6, 4, 5 }, { 320 } }
      local g, nest, reads, flat, all = core.graph(), {}, {}, core.int(0), 1
      for k, size in ipairs(sizes) do
        nest[k] = { loops[k], size }
        flat, all = flat * size + loops[k], all * size
      end
      local f = pick { 9, 10, 12, 16 }
      local indices = { flat, flat // f + all * (flat % f), flat % f, (random_index(sizes, 2)),
        (random_index(sizes, 1)) }
      for k = 1, math.random(1, 3) do
        g:buffer { name = "in" .. k, sizes = { 4096 } }
        reads[k] = { buffer = "in" .. k, index = pick(indices) }
      end
      g:buffer { name = "out", sizes = { 4096 }, output = true }
      assert(g:op { name = "op", pointwise = nest, reads = reads,
        writes = { { buffer = "out", index = pick(indices) } } })
      local found = assert(g:coalesce({ "op" }, { all, 1 }, { exact = true }))
      local scores, splits = expected_scores(found)
      local got, best = {}, 0
      for _, item in ipairs(found.coalesced) do got[item.variable:name()] = item.score end
      assert.are.same(scores, got)
      for _, score in pairs(splits) do best = math.max(best, score) end
      assert.are.equal(best, found.split and found.split.score or 0)
      if found.split then
        assert.are.equal(best,
          splits[("%s %d"):format(found.split.variable:name(), found.split.factor)])
      end
    end)
  end)

  -- Kernels over sizes a and b, numbers or symbols: operations with loops, reads, write.
  local families = {
    transposed = function(a, b)
      return { { p0, a }, { p1, b } }, { b * p0 + p1, a * p1 + p0 }, b * p0 + p1
    end,
    viewed = function(a, b)
      return { { p0, a * b } }, { p0, p0 // b + a * (p0 % b) }, p0
    end,
    scattered = function(a, b)
      return { { p0, a * b } }, { p0 // b + a * (p0 % b) }, 2 * p0
    end,
    sideways = function(a, b)
      return { { p0, a }, { p1, 12 }, { p2, b } }, { 12 * b * p0 + b * p1 + p2, a * p2 + p0 },
        b * (12 * p0 + p1) + p2
    end,
  }

  local function show(tiling, at)
    local list = {}
    for k, range in ipairs(tiling) do list[k] = range[1] .. " " .. at(range[2]) end
    return table.concat(list, ", ")
  end

  -- All that the analysis says, with symbols at values.
  local function summary(make, a, b, hints, at)
    local g = core.graph { hints = hints }
    local nest, reads, write = make(a, b)
    local n_points = core.int(1)
    for _, loop in ipairs(nest) do n_points = n_points * loop[2] end
    for k, index in ipairs(reads) do
      g:buffer { name = "in" .. k, sizes = { 2 * n_points } }
      reads[k] = { buffer = "in" .. k, index = index }
    end
    g:buffer { name = "out", sizes = { 2 * n_points }, output = true }
    assert(g:op { name = "op", pointwise = nest, reads = reads,
      writes = { { buffer = "out", index = write } } })
    local extents, out = { n_points, 1 }, {}
    local found = assert(g:coalesce({ "op" }, extents, { exact = true }))
    for _, item in ipairs(found.coalesced) do out[item.variable:name()] = item.score end
    if found.split then
      out.split = { found.split.variable:name(), at(found.split.factor), found.split.score }
    end
    for k, address in ipairs(found.reads) do out["read" .. k] = tostring(at(address.index)) end
    local best = assert(g:coalesced_tiling({ "op" }, extents, { exact = true }))
    out.tiling, out.total = show(best.tiling, at), best.total
    return out
  end

  it("says of symbolic sizes what it says of numbers", function()
    local s, t = core.symbol("s0", { min = 2 }), core.symbol("s1", { min = 2 })
    local splits = 0
    for name, make in pairs(families) do
      for _, sizes in ipairs { { 16, 48 }, { 32, 20 }, { 12, 9 }, { 100, 64 }, { 10, 7 } } do
        local function at(e)
          if math.type(e) then return e end
          local point = {}
          for _, symbol in ipairs(e:symbols()) do
            if symbol == s then point.s0 = sizes[1] end
            if symbol == t then point.s1 = sizes[2] end
          end
          local value = e(point)
          return value:tointeger() or value
        end
        local expected = summary(make, core.int(sizes[1]), core.int(sizes[2]), {}, at)
        local got = summary(make, s, t, { [s] = sizes[1], [t] = sizes[2] }, at)
        assert.are.same(expected, got, name)
        if got.split then splits = splits + 1 end
      end
    end
    assert.is_true(splits >= 4)
  end)

  it("gives up on symbolic sizes unless exact is asked, and on sizes without a hint", function()
    local s = core.symbol("s0", { min = 2 })
    for _, hints in ipairs { { [s] = 32 }, {} } do
      local g = core.graph { hints = hints }
      g:buffer { name = "a", sizes = { s } }
      g:buffer { name = "b", sizes = { s }, output = true }
      assert(g:op { name = "op", pointwise = { { p0, s } },
        reads = { { buffer = "a", index = p0 } }, writes = { { buffer = "b", index = p0 } } })
      assert.is_nil((g:coalesce({ "op" }, { s, 1 })))
      local found = g:coalesce({ "op" }, { s, 1 }, { exact = true })
      assert.are.equal(hints[s] and 3 * 4 * 32, found and found.coalesced[1].score)
    end
  end)
end)
