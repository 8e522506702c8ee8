-- SPDX-License-Identifier: MIT
-- Searches with numbers that doubles or 64-bit integers do not hold: answers are right or refused,
-- and what is given is the analysis's.

local loom = require "einloom"

local io = { energy = 1, bits_per_action = 8 }

local function gemm(sizes, bits)
  return loom.workload { sizes = sizes, bits = bits, "Z[m,n] = A[m,k] * B[k,n]" }
end

local function arch(size, t)
  t = t or {}
  return loom.arch {
    loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "All" },
    loom.memory { "GLB", size = size, read = io, write = io, keep = t.keep,
      may_keep = not t.keep and "All" or nil },
    loom.fanout { "PE", x = t.x or 4 },
    loom.compute { "MAC", energy = 0, throughput = 1 },
  }
end

local small = { m = 4, k = 4, n = 6 }

-- The energy that the analysis gives the mapping found, and the point.
local function analysed(w, a, options, search)
  local found = loom.space(w, a, options):search(search or {}):run()
  local point = found.points[1]
  if not point then return nil end
  local result = loom.analyze(w, a, found:mapping())
  local energy = assert(result:energy())
  assert.are.equal(energy:tonumber(), point.energy)
  assert.are.equal(result:latency():tonumber(), point.latency)
  return energy, point
end

describe("numbers of any size in searches", function()
  it("do not fill a memory beyond its size where bits wrap around or leave 2^53", function()
    for _, e in ipairs { 57, 58, 60, 61, 62, 63, 80, 200 } do
      local w = gemm(small, "2^" .. e)
      assert.are.equal(27 * 2.0 ^ e, analysed(w, arch(500)):tonumber())
    end
    for _, size in ipairs { 1 << 30, 2147483647 } do
      assert.truthy(analysed(gemm({ m = size, k = size, n = size }, 16), arch(50000)))
    end
  end)

  it("are compared exactly or refused where doubles cannot", function()
    local w = gemm({ m = 1, k = 1, n = 1 }, "9007199254740993")
    local all = { keep = "All" }
    local ok, problem = pcall(analysed, w, arch("27021597764222978", all))
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("bits of GLB", 1, true))
    assert.is_nil(analysed(w, arch("27021597764222978", all), nil,
      { strategy = "random", evaluations = 20 }))
    assert.truthy(analysed(w, arch("27021597764222979", all)))
  end)

  it("tell what fits a large memory to the bit", function()
    local w = gemm({ m = 1, k = 1, n = 1 }, 1000000000001)
    assert.truthy(analysed(w, arch(3000000000003, { keep = "All" })))
    assert.is_nil(analysed(w, arch(3000000000002, { keep = "All" })))
  end)

  it("may be rational", function()
    for _, strategy in ipairs { "optimal", "exhaustive" } do
      local search = { strategy = strategy }
      local function same(a, b)
        assert.are.equal(analysed(b[1], b[2], nil, search), (analysed(a[1], a[2], nil, search)))
      end
      local w = gemm(small, 8)
      same({ w, arch("1000/3") }, { w, arch(333) })
      same({ w, arch(500, { x = { 6, min_usage = "2/3" } }) },
        { w, arch(500, { x = { 6, min_usage = 2 / 3 } }) })
      local function bounded(value)
        return arch(500, { x = { 4, loop_bounds = { variables = "m", op = "<=", value = value } } })
      end
      same({ w, bounded "5/2" }, { w, bounded(2) })
      same({ w, bounded "2^80" }, { w, arch(500) })
      same({ w, arch(500, { x = "2^70" }) }, { w, arch(500, { x = 4096 }) })
      same({ w, arch(1e300) }, { w, arch(math.huge) })
      local third = analysed(gemm(small, "1/3"), arch("5/3"), nil, search)
      assert.are.equal(analysed(gemm(small, 1), arch(5), nil, search), third * 3)
    end
  end)

  it("name the variable that has too many values", function()
    for _, size in ipairs { 1 << 31, "2^64" } do
      local ok, problem = pcall(loom.space, gemm({ m = 2, k = size, n = 2 }, 8), arch(500))
      assert.is_false(ok)
      assert.are.equal("workload.sizes", problem.path)
      assert.truthy(problem.message:find("2147483647 values, k has", 1, true))
    end
  end)
end)

describe("objectives outside the range of doubles", function()
  local w = loom.workload { sizes = small, bits = { All = 8, Outputs = 16 },
    "Z[m,n] = A[m,k] * B[k,n]" }
  local function at(energy, rate)
    return { energy = energy, bits_per_action = 8, throughput = rate }
  end
  local a = loom.arch {
    loom.memory { "DRAM", size = math.huge, read = at(20, 4), write = at(21, 4), keep = "All" },
    loom.memory { "GLB", size = 64, read = at(6, 2), write = at(7, 2), may_keep = "All" },
    loom.fanout { "PE", x = 3, y = { 4, reuse = "Outputs" } },
    loom.compute { "MAC", energy = 1, throughput = 1 },
  }
  local function least(name, minimise, strategy)
    local found = loom.space(w, a, { minimise = minimise }):search { strategy = strategy }:run()
    return found.points[1][name]
  end

  for _, strategy in ipairs { "optimal", "exhaustive" } do
    it("are compared exactly by " .. strategy, function()
      for _, formula in ipairs { "latency*1e400", "latency*1e-300*1e-300", "latency + 1e30",
        "latency^200" } do
        assert.are.equal(40, least("latency", formula, strategy), formula)
      end
      for _, formula in ipairs { "energy^100", "energy + 1e30", "energy*1e-300*1e-300" } do
        assert.are.equal(3072, least("energy", formula, strategy), formula)
      end
    end)
  end

  it("are refused where exact numbers are too long", function()
    local ok, problem = pcall(least, "latency", "latency^100000", "optimal")
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("has no exact value where energy is", 1, true))
    assert.is_nil(tostring(problem):find("objective.lua", 1, true))
  end)
end)

describe("fronts of exact figures", function()
  local w = loom.workload { sizes = { p = 3 }, bits = 8, "Z[p] = I[p] * W[]" }
  local function a(read, write)
    return loom.arch {
      loom.memory { "DRAM", size = math.huge, keep = "All",
        read = { energy = 3, bits_per_action = 8, throughput = read },
        write = { energy = 1, bits_per_action = 8, throughput = write } },
      loom.memory { "GLB", size = 16, may_keep = "All", read = { energy = 3, bits_per_action = 8 },
        write = { energy = 1, bits_per_action = 8 } },
      loom.fanout { "PE", x = 4 },
      loom.compute { "MAC" },
    }
  end

  it("have no point that another one beats", function()
    for _, rates in ipairs { { 10, 3 }, { 7, 3 }, { "1/7", "1/11" }, { 0.3, 0.7 } } do
      local points = loom.space(w, a(table.unpack(rates)),
        { minimise = { "energy", "latency" } }):search().points
      assert.are.equal(1, #points)
      assert.are.equal(15, points[1].energy)
    end
  end)

  it("have all figures, the use of every memory among them, whatever finds them", function()
    for _, strategy in ipairs { "optimal", "exhaustive" } do
      local point = loom.space(w, a(10, 3)):search { strategy = strategy }:run().points[1]
      assert.are.same({ DRAM = 0, GLB = 0 }, point.usage)
      assert.are.equal(1.4, point.latency)
      assert.are.equal(21, point.energy_delay_product)
    end
  end)
end)
