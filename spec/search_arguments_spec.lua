-- SPDX-License-Identifier: MIT
-- What spaces, searches and templates are given wrongly is said clearly: what, where, and by name.

local files = require "support.files"
local loom = require "einloom"

local command = files.command

local io = { energy = 1, bits_per_action = 8 }

local function workload(sizes)
  return loom.workload { sizes = sizes, bits = 8, "Z[m,n] = A[m,k] * B[k,n]" }
end

local function memory(name, t)
  t[1], t.size, t.read, t.write = name, t.size or math.huge, io, io
  return loom.memory(t)
end

local function unit() return loom.compute { "MAC", energy = 0, throughput = 1 } end

local function arch(...)
  local nodes = { ... }
  nodes[#nodes + 1] = unit()
  return loom.arch(nodes)
end

local function plain() return arch(memory("DRAM", { keep = "All" }),
  memory("GLB", { size = 100, may_keep = "All" }), loom.fanout { "PE", x = 2 }) end

local sizes = { m = 4, k = 4, n = 4 }

local function fails(text, f, ...)
  local ok, problem = pcall(f, ...)
  assert.is_false(ok, text)
  assert.truthy(tostring(problem):find(text, 1, true), tostring(problem))
end

describe("spaces without room", function()
  it("name tensors that no level may hold", function()
    for _, strategy in ipairs { "optimal", "exhaustive", "random" } do
      local function search(a)
        return loom.space(workload(sizes), a):search { strategy = strategy }:run()
      end
      fails("no level may hold Z of einsum Z", search,
        arch(memory("DRAM", { keep = "A", may_keep = "A" }),
          memory("GLB", { keep = "B", may_keep = "B" })))
      fails("no level may hold A, B, Z of einsum Z", search, arch())
      fails("GLB is to be the first to hold Z of einsum Z (back), but a level above holds it",
        search, arch(memory("DRAM", { keep = "All" }), memory("GLB", { back = "Z" })))
    end
  end)

  it("keep to rules about loops where there are none", function()
    local w = loom.workload { sizes = { m = 1 }, bits = 8, "Z[m] = A[m]" }
    local function n_found(x, strategy)
      local a = arch(memory("DRAM", { keep = "All" }), loom.fanout { "PE", x = x })
      return #loom.space(w, a):search { strategy = strategy }:run().points
    end
    for _, strategy in ipairs { "optimal", "exhaustive", "random" } do
      for _, op in ipairs { ">=", "product>=", "==" } do
        local bound = { variables = "m", op = op, value = 2 }
        assert.are.equal(0, n_found({ 4, loop_bounds = bound }, strategy), strategy .. op)
      end
      assert.are.equal(1,
        n_found({ 4, loop_bounds = { variables = "m", op = "<=", value = 2 } }, strategy))
      assert.are.equal(1, n_found({ 4, min_usage = 1 }, strategy))
    end
  end)

  it("say that an objective leaves the range of doubles", function()
    local a = arch(loom.memory { "DRAM", size = math.huge, keep = "All", write = io,
      read = { energy = 1e300, bits_per_action = 8 } })
    fails("einsum Z: an energy of about", function()
      loom.space(workload(sizes), a):search()
    end)
  end)
end)

describe("methods of spaces", function()
  local space = loom.space(workload(sizes), plain())

  it("name what is none of their arguments", function()
    local t = space:templates()[1]
    fails("space:random: random numbers as search.rng gives them expected, got 5", space.random,
      space, 5)
    fails("one for each of 1 einsums", space.key, space, {})
    fails("one for each of 1 einsums", space.neighbours, space, {})
    fails("template:blocks: points of a block: an integer of at least 1 expected, got 'x'",
      t.blocks, t, "x")
    fails("template:evaluate: columns of tiles expected, got nothing", t.evaluate, t)
    fails("template:check: a list of tiles expected, got 'x'", t.check, t, "x")
    fails("a bound of loops names at least one variable", arch,
      loom.fanout { "PE", x = { 2, loop_bounds = { variables = {}, op = ">=", value = 2 } } })
  end)

  it("refuse tiles that are none", function()
    local t = space:templates()[1]
    local good = t:blocks()()
    for _, tile in ipairs { 0, -1, 0.5, 0 / 0, 5, math.huge } do
      local columns = table.move(good, 1, #good, 1, {})
      columns[t.nest.open[1]] = { tile }
      for k = 1, #columns do columns[k] = columns[k] and { tile } end
      fails("not an integer from 1 to 4", t.evaluate, t, columns)
    end
    local tiles = {}
    for k = 1, #t.loops do tiles[k] = 1 end
    for _, tile in ipairs { "a", 0 / 0 } do
      tiles[2] = tile
      fails("tile 2 is", space.evaluate, space, { choices = { { template = 1, tiles = tiles } } })
    end
    tiles[2], tiles[#tiles + 1] = 1, 1
    assert.are.same({ n = 2, nil, "tiles" },
      table.pack(space:evaluate { choices = { { template = 1, tiles = tiles } } }))
  end)

  it("name what is wrong with strategies", function()
    local function search(strategy, more)
      local options = more or {}
      options.strategy = strategy
      return space:search(options):run()
    end
    fails("`defaults` of a strategy is a table, not 5", search,
      { search = function() end, defaults = 5 })
    fails("a strategy raised an error that is no text: a table", search,
      function() error {} end)
    fails("threads is an integer from 1 to 64, not 0", search, "optimal", { threads = 0 })
    fails("hot is a finite number", search, "annealing", { hot = math.huge })
    assert.truthy(search("genetic", { population = 2.0, evaluations = 3 }))
  end)
end)

describe("errors of einloom map", function()
  local function with_files(use)
    local w = [[return require "einloom".workload { sizes = { m = 4, k = 2, n = 2 }, bits = 8,
      "Z[m,n] = A[m,k] * B[k,n]" }]]
    local a = [[local loom = require "einloom"
      local io = { energy = 1, bits_per_action = 8 }
      return loom.arch {
        loom.memory { "DRAM", size = math.huge, read = io, write = io, keep = "All" },
        loom.compute { "MAC", energy = 1, throughput = 1 } }]]
    files.scratch(w, function(first)
      files.scratch(a, function(second) use(first, second) end, ".lua")
    end, ".lua")
  end

  it("say what is wrong with figures", function()
    with_files(function(w, a)
      local function complains(text, ...)
        local status, _, err = command("map", w, a, ...)
        assert.truthy(err:find(text, 1, true), err)
        assert.are_not.equal(0, status)
        assert.is_nil(err:find "traceback")
      end
      complains("--pareto: a list of figures expected, got 'energy,foo': 'foo' is none", "--pareto",
        "energy,foo")
      complains("'energy,energy': energy is there twice", "--pareto", "energy,energy")
      complains("energy_delay_product is energy times latency", "--pareto", "edp,energy")
      complains("not 'energy,'", "--pareto", "energy,")
      complains("option '--minimize' must be used at most 1 time", "--minimize", "energy",
        "--minimize", "latency")
      complains("--minimize: '-energy' is not known never to fall", "--minimize", "-energy")
      complains("hot is a finite number of at least 1e-09, not inf", "--strategy", "annealing",
        "--set", "hot=inf")
      local status, _, err = command("map", "-", "-")
      assert.are_not.equal(0, status)
      assert.truthy(err:find("the standard input is one of the two scripts at most", 1, true), err)
    end)
  end)

  it("leave limits of time as long as they are", function()
    with_files(function(w, a)
      for _, time in ipairs { "2e9", "1e400" } do
        assert.are.equal(0, (command("map", w, a, "--time-limit", time)))
      end
    end)
  end)
end)

describe("certificates without an end", function()
  it("are refused once a line is too long", function()
    local status, _, err = command("certify", "/dev/zero")
    assert.are.equal(1, status)
    assert.truthy(err:find("a line of more than 67108864 bytes", 1, true), err)
  end)
end)
