-- SPDX-License-Identifier: MIT
-- Searches under way: steps, limits, what is saved and taken up again, here and in another process.

local core = require "einloom.core"
local files = require "support.files"
local program = require "support.program"
local read = require "einloom.case.search"

local case_of = require "support.recorded_searches".case

local function text_of(found)
  local lines = {}
  for i, point in ipairs(found.points) do
    lines[i] = ("%.17g %.17g\n%s"):format(point.energy or 0, point.latency or 0,
      found:mapping(point))
  end
  return table.concat(lines, "\n")
end

-- The saved search as another process would read it.
local function sent(search) return core.json.decode(core.json.encode(search:save())) end

describe("a search in steps", function()
  it("finds what a search in one go finds", function()
    for _, id in ipairs { "chain4_simple_E", "chain2_two_EL", "conv1_two_E" } do
      local whole = read.space(case_of(id)):search()
      local search, steps = read.space(case_of(id)):search {}, 0
      while search:step() do
        steps = steps + 1
        assert.is_false(search:progress().finished)
      end
      assert.is_true(steps > #search.space:units())
      assert.is_true(search:progress().finished)
      assert.are.equal(text_of(whole), text_of(search:found()))
      assert.is_false(search:step())
    end
  end)

  it("says how far it is", function()
    local search = read.space(case_of "chain2_two_E"):search {}
    local units = #search.space:units()
    assert.are.equal("start", search:progress().phase)
    for _, phase in ipairs { { "einsums", 2 }, { "templates", units }, { "units", 2 * units } } do
      for i = 1, phase[2] do
        search:step()
        local p = search:progress()
        assert.are.same({ phase[1], i, phase[2] }, { p.phase, p.done, p.total })
      end
    end
    local p = search:progress()
    assert.is_true(p.candidates > units)
    assert.is_true(p.bound.energy > 0 and p.bound.energy <= p.best.energy)
    local found = search:run()
    assert.are.equal(found.points[1].energy, search:progress().best.energy)
    assert.is_true(search:progress().bound.energy <= found.points[1].energy)
    assert.is_true(search:progress().seconds > 0)
  end)

  it("answers with the best so far when it is stopped", function()
    local whole = read.space(case_of "chain2_two_E"):search()
    local search, answers = read.space(case_of "chain2_two_E"):search {}, 0
    while search:step() do
      local stopped = read.space(case_of "chain2_two_E"):search {}
      while stopped:progress().phase ~= search:progress().phase
        or stopped:progress().done < search:progress().done do stopped:step() end
      stopped:stop "interrupt"
      assert.is_false(stopped:step())
      assert.are.equal("interrupt", stopped:progress().stopped)
      for _, point in ipairs(stopped:found().points) do
        answers = answers + 1
        assert.is_true(point.energy >= whole.points[1].energy)
        assert.is_true(stopped:progress().bound.energy <= whole.points[1].energy)
      end
    end
    assert.is_true(answers > #search.space:units())
  end)

  it("goes on after any step, and when it is over", function()
    local whole = text_of(read.space(case_of "chain2_two_EL"):search())
    local search, more = read.space(case_of "chain2_two_EL"):search {}, true
    while more do
      local resumed = read.space(case_of "chain2_two_EL"):resume(sent(search))
      assert.are.equal(whole, text_of(resumed:run()))
      more = search:step()
    end
    local over = read.space(case_of "chain2_two_EL"):resume(sent(search))
    assert.is_false(over:step())
    assert.are.equal(whole, text_of(over:found()))
  end)

  it("explores what it has explored no more", function()
    local search = read.space(case_of "chain2_two_EL"):search {}
    repeat
      search:step()
      local mark = search:save().checkpoint
    until mark and #mark.state.units == 9
    local resumed = read.space(case_of "chain2_two_EL"):resume(sent(search))
    local total
    while resumed:step() do
      if resumed:progress().phase == "units" then total = resumed:progress().total end
    end
    assert.are.equal(search:progress().total - 9, total)
    assert.are.equal(text_of(search:run()), text_of(resumed:found()))
  end)

  it("goes on in another process", function()
    local search = read.space(case_of "chain2_two_E"):search {}
    for _ = 1, 7 do search:step() end
    files.scratch(core.json.encode(search:save()), function(saved)
      local status, out = program.run_text(([[
        local core, read = require "einloom.core", require "einloom.case.search"
        local file = assert(io.open %q)
        local saved = core.json.decode(file:read "a")
        for _, case in ipairs(read.load %q) do
          if case.id == "chain2_two_E" then
            local found = read.space(case):resume(saved):run()
            print(("%%.17g"):format(found.points[1].energy))
            print(found:mapping())
          end
        end
      ]]):format(saved, files.path "golden/search/cases.json"))
      local found = search:run()
      assert.are.equal(0, status, out)
      assert.are.equal(("%.17g\n%s\n"):format(found.points[1].energy, found:mapping()), out)
    end)
  end)

  it("ends within its time", function()
    local search = read.space(case_of "chain2_two_E"):search { time = 0 }
    local found = search:run()
    assert.are.same({}, found.points)
    assert.are.equal("time", search:progress().stopped)
    assert.has_error(function() found:mapping() end, "nothing was found, so there is no mapping")
    local later = search.space:resume(sent(search), { time = 60 })
    assert.are.equal(text_of(read.space(case_of "chain2_two_E"):search()), text_of(later:run()))
  end)
end)

describe("a strategy of one's own", function()
  -- Goes through the tiles of the first template of one einsum in the order of their sum.
  local function tour(s, search)
    local first = search.state and search.state.next or 1
    local best = s:search().points[1].candidate.choices[1]
    for i = first, 20 do
      search:checkpoint { next = i }
      search.rng:bits()
      local choice = { template = best.template, tiles = { table.unpack(best.tiles) } }
      if i ~= 13 then choice.tiles[1] = best.tiles[1] * 2 end
      search:try { choices = { choice } }
    end
  end

  local function new() return read.space(case_of "chain1_two_M24K36G2048_E") end

  it("keeps the best it tried, whatever it is worth", function()
    local search = new():search { strategy = tour }
    local found, best = search:run(), new():search().points[1]
    assert.are.equal(best.energy, found.points[1].energy)
    assert.are.equal(20, search:progress().evaluated)
    local fallen = 0
    for _, n in pairs(search:progress().fallen) do fallen = fallen + n end
    assert.is_true(fallen <= 19)
  end)

  it("stops after a number of evaluations and goes on from its checkpoint", function()
    local search = new():search { strategy = tour, evaluations = 5 }
    search:run()
    assert.are.equal("evaluations", search:progress().stopped)
    assert.are.equal(5, search:progress().evaluated)
    local saved = sent(search)
    assert.are.equal(5, saved.checkpoint.state.next)
    local whole, resumed = new():search { strategy = tour },
      new():resume(saved, { strategy = tour, evaluations = 100 })
    assert.are.equal(text_of(whole:run()), text_of(resumed:run()))
    assert.are.equal(20, resumed:progress().evaluated)
    assert.are.equal(whole.rng.state, resumed.rng.state)
  end)

  it("shows where it fails", function()
    local search = new():search { strategy = function() error "lost the way" end }
    local ok, problem = pcall(search.run, search)
    assert.is_false(ok)
    assert.is_truthy(tostring(problem):find("search_run_spec.lua:%d+: lost the way"))
    assert.is_false(search:step())
  end)
end)

describe("options of a search", function()
  local s = read.space(case_of "chain2_two_E")

  local function refuses(options, message)
    local ok, problem = pcall(s.search, s, options)
    assert.is_false(ok)
    assert.are.equal(message, problem.message)
  end

  it("are checked", function()
    refuses({ strategy = "optimel" }, "no strategy 'optimel'; nearest: optimal")
    refuses({ strategy = 7 },
      "a strategy is a name, a function or a table with a function `search`, not number")
    refuses({ sed = 1 }, "no option 'sed'; nearest: seed")
    refuses({ seed = 1.5 }, "seed is an integer, not 1.5")
    refuses({ time = "1" }, "time is a number of seconds of at least 0, not 1")
    refuses({ time = 0 / 0 }, ("time is a number of seconds of at least 0, not %s"):format(0 / 0))
    refuses({ evaluations = -1 }, "evaluations is an integer of at least 0, not -1")
    refuses(1, "options are a table, not number")
  end)

  it("do not change what is resumed", function()
    local saved = s:search({ seed = 3 }):save()
    local function message(...)
      local ok, problem = pcall(...)
      assert.is_false(ok)
      return problem.message
    end
    assert.are.equal("option 'seed' cannot change when a search is resumed",
      message(s.resume, s, saved, { seed = 4 }))
    local other = read.space(case_of "chain2_two_L")
    assert.are.equal("the search was saved of another space", message(other.resume, other, saved))
    assert.are.equal("what is resumed is no search that this version has saved",
      message(s.resume, s, {}))
    local own = s:search({ strategy = function() end }):save()
    assert.are.equal("the strategy of the search has no name: options.strategy has to be it",
      message(s.resume, s, own))
  end)
end)

describe("random numbers of a search", function()
  local rng = require "einloom.search.rng"

  it("depend on the seed alone", function()
    -- The first values of splitmix64 with seed 1234567, as published.
    local r = rng.new(1234567)
    assert.are.equal(6457827717110365317, r:bits())
    assert.are.equal(3203168211198807973, r:bits())
    local other = rng.new(0)
    other.state = r.state
    assert.are.equal(r:bits(), other:bits())
  end)

  it("leave the numbers of Lua alone", function()
    math.randomseed(5)
    local before = math.random(1 << 40)
    math.randomseed(5)
    read.space(case_of "chain2_two_E"):search()
    rng.new(9):integer(10)
    assert.are.equal(before, math.random(1 << 40))
  end)

  it("are spread evenly", function()
    local r, counts, sum = rng.new(42), {}, 0
    for _ = 1, 6000 do
      local k = r:integer(6)
      counts[k] = (counts[k] or 0) + 1
      local x = r:real()
      assert.is_true(x >= 0 and x < 1)
      sum = sum + x
    end
    for k = 1, 6 do assert.is_true(counts[k] > 850 and counts[k] < 1150) end
    assert.is_nil(counts[7])
    assert.is_true(math.abs(sum / 6000 - 0.5) < 0.02)
    assert.are.equal(1, r:integer(1))
    assert.has_error(function() r:integer(0) end, "an integer of at least 1 was expected, not 0")
    local seen = {}
    for _, x in ipairs(r:shuffle { 1, 2, 3, 4, 5 }) do seen[x] = true end
    assert.are.same({ true, true, true, true, true }, seen)
  end)
end)
