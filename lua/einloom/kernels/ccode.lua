-- SPDX-License-Identifier: MIT
-- Kernels as C11: one function for each, and one that runs them in order.  All arithmetic is in
-- doubles, as in direct evaluation; a value is rounded to the type of its tensor where it is made.

local core = require "einloom.core"
local crun = require "einloom.kernels.crun"
local ctext = require "einloom.kernels.ctext"
local errors = require "einloom.errors"
local names = require "einloom.kernels.names"
local program = require "einloom.kernels.program"
local scalar = require "einloom.kernels.scalar"

local ccode = {}

local fill = ctext.fill

local function type_of(state, name) return scalar.types[state.graph.tensors[name].dtype] end

-- ---- statements ----------------------------------------------------------------------------

local function emit(state, format, ...)
  state.lines[#state.lines + 1] = ("  "):rep(state.depth) .. format:format(...)
end

-- Keeps a result as the tensor would, and stores it where the kernel has to, unless it is made a
-- second time.
local function keep(state, statement, write, value, again)
  local name = state.id(write.tensor) .. (write.tag or "")
  local text = fill(scalar.to[state.graph.tensors[write.tensor].dtype], value)
  emit(state, "const %s v_%s = %s;", type_of(state, write.tensor), name, text)
  if state.program.stored[write.tensor] and not again then
    emit(state, "%s = v_%s;", state.element(write.tensor, write.index, statement), name)
  else
    emit(state, "(void)v_%s;", name)
  end
end

-- Updates an element with what it is and a value.
local function scatter(state, statement)
  local node, write = statement.node, statement.writes[1]
  local dtype = state.graph.tensors[write.tensor].dtype
  local element = state.element(write.tensor, write.index, statement)
  local value = ctext.body(state, statement, node.body)
  if node.join then
    value = fill(scalar.c[node.join], fill(scalar.from[dtype], element), value)
  end
  emit(state, "%s = %s;", element, fill(scalar.to[dtype], value))
end

local arg_compare = { argmax = ">", argmin = "<" }

-- Whether a reduction goes over its values a second time.
local function passes_twice(state, node)
  return state.two_passes and node.reduce == "welford_reduce"
end

local function accumulator(state, statement)
  return "a_" .. state.id(statement.writes[1].tensor)
end

local function start(state, statement)
  local node, name = statement.node, accumulator(state, statement)
  if passes_twice(state, node) then
    emit(state, "double %s_sum = 0.0, %s_m2 = 0.0, %s_n = 0.0;", name, name, name)
  elseif node.reduce == "welford_reduce" then
    emit(state, "double %s_mean = 0.0, %s_m2 = 0.0, %s_n = 0.0;", name, name, name)
  elseif arg_compare[node.reduce] then
    emit(state, "double %s_v = 0.0;", name)
    emit(state, "int64_t %s_n = 0, %s = 0;", name, name)
  else
    emit(state, "double %s = %s;", name, node.start and ctext.value(state, statement, node.start)
      or ctext.number(scalar.reductions[node.reduce].start))
  end
end

local function take(state, statement)
  local node, name = statement.node, accumulator(state, statement)
  local value = ctext.body(state, statement, node.body)
  if passes_twice(state, node) then
    emit(state, "%s_sum += %s;", name, value)
    emit(state, "%s_n += 1.0;", name)
  elseif node.reduce == "welford_reduce" then
    emit(state, "const double %s_v = %s;", name, value)
    emit(state, "const double %s_d = %s_v - %s_mean;", name, name, name)
    emit(state, "%s_n += 1.0;", name)
    emit(state, "%s_mean += %s_d / %s_n;", name, name, name)
    emit(state, "%s_m2 += %s_d * (%s_v - %s_mean);", name, name, name, name)
  elseif arg_compare[node.reduce] then
    emit(state, "const double %s_k = %s;", name, value)
    emit(state, "if (%s_n == 0 || %s_k %s %s_v) {", name, name, arg_compare[node.reduce], name)
    emit(state, "  %s_v = %s_k;", name, name)
    emit(state, "  %s = %s_n;", name, name)
    emit(state, "}")
    emit(state, "%s_n++;", name)
  else
    emit(state, "%s = %s;", name, fill(scalar.c[scalar.reductions[node.reduce].op], name, value))
  end
end

local results = { "_mean", "_m2", "_n" }

local function finish(state, statement)
  local welford = statement.node.reduce == "welford_reduce"
  for k, write in ipairs(statement.writes) do
    keep(state, statement, write, accumulator(state, statement) .. (welford and results[k] or ""))
  end
end

local function reduces(node) return node.kind == "reduction" or node.kind == "opaque" end

-- A statement at one point of the loops; again: for a second pass, which stores nothing.
local function inner(state, statement, again)
  local node = statement.node
  if reduces(node) then return take(state, statement) end
  if node.kind == "scatter" then return scatter(state, statement) end
  local value
  if node.kind == "scan" then
    take(state, statement)
    value = accumulator(state, statement)
  else
    value = "t_" .. state.id(statement.writes[1].tensor) .. (statement.writes[1].tag or "")
    emit(state, "const double %s = %s;", value, ctext.body(state, statement, node.body))
  end
  for _, write in ipairs(statement.writes) do keep(state, statement, write, value, again) end
end

-- ---- second passes -------------------------------------------------------------------------

local function refuse_again(state, statement, why)
  errors.raise("bad_plan", ("%s: %s goes over its values twice, %s"):format(state.program.name,
    statement.node.name, why), { path = "options.two_passes" })
end

-- What a statement needs of those before it in its loop, into `needed`; all of it is pointwise.
local function need(state, by_tensor, asked, statement, needed)
  for _, load in ipairs(statement.loads) do
    local writer = load.held and by_tensor[load.tensor]
    if writer and writer.node.kind == "scan" then
      refuse_again(state, asked, ("but %s is a scan in the same loop"):format(writer.node.name))
    end
    local storage = state.shared[load.tensor]
    if not load.held and state.overwritten[storage] then
      refuse_again(state, asked, ("but the same loop overwrites %s"):format(load.tensor))
    end
    if writer and not needed[writer] then
      needed[writer] = true
      need(state, by_tensor, asked, writer, needed)
    end
  end
end

-- The statements of a section that go over their values twice, and those that these need.
local function second_pass(state, section)
  local asked, needed, by_tensor = {}, {}, {}
  state.overwritten = {}
  for _, statement in ipairs(section.statements) do
    for _, write in ipairs(statement.writes) do
      local inside = not reduces(statement.node)
      by_tensor[write.tensor] = inside and statement or nil
      if inside and state.program.stored[write.tensor] then
        state.overwritten[state.shared[write.tensor]] = true
      end
    end
    if passes_twice(state, statement.node) then asked[#asked + 1] = statement end
  end
  for _, statement in ipairs(asked) do
    need(state, by_tensor, statement, statement, needed)
    needed[statement] = true
  end
  return asked, needed
end

local function take_again(state, statement)
  local name = accumulator(state, statement)
  emit(state, "const double %s_d = %s - %s_mean;", name,
    ctext.body(state, statement, statement.node.body), name)
  emit(state, "%s_m2 += %s_d * %s_d;", name, name, name)
end

local function emit_mean(state, statement)
  local name = accumulator(state, statement)
  emit(state, "const double %s_mean = %s_sum / %s_n;", name, name, name)
end

-- ---- loops ---------------------------------------------------------------------------------

-- The variables of a tree from its index.
local function open_variables(state, tree)
  emit(state, "(void)%s;", tree.index)
  for _, entry in ipairs(tree.variables) do
    emit(state, "const int64_t %s = %s;", entry.name, state.integer(entry.expr))
    emit(state, "(void)%s;", entry.name)
  end
end

local function open_loops(state, trees, skip)
  for _, tree in ipairs(trees) do
    if skip and program.is_one(tree.extent) then
      emit(state, "const int64_t %s = 0;", tree.index)
    else
      emit(state, "for (int64_t %s = 0; %s < %s; %s++) {", tree.index, tree.index,
        state.integer(tree.extent), tree.index)
      state.depth = state.depth + 1
      state.open = state.open + 1
    end
    open_variables(state, tree)
  end
end

local function close_loops(state, n)
  for _ = 1, n do
    state.depth = state.depth - 1
    emit(state, "}")
  end
end

local function each(state, section, kind, act)
  for _, statement in ipairs(section.statements) do
    if not kind or kind[statement.node.kind] then act(state, statement) end
  end
end

-- A reduction of one point: no loop, and no order but that of the statements.
local function emit_single(state, section)
  open_loops(state, state.program.reduction, true)
  each(state, section, nil, function(_, statement)
    if reduces(statement.node) or statement.node.kind == "scan" then start(state, statement) end
    inner(state, statement)
    if passes_twice(state, statement.node) then
      emit_mean(state, statement)
      take_again(state, statement)
    end
    if reduces(statement.node) then finish(state, statement) end
  end)
end

-- The loops over the reduction, with what `act` makes of each statement in them.
local function emit_pass(state, section, act)
  emit(state, "{")
  state.depth = state.depth + 1
  state.open = 1
  open_loops(state, state.program.reduction, true)
  each(state, section, nil, act)
  close_loops(state, state.open)
end

local function emit_inside(state, section)
  each(state, section, { reduction = true, opaque = true, scan = true }, start)
  emit_pass(state, section, inner)
  local asked, needed = second_pass(state, section)
  if #asked > 0 then
    for _, statement in ipairs(asked) do emit_mean(state, statement) end
    emit_pass(state, section, function(_, statement)
      if not needed[statement] then return end
      if passes_twice(state, statement.node) then return take_again(state, statement) end
      inner(state, statement, true)
    end)
  end
  each(state, section, { reduction = true, opaque = true }, finish)
end

-- ---- functions -----------------------------------------------------------------------------

local function new_state(graph, made, shared, two_passes)
  local state = { graph = graph, program = made, lines = {}, depth = 1, open = 0, sizes = {},
    shared = shared, two_passes = two_passes }
  local known, seen = {}, {}
  for _, trees in ipairs { made.grid, made.reduction } do
    for _, tree in ipairs(trees) do
      known[tree.index] = true
      for _, entry in ipairs(tree.variables) do known[entry.name] = true end
    end
  end
  function state.integer(e, statement)
    return ctext.integer(e, function(name)
      if known[name] then return name end
      local loaded = statement and statement.node.loaded[name]
      if loaded then return "(int64_t)" .. state.index_load(statement, loaded) end
      if not seen[name] then state.sizes[#state.sizes + 1] = name end
      seen[name] = true
      return "n_" .. name
    end)
  end
  function state.element(tensor, index, statement)
    local offset = graph.tensors[tensor].offset
    return ("m_%s[%s]"):format(shared[tensor], state.integer(offset + index, statement))
  end
  function state.index_load(statement, n)
    local dtype = graph.tensors[statement.loads[n].tensor].dtype
    local text = ctext.load(state, statement, n)
    return dtype:find "f16" and fill(scalar.from[dtype], text) or text
  end
  function state.id(tensor) return (tensor:gsub("'", "_u")) end
  return state
end

local function parameters(state, made, shared)
  local list = made.facts.launch and { "int64_t first", "int64_t last" } or {}
  local used, written = crun.storages(made, shared)
  for _, name in ipairs(used) do
    list[#list + 1] = ("%s%s *m_%s"):format(written[name] and "" or "const ",
      type_of(state, name), name)
  end
  for _, name in ipairs(state.sizes) do list[#list + 1] = "int64_t n_" .. name end
  return #list > 0 and table.concat(list, ", ") or "void"
end

-- The points of the grid from first to last - 1, the innermost index the fastest.
local function open_points(state, trees)
  emit(state, "for (int64_t point = first; point < last; point++) {")
  state.depth, state.open = state.depth + 1, 1
  local step = ""
  for i = #trees, 1, -1 do
    local extent = state.integer(trees[i].extent)
    emit(state, "const int64_t %s = point%s%s;", trees[i].index, step,
      i > 1 and " % " .. extent or "")
    step = step .. " / " .. extent
  end
  for _, tree in ipairs(trees) do open_variables(state, tree) end
end

-- Points of the grid of a kernel, as C.
local function points_text(state, made)
  local extents = {}
  for i, tree in ipairs(made.grid) do extents[i] = state.integer(tree.extent) end
  return #extents > 0 and table.concat(extents, " * ") or "1"
end

local function kernel_function(graph, made, shared, two_passes)
  local state = new_state(graph, made, shared, two_passes)
  if made.facts.launch then
    open_points(state, made.grid)
  else
    open_loops(state, made.grid)
  end
  local loops = state.open
  for _, section in ipairs(made.sections) do
    if section.single then
      emit_single(state, section)
    elseif section.inside then
      emit_inside(state, section)
    else
      each(state, section, nil, inner)
    end
  end
  close_loops(state, loops)
  local points = points_text(state, made)
  local head = ("static void %s(%s) {"):format(made.name, parameters(state, made, shared))
  return head .. "\n" .. table.concat(state.lines, "\n") .. "\n}\n", state.sizes, points
end

local function prelude(graph)
  for _, tensor in pairs(graph.tensors) do
    if tensor.dtype:find "f16" then return scalar.prelude .. scalar.prelude_small end
  end
  return scalar.prelude
end

--- C11 of kernels: a static function for each, and `void NAME(tensors in order of mention,
--- int64_t sizes in order of their first use)`, which runs them in order. Tensors are their storage
--- from address 0. Indices that are loaded must be in range. in_place: what takes over the storage
--- of a tensor that was made before is there, and not in a storage of its own; that of the other
--- tensor is then not used. block: points of the grid in one block of kernels launched at once.
--- two_passes: means and sums of squared deviations go over their values twice, as evaluation does.
---@param graph einloom.Graph
---@param programs einloom.Program[]
---@param name? string of the function that runs all, "run" without it
---@param options? { in_place?: boolean, block?: integer, two_passes?: boolean }
---@return string text
---@return string[] sizes names of the size arguments
function ccode.source(graph, programs, name, options)
  options = options or {}
  if type(options) ~= "table" then
    errors.raise("bad_plan", ("table expected, got %s"):format(type(options)), { path = "options" })
  end
  names.check_kernels(graph, programs)
  name = names.check(name or "run")
  errors.check_keys("bad_plan", options, { in_place = true, block = true, two_passes = true },
    "options")
  local parts = {
    "/* Generated by einloom " .. tostring(core.version) .. ". */",
    "#include <math.h>\n#include <stdint.h>\n", prelude(graph),
  }
  local shared = crun.storage_names(graph, programs, options.in_place)
  local written = {}
  for i, made in ipairs(programs) do
    local text, sizes, points = kernel_function(graph, made, shared, options.two_passes)
    parts[#parts + 1] = text
    written[i] = { made = made, sizes = sizes, points = points }
  end
  local text, sizes = crun.text(graph, programs, written, shared,
    { name = name, block = options.block })
  parts[#parts + 1] = text
  names.check_free(name, table.concat(parts, "\n", 3))
  return table.concat(parts, "\n"), sizes
end

return ccode
