-- SPDX-License-Identifier: MIT
-- Contexts: who may meet whom, what closing does, that memory stays bounded, finalizers.
local core = require "einloom.core"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  return tostring(err)
end

-- Runs f with a step of the collector at every call and return.
local function stressed(f)
  debug.sethook(function() collectgarbage "step" end, "cr")
  local ok, err = pcall(f)
  debug.sethook()
  if not ok then error(err, 0) end
end

describe("contexts", function()
  it("do not mix", function()
    local other = core.context()
    local M, X = core.symbol "M", other:symbol "M"
    assert.is_true(M ~= X)
    assert.matches("another context", message(function() return M + X end))
    assert.matches("another context", message(core.sum, { M, X }))
    assert.matches("another context", message(M, { M = X }))
    assert.matches("another context", message(M.lt, M, X))
    assert.equal(X + 1, other:parse "M + 1")
    assert.equal(other:number "1/2" * X, X / 2)
  end)

  it("do not mix in an analysis either", function()
    local other = core.context()
    local w, a, m = core.workload(), other:arch(), core.mapping()
    assert.matches("another context", message(core.analyze, w, a, m))
    assert.matches("another context", message(w.variable, w, "m", other:symbol "M"))
  end)

  it("close with everything made in them", function()
    local c = core.context()
    local x, w = c:symbol "x", c:workload()
    c:close()
    assert.matches("closed", message(function() return x + 1 end))
    assert.matches("closed", message(tostring, x))
    assert.matches("closed", message(w.einsum, w, "E"))
    assert.matches("closed", message(c.symbol, c, "x"))
    assert.matches("closed", message(c.nodes, c))
    w:close()
    c:close()
    getmetatable(c).__gc(c)
  end)

  it("are closed by the end of a block", function()
    local alias, x
    do
      local c <close> = core.context()
      alias, x = c, c:symbol "x"
    end
    assert.matches("closed", message(alias.symbol, alias, "y"))
    assert.matches("closed", message(x.kind, x))
  end)

  it("release a scratch region; its handles are stale, never something else", function()
    local c <close> = core.context()
    local x = c:symbol "x"
    local kept = x * 3
    local mark = c:mark()
    local dropped = x * 5 + 1
    c:release(mark)
    assert.matches("stale", message(function() return dropped + 1 end))
    assert.matches("stale", message(tostring, dropped))
    local again = x * 5 + 1
    assert.is_true(again ~= dropped)
    assert.matches("stale", message(function() return dropped + 1 end))
    assert.equal(kept, x * 3)
    assert.equal("x", x:name())
    assert.has_error(function() c:release(99) end)
  end)

  it("stay bounded over a million new expressions", function()
    local c <close> = core.context()
    local x = c:symbol "x"
    local kept, most = {}, 0
    for i = 1, 1000000 do
      local e = x * i + 1
      if i % 10000 == 0 then
        kept[#kept + 1] = e
        most = math.max(most, (c:nodes()))
      end
    end
    assert.is_true(most < 400000, "nodes: " .. most)
    for i, e in ipairs(kept) do assert.equal(e, x * (i * 10000) + 1) end
    local live = c:collect()
    assert.is_true(live < 1000, "live: " .. live)
  end)

  it("stay bounded when one box stands for much", function()
    local c <close> = core.context()
    local most = 0
    for round = 1, 60 do
      local terms = {}
      for i = 1, 5000 do terms[i] = ("s%d_%d"):format(round, i) end
      for i = 1, 5000 do terms[i] = c:symbol(terms[i]) end
      local e = core.sum(terms)
      assert.equal(5000, e:arity())
      most = math.max(most, (c:nodes()))
    end
    assert.is_true(most < 250000, "nodes: " .. most)
  end)

  it("collect under stress and keep what is in use", function()
    local c <close> = core.context()
    stressed(function()
      local x, y = c:symbol "x", c:symbol "y"
      local e = x
      for i = 1, 300 do
        e = (e + y * i) % (7 + i)
        local f = core.max(e, core.min(x, i), y // i)
        assert(f == core.max(y // i, core.min(i, x), e))
        assert(core.sum { e, f, i } == f + e + i)
        if i % 50 == 0 then c:collect() end
      end
      assert(tostring(e { x = 3, y = 2 }):match "^%d+$")
    end)
  end)

  it("survive objects that refer to each other, in either order of finalizers", function()
    for _ = 1, 3 do
      do
        local c = core.context()
        local a, b = { x = c:symbol "a" }, { w = c:workload() }
        a.b, b.a = b, a
        setmetatable(a, { __gc = function(t) pcall(tostring, t.x) end })
        setmetatable(b, { __gc = function(t) pcall(t.w.variable, t.w, "m", t.a.x) end })
      end
      collectgarbage()
      collectgarbage()
    end
  end)

  it("survive finalizers that compute while the collector runs", function()
    local c <close> = core.context()
    local x, ran = c:symbol "x", 0
    for i = 1, 20000 do
      local e = x * i
      if i % 10 == 0 then
        setmetatable({ e = e }, { __gc = function(t)
          ran = ran + 1
          local f = x + i
          if t.e then f = f * x end
          assert(f == (x + i) * x)
        end })
      end
    end
    collectgarbage()
    assert.is_true(ran > 0)
    assert.equal(x * 7, 7 * x)
  end)

  it("let __gc be called by hand", function()
    local w = core.workload()
    local gc = getmetatable(w).__gc
    gc(w)
    gc(w)
    assert.matches("closed", message(w.einsum, w, "E"))
    assert.has_error(function() gc {} end)
    assert.has_error(function() gc(core.arch()) end)
    assert.has_error(function() gc(io.stdout) end)
  end)
end)

describe("one spec file", function()
  for i = 1, 300 do
    it("may hold 300 tests: " .. i, function()
      assert.equal(core.int(i), core.symbol("x") * i / core.symbol("x"))
    end)
  end
end)
