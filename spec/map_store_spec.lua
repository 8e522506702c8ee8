-- SPDX-License-Identifier: MIT
-- Searches that are stopped, killed, cut into shards: whatever happens on the way, the answer is
-- that of one that goes through.

local core = require "einloom.core"
local files = require "support.files"
local program = require "support.program"
local sqlite = require "einloom.store.sqlite"
local store = require "einloom.store"

local command = files.command
-- A file of those golden cases that are used here.
local cases
local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

-- A script or cases without the line on how long it took.
local function without_time(text) return (text:gsub("^%-%- [^\n]* candidates in [^\n]*\n", "")) end

-- Calls use(folder) with an empty folder.
local function with_folder(use)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir '%s'"):format(folder)))
  local ok, problem = pcall(use, folder)
  os.execute(("rm -r '%s'"):format(folder))
  if not ok then error(problem, 0) end
end

local function answer_of(id, ...)
  local status, text, err = command("map", cases, "--case", id, ...)
  assert.are.equal("", err)
  assert.are.equal(0, status)
  return without_time(text)
end

-- A shell line that runs the program in the background, sends it a signal after some seconds, and
-- prints its status and the seconds that it took to end after the signal.
local function signalled(arguments, signal, seconds, out)
  local line = ("'%s' %s >'%s' 2>&1 & pid=$!; sleep %.3f; kill -%s $pid 2>/dev/null; "
    .. "begin=$(date +%%s%%N); wait $pid 2>/dev/null; status=$?; end=$(date +%%s%%N); "
    .. "echo $status $((end - begin))"):format(program.path(), arguments, out, seconds, signal)
  local pipe = assert(io.popen(("bash -c %s 2>&1"):format(files.quoted(line))))
  local text = pipe:read "a"
  pipe:close()
  local status, nanoseconds = text:match "(%d+) (%d+)\n$"
  return math.tointeger(status), nanoseconds / 1e9
end

-- The store of a search, or of a shard of it, that has begun and was stopped.
local function begun(path, id, shard)
  local given = require "einloom.cli.problem".read({ cases }, id)
  local space = require "einloom.cli.problem".space(given, {})
  local data = require "einloom.store.problem".data(space)
  data.search = { strategy = "optimal", seed = 1 }
  local kept <close> = store.open(path, { identity = data, shard = shard,
    source = { lines = given.source, names = given.names } }, space:units())
  kept:finish("time", {})
  return path
end

local wanted = {
  "chain1_simple_E", "chain1_simple_L", "chain2_simple_E", "chain2_two_E", "chain2_two_L",
  "chain2_two_EL", "chain4_simple_EDP", "chain8_simple_E", "ski_snowcat_mm_EU", "tpu_matmuls_E",
  "reg_tpu_gpt175_dec_fused",
}

setup(function()
  local all = core.json.decode(files.read(files.path "golden/search/cases.json"))
  local chosen = setmetatable({}, core.json.array)
  for _, case in ipairs(all.cases) do
    for _, id in ipairs(wanted) do
      if case.id == id then chosen[#chosen + 1] = case end
    end
  end
  assert.are.equal(#wanted, #chosen)
  cases = os.tmpname()
  local file = assert(io.open(cases, "w"))
  file:write(core.json.encode { schema = all.schema, cases = chosen })
  file:close()
  os.rename(cases, cases .. ".json")
  cases = cases .. ".json"
end)

teardown(function() os.remove(cases) end)

describe("a search with a store", function()
  it("gives the answer of one without, once more when it is asked again", function()
    with_folder(function(folder)
      local whole = answer_of "chain2_two_EL"
      for _, threads in ipairs { "2", "1" } do
        assert.are.equal(whole, answer_of("chain2_two_EL", "--store", folder .. "/s.db",
          "--threads", threads))
      end
      local kept <close> = store.read(folder .. "/s.db")
      assert.are.same({ "done", 2 }, { kept:ended() })
      local p = kept:progress()
      assert.are.equal(p.all, p.done)
    end)
  end)

  it("is refused for another search, with what differs", function()
    with_folder(function(folder)
      local path = folder .. "/s.db"
      answer_of("chain1_simple_E", "--store", path)
      for id, expected in pairs {
        chain1_simple_L = "options.minimise%[1%] is \"latency\" here and \"energy\" in the store",
        chain2_simple_E = ' is "Matmul1" here and missing in the store, and %d+ more differ',
      } do
        local status, out, err = command("map", cases, "--case", id, "--store", path)
        assert.are.equal(1, status)
        assert.are.equal("", out)
        assert.matches(expected, err)
      end
      local _, _, err = command("map", cases, "--case", "chain1_simple_E", "--seed", "7",
        "--store", path)
      assert.matches("search.seed is 7 here and 1 in the store", err, 1, true)
    end)
  end)

  it("is looked at before anything is searched", function()
    for path, expected in pairs {
      ["/nowhere/s.db"] = { 1, "--store: /nowhere/s.db: No such file" },
      [cases] = { 2, "--store: " .. cases .. " is a file that the command needs" },
    } do
      local status, out, err = command("map", cases, "--case", "chain8_simple_E", "--store", path)
      assert.are.same({ expected[1], "" }, { status, out })
      assert.truthy(err:find(expected[2], 1, true), err)
    end
  end)

  it("is refused by name where it was tampered with, and left as it is", function()
    with_folder(function(folder)
      local whole, path = folder .. "/whole.db", folder .. "/s.db"
      answer_of("chain1_simple_E", "--store", whole)
      for statement, expected in pairs {
        ["DELETE FROM point WHERE position = 1"] = "unit %d+",
        ["DELETE FROM point"] = "unit %d+ has 0 points instead of %d+",
        ["UPDATE point SET position = position + 7 WHERE position = 1"] = "point 1 of unit",
        ["UPDATE unit SET points = points + 1"] = "unit %d+ has %d+ points instead of %d+",
        ["UPDATE point SET tiles = '[3]'"] = "tiles? expected",
        ["UPDATE point SET tiles = '3'"] = "the tiles of point 1 of unit %d+ are no integers",
        ["UPDATE point SET tiles = '[3'"] = "point 1 of unit %d+ holds no JSON",
        ["UPDATE point SET figures = '[\"a\",null]'"] = "the figures of point 1 of unit",
        ["UPDATE point SET figures = '[1]'"] = "costs something else here than noted",
        ["UPDATE search SET value = '{}' WHERE key = 'identity'"] = "of which search it is",
        ["UPDATE search SET value = '[]' WHERE key = 'shard'"] = "of which shard it is",
      } do
        files.copy(whole, path)
        local db = sqlite.open(path, 0x65696e6c)
        db:run(statement)
        db:close()
        local before = files.read(path)
        local status, out, err = command("map", cases, "--case", "chain1_simple_E", "--store", path)
        assert.are.same({ 1, "" }, { status, out }, statement)
        assert.are.equal(1, select(2, err:gsub("\n", "")), err)
        assert.are.equal("einloom: " .. path .. ": ", err:sub(1, #path + 11))
        assert.matches(expected, err)
        assert.is_nil(err:find(".lua", 1, true), err)
        assert.are.equal(before, files.read(path), statement)
        local _, listed, problem = command("runs", path)
        assert.is_nil(listed:find "killed")
        assert.is_nil(problem:find(".lua", 1, true), problem)
      end
      local before = files.read(whole)
      assert.are.equal(1, (command("map", cases, "--case", "chain1_simple_L", "--store", whole)))
      assert.are.equal(before, files.read(whole))
      assert.matches(" done ", select(2, command("runs", whole)), 1, true)
    end)
  end)

  it("is named where runs and merge find it damaged", function()
    with_folder(function(folder)
      local path = folder .. "/s.db"
      answer_of("chain1_simple_E", "--store", path)
      local db = sqlite.open(path, 0x65696e6c)
      db:run "UPDATE search SET value = '{\"a\":1}' WHERE key = 'identity'"
      db:close()
      for _, name in ipairs { "runs", "merge" } do
        local status, _, err = command(name, path)
        assert.are.equal(1, status)
        assert.are.equal("einloom: " .. path .. ": ", err:sub(1, #path + 11))
        assert.are.equal(1, select(2, err:gsub("\n", "")), err)
        assert.is_nil(err:find(".lua", 1, true), err)
      end
    end)
  end)

  it("loses nothing when it is killed at any moment", function()
    with_folder(function(folder)
      local id, path, out = "chain8_simple_E", folder .. "/s.db", folder .. "/out"
      local whole, start = answer_of(id), os.time()
      local arguments = ("map '%s' --case %s --store '%s'"):format(cases, id, path)
      math.randomseed(seed)
      local before, kills = {}, 0
      repeat
        local seconds = 0.06 * 1.3 ^ kills * (0.5 + math.random())
        local status = signalled(arguments, "KILL", seconds, out)
        if status == 137 then kills = kills + 1 end
        local ok, kept = pcall(store.read, path)
        if not ok then
          assert.is_true(next(before) == nil and (kept.message:find "there is no such store" ~= nil
            or kept.message:find "its search has not begun" ~= nil), tostring(kept))
        else
          local known = kept:known()
          for number, points in pairs(before) do
            assert.are.same(points, known[number], ("seed %d"):format(seed))
          end
          before = known
          kept:close()
        end
        assert.is_true(status == 137 or status == 0, files.exists(out) and files.read(out))
      until status == 0 or os.time() - start > 60
      assert.is_true(kills > 1, ("seed %d: killed %d times"):format(seed, kills))
      assert.are.equal(whole, without_time(files.read(out)), ("seed %d"):format(seed))
      assert.are.equal(whole, answer_of(id, "--store", path))
    end)
  end)

  it("of a strategy without units goes on from its last checkpoint", function()
    with_folder(function(folder)
      local id, path, out = "chain2_two_E", folder .. "/s.db", folder .. "/out"
      local options = { "--strategy", "annealing", "--seed", "5", "--evaluations", "400" }
      local whole = answer_of(id, table.unpack(options))
      local arguments = ("map '%s' --case %s --store '%s' %s"):format(cases, id, path,
        table.concat(options, " "))
      local kills, evaluated = 0, 0
      for i = 1, 30 do
        local status = signalled(arguments, "KILL", 0.2 * 1.3 ^ i, out)
        if status == 0 then break end
        assert.are.equal(137, status, files.read(out))
        kills = kills + 1
        local ok, kept = pcall(store.read, path)
        local position = ok and kept:position()
        if ok then kept:close() end
        local n = position and position.checkpoint and position.checkpoint.evaluated or 0
        assert.is_true(n >= evaluated)
        evaluated = n
      end
      assert.is_true(kills > 0)
      assert.are.equal(whole, without_time(files.read(out)))
    end)
  end)

  it("ends at a limit of time with the best so far, and goes on from there", function()
    with_folder(function(folder)
      local id, path = "tpu_matmuls_E", folder .. "/s.db"
      local whole = answer_of(id)
      local status, text, err
      for i = 1, 200 do
        status, text, err = command("map", cases, "--case", id, "--store", path, "--time-limit",
          tostring(0.05 * i))
        if status == 0 then break end
        assert.are.equal(75, status, err)
        assert.truthy(text == "" or text:find("-- stopped by the limit of time", 1, true))
      end
      assert.are.equal(0, status)
      assert.are.equal(whole, without_time(text))
      local kept <close> = store.read(path)
      local ended, sessions = kept:ended()
      assert.are.equal("done", ended)
      assert.is_true(sessions > 1)
    end)
  end)
end)

describe("Ctrl-C", function()
  it("ends a search at once with the best so far, which eval takes", function()
    with_folder(function(folder)
      local out, seconds, text = folder .. "/best.lua", 0.4, ""
      local arguments = ("map '%s' --case reg_tpu_gpt175_dec_fused"):format(cases)
      while not text:find "energy" do
        local status, took = signalled(arguments, "INT", seconds, out)
        text, seconds = files.read(out), 1.5 * seconds
        assert.is_true(took < 2, ("%.3f s"):format(took))
        assert.is_true(status == 75 or status == 1 and text:find "interrupted!" ~= nil, text)
      end
      assert.truthy(text:find("-- stopped by Ctrl-C: the best so far, ", 1, true), text)
      assert.are.equal(0, (command("eval", out)))
    end)
  end)
end)

describe("shards", function()
  for id, numbers in pairs {
    chain1_simple_E = { 1, 2, 3, "more than units" }, chain2_two_EL = { 1, 3, 7 },
    chain4_simple_EDP = { 2, 7 }, ski_snowcat_mm_EU = { 3 },
  } do
    it("of " .. id .. " give the answer of the whole search, whatever their number", function()
      with_folder(function(folder)
        local whole, units = answer_of(id), nil
        for _, n in ipairs(numbers) do
          if n == "more than units" then n = units + 2 end
          local paths = {}
          for i = 1, n do
            paths[i] = ("%s/%d-of-%d.db"):format(folder, i, n)
            local status, text = command("map", cases, "--case", id, "--shard",
              ("%d/%d"):format(i, n), "--store", paths[i])
            assert.are.equal(0, status)
            units = math.tointeger(text:match "%((%d+) in all%)" or "") or units
          end
          local status, text, err = command("merge", table.unpack(paths))
          assert.are.equal("", err)
          assert.are.equal(0, status)
          assert.are.equal(whole, without_time(text), ("%d shards"):format(n))
        end
      end)
    end)
  end

  it("have a certificate together", function()
    with_folder(function(folder)
      local paths, proof = {}, folder .. "/proof"
      for i = 1, 2 do
        paths[i] = ("%s/%d.db"):format(folder, i)
        local shard = i .. "/2"
        command("map", cases, "--case", "chain1_simple_E", "--store", paths[i], "--shard", shard)
      end
      for path, expected in pairs {
        ["/nowhere/proof"] = { 1, "No such file" }, [folder] = { 1, "directory" },
        [folder .. "/./1.db"] = { 2, "needs" },
      } do
        local status, out, err = command("merge", paths[1], paths[2], "--certificate", path)
        assert.are.same({ expected[1], "" }, { status, out }, path)
        assert.matches("^einloom: %-%-certificate: [^\n]*" .. expected[2] .. "[^\n]*\n$", err)
      end
      assert.are.equal(0, (command("merge", paths[1], paths[2], "--certificate", proof)))
      assert.are.equal(0, (command("certify", proof)))
    end)
  end)

  it("of what scripts and mappings with holes say give the answer of the whole search", function()
    with_folder(function(folder)
      local script = folder .. "/s.lua"
      local kept = folder .. "/kept"
      files.write(kept, "Main: A B Z\n...\n  Glb: Z\n...\nMAC\n")
      files.write(script, [[
        local loom = require "einloom"
        local function access(energy) return { energy = energy, throughput = 7 } end
        return loom.workload {
          sizes = { m = 12, k = 8, n = 6 }, bits = { All = 8, Outputs = 16 },
          "Z[m,n] = A[m,k] * B[k,n]",
        }, loom.arch {
          loom.memory { "Main", size = math.huge, read = access(200), write = access(200),
            keep = "~Intermediates" },
          loom.memory { "Glb", size = 1000, read = access(6), write = access(6), may_keep = "All" },
          loom.fanout { "PE", x = 4 },
          loom.compute { "MAC", energy = 1, throughput = 1 },
        }]])
      for i, options in ipairs {
        { "--minimize", "energy + 3*latency" }, { "--pareto", "energy,latency", "--keep", kept },
      } do
        local status, whole = command("map", script, table.unpack(options))
        assert.are.equal(0, status)
        local paths = {}
        for n = 1, 3 do
          paths[n] = ("%s/%d-%d.db"):format(folder, i, n)
          local all = table.pack(table.unpack(options))
          table.move({ "--shard", n .. "/3", "--store", paths[n] }, 1, 4, #all + 1, all)
          assert.are.equal(0, (command("map", script, table.unpack(all))))
        end
        local merged, text = command("merge", table.unpack(paths))
        assert.are.equal(0, merged)
        assert.are.equal(without_time(whole), without_time(text))
      end
    end)
  end)

  it("of what cannot be written down are refused", function()
    with_folder(function(folder)
      local script = folder .. "/s.lua"
      files.write(script, [[
        local loom = require "einloom"
        return loom.workload { sizes = { m = 4 }, bits = 8, "Z[m] = A[m]" }, loom.arch {
          loom.memory { "Main", size = math.huge, read = { energy = 1 }, write = { energy = 1 },
            latency_rule = function() return 1 end },
          loom.compute { "MAC", energy = 1 },
        }]])
      local status, _, err = command("map", script, "--store", folder .. "/s.db")
      assert.are.equal(1, status)
      assert.matches("latency_rule of Main is a function", err, 1, true)
    end)
  end)

  it("are disjoint and together all of the space", function()
    with_folder(function(folder)
      local seen, n = {}, 3
      for i = 1, n do
        local path = ("%s/%d.db"):format(folder, i)
        command("map", cases, "--case", "chain2_two_EL", "--shard", i .. "/" .. n, "--store", path)
        local kept <close> = store.read(path)
        for number in pairs(kept:known()) do
          assert.is_nil(seen[number])
          seen[number] = true
        end
        if i == n then assert.are.equal(kept:progress().all, #seen) end
      end
    end)
  end)

  it("that are missing, twice there, incomplete or of another search are named", function()
    with_folder(function(folder)
      local function part(name, i, id, ...)
        local path = ("%s/%s.db"):format(folder, name)
        command("map", cases, "--case", id or "chain2_two_E", "--shard", i .. "/3", "--store", path,
          ...)
        return path
      end
      local one, two, three = part("one", 1), part("two", 2), part("three", 3)
      local again, other = part("again", 1), part("other", 3, "chain2_two_L")
      local late = begun(folder .. "/late.db", "chain2_two_E", { number = 2, of = 3 })
      for expected, paths in pairs {
        ["shard 2/3 is missing"] = { one, three },
        [one .. " and " .. again .. " are the same shard 1/3"] = { one, two, three, again },
        ["shard 2/3 is incomplete: " .. late .. " has 0 of its 8 units"] = { one, late, three },
        [other .. ' is of another search than ' .. one .. ': options.minimise[1] is "latency", not '
          .. '"energy"'] = { one, two, other },
        [folder .. "/none.db: there is no such store"] = { one, folder .. "/none.db", three },
      } do
        local status, out, err = command("merge", table.unpack(paths))
        assert.are.equal(1, status)
        assert.are.equal("", out)
        assert.truthy(err:find(expected, 1, true), err)
      end
      assert.are.equal(0, (command("merge", three, one, two)))
    end)
  end)

  it("of several searches are left with what a killed process left beside them", function()
    with_folder(function(folder)
      local paths = {}
      for i, id in ipairs { "chain2_two_E", "chain2_two_L" } do
        paths[i] = ("%s/%d.db"):format(folder, i)
        command("map", cases, "--case", id, "--shard", i .. "/2", "--store", paths[i])
      end
      local killed, open = folder .. "/killed.db", sqlite.open(paths[2], 0x65696e6c)
      open:log()
      open:run "INSERT INTO session (began, seconds) VALUES ('today', 1)"
      for _, suffix in ipairs { "", "-wal" } do files.copy(paths[2] .. suffix, killed .. suffix) end
      open:close()
      local before = { files.read(killed), files.read(killed .. "-wal") }
      local status, out, err = command("merge", paths[1], killed)
      assert.are.same({ 1, "" }, { status, out })
      assert.matches("killed.db is of another search", err, 1, true)
      assert.are.same(before, { files.read(killed), files.read(killed .. "-wal") })
    end)
  end)

  it("say as JSON what they have done", function()
    with_folder(function(folder)
      local path = folder .. "/1.db"
      local arguments = { "map", cases, "--case", "chain2_two_E", "--shard", "1/2", "--store", path,
        "--json" }
      local status, out, err = command(table.unpack(arguments))
      assert.are.same({ 0, "" }, { status, err })
      local about = core.json.decode(out)
      local kept <close> = store.read(path)
      local p = kept:progress()
      assert.are.same({ "shard/1", path, p.points, { number = 1, of = 2 },
        { all = p.all, mine = p.mine, done = p.mine } },
        { about.schema, about.store, about.points, about.shard, about.units })
      assert.are.same({ "energy", "optimal", 1 },
        { about.search.minimise, about.search.strategy, about.search.seed })
      assert.is_true(about.seconds > 0 and about.search.candidates > 0)
      arguments[7], arguments[8] = "--store", folder .. "/2.db"
      table.move({ "--time-limit", "0.000001" }, 1, 2, #arguments + 1, arguments)
      status, out = command(table.unpack(arguments))
      about = core.json.decode(out)
      assert.are.same({ 75, "time", 0 }, { status, about.search.stopped, about.points })
    end)
  end)

  it("need a store and a strategy with units of work", function()
    for _, arguments in ipairs {
      { "--shard", "1/2" }, { "--shard", "3/2", "--store", "x.db" },
      { "--shard", "0/2", "--store", "x.db" }, { "--shard", "x", "--store", "x.db" },
      { "--shard", "1/2", "--store", "x.db", "--strategy", "random" },
      { "--shard", "1/2", "--store", "x.db", "--certificate", "x" },
    } do
      local status, out, err = command("map", cases, "--case", "chain1_simple_E",
        table.unpack(arguments))
      assert.are.equal(2, status, table.concat(arguments, " "))
      assert.are.equal("", out)
      assert.matches("--shard", err, 1, true)
    end
  end)
end)

describe("einloom runs", function()
  it("lists stores and says in what they differ", function()
    with_folder(function(folder)
      local a, b, c = folder .. "/a.db", folder .. "/b.db", folder .. "/c.db"
      answer_of("chain1_simple_E", "--store", a)
      answer_of("chain1_simple_L", "--store", b)
      begun(c, "chain2_two_EL", { number = 1, of = 1 })
      local status, out = command("runs", a, b, c)
      assert.are.equal(0, status)
      assert.matches(a .. " +energy +optimal +1/1 +(%d+) of %1 +%d+ +%S+ s +done +energy %d+", out)
      assert.matches(c .. " +energy,latency +optimal +1/1 +0 of %d+ +0 +%S+ s +stopped: time +%-\n",
        out)
      assert.truthy(out:find(("\n%s differs from %s:\n  options.minimise[1] is \"latency\", not "
        .. "\"energy\"\n"):format(b, a), 1, true), out)
      local bad, _, err = command("runs", a, folder .. "/none.db")
      assert.are.equal(1, bad)
      assert.matches("there is no such store", err, 1, true)
    end)
  end)
end)
