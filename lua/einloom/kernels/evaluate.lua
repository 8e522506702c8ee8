-- SPDX-License-Identifier: MIT
-- Direct evaluation of a graph on data, node after node and point after point, from what was
-- written: no plan, no expression of the core.  Values are doubles; a tensor keeps what its dtype
-- can hold.

local affine = require "einloom.affine"
local core = require "einloom.core"
local errors = require "einloom.errors"
local scalar = require "einloom.kernels.scalar"
local two_pass = require "einloom.kernels.two_pass"

local evaluate = {}

local KIND = "bad_data"

local function number(e, at, what)
  local values = {}
  for _, symbol in ipairs(e:symbols()) do values[symbol] = at[symbol:name()] end
  local n = e(values):tointeger()
  if not n then
    errors.raise(KIND, ("%s is %s: give the values of its sizes"):format(what, tostring(e)))
  end
  return n
end

-- Layout of a tensor in numbers.
local function layout_of(tensor, at)
  local layout = { name = tensor.name, sizes = {}, strides = {}, elements = 1 }
  layout.offset = number(tensor.offset, at, "the offset of " .. tensor.name)
  local last = layout.offset
  for d, size in ipairs(tensor.sizes) do
    local n = number(size, at, "the size of " .. tensor.name)
    layout.sizes[d], layout.strides[d] = n, number(tensor.strides[d], at, "a stride")
    layout.elements = layout.elements * n
    last = last + (n - 1) * layout.strides[d]
  end
  layout.storage = layout.elements == 0 and 0 or last + 1
  layout.keep = scalar.keep[tensor.dtype]
  if not layout.keep then
    errors.raise(KIND, ("%s: no data of dtype %s"):format(tensor.name, tensor.dtype))
  end
  return layout
end

--- Layouts of the tensors of a graph in numbers: sizes, strides, offset, storage (elements).
---@param graph einloom.Graph
---@param at? table<string, integer> values of symbolic sizes
---@return table<string, table>
function evaluate.layouts(graph, at)
  local layouts = {}
  for name, tensor in pairs(graph.tensors) do layouts[name] = layout_of(tensor, at or {}) end
  return layouts
end

-- ---- indices and loads ---------------------------------------------------------------------

local steps = {
  constant = function(stack, n) stack[#stack + 1] = n end,
  add = function(stack)
    local right = table.remove(stack)
    stack[#stack] = stack[#stack] + right
  end,
  scale = function(stack, n) stack[#stack] = stack[#stack] * n end,
  floor_div = function(stack, n) stack[#stack] = stack[#stack] // n end,
  mod = function(stack, n) stack[#stack] = stack[#stack] % n end,
  product = function(stack)
    local right = table.remove(stack)
    stack[#stack] = stack[#stack] * right
  end,
  floor_div_by = function(stack)
    local right = table.remove(stack)
    stack[#stack] = stack[#stack] // right
  end,
  mod_by = function(stack)
    local right = table.remove(stack)
    stack[#stack] = stack[#stack] % right
  end,
}

-- Functions that give an index at the point of the loops.
local function index_of(run, index)
  local program = affine.steps(index.affine or index.tree)
  return function()
    local stack = {}
    for _, step in ipairs(program) do
      if step[1] == "variable" then
        local loaded = step[2]:match "^%$(%d+)$"
        local value = loaded and run.loads[tonumber(loaded)]() or run.point[step[2]]
        stack[#stack + 1] = math.tointeger(value) or value
      elseif step[1] == "size" then
        stack[#stack + 1] = number(core.symbol(step[2]), run.at, "an index")
      else
        steps[step[1]](stack, step[2])
      end
    end
    return stack[1]
  end
end

-- A function that gives the address of an access at the point of the loops.
local function address_of(run, access)
  local layout, indices = run.layouts[access.tensor], {}
  for d, index in ipairs(access.indices) do indices[d] = index_of(run, index) end
  return function()
    local address = layout.offset
    for d, index in ipairs(indices) do
      local i = index()
      if math.type(i) ~= "integer" or i < 0 or i >= layout.sizes[d] then
        errors.raise(KIND, ("%s: index %s in dimension %d of %s, which is %d long"):format(
          run.node.name, tostring(i), d, access.named, layout.sizes[d]))
      end
      address = address + layout.strides[d] * i
    end
    return address + 1
  end
end

local function load_of(run, access)
  local address, data = address_of(run, access), run.data[access.tensor]
  return function() return data[address()] end
end

-- ---- bodies --------------------------------------------------------------------------------

local compile

local leaves = {
  number = function(_, node)
    local value = node.value + 0.0
    return function() return value end
  end,
  loop = function(run, node)
    return function() return run.point[node.name] + 0.0 end
  end,
  size = function(run, node)
    local value = number(core.symbol(node.name), run.at, "a value") + 0.0
    return function() return value end
  end,
  load = function(run, node)
    local load = run.loads[node[1]]
    return function() return load() + 0.0 end
  end,
}

local function compile_select(run, node)
  local condition, yes, no = compile(run, node[1]), compile(run, node[2]), compile(run, node[3])
  return function()
    if condition() ~= 0 then return yes() end
    return no()
  end
end

-- A function of the point; operands from the left, two at a time.
function compile(run, node)
  if leaves[node.op] then return leaves[node.op](run, node) end
  local name = node.op == "call" and node.name or node.op
  if name == "select" then return compile_select(run, node) end
  local f = scalar.functions[name]
  local result = compile(run, node[1])
  if #node == 1 then
    if name == "max" or name == "min" then return result end
    local only = result
    return function() return f(only()) end
  end
  for i = 2, #node do
    local left, right = result, compile(run, node[i])
    result = function() return f(left(), right()) end
  end
  return result
end

-- ---- nodes ---------------------------------------------------------------------------------

-- Calls visit at every point of the loops, the last one fastest.
local function walk(run, loops, visit)
  local point, sizes = run.point, run.sizes
  for _, name in ipairs(loops) do
    if sizes[name] == 0 then return end
    point[name] = 0
  end
  while true do
    visit()
    local d = #loops
    while d > 0 do
      local name = loops[d]
      point[name] = point[name] + 1
      if point[name] < sizes[name] then break end
      point[name] = 0
      d = d - 1
    end
    if d == 0 then return end
  end
end

local function store(run, k, value)
  local target = run.stores[k]
  target.data[target.address()] = target.keep(value)
end

local kinds = {}

function kinds.pointwise(run, node, value)
  walk(run, node.pointwise, function()
    local result = value()
    for k = 1, #node.writes do store(run, k, result) end
  end)
end

-- The position of the first value that no other is better than.
local function place_of(run, node, value)
  local better = scalar.functions[node.reduce == "argmax" and ">" or "<"]
  local n, place, best = 0, 0, nil
  walk(run, node.reduction, function()
    local x = value()
    if not best or better(x, best) ~= 0 then place, best = n, x end
    n = n + 1
  end)
  return place
end

local function each_reduction(run, node, value)
  if node.reduce == "welford_reduce" then
    local values = {}
    walk(run, node.reduction, function() values[#values + 1] = value() end)
    return #values == 0 and { 0.0, 0.0, 0.0 } or two_pass.evaluate("mean_m2", values)
  end
  if node.reduce:find "^arg" then return { place_of(run, node, value) } end
  local rule = scalar.reductions[node.reduce]
  local step, result = scalar.functions[rule.op], rule.start
  walk(run, node.reduction, function() result = step(result, value()) end)
  local results = {}
  for k = 1, #node.writes do results[k] = result end
  return results
end

function kinds.reduction(run, node, value)
  walk(run, node.pointwise, function()
    local results = each_reduction(run, node, value)
    for k = 1, #node.writes do store(run, k, results[k]) end
  end)
end

-- What a library computes: products added to what the result starts from, if to anything.
function kinds.opaque(run, node, value)
  local start = node.start and run.loads[node.start]
  walk(run, node.pointwise, function()
    local result = start and start() + 0.0 or 0.0
    walk(run, node.reduction, function() result = result + value() end)
    store(run, 1, result)
  end)
end

-- Updates one after the other, each of what those before left.
function kinds.scatter(run, node, value)
  local target, join = run.stores[1], node.join and scalar.functions[node.join]
  walk(run, node.pointwise, function()
    local new, address = value(), target.address()
    if join then new = join(target.data[address] + 0.0, new) end
    target.data[address] = target.keep(new)
  end)
end

function kinds.scan(run, node, value)
  local rule = scalar.reductions[node.reduce]
  local step = scalar.functions[rule.op]
  walk(run, node.pointwise, function()
    local result = rule.start
    walk(run, node.reduction, function()
      result = step(result, value())
      for k = 1, #node.writes do store(run, k, result) end
    end)
  end)
end

local function run_node(node, layouts, data, sizes, at)
  local run = {
    node = node, layouts = layouts, data = data, point = {}, loads = {}, stores = {}, sizes = sizes,
    at = at,
  }
  for _, access in ipairs(node.einsum.accesses) do
    if access.output then
      run.stores[#run.stores + 1] = {
        address = address_of(run, access), data = data[access.tensor],
        keep = layouts[access.tensor].keep,
      }
    else
      run.loads[#run.loads + 1] = load_of(run, access)
    end
  end
  kinds[node.kind](run, node, compile(run, node.body))
end

-- Whether a tensor has no other values than whole numbers.
local function is_whole(tensor) return tensor.dtype:find "^i%d" ~= nil or tensor.dtype == "bool" end

local function check_element(x, name, i, whole)
  local path = ("inputs.%s[%d]"):format(name, i)
  if type(x) ~= "number" then
    errors.raise(KIND, ("number expected, got %s"):format(type(x) == "string" and "'" .. x .. "'"
      or type(x)), { path = path })
  end
  if whole and not math.tointeger(x) then
    errors.raise(KIND, ("%s is no whole number"):format(tostring(x)), { path = path })
  end
end

local function check_input(tensor, given, layout)
  local name, whole, n = tensor.name, is_whole(tensor), 0
  if type(given) ~= "table" then
    errors.raise(KIND, ("data of %s expected: a list of %d numbers"):format(name, layout.storage))
  end
  for key in pairs(given) do
    if math.type(key) ~= "integer" or key < 1 then
      errors.raise(KIND, ("[%s] is no position in a list"):format(tostring(key)),
        { path = "inputs." .. name })
    end
    n = math.max(n, key)
  end
  if n ~= layout.storage then
    errors.raise(KIND, ("%s holds %d elements, %d were given"):format(name, layout.storage, n))
  end
  local kept = {}
  for i = 1, layout.storage do
    check_element(given[i], name, i, whole)
    kept[i] = layout.keep(given[i])
  end
  return kept
end

-- Data is given of what the graph reads first, and of no other.
local function check_inputs(graph, inputs)
  if type(inputs) ~= "table" then
    errors.raise(KIND, ("data by tensor expected, got %s"):format(type(inputs)),
      { path = "inputs" })
  end
  local known = {}
  for _, name in ipairs(graph.order) do
    local tensor = graph.tensors[name]
    if not (tensor.base or tensor.writer) then known[name] = true end
  end
  errors.check_keys(KIND, inputs, known, "inputs")
end

-- Values are given of sizes that the graph has, whole numbers of their range.
local function check_sizes(graph, at)
  if at == nil then return end
  if type(at) ~= "table" then
    errors.raise(KIND, ("values by size expected, got %s"):format(type(at)), { path = "at" })
  end
  local known = {}
  local function note(size)
    for _, symbol in ipairs(size:symbols()) do known[symbol:name()] = symbol end
  end
  for _, size in pairs(graph.sizes) do note(size) end
  for _, tensor in pairs(graph.tensors) do
    note(tensor.offset)
    for d, size in ipairs(tensor.sizes) do
      note(size)
      note(tensor.strides[d])
    end
  end
  errors.check_keys(KIND, at, known, "at")
  for name, n in pairs(at) do
    local low, high = known[name]:bounds()
    if math.type(n) ~= "integer" or low and low:le(n) == false
      or high and core.int(n):le(high) == false then
      errors.raise(KIND, ("a whole number from %s to %s expected, got %s"):format(
        tostring(low or "-inf"), tostring(high or "inf"), tostring(n)), { path = "at." .. name })
    end
  end
end

--- The data of all tensors of a graph, from those of the tensors that are read first. Data is a
--- list of what the storage of the tensor holds, from address 0 (its offset and gaps included);
--- gaps of results are 0. Of a tensor that is updated it is what the last update leaves.
---@param graph einloom.Graph
---@param inputs table<string, number[]>
---@param at? table<string, integer> values of symbolic sizes
---@return table<string, number[]>
function evaluate.run(graph, inputs, at)
  check_inputs(graph, inputs)
  check_sizes(graph, at)
  local layouts, data, sizes = evaluate.layouts(graph, at), {}, {}
  for _, name in ipairs(graph.order) do
    local tensor = graph.tensors[name]
    if tensor.base then
      data[name] = data[tensor.base]
    elseif tensor.writer then
      data[name] = {}
      for i = 1, layouts[name].storage do data[name][i] = layouts[name].keep(0.0) end
    else
      data[name] = check_input(tensor, inputs[name], layouts[name])
    end
  end
  for name, size in pairs(graph.sizes) do sizes[name] = number(size, at or {}, name) end
  for _, node in ipairs(graph.nodes) do run_node(node, layouts, data, sizes, at or {}) end
  return data
end

return evaluate
