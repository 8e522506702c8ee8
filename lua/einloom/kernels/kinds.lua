-- SPDX-License-Identifier: MIT
-- What a node of a graph is, from its einsum: its kind, its loops, and the expression of one point.

local shapes = require "einloom.kernels.shapes"

local kinds = {}

local reductions = { ["+="] = "sum", ["*="] = "prod", ["max="] = "max", ["min="] = "min" }
local scans = { scan_sum = "sum", scan_prod = "prod", scan_max = "max", scan_min = "min" }

local called_reductions = {
  welford = {
    reduce = "welford_reduce", results = 3, gives = "mean, sum of squared deviations and count",
  },
  argmax = { reduce = "argmax", results = 1, gives = "the position of the largest value" },
  argmin = { reduce = "argmin", results = 1, gives = "the position of the smallest value" },
}

--- Calls of libraries, by how many tensors they take: products of the last two, summed over the
--- loops that are not on the left; of three, the first one is added.
kinds.calls = { mm = 2, bmm = 2, matmul = 2, conv = 2, addmm = 3, baddbmm = 3 }

-- ---- loops ---------------------------------------------------------------------------------

local function outer_variables(writes, fail)
  local list, seen = {}, {}
  for _, index in ipairs(writes[1].indices) do
    local name = shapes.variable_of(index)
    if not name or seen[name] then
      fail("an output is indexed by loop variables, each once: put arithmetic into what is read",
        index.position)
    end
    seen[name] = true
    list[#list + 1] = name
  end
  for k = 2, #writes do
    local own, n = {}, 0
    for _, index in ipairs(writes[k].indices) do
      local name = shapes.variable_of(index) or ""
      if not seen[name] or own[name] then
        fail("outputs have the same loop variables", index.position)
      end
      own[name], n = true, n + 1
    end
    if n ~= #list then fail("outputs have the same loop variables", writes[k].position) end
  end
  return list
end

-- Where a variable stands first on the right side.
local function position_of(reads, expression, name)
  for _, access in ipairs(reads) do
    for _, index in ipairs(access.indices) do
      for _, own in ipairs(index.names) do
        if own == name then return index.position end
      end
    end
  end
  local stack = { expression }
  while #stack > 0 do
    local node = table.remove(stack)
    if node.op == "scalar" and node.name == name then return node.position end
    for i = #node, 1, -1 do
      if type(node[i]) == "table" then stack[#stack + 1] = node[i] end
    end
  end
end

-- ---- kinds ---------------------------------------------------------------------------------

-- What the scan runs along, taken out of the loops.
local function scan(node, call, fail)
  local along = call[2] and call[2].op == "scalar" and call[2].name
  for i, name in ipairs(node.pointwise) do
    if name == along and #call == 2 then
      table.remove(node.pointwise, i)
      node.kind, node.reduce, node.reduction = "scan", scans[call.name], { along }
      return call[1]
    end
  end
  fail(("%s takes a value and the loop variable of the output that it runs along")
    :format(call.name), call.position)
end

local function special_reduction(node, call, special, writes, fail)
  if #call ~= 1 or #writes > special.results or #node.reduction == 0 then
    fail(("%s takes one value and gives %s of a reduction"):format(call.name, special.gives),
      call.position)
  end
  node.kind, node.reduce = "reduction", special.reduce
  return call[1]
end

-- What is added to a product is the same for all that is summed.
local function check_start(node, call, reads, fail)
  for _, index in ipairs(node.start and reads[node.start].indices or {}) do
    for _, name in ipairs(index.names) do
      for _, reduced in ipairs(node.reduction) do
        if name == reduced then
          fail(("what %s adds is not indexed by %s, over which it sums"):format(call.name, name),
            index.position)
        end
      end
    end
  end
end

-- A product that a library computes, of tensors at indices.
local function library_call(node, call, reads, writes, fail)
  local n = kinds.calls[call.name]
  if #call ~= n or #writes ~= 1 then
    fail(("%s takes %d tensors and gives one"):format(call.name, n), call.position)
  end
  for _, argument in ipairs(call) do
    if argument.op ~= "access" then
      fail(("%s takes tensors as they are: what is computed first is an einsum of its own"):format(
        call.name), argument.position)
    end
  end
  if #node.reduction == 0 then
    fail(("%s sums over an index that its result does not have"):format(call.name), call.position)
  end
  node.kind, node.call, node.reduce = "opaque", call.name, "sum"
  node.start = n == 3 and call[1][1] or nil
  check_start(node, call, reads, fail)
  return { op = "*", position = call.position, call[n - 1], call[n] }
end

local function plain(node, parsed, reads, fail)
  if parsed.op == "=" then
    local name = node.reduction[1]
    if name then
      fail(("%s is not on the left: reduce over it with +=, *=, max= or min="):format(name),
        position_of(reads, parsed.expression, name))
    end
    node.kind = "pointwise"
  elseif #node.reduction == 0 then
    fail(("%s reduces, but every loop variable is on the left"):format(parsed.op),
      parsed.op_position)
  else
    node.kind, node.reduce = "reduction", reductions[parsed.op]
  end
  return parsed.expression
end

-- ---- updates -------------------------------------------------------------------------------

local joining = { ["+="] = "+", ["*="] = "*", ["max="] = "max", ["min="] = "min" }

-- What an element is and a value, as one expression.
local function joined(op, place, value, position)
  local own = { op = "access", place, position = position }
  local node = { op = op, position = position, own, value }
  if op == "max" or op == "min" then node.op, node.name = "call", op end
  return node
end

-- The place among the reads of the element that is updated, added if it is not read.
local function own_place(parsed, reads, write, old)
  for i, access in ipairs(reads) do
    if access.tensor == old then return i end
  end
  local access = { tensor = old, indices = write.indices, output = false,
    position = write.position, number = #reads + 1 }
  table.insert(parsed.accesses, #reads + 1, access)
  reads[#reads + 1] = access
  return access.number
end

-- Each element is updated at one point of the loops at most.
local function is_plain(write, loops)
  local seen, n = {}, 0
  for _, index in ipairs(write.indices) do
    local name = shapes.variable_of(index)
    if not name or seen[name] then return false end
    seen[name], n = true, n + 1
  end
  return n == #loops
end

--- Kind, loops and expression of a node that updates a tensor in place.
---@param node einloom.GraphNode
---@param parsed einloom.Einsum
---@param reads einloom.Access[]
---@param writes einloom.Access[]
---@param loops string[] all variables
---@param old string the tensor as it is before
---@param fail fun(message: string, position?: integer, kind?: string)
---@return table expression
function kinds.update(node, parsed, reads, writes, loops, old, fail)
  if #writes > 1 then fail("an update has one output", writes[2].position) end
  local write, op = writes[1], joining[parsed.op]
  node.pointwise, node.reduction, node.updates = loops, {}, old
  for _, access in ipairs(reads) do
    for d, index in ipairs(access.tensor == old and access.indices or {}) do
      if not write.indices[d] or index.text ~= write.indices[d].text then
        fail(("an update reads %s only where it writes it"):format(access.named or old),
          access.position)
      end
    end
  end
  if not is_plain(write, loops) then
    node.kind, node.join = "scatter", op
    return parsed.expression
  end
  node.kind = "pointwise"
  if not op then return parsed.expression end
  return joined(op, own_place(parsed, reads, write, old), parsed.expression, parsed.op_position)
end

--- Kind, loops and the expression of one point of a node.
---@param node einloom.GraphNode
---@param parsed einloom.Einsum
---@param reads einloom.Access[]
---@param writes einloom.Access[]
---@param reduced string[] variables that are not on the left
---@param fail fun(message: string, position?: integer, kind?: string)
---@return table expression
function kinds.classify(node, parsed, reads, writes, reduced, fail)
  node.pointwise, node.reduction = outer_variables(writes, fail), reduced
  local call = parsed.expression
  if parsed.op == "=" and call.op == "call" then
    local scanned = scans[call.name] and scan(node, call, fail)
    if scanned and #reduced == 0 then return scanned end
    local special = called_reductions[call.name]
    if special then return special_reduction(node, call, special, writes, fail) end
    if kinds.calls[call.name] then return library_call(node, call, reads, writes, fail) end
  end
  return plain(node, parsed, reads, fail)
end

return kinds
