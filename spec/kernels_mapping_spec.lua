-- SPDX-License-Identifier: MIT
-- Kernels as mappings: what is analysed moves as much memory as the kernel does, in both models and
-- counted point by point; what has no form as einsums is refused with its name.

local core = require "einloom.core"
local files = require "support.files"
local loom = require "einloom"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

local function machine(glb, rf)
  return loom.arch {
    loom.memory { "DRAM", size = math.huge, read = { energy = 100 }, write = { energy = 100 } },
    loom.memory { "GLB", size = glb, read = { energy = 5 }, write = { energy = 5 } },
    loom.fanout { "PE", x = 3, y = 2 },
    loom.memory { "RF", size = rf, read = { energy = 1 }, write = { energy = 1 } },
    loom.compute { "MAC", energy = 1 },
  }
end

local roomy = machine(math.huge, math.huge)
-- One value of each kind fits the registers, no row of anything.
local narrow = machine(1, 32 * 7)

-- The sizes of those variables that einsums have.
local function sizes_of(einsums, sizes)
  local text, used = table.concat(einsums, "\n"), {}
  for name, size in pairs(sizes) do
    used[name] = text:find("%f[%w]" .. name .. "%f[%W]") and size
  end
  return used
end

local function graph(einsums, sizes)
  return loom.graph { einsums = einsums,
    sizes = sizes or sizes_of(einsums, { i = 12, j = 18, k = 5 }) }
end

local function example(name) return dofile(files.root(("examples/kernels/%s.lua"):format(name))) end

-- Bytes read from and written to DRAM.
local function traffic(r)
  local moved = assert(r:actions { by = { "component", "action" } }).DRAM
  return moved.read / 8, moved.write / 8
end

local function analysed(kernel, arch, blocks, model, parallel)
  local w, m, kind = kernel:mapping(arch, { blocks = blocks, parallel = parallel })
  if not w then error(("%s: %s (%s)"):format(kernel.name, m, kind)) end
  return assert(loom.analyze(w, arch, m, { model = model })), w, m
end

-- Bytes of what the kernel really needs: the facts count an in-place group twice, also one that
-- begins with a tensor that only lives in the kernel.
local function needed_bytes(kernel)
  local bytes = kernel.facts.bytes
  for _, group in ipairs(kernel.facts.in_place) do
    if not kernel:external(group[1]) then
      for _, buffer in ipairs(kernel.graph.core:buffers()) do
        if buffer.name == group[1] then bytes = bytes - buffer.elements * buffer.itemsize end
      end
    end
  end
  return bytes
end

local models = { "exact", "reference" }

describe("a kernel as a mapping", function()
  it("moves what the kernel moves where all is read once", function()
    local graphs = {
      chain = graph { "a[i,j] = relu(x[i,j])", "b[i,j] = a[i,j] * x[i,j]",
        "y[i,j] = b[i,j] + z[i,j]" },
      matmul = graph { "y[i,j] += a[i,k] * b[k,j]" },
      layernorm = example "layernorm", mlp = example "mlp", transpose = example "transpose",
      attention = example "attention", templates = example "templates",
    }
    for name, g in pairs(graphs) do
      for _, kernel in ipairs(g:kernels()) do
        -- What a call takes in is computed again for each use, which the reference does not know.
        for _, model in ipairs(kernel.template and { "exact" } or models) do
          local reads, writes = traffic(analysed(kernel, roomy, {}, model))
          assert.are.equal(needed_bytes(kernel), reads + writes, name .. " " .. kernel.name)
        end
      end
    end
  end)

  it("walks rows once where they fit, and as often as the kernel where they do not", function()
    for _, name in ipairs { "softmax", "attention" } do
      for _, kernel in ipairs(example(name):kernels()) do
        if #kernel.facts.ops > 2 then
          for _, model in ipairs(models) do
            local held, looped = kernel.facts.memory.one_pass, kernel.facts.memory.looped
            local reads, writes = traffic(analysed(kernel, roomy, {}, model))
            assert.are.equal(held.reads.bytes, reads)
            assert.are.equal(held.writes.bytes, writes)
            reads, writes = traffic(analysed(kernel, narrow, {}, model))
            assert.are.equal(looped.reads.bytes, reads)
            assert.are.equal(looped.writes.bytes, writes)
            assert.is_true(looped.reads.bytes:lt(reads + 1))
          end
        end
      end
    end
  end)

  it("reads a matrix again for each block that does not hold it", function()
    local g = graph({ "y[i,j] += a[i,k] * b[k,j]" }, { i = 16, j = 24, k = 8 })
    local tight = machine(32 * 200, 32)
    for _, block in ipairs { { i = 4, j = 6 }, { i = 8, j = 8 }, { i = 16, j = 1 } } do
      local r = analysed(g:kernels()[1], tight, { GLB = block }, "exact")
      local reads, writes = traffic(r)
      assert.are.equal(core.int(4 * 8 * (16 * (24 // block.j) + 24 * (block.j < 24 and 16 // block.i
        or 1))), reads)
      assert.are.equal(core.int(4 * 16 * 24), writes)
    end
  end)

  it("has a symbol for every block that is not given", function()
    local kernel = graph({ "y[i,j] += a[i,k] * b[k,j]" }, { i = 16, j = 24, k = 8 }):kernels()[1]
    local r, _, m = analysed(kernel, roomy, nil, "exact")
    assert.are.same({ "i_GLB", "i_RF", "j_GLB", "j_RF" }, (function()
      local names = {}
      for name in pairs(m.symbols) do names[#names + 1] = name end
      table.sort(names)
      return names
    end)())
    local given = { GLB = { i = 8, j = 6 }, RF = { i = 2, j = 3 } }
    local at = r { i_GLB = 8, j_GLB = 6, i_RF = 2, j_RF = 3 }
    assert.are.equal(analysed(kernel, roomy, given, "exact"):energy(), at:energy())
  end)

  it("asks the machine what its memories may keep", function()
    local arch = loom.arch {
      loom.memory { "DRAM", size = math.huge },
      loom.memory { "GLB", size = math.huge, keep = "Intermediates", may_keep = "a" },
      loom.toll { "Link", direction = "down", read = { energy = 1 }, may_keep = "Inputs" },
      loom.compute { "MAC" },
    }
    local kernel = graph({ "h[i,j] += a[i,k] * b[k,j]", "y[i,j] = h[i,j] * c[j]" }):kernels()[1]
    local _, _, m = analysed(kernel, arch, {}, "exact")
    assert.are.equal("DRAM: a b c y\nGLB: a\ntoll Link: a b c\nfor i, j\n  GLB: h\n",
      tostring(m):match ".-GLB: h\n")
  end)

  it("runs loops of the grid side by side", function()
    local kernel = graph({ "s[i,j] += a[i,k] * b[k,j]", "y[i,j] = relu(s[i,j])" },
      { i = 10, j = 7, k = 4 }):kernels()[1]
    local side = { ["PE.x"] = "i", ["PE.y"] = "j" }
    local r, w, m = analysed(kernel, roomy, {}, "exact", side)
    assert.truthy(tostring(m):find("par i tile 4 on PE.x\n  par j tile 4 on PE.y", 1, true))
    -- Units work on 4 of 10 by 4 of 7 elements, each of four products and one more operation.
    assert.are.equal(core.int(4 * 4 * 4), r.s.compute.max_per_unit)
    local reads, writes = traffic(r)
    assert.are.equal(needed_bytes(kernel), reads + writes)
    assert.are.equal(r:energy(), assert(loom.simulate(w, roomy, m)):energy())
    local open = analysed(kernel, roomy, nil, "exact", side)
    local given = analysed(kernel, roomy, { GLB = { i = 5 }, RF = { j = 2 } }, "exact", side)
    assert.are.equal(given:energy(),
      open { i_GLB = 5, j_GLB = 7, i_RF = 2, j_RF = 2 }:energy())
  end)

  -- Bytes read from DRAM where the kernel of some einsums is walked, as both models say.
  local function bytes_read(einsums, arch, options)
    local kernels = graph(einsums, sizes_of(einsums, { i = 12, j = 12 })):kernels()
    assert.are.equal(1, #kernels)
    local w, m = kernels[1]:mapping(arch, options)
    local reads = traffic(assert(loom.simulate(w, arch, m)))
    assert.are.equal(reads, (traffic(assert(loom.analyze(w, arch, m)))))
    return reads:tointeger(), m, kernels[1]
  end

  it("loads once what is read at several places, where a memory holds all of it", function()
    for _, parallel in ipairs { {}, { ["PE.x"] = "i" } } do
      local whole = { blocks = {}, parallel = parallel }
      assert.are.equal(4 * 13, (bytes_read({ "y[i] = x[i+1] - x[i]" }, roomy, whole)))
      assert.are.equal(4 * 13,
        (bytes_read({ "a[i] = 2 * x[i+1]", "y[i] = x[i] * a[i]" }, roomy, whole)))
      local reads, m, kernel = bytes_read({ "y[i,j] = x[i,j] + x[j,i]" }, roomy, whole)
      assert.are.equal(4 * 144, reads)
      assert.are.equal(kernel.facts.bytes, core.int(reads + 4 * 144))
      assert.truthy(tostring(m):find("DRAM: x y\nGLB: x_whole\nsequential\n  branch\n"
        .. "    for x_1, x_2\n      load_x on MAC\n", 1, true), tostring(m))
    end
    -- What lies between the places is not read; places further apart are no box to be read.
    assert.are.equal(4 * 24, (bytes_read({ "y[i] = x[i+40] - x[i]" }, roomy, { blocks = {} })))
    assert.are.equal(4 * 24, (bytes_read({ "y[i] = x[2*i+1] - x[2*i]" }, roomy, { blocks = {} })))
  end)

  it("loads it once for each place where none does", function()
    local einsums = { "y[i] = x[i+1] - x[i]" }
    assert.are.equal(96, (bytes_read(einsums, narrow, { blocks = {} })))
    assert.are.equal(96, (bytes_read(einsums, roomy, { blocks = { GLB = { i = 4 } } })))
    -- What is copied past a toll is read from the memory above it.
    local passing = loom.arch {
      loom.memory { "DRAM", size = math.huge, read = { energy = 1 }, write = { energy = 1 } },
      loom.toll { "Link", direction = "down", read = { energy = 1 } },
      loom.memory { "GLB", size = math.huge }, loom.compute { "MAC" },
    }
    assert.are.equal(96, (bytes_read(einsums, passing, { blocks = {} })))
    local kernel = graph(einsums):kernels()[1]
    local _, m = kernel:mapping(roomy)
    assert.is_nil(tostring(m):find("whole", 1, true))
  end)

  it("is refused where there are no einsums", function()
    local function refused(pattern, einsums, more)
      local t = { einsums = einsums, sizes = sizes_of(einsums, { i = 8, j = 6 }) }
      for key, value in pairs(more or {}) do t[key] = value end
      local w, message, kind = loom.graph(t):kernels()[1]:mapping(roomy)
      assert.is_nil(w)
      assert.matches(pattern, message)
      assert.are.equal("no_einsum", kind)
    end
    refused("y uses x at i//2: // and %% in an index", { "y[i] = x[i//2]" },
      { tensors = { x = { sizes = { 4 } } } })
    refused("c is a scan", { "c[i] = scan_sum(x[i], i)" })
    refused("y reads t at an index that is loaded", { "y[i] = t[n[i]]" },
      { tensors = { t = { sizes = { 9 } }, n = { dtype = "i64" } } })
    refused("c reads b from %-2 to 5 and uses a part", { "c[i] = select(i < 2, a[i], b[i-2])" },
      { tensors = { a = { sizes = { 8 } }, b = { sizes = { 6 } } } })
    refused("s reduces over j, which is no index", { "s[i] += x[i] * j" })
    local recorded = require "einloom.kernels.recorded"
    local case = core.json.decode(files.read(files.root "spec/golden/simd/g_graphs.json")).cases
    local plan = require "einloom.kernels.plan"
    local kernels = plan.kernels(recorded.read(case[1]))
    assert.matches("op0 is a call", select(2, kernels[1]:mapping(roomy)))
    assert.matches("kernel2: .* no einsums", select(2, kernels[2]:mapping(roomy)))
  end)

  it("is refused on machines with forks, and with blocks that are none", function()
    local kernel = graph { "y[i] = x[i]" }:kernels()[1]
    local forked = loom.arch { loom.memory { "DRAM", size = math.huge },
      loom.fork { { loom.compute { "A" } }, { loom.compute { "B" } } } }
    local w, message = kernel:mapping(forked)
    assert.is_nil(w)
    assert.matches("has a fork", message)
    for pattern, blocks in pairs {
      ["blocks: unknown key 'L2'; known: GLB, RF"] = { L2 = { i = 1 } },
      ["blocks.GLB: unknown key 'l'; known: i"] = { GLB = { l = 1 } },
      ["blocks: unknown key 'DRAM'"] = { DRAM = { i = 1 } },
    } do
      local ok, e = pcall(kernel.mapping, kernel, roomy, { blocks = blocks })
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
    for pattern, parallel in pairs {
      ["parallel: unknown key 'PE.z'; nearest: PE.x, PE.y"] = { ["PE.z"] = "i" },
      ["parallel.PE.x: 'j' is no loop of the grid; known: i"] = { ["PE.x"] = "j" },
      ["parallel.PE.y: 'i' is side by side twice"] = { ["PE.x"] = "i", ["PE.y"] = "i" },
    } do
      local ok, e = pcall(kernel.mapping, kernel, roomy, { parallel = parallel })
      assert.is_false(ok)
      assert.matches(pattern, tostring(e))
    end
  end)
end)

-- ---- random graphs ---------------------------------------------------------------------------

local function any(list) return list[math.random(#list)] end

-- A chain of einsums over tensors of two dimensions, and their rows and columns.
local function random_graph()
  local tensors, texts = { "x[i,j]", "r[i]", "c[j]" }, {}
  for k = 1, math.random(2, 6) do
    local value = any(tensors) .. " * " .. any(tensors) .. " - x[i,j]"
    local name, n = "t" .. k, math.random(5)
    local left = n == 1 and "[i]" or n == 2 and "[j]" or "[i,j]"
    texts[k] = ("%s%s %s %s"):format(name, left, n < 3 and "+=" or "=", value)
    tensors[#tensors + 1] = name .. left
  end
  return loom.graph { einsums = texts, sizes = { i = math.random(2, 5), j = math.random(2, 5) } },
    texts
end

local function bytes_of(tensor)
  local bytes = core.int(4)
  for _, size in ipairs(tensor.sizes) do bytes = bytes * size end
  return bytes
end

-- How many loops of a node are over the grid of its kernel, of those that index an access or all.
local function grid_loops(statement, access)
  local n = 0
  for name, value in pairs(statement.loops) do
    local used = not access
    for _, index in ipairs(access and access.indices or {}) do used = used or index.text == name end
    if used and value:kind() == "sym" and not value:name():find "^r" then n = n + 1 end
  end
  return n
end

-- What each access of the kernel loads, from its loops: once, if it is used once or belongs to one
-- point of the grid; else once for each node.
local function expected_reads(kernel)
  local accesses = {}
  for _, section in ipairs(kernel.sections) do
    for _, statement in ipairs(section.statements) do
      for _, access in ipairs(statement.node.einsum.accesses) do
        local writer = kernel.graph.tensors[access.tensor].writer
        if not (writer and kernel.members[writer]) then
          local known = accesses[access.tensor] or { nodes = 0, tensor = access.tensor }
          known.own = grid_loops(statement, access) == grid_loops(statement)
          known.nodes, accesses[access.tensor] = known.nodes + 1, known
        end
      end
    end
  end
  local bytes = 0
  for _, access in pairs(accesses) do
    local times = access.own and 1 or access.nodes
    bytes = bytes + times * bytes_of(kernel.graph.tensors[access.tensor])
  end
  return bytes
end

local function stored_bytes(kernel)
  local bytes = 0
  for name, tensor in pairs(kernel.graph.tensors) do
    if kernel.members[tensor.writer] and kernel:external(name) then
      bytes = bytes + bytes_of(tensor)
    end
  end
  return bytes
end

-- Blocks of some loops of the grid, smaller from memory to memory, whether they divide or not, and
-- some side by side.
local function random_blocks(kernel)
  local _, m = kernel:mapping(roomy)
  local blocks, parallel, dims = { GLB = {}, RF = {} }, {}, { "PE.x", "PE.y" }
  for _, name in ipairs { "i_GLB", "j_GLB" } do
    local variable = m.symbols[name] and name:match "^(.*)_GLB$"
    if variable and math.random(2) == 1 then
      blocks.GLB[variable] = math.random(2)
      blocks.RF[variable] = 1
    end
    if variable and math.random(3) == 1 then parallel[table.remove(dims)] = variable end
  end
  return blocks, parallel
end

local function check_random(k)
  math.randomseed(seed + k)
  local g, texts = random_graph()
  for _, kernel in ipairs(g:kernels()) do
    local function fail(what, ...)
      error(("seed %d, round %d, %s: %s\n%s\n%s"):format(seed, k, kernel.name, what:format(...),
        table.concat(texts, "\n"), tostring(kernel)))
    end
    for _, model in ipairs(models) do
      local reads, writes = traffic(analysed(kernel, roomy, {}, model))
      if reads ~= expected_reads(kernel) then
        fail("%s reads %s, expected %s", model, reads, expected_reads(kernel))
      end
      if writes ~= stored_bytes(kernel) then
        fail("%s writes %s, expected %s", model, writes, stored_bytes(kernel))
      end
    end
    local arch = machine(32 * math.random(1, 60), 32 * math.random(1, 20))
    local blocks, parallel = random_blocks(kernel)
    local r, w, m = analysed(kernel, arch, blocks, "exact", parallel)
    local walked = assert(loom.simulate(w, arch, m))
    local a, b = { traffic(r) }, { traffic(walked) }
    if a[1] ~= b[1] or a[2] ~= b[2] then
      fail("reads %s and writes %s, walked %s and %s", a[1], a[2], b[1], b[2])
    end
  end
end

-- An einsum that reads two tensors at several places each.
local function random_places()
  local parts = {}
  for k = 1, math.random(2, 4) do
    local i, j = ("i+%d"):format(math.random(0, 2)), ("%sj"):format(any { "", "2*" })
    local at = math.random(3) == 1 and { j, i } or { i, j }
    parts[k] = ("%s[%s,%s]"):format(any { "x", "x", "z" }, at[1], at[2])
  end
  local left = any { "y[i,j] =", "y[i] +=", "y[j] +=" }
  return { ("%s %s"):format(left, table.concat(parts, " * ")) }
end

describe("a random kernel as a mapping", function()
  it("reads no more than each place by itself, wherever it reads", function()
    local n_whole = 0
    for k = 1, tonumber(os.getenv "EINLOOM_ROUNDS") or 25 do
      math.randomseed(seed + k)
      local texts = random_places()
      local about = ("seed %d, round %d: %s"):format(seed, k, texts[1])
      local g = loom.graph { einsums = texts,
        sizes = { i = math.random(2, 5), j = math.random(2, 5) } }
      local kernel = g:kernels()[1]
      local arch = machine(32 * math.random(1, 80), 32 * math.random(1, 20))
      local apart = traffic(analysed(kernel, narrow, {}, "exact"))
      -- Small memories may have no room for what an einsum reads at several places.
      for _, one in ipairs { roomy, arch } do
        local w, m, kind = kernel:mapping(one, { blocks = {} })
        if not w then assert.are.same({ arch, "bad_workload" }, { one, kind }, about) end
        if w then
          local reads, writes = traffic(assert(loom.analyze(w, one, m)))
          local walked, written = traffic(assert(loom.simulate(w, one, m)))
          assert.are.same({ walked, written }, { reads, writes }, about)
          assert.is_true(one ~= roomy or reads:le(apart), about)
          if tostring(m):find("_whole", 1, true) then n_whole = n_whole + 1 end
        end
      end
    end
    assert.is_true(n_whole > 5, ("seed %d: %d tensors held whole"):format(seed, n_whole))
  end)

  it("moves what it needs, in both models and when it is walked", function()
    for k = 1, tonumber(os.getenv "EINLOOM_ROUNDS") or 25 do check_random(k) end
  end)
end)
