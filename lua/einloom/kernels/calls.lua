-- SPDX-License-Identifier: MIT
-- Programs of calls: a call in its own loops, with what it takes in for its inputs, computed where
-- they are read, and behind it, computed where its result is made.

local core = require "einloom.core"
local index = require "einloom.index"

local calls = {}

local one = core.int(1)

-- ---- loops ---------------------------------------------------------------------------------

-- Trees of the loops of a call, one for each.
local function trees_of(graph, node, loops)
  local trees = {}
  for i, name in ipairs(loops) do
    local symbol = node.symbols[name]
    trees[i] = {
      index = symbol:name() .. "index", extent = graph.sizes[name],
      variables = { { name = symbol:name(), expr = core.symbol(symbol:name() .. "index"),
        divisor = one, length = graph.sizes[name] } },
    }
  end
  return trees
end

local function extents_of(graph, node)
  local extents = {}
  for _, loops in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(loops) do extents[node.symbols[name]:name()] = graph.sizes[name] end
  end
  return extents
end

-- The extents of the symbols that are in an expression.
local function simplified(state, e)
  local extents, any = {}, false
  for _, symbol in ipairs(e:symbols()) do
    extents[symbol:name()] = state.extents[symbol:name()]
    any = any or extents[symbol:name()] ~= nil
  end
  return any and index.simplify(e, extents) or e
end

-- What the loops of a node are at a running number of its points.
local function loops_at(state, node, flat)
  local values, divisor = {}, one
  for i = #node.pointwise, 1, -1 do
    local size = state.graph.sizes[node.pointwise[i]]
    values[node.pointwise[i]] = simplified(state, core.mod_index(flat, divisor, size))
    divisor = divisor * size
  end
  return values
end

-- ---- statements ----------------------------------------------------------------------------

-- A pointwise node at a running number of its points; `held` are the tensors made before it there.
local function statement_at(state, node, flat, held, tag)
  local statement = { node = node, loads = {}, writes = {}, loops = loops_at(state, node, flat) }
  for i, read in ipairs(node.reads) do
    local at = {}
    for name, value in pairs(statement.loops) do
      for _, symbol in ipairs(read.index:symbols()) do
        if symbol:name() == node.symbols[name]:name() then at[symbol] = value end
      end
    end
    statement.loads[i] = { tensor = read.tensor, index = simplified(state, read.index(at)),
      held = held[read.tensor] or false, tag = tag }
  end
  for i, write in ipairs(node.writes) do
    held[write.tensor] = true
    statement.writes[i] = { tensor = write.tensor, index = flat, tag = tag }
  end
  return statement
end

local function part_of(facts, role, buffer)
  for _, part in ipairs(facts.parts or {}) do
    if part.role == role and (not buffer or part.buffer == buffer) then return part end
  end
end

local function add_part(state, statements, part, flat, held, tag)
  for i = part.first, part.last do
    local node = state.graph:node(state.facts.ops[i].op)
    statements[#statements + 1] = statement_at(state, node, flat, held, tag)
  end
end

-- The call, behind what its inputs come from; what it starts from comes before its loops.
local function add_call(state, node, sections)
  local call = { node = node, loads = {}, writes = {}, loops = {} }
  local before = { inside = false, single = false, statements = {} }
  local section = { inside = true, single = true, statements = {} }
  for _, loops in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(loops) do call.loops[name] = node.symbols[name] end
  end
  for i, read in ipairs(node.reads) do
    local part, tag = part_of(state.facts, "input", read.tensor), "_" .. i
    call.loads[i] = { tensor = read.tensor, index = read.index, held = part ~= nil,
      tag = part and tag }
    local into = i == node.start and before or section
    if part then add_part(state, into.statements, part, read.index, {}, tag) end
  end
  call.writes[1] = { tensor = node.writes[1].tensor, index = node.writes[1].index }
  for _, name in ipairs(node.reduction) do
    section.single = section.single and state.graph.sizes[name]:eq(one) == true
  end
  section.statements[#section.statements + 1] = call
  if #before.statements > 0 then sections[1] = before end
  sections[#sections + 1] = section
end

local function add_behind(state, node, sections)
  local part = part_of(state.facts, "output")
  if not part then return end
  local section, write = { inside = false, single = false, statements = {} }, node.writes[1]
  add_part(state, section.statements, part, write.index, { [write.tensor] = true })
  sections[#sections + 1] = section
end

-- ---- memory --------------------------------------------------------------------------------

local function note_memory(made, touch)
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      for _, load in ipairs(statement.loads) do
        if not load.held then touch(load.tensor) end
      end
      for _, write in ipairs(statement.writes) do
        made.stored[write.tensor] = made:external(write.tensor) or nil
      end
    end
  end
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      for _, write in ipairs(statement.writes) do
        if made.stored[write.tensor] then touch(write.tensor) end
      end
    end
  end
end

-- What recorded calls compute is not known: all they read and write is memory.
local function recorded(made, node)
  made.grid, made.reduction, made.sections = {}, {}, {}
  for _, list in ipairs { node.reads, node.writes } do
    for _, use in ipairs(list) do made.tensors[#made.tensors + 1] = use.tensor end
  end
  for _, write in ipairs(node.writes) do made.stored[write.tensor] = true end
end

--- Fills in the program of a kernel that is a call, alone or with what it takes in.
---@param graph einloom.Graph
---@param made einloom.Program
---@param node einloom.GraphNode the call
---@param touch fun(tensor: string) notes a tensor in memory
function calls.fill(graph, made, node, touch)
  local facts = made.facts
  made.members = {}
  for _, step in ipairs(facts.schedule) do made.members[graph:node(step)] = true end
  if #facts.schedule == 1 then made.call = node else made.template = node end
  if not node.symbols then return recorded(made, node) end
  local state = { graph = graph, facts = facts, extents = extents_of(graph, node) }
  made.grid = trees_of(graph, node, node.pointwise)
  made.reduction = trees_of(graph, node, node.reduction)
  made.sections = {}
  add_call(state, node, made.sections)
  add_behind(state, node, made.sections)
  note_memory(made, touch)
end

return calls
