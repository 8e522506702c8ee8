-- SPDX-License-Identifier: MIT
-- Reads cases of schema search/1: a workload, a machine, what may be held where and which loops may
-- be spread, and mappings that were found. What is per einsum in the schema (what is held, sharing,
-- widths) becomes a rename of that einsum, so that one architecture serves all.

local arch = require "einloom.arch"
local core = require "einloom.core"
local errors = require "einloom.errors"
local mapping = require "einloom.mapping"
local workload = require "einloom.workload"

local search = { schema = "search/1" }

local function bad(message, path)
  error(errors.new("bad_case", message, { path = path }), 0)
end

local function set(...)
  local names = {}
  for _, name in ipairs { ... } do names[name] = true end
  return names
end

local function check(t, path, ...)
  if type(t) ~= "table" then bad(("an object was expected, not %s"):format(type(t)), path) end
  errors.check_keys("bad_case", t, set(...), path)
end

local function number(x, path)
  if x == "inf" then return math.huge end
  if type(x) ~= "number" then bad("a number was expected", path) end
  return x
end

-- Infinity where the normal form leaves a field out.
local function finite(x, path)
  x = number(x, path)
  return x ~= math.huge and x or nil
end

-- ---- workload ----

local function access(t, output, persistent, path)
  check(t, path, "tensor", "index", "bits_per_value")
  local projection = {}
  for _, rank in ipairs(errors.keys(t.index)) do
    projection[#projection + 1] = { rank, t.index[rank] }
  end
  return {
    tensor = t.tensor, projection = projection, output = output,
    bits_per_value = t.bits_per_value, persistent = persistent[t.tensor],
  }
end

local function note_sizes(sizes, iterate, path)
  for _, v in ipairs(errors.keys(iterate)) do
    if sizes[v] and sizes[v] ~= iterate[v] then
      bad(("variable %s has two sizes"):format(v), path)
    end
    sizes[v] = iterate[v]
  end
end

local function einsum(e, sizes, path)
  check(e, path, "name", "iterate", "reads", "writes", "copy", "repeat", "persistent", "roles")
  note_sizes(sizes, e.iterate, path .. ".iterate")
  local persistent, tensors = set(table.unpack(e.persistent or {})), {}
  for i, t in ipairs(e.writes) do
    tensors[#tensors + 1] = access(t, true, persistent, ("%s.writes[%d]"):format(path, i))
  end
  for i, t in ipairs(e.reads) do
    tensors[#tensors + 1] = access(t, false, persistent, ("%s.reads[%d]"):format(path, i))
  end
  return {
    name = e.name, is_copy = e.copy == true, n_instances = e["repeat"], tensors = tensors,
    renames = {},
  }
end

local function workload_definition(raw)
  check(raw, "workload", "repeat", "einsums")
  local sizes, einsums = {}, {}
  for i, e in ipairs(raw.einsums) do
    einsums[i] = einsum(e, sizes, ("workload.einsums[%d]"):format(i))
  end
  return {
    rank_variables = sizes, n_instances = raw["repeat"], einsums = einsums, partial = "All",
  }
end

-- ---- machine ----

local classes = {
  store = "Memory", pass_through = "Toll", array = "Container", compute = "Compute",
}

local directions = { up = "up", down = "down", both = "up_and_down" }

local function actions(level, path)
  local list = {}
  for _, name in ipairs(errors.keys(level.actions or {})) do
    local a, at = level.actions[name], ("%s.actions.%s"):format(path, name)
    check(a, at, "energy", "per_second", "bits")
    list[#list + 1] = {
      name = name, energy = a.energy, throughput = finite(a.per_second, at),
      bits_per_action = a.bits,
    }
  end
  return list
end

local function latency_rule(level, path)
  local time = level.time
  check(time, path .. ".time", "rule", "calls_per_second")
  if time.rule == "sum_of_actions" then return "sum_count_over_throughput" end
  if time.rule == "max_of_actions" then return "max_count_over_throughput" end
  if time.rule == "all_calls_at_rate" then return { sum_count_over = time.calls_per_second } end
  return bad(("no rule %s"):format(tostring(time.rule)), path .. ".time")
end

-- Names of renames are identifiers.
local function rename_of(...)
  return (table.concat({ ... }, "_"):gsub("[^%w_]", "_"))
end

local function spatial(level)
  local list = {}
  for _, d in ipairs(level.fanout or {}) do
    list[#list + 1] = {
      name = d.dim, fanout = d.count, may_reuse = rename_of("Shared_by", level.name, d.dim),
      reuse = rename_of("Spared_by", level.name, d.dim),
    }
  end
  return list
end

local function component(level, path)
  check(level, path, "name", "kind", "capacity_bits", "actions", "leak_power_per_instance", "time",
    "bits_per_value", "fanout", "charged_direction")
  local class = classes[level.kind]
  if not class then bad(("no kind %s"):format(tostring(level.kind)), path) end
  local node = { class = class, name = level.name, spatial = spatial(level) }
  if class == "Container" then return node end
  node.leak_power = level.leak_power_per_instance
  node.actions = actions(level, path)
  node.latency_rule = latency_rule(level, path)
  if class == "Memory" then node.size = number(level.capacity_bits, path .. ".capacity_bits") end
  if class == "Toll" then node.direction = directions[level.charged_direction or "both"] end
  return node
end

local function path_of(paths, name)
  for _, p in ipairs(paths) do
    if p.einsum == name then return p end
  end
  return nil
end

local function join(list)
  list = table.move(list or {}, 1, #(list or {}), 1, {})
  table.sort(list)
  return #list > 0 and table.concat(list, " | ") or "Nothing"
end

local function dimension_of(list, name)
  for _, d in ipairs(list or {}) do
    if (d.dim or d.name) == name then return d end
  end
  return {}
end

-- Each einsum says by renames which tensors a dimension serves at once and which its loops spare.
local function add_sharing(definition, raw)
  for _, e in ipairs(definition.einsums) do
    local path = path_of(raw.hardware.paths, e.name)
    for _, level in ipairs(raw.hardware.levels) do
      for _, d in ipairs(level.fanout or {}) do
        local own = dimension_of(path and path.fanout[level.name], d.dim)
        e.renames[rename_of("Shared_by", level.name, d.dim)] = join(own.multicast_tensors)
        e.renames[rename_of("Spared_by", level.name, d.dim)] = join(own.loops_must_reuse)
      end
    end
  end
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key in pairs(a) do
    if not same(a[key], b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- What the dimensions ask for, which has to be the same for all einsums.
local function add_limits(raw, by_name)
  for i, path in ipairs(raw.hardware.paths) do
    for name, dims in pairs(path.fanout) do
      for k, d in ipairs(dims) do
        local node = dimension_of(by_name[name].spatial, d.dim)
        local at = ("hardware.paths[%d].fanout.%s[%d]"):format(i, name, k)
        local share = d.min_fraction_used or 0
        if node.min_usage and node.min_usage ~= share then
          bad("einsums differ in the share that has to be used", at)
        end
        if node.min_usage and not same(node.loop_bounds or {}, d.loop_bounds or {}) then
          bad("einsums differ in bounds of loops", at)
        end
        node.min_usage, node.loop_bounds = share, d.loop_bounds
      end
    end
  end
end

-- Each einsum says by renames what a level keeps, may keep and does not fetch again. What it keeps
-- because others do not is a set of its own for each list of others.
local function add_holding(definition, raw, nodes)
  for i, level in ipairs(raw.hardware.levels) do
    local holds = nodes[i].class == "Memory" or nodes[i].class == "Toll"
    local rests, keep = {}, rename_of("Kept_in", level.name)
    for _, e in ipairs(holds and definition.einsums or {}) do
      local path = path_of(raw.hardware.paths, e.name)
      local hold = path and path.hold[level.name] or {}
      local must = hold.must_hold or {}
      if must.all_not_held_in then rests[table.concat(must.all_not_held_in, " | ")] = true end
    end
    for k, others in ipairs(errors.keys(rests)) do
      keep = ("%s | %s - (%s)"):format(keep, rename_of("Rest_in", level.name, k), others)
    end
    for _, e in ipairs(holds and definition.einsums or {}) do
      local path = path_of(raw.hardware.paths, e.name)
      local hold = path and path.hold[level.name] or {}
      local must = hold.must_hold or {}
      local rest = must.all_not_held_in and table.concat(must.all_not_held_in, " | ")
      e.renames[rename_of("Kept_in", level.name)] = rest and "Nothing" or join(must)
      e.renames[rename_of("Optional_in", level.name)] = join(hold.may_hold)
      e.renames[rename_of("Once_in", level.name)] = join(hold.no_refetch_from_above)
      for k, others in ipairs(errors.keys(rests)) do
        e.renames[rename_of("Rest_in", level.name, k)] = others == rest and "All" or "Nothing"
      end
    end
    if holds then
      nodes[i].keep, nodes[i].may_keep = keep, rename_of("Optional_in", level.name)
    end
    if nodes[i].class == "Memory" then
      nodes[i].no_refetch_from_above = rename_of("Once_in", level.name)
    end
  end
end

-- What a path says of a level takes the place of what the level says.
local function own_bits(level, path)
  local over = path and (path.overrides or {})[level.name]
  if over then check(over, "overrides." .. level.name, "bits_per_value") end
  return over and over.bits_per_value or level.bits_per_value or {}
end

-- Widths that differ between einsums, by renames with the width in their names.
local function add_widths(definition, raw, nodes)
  for i, level in ipairs(raw.hardware.levels) do
    local widths = {}
    for _, e in ipairs(definition.einsums) do
      local by_width, has = {}, {}
      for _, t in ipairs(e.tensors) do has[t.tensor] = true end
      for tensor, n in pairs(own_bits(level, path_of(raw.hardware.paths, e.name))) do
        if has[tensor] then
          by_width[n] = by_width[n] or {}
          table.insert(by_width[n], tensor)
        end
      end
      for n, tensors in pairs(by_width) do
        local name = rename_of("Width", level.name, tostring(n))
        widths[name] = n
        e.renames[name] = join(tensors)
      end
    end
    for name in pairs(widths) do
      for _, e in ipairs(definition.einsums) do e.renames[name] = e.renames[name] or "Nothing" end
    end
    if next(widths) then nodes[i].bits_per_value = widths end
  end
end

-- The lists of components of all paths as one tree: `ways` are lists of nodes.
local function tree(ways)
  local nodes, i = {}, 1
  while true do
    local first, split = ways[1][i], false
    for _, way in ipairs(ways) do split = split or way[i] ~= first end
    if split then break end
    nodes[#nodes + 1] = first
    if first == nil or first.class == "Compute" then return nodes end
    i = i + 1
  end
  local branches, of_node = {}, {}
  for _, way in ipairs(ways) do
    local rest = table.move(way, i, #way, 1, {})
    if not of_node[rest[1]] then
      of_node[rest[1]] = {}
      branches[#branches + 1] = of_node[rest[1]]
    end
    table.insert(of_node[rest[1]], rest)
  end
  for k, group in ipairs(branches) do branches[k] = tree(group) end
  nodes[#nodes + 1] = { class = "Fork", branches = branches }
  return nodes
end

-- What a search has to keep to must be what it can keep to.
local function check_path(path, at)
  check(path, at, "einsum", "compute", "levels", "hold", "fanout", "overrides")
  for name, hold in pairs(path.hold) do
    check(hold, ("%s.hold.%s"):format(at, name), "must_hold", "may_hold", "no_refetch_from_above")
  end
  for name, dims in pairs(path.fanout) do
    for i, d in ipairs(dims) do
      check(d, ("%s.fanout.%s[%d]"):format(at, name, i), "dim", "count", "loops_must_reuse",
        "multicast_tensors", "min_fraction_used", "loop_bounds")
    end
  end
end

local function arch_definition(raw, definition)
  local nodes, by_name = {}, {}
  for i, level in ipairs(raw.hardware.levels) do
    nodes[i] = component(level, ("hardware.levels[%d]"):format(i))
    by_name[level.name] = nodes[i]
  end
  add_sharing(definition, raw)
  add_holding(definition, raw, nodes)
  add_widths(definition, raw, nodes)
  local ways, seen, runs = {}, {}, {}
  for i, path in ipairs(raw.hardware.paths) do
    local at = ("hardware.paths[%d]"):format(i)
    check_path(path, at)
    runs[path.compute] = runs[path.compute] or {}
    table.insert(runs[path.compute], path.einsum)
    local key = table.concat(path.levels, "\0")
    if not seen[key] then
      seen[key] = true
      local way = {}
      for k, name in ipairs(path.levels) do
        way[k] = by_name[name] or bad(("no level %s"):format(name), at)
      end
      ways[#ways + 1] = way
    end
  end
  for name, einsums in pairs(runs) do by_name[name].einsums = einsums end
  add_limits(raw, by_name)
  return { nodes = tree(ways) }
end

-- ---- mappings ----

local function tile(x) return math.type(x) == "float" and math.tointeger(x) or x end

local function loop(node)
  local result = { node = node.node, tile_shape = tile(node.tile_shape) }
  result.rank_variable = node.rank_variable
  if node.by_einsum and next(node.by_einsum) then result.rank_variable = node.by_einsum end
  if node.node == "spatial" then result.component, result.dim = node.component, node.dim end
  return result
end

local function holder(node, state, nodes)
  local kept, other = {}, {}
  for _, tensor in ipairs(node.tensors) do
    if state.persistent[tensor] and not state.backed[tensor] then
      kept[#kept + 1] = tensor
    else
      other[#other + 1] = tensor
    end
    state.backed[tensor] = true
  end
  for _, part in ipairs { { kept, true }, { other, false } } do
    if #part[1] > 0 then
      nodes[#nodes + 1] = {
        node = node.node, component = node.component, tensors = part[1],
        persistent = node.node == "storage" and part[2] or nil,
      }
    end
  end
end

local function convert(list, state)
  local nodes = {}
  for _, node in ipairs(list) do
    if node.node == "storage" or node.node == "toll" then
      holder(node, state, nodes)
    elseif node.node == "split" then
      local branches = {}
      for i, branch in ipairs(node.nodes) do branches[i] = convert(branch.nodes, state) end
      nodes[#nodes + 1] = { node = "sequential", branches = branches }
    elseif node.node == "compute" then
      nodes[#nodes + 1] = { node = "compute", einsum = node.einsum, component = node.component }
    else
      nodes[#nodes + 1] = loop(node)
    end
  end
  return nodes
end

--- A mapping of the schema as a mapping of a case.
---@param case einloom.SearchCase
---@param raw table
---@return einloom.Mapping
function search.mapping(case, raw)
  local state = { persistent = {}, backed = {} }
  for _, e in ipairs(case.raw.workload.einsums) do
    for _, tensor in ipairs(e.persistent or {}) do state.persistent[tensor] = true end
  end
  return mapping.new { nodes = convert(raw.nodes, state) }
end

-- ---- the case ----

---@class einloom.SearchCase
---@field id string
---@field workload einloom.Workload
---@field arch einloom.Arch
---@field minimise string[] figures, as loom.space has them
---@field options table of loom.space
---@field raw table

local known = { "id", "kind", "minimise", "limits", "workload", "hardware", "peer", "other_peer",
  "best_known", "model" }

local function options_of(raw, minimise)
  check(raw, "limits", "max_shared_loops", "max_shared_loops_per_rank", "temporal_factors",
    "spatial_factors", "objective_slack", "usage_slack", "one_spatial_dim_per_variable",
    "force_memory_hierarchy_order", "explore_loop_orders")
  -- A search is exact, whatever slack is allowed; one_spatial_dim_per_variable is what one tool's
  -- own search keeps to, and the best that is known of these cases does not.
  return {
    minimise = minimise, temporal_factors = raw.temporal_factors,
    spatial_factors = raw.spatial_factors,
    max_fused_loops = raw.max_shared_loops and number(raw.max_shared_loops, "limits"),
    max_fused_loops_per_rank_variable = raw.max_shared_loops_per_rank
      and number(raw.max_shared_loops_per_rank, "limits"),
    force_memory_hierarchy_order = raw.force_memory_hierarchy_order,
    explore_loop_orders = raw.explore_loop_orders,
  }
end

--- A case from decoded JSON. Raises an error object with the kind of mistake.
---@param raw table
---@return einloom.SearchCase
function search.from_json(raw)
  check(raw, "case", table.unpack(known))
  if raw.model ~= nil and raw.model ~= "reference" then
    bad("searches are recorded in model reference", "model")
  end
  local definition, minimise = workload_definition(raw.workload), {}
  local machine = arch_definition(raw, definition)
  for i, name in ipairs(raw.minimise) do
    minimise[i] = name == "buffer_usage" and "usage" or name
  end
  return {
    id = raw.id, workload = workload.new(definition), arch = arch.new(machine),
    minimise = minimise, options = options_of(raw.limits, minimise), raw = raw,
  }
end

--- The space of a case.
---@param case einloom.SearchCase
---@return einloom.Space
function search.space(case)
  return require "einloom.space".new(case.workload, case.arch, case.options)
end

--- The cases of a file of the schema; raises an error object.
---@param path string
---@return einloom.SearchCase[]
function search.load(path)
  local raw = require "einloom.case.read".decode_file(path)
  if raw.schema ~= search.schema then
    error(errors.new("bad_case", ("schema %s is not %s")
      :format(core.json.encode(raw.schema), search.schema), { file = path }), 0)
  end
  local cases = {}
  for i, entry in ipairs(raw.cases) do cases[i] = search.from_json(entry) end
  return cases
end

return search
