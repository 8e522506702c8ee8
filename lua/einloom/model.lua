-- SPDX-License-Identifier: MIT
-- Workloads, architectures and mappings as objects of the core, and the analysis on them.  Each is
-- made once and kept as long as the Lua objects it comes from.

local arch = require "einloom.arch"
local conventions = require "einloom.conventions"
local core = require "einloom.core"
local errors = require "einloom.errors"
local fields = require "einloom.search.fields"
local held = require "einloom.search.held"
local holes = require "einloom.mapping_holes"
local mapping = require "einloom.mapping"
local mapping_text = require "einloom.mapping_text"
local overlap = require "einloom.overlap"
local readonly = require "einloom.readonly"
local sets = require "einloom.sets"
local workload = require "einloom.workload"

local model = {}

local raw = readonly.raw

local function weak() return setmetatable({}, { __mode = "k" }) end

local workloads = weak() -- workload -> core workload
local archs = weak() -- workload -> arch -> core arch
local mappings = weak() -- workload -> mapping -> core mapping

-- A builder's result; its error becomes an error object.
local function must(result, message, kind)
  if result == nil then errors.raise(kind, message) end
  return result
end

-- ---- workload ----

local function build_access(built, e, t)
  local access = must(built:access(e, t.tensor, t.output, t.bits_per_value))
  for i, pair in ipairs(t.projection) do
    local form = t.affine[i]
    if form.steps then
      must(built:index(e, access, pair[1], form.steps))
    else
      must(built:rank(e, access, pair[1], form.constant, form.terms))
    end
  end
end

local function build_workload(w)
  local built = core.workload()
  for _, v in ipairs(w.variables) do must(built:variable(v, w.rank_variables[v])) end
  must(built:repeats(w.n_instances))
  for _, einsum in ipairs(w.einsums) do
    local e = must(built:einsum(einsum.name, einsum.is_copy, einsum.n_instances))
    for _, t in ipairs(einsum.tensors) do build_access(built, e, t) end
  end
  return built
end

-- ---- architecture ----

-- Calls set(einsum, tensor, value) for every tensor of every einsum that the table covers.
local function each_tensor(w, t, path, set)
  if t == nil then return end
  for _, einsum in ipairs(w.einsums) do
    local context = w:context(einsum.name)
    local values = sets.resolve(t, context, path)
    for _, tensor in ipairs(context.tensors) do
      if values[tensor] ~= nil then set(einsum.name, tensor, values[tensor]) end
    end
  end
end

local function build_actions(built, c, node, w, path)
  for _, action in ipairs(node.actions or {}) do
    local throughput = action.throughput ~= math.huge and action.throughput or nil
    must(built:action(c, action.name, action.energy, throughput, action.bits_per_action))
    each_tensor(w, action.values_per_action, ("%s.%s.values_per_action"):format(path, action.name),
      function(einsum, tensor, x) must(built:values_per_action(c, action.name, einsum, tensor,
        x)) end)
  end
end

local function build_dimensions(built, c, node, w, path)
  for _, d in ipairs(node.spatial) do
    local index = must(built:dimension(c, d.name, d.fanout, d.usage_scale, d.power_gateable))
    if d.may_reuse == "all" then
      must(built:may_reuse(c, index, nil, nil))
    else
      for _, einsum in ipairs(w.einsums) do
        local members = arch.reusable(d, w:context(einsum.name), ("%s.%s.may_reuse")
          :format(path, d.name))
        for tensor in pairs(members) do must(built:may_reuse(c, index, einsum.name, tensor)) end
      end
    end
  end
end

local numbers = { "leak_power", "area", "actions_scale", "n_parallel_instances" }

local function build_numbers(built, c, node)
  if node.class == "Memory" then
    must(built:number(c, "size", node.size ~= math.huge and node.size or nil))
  end
  for _, key in ipairs(numbers) do
    if node[key] ~= nil then must(built:number(c, key, node[key])) end
  end
  if node.skip_initial_output_write ~= nil then
    must(built:skip_initial_output_write(c, node.skip_initial_output_write))
  end
  local rule = node.latency_rule
  if type(rule) == "table" then
    local name, x = next(rule)
    must(built:latency_rule(c, name, x))
  elseif type(rule) == "string" then
    must(built:latency_rule(c, rule))
  end
end

-- Sets that only a search uses must at least name what exists.
local function check_sets(node, w, path, names)
  for _, key in ipairs(errors.keys(fields.memory)) do
    for _, einsum in ipairs(node[key] and w.einsums or {}) do
      held.check(held.scope(w:context(einsum.name), names), node[key], path .. "." .. key)
    end
  end
end

local function build_component(built, list, node, w, names)
  local path = "arch." .. node.name
  local c = must(built:component(node.class:lower(), node.name, list))
  check_sets(node, w, path, names)
  build_numbers(built, c, node)
  build_actions(built, c, node, w, path)
  build_dimensions(built, c, node, w, path)
  each_tensor(w, node.bits_per_value, path .. ".bits_per_value",
    function(einsum, tensor, x) must(built:bits_per_value(c, einsum, tensor, x)) end)
  each_tensor(w, node.values_per_action, path .. ".values_per_action",
    function(einsum, tensor, x) must(built:values_per_action(c, nil, einsum, tensor, x)) end)
  if type(node.direction) == "string" then
    must(built:direction(c, nil, nil, node.direction))
  else
    each_tensor(w, node.direction, path .. ".direction",
      function(einsum, tensor, x) must(built:direction(c, einsum, tensor, x)) end)
  end
end

local function build_components(built, list, nodes, w, names)
  for _, node in ipairs(nodes) do
    if node.class ~= "Fork" then
      build_component(built, list, node, w, names)
    else
      local fork = must(built:fork(list))
      for _, branch in ipairs(node.branches) do
        build_components(built, must(built:branch(fork)), branch, w, names)
      end
    end
  end
end

local function build_arch(a, w)
  local built, names = core.arch(), {}
  for i, node in ipairs(a.components) do names[i] = node.name end
  build_components(built, 0, a.nodes, w, names)
  return built
end

-- ---- mapping ----

local function fail(node, kind, message, name)
  errors.raise(kind, message, { path = node.where, name = name })
end

local function einsum_names(w)
  local names = {}
  for i, e in ipairs(w.einsums) do names[i] = e.name end
  return names
end

-- The einsum of a compute node; one that names none means the only einsum there is.
local function einsum_of(node, w)
  if node.einsum then return node.einsum end
  if #w.einsums > 1 then
    fail(node, "unknown_einsum",
      ("compute on %s names no einsum; the workload has %s: write EINSUM on %s")
      :format(node.component, table.concat(einsum_names(w), ", "), node.component))
  end
  return w.einsums[1].name
end

-- Calls visit with every compute node from position `first` of a list on.
local function each_compute(list, first, visit)
  for i = first, #list do
    if list[i].node == "compute" then visit(list[i]) end
    for _, branch in ipairs(list[i].branches or {}) do each_compute(branch, 1, visit) end
  end
end

-- The variable of a loop, and {einsum = variable} where it differs between einsums.
local function variables(node, list, i, w)
  local by_einsum = node.rank_variable
  if type(by_einsum) == "string" then return by_einsum, {} end
  local known = errors.keys(by_einsum)
  each_compute(list, i + 1, function(leaf)
    local name = einsum_of(leaf, w)
    if not by_einsum[name] then
      fail(node, "unknown_rank_variable",
        ("the loop has no variable for einsum %s below it; it names %s")
        :format(name, table.concat(known, ", ")), name)
    end
  end)
  for _, name in ipairs(known) do
    local names = einsum_names(w)
    local found = false
    for _, other in ipairs(names) do found = found or other == name end
    if not found then
      fail(node, "unknown_einsum",
        ("the loop names a variable for einsum %s, which the workload does not have%s")
        :format(name, errors.hint(name, names)), name)
    end
  end
  return by_einsum[known[1]], by_einsum
end

-- The tiles of the einsums that have their own: {tile, first, step} by einsum.
local function own_tiles(node, w)
  local by_einsum = {}
  for _, own in ipairs(node.tiles or {}) do
    by_einsum[own.einsum] = own.overlap and table.pack(overlap.tiles(node, own, w))
      or { own.tile_shape, own.initial_tile_shape, own.step }
  end
  return by_einsum
end

local build_list

local function add_tensors(built, index, node)
  for _, tensor in ipairs(node.tensors) do must(built:tensor(index, tensor)) end
  return index
end

local function add_loop(built, list_index, node, list, i, w)
  local v, by_einsum = variables(node, list, i, w)
  local index
  if node.node == "temporal" then
    index = must(built:temporal(list_index, v, node.tile_shape, node.initial_tile_shape))
  else
    index = must(built:spatial(list_index, v, node.tile_shape, node.initial_tile_shape,
      node.component, node.dim))
  end
  must(built:step(index, node.step))
  local tiles = own_tiles(node, w)
  for _, einsum in ipairs(errors.keys(by_einsum)) do
    must(built:variable_in(index, einsum, by_einsum[einsum]))
    local own = tiles[einsum]
    if own then must(built:tile_in(index, einsum, own[1], own[2], own[3])) end
  end
  return index
end

local function add_split(built, list_index, node, _, _, w)
  local index = must(built[node.node](built, list_index))
  for _, branch in ipairs(node.branches) do
    build_list(built, must(built:branch(index)), branch, w)
  end
  return index
end

local adders = {
  temporal = add_loop,
  spatial = add_loop,
  storage = function(built, list_index, node)
    local index = must(built:storage(list_index, node.component, node.persistent, node.may_lower))
    if node.lifetime then must(built:lifetime(index, node.lifetime)) end
    return add_tensors(built, index, node)
  end,
  toll = function(built, list_index, node)
    return add_tensors(built, must(built:toll(list_index, node.component, node.may_lower)), node)
  end,
  custom = function(built, list_index, node)
    local index = must(built:custom(list_index, node.kind, node.component, node.may_lower))
    return add_tensors(built, index, node)
  end,
  sequential = add_split, pipeline = add_split, parallel = add_split,
  compute = function(built, list_index, node, _, _, w)
    return must(built:compute(list_index, einsum_of(node, w), node.component))
  end,
}

function build_list(built, list_index, list, w)
  for i, node in ipairs(list) do
    local index = adders[node.node](built, list_index, node, list, i, w)
    must(built:where(index, node.where))
  end
end

local function build_mapping(m, w)
  local open = holes.first(m.nodes)
  if open then
    fail(open, "open_mapping", "this is left open: loom.space(w, a, { mapping = m }) searches what "
      .. "completes it")
  end
  local built = core.mapping()
  build_list(built, 0, m.nodes, w)
  return built
end

-- ---- the whole ----

local function check_kinds(w, a, m)
  local function check(is, x, position, what)
    if not is(x) then
      errors.raise("bad_argument", ("argument %d: %s expected, got %s")
        :format(position, what, type(x)))
    end
  end
  check(workload.is, w, 1, "workload")
  check(arch.is, a, 2, "architecture")
  check(mapping.is, m, 3, "mapping")
end

local function kept(cache, w, x, build)
  local of_workload = cache[w]
  if not of_workload then
    of_workload = weak()
    cache[w] = of_workload
  end
  local built = of_workload[x]
  if not built then
    built = build(raw(x), raw(w))
    of_workload[x] = built
  end
  return built
end

--- The core objects of a workload, an architecture and a mapping.  Raises an error object where one
--- does not fit the other.
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@return userdata workload, userdata arch, userdata mapping
function model.compile(w, a, m)
  check_kinds(w, a, m)
  return model.compile_workload(w), kept(archs, w, a, build_arch),
    kept(mappings, w, m, build_mapping)
end

--- The core object of a workload.
---@param w einloom.Workload
---@return userdata
function model.compile_workload(w)
  local built = workloads[w]
  if not built then
    built = build_workload(raw(w))
    workloads[w] = built
  end
  return built
end

--- The core object of an architecture for a workload.
---@param w einloom.Workload
---@param a einloom.Arch
---@return userdata
function model.compile_arch(w, a) return kept(archs, w, a, build_arch) end

local options_known = {
  allow_unknown_tensors = true, allow_growing_tiles = true, allow_unmapped_einsums = true,
  analyzers = true,
}
for name in pairs(conventions.names) do options_known[name] = true end
local simulate_known = { at = true }
for name in pairs(options_known) do
  if name ~= "model" then simulate_known[name] = true end
end

local built_in = {
  storage = true, toll = true, temporal = true, spatial = true, sequential = true, pipeline = true,
  parallel = true, compute = true, reservation = true, custom = true,
}

--- Raises unless a kind of holder can be given an analyzer, and it is a function.
---@param kind any
---@param analyze any
---@param path? string
function model.check_analyzer(kind, analyze, path)
  local function fail_(message)
    errors.raise("bad_argument", message, { path = path or "loom.analyzer" })
  end
  if type(kind) ~= "string" or kind == "" then fail_ "name of a kind of holder expected" end
  if built_in[kind] then fail_(("%s is a built-in kind of node"):format(kind)) end
  if type(analyze) ~= "function" then
    fail_(("%s: function expected, got %s"):format(kind, type(analyze)))
  end
end

--- Raises unless these are options of loom.analyze, or of loom.simulate.
---@param options table
---@param simulated? boolean
function model.check_options(options, simulated)
  local where = simulated and "options of simulate" or "options of analyze"
  if type(options) ~= "table" then
    errors.raise("bad_argument", ("table expected, got %s"):format(type(options)), { path = where })
  end
  errors.check_keys("bad_argument", options, simulated and simulate_known or options_known, where)
  for key in pairs(options_known) do
    local x = options[key]
    local expected = key == "analyzers" and "table" or "boolean"
    if conventions.names[key] then expected = type(x) end
    if x ~= nil and type(x) ~= expected then
      errors.raise("bad_argument", ("%s: %s expected, got %s"):format(key, expected, type(x)),
        { path = where })
    end
  end
  conventions.check(options, "bad_argument", where)
  for kind, analyze in pairs(options.analyzers or {}) do
    model.check_analyzer(kind, analyze, where)
  end
end

-- The options as the core takes them.
local function core_options(options)
  local t = conventions.core_options(conventions.of(options))
  for key in pairs(options_known) do
    if not conventions.names[key] then t[key] = options[key] end
  end
  return t
end

-- The core knows where a holder was written; the text knows where its tensor was.
local function at_tensor(message, w, m)
  local known, result = {}, nil
  for _, tensor in ipairs(raw(w).usage.tensors) do known[tensor] = true end
  local function visit(nodes)
    for _, node in ipairs(nodes) do
      for _, branch in ipairs(node.branches or {}) do visit(branch) end
      local text = node.tensors and mapping_text.position_of(node)
      local here = text and message:sub(1, #node.where + 2) == node.where .. ": "
      for i, tensor in ipairs(here and node.tensors or {}) do
        if not result and not known[tensor] and message:find("'" .. tensor .. "'", 1, true) then
          local line, column = errors.position(text[1], text.tensors[i])
          result = ("%s:%d:%d%s"):format(text[1].name, line, column, message:sub(#node.where + 1))
        end
      end
    end
  end
  visit(raw(m).nodes)
  return result or message
end

local function run(analyze, w, a, m, options, ...)
  check_kinds(w, a, m)
  options = options or {}
  model.check_options(options)
  local ok, core_w, core_a, core_m = pcall(model.compile, w, a, m)
  if not ok then
    local e = core_w
    if not errors.is(e) then error(e, 0) end
    e.caller = nil
    return nil, errors.annotate(tostring(e), raw(m).source), e.kind
  end
  local result, message, kind = analyze(core_w, core_a, core_m, core_options(options), ...)
  if result then return result end
  if kind == "unknown_tensor" then message = at_tensor(message, w, m) end
  return nil, errors.annotate(message, raw(m).source), kind
end

--- Analyses a mapping.  A mapping that does not fit gives nil, a message and the kind of the error.
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@param options? { allow_unknown_tensors: boolean?, allow_growing_tiles: boolean?,
--- allow_unmapped_einsums: boolean?, analyzers: table<string, function>? }|einloom.Conventions
---@return userdata? result, string? message, string? kind
function model.analyze(w, a, m, options)
  return run(core.analyze, w, a, m, options)
end

--- Counts a mapping by walking its loops: what the model exact gives, numbers only.
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@param options? table as of model.analyze
---@param symbols? userdata[] symbols that are taken at
---@param values? userdata[] these values
---@return userdata? result, string? message, string? kind
function model.simulate(w, a, m, options, symbols, values)
  return run(core.simulate, w, a, m, options, symbols, values)
end

-- What a latency rule that is a function returns, checked; its errors with its place.
local function checked_rule(rule, name)
  local path = ("arch.%s.latency_rule"):format(name)
  local function fail_(message) errors.raise("bad_arch", message, { path = path }) end
  return function(...)
    local ok, x = pcall(rule, ...)
    if not ok then
      if type(x) == "string" then fail_("its function failed: " .. x) end
      if errors.is(x) then x.path = x.path or path end
      error(x, 0)
    end
    if type(x) ~= "number" and not core.is_expr(x) then
      fail_(("its function returned %s: a number or an expression expected")
        :format(x == nil and "nothing" or "a " .. type(x)))
    end
    local exact, number = pcall(core.number, x)
    if core.is_expr(x) then exact, number = true, x end
    if not exact then fail_(("its function returned %s: not a number"):format(x)) end
    if number:lt(0) == true then
      fail_(("its function returned %s: a latency is not negative"):format(tostring(x)))
    end
    return number
  end
end

--- The latency rules of an architecture that are functions, by component.
---@param a einloom.Arch
---@return table<string, function>
function model.latencies(a)
  local latencies = {}
  for _, node in ipairs(raw(a).components) do
    local rule = node.latency_rule
    if type(rule) == "function" then latencies[node.name] = checked_rule(rule, node.name) end
  end
  return latencies
end

--- Costs of what `model.analyze` gave for the same workload, architecture and mapping. A limit that
--- is not met gives nil, a message and the kind of the error.
---@param result userdata
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@param options? { allow_exceeded_limits: boolean?, latencies: table<string, function>? }
---@return userdata? costs, string? message, string? kind
function model.cost(result, w, a, m, options)
  local core_w, core_a, core_m = model.compile(w, a, m)
  options = options or {}
  local latencies = model.latencies(a)
  for name, f in pairs(options.latencies or {}) do
    latencies[name] = type(f) == "function" and checked_rule(f, name) or f
  end
  return core.cost(result, core_w, core_a, core_m,
    { allow_exceeded_limits = options.allow_exceeded_limits, latencies = latencies })
end

return model
