-- SPDX-License-Identifier: MIT
-- A kernel as a program: loops over the grid, in each point sections inside and behind the loops
-- over the reduction, in each section statements.  Decides for every load whether it is a value
-- that the kernel holds or memory, and which results must be stored.

local calls = require "einloom.kernels.calls"
local core = require "einloom.core"
local errors = require "einloom.errors"

local program = {}

local Program = { __name = "einloom.kernel" }
Program.__index = Program
function Program.__tostring(self) return require "einloom.kernels.loops".text(self) end

---@class einloom.Load
---@field tensor string
---@field index einloom.Expr in the variables of the kernel
---@field held boolean it is the value of a statement before, not memory
---@field tag? string tells values apart that are made for several inputs of a call
---@field access einloom.KernelAccess

---@class einloom.Statement
---@field node einloom.GraphNode
---@field loads einloom.Load[] for each of the node's reads
---@field writes { tensor: string, index: einloom.Expr, access: einloom.KernelAccess }[]
---@field loops table<string, einloom.Expr> what the loop variables are

---@class einloom.Section
---@field inside boolean inside the loops over the reduction
---@field single boolean the reduction has one point: every value is there behind its statement
---@field statements einloom.Statement[]

---@class einloom.Program
---@field name string
---@field grid { index: string, extent: einloom.Expr, variables: einloom.RangeEntry[] }[]
---@field reduction { index: string, extent: einloom.Expr, variables: einloom.RangeEntry[] }[]
---@field sections einloom.Section[]
---@field stored table<string, boolean> results that are stored
---@field tensors string[] in memory, in order of their first use
---@field facts einloom.KernelFacts
---@field graph einloom.Graph
---@field members table<einloom.GraphNode, true> its nodes
---@field call? einloom.GraphNode the one node of a kernel without loops
---@field template? einloom.GraphNode the call that took in others
---@field counted? einloom.CountedTiling where tilings are chosen by memory sectors

--- Whether an extent is known to be 1.
---@param extent einloom.Expr
---@return boolean
function program.is_one(extent) return extent:eq(core.int(1)) == true end

-- The accesses of the core, which has none twice, for each read of the node.
local function align(node, accesses)
  local found, seen, n = {}, {}, 0
  for i, read in ipairs(node.reads) do
    local key = read.tensor .. " " .. tostring(read.index)
    if not seen[key] then
      n = n + 1
      seen[key] = n
    end
    found[i] = accesses[seen[key]]
  end
  return found, n
end

local function trees_of(facts)
  local grid, reduction = {}, {}
  for _, tile in ipairs(facts.tiling) do
    local prefix, extent = tile[1], tile[2]
    local tree = { index = prefix .. "index", extent = extent, variables = {} }
    for _, entry in ipairs(facts.entries) do
      if entry.tree == prefix then tree.variables[#tree.variables + 1] = entry end
    end
    local into = prefix:sub(1, 1) == "r" and reduction or grid
    into[#into + 1] = tree
  end
  return grid, reduction
end

--- What a tensor is called: one that was updated in place keeps its name.
---@param tensor string
---@return string
function program.named(tensor) return (tensor:gsub("'%d+$", "")) end
local named = program.named

local function refuse(message) errors.raise("bad_plan", message) end

-- Whether two indices are one where variables of length 1 are 0.
local function same_index(facts, a, b)
  if tostring(a) == tostring(b) then return true end
  local zero = {}
  for _, entry in ipairs(facts.entries) do
    if program.is_one(entry.length) then zero[entry.name] = 0 end
  end
  local function without(e)
    local own = {}
    for _, symbol in ipairs(e:symbols()) do own[symbol] = zero[symbol:name()] end
    return e(own)
  end
  return without(a):eq(without(b)) == true
end

-- An update in place changes what other statements of the kernel read and make at other points of
-- its loops, unless all of them do at the element that they update.
local function check_update(state, statement)
  local node, write = statement.node, statement.writes[1]
  local uses = { state.written[node.updates] }
  for _, load in ipairs(state.loaded[node.updates] or {}) do uses[#uses + 1] = load end
  for _, use in ipairs(uses) do
    local same = node.kind ~= "scatter" and not use.scattered
      and same_index(state.program.facts, use.index, write.index)
    if use.statement ~= statement and not same then
      refuse(("%s updates %s while its kernel uses other elements: they cannot be one kernel")
        :format(node.name, named(node.updates)))
    end
  end
end

-- Notes what is read from memory; what the kernel has updated is not there any more.
local function note_load(state, statement, access)
  local tensor, list = state.graph.tensors[access.buffer], state.loaded[access.buffer] or {}
  if tensor.updated_by and state.written[tensor.updated_by] then
    refuse(("%s reads %s as it was before its kernel updated it"):format(statement.node.name,
      named(access.buffer)))
  end
  state.loaded[access.buffer] = list
  list[#list + 1] = { index = access.simplified, statement = statement }
end

-- Where the results of earlier statements are.
local function load_of(state, statement, access, section)
  local written = state.written[access.buffer]
  if not written and state.members[state.graph.tensors[access.buffer].writer] then
    refuse(("%s reads %s before its kernel has made it"):format(statement.node.name, access.buffer))
  end
  if not written then
    note_load(state, statement, access)
    state.touch(access.buffer)
    return { tensor = access.buffer, index = access.simplified, held = false, access = access }
  end
  if written.scattered then
    refuse(("%s reads %s before all of it is updated: they cannot be one kernel"):format(
      statement.node.name, access.buffer))
  end
  if not same_index(state.program.facts, written.index, access.simplified) then
    refuse(("%s reads %s at %s, which its kernel writes at %s: they cannot be one kernel"):format(
      statement.node.name, access.buffer, tostring(access.simplified), tostring(written.index)))
  end
  local held = not written.section or written.section == section
  if not held then
    state.program.stored[access.buffer] = true
    state.touch(access.buffer)
  end
  return { tensor = access.buffer, index = access.simplified, held = held, access = access }
end

local function loop_values(node, op)
  local loops = {}
  for i, name in ipairs(node.pointwise) do loops[name] = op.pointwise[i] end
  for i, name in ipairs(node.reduction) do loops[name] = op.reduction[i] end
  return loops
end

-- Refuses a reduction whose loops are not on the ranges that are reduced, each on its own side.
local function check_sides(facts, node, op)
  local reduced = {}
  for _, entry in ipairs(facts.entries) do reduced[entry.name] = entry.tree:sub(1, 1) == "r" end
  for side, values in pairs { [true] = op.reduction, [false] = op.pointwise } do
    for _, value in ipairs(values) do
      for _, symbol in ipairs(value:symbols()) do
        if reduced[symbol:name()] == not side then
          refuse(("the tiling puts the loops of %s that are%s reduced on %s"):format(node.name,
            side and "" or " not", symbol:name()))
        end
      end
    end
  end
end

local function add_statement(state, op, section)
  local node = state.graph:node(op.op)
  local statement = { node = node, loads = {}, writes = {}, loops = loop_values(node, op) }
  local aligned, n = align(node, op.accesses)
  for i, access in ipairs(aligned) do
    statement.loads[i] = load_of(state, statement, access, section)
  end
  if node.kind == "reduction" or node.kind == "scan" then
    check_sides(state.program.facts, node, op)
    if not section.inside then
      refuse(("%s reduces behind the loops over the reduction"):format(node.name))
    end
  end
  for i = n + 1, #op.accesses do
    local access = op.accesses[i]
    statement.writes[i - n] =
      { tensor = access.buffer, index = access.simplified, access = access }
  end
  if node.updates then check_update(state, statement) end
  section.statements[#section.statements + 1] = statement
  return statement
end

-- Values of a section inside are its own; those of reductions are there behind it.
local function note_writes(state, statement, section)
  for _, write in ipairs(statement.writes) do
    local kept = not section.inside or section.single or statement.node.kind == "reduction"
    state.written[write.tensor] = { index = write.index, section = not kept and section or nil,
      scattered = statement.node.kind == "scatter" }
    if state.needed(write.tensor) then state.program.stored[write.tensor] = true end
  end
end

local function sections_of(state, facts)
  local single = program.is_one(facts.extents[2])
  local section, ops = { inside = true, single = single, statements = {} }, {}
  local sections = { section }
  for _, op in ipairs(facts.ops) do ops[op.op] = op end
  for _, step in ipairs(facts.schedule) do
    if step == "reduction_off" or step == "reduction_on" then
      for _, statement in ipairs(section.statements) do note_writes(state, statement, section) end
      section = { inside = step == "reduction_on", single = single, statements = {} }
      sections[#sections + 1] = section
    else
      local statement = add_statement(state, ops[step], section)
      if single or statement.node.kind ~= "reduction" then
        note_writes(state, statement, section)
      end
    end
  end
  for _, statement in ipairs(section.statements) do note_writes(state, statement, section) end
  local filled = {}
  for _, one in ipairs(sections) do
    if #one.statements > 0 then filled[#filled + 1] = one end
  end
  return filled
end

-- Whether a tensor leaves the graph, is or becomes another one by an update in place, or is read by
-- a node that is not in the kernel.
local function needed_outside(graph, members)
  return function(name)
    local tensor = graph.tensors[name]
    if tensor.output or tensor.updates or tensor.updated_by then return true end
    for _, reader in ipairs(graph.readers[name]) do
      if not members[reader] then return true end
    end
    return false
  end
end

--- Whether a node is no loop nest but a call, or launches nothing.
---@param node einloom.GraphNode
---@return boolean
function program.is_call(node) return node.kind == "opaque" or node.kind == "nop" end

-- The call of a kernel that has one; nil for kernels of loops alone.
local function call_of(graph, facts)
  for _, step in ipairs(facts.schedule) do
    if step ~= "reduction_off" and step ~= "reduction_on" then
      local node = graph:node(step)
      if program.is_call(node) then return node end
    end
  end
end

local function touching(made)
  local seen = {}
  return function(tensor)
    if not seen[tensor] then made.tensors[#made.tensors + 1] = tensor end
    seen[tensor] = true
  end
end

--- Whether a tensor is in memory before the kernel, or behind it.
---@param tensor string
---@return boolean
function Program:external(tensor)
  local writer = self.graph.tensors[tensor].writer
  return not (writer and self.members[writer]) or needed_outside(self.graph, self.members)(tensor)
end

--- The kernel as a workload and a mapping on a machine, to be analysed there. blocks: by memory
--- below the top one, then by loop variable of the grid, how much of it the memory holds at a time
--- (all, if it is not named); without blocks they are symbols, `VARIABLE_MEMORY`. parallel: by
--- dimension of the machine, "PE.x", the variable that runs over it. A kernel that has no form as
--- einsums gives nil, a message and the kind.
---@param arch einloom.Arch
---@param options? { blocks?: table<string, table<string, any>>, parallel?: table<string, string> }
---@return einloom.Workload?
---@return einloom.Mapping|string?
---@return string? kind
function Program:mapping(arch, options)
  return require "einloom.kernels.mapping".of(self, arch, options)
end

--- The program of a kernel.
---@param graph einloom.Graph
---@param facts einloom.KernelFacts
---@param name string
---@return einloom.Program
function program.new(graph, facts, name)
  local made = setmetatable({ name = name, graph = graph, stored = {}, tensors = {},
    facts = facts }, Program)
  local call = call_of(graph, facts)
  if call then
    calls.fill(graph, made, call, touching(made))
    return made
  end
  made.grid, made.reduction = trees_of(facts)
  made.members = {}
  for _, op in ipairs(facts.ops) do made.members[graph:node(op.op)] = true end
  local state = {
    graph = graph, program = made, written = {}, loaded = {}, members = made.members,
    needed = needed_outside(graph, made.members), touch = touching(made),
  }
  made.sections = sections_of(state, facts)
  for _, section in ipairs(made.sections) do
    for _, statement in ipairs(section.statements) do
      for _, write in ipairs(statement.writes) do
        if made.stored[write.tensor] then state.touch(write.tensor) end
      end
    end
  end
  return made
end

return program
