-- SPDX-License-Identifier: MIT
-- Of the mappings with the least objective that one is found which comes first by energy, latency,
-- use of the memories and its place in the space, the same whatever way the search goes.

local brute = require "support.brute"
local core = require "einloom.core"
local engine = require "einloom.search.engine"
local files = require "support.files"
local goals = require "einloom.search.goals"
local read = require "einloom.case.search"
local small = require "support.small_cases"
local stages = require "einloom.search.stages"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
local slack = 1e-12

-- What decides of a mapping, in this order.
local function keys_of(case, energy, latency, r)
  local used = r:usage { by = "memory" }
  local keys = { goals.values(case, goals.complete { energy = energy, latency = latency })[1],
    energy, latency }
  for _, memory in ipairs(goals.memories(case)) do
    keys[#keys + 1] = used[memory.name] and used[memory.name]:tonumber() or 0
  end
  return keys
end

-- Of lists of keys those with the least first one, of these those with the least second one, ...;
-- how many different ones there were after the first.
local function first_of(list)
  local n_first
  for k = 1, list[1] and #list[1] or 0 do
    local least, kept, seen, n = math.huge, {}, {}, 0
    for _, keys in ipairs(list) do least = math.min(least, keys[k]) end
    for _, keys in ipairs(list) do
      if keys[k] <= least * (1 + slack) then
        kept[#kept + 1] = keys
        local text = table.concat(keys, " ")
        if not seen[text] then n = n + 1 end
        seen[text] = true
      end
    end
    list, n_first = kept, n_first or n
  end
  return list[1], n_first or 0
end

local function assert_same(expected, got, about)
  assert.are.equal(#expected, #got)
  for k, x in ipairs(expected) do
    assert.is_true(math.abs(got[k] - x) <= slack * x,
      ("key %d is %s, not %s: %s"):format(k, got[k], x, about))
  end
end

describe("ties of a search", function()
  for _, goal in ipairs { "energy", "latency", "energy_delay_product", "max(energy, 9*latency)" } do
    it("are decided by energy, latency and use of memories: " .. goal, function()
      math.randomseed(seed)
      local n_ties = 0
      for _, kind in ipairs { "product", "window", "pair", "deep", "array", "lasting" } do
        for round = 1, (kind == "pair" or kind == "lasting") and 1 or 3 do
          local raw = small.case(kind)
          local case = read.from_json(raw)
          case.options.minimise = goal
          local space = read.space(case)
          local list = {}
          brute.mappings(space, function(mapping)
            local energy, latency, r = brute.evaluate(case, mapping)
            if energy then list[#list + 1] = keys_of(space.case, energy, latency, r) end
          end)
          local expected, n = first_of(list)
          local found = space:search()
          local about = ("seed %d, round %d, %s"):format(seed, round, core.json.encode(raw))
          if n > 1 then n_ties = n_ties + 1 end
          assert.are.equal(expected ~= nil, found.points[1] ~= nil, about)
          if expected then
            local energy, latency, r = brute.evaluate(case, found:mapping())
            assert_same(expected, keys_of(space.case, energy, latency, r), about)
          end
        end
      end
      assert.is_true(n_ties > 0, "seed " .. seed)
    end)
  end

  -- Whether choice a comes before b in the space: by the text of the template, its number, tiles.
  local function precedes(space, a, b)
    local list = space:templates(1)
    local s, t = list[a.template].text, list[b.template].text
    if s ~= t then return s < t end
    if a.template ~= b.template then return a.template < b.template end
    for k, tile in ipairs(a.tiles) do
      if tile ~= b.tiles[k] then return tile < b.tiles[k] end
    end
    return false
  end

  -- Of all choices of a space of one einsum that which comes first, as the engine counts.
  local function first_choice(space)
    local judge = engine.new(space, 1, { both = true, ranked = true })
    local units, list = space:units(), {}
    for _, unit in ipairs(units) do judge:add(unit) end
    for number, template in ipairs(space:templates(1)) do
      for tiles in template:points() do
        local values = judge.built:evaluate(judge.numbers[1].einsum, number - 1, { tiles })[1]
        if values then
          local choice = { template = number, tiles = table.move(tiles, 1, #tiles, 1, {}) }
          local keys = { choice = choice,
            goals.values(space.case, goals.complete { energy = values[1], latency = values[2] })[1],
            table.unpack(values) }
          list[#list + 1] = keys
        end
      end
    end
    local best
    local expected = first_of(list)
    for _, keys in ipairs(list) do
      local is_equal = true
      for k, x in ipairs(expected) do is_equal = is_equal and keys[k] <= x * (1 + slack) end
      if is_equal and (not best or precedes(space, keys.choice, best)) then best = keys.choice end
    end
    return best, #list
  end

  it("that are left are decided by texts of templates and tiles", function()
    math.randomseed(seed + 1)
    for _, kind in ipairs { "product", "window", "deep", "array", "bounded" } do
      for round = 1, 6 do
        local raw = small.case(kind)
        raw.workload.einsums[1].iterate = kind == "window" and { p = 4, r = 2, c = 2 }
          or { m = 4, k = 2, n = 4 }
        local space = read.space(read.from_json(raw))
        local expected, n = first_choice(space)
        local point = space:search().points[1]
        local about = ("seed %d, round %d, %d choices, %s"):format(seed + 1, round, n,
          core.json.encode(raw))
        assert.are.equal(expected ~= nil, point ~= nil, about)
        if point then
          local choice = point.candidate.choices[1]
          assert.are.same(expected, { template = choice.template, tiles = choice.tiles }, about)
        end
      end
    end
  end)
end)

describe("the answer of a search", function()
  local function case_of(id)
    local all = core.json.decode(files.read(files.path "golden/search/cases.json")).cases
    for _, raw in ipairs(all) do
      if raw.id == id then return read.from_json(raw) end
    end
  end

  -- What shards of a search know of units and take down of others.
  local function shared_ledger(known, i, n)
    local ledger = { whole = n == 1 }
    function ledger.known(_, number) return known[number] end
    function ledger.mine(_, number) return (number - 1) % n == i - 1 end
    function ledger.keep(_, number, points) known[number] = points end
    function ledger.sketch() end
    function ledger.keep_sketches() end
    function ledger.trust(_, _, work, ...) return work(...) end
    return ledger
  end

  local function in_shards(case, n)
    local known = {}
    for i = 1, n do
      local own = {}
      read.space(case):search { ledger = shared_ledger(own, i, n) }:run()
      for number, points in pairs(own) do known[number] = points end
    end
    return read.space(case):search { ledger = shared_ledger(known, 1, 1) }:run()
  end

  -- The strategy optimal, which explores units in any order.
  local function in_any_order(space, search)
    local work = {
      engine = engine.new(space, 1), units = space:units(), search = search, at_once = 1,
      finished = {}, pending = {},
    }
    stages.add_units(work)
    stages.begin(work, #space.shapes)
    for _, list in ipairs(work.pending) do
      for k = #list, 2, -1 do
        local other = math.random(k)
        list[k], list[other] = list[other], list[k]
      end
    end
    for shape = #space.shapes, 1, -1 do
      stages.sketch(work, shape)
      stages.explore(work, shape)
    end
    stages.join(work)
  end

  local cases = {
    "chain2_simple_L", "chain2_two_E", "chain4_simple_E", "conv1_two_E", "chain2_two_EDP",
    "chain1_simple_EL",
  }
  for _, id in ipairs(cases) do
    it("is the same for threads, shards, a store and any order: " .. id, function()
      math.randomseed(seed + 2)
      local case = case_of(id)
      local function text(found)
        local list = {}
        for i, point in ipairs(found.points) do
          list[i] = ("%s %s %s"):format(point.energy, point.latency, found:mapping(point))
        end
        return table.concat(list, "\n")
      end
      local expected = text(read.space(case):search())
      for threads = 2, 3 do
        assert.are.equal(expected, text(read.space(case):search { threads = threads }:run()))
      end
      for _, n in ipairs { 3, 5 } do assert.are.equal(expected, text(in_shards(case, n))) end
      local any = read.space(case):search { strategy = { search = in_any_order } }:run()
      assert.are.equal(expected, text(any), "seed " .. seed + 2)
      local space = read.space(case)
      local search = space:search {}
      for _ = 1, math.random(10, 120) do search:step() end
      local saved = core.json.decode(core.json.encode(search:save()))
      assert.are.equal(expected, text(space:resume(saved):run()), "seed " .. seed + 2)
    end)
  end
end)
