-- SPDX-License-Identifier: MIT
-- Memory sectors of tilings: every point of a kernel enumerated against what is counted, and the
-- best tiling against all that the rules give. Reports PT_transpose_two_outputs and
-- PT_broadcast_not_worth_a_tile (pytorch/pytorch #130015, #149982, #177117, pulls #151958,
-- #183442).

local core = require "einloom.core"

local SECTOR = 32
local bytes = { f32 = 4, f64 = 8, f16 = 2, i8 = 1 }

local function variable(name) return core.symbol(name, { min = 0 }) end
local loops = { variable "p0", variable "p1", variable "p2", variable "p3" }

local function show(list)
  local parts = {}
  for i, range in ipairs(list) do parts[i] = ("%s %s"):format(range[1], range[2]) end
  return table.concat(parts, ", ")
end

-- ---- enumeration --------------------------------------------------------------------------------

-- The values of loops at a running number of their points.
local function point_of(sizes, number)
  local point = {}
  for i = #sizes, 1, -1 do
    point[i] = number % sizes[i]
    number = number // sizes[i]
  end
  return point
end

-- The address in bytes at every point of a kernel, and whether it moves along the reduction.
local function addresses(kernel, access)
  local list, moves = {}, false
  local repeats = access.sizes.points == kernel.extent and kernel.reduction or 1
  for number = 0, kernel.extent * kernel.reduction - 1 do
    local at = access.value(point_of(access.sizes, number // repeats))
    list[number] = (at + access.offset) * bytes[access.dtype]
    if list[number] ~= list[number - number % kernel.reduction] then moves = true end
  end
  return list, moves
end

-- Sectors touched by blocks, added up: each block a set.
local function enumerate(kernel, access, tiling, blocks)
  local extents, seen, total = {}, {}, 0
  local list, moves = addresses(kernel, access)
  for i, range in ipairs(tiling) do extents[i] = range[2]:tointeger() end
  for number = 0, kernel.extent * kernel.reduction - 1 do
    local point, block = point_of(extents, number), {}
    for i, value in ipairs(point) do
      local reduces = tiling[i][1]:sub(1, 1) == "r"
      block[i] = reduces and not moves and 0 or value // blocks[i][2]
    end
    local key = table.concat(block, " ") .. ":" .. list[number] // SECTOR
    if not seen[key] then total = total + 1 end
    seen[key] = true
  end
  return total
end

-- ---- random kernels -----------------------------------------------------------------------------

local function pick(list) return list[math.random(#list)] end

local function random_sizes()
  local sizes, points = {}, 1
  for i = 1, math.random(1, 4) do
    sizes[i] = pick { 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24 }
    if points * sizes[i] > 1200 then sizes[i] = 1 end
    points = points * sizes[i]
  end
  sizes.points = points
  return sizes
end

-- Index and value of an access over loops of these sizes.
local function affine(sizes)
  local order, index, steps, step = {}, core.int(0), {}, pick { 1, 1, 1, 2, 3 }
  for i = 1, #sizes do table.insert(order, math.random(#order + 1), i) end
  local constant = pick { 0, 0, 0, 1, 5, -7 }
  for _, i in ipairs(order) do
    steps[i] = pick { step, step, step, step, 0, -step, 1, 8 }
    index = index + steps[i] * loops[i]
    step = step * sizes[i] + pick { 0, 0, 0, 1, 8 }
  end
  return index + constant, function(point)
    local at = constant
    for i, value in ipairs(point) do at = at + steps[i] * value end
    return at
  end
end

local function flat(sizes)
  local index = core.int(0)
  for i = 1, #sizes do index = index * sizes[i] + loops[i] end
  return index, function(point)
    local at = 0
    for i, value in ipairs(point) do at = at * sizes[i] + value end
    return at
  end
end

local function divided(sizes)
  local index, value = flat(sizes)
  local d, m, c = pick { 2, 3, 4, 6, 8, 16 }, pick { 2, 3, 4, 5, 8 }, pick { 1, 16, 30, -4 }
  local shift = pick { 0, 0, 0, 0, 1, 3 }
  return c * core.mod_index(index + shift, d, m) + index % d + (index // (d * m)) * 5,
    function(point)
      local at = value(point)
      return c * ((at + shift) // d % m) + at % d + at // (d * m) * 5
    end
end

local function random_access(sizes, name, store)
  local make = pick { affine, affine, flat, divided }
  local index, value = make(sizes)
  return { buffer = name, index = index, value = value, sizes = sizes, store = store,
    dtype = pick { "f32", "f32", "f64", "f16", "i8" }, offset = pick { 0, 0, 0, 1, 8 } }
end

local function nest_of(sizes, first, last)
  local list = {}
  for i = first, last do list[#list + 1] = { loops[i], sizes[i] } end
  return list
end

-- One or two operations over the same points; reads, and writes of their own.
local function random_kernel()
  local sizes = random_sizes()
  local reduced = math.random() < 0.3 and math.random(1, #sizes) or #sizes + 1
  local kernel = { extent = 1, reduction = 1, accesses = {}, schedule = {}, graph = core.graph() }
  for i, size in ipairs(sizes) do
    local side = i < reduced and "extent" or "reduction"
    kernel[side] = kernel[side] * size
  end
  local function buffer(access)
    kernel.graph:buffer { name = access.buffer, sizes = { 4096 }, offset = access.offset,
      dtype = access.dtype, output = access.store }
    kernel.accesses[#kernel.accesses + 1] = access
    return { buffer = access.buffer, index = access.index }
  end
  for k = 1, math.random(1, 2) do
    local name, reads = "op" .. k, {}
    local outer = { points = kernel.extent }
    for i = 1, math.min(reduced - 1, #sizes) do outer[i] = sizes[i] end
    local reduces = kernel.reduction > 1
    for r = 1, math.random(1, 3) do
      reads[r] = buffer(random_access(sizes, ("in%d_%d"):format(k, r)))
    end
    assert(kernel.graph:op { name = name, kind = reduces and "reduction" or "pointwise",
      reduce = reduces and "sum" or nil,
      pointwise = nest_of(sizes, 1, reduces and reduced - 1 or #sizes),
      reduction = reduces and nest_of(sizes, reduced, #sizes) or nil, reads = reads,
      writes = { buffer(random_access(reduces and outer or sizes, "out" .. k, true)) } })
    kernel.schedule[k] = name
  end
  kernel.extents = { kernel.extent, kernel.reduction }
  return kernel
end

local function random_blocks(tiling)
  local blocks = {}
  for i, range in ipairs(tiling) do
    blocks[i] = { range[1], pick { 1, 2, 3, 4, 7, 8, 16, 32, range[2]:tointeger() } }
  end
  return blocks
end

-- The tilings of the rules that leave the reduction where it is.
local function rule_tilings(kernel)
  local g, list = kernel.graph, {}
  local function add(tiling)
    local reduced = 1
    for _, range in ipairs(tiling) do
      if range[1]:sub(1, 1) == "r" then reduced = reduced * range[2]:tointeger() end
    end
    if reduced == kernel.reduction then list[#list + 1] = tiling end
  end
  for _, options in ipairs { {}, { max_tiles = 3 }, { blocks = true },
    { blocks = true, max_tiles = 3 }, { reductions = true },
    { reductions = true, blocks = true } } do
    add(assert(g:tiling(kernel.schedule, kernel.extents, options)))
  end
  for tiles = 2, 3 do
    local scored = g:coalesced_tiling(kernel.schedule, kernel.extents, { max_tiles = tiles })
    if scored then add(scored.tiling) end
  end
  return list
end

local function total_of(kernel, tiling, blocks)
  local total = 0
  for _, access in ipairs(kernel.accesses) do
    total = total + enumerate(kernel, access, tiling, blocks)
  end
  return total
end

local function seeded(rounds, check)
  local seed = tonumber(os.getenv "LOOM_SEED") or os.time()
  print("LOOM_SEED=" .. seed)
  math.randomseed(seed)
  for _ = 1, (tonumber(os.getenv "EINLOOM_ROUNDS") or rounds) do check() end
end

describe("memory sectors", function()
  it("of random kernels in random blocks are those of every point", function()
    seeded(40, function()
      local kernel = random_kernel()
      local tilings = rule_tilings(kernel)
      for _, tiling in ipairs(kernel.graph:block_tilings(kernel.schedule, kernel.extents, 3)) do
        if kernel.reduction == 1 then tilings[#tilings + 1] = tiling end
      end
      local tiling = pick(tilings)
      local blocks = random_blocks(tiling)
      local found = assert(kernel.graph:sectors(kernel.schedule, kernel.extents, tiling, blocks))
      assert.are.equal(#kernel.accesses, #found.accesses)
      local total = 0
      for i, access in ipairs(kernel.accesses) do
        local expected = enumerate(kernel, access, tiling, blocks)
        assert.are.equal(expected, found.accesses[i].sectors, ("%s of %s in %s of %s"):format(
          tostring(access.index), access.dtype, show(blocks), show(tiling)))
        total = total + expected
      end
      assert.are.equal(total, found.sectors)
    end)
  end)

  -- All blocks of up to `points` points: powers of two or the whole range.
  local function each_shape(tiling, points, visit, n, blocks)
    n, blocks = n or 1, blocks or {}
    if n > #tiling then return visit(blocks) end
    local extent = tiling[n][2]:tointeger()
    local block = 1
    repeat
      if block <= points then
        blocks[n] = { tiling[n][1], block }
        each_shape(tiling, points // block, visit, n + 1, blocks)
      end
      local last = block >= extent
      block = math.min(2 * block, extent)
    until last
  end

  it("are no fewer for any tiling of the rules in any blocks", function()
    seeded(6, function()
      local kernel = random_kernel()
      local options = { reductions = true, points = 64 }
      local best = assert(kernel.graph:best_tiling(kernel.schedule, kernel.extents, options))
      assert.are.equal(best.sectors, total_of(kernel, best.tiling, best.blocks))
      assert.is_true(kernel.graph:fits(kernel.schedule, kernel.extents, best.tiling))
      for _, tiling in ipairs(rule_tilings(kernel)) do
        each_shape(tiling, 64, function(blocks)
          local found =
            assert(kernel.graph:sectors(kernel.schedule, kernel.extents, tiling, blocks))
          assert.is_true(best.sectors <= found.sectors, show(tiling) .. " in " .. show(blocks))
        end)
      end
    end)
  end)

  -- One operation on arrays of 4 bytes: loops, { buffer, index, store } of each access.
  local function pointwise(sizes, accesses)
    local g, reads, writes, n = core.graph(), {}, {}, 1
    for _, size in ipairs(sizes) do n = n * size end
    for _, access in ipairs(accesses) do
      g:buffer { name = access[1], sizes = { n }, output = access[3] or false }
      table.insert(access[3] and writes or reads, { buffer = access[1], index = access[2] })
    end
    assert(g:op { name = "op", pointwise = nest_of(sizes, 1, #sizes), reads = reads,
      writes = writes })
    return g, n
  end

  local function counted(g, n, tiling, blocks)
    local found, list = assert(g:sectors({ "op" }, { n, 1 }, tiling, blocks)), {}
    for i, access in ipairs(found.accesses) do list[i] = access.sectors end
    list[#list + 1] = found.sectors
    return list
  end

  it("are fewest in blocks of two ranges where a store is transposed", function()
    local i, j = loops[1], loops[2]
    local g, n = pointwise({ 128, 96 }, { { "load", 96 * i + j }, { "store", 96 * i + j, true },
      { "store_t", 128 * j + i, true } })
    local one, two = { { "x", n }, { "r0_", 1 } }, { { "y", 128 }, { "x", 96 }, { "r0_", 1 } }
    for block, expected in pairs { [1024] = { 1536, 1536, 2304, 5376 },
      [256] = { 1536, 1536, 4608, 7680 } } do
      assert.are.same(expected, counted(g, n, one, { { "x", block }, { "r0_", 1 } }))
    end
    for _, item in ipairs { { 32, 32, 1536, 1536, 1536, 4608 }, { 16, 64, 1536, 1536, 1536, 4608 },
      { 8, 8, 1536, 1536, 1536, 4608 }, { 1, 96, 1536, 1536, 12288, 15360 },
      { 128, 1, 12288, 12288, 1536, 26112 } } do
      local blocks = { { "y", item[1] }, { "x", item[2] }, { "r0_", 1 } }
      assert.are.same({ table.unpack(item, 3) }, counted(g, n, two, blocks))
    end
    local best = assert(g:best_tiling({ "op" }, { n, 1 }))
    assert.are.equal("y 128, x 96, r0_ 1", show(best.tiling))
    assert.are.equal(4608, best.sectors)
  end)

  it("of a value that is used again and again are no reason for two ranges", function()
    local x = loops[1]
    local g, n = pointwise({ 8192 }, { { "a", x // 16 }, { "b", x }, { "store", x, true } })
    local one = { { "x", n }, { "r0_", 1 } }
    for block, expected in pairs { [1024] = { 64, 1024, 1024, 2112 },
      [256] = { 64, 1024, 1024, 2112 }, [64] = { 128, 1024, 1024, 2176 } } do
      assert.are.same(expected, counted(g, n, one, { { "x", block }, { "r0_", 1 } }))
    end
    local best = assert(g:best_tiling({ "op" }, { n, 1 }))
    assert.are.equal("x 8192, r0_ 1", show(best.tiling))
    assert.are.equal(2112, best.sectors)
  end)

  it("are counted at hints, and not at all without", function()
    local s = core.symbol("s0", { min = 2 })
    for _, hints in ipairs { { [s] = 96 }, {} } do
      local g = core.graph { hints = hints }
      g:buffer { name = "a", sizes = { s, 128 } }
      g:buffer { name = "b", sizes = { 128, s }, output = true }
      assert(g:op { name = "op", pointwise = { { loops[1], 128 }, { loops[2], s } },
        reads = { { buffer = "a", index = 128 * loops[2] + loops[1] } },
        writes = { { buffer = "b", index = s * loops[1] + loops[2] } } })
      local best = assert(g:best_tiling({ "op" }, { 128 * s, 1 }))
      if hints[s] then
        assert.are.equal("y 128, x s0, r0_ 1", show(best.tiling))
        assert.are.equal(2 * 1536, best.sectors)
      else
        assert.is_nil(best.sectors)
        assert.are.equal(0, #best.accesses)
      end
    end
  end)

  it("of a gather are those of rows that lie apart", function()
    local g = core.graph()
    g:buffer { name = "table", sizes = { 1000, 64 } }
    g:buffer { name = "out", sizes = { 128, 64 }, output = true }
    assert(g:op { name = "op", pointwise = { { loops[1], 128 }, { loops[2], 64 } },
      reads = { { buffer = "table", index = 64 * variable "indirect0" + loops[2] } },
      writes = { { buffer = "out", index = 64 * loops[1] + loops[2] } } })
    local best = assert(g:best_tiling({ "op" }, { 128 * 64, 1 }))
    assert.are.equal(128 * 8 * 2, best.sectors)
    local narrow = { { "y", 128 }, { "x", 64 }, { "r0_", 1 } }
    local blocks = { { "y", 128 }, { "x", 4 }, { "r0_", 1 } }
    assert.are.equal(128 * 16 * 2, assert(g:sectors({ "op" }, { 8192, 1 }, narrow, blocks)).sectors)
  end)

  it("have ranges and blocks that fit the kernel", function()
    local g, n = pointwise({ 64 }, { { "a", loops[1] }, { "b", loops[1], true } })
    assert.error_matches(function()
      g:sectors({ "op" }, { n, 1 }, { { "x", 32 }, { "r0_", 1 } })
    end, "do not multiply to the extents of the kernel")
    assert.error_matches(function()
      g:sectors({ "op" }, { n, 1 }, { { "x", 64 }, { "r0_", 1 } }, { { "x", 64 } })
    end, "for each range of the tiling")
  end)

  it("choose the tilings of a graph of einsums, also of symbolic sizes", function()
    local loom = require "einloom"
    local g = loom.graph {
      einsums = { "y[i,j] = relu(x[i,j]) + z[j,i]" }, sizes = { i = "I", j = "J" },
      hints = { I = 128, J = 96 },
    }
    local best = g:kernels { tiling = "best" }[1]
    assert.are.equal("y I, x J, r0_ 1", show(best.facts.tiling))
    assert.are.equal(3 * 1536, best.counted.sectors)
    local walked = g:kernels { tiling = "coalescing" }[1]
    assert.are.equal("y I, x J, r0_ 1", show(walked.facts.tiling))
    assert.is_nil(walked.counted)
  end)
end)
