-- SPDX-License-Identifier: MIT
-- The program around Lua: scripts and their arguments, exit status, live objects at exit, Ctrl-C.
local files = require "support.files"
local program = require "support.program"

-- Runs a shell command line; $P is the program, $F a file that does not exist yet.
local function shell(text, command)
  local script, file = os.tmpname(), os.tmpname()
  os.remove(file)
  local out = assert(io.open(script, "w"))
  out:write(text)
  out:close()
  local set = ("P='%s' S='%s' F='%s'; "):format(program.path(), script, file)
  local pipe = assert(io.popen(set .. "{ " .. command .. " ; } 2>&1"))
  local output = pipe:read "a"
  local _, _, status = pipe:close()
  os.remove(script)
  os.remove(file)
  return status, output
end

describe("einloom run", function()
  it("gives a script its arguments as Lua does", function()
    local status, output = shell([[print(arg[0] == os.getenv "S", #arg, select("#", ...), ...)]],
      [[export S; "$P" run "$S" -o 'two words' --help]])
    assert.equal(0, status)
    assert.equal("true\t3\t3\t-o\ttwo words\t--help\n", output)
  end)

  it("takes a script by its name alone", function()
    local status, output = shell("print(...)", [[cp "$S" "$F.lua"; "$P" "$F.lua" 7; rm "$F.lua"]])
    assert.equal(0, status)
    assert.equal("7\n", output)
  end)

  it("says where a script is broken", function()
    local status, output = shell("local x = = 1", [["$P" run "$S"]])
    assert.equal(1, status)
    assert.matches(":1: unexpected symbol", output)
    assert.equal(1, (shell("", [["$P" run /no/such/file.lua]])))
  end)

  it("passes an error object's own text", function()
    local status, output = shell([[require("einloom.core").parse("M +", "formula")]],
      [["$P" run "$S"]])
    assert.equal(1, status)
    assert.matches("^einloom: formula:1:%d+: ", output)
  end)
end)

describe("Ctrl-C", function()
  -- A loop that says by a file that it runs, and the shell's answer to that file.
  local forever = [[
    local core = require "einloom.core"
    local function forever(flag)
      assert(io.open(os.getenv "F" .. flag, "w")):close()
      for i = 1, math.huge do local _ = core.symbol "M" * (i % 1000) end
    end
  ]]
  local function interrupt(flag)
    return ([[ while [ ! -e "$F%s" ]; do sleep 0.05; done; kill -INT $!; ]]):format(flag)
  end

  it("interrupts a script, which says where", function()
    local status, output = shell(forever .. "forever ''",
      [[export F; "$P" run "$S" & ]] .. interrupt "" .. "wait $!")
    assert.equal(1, status)
    assert.matches("interrupted!", output)
    assert.matches("traceback", output)
  end)

  it("interrupts again after it was caught", function()
    local status, output = shell(
      forever .. "print(pcall(forever, '.1')) print(pcall(forever, '.2'))",
      [[export F; "$P" run "$S" & ]] .. interrupt ".1" .. interrupt ".2"
      .. [[wait $!; status=$?; rm "$F.1" "$F.2"; exit $status]])
    assert.equal(0, status)
    assert.equal(2, select(2, output:gsub("interrupted!", "")))
  end)
end)

describe("os.exit(true, true)", function()
  it("with live objects exits 0", function()
    local script = [[
      local core = require "einloom.core"
      keep = { core.symbol "M" + 1, core.workload(), core.arch(), core.mapping(), core.context(),
               core.compile({ core.symbol "M" }, { core.symbol "M" }) }
      keep.other = keep[5]:symbol "x"
      setmetatable(keep, { __gc = function(t) print(pcall(tostring, t[1])) end })
      os.exit(true, true)
    ]]
    local status, output = program.run_text(script)
    assert.equal(0, status, output)
  end)

  it("gives the status of a script that fails", function()
    local status, output = program.run_text "error 'broken'"
    assert.equal(1, status)
    assert.matches("broken", output)
    assert.equal(7, (program.run_text "os.exit(7, true)"))
  end)
end)

describe("the standard input", function()
  local function fed(text, arguments)
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write(text)
    file:close()
    local pipe = assert(io.popen(("cat %s | '%s' %s 2>&1"):format(name, program.path(), arguments)))
    local output = pipe:read "a"
    local _, _, status = pipe:close()
    os.remove(name)
    return status, output
  end

  local function read(path)
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    return text
  end

  it("is read by eval and verify, as a pipe too", function()
    local script = read(files.root "examples/matmul.lua")
    local cases = read(files.path "golden/mapping/matvec.json")
    local _, expected = program.run("eval " .. files.root "examples/matmul.lua")
    for _, name in ipairs { "-", "/dev/stdin" } do
      local status, out = fed("#!/usr/bin/env einloom\n" .. script, "eval " .. name)
      assert.are.equal(0, status, out)
      assert.are.equal(expected, out)
      status, out = fed(cases, "eval --case matvec_001 --json " .. name)
      assert.are.equal(0, status, out)
      assert.truthy(out:find('"matvec_001"', 1, true))
      status, out = fed(cases, "verify " .. name)
      assert.are.equal(0, status, out)
      assert.truthy(out:find "^%d+ passed, 0 failed")
    end
  end)

  it("is named in messages", function()
    local _, out = fed("x = = 1", "eval -")
    assert.truthy(out:find "^einloom: stdin:1: ", out)
    _, out = fed("", "eval -")
    assert.are.equal("einloom: stdin: the file is empty\n", out)
    _, out = fed('{"schema": ', "verify -")
    assert.truthy(out:find("stdin", 1, true) or out:find("-:1", 1, true), out)
  end)
end)

describe("an error of a script", function()
  local script = "local function f() error 'boom' end\nxpcall(f, function() end)\nf()\n"

  local function check(output)
    local _, traces = output:gsub("stack traceback", "")
    assert.are.equal(1, traces, output)
    assert.matches("^einloom: [^\n]*:1: boom\nstack traceback:\n", output)
    assert.matches(":3: in main chunk", output)
    for _, own in ipairs { "xpcall", "einloom/cli/", "errors.lua" } do
      assert.is_nil(output:find(own, 1, true), output)
    end
  end

  it("is told once, without what einloom does around it", function()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write(script)
    file:close()
    for _, arguments in ipairs { "eval " .. name, "eval --json " .. name, "run " .. name,
      "verify x.json --with " .. name } do
      local status, output = program.run(arguments)
      assert.are.equal(1, status)
      check(output)
    end
    os.remove(name)
  end)

  it("that comes out of a library is told from the script on", function()
    local _, output = program.run_text "local loom = require 'einloom'\nreturn loom.nothing\n"
    assert.matches(":2: in main chunk", output)
  end)
end)
