-- SPDX-License-Identifier: MIT
-- What is given of a graph of einsums: texts, sizes, tensors and scalars, as tables say them, hints
-- of sizes; and that nothing is given that no einsum uses.

local body = require "einloom.kernels.body"
local core = require "einloom.core"
local errors = require "einloom.errors"
local shapes = require "einloom.kernels.shapes"

local given = {}

local KIND = "bad_graph"

local function fail(path, message) errors.raise(KIND, message, { path = path }) end

local keys = {
  einsums = true, sizes = true, tensors = true, scalars = true, outputs = true, dtype = true,
  hints = true, lists = true, templates = true,
}
local tensor_keys = { sizes = true, strides = true, offset = true, dtype = true }
local known_dtypes = {
  f32 = true, f64 = true, f16 = true, bf16 = true, i64 = true, i32 = true, i8 = true, bool = true,
}

-- ---- what is given -------------------------------------------------------------------------

--- A table that may be missing.
---@param t any
---@param path string
---@return table
function given.table_of(t, path)
  if t == nil then return {} end
  if type(t) ~= "table" then fail(path, ("table expected, got %s"):format(type(t))) end
  return t
end

local function check_dtype(name, path)
  if name == nil or known_dtypes[name] then return name end
  errors.raise(KIND, ("unknown dtype '%s'%s"):format(tostring(name),
    errors.hint(tostring(name), errors.keys(known_dtypes))), { path = path })
end

local function read_tensor(name, said)
  if type(name) ~= "string" then
    errors.raise(KIND, ("[%s]: every tensor needs a name here"):format(tostring(name)),
      { path = "tensors" })
  end
  local path = "tensors." .. name
  errors.check_keys(KIND, given.table_of(said, path), tensor_keys, path)
  local tensor = { name = name, given = true, dtype = check_dtype(said.dtype, path .. ".dtype") }
  if said.sizes then tensor.sizes = shapes.sizes(said.sizes, path .. ".sizes") end
  if said.strides then tensor.strides = shapes.sizes(said.strides, path .. ".strides") end
  if said.offset then tensor.offset = shapes.size(said.offset, path .. ".offset") end
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

--- Einsums as { name =, text =, start = }: of a list of texts, or of one text with an einsum on
--- each line.
---@param said any
---@return { name: string, text: string, start: integer }[]
function given.texts(said)
  if type(said) == "string" then said = lines_of(said) end
  if type(said) ~= "table" or #said == 0 then
    errors.raise(KIND, "einsums expected: a list of texts, or one text with an einsum on each line",
      { path = "einsums" })
  end
  local list = {}
  for i, text in ipairs(said) do
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

--- What a graph is made of but its einsums, checked, as the state in which these are read.
---@param t any
---@return table
function given.read(t)
  if t == nil then errors.raise(KIND, "a table with einsums expected", { path = "graph" }) end
  errors.check_keys(KIND, given.table_of(t, "graph"), keys, "graph")
  local state = { sizes = {}, scalars = {}, tensors = {}, order = {}, reads = {}, current = {},
    by_name = {}, asked = {}, walked = {} }
  for name, size in pairs(given.table_of(t.sizes, "sizes")) do
    state.sizes[name] = shapes.size(size, "sizes." .. tostring(name))
  end
  for name, scalar in pairs(given.table_of(t.scalars, "scalars")) do
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
  for name, tensor in pairs(given.table_of(t.tensors, "tensors")) do
    state.tensors[name] = read_tensor(name, tensor)
  end
  state.dtype = check_dtype(t.dtype, "dtype") or "f32"
  state.size_of = sizes_by_name(state)
  return state
end

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
