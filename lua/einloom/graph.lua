-- SPDX-License-Identifier: MIT
-- Graphs of einsums that become kernels: texts in the grammar of einsums are read into nodes
-- (loops, accesses, what is computed) and into a graph of the core.

local accesses = require "einloom.kernels.accesses"
local body = require "einloom.kernels.body"
local core = require "einloom.core"
local dtypes = require "einloom.kernels.dtypes"
local einsum = require "einloom.einsum"
local errors = require "einloom.errors"
local given_of = require "einloom.kernels.given"
local kinds = require "einloom.kernels.kinds"
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

local keys = {
  einsums = true, sizes = true, tensors = true, scalars = true, outputs = true, dtype = true,
  hints = true, lists = true, templates = true,
}
local tensor_keys = { sizes = true, strides = true, offset = true, dtype = true }
local known_dtypes = {
  f32 = true, f64 = true, f16 = true, bf16 = true, i64 = true, i32 = true, i8 = true, bool = true,
}

-- ---- what is given -------------------------------------------------------------------------

local function table_of(given, path)
  if given == nil then return {} end
  if type(given) ~= "table" then
    errors.raise(KIND, ("table expected, got %s"):format(type(given)), { path = path })
  end
  return given
end

local function check_dtype(name, path)
  if name == nil or known_dtypes[name] then return name end
  errors.raise(KIND, ("unknown dtype '%s'%s"):format(tostring(name),
    errors.hint(tostring(name), errors.keys(known_dtypes))), { path = path })
end

local function read_tensor(name, given)
  if type(name) ~= "string" then
    errors.raise(KIND, ("[%s]: every tensor needs a name here"):format(tostring(name)),
      { path = "tensors" })
  end
  local path = "tensors." .. name
  errors.check_keys(KIND, table_of(given, path), tensor_keys, path)
  local tensor = { name = name, given = true, dtype = check_dtype(given.dtype, path .. ".dtype") }
  if given.sizes then tensor.sizes = shapes.sizes(given.sizes, path .. ".sizes") end
  if given.strides then tensor.strides = shapes.sizes(given.strides, path .. ".strides") end
  if given.offset then tensor.offset = shapes.size(given.offset, path .. ".offset") end
  return tensor
end

-- The lines of a text, each behind as many empty ones as stand before it, so that places are those
-- in the whole text.
local function lines_of(text)
  local list, number = {}, 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    if line:find "%S" then
      list[#list + 1] = { name = "einsums", text = ("\n"):rep(number) .. line,
        start = number + line:find "%S" }
    end
    number = number + 1
  end
  return list
end

-- Einsums as { name =, text =, start = }: of a list of texts, or of one text with an einsum on each
-- line.
local function texts_of(given)
  if type(given) == "string" then given = lines_of(given) end
  if type(given) ~= "table" or #given == 0 then
    errors.raise(KIND, "einsums expected: a list of texts, or one text with an einsum on each line",
      { path = "einsums" })
  end
  local list = {}
  for i, text in ipairs(given) do
    if type(text) == "string" then
      text = { name = ("einsums[%d]"):format(i), text = text, start = 1 }
    elseif not (type(text) == "table" and text.start) then
      errors.raise(KIND, ("text expected, got %s"):format(type(text)),
        { path = ("einsums[%d]"):format(i) })
    end
    list[i] = text
  end
  return list
end

-- What a bare name in an index is: a number, true for a size that is a symbol, nil for others.
local function sizes_by_name(state)
  local symbols = {}
  local function note(size)
    for _, symbol in ipairs(size:symbols()) do symbols[symbol:name()] = true end
  end
  for _, size in pairs(state.sizes) do note(size) end
  for _, tensor in pairs(state.tensors) do
    for _, size in ipairs(tensor.sizes or {}) do note(size) end
  end
  return function(name)
    if state.sizes[name] then return nil end
    local size = symbols[name] or math.tointeger(state.scalars[name])
    if size then state.asked[name] = true end
    return size
  end
end

local function read_given(t)
  if t == nil then errors.raise(KIND, "a table with einsums expected", { path = "graph" }) end
  errors.check_keys(KIND, table_of(t, "graph"), keys, "graph")
  local state = { sizes = {}, scalars = {}, tensors = {}, order = {}, reads = {}, current = {},
    by_name = {}, asked = {}, walked = {} }
  for name, size in pairs(table_of(t.sizes, "sizes")) do
    state.sizes[name] = shapes.size(size, "sizes." .. tostring(name))
  end
  for name, scalar in pairs(table_of(t.scalars, "scalars")) do
    if type(scalar) ~= "number" then
      errors.raise(KIND, ("number expected, got %s"):format(type(scalar)),
        { path = "scalars." .. tostring(name) })
    end
    if state.sizes[name] then
      errors.raise(KIND, ("'%s' is a loop variable and a scalar"):format(name),
        { path = "scalars." .. name })
    end
    state.scalars[name] = scalar
  end
  for name, tensor in pairs(table_of(t.tensors, "tensors")) do
    state.tensors[name] = read_tensor(name, tensor)
  end
  state.dtype = check_dtype(t.dtype, "dtype") or "f32"
  state.size_of = sizes_by_name(state)
  return state
end

-- ---- einsums -------------------------------------------------------------------------------

-- A function that raises at a position of the einsum.
local function failing(parsed, start)
  return function(message, position, kind)
    errors.raise_at(kind or KIND, parsed.source, position or start, message)
  end
end

local function split_accesses(parsed)
  local reads, writes = {}, {}
  for _, access in ipairs(parsed.accesses) do
    local into = access.output and writes or reads
    into[#into + 1] = access
  end
  return reads, writes
end

-- Names of tensors are those of their current versions from here on.
local function note_tensors(state, parsed)
  for _, access in ipairs(parsed.accesses) do
    access.named = access.tensor
    access.tensor = not access.output and state.current[access.tensor] or access.tensor
    local tensor = state.tensors[access.tensor] or { name = access.tensor }
    state.tensors[access.tensor] = tensor
    if not tensor.place then
      state.order[#state.order + 1] = access.tensor
      tensor.place = #state.order
    end
  end
end

local function check_sizes(state, node, fail)
  for _, list in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(list) do
      if not state.sizes[name] then
        fail(("the size of %s does not follow from a tensor: give sizes.%s"):format(name, name))
      end
    end
  end
end

-- Loop variables that are missing on the left, those that stand bare included; a set of all, and
-- all in order.
local function reduced_variables(state, parsed)
  local all, reduced = {}, table.move(parsed.reduced, 1, #parsed.reduced, 1, {})
  local list = table.move(parsed.variables, 1, #parsed.variables, 1, {})
  for _, name in ipairs(parsed.variables) do all[name] = true end
  for _, name in ipairs(body.bare_names(parsed.expression)) do
    if state.sizes[name] and not all[name] then
      all[name] = true
      reduced[#reduced + 1], list[#list + 1] = name, name
    end
  end
  return reduced, all, list
end

-- Kind, loops and expression of a node that updates a tensor, which is another version behind it.
local function read_update(state, node, parsed, reads, writes, fail)
  local write = writes[1]
  local tensor = accesses.new_version(state, write, fail)
  write.tensor = tensor.name
  shapes.infer(state, writes, fail)
  local _, _, loops = reduced_variables(state, parsed)
  local expression = kinds.update(node, parsed, reads, writes, loops, tensor.updates, fail)
  tensor.writer, state.current[tensor.base] = node, tensor.name
  return expression
end

local function read_kind(state, node, parsed, reads, writes, fail)
  if parsed.is_update then return read_update(state, node, parsed, reads, writes, fail) end
  return kinds.classify(node, parsed, reads, writes, (reduced_variables(state, parsed)), fail)
end

-- An update without a label is called like its tensor, with a number where that name is taken.
local function parse(state, entry)
  local parsed = einsum.parse(entry.text, entry.name, { size_of = state.size_of })
  local name, count = parsed.name, 1
  while parsed.is_update and not parsed.labelled and state.by_name[name] do
    count = count + 1
    name = parsed.name .. "_" .. count
  end
  parsed.name, state.by_name[name] = name, true
  return parsed
end

local function read_node(state, entry)
  local parsed = parse(state, entry)
  local fail = failing(parsed, entry.start)
  local node = { name = parsed.name, einsum = parsed }
  local reads, writes = split_accesses(parsed)
  note_tensors(state, parsed)
  shapes.infer(state, parsed.accesses, fail)
  local expression = read_kind(state, node, parsed, reads, writes, fail)
  check_sizes(state, node, fail)
  local _, loops = reduced_variables(state, parsed)
  local reading = {
    scalars = state.scalars, fail = fail, is_loop = function(name) return loops[name] end,
    size_of = state.size_of,
  }
  node.body = body.read(expression, reading)
  node.lazy = reading.lazy or false
  accesses.make_symbols(node, table.move(writes, 1, #writes, #reads + 1,
    table.move(reads, 1, #reads, 1, {})))
  if not node.updates then accesses.settle_outputs(state, node, writes, fail) end
  for _, access in ipairs(reads) do
    local list = state.reads[access.tensor] or {}
    state.reads[access.tensor] = list
    list[#list + 1] = { access = access, fail = fail }
  end
  return { node = node, reads = reads, writes = writes, fail = fail }
end

-- ---- the graph of the core -----------------------------------------------------------------

local function checked(result, message, kind)
  if not result then errors.raise(kind, message) end
  return result
end

local function core_uses(list)
  local uses = {}
  for i, access in ipairs(list) do
    uses[i] = { buffer = access.tensor, index = access.index }
  end
  return uses
end

local function whole_uses(list)
  local uses = {}
  for i, access in ipairs(list) do uses[i] = { buffer = access.tensor, mode = "whole" } end
  return uses
end

local function core_loops(state, node, list)
  local loops = {}
  for i, name in ipairs(list) do loops[i] = { node.symbols[name], state.sizes[name] } end
  return loops
end

-- A call takes tensors as a whole; what it sums is one dimension of what it sees.
local function call_info(state, node)
  local inner = core.int(1)
  for _, name in ipairs(node.reduction) do inner = inner * state.sizes[name] end
  return {
    name = node.name, kind = "opaque", call = node.call, inputs = { { inner }, { 1, inner } },
    reads = whole_uses(node.reads), writes = whole_uses(node.writes),
    extensible = node.template,
    pointwise = node.template and core_loops(state, node, node.pointwise) or nil,
  }
end

local function loops_info(state, node)
  local info = {
    name = node.name, kind = node.kind, reduce = node.reduce,
    pointwise = core_loops(state, node, node.pointwise),
    reduction = core_loops(state, node, node.reduction),
    reads = core_uses(node.reads), writes = core_uses(node.writes),
    mutates = node.updates and { node.updates } or nil, hint = accesses.hint(node),
  }
  info.writes[1].accumulates = node.join ~= nil or nil
  return info
end

local function add_node(state, g, made)
  local node = made.node
  local info = node.kind == "opaque" and call_info(state, node) or loops_info(state, node)
  local ok, message, kind = g:op(info)
  if not ok then made.fail(message, nil, kind) end
end

-- What leaves the graph: what is asked for, what nothing reads, and inputs that were updated.
local function mark_outputs(state, given)
  for _, name in ipairs(table_of(given, "outputs")) do
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

-- Nodes that are launched at once, by name.
-- Calls that may take in pointwise neighbours: those that are named, or all.
local function mark_templates(nodes, by_name, given)
  if given == true then
    for _, node in ipairs(nodes) do node.template = node.kind == "opaque" or nil end
    return
  end
  for i, name in ipairs(table_of(given, "templates")) do
    local node = by_name[name]
    if not node or node.kind ~= "opaque" then
      errors.raise(KIND, ("'%s' is no call%s"):format(tostring(name),
        node and "" or errors.hint(tostring(name), errors.keys(by_name))),
        { path = ("templates[%d]"):format(i) })
    end
    node.template = true
  end
end

local function add_lists(g, given, by_name)
  for i, names in ipairs(table_of(given, "lists")) do
    local path = ("lists[%d]"):format(i)
    for _, name in ipairs(table_of(names, path)) do
      if not by_name[name] then
        errors.raise(KIND, ("the graph has no node '%s'%s"):format(tostring(name),
          errors.hint(tostring(name), errors.keys(by_name))), { path = path })
      end
    end
    local number, message, kind = g:list(names)
    if not number then errors.raise(kind, message, { path = path }) end
  end
end

local function build(state, made, hints)
  local g = checked(core.graph { hints = hints })
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    checked(g:buffer { name = name, sizes = tensor.sizes, strides = tensor.strides,
      offset = tensor.offset, dtype = tensor.dtype, output = tensor.output })
  end
  for _, one in ipairs(made) do add_node(state, g, one) end
  return g
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
  local state = read_given(t)
  local made = {}
  for i, entry in ipairs(texts_of(t.einsums)) do made[i] = read_node(state, entry) end
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
  local hints = given_of.hints(table_of(t.hints, "hints"), state)
  mark_outputs(state, t.outputs)
  mark_templates(nodes, by_name, t.templates)
  given_of.check_used(table_of(t.sizes, "sizes"), state.scalars, nodes, state.asked)
  local g = build(state, made, hints)
  add_lists(g, t.lists, by_name)
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
---@param options? { in_place?: boolean, block?: integer } in_place: one storage for a tensor and
--- what takes over its storage; block: points in a block of kernels that are launched at once
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
