-- SPDX-License-Identifier: MIT
-- Mappings: a tree of nodes, outermost first.  Text (mapping_text.lua), constructors and the normal
-- form (the fields of schema mapping/1) make the same nodes; a mapping never changes after it is
-- made, and every node keeps where it was written.

local core = require "einloom.core"
local errors = require "einloom.errors"
local holes = require "einloom.mapping_holes"
local mapping_text = require "einloom.mapping_text"
local readonly = require "einloom.readonly"
local value = require "einloom.value"

local mapping = {}

--- Splits inside splits up to this depth.
mapping.max_depth = mapping_text.max_depth

---@alias einloom.SplitKind "sequential"|"pipeline"|"parallel"

---@class einloom.Node
---@field node "storage"|"toll"|"custom"|"temporal"|"spatial"|"compute"|"loops"|"anything"|
--- einloom.SplitKind
---@field where string
---@field component? string
---@field tensors? string[]
---@field persistent? boolean
---@field may_lower? boolean
---@field optional? string[] tensors that may be left out (a hole)
---@field more? boolean any further tensors may be held (a hole)
---@field kind? string kind of a custom holder; which loops a hole stands for
---@field rank_variable? string|table<string, string> variable, or variable by einsum
---@field tile_shape? einloom.Value|string|integer[] a hole: "?", "4..32" or a list
---@field initial_tile_shape? einloom.Value
---@field step? einloom.Value where tiles begin, if they overlap
---@field tiles? einloom.OwnTiles[] of einsums whose tiles differ, by name
---@field lifetime? "scope"|"retain" of storage; nil: that of the analysis
---@field dim? string
---@field branches? einloom.Node[][]
---@field einsum? string

--- Tiles of a shared loop in one einsum: as given, or what the other einsums need of its outputs,
--- the part that two tiles share kept or computed again.
---@class einloom.OwnTiles
---@field einsum string
---@field tile_shape? einloom.Value
---@field initial_tile_shape? einloom.Value
---@field step? einloom.Value
---@field overlap? "keep"|"recompute"

---@class einloom.Mapping
---@field nodes einloom.Node[]
---@field symbols table<string, einloom.Expr> the symbols of the tile shapes by name
---@field source? { name: string, text: string } the text it was read from
---@field holes boolean whether parts of it are left open, for a search to fill in
local Mapping = { __name = "einloom.mapping" }
local new_object, view = readonly.class(Mapping, "mappings")
local raw = readonly.raw

local KIND = "bad_mapping"

local holder = {
  component = true, tensors = true, may_lower = true, optional = true, more = true,
}
local loop = {
  rank_variable = true, tile_shape = true, initial_tile_shape = true, step = true, tiles = true,
}

local function with(base, ...)
  local fields = { node = true, where = true }
  for key in pairs(base) do fields[key] = true end
  for _, key in ipairs { ... } do fields[key] = true end
  return fields
end

local fields = {
  storage = with(holder, "persistent", "lifetime"),
  toll = with(holder), custom = with(holder, "kind"),
  temporal = with(loop), spatial = with(loop, "component", "dim"),
  sequential = with({}, "branches"), pipeline = with({}, "branches"),
  parallel = with({}, "branches"),
  compute = with({}, "component", "einsum"),
  loops = with({}, "kind"), anything = with({}),
}

-- `at` is {path =, where =, text = {source, position}}: where a node stands, for messages.
local function fail(at, message, kind, name)
  if at.text then
    errors.raise_at(kind or KIND, at.text[1], at.text[2], message, { name = name })
  end
  errors.raise(kind or KIND, message, { path = at.where or at.path, name = name })
end

local function name_field(t, key, at, optional)
  local x = t[key]
  if x == nil and optional then return nil end
  if type(x) ~= "string" or x == "" then
    fail(at, ("%s node: %s must be a name, got %s")
      :format(t.node, key, x == "" and "''" or type(x)))
  end
  return x
end

local function flag(t, key, at, default)
  local x = t[key]
  if x == nil then return default end
  if type(x) ~= "boolean" then fail(at, ("%s: true or false expected"):format(key)) end
  return x
end

-- A list inside a node, e.g. its tensors.
local function list_field(t, key, at, what)
  local ok, list = pcall(errors.list, KIND, t[key], key, what)
  if not ok then fail(at, ("%s node: %s: %s"):format(t.node, key, list.message)) end
  return list
end

local function tensor_list(t, at)
  local list = {}
  for i, name in ipairs(list_field(t, "tensors", at, "tensors")) do
    if type(name) ~= "string" then fail(at, ("%s node: tensor names expected"):format(t.node)) end
    list[i] = name
  end
  return list
end

local function variable(t, at)
  local x = t.rank_variable
  if type(x) == "string" then return x end
  local result = {}
  for e, v in pairs(type(x) == "table" and x or {}) do
    if type(e) ~= "string" or type(v) ~= "string" then result = {} break end
    result[e] = v
  end
  if next(result) == nil then
    fail(at, ("%s node: rank_variable must be a name or {einsum = name}"):format(t.node))
  end
  return result
end

-- A tile shape that may be open.
local function open_shape(x, at)
  local hole, message = holes.shape(x)
  if message then fail(at, "tile shape: " .. message, "bad_tile_shape") end
  return hole
end

local function shape(x, at, what)
  if math.type(x) == "integer" and x > 0 then return x end
  local ok, result = pcall(value.check, x, "bad_tile_shape", what, { above = 0, integer = true })
  if not ok then
    fail(at, ("%s: %s"):format(what, errors.is(result) and result.message or tostring(result)),
      "bad_tile_shape")
  end
  if core.is_expr(result) then
    if result:is_integer() ~= true then
      fail(at, ("%s: %s is not known to be an integer"):format(what, tostring(result)),
        "bad_tile_shape")
    end
    if result:kind() == "sym" and not core.int(1):le(result) then
      fail(at, ("%s: %s is not known to be at least 1"):format(what, tostring(result)),
        "bad_tile_shape")
    end
  end
  return result
end

-- Tensors of a holder that may be left out; nil for none.
local function optional_list(t, at, tensors)
  if t.optional == nil then return nil end
  local held, list = {}, {}
  for _, name in ipairs(tensors) do held[name] = true end
  for i, name in ipairs(list_field(t, "optional", at, "tensors")) do
    if not held[name] then
      fail(at, ("%s node: optional: %s is none of its tensors%s"):format(t.node, tostring(name),
        errors.hint(tostring(name), tensors)))
    end
    list[i] = name
  end
  return #list > 0 and list or nil
end

local function holder_node(t, at)
  local node = {
    node = t.node, component = name_field(t, "component", at), tensors = tensor_list(t, at),
    may_lower = flag(t, "may_lower", at, true), more = flag(t, "more", at, false) or nil,
  }
  node.optional = optional_list(t, at, node.tensors)
  return node
end

local function one_of(x, names, at, what)
  for _, name in ipairs(names) do
    if x == name then return x end
  end
  fail(at, ("%s: %s expected, got %s%s"):format(what, table.concat(names, " or "), tostring(x),
    errors.hint(tostring(x), names)))
end

-- The shapes of a loop or of one of its einsums.
local function shapes(t, at, result)
  result.tile_shape = open_shape(t.tile_shape, at) or shape(t.tile_shape, at, "tile shape")
  if t.initial_tile_shape ~= nil then
    result.initial_tile_shape = shape(t.initial_tile_shape, at, "first tile shape")
  end
  if t.step ~= nil then
    if t.initial_tile_shape ~= nil then
      fail(at, "a loop has a first tile shape or a step, not both", "bad_tile_shape")
    end
    result.step = shape(t.step, at, "step")
    if holes.is_open(result.tile_shape) then
      fail(at, "a loop with a step has one tile shape", "bad_tile_shape")
    end
    if core.sum { result.tile_shape }:lt(result.step) == true then
      fail(at, ("step: %s is larger than the tile shape %s: values are left out")
        :format(tostring(result.step), tostring(result.tile_shape)), "bad_tile_shape")
    end
  end
  return result
end

local own_fields = {
  einsum = true, tile_shape = true, initial_tile_shape = true, step = true, overlap = true,
}

local function own_tiles(t, at, by_einsum)
  if type(t) ~= "table" then fail(at, "tiles: a record for an einsum expected") end
  for _, key in ipairs(errors.keys(t)) do
    if not own_fields[key] then
      fail(at, ("tiles: unknown key '%s'%s"):format(key, errors.hint(key, errors.keys(own_fields))),
        nil, key)
    end
  end
  if type(by_einsum) ~= "table" or not by_einsum[t.einsum] then
    fail(at, ("tiles: the loop names no variable of einsum %s"):format(tostring(t.einsum)))
  end
  local result = { einsum = t.einsum }
  if t.overlap == nil then
    if t.tile_shape == nil then
      fail(at, ("tiles of %s without a tile shape"):format(t.einsum), "bad_tile_shape")
    end
    return shapes(t, at, result)
  end
  result.overlap = one_of(t.overlap, { "keep", "recompute" }, at, "overlap")
  if t.tile_shape ~= nil or t.initial_tile_shape ~= nil or t.step ~= nil then
    fail(at, ("tiles of %s: %s says what the tiles are, give no shapes"):format(t.einsum,
      t.overlap), "bad_tile_shape")
  end
  return result
end

-- The tiles of the einsums that have their own, in the order of the names; nil for none.
local function tiles_field(t, at, by_einsum)
  if t.tiles == nil then return nil end
  local result, seen = {}, {}
  for i, own in ipairs(list_field(t, "tiles", at, "tiles of einsums")) do
    result[i] = own_tiles(own, at, by_einsum)
    if seen[own.einsum] then fail(at, ("tiles of %s are given twice"):format(own.einsum)) end
    seen[own.einsum] = true
  end
  table.sort(result, function(a, b) return a.einsum < b.einsum end)
  return #result > 0 and result or nil
end

local function loop_node(t, at)
  if t.tile_shape == nil then
    fail(at, ("%s node without a tile shape"):format(t.node), "bad_tile_shape")
  end
  local node = shapes(t, at, { node = t.node, rank_variable = variable(t, at) })
  node.tiles = tiles_field(t, at, node.rank_variable)
  return node
end

local check_list

local function split_node(t, at, depth, open)
  local branches = t.branches == nil and {} or list_field(t, "branches", at, "branches")
  if #branches == 0 then fail(at, ("%s node without branches"):format(t.node)) end
  if depth >= mapping.max_depth then
    fail(at, ("%s nodes nested beyond depth %d"):format(t.node, mapping.max_depth), "depth")
  end
  local node = { node = t.node, branches = {} }
  for i, branch in ipairs(branches) do
    local path = ("%s.branches[%d]"):format(at.path, i)
    node.branches[i] = check_list(branch, path, depth + 1, open)
  end
  return node
end

local readers = {
  anything = function() return { node = "anything" } end,
  loops = function(t, at)
    local kind = t.kind
    if kind ~= nil then kind = one_of(kind, { "temporal", "spatial" }, at, "kind") end
    return { node = "loops", kind = kind }
  end,
  toll = holder_node,
  temporal = loop_node,
  sequential = split_node, pipeline = split_node, parallel = split_node,
  storage = function(t, at)
    local node = holder_node(t, at)
    node.persistent = flag(t, "persistent", at, false)
    if t.lifetime ~= nil then
      node.lifetime = one_of(t.lifetime, { "scope", "retain" }, at, "lifetime")
    end
    return node
  end,
  custom = function(t, at)
    local node = holder_node(t, at)
    node.kind = name_field(t, "kind", at)
    return node
  end,
  spatial = function(t, at)
    local node = loop_node(t, at)
    node.component, node.dim = name_field(t, "component", at), name_field(t, "dim", at)
    return node
  end,
  compute = function(t, at)
    return {
      node = "compute", einsum = name_field(t, "einsum", at, true),
      component = name_field(t, "component", at),
    }
  end,
}

local function check_node(t, path, depth, open)
  local at = { path = path }
  if type(t) ~= "table" then fail(at, ("node expected, got %s"):format(type(t))) end
  at.where, at.text = type(t.where) == "string" and t.where or nil, mapping_text.position_of(t)
  local known = fields[t.node]
  if not known then
    if t.node == "reservation" then
      fail(at, "reservations are inserted by the analysis, never written", "unknown_node_kind")
    end
    fail(at, ("no node kind %s%s"):format(tostring(t.node),
      errors.hint(tostring(t.node), errors.keys(fields))),
      "unknown_node_kind")
  end
  for _, key in ipairs(errors.keys(t)) do
    if not known[key] then
      fail(at, ("%s node: unknown key '%s'%s")
        :format(t.node, key, errors.hint(key, errors.keys(known))), nil, key)
    end
  end
  for key in pairs(t) do
    if type(key) ~= "string" then
      fail(at, ("%s node: every value needs a key, [%s] has none"):format(t.node, tostring(key)))
    end
  end
  local node = readers[t.node](t, at, depth, open)
  node.where = at.where or errors.short(path)
  if at.text then mapping_text.keep_position(node, at.text) end
  return node, at
end

-- `open`: the lists that are being read, by their paths: none may stand inside itself.
function check_list(list, path, depth, open)
  errors.list(KIND, list, path, "nodes")
  if open[list] then
    errors.raise("depth", "the list stands inside itself: it is " .. errors.short(open[list]),
      { path = path })
  end
  open[list] = path
  local nodes = {}
  for i, t in ipairs(list) do
    local node, at = check_node(t, ("%s[%d]"):format(path, i), depth, open)
    local last = nodes[#nodes]
    if last and (last.node == "compute" or last.branches) then
      fail(at, ("nothing can follow a %s node in its list"):format(last.node))
    end
    nodes[i] = node
  end
  open[list] = nil
  return nodes
end

-- ---- constructors: plain tables in the normal form ----

local function misused(function_name, message, ...)
  errors.raise(KIND, ("loom.%s: " .. message):format(function_name, ...))
end

-- A node of a constructor's {positional..., key = x}: positions stand for the fields given in
-- order, aliases for fields; after the last position comes what `rest` (a field) lists.
local function keyed(t, function_name, kind, positions, aliases, rest)
  if type(t) ~= "table" then
    errors.raise("bad_argument", ("loom.%s needs a table"):format(function_name))
  end
  local node, n = { node = kind }, 0
  local function set(field, x)
    if node[field] ~= nil then misused(function_name, "%s is given twice", field) end
    node[field] = x
  end
  for key, x in pairs(t) do
    if type(key) == "string" then set(aliases and aliases[key] or key, x) else n = n + 1 end
  end
  local first = 1
  for _, field in ipairs(positions) do
    if rest and node[field] ~= nil then break end
    if t[first] ~= nil then set(field, t[first]) end
    first = first + 1
  end
  if rest and t[first] ~= nil then set(rest, table.move(t, first, #t, 1, {})) end
  for key in pairs(t) do
    local known = type(key) == "string" or math.type(key) == "integer" and key >= 1 and key <= n
      and (rest or key < first)
    if not known then
      misused(function_name, "[%s]: %s", tostring(key), rest and "no position in a list"
        or ("only %d without a key expected"):format(#positions))
    end
  end
  return node
end

local function holder_constructor(function_name, kind)
  return function(t)
    local node = keyed(t, function_name, kind, { "component" }, nil, "tensors")
    if node.tensors == nil then node.tensors = {} end
    return node
  end
end

local loop_aliases = { tile = "tile_shape", first = "initial_tile_shape" }

-- {E = "keep"}, {E = {tile =, first =, step =}} or a list of the normal form, as that list.
local function own_tiles_of(tiles)
  if type(tiles) ~= "table" or tiles[1] ~= nil then return tiles end
  local list = {}
  for _, einsum in ipairs(errors.keys(tiles)) do
    local own = { einsum = einsum }
    local given = tiles[einsum]
    if type(given) == "table" then
      for key, x in pairs(given) do own[loop_aliases[key] or key] = x end
    else
      own.overlap = given
    end
    list[#list + 1] = own
  end
  return list
end

local function loop_constructor(function_name, kind)
  return function(t)
    local node = keyed(t, function_name, kind, { "rank_variable", "tile_shape" }, loop_aliases)
    if node.tile_shape == nil then node.tile_shape = 1 end
    node.tiles = own_tiles_of(node.tiles)
    if node.on ~= nil then
      local component, dim = tostring(node.on):match "^(.+)%.([^.]+)$"
      if not component then misused(function_name, "on = \"component.dimension\" expected") end
      if node.component ~= nil or node.dim ~= nil then
        misused(function_name, "on says what component and dim say")
      end
      node.component, node.dim, node.on = component, dim, nil
    end
    return node
  end
end

--- loom.any_loops(), loom.any_loops "temporal" or "spatial": any loops, for searches.
---@param kind? "temporal"|"spatial"
function mapping.any_loops(kind) return { node = "loops", kind = kind } end

--- loom.anything(): any holders and loops, for searches.
function mapping.anything() return { node = "anything" } end

--- loom.storage{ component, tensor, ..., persistent = false, may_lower = true,
--- lifetime = "retain", optional = tensors, more = true }
mapping.storage = holder_constructor("storage", "storage")
--- loom.toll_node{ component, tensor, ..., may_lower = true }
mapping.toll_node = holder_constructor("toll_node", "toll")
--- loom.custom{ component, tensor, ..., kind = name, may_lower = true }
mapping.custom = holder_constructor("custom", "custom")
--- loom.temporal{ variable, tile, first = shape, step = shape, tiles = { Einsum = "keep" } }
mapping.temporal = loop_constructor("temporal", "temporal")
--- loom.spatial{ variable, tile, on = "component.dimension", first = shape }
mapping.spatial = loop_constructor("spatial", "spatial")

local function split_constructor(kind)
  return function(t) return keyed(t, kind, kind, {}, nil, "branches") end
end

--- loom.sequential{ {node, ...}, {node, ...} }: branches one after the other.
mapping.sequential = split_constructor "sequential"
--- loom.pipeline{ {node, ...}, {node, ...} }: branches as stages over the loops above.
mapping.pipeline = split_constructor "pipeline"
--- loom.parallel{ {node, ...}, {node, ...} }: branches at the same time.
mapping.parallel = split_constructor "parallel"

--- loom.compute_node{ component } or loom.compute_node{ component, einsum = name }
---@param t table|string
function mapping.compute_node(t)
  if type(t) == "string" then t = { t } end
  return keyed(t, "compute_node", "compute", { "component" })
end

-- ---- the mapping ----

-- Calls visit with every node, outermost first.
local function walk(nodes, visit)
  for _, node in ipairs(nodes) do
    visit(node)
    for _, branch in ipairs(node.branches or {}) do walk(branch, visit) end
  end
end

--- Calls a function with every node, outer before inner, branches in order.
---@param visit fun(node: einloom.Node)
function Mapping:walk(visit)
  walk(raw(self).nodes, function(node) visit(view(node)) end)
end

local function add_symbols(symbols, e, where)
  for _, symbol in ipairs(core.is_expr(e) and e:symbols() or {}) do
    local name = symbol:name()
    if symbols[name] and symbols[name] ~= symbol then
      fail({ where = where },
        ("two symbols are called %s, with different assumptions"):format(name),
          "bad_tile_shape", name)
    end
    symbols[name] = symbol
  end
end

local function collect_symbols(nodes)
  local symbols = {}
  walk(nodes, function(node)
    local places = { node }
    for i, own in ipairs(node.tiles or {}) do places[i + 1] = own end
    for _, place in ipairs(places) do
      for _, key in ipairs { "tile_shape", "initial_tile_shape", "step" } do
        add_symbols(symbols, place[key], node.where)
      end
    end
  end)
  return symbols
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, x in pairs(a) do
    if key ~= "where" and not same(x, b[key]) then return false end
  end
  for key in pairs(b) do
    if key ~= "where" and a[key] == nil then return false end
  end
  return true
end

--- Mappings are equal when their nodes are, wherever they were written.
function Mapping.__eq(a, b)
  return getmetatable(a) == getmetatable(b) and same(raw(a).nodes, raw(b).nodes)
end

--- The loop-nest text; loom.mapping(text, {symbols = m.symbols}) gives an equal mapping.
function Mapping:__tostring()
  return mapping_text.print(raw(self).nodes)
end

local SYMBOLS = "loom.mapping options.symbols"

-- Symbols given for a text: symbols under their names.
local function check_symbols(symbols)
  if type(symbols) ~= "table" then
    errors.raise("bad_argument", "table of symbols expected", { path = SYMBOLS })
  end
  for name, symbol in pairs(symbols) do
    if not core.is_expr(symbol) or symbol:name() ~= name then
      errors.raise("bad_argument", ("%s: %s is not the symbol of that name")
        :format(tostring(name), tostring(symbol)), { path = SYMBOLS })
    end
  end
  return symbols
end

-- A symbol that no tile shape has was meant for one.
local function check_used(symbols, used)
  for _, name in ipairs(errors.keys(symbols)) do
    if used[name] ~= symbols[name] then
      errors.raise("bad_argument", ("no tile shape has the symbol '%s'%s")
        :format(name, errors.hint(name, errors.keys(used))),
        { path = SYMBOLS, name = name })
    end
  end
end

--- Makes a mapping from text or from a list of nodes; a mapping is given back as it is.
---@param x string|table text, list of nodes, { nodes = list }, or a mapping
---@param options? { name: string?, symbols: table<string, einloom.Expr>? } chunk name of the text;
--- symbols with assumptions by name
---@return einloom.Mapping
function mapping.new(x, options)
  if options == nil then options = {} end
  if type(options) ~= "table" then
    errors.raise("bad_argument",
      ("options of mapping: table expected, got %s"):format(type(options)))
  end
  errors.check_keys("bad_argument", options, { name = true, symbols = true },
    "loom.mapping options")
  if options.name ~= nil and type(options.name) ~= "string" then
    errors.raise("bad_argument", ("name: text expected, got %s"):format(type(options.name)),
      { path = "loom.mapping options" })
  end
  local given = check_symbols(options.symbols or {})
  if getmetatable(x) == Mapping then return x end
  local list, path = x, "mapping.nodes"
  if type(x) == "string" then
    list = mapping_text.parse(x, options.name or "mapping", given)
  elseif type(x) ~= "table" then
    errors.raise("bad_argument", ("loom.mapping needs a text or a table, got %s"):format(type(x)))
  else
    errors.check_keys(KIND, x, { nodes = true }, "mapping", math.huge)
    if x.nodes ~= nil and x[1] ~= nil then
      errors.raise(KIND, "nodes are listed directly or in nodes, not both", { path = "mapping" })
    end
    list = x.nodes == nil and x or x.nodes
  end
  local nodes = check_list(list, path, 0, {})
  local source = type(x) == "string" and { name = options.name or "mapping", text = x } or nil
  local symbols = collect_symbols(nodes)
  check_used(given, symbols)
  return new_object { nodes = nodes, symbols = symbols, source = source,
    holes = holes.first(nodes) ~= nil }
end

--- Whether a value is a mapping.
---@return boolean
function mapping.is(x)
  return getmetatable(x) == Mapping
end

return mapping
