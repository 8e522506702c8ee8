-- SPDX-License-Identifier: MIT
-- Points: values, or other formulas, for the symbols of a result. A point is checked when it is
-- given: the facts of its symbols and every tile of the paths must hold there.

local core = require "einloom.core"
local errors = require "einloom.errors"

local points = {}

--- The loops of a mapping above the compute node of an einsum, outermost first.
---@param nodes table[] nodes of the mapping
---@param einsum string
---@return table[]
function points.loops(nodes, einsum)
  local loops = {}
  local function descend(list)
    local before = #loops
    for _, node in ipairs(list) do
      if node.rank_variable then loops[#loops + 1] = node end
      if node.node == "compute" and (node.einsum or einsum) == einsum then return true end
      for _, branch in ipairs(node.branches or {}) do
        if descend(branch) then return true end
      end
    end
    for i = #loops, before + 1, -1 do loops[i] = nil end
    return false
  end
  descend(nodes)
  return loops
end

--- A number or an expression as an expression.
---@param value any
---@return userdata
function points.exact(value) return core.is_expr(value) and value or core.number(value) end

-- "M0 = 256", or "M0 = 256, K0 = 4" for what an expression takes from a point.
local function given(value, point)
  local parts = {}
  for _, symbol in ipairs(core.is_expr(value) and value:symbols() or {}) do
    local name = symbol:name()
    if point[name] ~= nil then parts[#parts + 1] = ("%s = %s"):format(name, point[name]) end
  end
  return table.concat(parts, ", ")
end

-- What an error of the core says, without its place in this file.
local function plain(problem) return (tostring(problem):gsub("^[^\n]-:%d+: ", "")) end

--- A formula with what a point gives for its symbols; raises an error object where it has no value.
---@param value any
---@param point? table<string, any>
---@return any
function points.at(value, point)
  if not point or not core.is_expr(value) then return value end
  local own
  for _, symbol in ipairs(value:symbols()) do
    local name = symbol:name()
    if point[name] ~= nil then
      own = own or {}
      own[name] = point[name]
    end
  end
  if not own then return value end
  local ok, there = pcall(value, own)
  if ok then return there end
  errors.raise("bad_point", ("at %s: %s"):format(given(value, point), plain(there)))
end

-- A number, an expression or the text of one.
local function read_value(name, value, symbols)
  local e = value
  if type(value) == "string" then
    local ok, parsed = pcall(core.parse, value, "the value of " .. name, symbols)
    if not ok then errors.raise("bad_point", tostring(parsed), { name = name }) end
    e = parsed
  elseif type(value) == "number" then
    local ok, number = pcall(core.number, value)
    e = ok and number or nil
  end
  if not core.is_expr(e) then
    errors.raise("bad_point", ("%s = %s is not a number or an expression"):format(name,
      tostring(value)), { name = name })
  end
  return e
end

-- Raises an error object where a value breaks what is assumed of a symbol.
local function check_facts(symbol, value)
  local name = symbol:name()
  local ok, problem = pcall(symbol, { [name] = value })
  if ok then return end
  errors.raise("bad_point", ("%s = %s: %s"):format(name, value, plain(problem)), { name = name })
end

--- The values of a point as expressions; raises an error object unless each symbol is known and
--- its facts hold.
---@param point table<string|userdata, any>
---@param known table<string, userdata> symbols by name
---@param before? table<string, userdata> the point that the result stands at
---@return table<string, userdata>
function points.read(point, known, before)
  local read, symbols = {}, {}
  for _, symbol in pairs(known) do symbols[#symbols + 1] = symbol end
  for key, value in pairs(point) do
    local name = core.is_expr(key) and key:name() or key
    local symbol = known[name]
    if not symbol then
      if before and before[name] ~= nil then
        errors.raise("bad_point", ("the result has no '%s' any more: it stands at %s = %s"):format(
          name, name, before[name]), { name = name })
      end
      errors.raise("bad_point", ("the result has no '%s'%s"):format(tostring(name),
        errors.hint(tostring(name), errors.keys(known))), { name = tostring(name) })
    end
    read[name] = read_value(name, value, symbols)
    check_facts(symbol, read[name])
  end
  return read
end

--- The symbols that are left of some where a point is put in, by name.
---@param known table<string, userdata> symbols by name
---@param point? table<string, userdata>
---@return table<string, userdata>
function points.left(known, point)
  if not point then return known end
  local left = {}
  for name, symbol in pairs(known) do
    if point[name] == nil then left[name] = symbol end
  end
  for name, value in pairs(point) do
    for _, symbol in ipairs(known[name] and value:symbols() or {}) do
      left[symbol:name()] = left[symbol:name()] or symbol
    end
  end
  return left
end

--- One point for two: what the second gives is put into the formulas of the first.
---@param first? table<string, userdata>
---@param second table<string, userdata>
---@param known table<string, userdata> symbols by name, before the first point
---@return table<string, userdata>
function points.compose(first, second, known)
  local point = {}
  for name, value in pairs(second) do point[name] = value end
  for name, value in pairs(first or {}) do
    point[name] = points.at(value, second)
    if known[name] then check_facts(known[name], point[name]) end
  end
  return point
end

--- Raises an error object unless what a point gives for symbols that are integers is known to be
--- one.
---@param point table<string, userdata>
---@param known table<string, userdata> symbols by name
function points.check_integers(point, known)
  for _, name in ipairs(errors.keys(point)) do
    local symbol = known[name]
    if symbol and symbol:is_integer() and not point[name]:is_integer() then
      errors.raise("bad_point", ("%s = %s, which is not known to be an integer"):format(name,
        point[name]), { name = name })
    end
  end
end

local function loop_text(node)
  return ("%s %s tile %s"):format(node.kind == "spatial" and "par" or "for", node.variable,
    node.tile)
end

local function check_tile(loop, tile, extent, point, may_grow)
  local value = points.at(tile, point)
  local problem
  if value:is_integer() == false then
    problem = "which is not an integer"
  elseif not value:is_integer() then
    problem = "which is not known to be an integer"
  elseif value:le(0) == true then
    problem = "which is less than 1"
  elseif not may_grow and extent:lt(value) == true then
    problem = ("which is larger than the extent around it, %s"):format(extent)
  end
  if not problem then return value end
  errors.raise("bad_tile_shape", ("at %s the loop `%s` has the tile %s, %s"):format(
    given(tile, point), loop_text(loop.node), value, problem), { path = loop.where })
end

-- Tiles that overlap begin at most one tile apart.
local function check_step(loop, tile, point)
  local step = points.at(loop.node.step, point)
  local problem
  if not step:is_integer() then
    problem = "which is not known to be an integer"
  elseif step:le(0) == true then
    problem = "which is less than 1"
  elseif tile:lt(step) == true then
    problem = ("which is larger than the tile, %s: values are left out"):format(tile)
  end
  if not problem then return end
  errors.raise("bad_tile_shape", ("at %s the loop `%s` has the step %s, %s"):format(
    given(loop.node.step + loop.node.tile, point), loop_text(loop.node), step, problem),
    { path = loop.where })
end

--- Raises an error object unless every tile of the paths that depends on the point is known to be
--- an integer, is at least 1 there and, without may_grow, not larger than the extent around it.
---@param paths { sizes: table<string, userdata>, loops: table[] }[] loops {node =, where =}
---@param point table<string, userdata>
---@param may_grow? boolean
function points.check_tiles(paths, point, may_grow)
  for _, path in ipairs(paths) do
    local extents = {}
    for variable, size in pairs(path.sizes) do extents[variable] = points.at(size, point) end
    for _, loop in ipairs(path.loops) do
      local node = loop.node
      local extent = extents[node.variable]
      local tile = points.at(node.tile, point)
      if tile ~= node.tile or extent ~= path.sizes[node.variable] then
        check_tile(loop, node.tile, extent, point, may_grow)
        if node.first then check_tile(loop, node.first, extent, point, may_grow) end
      end
      if node.step then check_step(loop, tile, point) end
      extents[node.variable] = tile
    end
  end
end

return points
