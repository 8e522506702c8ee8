-- SPDX-License-Identifier: MIT
-- Lists of like operations, which are launched at once: what can be one, how lists are fused, and
-- what must not share storage.

local core = require "einloom.core"

local p0 = core.symbol("p0", { min = 0 })

-- A graph from operations {name, extent, reads...} that write a buffer of their name, with lists.
local function graph(inputs, ops, lists)
  local g, read = core.graph(), {}
  for _, op in ipairs(ops) do
    for i = 3, #op do read[op[i]] = true end
  end
  for name, size in pairs(inputs) do assert(g:buffer { name = name, sizes = { size } }) end
  for _, op in ipairs(ops) do
    local reads = {}
    assert(g:buffer { name = op[1], sizes = { op[2] }, output = not read[op[1]] })
    for i = 3, #op do reads[i - 2] = { buffer = op[i], index = p0 } end
    assert(g:op { name = op[1], pointwise = { { p0, op[2] } }, reads = reads, after = op.after,
      writes = { { buffer = op[1], index = p0 } } })
  end
  for _, list in ipairs(lists or {}) do assert(g:list(list)) end
  return g
end

-- Kernels by launch: "a b + c d | e".
local function launches(g, options)
  local text, launch = "", nil
  for _, kernel in ipairs(assert(g:fusion(options)):run():kernels()) do
    if launch then text = text .. (kernel.launch == launch and " + " or " | ") end
    text, launch = text .. table.concat(kernel.ops, " "), kernel.launch
  end
  return text
end

-- x1, x2 -> list a -> list b, with c behind one member and s before one.
local function two_lists(change)
  local t = {
    inputs = { x1 = 64, x2 = 32, u = 32 },
    ops = { { "a1", 64, "x1" }, { "a2", 32, "x2" }, { "b1", 64, "a1" }, { "b2", 32, "a2" } },
    lists = { { "a1", "a2" }, { "b1", "b2" } },
  }
  if change then change(t) end
  return graph(t.inputs, t.ops, t.lists)
end

local function reason(g, first, second) return g:fusion():pair(first, second).reason end

describe("a list of operations", function()
  it("holds operations with loops that are in no list and do not wait for each other", function()
    local g = two_lists()
    assert.are.same({ { "a1", "a2" }, { "b1", "b2" } }, g:lists())
    local function refused(list, change)
      local _, message, kind = two_lists(change):list(list)
      assert.are.equal("bad_graph", kind)
      return message
    end
    assert.are.equal("operation 'a1' is in a list already", refused { "a1", "b1" })
    local function without(t) t.lists = {} end
    assert.are.equal("a list has two operations or more", refused({ "a1" }, without))
    assert.are.equal("operation 'a1' is in the list twice", refused({ "a1", "a1" }, without))
    assert.are.equal("operation 'a1' would be launched with what waits for it",
      refused({ "a1", "b1" }, without))
    -- a1 before b1 and b2 before a2: each list would wait for the other.
    assert.are.equal("operation 'b2' would be launched with what waits for it",
      refused({ "b1", "b2" }, function(t)
        t.ops = { { "a1", 64, "x1" }, { "b2", 32, "x2" }, { "b1", 64, "a1" }, { "a2", 32, "b2" } }
        t.lists = { { "a1", "a2" } }
      end))
    local call = core.graph()
    call:buffer { name = "x", sizes = { 4 } }
    call:buffer { name = "y", sizes = { 4 } }
    call:buffer { name = "z", sizes = { 4 } }
    for _, name in ipairs { "y", "z" } do
      call:op { name = name, kind = "opaque", reads = { { buffer = "x", mode = "whole" } },
        writes = { { buffer = name, mode = "whole" } } }
    end
    local _, message = call:list { "y", "z" }
    assert.are.equal("operation 'y' has no loops and cannot be in a list", message)
  end)

  it("is one launch of a kernel for each member", function()
    assert.are.equal("a1 + a2", launches(graph({ x1 = 64, x2 = 32 }, { { "a1", 64, "x1" },
      { "a2", 32, "x2" } }, { { "a1", "a2" } })))
    -- in the order of the list, behind all that any member needs
    assert.are.equal("s | c2 + c1", launches(graph({ x1 = 64, x2 = 32 },
      { { "c1", 64, "x1" }, { "s", 16 }, { "c2", 32, "x2", after = { "s" } } },
      { { "c2", "c1" } })))
  end)

  it("is fused with a list of the same length, member by member", function()
    assert.are.equal("a1 b1 + a2 b2", launches(two_lists()))
    assert.are.equal("a1 b1 | a2 b2", launches(two_lists(function(t) t.lists = {} end)))
    local g = two_lists(function(t)
      t.ops[5] = { "b3", 32, "a2" }
      t.lists[2][3] = "b3"
    end)
    assert.are.equal("list_lengths_differ", reason(g, "a1", "b1"))
    assert.are.equal("a1 + a2 | b1 + b2 + b3", launches(g))
  end)

  it("is not fused where one pair of members is not, or a member needs another's", function()
    local g = two_lists(function(t) t.ops[4][2] = 16 end)
    assert.are.equal("no_shared_data", reason(g, "a1", "b1"))
    assert.are.equal("a1 + a2 | b1 + b2", launches(g))
    g = two_lists(function(t)
      t.inputs.x2, t.ops[2][2], t.ops[4][2] = 64, 64, 64
      t.ops[4][4] = "a1"
    end)
    assert.are.equal("list_members_mixed", reason(g, "a1", "b1"))
    assert.are.equal("a1 + a2 | b1 + b2", launches(g))
    assert.are.equal("list_members_mixed", reason(g, "a1", "a2"))
  end)

  it("takes in a single operation that goes with one member", function()
    local function with(op) return two_lists(function(t) t.ops[5] = op end) end
    assert.are.equal("a1 b1 c + a2 b2", launches(with { "c", 64, "b1" }))
    assert.are.equal("s a1 + a2", launches(graph({ x1 = 64, x2 = 32 }, { { "s", 64, "x1" },
      { "a1", 64, "s" }, { "a2", 32, "x2" } }, { { "a1", "a2" } })))
    local g = graph({ x1 = 64 }, { { "s", 64, "x1" }, { "a1", 64, "s" }, { "a2", 64, "s" } },
      { { "a1", "a2" } })
    assert.are.equal("list_members_mixed", reason(g, "s", "a1"))
    assert.are.equal("s | a1 + a2", launches(g))
    g = with { "c", 64, "x1" }
    assert.are.equal("list_members_mixed", reason(g, "a1", "c"))
  end)

  it("waits as one: nothing is fused around it", function()
    -- p feeds a1, q needs a2: p and q share x, but the list is between them.
    local g = graph({ x = 64, y = 32 }, { { "p", 64, "x" }, { "a1", 16, after = { "p" } },
      { "a2", 32, "y" }, { "q", 64, "x", after = { "a2" } } }, { { "a1", "a2" } })
    assert.are.equal("cycle", reason(g, "p", "q"))
    assert.are.equal("p | a1 + a2 | q", launches(g))
  end)

  it("keeps its members from overwriting what others read", function()
    local function in_place(lists)
      local g = graph({ x = 64 }, { { "m", 64, "x" }, { "a", 64, "m" }, { "b", 64, "m" } }, lists)
      local plan = g:plan()
      for i, op in ipairs { "m", "a", "b" } do
        assert(plan:kernel { schedule = { op }, extents = { 64, 1 },
          tiling = { { "x", 64 }, { "r0_", 1 } }, launch = lists and i > 1 and 7 or nil })
      end
      return plan:kernels()[3]
    end
    assert.are.same({ { "m", "b" } }, in_place().in_place)
    assert.are.same({}, in_place({ { "a", "b" } }).in_place)
    assert.are.equal(7, in_place({ { "a", "b" } }).launch)
  end)

  it("is planned in a row, of kernels that do not need each other", function()
    local g = graph({ x = 64 }, { { "m", 64, "x" }, { "a", 64, "m" }, { "b", 64, "x" },
      { "c", 64, "x" } })
    local plan = g:plan()
    local function add(op, launch)
      return plan:kernel { schedule = { op }, extents = { 64, 1 },
        tiling = { { "x", 64 }, { "r0_", 1 } }, launch = launch }
    end
    assert(add("m", 1))
    local number, message = add("a", 1)
    assert.are.equal("operation 'a' needs 'm', which is launched with it", message)
    assert.is_nil(number)
    assert(add("a", 2))
    number, message = add("b", 1)
    assert.is_nil(number)
    assert.are.equal("kernels that are launched at once must follow each other, and launches "
      .. "have ascending numbers: 1 comes behind 2", message)
    assert(add("b", 2))
  end)
end)
