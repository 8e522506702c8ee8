-- SPDX-License-Identifier: MIT
-- Deep nesting and long inputs: a value, or an error that names the limit; never a crash (report
-- LU_nesting_and_states, the items about texts and tables).

local affine = require "einloom.affine"
local einsum = require "einloom.einsum"
local mapping = require "einloom.mapping"
local front = require "support.front"

local function nested(n) return ("("):rep(n) .. "m" .. (")"):rep(n) end

local function usable()
  assert.equal("m", affine.parse("m").text)
end

describe("report LU_nesting_and_states", function()
  for _, n in ipairs { 10, 150, 190, 200 } do
    it(("1: %d brackets around m are m"):format(n), function()
      assert.equal("m", affine.parse(nested(n)).text)
      assert.equal("m", einsum.parse("Z[m] = A[" .. nested(n) .. "]").accesses[1].indices[1].text)
      assert.equal(1, #einsum.parse("Z[m] = " .. ("("):rep(n) .. "A[m]"
        .. (")"):rep(n)).reduced + 1)
    end)
  end
  for _, n in ipairs { 210, 390, 410, 1000, 100000 } do
    it(("1: %d brackets around m are too deep"):format(n), function()
      local e = front.raised(affine.parse, nested(n))
      assert.equal("depth", e.kind)
      assert.equal(201, e.column)
      front.mentions(e.message, { "depth 200" })
      assert.equal("depth", front.raised(einsum.parse, "Z[m] = A[" .. nested(n) .. "]").kind)
      assert.equal("depth", front.raised(einsum.parse, "Z[m] = " .. nested(n)).kind)
      usable()
    end)
  end

  for _, n in ipairs { 10, 1000, 100000 } do
    it(("2: m + m + ... of %d terms is %d*m"):format(n, n), function()
      assert.equal(n .. "*m", affine.parse(("m + "):rep(n - 1) .. "m").text)
    end)
  end

  for _, n in ipairs { 200, 201, 10000 } do
    it(("3: %d signs before m"):format(n), function()
      local expected = n % 2 == 0 and "m" or "-m"
      assert.equal(expected, affine.parse(("- "):rep(n) .. "m").text)
      assert.equal(expected, affine.parse(("-"):rep(n) .. "m").text)
      assert.equal("access", einsum.parse("Z[m] = " .. ("-"):rep(2 * n) .. "A[m]").expression.op)
    end)
  end

  for _, n in ipairs { 50, 5000 } do
    it(("4: %d brackets, one not closed: an error with line and column at once"):format(n),
      function()
      local before = os.clock()
      local e = front.raised(affine.parse, ("("):rep(n) .. "m" .. (")"):rep(n - 1))
      assert.is_true(os.clock() - before < 1)
      assert.equal(1, e.line)
      assert.equal(n == 50 and 101 or 201, e.column)
      usable()
    end)
  end

  for _, n in ipairs { 10, 199, 200 } do
    it(("5: sequential nodes %d deep are a mapping"):format(n), function()
      local nodes = { mapping.compute_node "MAC" }
      for _ = 1, n do nodes = { mapping.sequential { nodes } } end
      local m = mapping.new(nodes)
      assert.is_true(m == mapping.new(tostring(m)))
    end)
  end
  for _, n in ipairs { 201, 5000 } do
    it(("5: sequential nodes %d deep are too deep"):format(n), function()
      local nodes = { mapping.compute_node "MAC" }
      for _ = 1, n do nodes = { mapping.sequential { nodes } } end
      local e = front.raised(mapping.new, nodes)
      assert.equal("depth", e.kind)
      front.mentions(e.message, { "depth 200" })
      local lines = {}
      for i = 1, n do
        lines[#lines + 1] = (" "):rep(2 * i) .. "sequential"
        lines[#lines + 1] = (" "):rep(2 * i + 1) .. "branch"
      end
      e = front.raised(mapping.new, table.concat(lines, "\n"))
      assert.equal("depth", e.kind)
      assert.equal(401, e.line)
    end)
  end

  it("5: a mapping table that holds itself is too deep", function()
    local node = { node = "sequential", branches = {} }
    node.branches[1] = { node }
    assert.equal("depth", front.raised(mapping.new, { node }).kind)
  end)
end)
