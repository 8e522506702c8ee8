-- SPDX-License-Identifier: MIT
-- Index arithmetic of loop nests for scripts: indices may be expressions or texts; names of a text
-- that are given as loop variables are integers from 0, all others positive, as everywhere.

local core = require "einloom.core"
local errors = require "einloom.errors"

local index = {}

local KIND = "bad_index"

local function fail(message, path) errors.raise(KIND, message, { path = path }) end

-- The symbol of that name in an expression, or nil.
local function symbol_in(e, name)
  for _, symbol in ipairs(e:symbols()) do
    if symbol:name() == name then return symbol end
  end
  return nil
end

-- A loop variable: the symbol that was given, or the one of that name: in the index if that is an
-- expression, else an integer from 0.
local function variable_of(given, path, e)
  if core.is_expr(given) and given:kind() == "sym" then return given end
  if type(given) == "string" and given:match "^[%a_][%w_]*$" then
    return core.is_expr(e) and symbol_in(e, given) or core.symbol(given, { min = 0 })
  end
  fail(("a loop variable expected, got %s"):format(
    type(given) == "string" and "'" .. given .. "'" or
    core.is_expr(given) and tostring(given) or type(given)), path)
end

-- An index, from its text with these loop variables.
local function read(given, variables, path)
  if core.is_expr(given) then return given end
  if math.type(given) == "integer" then return core.int(given) end
  if type(given) ~= "string" then
    fail(("an index expected, an expression or its text, got %s"):format(type(given)), path)
  end
  return core.parse(given, path, variables)
end

local function read_variables(list, path, e)
  if type(list) ~= "table" then
    fail(("a list of loop variables expected, got %s"):format(type(list)), path)
  end
  local variables = {}
  for i, one in ipairs(list) do variables[i] = variable_of(one, ("%s[%d]"):format(path, i), e) end
  return variables
end

-- Loop variables with their sizes, which texts may be too.
local function read_extents(given, e)
  if type(given) ~= "table" then
    fail(("a table { variable = size } expected, got %s"):format(type(given)), "extents")
  end
  local extents, variables = {}, {}
  for key, size in pairs(given) do
    local path = "extents." .. tostring(key)
    local variable = variable_of(key, path, e)
    variables[#variables + 1] = variable
    extents[variable] = read(size, nil, path)
  end
  return extents, variables
end

--- An index in simplest form: products distributed and, with extents, neighbouring digits joined
--- and divisions and remainders resolved where the variables stay below their sizes.
---@param e einloom.Expr|string
---@param extents? table<string|einloom.Expr, einloom.Number|string> size of each loop variable
---@return einloom.Expr
function index.simplify(e, extents)
  if extents == nil then return read(e, nil, "index"):simplify() end
  local sizes, variables = read_extents(extents, e)
  return read(e, variables, "index"):simplify(sizes)
end

--- The steps of an index along loop variables, at the origin.
---@param e einloom.Expr|string
---@param variables (string|einloom.Expr)[]
---@return einloom.Expr[]
function index.strides(e, variables)
  local symbols = read_variables(variables, "variables", e)
  return read(e, symbols, "index"):strides(symbols)
end

local function read_loop(loop, path)
  if type(loop) ~= "table" or #loop ~= 2 then
    fail("a loop { variable, size } expected", path)
  end
  return variable_of(loop[1], path), read(loop[2], nil, path)
end

--- Merges loops, outermost first, that all formulas walk as one.
---@param loops { [1]: string|einloom.Expr, [2]: einloom.Number|string }[]
---@param formulas (einloom.Expr|string)[]
---@param options? { keep_order: boolean? } no merging that changes the order of iterations
---@return { [1]: einloom.Expr, [2]: einloom.Expr }[] loops that are left; the others are at 0
function index.merge_loops(loops, formulas, options)
  errors.check_keys(KIND, options or {}, { keep_order = true }, "options")
  local variables, sizes, read_formulas = {}, {}, {}
  for i, loop in ipairs(loops) do
    variables[i], sizes[i] = read_loop(loop, ("loops[%d]"):format(i))
  end
  for i, formula in ipairs(formulas) do
    read_formulas[i] = read(formula, variables, ("formulas[%d]"):format(i))
  end
  local merged = core.merge_loops(variables, sizes, read_formulas, (options or {}).keep_order)
  local left = {}
  for i, position in ipairs(merged.kept) do
    left[i] = { variables[position], merged.sizes[i] }
  end
  return left
end

--- The block shape that divisions and remainders of one loop variable imply: dims, strides and the
--- pieces of the variable beside them, outermost first; nil where the index is no address of n
--- nested blocks.
---@param e einloom.Expr|string
---@param variable string|einloom.Expr
---@param extent einloom.Number|string of the variable
---@param n integer dimensions
---@return { dims: einloom.Expr[], strides: einloom.Expr[], pieces: einloom.Expr[] }?
function index.match_blocks(e, variable, extent, n)
  local symbol = variable_of(variable, "variable", e)
  return read(e, { symbol }, "index"):match_blocks(symbol, read(extent, nil, "extent"), n)
end

return index
