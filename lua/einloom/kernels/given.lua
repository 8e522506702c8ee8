-- SPDX-License-Identifier: MIT
-- What is given of a graph of einsums beside them: hints of sizes, and that nothing is given that
-- no einsum uses.

local body = require "einloom.kernels.body"
local core = require "einloom.core"
local errors = require "einloom.errors"

local given = {}

local KIND = "bad_graph"

local function fail(path, message) errors.raise(KIND, message, { path = path }) end

-- ---- hints ---------------------------------------------------------------------------------

-- All sizes that are symbols, by name.
local function symbols_of(state)
  local symbols = {}
  local function note(size)
    for _, symbol in ipairs(size and size:symbols() or {}) do symbols[symbol:name()] = symbol end
  end
  for _, size in pairs(state.sizes) do note(size) end
  for _, tensor in pairs(state.tensors) do
    note(tensor.offset)
    for _, size in ipairs(tensor.sizes or {}) do note(size) end
    for _, stride in ipairs(tensor.strides or {}) do note(stride) end
  end
  return symbols
end

local function hint_of(symbol, hint, path)
  if type(hint) ~= "number" then
    fail(path, ("a whole number expected, got %s"):format(type(hint) == "string"
      and "'" .. hint .. "'" or type(hint)))
  end
  local whole = math.tointeger(hint)
  if not whole then fail(path, ("%s is no whole number"):format(tostring(hint))) end
  local low, high = symbol:bounds()
  if low and low:le(whole) == false or high and core.int(whole):le(high) == false then
    fail(path, ("%d is not in the range of %s, which is %s to %s"):format(whole, symbol:name(),
      tostring(low or "-inf"), tostring(high or "inf")))
  end
  return whole
end

--- Hints by symbol from hints by name (or symbol); each is a whole number, of a size that the
--- graph has.
---@param hints table
---@param state table
---@return table<einloom.Expr, integer>
function given.hints(hints, state)
  local known, read = symbols_of(state), {}
  for key, hint in pairs(hints) do
    local name = core.is_expr(key) and key:kind() == "sym" and key:name() or tostring(key)
    local path = "hints." .. name
    if not known[name] then
      fail(path, ("no size is the symbol '%s'%s"):format(name,
        errors.hint(name, errors.keys(known))))
    end
    read[known[name]] = hint_of(known[name], hint, path)
  end
  return read
end

-- ---- what no einsum uses -------------------------------------------------------------------

local function check_used(list, used, what, known)
  for _, name in ipairs(list) do
    if not used[name] then
      fail(("%s.%s"):format(what, name), ("no einsum uses '%s'%s"):format(name,
        errors.hint(name, known)))
    end
  end
end

--- Raises where sizes or scalars are given that no einsum uses. asked: names that were looked up
--- in indices.
---@param sizes table
---@param scalars table<string, number>
---@param nodes einloom.GraphNode[]
---@param asked table<string, true>
function given.check_used(sizes, scalars, nodes, asked)
  local loops, bare = {}, {}
  for name in pairs(asked) do bare[name] = true end
  for _, node in ipairs(nodes) do
    for _, list in ipairs { node.pointwise, node.reduction } do
      for _, name in ipairs(list) do loops[name] = true end
    end
    for _, name in ipairs(body.bare_names(node.einsum.expression)) do bare[name] = true end
  end
  local function names_of(t)
    for name in pairs(t) do
      if type(name) ~= "string" then
        fail(t == sizes and "sizes" or "scalars", ("[%s]: every value needs a name here"):format(
          tostring(name)))
      end
    end
    return errors.keys(t)
  end
  check_used(names_of(sizes), loops, "sizes", errors.keys(loops))
  check_used(names_of(scalars), bare, "scalars", errors.keys(bare))
end

return given
