-- SPDX-License-Identifier: MIT
-- The command: its output, its messages and its exit status.

local core = require "einloom.core"
local files = require "support.files"

local command = files.command

describe("einloom", function()
  it("shows its version and its help", function()
    local status, out = command "--version"
    assert.are.equal(0, status)
    assert.are.equal("einloom " .. core.version .. "\n", out)
    status, out = command "--help"
    assert.are.equal(0, status)
    for _, name in ipairs { "eval", "verify", "repl", "run", "Exit status" } do
      assert.truthy(out:find(name, 1, true), name)
    end
    status, out = command("eval", "--help")
    assert.are.equal(0, status)
    assert.truthy(out:find("--at", 1, true))
  end)

  it("refuses wrong usage with status 2", function()
    for _, arguments in ipairs {
      {}, { "evil" }, { "eval" }, { "verify" }, { "verify", "--layer", "x", "y.json" },
      { "eval", files.root "examples/matmul.lua", "--at", "M0" },
      { "eval", files.root "examples/matmul.lua", "--at", "M0=x" },
      { "eval", files.root "examples/matmul.lua", "--at", "M0=1,M0=2" },
      { "eval", files.path "golden/mapping/matmul.json", "--case", "matmul_999" },
    } do
      local status, out, err = command(table.unpack(arguments))
      assert.are.equal(2, status, table.concat(arguments, " "))
      assert.are.equal("", out)
      assert.truthy(err:find "einloom: ")
    end
  end)
end)

describe("einloom eval", function()
  local matmul = files.root "examples/matmul.lua"

  it("prints the nest of a Lua script", function()
    local status, out, err = command("eval", matmul)
    assert.are.equal("", err)
    assert.are.equal(0, status)
    assert.truthy(out:find("for m tile M0", 1, true))
    assert.truthy(out:find("512*M0 bits", 1, true))
  end)

  it("prints numbers at points", function()
    local _, out = command("eval", matmul, "--at", "M0=16", "--at", "M0=32")
    assert.truthy(out:find("= 8192 bits, 1024 values", 1, true))
    assert.truthy(out:find("= 16384 bits, 2048 values", 1, true))
  end)

  it("refuses a symbol that is not there", function()
    local status, _, err = command("eval", matmul, "--at", "Mo=16")
    assert.are.equal(1, status)
    assert.truthy(err:find("no 'Mo'; nearest: M0", 1, true), err)
  end)

  it("takes a table and three values too", function()
    for _, last in ipairs {
      "return { workload = w, arch = a, mapping = m }", "return w, a, m",
    } do
      local text = files.read(matmul):gsub("return loom.analyze%(w, a, m%)", last)
      files.scratch(text, function(path)
        local status, out = command("eval", path)
        assert.are.equal(0, status)
        assert.truthy(out:find("for m tile M0", 1, true))
      end, ".lua")
    end
  end)

  it("evaluates cases, all or one", function()
    local path = files.path "golden/mapping/symbolic.json"
    local status, out = command("eval", path, "--case", "symbolic_001")
    assert.are.equal(0, status)
    assert.truthy(out:find("stride0", 1, true))
    assert.is_nil(out:find("symbolic_002", 1, true))
    status, out = command("eval", path)
    assert.are.equal(0, status)
    assert.truthy(out:find("symbolic_002", 1, true))
  end)

  it("prints JSON that verifies", function()
    for _, arguments in ipairs {
      { "eval", matmul, "--at", "M0=16", "--at", "M0=8", "--json" },
      { "eval", files.path "golden/mapping/symbolic.json", "--json" },
      { "eval", files.path "golden/mapping/matmul.json", "--case", "matmul_003", "--json" },
    } do
      local status, out = command(table.unpack(arguments))
      assert.are.equal(0, status)
      files.scratch(out, function(path)
        local verified, lines = command("verify", path)
        assert.are.equal(0, verified, lines)
        assert.truthy(lines:find "^%d+ passed, 0 failed, 0 disputed\n$")
      end, ".json")
    end
  end)

  it("reports invalid mappings and goes on to the next case", function()
    local status, out, err = command("eval", files.path "golden/mapping/errors.json")
    assert.are.equal(1, status)
    assert.truthy(err:find "errors_001")
    assert.truthy(err:find "errors_012")
    assert.truthy(out:find "errors_009")
  end)

  it("reports scripts that fail, with file and line", function()
    for text, pattern in pairs {
      ["error 'oops'"] = "%.lua:1: oops",
      ["x ="] = "%.lua:1: unexpected symbol near <eof>",
      ["return 1"] = "should return a result",
      ["return nil, 'no mapping', 'missing_loop'"] = "no mapping",
      ["return require 'einloom'.mapping 'for m tile'"] = "mapping:1:",
    } do
      files.scratch(text, function(path)
        local status, _, err = command("eval", path)
        assert.are.equal(1, status)
        assert.truthy(err:find "^einloom: ", err)
        assert.truthy(err:find(pattern), err)
      end, ".lua")
    end
  end)

  it("reports files that cannot be read", function()
    local status, _, err = command("eval", "/nonexistent/x.json")
    assert.are.equal(1, status)
    assert.are.equal("einloom: /nonexistent/x.json: No such file or directory\n", err)
    status, _, err = command("eval", "/nonexistent/x.lua")
    assert.are.equal(1, status)
    assert.truthy(err:find "No such file")
    status, _, err = command("eval", "/")
    assert.are.equal(1, status)
    assert.truthy(err:find "directory")
    for _, suffix in ipairs { ".json", ".lua" } do
      files.scratch("", function(path)
        status, _, err = command("eval", path)
        assert.are.equal(1, status)
        assert.truthy(err:find "empty")
      end, suffix)
      files.scratch("\0\1\2\255", function(path)
        status, _, err = command("eval", path)
        assert.are.equal(1, status)
        assert.truthy(err:find(path, 1, true))
        assert.truthy(err:find ":1", err)
      end, suffix)
    end
  end)
end)

describe("einloom verify", function()
  it("ends with the counts and a status", function()
    local path = files.path "golden/mapping/order.json"
    local status, out = command("verify", "--layer", "reuse", path)
    assert.are.equal(0, status)
    assert.are.equal("4 passed, 0 failed, 0 disputed\n", out)
    local errors = files.path "golden/mapping/errors.json"
    status, out = command("verify", "--layer", "reuse", path, errors)
    assert.are.equal(0, status)
    assert.are.equal("3 left out by --layer reuse\n19 passed, 0 failed, 0 disputed\n", out)
  end)

  it("has status 1 when something failed", function()
    local text = files.read(files.path "golden/mapping/order.json"):gsub(
      '"total_reads_to_parent": (%d+)', '"total_reads_to_parent": 1%1', 1)
    files.scratch(text, function(path)
      local status, out = command("verify", "--layer", "reuse", path)
      assert.are.equal(1, status)
      assert.truthy(out:find "total_reads_to_parent: expected 1%d+, got %d+\n")
      assert.truthy(out:find "3 passed, 1 failed, 0 disputed\n$")
    end)
  end)
end)

describe("einloom run", function()
  it("runs a script with its arguments", function()
    files.scratch("print(#arg, arg[1], ...)", function(path)
      local status, out = command("run", path, "a", "b")
      assert.are.equal(0, status)
      assert.are.equal("2\ta\ta\tb\n", out)
    end, ".lua")
  end)
end)
