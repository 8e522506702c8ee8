-- SPDX-License-Identifier: MIT
-- Ranges of kernels as Lua objects: splits held against walking them, errors, options.

local core = require "einloom.core"
local loom = require "einloom"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time()

local function texts(list)
  local out = {}
  for i, e in ipairs(list) do out[i] = tostring(e) end
  return out
end

local function raised(f, ...)
  local ok, e = pcall(f, ...)
  assert.is_false(ok)
  return tostring(e)
end

describe("ranges", function()
  it("are named by prefix, in one order", function()
    local kernel = loom.ranges { r0_ = 4, x = 8, y = 2 }
    local names = {}
    for i, tree in ipairs(kernel:trees()) do names[i] = tree.prefix end
    assert.same({ "y", "x", "r0_" }, names)
    assert.is_nil(kernel.z)
    assert.equal(kernel, kernel.x.kernel)
    assert.same({ 0, 0, 1, false, false },
      { kernel.x.position, kernel.x.grid_dim, kernel.x.tensor_dim, kernel.x.is_loop,
        kernel.x.is_reduction })
    assert.equal("xindex", tostring(kernel.x.index))
    assert.is_true(kernel.r0_.is_loop)
    assert.is_false(loom.ranges { x = 8, r0_ = 4, one_pass = true }.r0_.is_loop)
    assert.is_nil(loom.ranges { x = 8, r0_ = 4, one_pass = true, no_x = true }.x.tensor_dim)
  end)

  it("print a tree alone", function()
    local kernel = loom.ranges { y = 2, x = 8 }
    kernel:split { 2, 4, 2 }
    assert.equal("x: 8, grid 0, axis 1\n  x1 = xindex % 2, length 2\n  x2 = xindex // 2, length 4",
      tostring(kernel.x))
  end)

  it("make each variable once", function()
    local kernel = loom.ranges { x = 24 }
    local first, again = kernel.x:construct { 4, 6 }, kernel.x:construct { 4, 3, 2 }
    assert.equal(first[1], again[1])
    assert.equal(4, #kernel:entries())
    assert.same({ "x0", "x1", "x2", "x3" },
      (function(list) for i, e in ipairs(list) do list[i] = e.name end return list end)
      (kernel:entries()))
  end)

  it("answer what cannot be split", function()
    local kernel = loom.ranges { x = 64, r0_ = 32 }
    local none, message, kind = kernel:split { 48 }
    assert.is_nil(none)
    assert.equal("cannot_split", kind)
    assert.truthy(message:find("[48]", 1, true))
    assert.equal("incomplete_split", select(3, kernel:split { 64 }))
    assert.same({ { "64" }, { "32" } }, (function(lists)
      return { texts(lists[1]), texts(lists[2]) }
    end)(kernel:prepare_loops { 64 }))
    assert.is_true(kernel:fits { 64 })
  end)

  it("span two ranges, or any number on request", function()
    local extents = { z = 4, y = 8, x = 16 }
    assert.equal("cannot_split", select(3, loom.ranges(extents):split { 512 }))
    extents.span = "any"
    assert.same({ "x2 + 16*y1 + 128*z0" }, texts(loom.ranges(extents):split { 512 }))
  end)

  it("ignore loops that are left over unless strict", function()
    assert.equal(1, #loom.ranges { x = 8, r0_ = 1 }:split { 8, 2 })
    local _, _, kind = loom.ranges { x = 8, r0_ = 1, strict = true }:split { 8, 2 }
    assert.equal("cannot_split", kind)
  end)

  it("turn the reduction off", function()
    local kernel = loom.ranges { x = 64, r0_ = 32 }
    assert.equal("incomplete_split", select(3, kernel:split { 64 }))
    assert.same({ "x0" }, texts(kernel:reduction(false):split { 64 }))
    assert.truthy(tostring(kernel):find("off", 1, true))
    assert.equal(2, #kernel:reduction(true):split { 64, 32 })
  end)

  it("tell broadcasting by range", function()
    local kernel = loom.ranges { y = 16, x = 32 }
    kernel:split { 16, 32 }
    assert.is_false(kernel.y:broadcasted "32*y0 + x1")
    assert.is_false(kernel.x:broadcasted "32*y0 + x1")
    assert.is_true(kernel.y:broadcasted "x1")
    assert.is_true(kernel:broadcasted "32*y0 + x1") -- as the reference compares
    local strict = loom.ranges { y = 16, x = 32, strict = true }
    strict:split { 16, 32 }
    assert.is_false(strict:broadcasted "32*y0 + x1")
    assert.is_false(strict:broadcasted "tmp0 + x1")
  end)

  it("hoist computed sizes", function()
    local kernel = loom.ranges { x = "s0*s1*s2", hints = { s0 = 4, s1 = 6, s2 = 2 } }
    local x = kernel.x:construct { "s0", "s1*s2" }
    kernel:prepare(x[1] + 3 * x[2])
    local hoisted = kernel:hoisted()
    assert.same({ "ps0", "s1*s2" }, { tostring(hoisted[1].symbol), tostring(hoisted[1].value) })
    assert.equal("xindex // ps0", tostring(kernel:entries()[2].expr))
  end)

  it("say what is wrong", function()
    assert.truthy(raised(loom.ranges, { w = 4 }):find("unknown range or option 'w'", 1, true))
    assert.truthy(raised(loom.ranges, {}):find("at least one", 1, true))
    assert.truthy(raised(loom.ranges, { x = 0.5 }):find("ranges.x: 0.5", 1, true))
    assert.truthy(raised(loom.ranges, { x = 4, span = "three" }):find("'three'", 1, true))
    local kernel = loom.ranges { x = 4 }
    assert.truthy(raised(kernel.simplify, kernel, "x9 + 1"):find("no 'x9'", 1, true))
    assert.truthy(raised(kernel.split, kernel, { "n" }):find("no 'n'", 1, true))
    assert.truthy(raised(kernel.split, kernel, { -2 }):find("[1]: -2", 1, true))
    assert.truthy(raised(kernel.split, kernel, 4):find("list", 1, true))
    assert.truthy(raised(function() return kernel.spilt end):find("nearest: split", 1, true))
    assert.truthy(raised(function() kernel.x = 3 end):find("cannot set", 1, true))
    kernel:close()
    assert.truthy(raised(kernel.split, kernel, { 4 }):find("closed", 1, true))
  end)

  it("keep what they use alive", function()
    local context = core.context()
    local kernel = assert(context:ranges({ x = 1024, r0_ = 64 }))
    for i = 1, 200 do
      local pointwise, reduction = kernel:map({ 32, 32 }, { 64 })
      local index = 32 * pointwise[1] + pointwise[2] + i * reduction[1]
      local simple = kernel:simplify(index)
      assert.equal(2, simple:arity())
      pointwise, reduction, index, simple = nil, nil, nil, nil -- luacheck: ignore
      collectgarbage()
      context:collect()
    end
    assert.equal(4, #kernel:entries())
    kernel:close()
    context:close()
  end)
end)

describe("splits", function()
  -- The loops' values at every point of the flat indices, in order, are the iterations in order.
  local function check(extents, sizes, strict)
    local kernel = loom.ranges { x = extents[1], r0_ = extents[2], strict = strict, span = "any" }
    local values = kernel:split(sizes)
    if not values then return false end
    local all = core.int(0)
    for i, value in ipairs(values) do all = all * sizes[i] + value end
    for x = 0, extents[1] - 1 do
      for r = 0, extents[2] - 1 do
        local point = {}
        for _, entry in ipairs(kernel:entries()) do
          local flat = entry.tree == "x" and x or r
          point[entry.name] = flat // entry.divisor:tointeger() % entry.length:tointeger()
        end
        assert.equal(core.int(x * extents[2] + r), all(point))
      end
    end
    return true
  end

  it("enumerate the nest in order, seed " .. seed, function()
    math.randomseed(seed)
    local split = 0
    for _ = 1, 60 do
      local factors = { 2, 3, 2, 2 }
      for i = #factors, 2, -1 do
        local k = math.random(i)
        factors[i], factors[k] = factors[k], factors[i]
      end
      local at = math.random(0, 4)
      local extents = { 1, 1 }
      for i, factor in ipairs(factors) do
        extents[i <= at and 1 or 2] = extents[i <= at and 1 or 2] * factor
      end
      if math.random(2) == 1 then factors[1] = factors[1] * table.remove(factors, 2) end
      if check(extents, factors, math.random(2) == 1) then split = split + 1 end
    end
    assert.is_true(split > 10)
  end)
end)
