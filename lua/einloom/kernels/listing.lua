-- SPDX-License-Identifier: MIT
-- What is known of the kernels of a graph as plain data - numbers, texts and lists - which the
-- command prints as text or as JSON of schema kernels/1.

local core = require "einloom.core"
local loops = require "einloom.kernels.loops"
local plan = require "einloom.kernels.plan"
local program = require "einloom.kernels.program"
local reasons = require "einloom.kernels.reasons"

local listing = {}

listing.schema = "kernels/1"

local array = core.json.array

local function list(t) return setmetatable(t or {}, array) end

-- A number or formula as plain data.
local function plain(e)
  if type(e) == "number" then return e end
  return e:tointeger() or tostring(e)
end

local function plain_list(expressions)
  local values = list()
  for i, e in ipairs(expressions) do values[i] = plain(e) end
  return values
end

local function names(texts)
  local found = list()
  for i, text in ipairs(texts) do found[i] = program.named(text) end
  return found
end

-- ---- kernels with loops --------------------------------------------------------------------

local function ranges_of(made)
  local found = list()
  for _, trees in ipairs { made.grid, made.reduction } do
    for _, tree in ipairs(trees) do
      for _, entry in ipairs(tree.variables) do
        found[#found + 1] = { name = entry.name, of = tree.index, length = plain(entry.length),
          divisor = plain(entry.divisor), value = tostring(entry.expr) }
      end
    end
  end
  return found
end

-- A step of an index at the origin of the kernel's ranges.
local function at_origin(step)
  local origin = {}
  for _, symbol in ipairs(core.is_expr(step) and step:symbols() or {}) do
    if symbol:name():match "index$" then origin[symbol:name()] = 0 end
  end
  return next(origin) and step(origin) or step
end

local function access_of(kind, statement, use, memory)
  local access = use.access or {}
  local entry = { kind = kind, tensor = program.named(use.tensor), memory = memory }
  if use.index then entry.index = loops.index_text(statement, use.index) end
  if access.indirect then entry.gathered = true end
  if access.broadcasted then entry.broadcasted = true end
  if memory and access.strides then
    entry.strides = {}
    for prefix, stride in pairs(access.strides) do
      entry.strides[prefix] = plain(at_origin(stride))
    end
  end
  return entry
end

-- Memory sectors of an access of a node, where they were counted: equal addresses count once.
local function sectors_of(made, node, use, store)
  for _, counted in ipairs(made.counted and made.counted.accesses or {}) do
    if counted.op == node.name and counted.buffer == use.tensor and counted.store == store
      and counted.index == use.index then
      return counted.sectors
    end
  end
end

local function accesses_of(made, statement)
  local found, seen, node = list(), {}, statement.node
  for i, load in ipairs(statement.loads) do
    if not (load.access and seen[load.access]) then
      local entry = access_of("load", statement, load, not load.held)
      entry.sectors = sectors_of(made, node, node.reads[i], false)
      found[#found + 1] = entry
    end
    if load.access then seen[load.access] = true end
  end
  for i, write in ipairs(statement.writes) do
    local entry = access_of("store", statement, write, made.stored[write.tensor] or false)
    entry.in_place = node.updates and true or nil
    entry.sectors = sectors_of(made, node, node.writes[i], true)
    found[#found + 1] = entry
  end
  return found
end

local function loops_of(statement)
  local values = {}
  for name, value in pairs(statement.loops) do values[name] = tostring(value) end
  return values
end

local function operations_of(made)
  local found = list()
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      local node = statement.node
      found[#found + 1] = { node = node.name, kind = node.kind, reduces = node.reduce,
        in_reduction = section.inside and not section.single, loops = loops_of(statement),
        accesses = accesses_of(made, statement) }
    end
  end
  return found
end

local function arguments_of(facts)
  local found = list()
  for i, argument in ipairs(facts.arguments) do
    found[i] = { kind = argument.kind, tensor = argument.buffer and program.named(argument.buffer),
      written = argument.written,
      size = argument.symbol and tostring(argument.symbol) }
  end
  return found
end

local function traffic_of(traffics)
  return { reads = plain(traffics.reads.bytes), writes = plain(traffics.writes.bytes) }
end

local function layout_of(graph, name)
  local tensor = graph.tensors[name]
  return { tensor = program.named(name), sizes = plain_list(tensor.sizes),
    strides = plain_list(tensor.strides) }
end

-- What is wrong with a kernel: tensors of the same sizes that walk them in different orders.
local function mixed_of(graph, facts)
  local found = list()
  for i, pair in ipairs(facts.mixed_layouts) do
    found[i] = list { layout_of(graph, pair[1]), layout_of(graph, pair[2]) }
  end
  return found
end

-- What is in memory of tensors that share one storage, and whether the last of them takes the place
-- of tensors of this kernel alone, none of which is ever there.
local function existing(made, group)
  local found, own = list(), {}
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      for _, write in ipairs(statement.writes) do own[write.tensor] = true end
    end
  end
  for _, name in ipairs(group) do
    if made.stored[name] or not own[name] then found[#found + 1] = program.named(name) end
  end
  return found, #found == 1 and found[1] == program.named(group[#group])
end

local function groups_of(made)
  local found = list()
  for _, group in ipairs(made.facts.in_place) do
    local there, alone = existing(made, group)
    if not alone then found[#found + 1] = there end
  end
  return found
end

-- Results that stay in the kernel: those that the core names, and those that only lend their
-- place.
local function never_stored(made)
  local found = names(made.facts.never_stored)
  for _, group in ipairs(made.facts.in_place) do
    local seen = {}
    for _, name in ipairs((existing(made, group))) do seen[name] = true end
    for _, name in ipairs(group) do
      if not seen[program.named(name)] then found[#found + 1] = program.named(name) end
    end
  end
  return found
end

-- Results of which `bytes` counts what was there before, though nothing was.
local function counted_twice(made)
  local found = list()
  for _, group in ipairs(made.facts.in_place) do
    local _, alone = existing(made, group)
    if alone then found[#found + 1] = program.named(group[#group]) end
  end
  return found
end

-- What `bytes` leaves out: the elements that an update joins with what it computes, as memory does
-- by itself.
local function uncounted(made, ops)
  local found = list()
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      for _, dep in ipairs(ops[statement.node.name].dep_writes) do
        if dep.accumulates then
          found[#found + 1] = { tensor = program.named(dep.buffer),
            bytes = dep.moved and plain(dep.moved) }
        end
      end
    end
  end
  return found
end

local function tiling_of(tiling)
  local found = list()
  for i, tile in ipairs(tiling) do found[i] = list { tile[1], plain(tile[2]) } end
  return found
end

local function add_loops(graph, made, entry, ops)
  local facts = made.facts
  entry.extents, entry.tiling = plain_list(facts.extents), tiling_of(facts.tiling)
  entry.ranges, entry.operations = ranges_of(made), operations_of(made)
  entry.arguments, entry.never_stored = arguments_of(facts), never_stored(made)
  entry.in_place, entry.mixed_layouts = groups_of(made), mixed_of(graph, facts)
  entry.counted_twice, entry.uncounted = counted_twice(made), uncounted(made, ops)
  entry.index_bits = facts.narrow and 32 or 64
  entry.index_bits_proved = facts.narrow_proved and 32 or 64
  entry.hint = facts.hint
  if made.counted then
    entry.sectors = made.counted.sectors
    entry.blocks = made.counted.blocks and tiling_of(made.counted.blocks)
  end
  entry.bytes = facts.bytes and plain(facts.bytes)
  entry.call = made.template and made.template.call
  entry.memory = facts.memory and {
    one_pass = traffic_of(facts.memory.one_pass), looped = traffic_of(facts.memory.looped),
  }
end

-- ---- calls ---------------------------------------------------------------------------------

-- A call reads and writes each of its tensors once.
local function add_call(made, entry, ops)
  local op = ops[made.call.name]
  entry.call = made.call.call
  entry.reads, entry.writes = list(), list()
  for i, use in ipairs(made.call.reads) do entry.reads[i] = program.named(use.tensor) end
  for i, use in ipairs(made.call.writes) do entry.writes[i] = program.named(use.tensor) end
  local bytes = core.int(0)
  for _, deps in ipairs(made.call.kind == "nop" and {} or { op.dep_reads, op.dep_writes }) do
    for _, dep in ipairs(deps) do bytes = bytes and dep.moved and bytes + dep.moved end
  end
  entry.bytes = bytes and plain(bytes)
end

-- ---- all -----------------------------------------------------------------------------------

local function nodes_of(facts)
  local found = list()
  for _, step in ipairs(facts.schedule) do
    if step ~= "reduction_off" and step ~= "reduction_on" then found[#found + 1] = step end
  end
  return found
end

local function kernel_of(graph, made, ops)
  local facts = made.facts
  local entry = { name = made.name, kind = facts.kind, nodes = nodes_of(facts),
    schedule = names(facts.schedule), flops = plain(facts.flops), launch = facts.launch }
  if made.call then add_call(made, entry, ops) else add_loops(graph, made, entry, ops) end
  return entry
end

-- Tensors that nodes of both lists use, and the first two nodes that do.
local function shared_by(ops, first, second)
  local users, tensors, seen, pair = {}, list(), {}, nil
  for _, name in ipairs(first) do
    for _, deps in ipairs { ops[name].dep_writes, ops[name].dep_reads } do
      for _, dep in ipairs(deps) do users[dep.buffer] = users[dep.buffer] or name end
    end
  end
  for _, name in ipairs(second) do
    for _, deps in ipairs { ops[name].dep_reads, ops[name].dep_writes } do
      for _, dep in ipairs(deps) do
        local other = users[dep.buffer]
        if other and not seen[dep.buffer] then
          seen[dep.buffer] = true
          tensors[#tensors + 1] = program.named(dep.buffer)
          pair = pair or list { other, name }
        end
      end
    end
  end
  return tensors, pair
end

-- The tensors that the second kernel reads of what the first one writes.
local function read_from(ops, first, second)
  local written, tensors, seen = {}, list(), {}
  for _, name in ipairs(first) do
    for _, dep in ipairs(ops[name].dep_writes) do written[dep.buffer] = true end
  end
  for _, name in ipairs(second) do
    for _, dep in ipairs(ops[name].dep_reads) do
      local tensor = program.named(dep.buffer)
      if written[dep.buffer] and not seen[tensor] then
        seen[tensor] = true
        tensors[#tensors + 1] = tensor
      end
    end
  end
  return tensors
end

local function refusals_of(programs, kernels, refusals, ops)
  local found = list()
  for i, refusal in ipairs(refusals or {}) do
    local first, second = kernels[refusal.first], kernels[refusal.second]
    local tensors, pair = shared_by(ops, first.nodes, second.nodes)
    local function called(kernel)
      return ("%s (%s)"):format(kernel.name, table.concat(kernel.nodes, ", "))
    end
    found[i] = { first = first.name, second = second.name, reason = refusal.reason,
      tensors = tensors, nodes = pair,
      sentence = reasons.sentence(refusal.reason, {
        first = called(first), second = called(second), tensors = table.concat(tensors, ", "),
        made = table.concat(read_from(ops, first.nodes, second.nodes), ", "),
        extents1 = reasons.extents(programs[refusal.first].facts),
        extents2 = reasons.extents(programs[refusal.second].facts),
      }) }
  end
  return found
end

-- The kernels that use each tensor, in order.
local function users_of(kernels, ops)
  local users = {}
  for i, kernel in ipairs(kernels) do
    for _, name in ipairs(kernel.nodes) do
      for _, deps in ipairs { ops[name].dep_writes, ops[name].dep_reads } do
        for _, dep in ipairs(deps) do
          local own = users[dep.buffer] or {}
          users[dep.buffer] = own
          if own[#own] ~= i then own[#own + 1] = i end
        end
      end
    end
  end
  return users
end

-- How many pairs of kernels use a tensor in common.
local function n_related(kernels, ops)
  local lists, n = {}, 0
  for i in ipairs(kernels) do lists[i] = {} end
  for _, own in pairs(users_of(kernels, ops)) do
    for _, i in ipairs(own) do table.insert(lists[i], own) end
  end
  for i in ipairs(kernels) do
    local seen = {}
    for _, own in ipairs(lists[i]) do
      for _, k in ipairs(own) do
        if k > i and not seen[k] then seen[k], n = true, n + 1 end
      end
    end
  end
  return n
end

-- Which pairs of kernels were asked about, in numbers.
local function pairs_of(kernels, refusals, ops)
  local all, related = #kernels * (#kernels - 1) // 2, n_related(kernels, ops)
  return { all = all, asked = #refusals, unrelated = all - related,
    left_out = related - #refusals }
end

-- The sum of a figure, exactly; nil where a kernel has none.
local function total(kernels, field)
  local sum = core.int(0)
  for _, kernel in ipairs(kernels) do
    local figure = kernel[field]
    if not figure then return nil end
    sum = sum + (type(figure) == "string" and core.parse(figure) or figure)
  end
  return plain(sum)
end

--- What is known of the kernels of a graph, with why pairs of them are apart where they are fused.
---@param graph einloom.Graph or one of kernels/recorded.lua
---@param options? table as of Graph:kernels
---@return table data
---@return einloom.Program[]
function listing.of(graph, options)
  local programs, refusals = plan.kernels(graph, options)
  local ops, kernels, n = {}, list(), 0
  for _, op in ipairs(graph.core:ops()) do ops[op.name] = op end
  for i, made in ipairs(programs) do
    kernels[i] = kernel_of(graph, made, ops)
    n = n + #kernels[i].nodes
  end
  local refused = refusals_of(programs, kernels, refusals, ops)
  return {
    schema = listing.schema, tiling = plan.name_of(options), kernels = kernels,
    refusals = refused, pairs = pairs_of(kernels, refused, ops),
    totals = { kernels = #kernels, nodes = n, bytes = total(kernels, "bytes"),
      flops = total(kernels, "flops") },
  }, programs
end

return listing
