-- SPDX-License-Identifier: MIT
-- Graphs of einsums that become kernels: texts in the grammar of einsums are read into nodes
-- (loops, accesses, what is computed) and into a graph of the core; then what is asked of them.

local accesses = require "einloom.kernels.accesses"
local core_graph = require "einloom.kernels.core_graph"
local dtypes = require "einloom.kernels.dtypes"
local errors = require "einloom.errors"
local given = require "einloom.kernels.given"
local nodes_of = require "einloom.kernels.nodes"
local overlap = require "einloom.kernels.overlap"
local shapes = require "einloom.kernels.shapes"

local graph = {}

local KIND = "bad_graph"

---@class einloom.GraphTensor
---@field name string
---@field sizes einloom.Expr[]
---@field strides einloom.Expr[]
---@field offset einloom.Expr
---@field dtype string
---@field writer? einloom.GraphNode
---@field output boolean it leaves the graph

---@class einloom.GraphAccess
---@field tensor string
---@field index einloom.Expr elements from the offset of the tensor on, over the loop symbols
---@field dims einloom.Expr[] the index along each dimension
---@field text string as it was written

---@class einloom.GraphNode
---@field name string
---@field kind "pointwise"|"reduction"|"scan"
---@field reduce? "sum"|"prod"|"max"|"min"|"argmax"|"argmin"|"welford_reduce"
---@field pointwise string[] loop variables, outermost first
---@field reduction string[]
---@field symbols table<string, einloom.Expr> of the loop variables
---@field reads einloom.GraphAccess[]
---@field writes einloom.GraphAccess[]
---@field loaded table<string, integer> reads that give the symbols indirect0, ... by name
---@field body table see kernels/body.lua
---@field einsum einloom.Einsum

---@class einloom.Graph
---@field core einloom.CoreGraph
---@field nodes einloom.GraphNode[] in the order given
---@field tensors table<string, einloom.GraphTensor>
---@field order string[] names of the tensors, in order of mention
---@field readers table<string, einloom.GraphNode[]> of each tensor
---@field by_name table<string, einloom.GraphNode>
---@field sizes table<string, einloom.Expr> of the loop variables
local Graph = { __name = "einloom.graph" }
Graph.__index = Graph

-- ---- when all einsums are read --------------------------------------------------------------

-- What leaves the graph: what is asked for, what nothing reads, and inputs that were updated.
local function mark_outputs(state, names)
  for _, name in ipairs(names) do
    local tensor = state.tensors[state.current[name] or name]
    if not tensor or not tensor.writer then
      errors.raise(KIND, ("'%s' is not written%s"):format(tostring(name),
        errors.hint(tostring(name), errors.keys(state.tensors))), { path = "outputs" })
    end
    tensor.output = true
  end
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    local last = tensor.writer ~= nil and not tensor.updated_by
    local kept = tensor.base and not state.tensors[tensor.base].writer
    tensor.output = last and (tensor.output or kept or not state.reads[name]) or false
  end
end

-- Calls that may take in pointwise neighbours: those that are named, or all.
local function mark_templates(nodes, by_name, asked)
  if asked == true then
    for _, node in ipairs(nodes) do node.template = node.kind == "opaque" or nil end
    return
  end
  for i, name in ipairs(given.table_of(asked, "templates")) do
    local node = by_name[name]
    if not node or node.kind ~= "opaque" then
      errors.raise(KIND, ("'%s' is no call%s"):format(tostring(name),
        node and "" or errors.hint(tostring(name), errors.keys(by_name))),
        { path = ("templates[%d]"):format(i) })
    end
    node.template = true
  end
end

local function settle_inputs(state)
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    if not tensor.writer then
      tensor.sizes = tensor.sizes or shapes.of_input(state.reads[name], state.sizes)
      accesses.finish(tensor)
    end
  end
end

local function check_written(state)
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    if tensor.writer and tensor.given and overlap.within(tensor) then
      errors.raise(KIND, ("%s is written, but its elements are not apart: several have one address")
        :format(tensor.base or name),
        { path = ("tensors.%s.strides"):format(tensor.base or name) })
    end
  end
end

-- The nodes that read each tensor.
local function readers_of(state, nodes)
  local readers = {}
  for _, name in ipairs(state.order) do readers[name] = {} end
  for _, node in ipairs(nodes) do
    for _, read in ipairs(node.reads) do
      local list = readers[read.tensor]
      if list[#list] ~= node then list[#list + 1] = node end
    end
  end
  return readers
end

--- A graph of einsums, one after the other. sizes: of loop variables that do not follow from
--- tensors; tensors: sizes, strides, offset and dtype of those that are not plain; scalars: values
--- of names that stand bare; outputs: tensors that leave the graph beside those that nothing reads;
--- lists: names of nodes that are launched at once; templates: calls that may take in pointwise
--- neighbours, or true for all;
--- dtype: of tensors without one (f32), unless they hold positions or indices (i64); hints: example
--- values of symbolic sizes.
---@param t { einsums: string|string[], sizes?: table, tensors?: table, scalars?: table,
--- outputs?: string[], dtype?: string, hints?: table, lists?: string[][],
--- templates?: string[]|true }
---@return einloom.Graph
function graph.new(t)
  local state = given.read(t)
  local made = {}
  for i, entry in ipairs(given.texts(t.einsums)) do made[i] = nodes_of.read(state, entry) end
  for name in pairs(state.tensors) do
    if not state.tensors[name].place then
      local known = {}
      for _, own in ipairs(state.order) do known[#known + 1] = not own:find "'" and own or nil end
      errors.raise(KIND, ("no einsum mentions '%s'%s"):format(name, errors.hint(name, known)),
        { path = "tensors." .. tostring(name) })
    end
  end
  dtypes.settle(state, made)
  settle_inputs(state)
  check_written(state)
  dtypes.check(state, made)
  local nodes, by_name = {}, {}
  for i, one in ipairs(made) do
    accesses.settle(state, one)
    nodes[i], by_name[one.node.name] = one.node, one.node
  end
  local hints = given.hints(given.table_of(t.hints, "hints"), state)
  mark_outputs(state, given.table_of(t.outputs, "outputs"))
  mark_templates(nodes, by_name, t.templates)
  given.check_used(given.table_of(t.sizes, "sizes"), state.scalars, nodes, state.asked)
  local g = core_graph.build(state, made, hints, given.table_of(t.lists, "lists"), by_name)
  return setmetatable({
    core = g, nodes = nodes, tensors = state.tensors,
    order = state.order, sizes = state.sizes, readers = readers_of(state, nodes),
    by_name = by_name,
  }, Graph)
end

--- The kernels of the graph in the order in which they run; `tostring` gives their loops, `facts`
--- what is known of each. groups: names of the nodes of each kernel, in order; without it nodes are
--- fused. tiling, max_tiles, blocks, reductions: how tilings are chosen. combine: independent
--- kernels are launched at once.
---@param options? { groups?: string[][], tiling?: string, max_tiles?: integer, blocks?: boolean,
--- reductions?: boolean,
--- combine?: boolean|{ size_aware?: boolean, mixed?: integer } }
---@return einloom.Program[]
function Graph:kernels(options) return require "einloom.kernels.plan".kernels(self, options) end

--- The kernels as C11, and the names of the sizes that the function takes behind the tensors.
---@param kernels? einloom.Program[] of this graph; without it those of `kernels()`
---@param name? string of the function that runs them, "run" without it
---@param options? { in_place?: boolean, block?: integer, two_passes?: boolean } in_place: one
--- storage for a tensor and what takes over its storage; block: points in a block of kernels that
--- are launched at once; two_passes: means and deviations go over their values twice
---@return string text
---@return string[] sizes
function Graph:c_source(kernels, name, options)
  if kernels == nil then kernels = self:kernels() end
  return require "einloom.kernels.ccode".source(self, kernels, name, options)
end

--- The data of all tensors, computed directly from the einsums. Data of a tensor is a list of what
--- its storage holds.
---@param inputs table<string, number[]> of the tensors that only are read
---@param at? table<string, integer> values of symbolic sizes
---@return table<string, number[]>
function Graph:evaluate(inputs, at)
  return require "einloom.kernels.evaluate".run(self, inputs, at)
end

--- The einsums as they were written, and the sizes of the loop variables.
function Graph:__tostring()
  local lines, sizes = {}, {}
  for i, node in ipairs(self.nodes) do
    local parsed = node.einsum
    lines[i] = ("%s: %s%s"):format(node.name, parsed.is_update and "update " or "", parsed.body)
  end
  for i, name in ipairs(errors.keys(self.sizes)) do
    sizes[i] = ("%s=%s"):format(name, tostring(self.sizes[name]))
  end
  lines[#lines + 1] = table.concat(sizes, " ")
  return table.concat(lines, "\n")
end

--- The node of that name.
---@param name string
---@return einloom.GraphNode
function Graph:node(name)
  local node = self.by_name[name]
  if node then return node end
  errors.raise(KIND, ("the graph has no node '%s'"):format(tostring(name)))
end

return graph
