-- SPDX-License-Identifier: MIT
-- The command: its output, its messages and its exit status.

local core = require "einloom.core"
local files = require "support.files"
local program = require "support.program"

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

  it("prints the lines of a message that the script returns", function()
    local start = [[
local loom = require "einloom"
local w = loom.workload { sizes = { p = 8 }, bits = 8, "O[p] = I[p]" }
local a = loom.arch { loom.memory { "Main", size = math.huge }, loom.compute { "MAC" } }
local m = loom.mapping "Man: I O\nfor p\n  MAC"
]]
    local messages = {}
    for i, last in ipairs { "return loom.analyze(w, a, m)", "return w, a, m" } do
      local status, out, err = files.scratch(start .. last, function(path)
        local status, out, err = command("eval", path)
        local start_of_line = "einloom: " .. (i == 1 and path .. ": " or "")
        assert.are.equal(start_of_line, err:sub(1, #start_of_line))
        return status, out, err:sub(#start_of_line + 1)
      end, ".lua")
      assert.are.equal(1, status)
      assert.are.equal("", out)
      messages[i] = err
    end
    assert.matches("nearest: Main\n  Man: I O\n  ^\n", messages[1], 1, true)
    assert.are.equal(messages[2], messages[1])
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

  it("counts by walking the loops, at points too", function()
    local status, out = command("simulate", matmul, "--at", "M0=16", "--at", "M0=8")
    assert.are.equal(0, status)
    assert.truthy(out:find("at M0=16", 1, true))
    assert.truthy(out:find("at M0=8", 1, true))
    local refused, _, err = command("simulate", matmul)
    assert.are.equal(1, refused)
    assert.truthy(err:find("needs integers above 0", 1, true))
    status, out = command("simulate", files.path "golden/mapping/matmul.json", "--case",
      "matmul_003")
    assert.are.equal(0, status)
    assert.truthy(out:find("operations", 1, true))
  end)

  it("prints what was counted by walking as JSON that verifies", function()
    for n, arguments in pairs {
      [2] = { matmul, "--at", "M0=16", "--at", "M0=8", "--lifetime", "retain" },
      [1] = { files.path "golden/mapping/matmul.json", "--case", "matmul_003" },
    } do
      local status, out, err = command("simulate", "--json", table.unpack(arguments))
      assert.are.same({ 0, "" }, { status, err })
      files.scratch(out, function(path)
        local verified, lines = command("verify", path)
        assert.are.equal(0, verified, lines)
        assert.are.equal(n .. " passed, 0 failed, 0 disputed\n", lines)
        local _, walked = command("simulate", path, "--json")
        assert.are.equal(out, walked)
      end, ".json")
      local list = core.json.decode(out)
      list = list.cases or { list }
      assert.are.equal(n, #list)
      assert.are.equal("exact", list[1].model)
      if n == 2 then assert.are.equal(matmul .. " at M0=16", list[1].id) end
    end
  end)

  it("prints cases that cannot be walked as what they are refused for", function()
    local path = files.path "golden/mapping/errors.json"
    local status, out, err = command("simulate", "--json", path, "--case", "errors_001")
    assert.are.equal(1, status)
    assert.matches("errors_001", err)
    local case = core.json.decode(out)
    assert.are.same({ "errors_001", "exact" }, { case.id, case.model })
    assert.is_string(case.expected.error)
    local bad, text, message = command("simulate", "--json", matmul, "--at", "N0=16")
    assert.are.same({ 1, "" }, { bad, text })
    assert.matches("no 'N0'", message, 1, true)
    bad, text, message = command("simulate", "--json", matmul)
    assert.are.same({ 1, "" }, { bad, text })
    assert.matches("needs integers above 0", message, 1, true)
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
      assert.are.equal("order_", out:sub(1, 6))
      out = select(2, command("verify", "--layer", "reuse", files.path "golden/mapping/errors.json",
        path))
      assert.are.equal(path .. ": order_", out:sub(1, #path + 8))
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

describe("a message of einloom eval", function()
  local matmul = files.root "examples/matmul.lua"

  local function one_line(words, ...)
    local status, _, err = command("eval", ...)
    assert.are.equal(1, status)
    assert.truthy(err:match "^einloom: [^\n]*\n$", err)
    for _, word in ipairs(words) do assert.truthy(err:find(word, 1, true), err) end
  end

  local function case(change)
    local text = require "einloom".write_case(dofile(matmul))
    return (text:gsub('"expected": %b{},', change, 1))
  end

  it("is one line for every point that does not fit, and names --at", function()
    for _, point in ipairs { "M0=0", "M0=-1", "M0=1.5", "M0=1/3", "K0=4", "Mo=3", "M0=256" } do
      one_line({ "--at " .. point }, matmul, "--at", point)
      one_line({ "--at " .. point }, matmul, "--at", point, "--json")
    end
  end)

  it("is one line for everything wrong in a case, and names the file and the place", function()
    for change, word in pairs {
      ['"samples": [{"M0": 256}],'] = "samples[1]", ['"samples": [{"M0": 0}],'] = "samples[1]",
      ['"samples": [{"K0": 4}],'] = "K0", ['"samples": {"M0": 3},'] = "samples",
      ['"samples": [[]],'] = "samples[1]", ['"samples": [3],'] = "samples[1]",
      ['"samples": [{"M0": "x"}],'] = "samples[1].M0", ['"samples": [null],'] = "samples[1]",
      ['"symbols": {"M0": {"mni": 2}},'] = "symbols.M0", ['"symbols": {"M0": 3},'] = "symbols.M0",
      ['"symbols": {"M0": {"min": 9, "max": 3}},'] = "symbols.M0",
      ['"symbols": {"M1": {"min": 9}},'] = "symbols.M1", ['"symbols": [],'] = "symbols",
      ['"expected": "x",'] = "expected", ['"id": 3,'] = "id", ['"tags": "x",'] = "tags",
      ['"modle": "reference",'] = "modle",
    } do
      files.scratch(case(change), function(path)
        one_line({ path, word }, path)
        local status = command("verify", path)
        assert.are.equal(1, status, change)
      end, ".json")
    end
    for old, new in pairs {
      ['"model": "exact"'] = '"model": "fancy"',
      ['"schema": "mapping/1",'] = '"schema": "mapping/2",',
      ['"tensors": %b[]'] = '"tensors": {"A": 1}', ['"projection": %b[]'] =
        '"projection": [["M", "m", "x"]]', ['"workload": %b{}'] = '"workload": []',
      ['"arch": %b{},'] = "", ['"mapping": %b{}'] = '"mapping": null',
    } do
      local text, count = case "":gsub(old, new, 1)
      assert.are.equal(1, count, old)
      files.scratch(text, function(path) one_line({ path }, path) end, ".json")
    end
  end)

  it("is one line for what is no file of cases", function()
    for _, text in ipairs {
      "[1]", "3", "null", "{}", '{"schema": "mapping/1"}', '{"schema": "mapping/1", "cases": []}',
      '{"schema": "mapping/1", "cases": {}}', '{"schema": "mapping/1", "cases": [null]}',
      '{"schema": "mapping/1", "cases": [3]}', '{"schema": "mapping/1", "cases": [[]]}',
      '{"schema": "mapping/1", "model": "fancy", "cases": [{}]}',
      '{"schema": "mapping/1", "cases": [{"id": "a"}, {"id": "a"}]}',
    } do
      files.scratch(text, function(path)
        one_line({ path }, path)
        assert.are.equal(1, (command("verify", path)))
      end, ".json")
    end
  end)

  it("goes on after a case that is none", function()
    local raw = core.json.decode(files.read(files.path "golden/mapping/order.json"))
    raw.cases[1], raw.cases[2] = core.json.null, 3
    files.scratch(core.json.encode(raw), function(path)
      local status, out, err = command("eval", path)
      assert.are.equal(1, status)
      assert.truthy(err:find("cases[1]", 1, true) and err:find("cases[2]", 1, true), err)
      assert.truthy(out:find("-- " .. raw.cases[3].id, 1, true))
    end, ".json")
  end)

  it("shows what would steer a terminal", function()
    files.scratch("error({ kind = 'x', message = 'a\\27[31m\\rb' })", function(path)
      local _, _, err = command("eval", path)
      assert.is_nil(err:find "[\27\r]")
      assert.truthy(err:find("a\\27[31m\\13b", 1, true), err)
    end, ".lua")
  end)

  it("names the file of a script that is no text", function()
    files.scratch(string.dump(load "return 1"), function(path) one_line({ path }, path) end, ".lua")
  end)
end)

describe("einloom", function()
  it("skips a byte order mark", function()
    local text = files.read(files.path "golden/mapping/order.json")
    files.scratch("\xEF\xBB\xBF" .. text, function(path)
      assert.are.equal(0, (command("eval", path)))
      assert.are.equal(0, (command("verify", path)))
    end)
  end)

  it("complains of files that cannot be read on the standard error", function()
    local status, out, err = command("verify", "/nonexistent/x.json")
    assert.are.equal(1, status)
    assert.are.equal("0 passed, 1 failed, 0 disputed\n", out)
    assert.are.equal("einloom: /nonexistent/x.json: No such file or directory\n", err)
  end)

  it("keeps what a script prints out of the JSON", function()
    local old = io.output()
    files.scratch("print 'noise' return dofile '" .. files.root "examples/matmul.lua" .. "'",
      function(path)
        local status, out, err = command("eval", path, "--json")
        io.output(old)
        assert.are.equal(0, status)
        assert.is_table(core.json.decode(out))
        assert.are.equal("noise\n", err)
      end, ".lua")
  end)

  it("runs scripts first that add kinds of nodes", function()
    local text = files.read(files.path "golden/mapping/matmul.json")
    local raw = core.json.decode(text)
    local case = raw.cases[1]
    for _, node in ipairs(case.mapping.nodes) do
      if node.node == "storage" and node.component ~= case.arch.nodes[1].name then
        node.node, node.kind, node.persistent = "custom", "packed", nil
      end
    end
    case.schema, case.expected, case.older_version = "mapping/1", nil, nil
    local script = "require 'einloom'.analyzer('packed', function(_, _, _, as) "
      .. "return as 'storage' end)"
    files.scratch(core.json.encode(case), function(path)
      assert.are.equal(1, (command("eval", path)))
      files.scratch(script, function(first)
        local status, out, err = command("eval", path, "--with", first)
        assert.are.equal(0, status, err)
        assert.truthy(out:find "packed ")
        status, out = command("eval", path, "--with", first, "--json")
        assert.are.equal(0, status)
        files.scratch(out, function(written)
          status, out = command("verify", written, "--with", first)
          assert.are.equal(0, status, out)
        end, ".json")
      end, ".lua")
    end, ".json")
    require "einloom".analyzer "packed"
  end)

  it("has status 1 when its output does not arrive", function()
    local matmul = files.root "examples/matmul.lua"
    for _, arguments in ipairs {
      "eval " .. matmul, "eval --json " .. matmul, "--version", "--help",
      "verify " .. files.path "golden/mapping/order.json", "run " .. files.root "examples/tour.lua",
    } do
      for _, target in ipairs { ">/dev/full", ">&-" } do
        local pipe = assert(io.popen(("{ '%s' %s %s; } 2>&1"):format(program.path(), arguments,
          target)))
        local out = pipe:read "a"
        local _, _, status = pipe:close()
        assert.are.equal(1, status, arguments)
        assert.truthy(out:find "einloom: cannot write to the standard output", arguments)
      end
    end
  end)

  it("says without a traceback that a script cannot be run", function()
    local status, out = program.run "run /nonexistent/x.lua"
    assert.are.equal(1, status)
    assert.truthy(out:match "^einloom: [^\n]*x%.lua[^\n]*\n$", out)
    status, out = program.run_text "x = = 1"
    assert.are.equal(1, status)
    assert.truthy(out:match "^einloom: [^\n]*:1: [^\n]*\n$", out)
  end)
end)
