-- SPDX-License-Identifier: MIT
-- What ends `einloom map` early, and what it refuses before it begins: wherever it is, it ends
-- soon, keeps the best so far and leaves files as they were.

local files = require "support.files"
local program = require "support.program"

local command = files.command

local folder

local workload = [[
local loom = require "einloom"
return loom.workload { sizes = { a = 64, b = 96, c = 64, d = 96, e = 64 }, bits = 8,
  "T[a,c] = X[a,b] * W[b,c]", "U[a,d] = T[a,c] * V[c,d]", "Z[a,e] = U[a,d] * Y[d,e]" }]]
local arch = [[
local loom = require "einloom"
local io = { energy = 10, bits_per_action = 8, throughput = 4 }
return loom.arch {
  loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "~Intermediates",
    may_keep = "All" },
  loom.memory { "GLB", size = 65536, read = io, write = io, may_keep = "All" },
  loom.fanout { "PE", x = 8, y = 8 },
  loom.memory { "Reg", size = 256, read = { energy = 1 }, write = { energy = 1 },
    may_keep = "All" },
  loom.compute { "MAC", energy = 1, throughput = 1 },
}]]

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir '%s'"):format(folder)))
  files.write(folder .. "/w.lua", workload)
  files.write(folder .. "/a.lua", arch)
end)

teardown(function() os.execute(("rm -r '%s'"):format(folder)) end)

local function map(...) return command("map", folder .. "/w.lua", folder .. "/a.lua", ...) end

local function energy_of(text)
  return tonumber(text:match "\n%-%- +energy +latency\n%-%- +(%d+)")
end

describe("a search that is stopped", function()
  it("has its best so far in the store, and answers no worse when it is stopped again", function()
    local path, first, limit = folder .. "/best.db", nil, 1
    while not first do
      local status, text = map("--store", path, "--time-limit", tostring(limit))
      assert.are.equal(75, status)
      first, limit = energy_of(text), 2 * limit
    end
    local listed, out = command("runs", path)
    assert.are.equal(0, listed)
    assert.matches(("energy %.6g, latency"):format(first):gsub("[%+%-%.]", "%%%0"), out)
    for _, short in ipairs { "0.3", "0.5", "1" } do
      local status, text = map("--store", path, "--time-limit", short)
      assert.are.equal(75, status)
      local energy = energy_of(text)
      assert.is_true(energy and energy <= first, text)
      first = energy
    end
    local status, text = map("--store", path, "--time-limit", "20", "--minimize", "latency")
    assert.are.same({ 1, "" }, { status, text })
  end)

  it("ends in the middle of what comes before it", function()
    files.write(folder .. "/any.txt", "...\n...\nT on MAC\n")
    local clock = require "einloom.core".clock
    for _, arguments in ipairs { {}, { "--keep", folder .. "/any.txt" } } do
      local start = clock()
      local status, _, err = map("--time-limit", "0.3", table.unpack(arguments))
      assert.are.equal(75, status)
      assert.is_true(clock() - start < 3)
      assert.truthy(err == "" or err:find "^einloom: stopped by the limit of time before", err)
    end
  end)

  it("leaves no trace of the program's inside, whenever Ctrl-C comes", function()
    local out = folder .. "/out"
    for _, seconds in ipairs { 0.01, 0.03, 0.1, 0.3, 0.9 } do
      local line = ("'%s' map '%s/w.lua' '%s/a.lua' >'%s' 2>&1 & p=$!; sleep %s; kill -INT $p; "
        .. "wait $p; echo $?"):format(program.path(), folder, folder, out, seconds)
      local pipe = assert(io.popen(("bash -c %s 2>/dev/null"):format(files.quoted(line))))
      local status = tonumber(pipe:read "a")
      pipe:close()
      local text = files.read(out)
      assert.is_true(status == 75 or status == 130, ("%s: %s"):format(status, text))
      assert.is_nil(text:find "traceback", text)
    end
  end)

  it("leaves a certificate that is there as it is", function()
    local path = folder .. "/c"
    files.write(path, "before")
    local status, _, err = map("--certificate", path, "--time-limit", "0.2")
    assert.are.equal(75, status)
    assert.matches("no certificate: the search was stopped before its end", err, 1, true)
    assert.are.equal("before", files.read(path))
    assert.are.equal(75, (map("--certificate", "/dev/null", "--time-limit", "0.2")))
    assert.are.equal("other", (require "einloom.core".file_kind "/dev/null"))
  end)
end)

describe("einloom map refuses", function()
  it("scripts that return no strategy", function()
    for text, expected in pairs {
      ["return nil"] = "not nothing", ["return {}"] = "not a table", ["return 'beam'"] =
        "not a string",
    } do
      files.write(folder .. "/s.lua", text)
      local status, out, err = map("--strategy", folder .. "/s.lua")
      assert.are.same({ 1, "" }, { status, out })
      assert.matches("a function or a table with a function `search`, " .. expected, err, 1, true)
    end
  end)

  it("stores that would keep nothing", function()
    for path, expected in pairs {
      [""] = "no name of a file", [":memory:"] = "write ./:memory:",
      ["file:x?mode=memory"] = "write ./file:x", [folder] = "a directory",
      ["/dev/null"] = "no file",
    } do
      local status, out, err = map("--store", path)
      assert.are.same({ 1, "" }, { status, out })
      assert.matches(expected, err, 1, true)
    end
  end)
end)

describe("einloom map", function()
  local function with_arch(from, to, ...)
    files.write(folder .. "/other.lua", (arch:gsub(from, to)))
    files.write(folder .. "/small.lua", [[
return require "einloom".workload { sizes = { a = 4, b = 4, c = 2 }, bits = 8,
  "Z[a,c] = X[a,b] * W[b,c]" }]])
    return command("map", folder .. "/small.lua", folder .. "/other.lua", ...)
  end

  it("says by every strategy what is in the way where nothing fits", function()
    local said
    for _, name in ipairs { "optimal", "random", "exhaustive", "annealing" } do
      local status, out, err = with_arch("size = 65536", "size = 4, keep = 'All'",
        "--strategy", name)
      assert.are.same({ 1, "" }, { status, out })
      assert.matches("no mapping fits\n  the size of GLB: %d+ choices of tiles need more", err)
      said = said or err
      assert.are.equal(said, err)
    end
  end)

  it("prints JSON that verify and eval take", function()
    for _, arguments in ipairs { { "--json" }, { "--json", "--pareto", "energy,latency" } } do
      local status, out = with_arch("", "", table.unpack(arguments))
      assert.are.equal(0, status)
      files.write(folder .. "/m.json", out)
      local verified, report = command("verify", folder .. "/m.json")
      assert.are.equal(0, verified)
      assert.matches("^[1-9]%d* passed, 0 failed, 0 disputed", report)
      assert.are.equal(0, (command("eval", folder .. "/m.json")))
    end
  end)

  it("and eval say what to write where a script returns a function", function()
    files.write(folder .. "/f.lua", "return function() end")
    for _, arguments in ipairs {
      { "map", folder .. "/f.lua", folder .. "/a.lua" }, { "eval", folder .. "/f.lua" },
    } do
      local status, _, err = command(table.unpack(arguments))
      assert.are.equal(1, status)
      assert.truthy(err:find(("return (dofile %q)(...)"):format(folder .. "/f.lua"), 1, true), err)
    end
  end)

  it("shows no units of strategies that have none", function()
    local path = folder .. "/r.db"
    assert.are.equal(0, (with_arch("", "", "--strategy", "random", "--evaluations", "9", "--store",
      path)))
    local _, out = command("runs", path)
    assert.matches("random +1/1 +%- +%- +%S+ s +done", out)
    local _, text = with_arch("", "", "--strategy", "random", "--evaluations", "9", "--store", path)
    assert.matches("; 2 sessions, %S+ s\n", text)
  end)

  it("prints scripts that eval counts as the search did", function()
    for _, model in ipairs { "reference", "exact" } do
      local _, text = with_arch("", "", "--model", model)
      assert.truthy(text:find(('options = { model = "%s" }'):format(model), 1, true), text)
      files.scratch(text, function(path)
        local status, out = command("eval", path)
        assert.are.equal(0, status)
        assert.truthy(out:find((" %d"):format(energy_of(text)), 1, true), out)
      end, ".lua")
    end
  end)
end)

describe("an exhaustive search with a store", function()
  it("tries mappings from the beginning, and goes on with the next ones", function()
    local path, tried = folder .. "/x.db", { 0 }
    files.write(folder .. "/one.lua", [[
return require "einloom".workload { sizes = { a = 64, b = 96, c = 64 }, bits = 8,
  "Z[a,c] = X[a,b] * W[b,c]" }]])
    for limit = 1, 20 do
      local status, text = command("map", folder .. "/one.lua", folder .. "/a.lua", "--strategy",
        "exhaustive", "--store", path, "--time-limit", tostring(limit))
      assert.are.equal(75, status, text)
      local n = tonumber(text:match "by exhaustive: (%d+) candidates") or 0
      assert.is_true(n >= tried[#tried])
      if n > tried[#tried] then tried[#tried + 1] = n end
      if #tried == 4 then break end
    end
    assert.are.equal(4, #tried)
  end)
end)
