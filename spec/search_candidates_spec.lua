-- SPDX-License-Identifier: MIT
-- Candidates of searches: what they are said to cost is what the analysis of their mapping says, to
-- the last digit; what is drawn keeps to every rule and is never better than the best.

local core = require "einloom.core"
local goals = require "einloom.search.goals"
local loom = require "einloom"
local read = require "einloom.case.search"
local rng = require "einloom.search.rng"
local searches = require "support.recorded_searches"
local small = require "support.small_cases"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

local recorded, space_of = searches.all(), searches.space

local function analysed(case, mapping)
  local r, message = loom.analyze(case.workload, case.arch, mapping, { model = "reference" })
  if not r then return nil, message end
  local energy, problem = r:energy()
  if not energy then return nil, problem end
  local usage = {}
  for _, component in ipairs(case.arch.components) do
    if component.class == "Memory" then usage[component.name] = 0 end
  end
  for name, x in pairs(r:usage()) do usage[name] = x:tonumber() end
  return goals.complete {
    energy = energy:tonumber(), latency = r:latency():tonumber(), usage = usage,
  }
end

-- Fails unless the candidate is worth what its mapping is.
local function check(s, c, about)
  local figures, rule = s:evaluate(c)
  assert.is_nil(rule, about)
  local expected, problem = analysed(s.case, s:mapping(c))
  assert.is_nil(problem, about)
  assert.are.same(expected, figures, about)
  return figures
end

describe("a candidate that is drawn", function()
  it("keeps to every rule and costs what its mapping costs, in recorded cases", function()
    for k, raw in ipairs(recorded) do
      local s, random = read.space(read.from_json(raw)), rng.new(seed + k)
      for _ = 1, #s.steps > 4 and 1 or 3 do
        local about = ("LOOM_SEED=%d %s"):format(seed, raw.id)
        local c = s:random(random)
        assert.is_table(c, about)
        check(s, c, about)
      end
    end
  end)

  it("is never better than the best of small cases", function()
    math.randomseed(seed)
    for _, kind in ipairs(small.all) do
      for round = 1, 4 do
        local raw = small.case(kind)
        local about = ("LOOM_SEED=%d round %d %s"):format(seed, round, core.json.encode(raw))
        local s, random = read.space(read.from_json(raw)), rng.new(seed + round)
        local best, key = s:search().points[1], s.case.objective.names[1]
        for _ = 1, 20 do
          local c = s:random(random)
          assert.is_true(best ~= nil or c == nil, about)
          assert.is_true(c ~= nil or best == nil or kind == "bounded", about)
          if c then assert.is_true(check(s, c, about)[key] >= best[key] * (1 - 1e-12), about) end
        end
      end
    end
  end)

  -- `scripts/bench map` measures it; a sanitizer takes ten times as long.
  it("comes within 50 ms in the spaces of another tool", function()
    for _, raw in ipairs(recorded) do
      if raw.best_known then
        local case, start = read.from_json(raw), os.clock()
        assert.is_table(read.space(case):random(rng.new(seed)))
        assert.is_true(os.clock() - start < 0.5)
      end
    end
  end)

  it("shares loops with other einsums now and then", function()
    local s, random, fused = space_of "reg_simple_three_fused", rng.new(3), 0
    for _ = 1, 10 do
      for _, choice in ipairs(s:random(random).choices) do fused = fused + #choice.fused end
    end
    assert.is_true(fused > 10)
  end)

  it("is the same for the same seed", function()
    local function draws()
      local s, random, texts = space_of "conv1_two_E", rng.new(77), {}
      for i = 1, 5 do texts[i] = tostring(s:mapping(s:random(random))) end
      return texts
    end
    assert.are.same(draws(), draws())
  end)
end)

describe("a candidate", function()
  it("that a search found costs what its mapping costs", function()
    for _, id in ipairs { "conv1_two_EL", "chain4_simple_E", "prime_two_imperfect_E", "toll_mm_E",
      "reg_snowcat_mobilenet" } do
      local s = space_of(id)
      for _, point in ipairs(s:search().points) do check(s, point.candidate, id) end
    end
  end)

  -- Rules that are broken when each variable has all its trips in one loop: the first one of those
  -- that `is_it` says, over all templates of the first einsum.
  local function rules_of(id, is_it, limits)
    local case = searches.case(id)
    for name, x in pairs(limits or {}) do case.options[name] = x end
    local s, seen, list = read.space(case), {}, {}
    for number, template in ipairs(s:list(1)) do
      local tiles, extent, last, k = {}, {}, {}, 0
      for _, node in ipairs(template.nodes) do
        if node.variable then last[node.variable] = node end
      end
      for v, size in pairs(s.steps[1].sizes) do extent[v] = size end
      for _, node in ipairs(template.nodes) do
        if node.variable then
          if is_it(node) or node == last[node.variable] then extent[node.variable] = 1 end
          k = k + 1
          tiles[k] = extent[node.variable]
        end
      end
      local choices = { { template = number, tiles = tiles } }
      for i = 2, #s.steps do choices[i] = s:search().points[1].candidate.choices[i] end
      local _, rule = s:evaluate { choices = choices }
      if rule then seen[rule] = true end
    end
    for rule in pairs(seen) do list[#list + 1] = rule end
    table.sort(list)
    return list
  end

  it("says which rule it breaks", function()
    local function never() return false end
    local function spread(node) return node.dim end
    local function fused(node) return node.fused end
    assert.are.same({ "capacity:GLB" }, rules_of("chain1_two_M128K64G8192_E", never))
    assert.are.same({ "fanout:Array.X" }, rules_of("tl_gpt_E", spread))
    assert.are.same({ "min_usage:ProcessingElement.reuse_input" },
      rules_of("nvdla_matmuls_E", function(node) return not node.dim end,
        { max_fused_loops = 9 }))
    assert.are.same({ "join:T1" }, rules_of("chain2_simple_E", fused))
    assert.are.same({ "capacity:GLB", "max_fused_loops" },
      rules_of("chain2_two_M64K64G8192_E", fused, { max_fused_loops = 1 }))
    assert.are.same({ "join:T1", "max_fused_loops_per_rank_variable:m" },
      rules_of("chain2_simple_E", function(node)
        return node.fused and node.variable == "m"
      end, { max_fused_loops_per_rank_variable = 0 }))
  end)

  it("has tiles that divide", function()
    local s = space_of "chain1_two_M128K64G8192_E"
    local best = s:search().points[1].candidate.choices[1]
    local function rule_of(tiles, names)
      local c = { choices = { { template = best.template, tiles = tiles, fused = names } } }
      local _, rule = s:evaluate(c)
      local _, of_mapping = s:mapping(c)
      assert.are.equal(rule, of_mapping)
      return rule
    end
    assert.are.equal("tiles", rule_of {})
    for k in ipairs(best.tiles) do
      local tiles = table.move(best.tiles, 1, #best.tiles, 1, {})
      tiles[k] = 3
      assert.is_truthy(rule_of(tiles):find "^tiles:%l")
      tiles[k] = 0.5
      assert.is_truthy(rule_of(tiles):find "^tiles:%l")
    end
    assert.are.equal("fused:" .. s.steps[1].einsum, rule_of(best.tiles, { "m" }))
    assert.is_nil(rule_of(best.tiles, {}))
  end)

  it("has all that a candidate has", function()
    local s = space_of "chain2_two_E"
    local function message(c)
      local ok, problem = pcall(s.evaluate, s, c)
      assert.is_false(ok)
      return problem.message
    end
    assert.are.equal("a candidate has `choices`, one for each of 2 einsums", message {})
    assert.are.equal("the choice for Matmul0 has no `template` and `tiles`",
      message { choices = { {}, {} } })
    assert.are.equal("Matmul0 has templates 1 to 12, not 13",
      message { choices = { { template = 13, tiles = {} }, {} } })
  end)
end)

describe("a least share that memories are too small for", function()
  local w = loom.workload {
    sizes = { m = 4, k = 2, n = 2 }, bits = { All = 8, Outputs = 16 }, "Z[m,n] = A[m,k] * B[k,n]",
  }
  local a = loom.arch {
    loom.memory { "DRAM", size = math.huge, keep = "All", read = { energy = 10 } },
    loom.memory { "GLB", size = 40, keep = "All" }, loom.fanout { "PE", x = { 2, min_usage = 1 } },
    loom.compute { "MAC", energy = 1 },
  }

  it("is evaluated as the strategy optimal found it", function()
    local space = loom.space(w, a)
    local point = space:search().points[1]
    local figures = assert(space:evaluate(point.candidate))
    assert.are.equal(point.energy, figures.energy)
    local r = assert(loom.analyze(w, a, space:mapping(point.candidate), { model = "reference" }))
    assert.are.equal(point.energy, r:energy():tonumber())
    local choice = point.candidate.choices[1]
    assert.is_true(choice.fullest)
    choice.fullest = nil
    assert.are.same({ nil, "min_usage:PE.x" }, { space:evaluate(point.candidate) })
  end)
end)
