-- SPDX-License-Identifier: MIT
-- The line about a search under way: at every step of searches, and on a terminal.

local files = require "support.files"
local problem = require "einloom.case.problem"
local program = require "support.program"
local progress = require "einloom.show.progress"

local cases = files.path "golden/search/cases.json"

local function search_of(id, options)
  local case = problem.load(cases, id)
  return require "einloom".space(case.workload, case.arch, case.options):search(options)
end

describe("the line of progress", function()
  it("says at every step how far the search is, what is best and what is left", function()
    local search, phases, last_bound = search_of("chain2_two_EDP", {}), {}, 0
    while search:step() do
      local p = search:progress()
      local line = progress.line(p, search.space.case, 100)
      local phase, done, total = line:match "^(%l+) (%d+) of (%d+)"
      phases[phase or line:match "^%l+"] = true
      if phase then assert.are.same({ p.done, p.total }, { tonumber(done), tonumber(total) }) end
      if p.best then
        local best = tonumber(line:match "best ([%d.e+-]+)")
        local bound = tonumber(line:match "bound ([%d.e+-]+)")
        assert.are.equal(("%.6g"):format(p.best.energy_delay_product), ("%.6g"):format(best))
        assert.is_true(bound <= best * (1 + 1e-5) and bound >= last_bound * (1 - 1e-5))
        last_bound = bound
      end
      assert.truthy(line:find ", [%d.]+ s left$" or line:find ", [%d]+ min left$", line)
    end
    for _, phase in ipairs { "einsums", "templates", "units" } do
      assert.is_true(phases[phase])
    end
  end)

  it("has short counts", function()
    local search = search_of("chain1_simple_E", {})
    for n, expected in pairs {
      [7] = "7 candidates, 70/s", [9999] = "9999 candidates, 100k/s",
      [123456] = "123k candidates, 1.23M/s", [2.5e9] = "2.5G candidates, 25G/s",
    } do
      local line = progress.line({
        phase = "units", done = 0, total = 3, candidates = n, seconds = 0.1, phase_seconds = 0.1,
      }, search.space.case)
      assert.are.equal("units 0 of 3, " .. expected, line)
    end
  end)

  it("names the distance from the bound", function()
    assert.are.equal("no mapping is better", progress.gap(5, 5))
    assert.are.equal("at most 25 % above the best", progress.gap(5, 4))
    assert.are.equal("the bound is 0", progress.gap(5, 0))
  end)

  it("is shown on a terminal alone, and cleared in the end", function()
    if not os.execute "script --version >/dev/null 2>&1" then
      return pending "there is no script(1) to make a terminal"
    end
    local arguments = ("map '%s' --case chain8_simple_E"):format(cases)
    local _, without = program.run(arguments)
    assert.is_nil(without:find("\r", 1, true))
    local _, shown = files.scratch("", function(path)
      local line = ("'%s' %s --strategy random --seed 1 --time-limit 1.5"):format(program.path(),
        arguments)
      os.execute(("script -qc %s '%s' >/dev/null </dev/null"):format(files.quoted(line), path))
      return true, files.read(path)
    end)
    local lines = 0
    for line in shown:gmatch "\r\27%[K([^\r\n]*)" do
      if line:find "candidates" then lines = lines + 1 end
      assert.is_true(#line < 80)
    end
    assert.is_true(lines > 0, shown)
    assert.truthy(shown:find("\r\27[K-- energy by random", 1, true), shown)
  end)
end)
