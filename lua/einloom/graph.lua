-- SPDX-License-Identifier: MIT
-- Graphs of einsums that become kernels: texts in the grammar of einsums are read into nodes
-- (loops, accesses, what is computed) and into a graph of the core.

local affine = require "einloom.affine"
local body = require "einloom.kernels.body"
local core = require "einloom.core"
local einsum = require "einloom.einsum"
local errors = require "einloom.errors"
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
  hints = true,
}
local tensor_keys = { sizes = true, strides = true, offset = true, dtype = true }
local dtypes = {
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
  if name == nil or dtypes[name] then return name end
  errors.raise(KIND, ("unknown dtype '%s'%s"):format(tostring(name),
    errors.hint(tostring(name), errors.keys(dtypes))), { path = path })
end

local function read_tensor(name, given)
  local path = "tensors." .. name
  errors.check_keys(KIND, table_of(given, path), tensor_keys, path)
  local tensor = { name = name, given = true, dtype = check_dtype(given.dtype, path .. ".dtype") }
  if given.sizes then tensor.sizes = shapes.sizes(given.sizes, path .. ".sizes") end
  if given.strides then tensor.strides = shapes.sizes(given.strides, path .. ".strides") end
  if given.offset then tensor.offset = shapes.size(given.offset, path .. ".offset") end
  return tensor
end

-- Texts of einsums: a list, or one text with an einsum on each line.
local function texts_of(given)
  if type(given) == "string" then
    local list = {}
    for line in given:gmatch "[^\n]+" do
      if line:find "%S" then list[#list + 1] = line end
    end
    return list
  end
  if type(given) ~= "table" or #given == 0 then
    errors.raise(KIND, "einsums expected: a list of texts, or one text with an einsum on each line",
      { path = "einsums" })
  end
  return given
end

local function read_given(t)
  errors.check_keys(KIND, table_of(t, "graph"), keys, "graph")
  local state = { sizes = {}, scalars = {}, tensors = {}, order = {}, reads = {} }
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
  return state
end

-- ---- einsums -------------------------------------------------------------------------------

-- A function that raises at a position of the einsum.
local function failing(parsed)
  return function(message, position, kind)
    errors.raise_at(kind or KIND, parsed.source, position or 1, message)
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

local function note_tensors(state, parsed)
  for _, access in ipairs(parsed.accesses) do
    local name = access.tensor
    local tensor = state.tensors[name] or { name = name }
    state.tensors[name] = tensor
    if not tensor.place then
      state.order[#state.order + 1] = name
      tensor.place = #state.order
    end
  end
end

local reductions = { ["+="] = "sum", ["*="] = "prod", ["max="] = "max", ["min="] = "min" }
local scans = { scan_sum = "sum", scan_prod = "prod", scan_max = "max", scan_min = "min" }

local called_reductions = {
  welford = {
    reduce = "welford_reduce", results = 3, gives = "mean, sum of squared deviations and count",
  },
  argmax = { reduce = "argmax", results = 1, gives = "the position of the largest value" },
  argmin = { reduce = "argmin", results = 1, gives = "the position of the smallest value" },
}

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
  return list, seen
end

-- What the scan runs along, taken out of the loops.
local function read_scan(node, parsed, fail)
  local call = parsed.expression
  local along = call[2] and call[2].op == "scalar" and call[2].name
  for i, name in ipairs(node.pointwise) do
    if name == along and #call == 2 then
      table.remove(node.pointwise, i)
      node.kind, node.reduce, node.reduction = "scan", scans[call.name], { along }
      return call[1]
    end
  end
  fail(("%s takes a value and the loop variable of the output that it runs along")
    :format(call.name))
end

-- Kind and loops of a node; returns the expression of one point.
local function classify(node, parsed, writes, reduced, fail)
  node.pointwise = outer_variables(writes, fail)
  node.reduction = reduced
  local expression = parsed.expression
  local called = expression.op == "call" and expression.name
  if parsed.op == "=" and scans[called] then
    local value = read_scan(node, parsed, fail)
    if #reduced == 0 then return value end
  end
  local special = parsed.op == "=" and called_reductions[called]
  if special then
    if #expression ~= 1 or #writes > special.results or #reduced == 0 then
      fail(("%s takes one value and gives %s of a reduction"):format(called, special.gives))
    end
    node.kind, node.reduce = "reduction", special.reduce
    return expression[1]
  end
  if parsed.op == "=" then
    if #reduced > 0 then
      fail(("%s is not on the left: reduce over it with +=, *=, max= or min="):format(reduced[1]))
    end
    node.kind = "pointwise"
    return expression
  end
  if #reduced == 0 then
    fail(("%s reduces, but every loop variable is on the left"):format(parsed.op))
  end
  node.kind, node.reduce = "reduction", reductions[parsed.op]
  return expression
end

local operations = {
  variable = function(stack, symbols, name) stack[#stack + 1] = symbols[name] end,
  constant = function(stack, _, n) stack[#stack + 1] = core.int(n) end,
  add = function(stack)
    local right = table.remove(stack)
    stack[#stack] = stack[#stack] + right
  end,
  scale = function(stack, _, n) stack[#stack] = n * stack[#stack] end,
  floor_div = function(stack, _, n) stack[#stack] = core.floor_div(stack[#stack], n) end,
  mod = function(stack, _, n) stack[#stack] = core.mod(stack[#stack], n) end,
}

local function index_expr(index, symbols)
  local stack = {}
  for _, step in ipairs(affine.steps(index.affine or index.tree)) do
    operations[step[1]](stack, symbols, step[2])
  end
  return stack[1]
end

local function read_access(state, node, access, fail)
  local tensor = state.tensors[access.tensor]
  if #access.indices ~= #tensor.sizes then
    fail(("%s has %d dimensions, not %d"):format(access.tensor, #tensor.sizes, #access.indices),
      access.position)
  end
  local flat, dims = core.int(0), {}
  for d, index in ipairs(access.indices) do
    dims[d] = index_expr(index, node.symbols)
    flat = flat + tensor.strides[d] * dims[d]
  end
  return { tensor = access.tensor, index = flat, dims = dims }
end

-- Symbols of loop variables and of the values that are loaded for indices.
local function make_symbols(node, reads)
  node.symbols, node.loaded = {}, {}
  local n = 0
  for _, list in ipairs { node.pointwise, node.reduction } do
    for _, name in ipairs(list) do
      node.symbols[name] = core.symbol("p" .. n, { min = 0 })
      n = n + 1
    end
  end
  n = 0
  for _, access in ipairs(reads) do
    for _, index in ipairs(access.indices) do
      for _, name in ipairs(index.names) do
        if name:sub(1, 1) == "$" and not node.symbols[name] then
          local symbol = core.symbol("indirect" .. n, { min = 0 })
          node.symbols[name], node.loaded[symbol:name()] = symbol, tonumber(name:sub(2))
          n = n + 1
        end
      end
    end
  end
end

local function row_major(sizes)
  local strides, step = {}, core.int(1)
  for d = #sizes, 1, -1 do
    strides[d] = step
    step = step * sizes[d]
  end
  return strides
end

local function finish_tensor(state, tensor)
  tensor.strides = tensor.strides or row_major(tensor.sizes)
  tensor.offset = tensor.offset or core.int(0)
  tensor.dtype = tensor.dtype or state.dtype
  if #tensor.strides ~= #tensor.sizes then
    errors.raise(KIND, "strides: one for each size expected", { path = "tensors." .. tensor.name })
  end
end

-- Sizes of what a node writes.
local function settle_outputs(state, node, writes, fail)
  for _, access in ipairs(writes) do
    local tensor, sizes = state.tensors[access.tensor], {}
    if tensor.writer or state.reads[access.tensor] then
      fail(("tensor %s is %s before"):format(access.tensor, tensor.writer and "written" or "read"),
        access.position)
    end
    for d, index in ipairs(access.indices) do
      sizes[d] = state.sizes[shapes.variable_of(index)]
      if tensor.sizes and tensor.sizes[d] and tensor.sizes[d]:eq(sizes[d]) ~= true then
        fail(("%s is %s long in dimension %d, but the loop over %s is %s"):format(access.tensor,
          tensor.sizes[d], d, index.text, sizes[d]), index.position)
      end
    end
    tensor.sizes, tensor.writer = tensor.sizes or sizes, node
    finish_tensor(state, tensor)
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

-- Loop variables that are missing on the left, those that stand bare included.
local function reduced_variables(state, parsed)
  local all, reduced = {}, table.move(parsed.reduced, 1, #parsed.reduced, 1, {})
  for _, name in ipairs(parsed.variables) do all[name] = true end
  for _, name in ipairs(body.bare_names(parsed.expression)) do
    if state.sizes[name] and not all[name] then
      all[name] = true
      reduced[#reduced + 1] = name
    end
  end
  return reduced, all
end

local function read_node(state, text, number)
  if type(text) ~= "string" then
    errors.raise(KIND, ("text expected, got %s"):format(type(text)),
      { path = ("einsums[%d]"):format(number) })
  end
  local parsed = einsum.parse(text, ("einsums[%d]"):format(number), true)
  local fail = failing(parsed)
  local node = { name = parsed.name, einsum = parsed }
  local reads, writes = split_accesses(parsed)
  note_tensors(state, parsed)
  shapes.infer(state.sizes, state.tensors, parsed.accesses)
  local reduced, loops = reduced_variables(state, parsed)
  local expression = classify(node, parsed, writes, reduced, fail)
  check_sizes(state, node, fail)
  local reading = {
    scalars = state.scalars, fail = fail, is_loop = function(name) return loops[name] end,
  }
  node.body = body.read(expression, reading)
  node.lazy = reading.lazy or false
  make_symbols(node, reads)
  settle_outputs(state, node, writes, fail)
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

-- Accesses that reach beyond their tensor, unless a select may leave them out.
local function check_reach(state, made)
  for _, access in ipairs(made.node.lazy and {} or made.reads) do
    for d, index in ipairs(access.indices) do
      local low, high = shapes.reach(index, state.sizes)
      local size = state.tensors[access.tensor].sizes[d]
      if low and (low:lt(0) == true or size:le(high) == true) then
        made.fail(("%s is read from %s to %s in dimension %d, but is %s long"):format(access.tensor,
          low, high, d, size), index.position)
      end
    end
  end
end

local function settle_accesses(state, made)
  local node = made.node
  node.reads, node.writes = {}, {}
  for i, access in ipairs(made.reads) do
    node.reads[i] = read_access(state, node, access, made.fail)
  end
  for i, access in ipairs(made.writes) do
    node.writes[i] = read_access(state, node, access, made.fail)
  end
  check_reach(state, made)
end

local function core_uses(accesses)
  local uses = {}
  for i, access in ipairs(accesses) do
    uses[i] = { buffer = access.tensor, index = access.index }
  end
  return uses
end

local function core_loops(state, node, list)
  local loops = {}
  for i, name in ipairs(list) do loops[i] = { node.symbols[name], state.sizes[name] } end
  return loops
end

local function add_node(state, g, made)
  local node = made.node
  local ok, message, kind = g:op {
    name = node.name, kind = node.kind, reduce = node.reduce,
    pointwise = core_loops(state, node, node.pointwise),
    reduction = core_loops(state, node, node.reduction),
    reads = core_uses(node.reads), writes = core_uses(node.writes),
  }
  if not ok then made.fail(message, nil, kind) end
end

local function read_hints(given)
  local hints = {}
  for name, hint in pairs(table_of(given, "hints")) do
    hints[type(name) == "string" and core.symbol(name) or name] = hint
  end
  return hints
end

local function mark_outputs(state, given)
  for _, name in ipairs(table_of(given, "outputs")) do
    local tensor = state.tensors[name]
    if not tensor or not tensor.writer then
      errors.raise(KIND, ("'%s' is not written%s"):format(tostring(name),
        errors.hint(tostring(name), errors.keys(state.tensors))), { path = "outputs" })
    end
    tensor.output = true
  end
  for _, name in ipairs(state.order) do
    local tensor = state.tensors[name]
    tensor.output = tensor.output or tensor.writer ~= nil and not state.reads[name]
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
      finish_tensor(state, tensor)
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
--- dtype: of tensors without one (f32); hints: example values of symbolic sizes.
---@param t { einsums: string|string[], sizes?: table, tensors?: table, scalars?: table,
--- outputs?: string[], dtype?: string, hints?: table }
---@return einloom.Graph
function graph.new(t)
  local state = read_given(t)
  local made = {}
  for i, text in ipairs(texts_of(t.einsums)) do made[i] = read_node(state, text, i) end
  for name in pairs(state.tensors) do
    if not state.tensors[name].place then
      errors.raise(KIND, ("no einsum mentions '%s'%s"):format(name, errors.hint(name, state.order)),
        { path = "tensors." .. tostring(name) })
    end
  end
  settle_inputs(state)
  local nodes, by_name = {}, {}
  for i, one in ipairs(made) do
    settle_accesses(state, one)
    nodes[i], by_name[one.node.name] = one.node, one.node
  end
  mark_outputs(state, t.outputs)
  return setmetatable({
    core = build(state, made, read_hints(t.hints)), nodes = nodes, tensors = state.tensors,
    order = state.order, sizes = state.sizes, readers = readers_of(state, nodes),
    by_name = by_name,
  }, Graph)
end

--- The kernels of the graph in the order in which they run; `tostring` gives their loops, `facts`
--- what is known of each. groups: names of the nodes of each kernel, in order; without it nodes are
--- fused. max_tiles, blocks, reductions, coalescing: how tilings are chosen.
---@param options? { groups?: string[][], max_tiles?: integer, blocks?: boolean,
--- reductions?: boolean, coalescing?: boolean }
---@return einloom.Program[]
function Graph:kernels(options) return require "einloom.kernels.plan".kernels(self, options) end

--- The kernels as C11, and the names of the sizes that the function takes behind the tensors.
---@param kernels? einloom.Program[] of this graph; without it those of `kernels()`
---@param name? string of the function that runs them, "run" without it
---@return string text
---@return string[] sizes
function Graph:c_source(kernels, name)
  return require "einloom.kernels.ccode".source(self, kernels or self:kernels(), name)
end

--- The data of all tensors, computed directly from the einsums. Data of a tensor is a list of what
--- its storage holds.
---@param inputs table<string, number[]> of the tensors that only are read
---@param at? table<string, integer> values of symbolic sizes
---@return table<string, number[]>
function Graph:evaluate(inputs, at)
  return require "einloom.kernels.evaluate".run(self, inputs, at)
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
