-- SPDX-License-Identifier: MIT
-- Index expressions whose rewriting or bounds were wrong elsewhere (reports
-- PT_modidx_negative_base, SY_mod_common_factor): // rounds down and % has the sign of its divisor
-- in values, bounds and rewriting alike.

local core = require "einloom.core"

-- Text, ranges [lo, hi), least and greatest value, values in order.
local items = {
  { "mod_index(n - 5, 1, 8)", { n = { 0, 10 } }, 0, 7, { 3, 4, 5, 6, 7, 0, 1, 2, 3, 4 } },
  { "floor_div(mod_index(n - 3, 4, 4) + 1, 4)", { n = { 0, 4 } }, 0, 1, { 1, 1, 1, 0 } },
  { "mod_index(12*n + mod_index(n - 1, 3, 12) + 2, 8, 2)", { n = { 0, 3 } }, 1, 1, { 1, 1, 1 } },
  { "floor_div(2*mod_index(6*n - 3, 4, 4) + n + 2, 8)", { n = { 0, 3 } }, 0, 1, { 1, 0, 1 } },
  { "mod_index(9*a + b + 40, 8, 9)", { a = { 0, 5 }, b = { 0, 9 } }, 0, 8 },
  { "floor_div(n - 5, 2)", { n = { 0, 10 } }, -3, 2, { -3, -2, -2, -1, -1, 0, 0, 1, 1, 2 } },
  { "mod_index(a - b, 1, 6)", { a = { 0, 4 }, b = { 0, 4 } }, 0, 5,
    { 0, 5, 4, 3, 1, 0, 5, 4, 2, 1, 0, 5, 3, 2, 1, 0 } },
  { "(96*(x % 3)) % 252", { x = { 0, 6 } }, 0, 192, { 0, 96, 192, 0, 96, 192 } },
  { "(8*((x // 64) % 4) + ((x % 64) // 8)) % 64", { x = { 0, 512 } }, 0, 31 },
  { "(40*(x % 7)) % 300", { x = { 0, 14 } }, 0, 240,
    { 0, 40, 80, 120, 160, 200, 240, 0, 40, 80, 120, 160, 200, 240 } },
  { "1 % k", { k = { 1, 6 } }, 0, 1, { 0, 1, 1, 1, 1 } },
  { "(6*(x % 4) + 2) % 8", { x = { 0, 12 } }, 0, 6, { 2, 0, 6, 4, 2, 0, 6, 4, 2, 0, 6, 4 } },
}

-- All points in order, the last name running fastest.
local function points(ranges)
  local names = {}
  for name in pairs(ranges) do names[#names + 1] = name end
  table.sort(names)
  local list = { {} }
  for _, name in ipairs(names) do
    local longer = {}
    for _, point in ipairs(list) do
      for value = ranges[name][1], ranges[name][2] - 1 do
        local next = { [name] = value }
        for key, other in pairs(point) do next[key] = other end
        longer[#longer + 1] = next
      end
    end
    list = longer
  end
  return list
end

local function symbols_of(ranges, bounded)
  local list, extents = {}, {}
  for name, range in pairs(ranges) do
    local max = bounded and range[2] - 1 or nil
    list[#list + 1] = core.symbol(name, { min = range[1], max = max })
    extents[name] = range[2]
  end
  return list, extents
end

local function at(e, point)
  local own = {}
  for _, symbol in ipairs(e:symbols()) do own[symbol:name()] = point[symbol:name()] end
  return e(own):tointeger()
end

local function values(e, ranges)
  local list = {}
  for i, point in ipairs(points(ranges)) do list[i] = at(e, point) end
  return list
end

describe("reports on index expressions", function()
  for _, item in ipairs(items) do
    local text, ranges, min, max, expected = table.unpack(item)
    it(text, function()
      local symbols, extents = symbols_of(ranges, false)
      local built = core.parse(text, nil, symbols)
      local got = values(built, ranges)
      if expected then assert.same(expected, got) end
      assert.equal(min, math.min(table.unpack(got)))
      assert.equal(max, math.max(table.unpack(got)))
      assert.same(got, values(built:simplify(), ranges))
      assert.same(got, values(built:simplify(extents), ranges))
      local bounded = core.parse(text, nil, (symbols_of(ranges, true)))
      assert.same(got, values(bounded, ranges))
      assert.same(got, values(bounded:simplify {}, ranges))
      local lo, hi = bounded:bounds()
      assert.is_true(lo:tointeger() <= min and hi:tointeger() >= max)
    end)
  end

  -- A kernel of one operation that reads at the index: its facts, and the loops by name.
  local function kernel_of(text, ranges)
    local g, loops, symbols, extent, flat = core.graph(), {}, {}, 1, core.int(0)
    local names = {}
    for name in pairs(ranges) do names[#names + 1] = name end
    table.sort(names)
    for k, name in ipairs(names) do
      symbols[k] = core.symbol(name, { min = 0 })
      loops[k] = { symbols[k], ranges[name][2] }
      flat, extent = flat * ranges[name][2] + symbols[k], extent * ranges[name][2]
    end
    g:buffer { name = "from", sizes = { 4096 } }
    g:buffer { name = "to", sizes = { extent }, output = true }
    assert(g:op { name = "op", pointwise = loops,
      reads = { { buffer = "from", index = core.parse(text, nil, symbols) } },
      writes = { { buffer = "to", index = flat } } })
    local plan = g:plan()
    assert(plan:kernel { schedule = { "op" }, extents = { extent, 1 },
      tiling = { { "x", extent }, { "r0_", 1 } } })
    return plan:kernels()[1], names
  end

  for _, item in ipairs(items) do
    local text, ranges = item[1], item[2]
    local from_zero = true
    for _, range in pairs(ranges) do from_zero = from_zero and range[1] == 0 end
    if from_zero then
      it(text .. " in a kernel", function()
        local symbols = symbols_of(ranges, false)
        local built = core.parse(text, nil, symbols)
        local kernel, names = kernel_of(text, ranges)
        local entries, op = {}, kernel.ops[1]
        for _, entry in ipairs(kernel.entries) do
          entries[entry.name] = { 0, entry.length:tointeger() }
        end
        for _, point in ipairs(points(entries)) do
          local loops = {}
          for k, name in ipairs(names) do loops[name] = at(op.pointwise[k], point) end
          assert.are.equal(at(built, loops), at(op.accesses[1].simplified, point))
        end
        assert.is_true(op.accesses[1].narrow)
      end)
    end
  end
end)
