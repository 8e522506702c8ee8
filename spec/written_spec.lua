-- SPDX-License-Identifier: MIT
-- Files that commands write: whole or not at all, and nothing goes that was there before.

local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"
local written = require "einloom.written"

local folder

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir '%s'"):format(folder)))
end)

after_each(function() os.execute(("rm -r '%s'"):format(folder)) end)

local put = files.write

local function listed()
  local pipe = assert(io.popen(("ls -A '%s'"):format(folder)))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

describe("a file that is written", function()
  it("is there when it is complete, and before what was there", function()
    local path = folder .. "/a"
    for _, text in ipairs { "one\n", "two\n" } do
      local before = files.exists(path) and files.read(path)
      local file = assert(written.open(path))
      assert(file:write(text))
      assert.are.equal(before, files.exists(path) and files.read(path))
      assert(file:close())
      assert.are.equal(text, files.read(path))
    end
    local file = assert(written.open(path))
    assert(file:write "three")
    file:drop()
    assert.are.equal("two\n", files.read(path))
    assert.are.same({ "a" }, listed())
  end)

  it("leaves files of like names alone, and follows links", function()
    put(folder .. "/a.unfinished", "mine")
    put(folder .. "/b", "old")
    assert(os.execute(("ln -s b '%s/a'"):format(folder)))
    local file = assert(written.open(folder .. "/a"))
    assert(file:write "new")
    assert(file:close())
    assert.are.equal("new", files.read(folder .. "/b"))
    assert.are.equal("mine", files.read(folder .. "/a.unfinished"))
    assert.are.same({ "a", "a.unfinished", "b" }, listed())
  end)

  it("is a device as it is", function()
    assert.are.equal("other", (core.file_kind "/dev/null"))
    for _ = 1, 2 do
      local file = assert(written.open "/dev/null")
      assert(file:write "gone")
      file:drop()
    end
    assert.are.equal("other", (core.file_kind "/dev/null"))
    local full = assert(written.open "/dev/full")
    full:write "nothing fits"
    local ok, message = full:close()
    assert.is_nil(ok)
    assert.truthy(message:find "No space")
  end)

  it("is looked at without a change", function()
    assert.is_true(written.check(folder .. "/new"))
    assert.are.same({}, listed())
    for _, path in ipairs { folder, folder .. "/none/a", "" } do
      assert.is_nil(written.check(path))
      local file, message = written.open(path)
      assert.is_nil(file)
      assert.is_string(message)
    end
  end)
end)

describe("a certificate", function()
  local function found()
    local io = { energy = 1, bits_per_action = 8 }
    return loom.space(
      loom.workload { sizes = { m = 4, n = 4, k = 4 }, bits = 8, "Z[m,n] = A[m,k] * B[k,n]" },
      loom.arch { loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "All" },
        loom.memory { "GLB", size = 400, read = io, write = io, may_keep = "All" },
        loom.compute { "MAC", energy = 0, throughput = 1 } }, { minimise = "energy" }):search()
  end

  it("that cannot be made leaves what was there", function()
    local path, certify = folder .. "/c", require "einloom.certify"
    assert(certify.write(found(), path))
    local before = files.read(path)
    assert(#before > 0)
    local n, _, kind = certify.write(found(), path, function() return "a test" end)
    assert.are.same({ nil, "stopped" }, { n, kind })
    assert.are.equal(before, files.read(path))
    assert(certify.check(path))
    assert.are.equal(before, files.read(path))
    assert.are.same({ "c" }, listed())
    assert.is_nil(certify.write(found(), "/dev/null", function() return "a test" end))
    assert.are.equal("other", (core.file_kind "/dev/null"))
  end)
end)
