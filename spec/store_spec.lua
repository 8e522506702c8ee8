-- SPDX-License-Identifier: MIT
-- Stores of searches: what is kept outlives a killed process, and a file that is something else, of
-- another search, damaged or in use is refused by name.

local files = require "support.files"
local program = require "support.program"
local sqlite = require "einloom.store.sqlite"
local store = require "einloom.store"

local seed = math.tointeger(os.getenv "LOOM_SEED" or "") or os.time()

local units = { { text = "A/m" }, { text = "B/n" }, { text = "C/k" }, { text = "D/m" } }

local function search(fields)
  local all = {
    identity = {
      workload = { sizes = { m = 4, n = 8 } }, arch = { nodes = { { name = "Main", size = 64 } } },
    },
    shard = { number = 1, of = 1 },
  }
  for key, value in pairs(fields or {}) do all[key] = value end
  return all
end

-- Calls use(path) with the path of a store that is not there yet.
local function with_path(use)
  local path = os.tmpname()
  os.remove(path)
  local results = table.pack(pcall(use, path))
  for _, suffix in ipairs { "", "-wal", "-shm", "-journal" } do os.remove(path .. suffix) end
  if not results[1] then error(results[2], 0) end
end

local function refusal(of, ...)
  local ok, problem = pcall(of, ...)
  assert.is_false(ok)
  assert.are.equal("store", problem.kind)
  return tostring(problem):match "^[^\n]*"
end

local points = {
  { tiles = { 4, 1, 2 }, figures = { 0.1, 1e300, 9007199254740993 } },
  { tiles = { 2, 2, 1 }, figures = { 1 / 3, 0, 7 } },
}

describe("a store", function()
  it("gives back what was kept, digit for digit", function()
    with_path(function(path)
      local s = store.open(path, search(), units)
      assert.are.same({}, s:known())
      s:begin()
      s:keep(2, points, 0.5, { capacity = 3 })
      s:keep(4, {}, 0.25, { capacity = 4, fanout = 1 })
      local answer = { { figures = { energy = 0.1 }, mapping = "it's a\nnest" } }
      s:finish("stopped", answer)
      s:close()
      s:close()
      s = store.open(path, search(), units)
      assert.are.same({ [2] = points, [4] = {} }, s:known())
      assert.are.same({ capacity = 7, fanout = 1 }, s:counts())
      local progress = s:progress()
      assert.are.same({ 4, 4, 2, 2 }, { progress.all, progress.mine, progress.done,
        progress.points })
      assert.is_true(progress.seconds > 0 and progress.seconds < 60)
      assert.are.same(answer, s:answer())
      assert.are.same({ "stopped", 1 }, { s:ended() })
      s:close()
    end)
  end)

  it("is one file when it is closed", function()
    with_path(function(path)
      store.open(path, search(), units):close()
      for _, suffix in ipairs { "-wal", "-shm", "-journal" } do
        assert.is_nil((io.open(path .. suffix)))
      end
      local copy = path .. ".copy"
      files.copy(path, copy)
      local s = store.read(copy)
      assert.are.same({ number = 1, of = 1 }, s.search.shard)
      s:close()
      os.remove(copy)
    end)
  end)

  it("says at which place another search differs", function()
    with_path(function(path)
      store.open(path, search(), units):close()
      local other = search()
      other.identity.arch.nodes[1].size = 65
      other.identity.arch.nodes[2] = { name = "Glb" }
      assert.are.equal(path .. ": the store is of another search: arch.nodes[1].size is 65 here "
        .. "and 64 in the store, and 1 more differ", refusal(store.open, path, other, units))
      assert.are.equal(path .. ": the store is of shard 1/1, not of 2/3", refusal(store.open, path,
        search { shard = { number = 2, of = 3 } }, units))
      assert.matches("unit 2 is 'B/k' here and 'B/n' in the store", refusal(store.open, path,
        search(), { units[1], { text = "B/k" }, units[3], units[4] }), 1, true)
      assert.matches("unit 4 is 'missing' here", refusal(store.open, path, search(),
        { units[1], units[2], units[3] }), 1, true)
    end)
  end)

  it("is used by one process at a time", function()
    with_path(function(path)
      local s = store.open(path, search(), units)
      local script = ([[
        local nodes = { { name = "Main", size = 64 } }
        local identity = { workload = { sizes = { m = 4, n = 8 } }, arch = { nodes = nodes } }
        local units = { { text = "A/m" }, { text = "B/n" }, { text = "C/k" }, { text = "D/m" } }
        local ok, problem = pcall(require "einloom.store".%s, %q,
          { identity = identity, shard = { number = 1, of = 1 } }, units)
        io.write(tostring(problem))]])
      for _, how in ipairs { "open", "read" } do
        local _, text = program.run_text(script:format(how, path))
        assert.matches(": the store is in use by another process", text, 1, true)
      end
      s:keep(1, points, 1)
      s:close()
      local _, text = program.run_text(script:format("read", path))
      assert.matches("^table:", text)
    end)
  end)

  it("refuses what is no store, and leaves it as it is", function()
    local foreign = os.tmpname()
    os.remove(foreign)
    local db = sqlite.open(foreign, 4711)
    db:run "CREATE TABLE mine (x)"
    db:close()
    local before = files.read(foreign)
    assert.are.equal(foreign .. ": the file holds something else than a search",
      refusal(store.open, foreign, search(), units))
    assert.are.equal(before, files.read(foreign))
    os.remove(foreign)
    files.scratch(("text "):rep(1000), function(path)
      assert.matches("is not an SQLite file", refusal(store.open, path, search(), units), 1, true)
    end)
    assert.matches("there is no such store", refusal(store.read, "/nowhere/x.db"), 1, true)
    local nowhere = refusal(store.open, "/nowhere/x.db", search(), units)
    assert.matches("cannot be opened", nowhere, 1, true)
  end)

  it("says what to install where SQLite is not there", function()
    local name = "luasql.sqlite3"
    local loaded, preload = package.loaded[name], package.preload[name]
    package.loaded[name], package.preload[name] = nil, function() error "not there" end
    local ok, message = pcall(refusal, store.open, "/nowhere/x.db", search(), units)
    package.loaded[name], package.preload[name] = loaded, preload
    assert.is_true(ok, message)
    assert.matches("install the Debian package lua-sql-sqlite3", message, 1, true)
  end)

  -- A store of which a process that was killed left a part in its log.
  local function with_killed(use)
    with_path(function(path)
      local s = store.open(path, search(), units)
      s:keep(2, points, 0.5)
      local killed = path .. ".killed"
      files.copy(path, killed)
      files.copy(path .. "-wal", killed .. "-wal")
      s:close()
      local function contents()
        return { files.read(killed), files.read(killed .. "-wal"), files.exists(killed .. "-shm") }
      end
      local ok, problem = pcall(use, killed, contents)
      for _, suffix in ipairs { "", "-wal", "-shm" } do os.remove(killed .. suffix) end
      if not ok then error(problem, 0) end
    end)
  end

  it("leaves what a killed process left beside it where it is refused", function()
    with_killed(function(path, contents)
      local before = contents()
      local other = search()
      other.identity.workload.sizes.m = 5
      assert.matches("m is 5 here and 4 in the store", refusal(store.open, path, other, units), 1,
        true)
      assert.are.same(before, contents())
      assert.matches("is of shard 1/1, not of 1/2", refusal(store.open, path,
        search { shard = { number = 1, of = 2 } }, units), 1, true)
      assert.are.same(before, contents())
      assert.matches("other units of work", refusal(store.open, path, search(), { units[2] }), 1,
        true)
      assert.are.same(before, contents())
      local s = store.open(path, search(), units)
      assert.are.same({ [2] = points }, s:known())
      s:close()
    end)
    with_killed(function(path, contents)
      local db = sqlite.open(path, 0x65696e6c)
      db:log()
      db:run "PRAGMA user_version = 99"
      files.copy(path, path .. ".newer")
      files.copy(path .. "-wal", path .. ".newer-wal")
      db:close()
      os.rename(path .. ".newer", path)
      os.rename(path .. ".newer-wal", path .. "-wal")
      local before = contents()
      for _, how in ipairs { "open", "read" } do
        assert.are.equal(path .. ": the store has version 99, this program reads version 2",
          refusal(store[how], path, search(), units))
        assert.are.same(before, contents())
      end
    end)
  end)

  it("refuses another program's file, and leaves what lies beside it", function()
    with_path(function(path)
      local db = sqlite.open(path, 4711)
      db:log()
      db:run "CREATE TABLE mine (x)"
      local foreign = path .. ".foreign"
      files.copy(path, foreign)
      files.copy(path .. "-wal", foreign .. "-wal")
      db:close()
      local before = { files.read(foreign), files.read(foreign .. "-wal") }
      assert.are.equal(foreign .. ": the file holds something else than a search",
        refusal(store.open, foreign, search(), units))
      assert.are.same(before, { files.read(foreign), files.read(foreign .. "-wal") })
      os.remove(foreign)
      os.remove(foreign .. "-wal")
    end)
  end)

  it("refuses points that have a hole", function()
    with_path(function(path)
      local s = store.open(path, search(), units)
      s:keep(1, points, 1)
      s.db:run "DELETE FROM point WHERE position = 1"
      assert.are.equal(path .. ": the store is damaged: point 1 of unit 1 is missing",
        refusal(s.known, s))
      s:close()
    end)
  end)

  it("refuses another version", function()
    with_path(function(path)
      store.open(path, search(), units):close()
      local db = sqlite.open(path, 0x65696e6c)
      db:run "PRAGMA user_version = 99"
      db:close()
      assert.are.equal(path .. ": the store has version 99, this program reads version 2",
        refusal(store.open, path, search(), units))
    end)
  end)

  it("refuses a file that is cut or overwritten anywhere, or reads the same from it", function()
    with_path(function(path)
      local s = store.open(path, search(), units)
      for number = 1, 4 do
        local many = {}
        for i = 1, 60 do many[i] = { tiles = { i, number }, figures = { i / 7 } } end
        s:keep(number, many, 1)
      end
      local whole = s:known()
      s:close()
      local text = files.read(path)
      local refused = 0
      math.randomseed(seed)
      for _ = 1, 40 do
        local at = math.random(#text - 1)
        local other = math.random(2) == 1 and text:sub(1, at)
          or text:sub(1, at - 1) .. string.char(text:byte(at) ~ 255) .. text:sub(at + 1)
        files.scratch(other, function(damaged)
          local ok, answer = pcall(function()
            local again <close> = setmetatable({ s = store.open(damaged, search(), units) },
              { __close = function(t) t.s:close() end })
            return again.s:known()
          end)
          if not ok then
            refused = refused + 1
            assert.are.equal("store", answer.kind, ("seed %d: %s"):format(seed, answer))
          elseif #other < #text then
            assert.are.same(whole, answer, ("seed %d: cut at %d"):format(seed, at))
          end
        end)
      end
      assert.is_true(refused > 10, ("seed %d: %d refused"):format(seed, refused))
    end)
  end)
end)
