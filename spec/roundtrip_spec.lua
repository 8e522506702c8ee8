-- SPDX-License-Identifier: MIT
-- What `eval --json` prints must pass `verify`, all layers: every golden case and every example.

local core = require "einloom.core"
local files = require "support.files"
local lfs = require "lfs"
local loom = require "einloom"

local command = files.command

local function list(folder, pattern)
  local found = {}
  for name in lfs.dir(folder) do
    if name:match(pattern) then found[#found + 1] = folder .. "/" .. name end
  end
  table.sort(found)
  return found
end

-- Evaluates to JSON and verifies that; returns how many cases there were.
local function check(...)
  local _, out, err = command("eval", "--json", ...)
  assert.are_not.equal("", out, err)
  return files.scratch(out, function(path)
    local status, lines = command("verify", path)
    assert.are.equal(0, status, lines)
    return math.tointeger(tonumber(lines:match "^(%d+) passed, 0 failed, 0 disputed\n$"))
  end, ".json")
end

describe("what eval --json prints passes verify:", function()
  for _, path in ipairs(list(files.path "golden/mapping", "%.json$")) do
    local raw = core.json.decode(files.read(path))
    if raw.schema == "mapping/1" then
      it(path:match "[^/]*$", function() assert.are.equal(#raw.cases, check(path)) end)
    end
  end

  for name, points in pairs {
    matmul = { { "M0=16" }, { "M0=1", "M0=3", "M0=128" } }, fused = { { "M0=8" }, { "M0=7" } },
    resnet50_conv3 = { { "M1=64,C1=16" } },
  } do
    it(name, function()
      local path = files.root(("examples/%s.lua"):format(name))
      assert.are.equal(1, check(path))
      for _, texts in ipairs(points) do
        local arguments = { path }
        for _, text in ipairs(texts) do
          table.move({ "--at", text }, 1, 2, #arguments + 1, arguments)
        end
        assert.are.equal(1, check(table.unpack(arguments)))
      end
    end)
  end

  it("what write_case writes of a result", function()
    local r = dofile(files.root "examples/matmul.lua")
    for _, result in ipairs { r, r{ M0 = 16 }, r{ M0 = 3 } } do
      files.scratch(loom.write_case(result), function(path)
        assert.are.equal(1, loom.verify(path).passed)
        assert.are.equal(1, check(path))
      end, ".json")
    end
    assert.has_error(function() loom.write_case(r{ M0 = "2*q" }) end)
  end)

  it("the error of a point that exceeds a limit", function()
    local script = [[
      local loom = require "einloom"
      local w = loom.workload { sizes = { m = 8, k = 4 }, bits = 8, "Z[m] = A[m,k] * B[k]" }
      local a = loom.arch {
        loom.memory { "Main", size = math.huge }, loom.memory { "Buf", size = 64 },
        loom.fanout { "PE", x = 3 }, loom.compute { "MAC" },
      }
      return assert(loom.analyze(w, a, loom.mapping ("Main: A B Z\nfor m tile M0\nBuf: A\n"
        .. "par k tile K0 on PE.x\nfor k, m\nMAC")))
    ]]
    files.scratch(script, function(path)
      for _, row in ipairs {
        { "M0=1,K0=2" }, { "M0=4,K0=2", "capacity" }, { "M0=4,K0=1", "fanout" },
      } do
        local status, out, err = command("eval", "--json", path, "--at", row[1])
        assert.are.equal(row[2] and 1 or 0, status, err)
        local raw = core.json.decode(out)
        assert.are.equal(row[2], raw.expected.error)
        if row[2] then assert.truthy(err:find("at K0 = %d, M0 = %d: einsum 'Z': "), err) end
        files.scratch(out, function(json)
          assert.are.equal(1, loom.verify(json).passed)
        end, ".json")
        raw.expected = { error = row[2] == "fanout" and "capacity" or "fanout" }
        files.scratch(core.json.encode(raw), function(json)
          assert.are.equal(1, loom.verify(json).failed)
        end, ".json")
      end
      assert.are.equal(1, check(path, "--at", "M0=1,K0=2", "--at", "M0=4,K0=2"))
      local r = dofile(path)
      assert.truthy(loom.write_case(r { M0 = 4, K0 = 2 }):find '"error": "capacity"')
    end, ".lua")
  end)

  it("a changed formula fails", function()
    local text = loom.write_case(dofile(files.root "examples/matmul.lua"))
    local changed, count = text:gsub('"512%*M0"', '"513*M0"', 1)
    assert.are.equal(1, count)
    files.scratch(changed, function(path)
      local summary = loom.verify(path)
      assert.are.equal(1, summary.failed)
      assert.truthy(summary[1]:find("max_occupancy", 1, true))
    end, ".json")
  end)
end)
