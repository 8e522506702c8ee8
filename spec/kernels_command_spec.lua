-- SPDX-License-Identifier: MIT
-- The command `einloom kernels`: text, loops, JSON and C of scripts and of recorded graphs, and why
-- kernels stay apart.

local core = require "einloom.core"
local files = require "support.files"
local reasons = require "einloom.kernels.reasons"

local recorded = files.root "spec/golden/simd/g_graphs.json"

local function example(name) return files.root(("examples/kernels/%s.lua"):format(name)) end

local function run(...)
  local status, out, err = files.command("kernels", ...)
  assert.are.equal("", err)
  assert.are.equal(0, status)
  return out
end

local function json(...) return core.json.decode(run("--json", ...)) end

describe("einloom kernels", function()
  it("prints every access in the variables of its kernel", function()
    local out = run(example "softmax")
    assert.truthy(out:find("kernel1: m | e, s | y\n  loops         32, with 128 reduced", 1, true))
    assert.truthy(out:find "store y%[r0_1 %+ 128%*x0%] +x%+128 r0_%+1\n")
    assert.truthy(out:find("in place      e overwritten by y", 1, true))
    assert.truthy(out:find("1 kernel of 4 operations; 49152 bytes moved", 1, true))
  end)

  it("prints what output.md shows", function()
    local out = run(example "layernorm")
    assert.truthy(files.read(files.root "doc/output.md"):find("\n```\n" .. out .. "```\n", 1, true))
  end)

  it("reads the case that output.md shows", function()
    local documents, read = require "support.documents", 0
    for _, block in ipairs(documents.blocks "doc/output.md") do
      if block.language == "json" then
        files.scratch(block.text, function(path)
          assert.truthy(run(path, "--loops"):find("y[x0] = f(x[63 - x0])", 1, true))
          read = read + 1
        end, ".json")
      end
    end
    assert.are.equal(1, read)
  end)

  it("prints loops", function()
    local out = run(example "mlp", "--loops")
    assert.truthy(out:find("kernel1: h, reduction_off, a", 1, true))
    assert.truthy(out:find("\n\nkernel2: o", 1, true))
  end)

  it("reads the standard input's kinds of files by what is in them", function()
    files.scratch(files.read(example "softmax"), function(path)
      assert.truthy(run(path):find("kernel1: m", 1, true))
    end)
  end)

  it("prints one recorded graph by id or title, or all", function()
    local one = run(recorded, "--case", "g_graphs-v003")
    assert.are.equal(one, run(recorded, "--case", "softmax inner"))
    assert.truthy(one:find("kernel1: op0 | op1, op2 | op3", 1, true))
    local all = run(recorded)
    assert.truthy(all:find("-- g_graphs-v003: softmax inner\n" .. one, 1, true))
  end)

  it("counts calls", function()
    local out = run(recorded, "--case", "g_graphs-v000")
    assert.truthy(out:find("calls         addmm(arg0_1, arg1_1, arg2_1) -> buf0", 1, true))
    assert.truthy(out:find("393216 flops in calls", 1, true))
    local data = json(recorded, "--case", "g_graphs-v000")
    -- The bias, both matrices and the result, of four bytes each.
    assert.are.equal(4 * (128 + 128 * 64 + 16 * 64 + 16 * 128), data.kernels[1].bytes)
  end)

  it("tells what is launched at once", function()
    local text = [[return require "einloom".graph {
      einsums = { "a[i] = 2 * x[i]", "b[j] = 3 * y[j]", "c[i] = a[i] * w[]" },
      sizes = { i = 10, j = 20 }, lists = { { "a", "b" } } }]]
    files.scratch(text, function(path)
      local launched = {}
      for i, kernel in ipairs(json(path).kernels) do
        launched[i] = kernel.name .. " " .. tostring(kernel.launch)
      end
      assert.are.same({ "kernel1 1", "kernel2 1" }, launched)
      assert.truthy(run(path):find("launch        with others, number 1", 1, true))
    end, ".lua")
  end)

  it("warns of mixed layouts", function()
    local text = [[return require "einloom".graph {
      einsums = { "y[i,j] = a[i,j] + b[i,j]" }, sizes = { i = 64, j = 32 },
      tensors = { b = { strides = { 1, 64 } } } }]]
    files.scratch(text, function(path)
      local out = run(path):gsub("%s+", " ")
      assert.truthy(out:find("warning a (sizes 64 32, strides 32 1) and b (sizes 64 32, strides"
        .. " 1 64) walk the same sizes in different orders", 1, true), out)
    end, ".lua")
  end)

  it("writes C", function()
    files.scratch("", function(path)
      run(example "mlp", "--c", path)
      assert.truthy(files.read(path):find("void run(const float *m_x", 1, true))
    end, ".c")
  end)

  it("chooses tilings as asked", function()
    local function tiling(...)
      return core.json.encode(json(example "transpose", ...).kernels[1].tiling)
    end
    assert.are.equal('[["y",64],["x",128],["r0_",1]]', tiling())
    assert.are.equal('[["x",8192],["r0_",1]]', tiling("--max-tiles", "1"))
    local best = json(example "transpose", "--tiling", "best").kernels[1]
    local sum = 0
    for _, operation in ipairs(best.operations) do
      for _, access in ipairs(operation.accesses) do sum = sum + (access.sectors or 0) end
    end
    assert.is_true(sum > 0)
    assert.are.equal(best.sectors, sum)
    assert.truthy(run(example "transpose", "--tiling", "best"):find(
      ("touches       %d sectors in blocks of x="):format(sum), 1, true))
    assert.are.equal("coalescing", json(example "transpose", "--tiling", "coalescing").tiling)
  end)

  it("tells the place of what is wrong in a case", function()
    local text = core.json.encode(core.json.decode(files.read(recorded)).cases[4])
    local function refused(pattern, change)
      local case = core.json.decode(text)
      case.schema, case.family = "simd/1", "g_graphs"
      change(case)
      files.scratch(core.json.encode(case), function(path)
        local status, _, err = files.command("kernels", path)
        assert.are.equal(1, status)
        assert.matches("g_graphs%-v003: " .. pattern, err)
      end, ".json")
    end
    refused("case.nodes%[1%].kind: 'poinwise' is not one of pointwise,", function(case)
      case.nodes[1].kind = "poinwise"
    end)
    refused("case.nodes%[2%].reads%[1%].buf: no buffer 'arg'; nearest: arg0_1", function(case)
      case.nodes[2].reads[1].buf = "arg"
    end)
    refused("case.buffers.buf0.stride: 1 strides for 2 sizes", function(case)
      case.buffers.buf0.stride = setmetatable({ 1 }, core.json.array)
    end)
    refused("case.inputs.arg0_1.size%[1%]: a size cannot be negative", function(case)
      case.inputs.arg0_1.size[1] = -1
    end)
    refused("case.nodes%[1%].pointwise%[1%]%[2%]: 'p0 //' is no expression", function(case)
      case.nodes[1].pointwise[1][2] = "p0 //"
    end)
    refused("case.nodes%[3%]: unknown key 'read'; nearest: reads", function(case)
      case.nodes[3].read = case.nodes[3].reads
    end)
    refused("operation 'op1' is given twice", function(case) case.nodes[1].name = "op1" end)
    refused("case: unknown key 'node'; nearest: nodes", function(case) case.node = 1 end)
  end)

  -- A node that turns x round, changed at one place; what is told, or nothing.
  local function told(change)
    local function flat() return { size = { 64 }, stride = { 1 }, offset = 0, dtype = "f32" } end
    local case = {
      schema = "simd/1", family = "g_graphs", id = "one", inputs = { x = flat() },
      buffers = { y = flat() }, outputs = { "y" },
      nodes = { { name = "n", kind = "pointwise", pointwise = { { "p0", 64 } },
        reads = { { buf = "x", index = "63 - p0" } }, writes = { { buf = "y", index = "p0" } } } },
    }
    change(case, case.nodes[1])
    local status, err
    files.scratch(core.json.encode(case), function(path)
      local _
      status, _, err = files.command("kernels", path)
    end, ".json")
    assert.are.equal(err == "" and 0 or 1, status)
    return err
  end

  local function read_at(index, more)
    return function(case, node)
      node.reads[1].index, node.reads[1].masked = index, more
      case.sizes = { s0 = { min = 2, hint = 8 } }
    end
  end

  it("tells what makes no sense in a case", function()
    local function refused(pattern, change) assert.matches(pattern, told(change)) end
    assert.are.equal("", told(function() end))
    refused("schema: 'simd/1' expected, got nothing", function(case) case.schema = nil end)
    refused("schema: 'simd/1' expected, got \"simd/2\"", function(case) case.schema = "simd/2" end)
    refused("family: 'g_graphs' expected, got 3", function(case) case.family = 3 end)
    local index = "case.nodes%[1%].reads%[1%].index: "
    refused(index .. "'po' is no loop variable of the node and no size; nearest: p0", read_at "po")
    refused(index .. ".* reaches %-7, but x is from 0 to 63", read_at "100*p0 - 7")
    refused(index .. ".* reaches 64, but x is from 0 to 63", read_at "p0 + 1")
    refused(index .. ".* reaches 64", read_at "(p0 + 1)//1")
    refused(index .. ".* reaches", read_at "p0 + s0")
    for _, good in ipairs { "63 - p0", "p0 // s0", "indirect0", "31 + (p0 % 2)" } do
      assert.are.equal("", told(read_at(good)), good)
    end
    assert.are.equal("", told(read_at("p0 + 1", true)))
    refused("writes%[1%].index: .* reaches 64, but y", function(_, node)
      node.writes[1].index = "p0 + 1"
    end)
    refused("writes%[1%].masked: only reads", function(_, node) node.writes[1].masked = true end)
    refused("inputs.x.offset: %-3 is negative", function(case) case.inputs.x.offset = -3 end)
    refused("inputs.x.stride: the buffer begins 63 before its storage", function(case)
      case.inputs.x.stride = { -1 }
    end)
    assert.are.equal("", told(function(case, node)
      case.inputs.x.stride, case.inputs.x.offset, node.reads[1].index = { -1 }, 63, "-p0"
    end))
    refused("kind: 'foo' is not one of sum, ", function(_, node) node.kind = "reduction:foo" end)
    refused("kind: 'pointwise' has nothing behind", function(_, node)
      node.kind = "pointwise:sum"
    end)
    refused("pointwise%[1%]%[2%]: 's0' is no size", function(_, node)
      node.pointwise[1][2] = "s0"
    end)
    local function sized(size) return function(case) case.sizes = { s0 = size } end end
    refused("sizes.s0: min is 5, but max is 3", sized { min = 5, max = 3 })
    refused("sizes.s0.hint: 3 is not between", sized { min = 5, hint = 3 })
    refused("sizes.s0.hint: 30 is not between", sized { max = 5, hint = 30 })
    refused("sizes.s0.min: a size cannot be negative", sized { min = -5 })
  end)

  it("tells what calls are not given", function()
    local function calling(call, inputs)
      return function(case, node)
        node.kind, node.call, node.inputs, node.pointwise = "opaque", call, inputs, nil
        node.reads, node.writes = { "x" }, { "y" }
        case.buffers.y.size, case.buffers.y.stride = { 2, 4 }, { 4, 1 }
      end
    end
    local function refused(pattern, ...) assert.matches(pattern, told(calling(...))) end
    assert.are.equal("", told(calling("mm", { { 2, 3 }, { 3, 4 } })))
    assert.are.equal("", told(calling("addmm", { { 4 }, { 2, 3 }, { 3, 4 } })))
    refused("inputs%[1%]%[2%]: a size cannot be negative", "mm", { { 2, -3 }, { -3, 4 } })
    refused("inputs%[2%]: 7 is summed over, but the other tensor has 3", "mm",
      { { 2, 3 }, { 7, 4 } })
    refused("inputs: mm takes 2 tensors, not 1", "mm", { { 2, 3 } })
    refused("reads: mm takes 2 tensors, not 1", "mm")
    refused("inputs%[1%]: mm takes tensors of 2 dimensions, not 1", "mm", { { 3 }, { 3, 4 } })
    refused("writes%[1%]: mm gives 10 elements, not 8", "mm", { { 2, 3 }, { 3, 5 } })
    refused("inputs%[2%]: 5 products, but the other tensor has 2", "bmm",
      { { 2, 1, 3 }, { 5, 3, 4 } })
    refused("inputs: conv takes 2 or 3 tensors", "conv", { { 1, 3, 8, 8 } })
    refused("inputs%[2%]: 3 channels .* no groups of 2", "conv", { { 1, 3, 8 }, { 4, 2, 3 } })
    refused("inputs: inputs are of a call", nil, { { 2 } })
    assert.matches("call: only opaque nodes call", told(function(_, node) node.call = "mm" end))
  end)

  it("refuses what is no graph", function()
    local function refused(status, pattern, ...)
      local got, out, err = files.command("kernels", ...)
      assert.are.equal(status, got, err)
      assert.are.equal("", out)
      assert.matches(pattern, err)
    end
    refused(2, "no case 'g_graphs%-v03'; nearest: g_graphs%-v0", recorded, "--case", "g_graphs-v03")
    refused(2, "%-%-case is for files of cases", example "mlp", "--case", "x")
    refused(2, "%-%-c takes one graph", recorded, "--c", "x.c")
    refused(2, "%-%-c needs what operations compute", recorded, "--c", "x.c", "--case",
      "g_graphs-v003")
    refused(1, "should return a graph", files.root "examples/matmul.lua")
    files.scratch('return nil, "no graph today"', function(path)
      refused(1, "no graph today", path)
    end, ".lua")
    for text, pattern in pairs {
      ["[]"] = "a JSON object was expected", ['{"cases":3}'] = "cases: a list expected",
      ['{"cases":[]}'] = "no case with a graph", ['{"cases":[3]}'] = "case 1 has no graph",
    } do
      files.scratch(text, function(path) refused(1, pattern, path) end, ".json")
    end
    refused(1, "case 1 has no graph", files.path "golden/mapping/matmul.json")
    refused(1, "No such file", files.root "examples/kernels/none.lua")
    refused(1, "^einloom: %-%-c: .*No such file", example "mlp", "--c", "/nowhere/at/all.c")
    refused(2, "%-%-c: .* is a file that the command needs", example "mlp", "--c", example "mlp")
    refused(2, "%-%-tiling", example "mlp", "--tiling", "worst")
  end)
end)

describe("the bytes of kernels", function()
  it("say where they count a result twice, and list no tensor that is not there", function()
    local kernel = json(example "attention").kernels[1]
    assert.are.same({ "masked" }, { table.unpack(kernel.counted_twice) })
    assert.are.same({}, { table.unpack(kernel.in_place) })
    assert.are.same({ "score" }, { table.unpack(kernel.never_stored) })
    assert.are.equal(4 * (2048 + 2048) + 2 * 4 * 4096, kernel.bytes) -- Q, K and masked
    assert.are.equal(4 * 4096, kernel.memory.one_pass.writes)
    local out = run(example "attention")
    assert.truthy(out:find("\n                masked counts twice, as if it overwrote", 1, true))
    assert.is_nil(out:find("score overwritten", 1, true))
    kernel = json(example "softmax").kernels[1]
    assert.are.same({ {}, { "e", "y" } }, { { table.unpack(kernel.counted_twice) },
      { table.unpack(kernel.in_place[1]) } })
  end)

  it("say what an update reads besides", function()
    local kernel = json(example "histogram").kernels[1]
    assert.are.same({ { tensor = "hist", bytes = 64 } }, { table.unpack(kernel.uncounted) })
    -- What the reference counts of x, bin and hist, each once.
    assert.are.equal(4 * 4096 + 8 * 4096 + 4 * 16, kernel.bytes)
    assert.truthy(run(example "histogram"):find("not counted is what hist holds before: it is read "
      .. "to be updated, 64 bytes", 1, true))
  end)
end)

describe("the JSON of kernels", function()
  it("adds up and agrees with the recorded graphs", function()
    local data = json(recorded)
    assert.are.equal("kernels/1", data.schema)
    local cases, compared = core.json.decode(files.read(recorded)).cases, 0
    assert.are.equal(#cases, #data.cases)
    for i, case in ipairs(cases) do
      local bytes, own = 0, data.cases[i]
      assert.are.equal(case.id, own.id)
      for k, kernel in ipairs(case.kernels) do
        local mine = own.kernels[k]
        assert.are.same({ table.unpack(kernel.nodes) }, { table.unpack(mine.nodes) })
        bytes = bytes + mine.bytes
        if kernel.kind == "loops" then
          assert.are.equal(tostring(kernel.bytes), tostring(mine.bytes), case.id)
          assert.are.equal(kernel.index_dtype, "i" .. mine.index_bits)
          compared = compared + 1
        elseif kernel.kind == "opaque" then
          assert.are.equal(tostring(kernel.flops), tostring(mine.flops))
        end
      end
      assert.are.equal(own.totals.bytes, bytes)
    end
    assert.is_true(compared > 30)
  end)
end)

describe("the manual of the output", function()
  -- Names that are keys of objects by their meaning: loops, prefixes.
  local function keys_of(value, into)
    for key, entry in pairs(value) do
      local own = key ~= "loops" and key ~= "strides"
      if type(key) == "string" then into[key] = true end
      if type(entry) == "table" and own then keys_of(entry, into) end
    end
    return into
  end

  it("names every key of the JSON", function()
    local text = files.read(files.root "doc/output.md"):match "\n## Kernels\n(.-)\n## "
    local keys, n = keys_of(json(recorded, "--tiling", "best"), {}), 0
    for _, name in ipairs { "attention", "histogram", "transpose" } do
      keys_of(json(example(name), "--tiling", "best"), keys)
    end
    for key in pairs(keys) do
      assert.truthy(text:find("`[^`]*%f[%w_]" .. key .. "%f[^%w_][^`]*`"), key)
      n = n + 1
    end
    assert.is_true(n > 40)
  end)
end)

describe("reasons", function()
  -- The names in the core's list, but the first, which is of pairs that are fused.
  local function of_core()
    local text, names = files.read(files.root "core/einloom/fusion.h"), {}
    for name in text:gmatch 'X%(LOOM_FUSE_[%u_]+, "([%l_]+)"%)' do names[#names + 1] = name end
    assert.are.equal("ok", table.remove(names, 1))
    return names
  end

  it("have a sentence each, and no more", function()
    local names, n = of_core(), 0
    assert.is_true(#names > 15)
    for _, name in ipairs(names) do assert.is_string(reasons.sentences[name], name) end
    for _ in pairs(reasons.sentences) do n = n + 1 end
    assert.are.equal(#names, n)
  end)

  it("name both kernels, the operations and what they share", function()
    local out = run(example "attention", "--explain"):gsub("%s+", " ")
    assert.truthy(out:find("kernel1 and kernel2 stay apart (reduction_extents_differ): masked of"
      .. " one, most of the other use masked both reduce, over different loops: 4096 with 16"
      .. " reduced and 128 with 32 reduced", 1, true), out)
    for _, refusal in ipairs(json(example "attention").refusals) do
      assert.is_nil(refusal.sentence:find "%%")
    end
  end)

  it("count the pairs that were never asked", function()
    local function explained(einsums, more)
      local text = ("return require 'einloom'.graph { einsums = [==[%s]==], %s }"):format(einsums,
        more)
      return files.scratch(text, function(path)
        local out = run(path, "--explain"):gsub("%s+", " ")
        local pairs_there = json(path).pairs
        assert.are.equal(pairs_there.all,
          pairs_there.asked + pairs_there.unrelated + pairs_there.left_out)
        return out, pairs_there
      end, ".lua")
    end
    local out = explained("a[i] = x[i]\nb[j] = a[j//2]\nc[k] = z[k]",
      "sizes = { i = 8, j = 16, k = 4 }")
    assert.truthy(out:find("3 pairs of kernels: 1 asked whether they fuse; never asked: 2 with no "
      .. "tensor in common", 1, true), out)
    out = explained("a[i] = x[i]", "sizes = { i = 8 }")
    assert.is_nil(out:find("pairs of kernels", 1, true))
    local lines, tensors = {}, {}
    for k = 1, 67 do
      lines[k] = ("a%d[i%d] = x[i%d]"):format(k, k, k)
      tensors[k] = ("i%d = %d"):format(k, 100 + k)
    end
    local _, counted = explained(table.concat(lines, "\n"), ("sizes = { %s }"):format(
      table.concat(tensors, ", ")))
    -- Each of 67 with the next 64: the first with the last two, the second with the last one.
    assert.are.same({ 67 * 66 / 2, 0, 3 }, { counted.all, counted.unrelated, counted.left_out })
  end)

  it("are those of calls too", function()
    local refusals = json(recorded, "--case", "g_graphs-v000").refusals
    assert.are.equal("first_opaque second_opaque",
      refusals[1].reason .. " " .. refusals[2].reason)
  end)

  it("say so where there are none", function()
    assert.truthy(run(example "softmax", "--explain"):find("no two kernels use a tensor in common",
      1, true))
  end)
end)
