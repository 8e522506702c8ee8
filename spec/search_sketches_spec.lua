-- SPDX-License-Identifier: MIT
-- Sketches that are taken from where they were made before: a search that has some of them comes to
-- the same points, unit by unit, and to the same answer.

local engine = require "einloom.search.engine"
local read = require "einloom.case.search"
local small = require "support.small_cases"
local searches = require "support.recorded_searches"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

local function filled(space)
  local own, units = engine.new(space, 1), space:units()
  for _, unit in ipairs(units) do own:add(unit) end
  return own, units
end

local function sketch_all(space, own)
  for shape in ipairs(space.shapes) do
    local counts = own:counts(shape)
    if counts.sketched < counts.units then own:some(shape, counts.units - counts.sketched) end
  end
end

-- What each unit leaves over, as texts.
local function explored(space, own, units)
  local left = {}
  for i, unit in ipairs(units) do
    own:explore { unit }
    local list = {}
    for k, point in ipairs(own:left_over(unit)) do list[k] = table.concat(point.tiles, " ") end
    table.sort(list)
    left[i] = table.concat(list, ", ")
  end
  for shape in ipairs(space.shapes) do while own:some(shape, 100) do end end
  return left
end

-- Compares a search with one that has the sketches of every `step`-th unit from a first one.
local function compare(space, step, about)
  local first, units = filled(space)
  sketch_all(space, first)
  local second, n = filled(space), 0
  for shape in ipairs(space.shapes) do
    local sketches = first:sketches(shape)
    for i, unit in ipairs(units) do
      if unit.einsum == shape and i % step == 0 and second:may_restore(unit) then
        second:restore(unit, {
          points = sketches[unit.template] or {}, least = first:sketch_least(unit),
        })
        assert.are.same(first:sketch_least(unit), second:sketch_least(unit), about)
        assert.is_false(second:may_restore(unit), about)
        n = n + 1
      end
    end
  end
  sketch_all(space, second)
  for shape in ipairs(space.shapes) do
    local here, there = first:sketches(shape), second:sketches(shape)
    for template, list in pairs(here) do
      assert.are.equal(#list, #(there[template] or {}), about)
    end
  end
  assert.are.same(explored(space, first, units), explored(space, second, units), about)
  return n
end

describe("sketches from elsewhere", function()
  it("change nothing, in small cases", function()
    math.randomseed(seed)
    for _, kind in ipairs { "bounded", "lasting", table.unpack(small.kinds) } do
      for round = 1, 3 do
        local raw = small.case(kind)
        local about = ("LOOM_SEED=%d %s round %d"):format(seed, kind, round)
        compare(read.space(read.from_json(raw)), math.random(3), about)
      end
    end
  end)

  it("change nothing, in recorded cases", function()
    for _, id in ipairs { "chain2_two_EL", "chain4_simple_E", "prime_two_imperfect_E" } do
      assert.is_true(compare(searches.space(id), 2, id) > 0)
    end
  end)

  it("are refused where they break a rule, or twice", function()
    local space = searches.space "chain2_simple_E"
    local own, units = filled(space)
    local tiles = {}
    for i in ipairs(space:list(1)[1].nodes) do tiles[i] = 1 end
    assert.has_error(function() own:restore(units[1], { points = { tiles }, least = { 0 } }) end)
    own:restore(units[1], { points = {}, least = { 0 } })
    local ok, problem = pcall(own.restore, own, units[1], { points = {}, least = { 0 } })
    assert.is_false(ok)
    assert.matches("is sketched", tostring(problem))
  end)
end)
