-- SPDX-License-Identifier: MIT
-- The loop of `einloom repl`: what goes in, what comes out, and that errors end nothing.

local files = require "support.files"
local program = require "support.program"
local repl = require "einloom.repl"

local function session(...)
  local lines, out, err, i = { ... }, {}, {}, 0
  repl.run(function()
    i = i + 1
    return lines[i]
  end, function(text) out[#out + 1] = text end, {
    write_error = function(text) err[#err + 1] = text end,
  })
  return table.concat(out), table.concat(err)
end

describe("the loop", function()
  it("prints expressions, keeps globals", function()
    local out, err = session("x = 20", "x + 1", "= x", "x, 'a'")
    assert.are.equal("21\n20\n20\ta\n", out)
    assert.are.equal("", err)
  end)

  it("has the module", function()
    assert.are.equal("2*M0\n", (session("M0 = loom.symbol 'M0'", "M0 + M0")))
  end)

  it("takes statements over several lines", function()
    assert.are.equal("3\n", (session("function f(a)", "  return a + 1", "end", "f(2)")))
    assert.are.equal("a\nb\n", (session("[[a", "b]]")))
  end)

  it("shows errors with a traceback and goes on", function()
    local out, err = session("function f() error 'oops' end", "f()", "1 + 1")
    assert.are.equal("2\n", out)
    assert.truthy(err:find "oops")
    assert.truthy(err:find "stack traceback")
    assert.is_nil(err:find "xpcall")
  end)

  it("shows syntax errors and goes on", function()
    local out, err = session("x = = 2", "1")
    assert.are.equal("1\n", out)
    assert.truthy(err:find "unexpected symbol")
  end)

  it("says where an error object points to", function()
    local _, err = session("loom.mapping 'for m tile'")
    assert.truthy(err:find "mapping:1:", err)
    assert.is_nil(err:find "traceback")
  end)

  it("says that the input ended inside a statement", function()
    local _, err = session("function f()")
    assert.truthy(err:find "ended inside")
  end)

  it("lists tables", function()
    assert.are.equal('{1, 2, a = "x"}\n', (session("{1, 2, a = 'x'}")))
    assert.are.equal("{}\n", (session("{}")))
  end)

  it("survives a value that cannot be shown", function()
    local out = session("setmetatable({}, {__tostring = function() error 'no' end})", "1")
    assert.truthy(out:find "no")
    assert.truthy(out:find "1\n$")
  end)

  it("does not touch the globals of the program", function()
    session("some_name_of_a_session = 1")
    assert.is_nil(rawget(_G, "some_name_of_a_session"))
  end)

  it("drops the input so far when reading is interrupted", function()
    local lines, i, out = { "x = (", false, "1 + 1" }, 0, {}
    repl.run(function()
      i = i + 1
      if lines[i] == false then error "interrupted!" end
      return lines[i]
    end, function(text) out[#out + 1] = text end)
    assert.truthy(table.concat(out):find "interrupted!.*\n2\n$")
  end)

  it("is not ended by Ctrl-C, however often", function()
    local stop = 'io.popen("kill -INT " .. pid):close() while true do end\n'
    local session_text = 'pid = io.open("/proc/self/stat"):read "n"\n' .. stop .. stop .. "40 + 2\n"
    files.scratch(session_text, function(path)
      local status, out = program.run("repl < " .. path)
      assert.are.equal(0, status)
      assert.truthy(out:find "42")
      local _, n = out:gsub("interrupted!", "")
      assert.are.equal(2, n)
    end)
  end)

  it("takes the line after a Ctrl-C at the prompt", function()
    local name = os.tmpname()
    local shell = [[
      { sleep 0.5; kill -INT "$(cat %s)"; sleep 0.3; echo '40 + 2'; } |
      sh -c 'echo $$ > %s; exec "$0" repl' '%s' 2>&1]]
    local pipe = assert(io.popen(shell:format(name, name, program.path())))
    local out = pipe:read "a"
    pipe:close()
    os.remove(name)
    assert.truthy(out:find "interrupted!\n", out)
    assert.truthy(out:find "42\n", out)
    assert.is_nil(out:find("einloom/cli/", 1, true))
  end)
end)
