-- SPDX-License-Identifier: MIT
-- einloom map: what it prints is what eval says of it, of one best mapping and of fronts.

local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"

local command = files.command

local workload = [[
local loom = require "einloom"
return loom.workload {
  sizes = { m = 12, k = 8, n = 6 }, bits = { All = 8, Outputs = 16 }, "Z[m,n] = A[m,k] * B[k,n]",
}]]

local arch = [[
local loom = require "einloom"
local function access(energy) return { energy = energy, throughput = 7 } end
return loom.arch {
  loom.memory { "Main", size = math.huge, read = access(200), write = access(200),
    keep = "~Intermediates", may_keep = "All" },
  loom.memory { "Glb", size = 1024, read = access(6), write = access(6), keep = "~Main",
    may_keep = "All" },
  loom.fanout { "PE", x = 4 },
  loom.compute { "MAC", energy = 1, throughput = 1 },
}]]

-- Calls use(path of the workload, path of the architecture).
local function with_files(use)
  files.scratch(workload, function(w)
    files.scratch(arch, function(a) use(w, a) end, ".lua")
  end, ".lua")
end

-- The figures in the comments of a script: a list of points, each by name.
local function figures_of(text)
  local head, points
  for line in text:gmatch "[^\n]+" do
    local words = {}
    local plain = line:gsub("^%-%-", ""):gsub(" %(", "(")
    for word in plain:gmatch "%S+" do words[#words + 1] = word end
    if line:match "^%-%- +energy +latency" then
      head, points = words, {}
    elseif head and line:match "^%-%- +[%d.]" then
      local first, point = #words - #head, {}
      for i, name in ipairs(head) do point[name] = words[first + i] end
      points[#points + 1] = point
    end
  end
  return points
end

-- A number as it is printed, "3/7(0.428571)" too, or as it is in JSON.
local function number_of(text)
  return loom.number(tostring(text):match "^[^(]+"):tonumber()
end

describe("einloom map", function()
  it("prints a script for which eval gives the figures that it prints", function()
    with_files(function(w, a)
      for _, goal in ipairs { "energy", "latency", "edp", "usage", "energy + 3*latency" } do
        local status, text, err = command("map", w, a, "--minimize", goal)
        assert.are.equal("", err)
        assert.are.equal(0, status)
        local figures = figures_of(text)[1]
        local evaluated
        status, evaluated = files.scratch(text, function(path) return command("eval", path) end,
          ".lua")
        assert.are.equal(0, status, text)
        for _, name in ipairs { "energy", "latency" } do
          local line = evaluated:match("\n" .. name .. " +([^\n]+)")
          assert.are.equal(line:gsub(" %(", "("), figures[name])
        end
      end
    end)
  end)

  it("prints fronts whose points eval gives, none beaten by another", function()
    with_files(function(w, a)
      local status, text = command("map", w, a, "--pareto", "energy,latency", "--json")
      assert.are.equal(0, status)
      local decoded = core.json.decode(text)
      assert.is_true(#decoded.cases > 1)
      local _, again = files.scratch(text, function(path)
        return command("eval", path, "--json")
      end, ".json")
      local evaluated = core.json.decode(again)
      for i, case in ipairs(decoded.cases) do
        assert.are.same(case.expected, evaluated.cases[i].expected)
        for k, other in ipairs(decoded.cases) do
          local mine, its = case.expected.totals, other.expected.totals
          assert.is_true(i == k or number_of(mine.energy) < number_of(its.energy)
            or number_of(mine.latency) < number_of(its.latency))
        end
      end
      _, text = command("map", w, a, "--pareto", "energy,latency")
      local points = figures_of(text)
      assert.are.equal(#decoded.cases, #points)
      for i, point in ipairs(points) do
        local totals = decoded.cases[i].expected.totals
        assert.are.equal(number_of(totals.energy), number_of(point.energy))
        assert.are.equal(number_of(totals.latency), number_of(point.latency))
      end
    end)
  end)

  it("says in JSON what was searched", function()
    with_files(function(w, a)
      local _, text = command("map", w, a, "--json", "--minimize", "edp")
      local about = core.json.decode(text).search
      assert.are.equal("energy_delay_product", about.minimise)
      assert.are.same({ "optimal", "reference", core.version }, { about.strategy, about.model,
        about.einloom })
      assert.is_nil(about.stopped)
      assert.is_true(about.bound > 0 and about.bound <= about.best and about.candidates > 0)
      assert.matches('"candidates": %d+,', text)
    end)
  end)

  it("names options as they were given, and looks at the certificate first", function()
    with_files(function(w, a)
      for _, case in ipairs {
        { "--minimize", "usage+energy", "einloom: --minimize: a formula is of energy and latency" },
        { "--minimize", "energy<5", "einloom: --minimize: 'energy<5' is not known never to fall" },
        { "--max-fused-loops", "x", "einloom: --max-fused-loops: a count" },
        { "--certificate", "/nonexistent/x", "einloom: --certificate: /nonexistent/x: No such" },
      } do
        local status, out, err = command("map", w, a, case[1], case[2])
        assert.are.same({ 1, "" }, { status, out })
        assert.matches(case[3], err, 1, true)
      end
    end)
  end)

  it("takes options of the space by their names, and says which it does not know", function()
    with_files(function(w, a)
      local _, text = command("map", w, a, "--temporal-factors", "imperfect")
      local uneven = number_of(figures_of(text)[1].energy)
      _, text = command("map", w, a)
      assert.is_true(uneven <= number_of(figures_of(text)[1].energy))
      for _, arguments in ipairs {
        { "--max-fused-loops", "x" }, { "--minimize", "speed" }, { "--strategy", "magic" },
        { "--seed", "0.5" }, { "--minimize", "energy", "--pareto", "energy,latency" },
        { "--set", "beam" }, { "--case", "x" }, { "--temporal-factors", "odd" },
      } do
        local status, out, err = command("map", w, a, table.unpack(arguments))
        assert.is_true(status == 1 or status == 2, table.concat(arguments, " "))
        assert.are.equal("", out)
        assert.matches("einloom: ", err, 1, true)
      end
    end)
  end)

  it("keeps what a mapping with holes says", function()
    with_files(function(w, a)
      local kept = "Main: A B Z\n...\n  Glb: Z\n  for k tile {2, 4}\n...\nMAC\n"
      files.scratch(kept, function(path)
        local status, text, err = command("map", w, a, "--keep", path)
        assert.are.equal("", err)
        assert.are.equal(0, status)
        assert.matches("\n *Glb: Z\n *for k tile [24]\n", text)
        local _, free = command("map", w, a)
        assert.is_true(number_of(figures_of(text)[1].energy)
          >= number_of(figures_of(free)[1].energy))
      end)
      files.scratch("Main: A B Z\n...\nfor k tile 3\n...\nMAC\n", function(path)
        local status, out, err = command("map", w, a, "--keep", path)
        assert.are.equal(1, status)
        assert.are.equal("", out)
        assert.matches("einloom: ", err, 1, true)
      end)
      files.scratch("return 5", function(path)
        assert.are.equal(1, (command("map", w, a, "--keep", path)))
      end, ".lua")
    end)
  end)

  it("takes strategies from scripts, with options and stores", function()
    local strategy = [[
return {
  defaults = { tries = 5 },
  search = function(space, search)
    for _ = 1, search.options.tries do search:try(space:random(search.rng)) end
  end,
}]]
    with_files(function(w, a)
      files.scratch(strategy, function(path)
        local kept = os.tmpname()
        os.remove(kept)
        local arguments = { w, a, "--strategy", path, "--set", "tries=20", "--seed", "3", "--json",
          "--store", kept }
        local found = {}
        for i = 1, 2 do
          local status, text, err = command("map", table.unpack(arguments))
          assert.are.equal("", err)
          assert.are.equal(0, status)
          local decoded = core.json.decode(text)
          assert.are.same({ path, 3, 20 }, { decoded.search.strategy, decoded.search.seed,
            decoded.search.candidates })
          found[i] = decoded.cases
        end
        assert.are.same(found[1], found[2])
        arguments[6] = "tries=21"
        local status, _, err = command("map", table.unpack(arguments))
        assert.are.equal(1, status)
        assert.matches("search.set tries is 21 here and 20 in the store", err, 1, true)
        os.remove(kept)
        assert.matches("by " .. path .. ": 5 candidates", select(2, command("map", w, a,
          "--strategy", path)), 1, true)
      end, ".lua")
    end)
  end)

  it("answers the same with threads", function()
    with_files(function(w, a)
      local texts = {}
      for _, threads in ipairs { "1", "3" } do
        local _, text = command("map", w, a, "--pareto", "energy,latency", "--threads", threads)
        texts[#texts + 1] = text:gsub("^[^\n]*", "")
      end
      assert.are.equal(texts[1], texts[2])
    end)
  end)

  it("says what would let a mapping through where none fits, and it does", function()
    local machine = [[
local loom = require "einloom"
local function access(energy) return { energy = energy, throughput = 7 } end
return loom.arch {
  loom.memory { "Main", size = math.huge, read = access(200), write = access(200), keep = "All" },
  loom.memory { "Glb", size = SIZE, read = access(6), write = access(6), keep = "All" },
  loom.fanout { "PE", x = UNITS },
  loom.compute { "MAC", energy = 1, throughput = 1 },
}]]
    local function search(w, size, units, ...)
      local more = { ... }
      local text = machine:gsub("SIZE", size):gsub("UNITS", units)
      return files.scratch(text, function(a) return command("map", w, a, table.unpack(more)) end,
        ".lua")
    end
    files.scratch(workload, function(w)
      local status, out, err = search(w, "20", "4")
      assert.are.equal(1, status)
      assert.are.equal("", out)
      local least = err:match "\n  the size of Glb: %d+ choices of tiles need more; (%d+) bits"
      assert.matches("no mapping fits\n", err, 1, true)
      assert.are.equal(0, (search(w, least, "4")))
      assert.are.equal(1, (search(w, ("%d"):format(least - 1), "4")))
      local kept = "Main: A B Z\nGlb: A B Z\npar k on PE.x\n  for m, n\n    MAC\n"
      files.scratch(kept, function(path)
        status, out, err = search(w, "3000", "4", "--keep", path)
        assert.are.same({ 1, "" }, { status, out })
        least = err:match "\n  the instances of PE.x: %d+ %l+ of tiles needs? more; (%d+) would"
        assert.are.equal(0, (search(w, "3000", least, "--keep", path)))
        assert.are.equal(1, (search(w, "3000", ("%d"):format(least - 1), "--keep", path)))
      end)
    end, ".lua")
  end)

  it("writes certificates that hold, of searches that went to their end", function()
    with_files(function(w, a)
      local path = os.tmpname()
      local status, text = command("map", w, a, "--minimize", "latency", "--certificate", path)
      assert.are.equal(0, status)
      local certified, report = command("certify", path)
      assert.are.equal(0, certified)
      local latency = number_of(figures_of(text)[1].latency)
      assert.truthy(report:find(("latency = %.17g"):format(latency), 1, true), report)
      local stopped, _, err = command("map", w, a, "--certificate", path, "--time-limit", "1e-6")
      assert.are.equal(75, stopped)
      assert.matches("no certificate: the search was stopped before its end", err, 1, true)
      os.remove(path)
    end)
  end)

  it("searches cases of files", function()
    local path = files.path "golden/search/cases.json"
    local id = "chain2_two_EDP"
    local status, text, err = command("map", path, "--case", id)
    assert.are.equal("", err)
    assert.are.equal(0, status)
    status = files.scratch(text, function(script) return command("eval", script) end, ".lua")
    assert.are.equal(0, status)
    local _, _, problem = command("map", path, "--case", "nothing_like_it")
    assert.matches("no case 'nothing_like_it'", problem, 1, true)
  end)

  it("says what files are wrong with", function()
    with_files(function(w, a)
      local _, _, err = command("map", a, w)
      assert.matches("the script should return a workload, not an einloom.arch", err, 1, true)
      _, _, err = command("map", w)
      assert.matches("the script should return an architecture behind the workload", err, 1, true)
      files.scratch("return function() end", function(f)
        _, _, err = command("map", f, a)
        assert.matches("not a function: write a script that calls it", err, 1, true)
      end, ".lua")
    end)
  end)
end)

describe("einloom map without an answer", function()
  it("says so as JSON too", function()
    with_files(function(w, a)
      for _, goal in ipairs { "--minimize=energy", "--pareto=energy,latency" } do
        local status, out, err = command("map", w, a, goal, "--time-limit", "0", "--json")
        assert.are.same({ 75, "einloom: stopped by the limit of time before anything was found\n" },
          { status, err })
        local said = core.json.decode(out)
        assert.are.same({}, said.cases)
        assert.are.same({ "time", "mapping/1" }, { said.search.stopped, said.schema })
      end
    end)
  end)

  it("refuses figures that are none, and options that do nothing", function()
    with_files(function(w, a)
      for expected, arguments in pairs {
        ["%-%-pareto expects figures"] = { "--pareto", "," },
        ["%-%-minimize takes one figure or a formula"] = { "--minimize", "energy, latency" },
        ["%-%-evaluations: the strategy optimal evaluates no mapping"] = { "--evaluations", "9" },
        ["%-%-minimize and %-%-pareto exclude"] = { "--minimize", "edp", "--pareto", "energy" },
      } do
        local status, out, err = command("map", w, a, table.unpack(arguments))
        assert.are.same({ 2, "" }, { status, out })
        assert.matches("^einloom: " .. expected, err)
      end
      for expected, arguments in pairs {
        ["%-%-minimize:1:1: expected a number"] = { "--minimize", "" },
        ["%-%-pareto: each figure once expected, got 'edp,edp'"] = { "--pareto", "edp,edp" },
      } do
        local status, _, err = command("map", w, a, table.unpack(arguments))
        assert.are.equal(1, status)
        assert.matches("^einloom: " .. expected, err)
      end
      local status, _, err = command("map", w)
      assert.are.equal(1, status)
      assert.matches("an architecture behind the workload, not nothing", err, 1, true)
    end)
  end)
end)

describe("what others wrote", function()
  local function refused(text, suffix, option, ...)
    local given = table.pack(...)
    return files.scratch(text, function(path)
      local status, out, err
      with_files(function(w, a)
        status, out, err = command("map", w, a, option, path, table.unpack(given))
      end)
      assert.are.equal("", out)
      return status, err, path
    end, suffix)
  end

  it("ends at the limit of time wherever it is", function()
    local status, err = refused("return function() while true do end end", ".lua", "--strategy",
      "--time-limit", "0.05")
    assert.are.same({ 75, "einloom: stopped by the limit of time before anything was found\n" },
      { status, err })
  end)

  it("fails with its own lines alone", function()
    local status, err, path = refused('local function f() error "boom" end\n'
      .. "return function() f() end", ".lua", "--strategy")
    assert.are.equal(1, status)
    assert.are.equal(1, select(2, err:gsub("stack traceback", "")), err)
    assert.truthy(err:find(path .. ":1: boom\nstack traceback:\n\t", 1, true), err)
    for line in err:gmatch "\n\t([^\n]*)" do
      assert.are.equal(path .. ":", line:sub(1, #path + 1))
    end
  end)

  it("cannot keep functions in its checkpoints", function()
    local status, err = refused("return function(_, s) s:checkpoint { a = { print } } end", ".lua",
      "--strategy")
    assert.are.equal(1, status)
    assert.matches("state[a][1] of a checkpoint is a function", err, 1, true)
  end)

  it("says that nothing was tried where nothing was", function()
    local status, err, path = refused("return function() end", ".lua", "--strategy")
    assert.are.same({ 1, ("einloom: nothing was tried: the strategy %s came to no mapping; where "
      .. "none fits, the strategy optimal says what is in the way\n"):format(path) },
      { status, err })
    with_files(function(w, a)
      local _, _, message = command("map", w, a, "--strategy", "random", "--evaluations", "0")
      assert.are.equal("einloom: nothing was tried: no mapping may be evaluated\n", message)
    end)
  end)

  it("as mappings to keep names the file, the line and what is near", function()
    for text, expected in pairs {
      ["Main: A\nGlb ? A\n...\nMAC\n"] = ":2:5: expected the end of the line",
      ["Main: A\nGlb: Q\n...\nMAC\n"] = ":2:1: unknown tensor Q; known: A, B, Z",
      ["Main: A\nGbl: A\n...\nMAC\n"] = ":2:1: no component Gbl; nearest: Glb",
    } do
      local status, err, path = refused(text, "", "--keep")
      assert.are.equal(1, status)
      assert.truthy(err:find(path .. expected, 1, true), err)
    end
  end)
end)

describe("why no mapping fits", function()
  local function reasons(glb, rf)
    return files.scratch(([[
      local loom = require "einloom"
      local function level(name, size)
        return loom.memory { name, size = size, read = { energy = 6 }, write = { energy = 6 },
          keep = "All" }
      end
      return loom.workload { sizes = { m = 8, k = 8, n = 8 }, bits = 8,
          "Z[m,n] = A[m,k] * B[k,n]" },
        loom.arch { level("Main", math.huge), level("Glb", %d), level("Rf", %d),
          loom.compute { "MAC", energy = 1 } }]]):format(glb, rf), function(path)
      local status, _, err = command("map", path)
      assert.are.equal(1, status)
      return err
    end, ".lua")
  end

  it("is said as well of units that stores know", function()
    files.scratch([[
      local loom = require "einloom"
      local function level(name, size)
        return loom.memory { name, size = size, read = { energy = 6 }, write = { energy = 6 },
          keep = "All" }
      end
      return loom.workload { sizes = { m = 8, k = 8 }, bits = 8, "Z[m] = A[m,k]" },
        loom.arch { level("Main", math.huge), level("Glb", 12), loom.compute { "MAC", energy = 1 } }
      ]], function(path)
      local function refused(...)
        local status, out, err = command(...)
        assert.are.same({ 1, "" }, { status, out })
        return err
      end
      local expected = refused("map", path)
      assert.matches("\n  the size of Glb: %d+ choices of tiles need more; 16 bits would do",
        expected)
      local stores = {}
      for i = 1, 2 do
        stores[i] = ("%s.%d.db"):format(path, i)
        command("map", path, "--shard", i .. "/2", "--store", stores[i])
      end
      local store = path .. ".db"
      for _ = 1, 2 do assert.are.equal(expected, refused("map", path, "--store", store)) end
      assert.are.equal(expected, refused("merge", table.unpack(stores)))
      local status, out, err = command("merge", "--json", table.unpack(stores))
      assert.are.same({ 1, expected }, { status, err })
      assert.are.same({}, core.json.decode(out).cases)
      for _, name in ipairs { store, table.unpack(stores) } do os.remove(name) end
    end, ".lua")
  end)

  it("is each memory that is too small for every mapping", function()
    assert.are.equal("einloom: no mapping fits\n"
      .. "  the size of Glb: every mapping needs 24 bits or more, there are 20\n"
      .. "  the size of Rf: every mapping needs 24 bits or more, there are 20\n", reasons(20, 20))
  end)

  it("is the one memory that has to be larger", function()
    for name, sizes in pairs { Glb = { 20, 1000 }, Rf = { 1000, 20 } } do
      local err = reasons(sizes[1], sizes[2])
      assert.matches("^einloom: no mapping fits\n  the size of " .. name
        .. ": %d+ choices of tiles need more; 24 bits would do, there are 20\n$", err)
    end
  end)
end)
