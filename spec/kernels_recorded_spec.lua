-- SPDX-License-Identifier: MIT
-- The C of every kernel of the recorded graphs with a stand-in body - the sum of all loads, and the
-- reduction that is declared - against walking the loops of the nodes.

local compiled = require "support.compiled"
local core = require "einloom.core"
local ccode = require "einloom.kernels.ccode"
local files = require "support.files"
local graphs = require "einloom.verify.simd.graphs"
local program = require "einloom.kernels.program"
local recorded = require "einloom.kernels.recorded"
local scalar = require "einloom.kernels.scalar"
local text = require "einloom.verify.simd.text"

local seed = tonumber(os.getenv "LOOM_SEED") or os.time() % 1000000

-- Loads of an index are whole numbers: the first read of such a tensor gives it.
local function loaded_by(g, op)
  local loaded = {}
  for i, read in ipairs(op.reads) do
    if g.tensors[read.buffer].dtype == "i64" then loaded.indirect0 = loaded.indirect0 or i end
  end
  return loaded
end

local function stand_in(op)
  local sum = { op = "+" }
  for i in ipairs(op.reads) do sum[i] = { op = "load", i } end
  if #sum == 0 then return { op = "number", value = 1 } end
  return #sum == 1 and sum[1] or sum
end

-- Elements around a tensor: padding reads there what its real body would not use.
local margin = 64

-- What the C needs to know of a graph of the core.
local function graph_of(raw)
  local g = recorded.graph(raw)
  for _, tensor in pairs(g.tensors) do
    tensor.offset, tensor.storage = tensor.offset + margin, tensor.storage + 2 * margin
  end
  for _, node in ipairs(g.nodes) do
    node.reduce = node.reduce or "sum"
    node.loaded, node.body = loaded_by(g, node.op), stand_in(node.op)
  end
  return g
end

-- A function of a point (values by name) from an expression.
local function function_of(e)
  local values
  local point = setmetatable({}, { __index = function(_, name) return values[name] end })
  local f = assert(load("return " .. e:print "lua", "index", "t", point))
  return function(given)
    values = given
    return f()
  end
end

-- Calls visit at all points of the loops.
local function walk(loops, point, visit, depth)
  local loop = loops[depth or 1]
  if not loop then return visit() end
  local size = function_of(loop[2])(point)
  for i = 0, size - 1 do
    point[loop[1]:name()] = i
    walk(loops, point, visit, (depth or 1) + 1)
  end
end

local function address_of(g, use, point)
  local index, offset = function_of(use.index), g.tensors[use.tensor].offset:tointeger()
  return function() return offset + index(point) + 1 end
end

-- The sum of the loads at a point; the loads of indices come first.
local function sum_of(g, node, data, point)
  local addresses = {}
  for i, read in ipairs(node.reads) do addresses[i] = address_of(g, read, point) end
  return function()
    for name, i in pairs(node.loaded) do
      point[name] = data[node.reads[i].tensor][addresses[i]()]
    end
    local sum = #node.reads == 0 and 1.0 or nil
    for i, read in ipairs(node.reads) do
      local value = data[read.tensor][addresses[i]()] + 0.0
      sum = sum and sum + value or value
    end
    return sum
  end
end

local reduce = {
  sum = function(values)
    local sum = 0.0
    for _, x in ipairs(values) do sum = sum + x end
    return sum
  end,
  max = function(values) return math.max(-math.huge, table.unpack(values)) end,
  argmax = function(values)
    local best = 1
    for i, x in ipairs(values) do if x > values[best] then best = i end end
    return best - 1
  end,
  welford_reduce = function(values)
    local sum = 0.0
    for _, x in ipairs(values) do sum = sum + x end
    return sum / #values
  end,
}

local function run_node(g, node, data, at)
  local point = setmetatable({}, { __index = at })
  local sum, stores = sum_of(g, node, data, point), {}
  for i, write in ipairs(node.writes) do stores[i] = address_of(g, write, point) end
  local function store(value)
    for i, write in ipairs(node.writes) do
      data[write.tensor][stores[i]()] = scalar.keep[g.tensors[write.tensor].dtype](value)
    end
  end
  walk(node.op.pointwise, point, function()
    if node.kind == "pointwise" then return store(sum()) end
    local values = {}
    walk(node.op.reduction, point, function()
      values[#values + 1] = sum()
      if node.kind == "scan" then store(reduce.sum(values)) end
    end)
    if node.kind == "reduction" then store(reduce[node.reduce](values)) end
  end)
end

-- Random contents of all tensors; indices that are loaded stay small.
local function random_data(g, at)
  local data = {}
  for _, name in ipairs(g.order) do
    local tensor, list = g.tensors[name], {}
    local n = function_of(tensor.storage)(at)
    for i = 1, n do
      local x = tensor.dtype:find "^f" and math.random() * 4 - 2 or math.random(0, 1)
      list[i] = scalar.keep[tensor.dtype](x)
    end
    data[name] = list
  end
  return data
end

local function copy_of(data)
  local copy = {}
  for name, list in pairs(data) do copy[name] = table.move(list, 1, #list, 1, {}) end
  return copy
end

local function check_kernel(g, facts, at)
  local made = program.new(g, facts, "kernel")
  local data = random_data(g, at)
  local expected = copy_of(data)
  for _, op in ipairs(facts.ops) do run_node(g, g.by_name[op.op], expected, at) end
  local source, sizes = ccode.source(g, { made })
  local got = compiled.run(g, source, sizes, at, data, made.stored)
  for name in pairs(made.stored) do
    for i, x in ipairs(expected[name]) do
      if not compiled.close(got[name][i], x, 1e-5) then
        error(("seed %d: %s[%d] is %s, expected %s\n%s"):format(seed, name, i - 1, got[name][i], x,
          source))
      end
    end
  end
end

local function check_case(case)
  local texts = text.reader(case.sizes)
  local raw = graphs.read(texts, case)
  local g, at, plan = graph_of(raw), {}, raw:plan()
  for name, size in pairs(case.sizes or {}) do at[name] = math.min(size.hint, 7) end
  for _, kernel in ipairs(case.kernels) do
    if kernel.kind == "loops" then
      local tiling = {}
      for i, tile in ipairs(kernel.kernel_tiling) do
        tiling[i] = { tile[1], texts:parse(tile[2]) }
      end
      assert(plan:kernel { schedule = kernel.schedule, extents = texts:parse_all(kernel.extents),
        tiling = tiling })
      local all = plan:kernels()
      check_kernel(g, all[#all], at)
    else
      assert(plan:kernel { schedule = kernel.nodes })
    end
  end
end

describe("the C of the kernels of recorded graphs", function()
  if not compiled.available then return pending "no C compiler" end
  local cases = core.json.decode(files.read(files.root "spec/golden/simd/g_graphs.json")).cases
  for _, case in ipairs(cases) do
    it(case.id .. ": " .. case.title, function()
      math.randomseed(seed)
      check_case(case)
    end)
  end
end)
