-- SPDX-License-Identifier: MIT
-- Architectures: components from outermost to innermost.  The constructors and the normal form (the
-- fields of schema mapping/1) make the same nodes; an architecture never changes after it is made.

local derived = require "einloom.derived"
local errors = require "einloom.errors"
local readonly = require "einloom.readonly"
local search = require "einloom.search.fields"
local sets = require "einloom.sets"
local value = require "einloom.value"

local arch = {}

---@class einloom.Dimension
---@field name string
---@field fanout einloom.Value
---@field may_reuse "all"|string[]|einloom.Set inputs in it are multicast, outputs are reduced
---@field usage_scale einloom.Value
---@field power_gateable boolean

---@class einloom.Component
---@field class "Memory"|"Toll"|"Compute"|"Container"
---@field name string
---@field size? einloom.Value bits; math.huge: without limit
---@field actions? table[] {name, energy, throughput, bits_per_action, values_per_action}
---@field spatial einloom.Dimension[]

---@class einloom.Fork
---@field class "Fork"
---@field branches (einloom.Component|einloom.Fork)[][]

---@class einloom.Arch
---@field name? string
---@field nodes (einloom.Component|einloom.Fork)[] a fork ends its list
---@field components einloom.Component[] all of them, outer before inner
local Arch = { __name = "einloom.arch" }
local new_object, view = readonly.class(Arch, "architectures")
local raw = readonly.raw

local KIND = "bad_arch"

--- Forks inside forks up to this depth.
arch.max_depth = 100

local function fail(message, path, name)
  errors.raise(KIND, message, { path = path, name = name })
end

-- ---- checks of single fields: each gives back the normalised value ----

local function number(range)
  return function(x, path) return value.check(x, KIND, path, range) end
end

local amount = number { min = 0 }
local positive = number { above = 0 }
local rate = number { above = 0, inf = true }

local function boolean(x, path)
  if type(x) ~= "boolean" then fail(("true or false expected, got %s"):format(type(x)), path) end
  return x
end

-- A value for all tensors, or a table keyed by set expressions.
local function per_tensor(check)
  return function(x, path)
    if type(x) ~= "table" then return check(x, path) end
    local result = {}
    for _, key in ipairs(errors.keys(x)) do
      sets.parse(key, ("%s[%q]"):format(path, key))
      result[key] = check(x[key], path .. "." .. key)
    end
    for key in pairs(x) do
      if type(key) ~= "string" then fail("keys are tensor names or set expressions", path) end
    end
    return result
  end
end

local directions = { up = true, down = true, up_and_down = true }

local function direction(x, path)
  if not directions[x] then
    local hint = type(x) == "string" and errors.hint(x, errors.keys(directions))
      or "; known: down, up, up_and_down"
    fail(("direction %s is not one%s"):format(tostring(x), hint), path)
  end
  return x
end

local function may_reuse(x, path)
  if type(x) == "string" then
    if x == "all" then return x end
    return search.set(x, path)
  end
  if type(x) ~= "table" then
    fail(("\"all\", a set expression or a list of tensors expected, got %s"):format(type(x)), path)
  end
  local list = {}
  for i, name in ipairs(errors.list(KIND, x, path, "tensors")) do
    if type(name) ~= "string" then fail("tensor name expected", ("%s[%d]"):format(path, i)) end
    list[i] = name
  end
  return list
end

local rules = { sum_count_over_throughput = true, max_count_over_throughput = true }
local valued_rules = { sum_count_over = positive, constant = amount }

local function latency_rule(x, path)
  if type(x) == "function" then return x end
  if type(x) == "string" then
    if not rules[x] then
      fail(("no latency rule %s%s"):format(x, errors.hint(x, errors.keys(rules))), path)
    end
    return x
  end
  if type(x) ~= "table" then fail("latency rule expected", path) end
  errors.check_keys(KIND, x, valued_rules, path)
  local names = errors.keys(x)
  if #names ~= 1 then fail("a latency rule is one of sum_count_over and constant", path) end
  local name = names[1]
  return { [name] = valued_rules[name](x[name], path .. "." .. name) }
end

local action_fields = {
  energy = amount, throughput = rate, bits_per_action = positive,
  values_per_action = per_tensor(positive),
}

local dimension_fields = {
  fanout = number { min = 1, integer = true }, may_reuse = may_reuse, usage_scale = positive,
  power_gateable = boolean,
}
for key, check in pairs(search.dimension) do dimension_fields[key] = check end

local common = {
  leak_power = amount, area = amount, actions_scale = amount, n_parallel_instances = positive,
  latency_rule = latency_rule,
}

-- The fields of a class: its own, the common ones, those that a search reads.
local function with_common(fields, searched)
  for _, more in ipairs { common, searched } do
    for key, check in pairs(more) do fields[key] = check end
  end
  return fields
end

local classes = {
  Memory = {
    actions = { "read", "write" },
    fields = with_common({
      size = rate, bits_per_value = per_tensor(positive), values_per_action = per_tensor(positive),
      skip_initial_output_write = boolean,
    }, search.memory),
  },
  Toll = {
    actions = { "read" },
    fields = with_common({
      bits_per_value = per_tensor(positive), values_per_action = per_tensor(positive),
      direction = per_tensor(direction),
    }, search.toll),
  },
  Compute = {
    actions = { "compute" },
    fields = with_common({
      bits_per_value = per_tensor(positive), values_per_action = per_tensor(positive),
      skip_initial_output_write = boolean,
    }, search.compute),
  },
  Container = { actions = {}, fields = { leak_power = amount, area = amount } },
}

-- ---- parts of a component ----

local function action(x, name, path)
  if type(x) ~= "table" then fail(("table of an action expected, got %s"):format(type(x)), path) end
  local known = { name = true }
  for key in pairs(action_fields) do known[key] = true end
  errors.check_keys(KIND, x, known, path)
  local result = { name = name }
  for key, check in pairs(action_fields) do
    if x[key] ~= nil then result[key] = check(x[key], path .. "." .. key) end
  end
  return result
end

-- What multicast = false and adder_tree = false leave of the tensors that may be shared; without
-- either, what loops have to share is what may be shared.
local function shared_of(x, path)
  for _, key in ipairs { "multicast", "adder_tree" } do
    if x[key] ~= nil then boolean(x[key], path .. "." .. key) end
  end
  if x.multicast == nil and x.adder_tree == nil then
    if x.may_reuse == nil then return x.reuse end
    return x.may_reuse
  end
  if x.may_reuse ~= nil then
    fail("may_reuse says what multicast and adder_tree say: give one of them", path)
  end
  if x.multicast == false then return x.adder_tree == false and "Nothing" or "Outputs" end
  return x.adder_tree == false and "Inputs" or "all"
end

local function dimension(x, name, path)
  if type(name) ~= "string" then fail("dimension without a name", path) end
  if type(x) ~= "table" then x = { fanout = x } end
  local known = { name = true, multicast = true, adder_tree = true }
  for key in pairs(dimension_fields) do known[key] = true end
  errors.check_keys(KIND, x, known, path, x.fanout == nil and 1 or 0)
  local result = { name = name, may_reuse = "all", usage_scale = 1, power_gateable = false }
  local fanout = x.fanout == nil and x[1] or x.fanout
  if fanout == nil then fail(("dimension %s has no fanout"):format(name), path, name) end
  local shared = shared_of(x, path)
  for key, check in pairs(dimension_fields) do
    local given = x[key]
    if key == "fanout" then given = fanout elseif key == "may_reuse" then given = shared end
    if given ~= nil then result[key] = check(given, path .. "." .. key) end
  end
  return result
end

local function add_dimension(list, d, path)
  for _, other in ipairs(list) do
    if other.name == d.name then
      fail(("two dimensions are called %s"):format(d.name), path, d.name)
    end
  end
  list[#list + 1] = d
end

-- `spatial` as a list of dimensions or as a table keyed by their names.
local function spatial(x, path)
  local list = {}
  if x == nil then return list end
  if type(x) ~= "table" then fail("list of dimensions expected", path) end
  if x[1] ~= nil then errors.list(KIND, x, path, "dimensions") end
  for i, d in ipairs(x) do
    local place = ("%s[%d]"):format(path, i)
    if type(d) ~= "table" then fail("table of a dimension expected", place) end
    add_dimension(list, dimension(d, d.name, place), place)
  end
  for _, name in ipairs(errors.keys(x)) do
    add_dimension(list, dimension(x[name], name, path .. "." .. name), path)
  end
  return list
end

local function action_list(t, class, path)
  local list, seen = {}, {}
  local function add(name, x, place)
    local known = {}
    for _, a in ipairs(class.actions) do known[a] = true end
    if not known[name] then
      fail(("a %s has no action %s%s")
        :format(t.class, tostring(name), errors.hint(tostring(name), class.actions)), place, name)
    end
    if seen[name] then fail(("action %s is given twice"):format(name), place, name) end
    seen[name] = true
    list[#list + 1] = action(x, name, place)
  end
  local listed = t.actions == nil and {} or t.actions
  for i, x in ipairs(errors.list(KIND, listed, path .. ".actions", "actions")) do
    local place = ("%s.actions[%d]"):format(path, i)
    if type(x) ~= "table" then fail("table of an action expected", place) end
    add(x.name, x, place)
  end
  for _, name in ipairs(class.actions) do
    if t[name] ~= nil then add(name, t[name], path .. "." .. name) end
  end
  return list
end

local structure = { class = true, name = true, spatial = true, actions = true }

local function known_keys(class)
  local known = {}
  for key in pairs(structure) do known[key] = true end
  for key in pairs(class.fields) do known[key] = true end
  for _, name in ipairs(class.actions) do known[name] = true end
  return known
end

-- Checks a component's table; `path` names it in messages.
local function component(t, path)
  if type(t) ~= "table" then fail(("component expected, got %s"):format(type(t)), path) end
  local class = classes[t.class]
  if not class then
    fail(("no class %s%s"):format(tostring(t.class),
      errors.hint(tostring(t.class), errors.keys(classes))), path)
  end
  if type(t.name) ~= "string" or t.name == "" then
    fail(("%s without a name"):format(t.class), path)
  end
  path = ("%s (%s)"):format(path, t.name)
  errors.check_keys(KIND, t, known_keys(class), path)
  t = derived.resolve(t, path)
  local node = { class = t.class, name = t.name, spatial = spatial(t.spatial, path .. ".spatial") }
  for key, check in pairs(class.fields) do
    if t[key] ~= nil then node[key] = check(t[key], path .. "." .. key) end
  end
  if t.class == "Memory" and node.size == nil then
    fail(("memory %s has no size (math.huge: without limit)"):format(t.name), path, t.name)
  end
  if t.class ~= "Container" then node.actions = action_list(t, class, path) end
  if t.class == "Container" and #node.spatial == 0 then
    fail(("%s has no dimension, e.g. x = 16"):format(t.name), path, t.name)
  end
  return node
end

-- ---- constructors ----

local Component = { __name = "einloom.component" }

local function constructor(class, function_name)
  return function(t)
    if type(t) ~= "table" then
      errors.raise("bad_argument", ("loom.%s needs a table"):format(function_name))
    end
    local node = { class = class }
    for key, x in pairs(t) do
      if type(key) == "string" then node[key] = x end
    end
    node.name = t.name or t[1]
    for key in pairs(t) do
      if type(key) ~= "string" and not (key == 1 and t.name == nil) then
        fail(("loom.%s takes one name, then keys"):format(function_name), function_name)
      end
    end
    return setmetatable(node, Component)
  end
end

--- loom.memory{ name, size =, read = {...}, write = {...}, ... }
arch.memory = constructor("Memory", "memory")
--- loom.toll{ name, direction =, read = {...}, ... }
arch.toll = constructor("Toll", "toll")

local make_compute = constructor("Compute", "compute")

--- loom.compute{ name, energy =, throughput =, ... }
---@param t table
function arch.compute(t)
  local node = make_compute(t)
  if node.actions == nil and node.compute == nil then
    node.compute = {}
    for key in pairs(action_fields) do
      if key ~= "values_per_action" then
        node.compute[key], node[key] = node[key], nil
      end
    end
  end
  return node
end

local make_container = constructor("Container", "fanout")

-- What a key of loom.fanout can be meant to be: any key of any component, action or dimension but
-- those for searches.
local function all_keys()
  local known = {}
  for _, class in pairs(classes) do
    for key in pairs(known_keys(class)) do known[key] = true end
  end
  for _, fields in ipairs { search.memory, search.toll, search.compute } do
    for key in pairs(fields) do known[key] = nil end
  end
  for _, fields in ipairs { action_fields, dimension_fields } do
    for key in pairs(fields) do known[key] = true end
  end
  return errors.keys(known)
end

-- A key of loom.fanout that is no field names a dimension, unless it is another component's key or
-- nearly one: a letter off, two in long ones.
local function dimension_keys(node)
  local known, all, names = known_keys(classes.Container), all_keys(), {}
  for _, key in ipairs(errors.keys(node)) do
    if not known[key] then
      local near = errors.nearest(key, all, #key > 3 and (#key > 7 and 2 or 1) or 0)
      if #near > 0 then
        fail(("key '%s' is no clear name of a dimension; nearest: %s; a dimension called so is "
          .. "written spatial = { %s = ... }"):format(key, table.concat(near, ", "), key),
          ("loom.fanout (%s)"):format(tostring(node.name)), key)
      end
      names[#names + 1] = key
    end
  end
  return names
end

--- loom.fanout{ name, x = 16, y = { 16, may_reuse = "Inputs" }, ... }
---@param t table
function arch.fanout(t)
  local node = make_container(t)
  local names = dimension_keys(node)
  if node.spatial ~= nil then return node end
  node.spatial = {}
  for _, key in ipairs(names) do node.spatial[key], node[key] = node[key], nil end
  return node
end

arch.container = arch.fanout

--- loom.fork{ {component, ...}, {component, ...} }: ways to several kinds of units.
---@param t table
function arch.fork(t)
  if type(t) ~= "table" then errors.raise("bad_argument", "loom.fork needs a list of branches") end
  errors.check_keys(KIND, t, { branches = true }, "loom.fork", t.branches == nil and math.huge or 0)
  return { class = "Fork", branches = t.branches or table.move(t, 1, #t, 1, {}) }
end

-- ---- the architecture ----

--- A component by name, or nil.
---@param name string
---@return einloom.Component?
function Arch:component(name)
  return view(raw(self).by_name[name])
end

--- The names of all components, outermost first.
---@return string[]
function Arch:names()
  local names = {}
  for i, node in ipairs(raw(self).components) do names[i] = node.name end
  return names
end

local function dimension_text(d)
  local text = ("%s=%s"):format(d.name, tostring(d.fanout))
  if d.may_reuse == "all" then return text end
  local shared = type(d.may_reuse) == "table" and table.concat(d.may_reuse, " ") or d.may_reuse
  return ("%s (may_reuse %s)"):format(text, shared == "" and "Nothing" or shared)
end

local function component_text(node)
  local parts = { node.class, node.name }
  if node.size ~= nil then parts[#parts + 1] = "size=" .. tostring(node.size) end
  for _, d in ipairs(node.spatial) do parts[#parts + 1] = dimension_text(d) end
  return table.concat(parts, " ")
end

local function list_text(nodes, indent, lines)
  for _, node in ipairs(nodes) do
    lines[#lines + 1] = indent .. (node.class == "Fork" and "Fork" or component_text(node))
    for _, branch in ipairs(node.branches or {}) do
      lines[#lines + 1] = indent .. "  branch"
      list_text(branch, indent .. "    ", lines)
    end
  end
  return lines
end

function Arch:__tostring()
  return table.concat(list_text(raw(self).nodes, "", {}), "\n")
end

--- The tensors of an einsum that a dimension may share, as a set.
---@param d einloom.Dimension
---@param context einloom.SetContext
---@param path string
---@return table<string, true>
function arch.reusable(d, context, path)
  if type(d.may_reuse) == "string" then
    local text = d.may_reuse == "all" and "All" or d.may_reuse
    return sets.evaluate(sets.parse(text, path), context)
  end
  local members, result = {}, {}
  for _, name in ipairs(d.may_reuse) do
    members[name] = true
    for tensor in pairs(context.sets[name] or {}) do members[tensor] = true end
  end
  for _, tensor in ipairs(context.tensors) do
    if members[tensor] then result[tensor] = true end
  end
  return result
end

local function list_of(def)
  if def.nodes ~= nil then
    errors.list(KIND, def.nodes, "arch.nodes", "components")
    errors.check_keys(KIND, def, { nodes = true, name = true }, "arch", math.huge)
    if def[1] ~= nil then fail("components are listed directly or in nodes, not both", "arch") end
    return def.nodes, "arch.nodes"
  end
  errors.check_keys(KIND, def, { name = true, nodes = true }, "arch", math.huge)
  return def, "arch"
end

local function add_component(self, node, place)
  if self.by_name[node.name] then
    fail(("two components are called %s"):format(node.name), place, node.name)
  end
  self.by_name[node.name] = node
  self.components[#self.components + 1] = node
  return node
end

local read_list

local function read_fork(self, t, place, depth)
  errors.check_keys(KIND, t, { class = true, branches = true }, place)
  local branches = t.branches == nil and {} or t.branches
  errors.list(KIND, branches, place .. ".branches", "branches")
  if #branches == 0 then fail("a fork needs branches, each a list of components", place) end
  if depth >= arch.max_depth then
    fail(("forks nested beyond depth %d"):format(arch.max_depth), place)
  end
  local fork = { class = "Fork", branches = {} }
  for i, branch in ipairs(branches) do
    local path = ("%s.branches[%d]"):format(place, i)
    errors.list(KIND, branch, path, "components")
    if self.open[branch] then
      fail("the list stands inside itself: it is " .. errors.short(self.open[branch]), path)
    end
    fork.branches[i] = read_list(self, branch, path, depth + 1)
  end
  return fork
end

-- Checks a list of components, the last of which is a compute unit or a fork; self.open has the
-- lists around it by their paths.
function read_list(self, list, path, depth)
  local nodes = {}
  self.open[list] = path
  for i, t in ipairs(list) do
    local place = ("%s[%d]"):format(path, i)
    if i > 1 and nodes[i - 1].class == "Fork" then fail("nothing can follow a fork", place) end
    if type(t) == "table" and t.class == "Fork" then
      nodes[i] = read_fork(self, t, place, depth)
    else
      nodes[i] = add_component(self, component(t, place), place)
    end
  end
  local last = nodes[#nodes]
  if not last or last.class ~= "Compute" and last.class ~= "Fork" then
    fail(("no compute unit: the last component must be one%s")
      :format(last and ", not " .. last.name or ""), path)
  end
  self.open[list] = nil
  return nodes
end

--- Makes an architecture from components, outermost first.
---@param def table
---@return einloom.Arch
function arch.new(def, ...)
  errors.only_argument("loom.arch", ...)
  if type(def) ~= "table" or getmetatable(def) == Component then
    errors.raise("bad_argument", "loom.arch needs a list of components")
  end
  local list, path = list_of(def)
  if def.name ~= nil and type(def.name) ~= "string" then fail("text expected", "arch.name") end
  local self = { name = def.name, components = {}, by_name = {}, open = {} }
  self.nodes = read_list(self, list, path, 0)
  self.open = nil
  return new_object(self)
end

--- Whether a value is an architecture.
---@return boolean
function arch.is(x)
  return getmetatable(x) == Arch
end

return arch
