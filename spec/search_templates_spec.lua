-- SPDX-License-Identifier: MIT
-- Templates as users see them, fronts, parts put together, candidates next to one.

local core = require "einloom.core"
local loom = require "einloom"
local pareto = require "einloom.search.pareto"
local read = require "einloom.case.search"
local rng = require "einloom.search.rng"
local small = require "support.small_cases"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

local space_of = require "support.recorded_searches".space

-- Small cases of one einsum: kind, space, text for messages.
local function each_small(kinds, rounds, visit)
  math.randomseed(seed)
  for _, kind in ipairs(kinds) do
    for round = 1, rounds do
      local raw = small.case(kind)
      visit(read.space(read.from_json(raw)),
        ("LOOM_SEED=%d %s %d %s"):format(seed, kind, round, core.json.encode(raw)))
    end
  end
end

local single = { "product", "window", "array", "deep" }

local function same(a, b) return math.abs(a - b) <= 1e-12 * math.max(math.abs(a), math.abs(b)) end

describe("a template", function()
  it("has formulas that give the figures of its points", function()
    each_small(single, 2, function(s, about)
      for _, t in ipairs(s:templates()) do
        local r, n = t:analyze(), 0
        for tiles in t:points() do
          local figures = s:evaluate { choices = { { template = t.number, tiles = tiles } } }
          local at = r(t:point(tiles))
          if figures and at:energy() then
            assert.are.equal(figures.energy, at:energy():tonumber(), about)
            assert.are.equal(figures.latency, at:latency():tonumber(), about)
          end
          n = n + 1
        end
        assert.is_true(n <= t:size(), about)
      end
    end)
  end)

  it("evaluates blocks of points as it does each of them", function()
    each_small(single, 3, function(s, about)
      for _, t in ipairs(s:templates()) do
        local n = 0
        for columns in t:blocks(7) do
          local result = t:evaluate(columns)
          for p = 1, #columns[1] do
            local tiles = {}
            for k, column in ipairs(columns) do tiles[k] = column[p] end
            local rule = t:check(tiles)
            assert.are.equal(rule or false, result.rule[p], about)
            if not rule then
              n = n + 1
              local c = { choices = { { template = t.number, tiles = tiles } } }
              local figures = s:evaluate(c)
              assert.is_true(same(figures.energy, result.energy[p]), about)
              assert.is_true(same(figures.latency, result.latency[p]), about)
            end
          end
        end
        local points = 0
        for _ in t:points() do points = points + 1 end
        assert.are.equal(points, n, about)
      end
    end)
  end)

  it("finds its best tiles, by name or by a function", function()
    each_small(single, 2, function(s, about)
      local key, least = s.case.objective.names[1], math.huge
      for _, t in ipairs(s:templates()) do
        local tiles, figures = t:best(key)
        if tiles then
          least = math.min(least, figures[key])
          local other, own = t:best(function(f) return f.energy * f.latency end)
          assert.is_true(own.energy * own.latency
            <= figures.energy * figures.latency * (1 + 1e-12), about)
          assert.is_nil(t:check(other))
          assert.is_nil((t:best(function() return nil end)))
        end
      end
      local best = s:search().points[1]
      assert.is_true(same(best and best[key] or math.huge, least) or least == math.huge, about)
    end)
  end)

  it("says what it is", function()
    local s = space_of "ws3_mm_E"
    local t = s:templates()[80]
    assert.are.equal(176, #s:templates(1))
    assert.are.equal(t.text, tostring(t))
    assert.are.same({ 80, 1, "Matmul0" }, { t.number, t.step, t.einsum })
    local dimensions = {}
    for k, loop in ipairs(t.loops) do
      assert.is_true(loop.tile == nil or loop.tile == "tile" .. k)
      if loop.dimension then dimensions[loop.dimension] = true end
    end
    assert.are.same({ ["Array.X"] = true, ["Array.Y"] = true }, dimensions)
    assert.are.equal(27 + 46 + 27, #space_of "reg_simple_three_fused":templates())
  end)

  it("names limits that are exceeded", function()
    local s = space_of "ws3_mm_E"
    local t, seen = s:templates()[80], {}
    local columns = t:blocks(1)()
    local spread = false
    for k, column in ipairs(columns) do
      local size = s.steps[1].sizes[t.loops[k].variable]
      spread = spread or t.loops[k].dimension ~= nil
      column[2], column[3] = size, spread and 1 or size
    end
    for p, rule in ipairs(t:evaluate(columns).rule) do seen[p] = rule end
    assert.are.same({ false, "capacity:RF", "fanout:Array.X" }, seen)
  end)

  it("refuses what it cannot evaluate", function()
    local s = space_of "chain1_two_M128K64G8192_E"
    local t = s:templates()[6]
    local function message(f, ...)
      local ok, problem = pcall(f, ...)
      assert.is_false(ok)
      return tostring(problem)
    end
    assert.is_truthy(message(t.evaluate, t, {}):find "a column of its tiles was expected")
    local columns = t:blocks(2)()
    columns[t.nest.open[2]] = { 1 }
    assert.is_truthy(message(t.evaluate, t, columns):find "a column of 2 tiles was expected")
    assert.is_truthy(message(t.best, t, "enrgy"):find "no figure 'enrgy'; nearest: energy")
    assert.is_truthy(message(s.templates, s, 2):find "einsums are 1 to 1, not 2")
  end)
end)

describe("a front", function()
  -- Points that no other one beats, by looking at every pair; of equal ones the first.
  local function slowly(points, keys)
    local kept = {}
    for i, p in ipairs(points) do
      local beaten = false
      for k, q in ipairs(points) do
        local at_most, equal = true, true
        for _, key in ipairs(keys) do
          at_most, equal = at_most and q[key] <= p[key], equal and q[key] == p[key]
        end
        beaten = beaten or k ~= i and at_most and (not equal or k < i)
      end
      if not beaten then kept[#kept + 1] = p end
    end
    return kept
  end

  it("has the points that no other one beats, in any number of figures", function()
    local random = rng.new(seed)
    for n_keys = 1, 4 do
      local keys = { "a", "b", "c", "d" }
      for i = 4, n_keys + 1, -1 do keys[i] = nil end
      for _ = 1, 10 do
        local points, front, kept = {}, loom.pareto(nil, keys), 0
        for i = 1, 40 do
          local p = { number = i }
          for _, key in ipairs(keys) do p[key] = random:integer(6) end
          points[i] = p
          if front:add(p) then kept = kept + 1 end
        end
        local expected = slowly(points, keys)
        assert.are.same(expected, front.points, "LOOM_SEED=" .. seed)
        assert.are.equal(#expected, #front)
        assert.are.equal(40, front.seen)
        assert.is_true(kept >= #front)
        table.sort(expected, function(p, q)
          for _, key in ipairs(keys) do
            if p[key] ~= q[key] then return p[key] < q[key] end
          end
          return p.number < q.number
        end)
        assert.are.same(expected, loom.pareto(points, keys))
      end
    end
  end)

  it("compares what functions say", function()
    local points = loom.pareto({ { 1, 9 }, { 2, 5 }, { 3, 7 } },
      { function(p) return p[1] end, function(p) return p[2] end })
    assert.are.same({ { 1, 9 }, { 2, 5 } }, points)
  end)

  it("refuses figures that are no numbers", function()
    local function message(...)
      local ok, problem = pcall(...)
      assert.is_false(ok)
      return problem.message
    end
    assert.are.equal("a list of figures was expected: fields of the points or functions of them",
      message(loom.pareto, {}))
    assert.are.equal("a figure is a field or a function, not number",
      message(pareto.new, { 1 }))
    assert.are.equal("the figure energy of a point is nil, not a number",
      message(loom.pareto, { {} }, { "energy" }))
  end)
end)

describe("parts", function()
  it("make every candidate there is", function()
    math.randomseed(seed)
    for _ = 1, 5 do
      local raw = small.case "pair"
      local s, lists, seen, n = read.space(read.from_json(raw)), {}, {}, 0
      local about = ("LOOM_SEED=%d %s"):format(seed, core.json.encode(raw))
      for i = 1, 2 do
        lists[i] = {}
        for _, t in ipairs(s:templates(i)) do
          for tiles in t:points() do
            lists[i][#lists[i] + 1] = { template = t.number, tiles = tiles }
          end
        end
      end
      for c in s:join(lists) do
        local _, rule = s:evaluate(c)
        assert.is_true(rule == nil or rule:find "^capacity:" ~= nil or rule == "join", about)
        seen[s:key(c)], n = true, n + 1
      end
      local distinct = 0
      for _ in pairs(seen) do distinct = distinct + 1 end
      assert.are.equal(n, distinct, about)
      local random = rng.new(seed)
      for _ = 1, 20 do
        local c = s:random(random)
        if c then assert.is_true(seen[s:key(c)], about) end
      end
    end
  end)

  it("are lists for all einsums, and keep to the rules", function()
    local s = space_of "chain2_simple_E"
    local ok, problem = pcall(s.join, s, { {} })
    assert.is_false(ok)
    assert.are.equal("a list of choices for each of 2 einsums was expected", problem.message)
    ok, problem = pcall(s.join, s, { { { template = 1, tiles = { 5 } } }, {} })
    assert.is_false(ok)
    assert.is_truthy(problem.message:find "a part of Matmul0 breaks a rule: tiles")
  end)
end)

describe("candidates next to one", function()
  it("keep to the rules, are others, each once, and cost what their mappings cost", function()
    for _, id in ipairs { "chain4_simple_E", "reg_simple_three_fused", "conv1_two_E",
      "prime_two_imperfect_E", "reg_eyeriss_matmuls_fused" } do
      local s, random = space_of(id), rng.new(seed)
      local c = s:random(random)
      local about, n, seen = ("LOOM_SEED=%d %s"):format(seed, id), 0, { [s:key(c)] = true }
      for other in s:neighbours(c) do
        n = n + 1
        local figures, rule = s:evaluate(other)
        assert.is_true(figures ~= nil or rule:find "^capacity:" ~= nil or rule == "join", about)
        assert.are_not.equal(s:key(c), s:key(other), about)
        seen[s:key(other)] = true
        if n % 10 == 0 and figures then
          local r = loom.analyze(s.workload, s.arch, s:mapping(other), { model = "reference" })
          assert.are.equal(r:energy():tonumber(), figures.energy, about)
          assert.are.equal(r:latency():tonumber(), figures.latency, about)
        end
      end
      assert.is_true(n > 3, about)
      for _ = 1, 10 do
        local other = s:neighbour(c, random)
        assert.is_true(other == nil or s:evaluate(other) ~= nil or seen[s:key(other)], about)
      end
    end
  end)

  it("come in the same order again", function()
    local function keys()
      local s, list = space_of "reg_simple_three_fused", {}
      for other in s:neighbours(s:random(rng.new(4))) do list[#list + 1] = s:key(other) end
      return list
    end
    assert.are.same(keys(), keys())
  end)

  it("have one choice replaced, others following", function()
    local s = space_of "reg_simple_three_fused"
    local a, b = s:random(rng.new(8)), s:random(rng.new(9))
    local n = 0
    for i in ipairs(s.steps) do
      local c = s:replace(a, i, b.choices[i])
      if c then
        n = n + 1
        assert.are.same(b.choices[i].tiles, c.choices[i].tiles)
        assert.is_table((s:mapping(c)))
      end
    end
    assert.is_true(n > 0)
    assert.is_nil(s:replace(a, 1, { template = 1, tiles = { 5 } }))
  end)
end)
