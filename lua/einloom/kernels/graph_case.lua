-- SPDX-License-Identifier: MIT
-- The form of graph cases of simd/1 (inputs, buffers, outputs, nodes, sizes) as users write them:
-- checks every part before it is read, and names the place of what is wrong.

local core = require "einloom.core"
local errors = require "einloom.errors"

local graph_case = {}

local null = core.json.null

local function fail(path, message) errors.raise("bad_case", message, { path = path }) end

local function kind_of(x)
  if x == nil or x == null then return "nothing" end
  if type(x) ~= "table" then return math.type(x) or type(x) end
  return (#x > 0 or getmetatable(x) == core.json.array) and "list" or "object"
end

local function expect(what, x, path)
  local got = kind_of(x)
  if got ~= what and not (got == "list" and what == "object" and next(x) == nil) then
    fail(path, ("%s expected, got %s"):format(what, got == "string" and ("'%s'"):format(x) or got))
  end
end

local function text(x, path) expect("string", x, path) end

local function expression(x, path)
  if math.type(x) ~= "integer" and type(x) ~= "string" then
    fail(path, ("an integer or the text of an expression expected, got %s"):format(kind_of(x)))
  end
  if type(x) == "string" and not pcall(core.parse, x, "case") then
    fail(path, ("'%s' is no expression"):format(x))
  end
end

local function one_of(list)
  local known = {}
  for _, name in ipairs(list) do known[name] = true end
  return function(x, path)
    text(x, path)
    if not known[x] then
      fail(path, ("'%s' is not one of %s"):format(x, table.concat(list, ", ")))
    end
  end
end

local function list_of(check)
  return function(x, path, names)
    if kind_of(x) ~= "list" and not (type(x) == "table" and next(x) == nil) then
      expect("list", x, path)
    end
    for i, entry in ipairs(x) do check(entry, ("%s[%d]"):format(path, i), names) end
  end
end

local function object(keys, needed)
  return function(x, path, names)
    expect("object", x, path)
    errors.check_keys("bad_case", x, keys, path)
    for _, key in ipairs(needed) do
      if x[key] == nil then fail(path, ("%s is missing"):format(key)) end
    end
    for _, key in ipairs(errors.keys(x)) do
      if keys[key] then keys[key](x[key], path .. "." .. key, names) end
    end
  end
end

local function map_of(check)
  return function(x, path, names)
    expect("object", x, path)
    for _, name in ipairs(errors.keys(x)) do check(x[name], ("%s.%s"):format(path, name), names) end
  end
end

-- ---- parts ---------------------------------------------------------------------------------

local function known_buffer(x, path, names)
  text(x, path)
  if not names[x] then
    fail(path, ("no buffer '%s'%s"):format(x, errors.hint(x, errors.keys(names))))
  end
end

local function whole_number(x, path) expect("integer", x, path) end

local function extent(x, path)
  expression(x, path)
  if math.type(x) == "integer" and x < 0 then fail(path, "a size cannot be negative") end
end

local buffer_object = object({
  size = list_of(extent), stride = list_of(expression), offset = expression,
  dtype = one_of { "f32", "f64", "f16", "bf16", "i64", "i32", "i8", "bool" },
  itemsize = whole_number,
}, { "size", "stride", "offset", "dtype" })

local function buffer(x, path)
  buffer_object(x, path)
  if #x.size ~= #x.stride then
    fail(path .. ".stride", ("%d strides for %d sizes"):format(#x.stride, #x.size))
  end
end

local function loop(x, path)
  expect("list", x, path)
  if #x ~= 2 then fail(path, "a variable and its size expected") end
  text(x[1], path .. "[1]")
  if not x[1]:find "^[%a_][%w_]*$" then
    fail(path .. "[1]", ("'%s' is no name of a variable"):format(x[1]))
  end
  extent(x[2], path .. "[2]")
end

local function flag(x, path) expect("boolean", x, path) end

local use_object = object({
  buf = known_buffer, index = expression, kind = one_of { "index", "whole", "order" },
  masked = flag,
}, { "buf" })

local function use(x, path, names)
  if type(x) == "string" then return known_buffer(x, path, names) end
  use_object(x, path, names)
  if x.index == nil and (x.kind == nil or x.kind == "index") then
    fail(path, "index is missing")
  end
end

local function kind(x, path)
  text(x, path)
  local name, how = x:match "^([^:]*):?(.*)$"
  one_of { "pointwise", "reduction", "scan", "scatter", "opaque", "nop" }(name, path)
  if name == "reduction" then
    one_of { "sum", "prod", "max", "min", "argmax", "argmin", "welford_reduce" }(how, path)
  elseif name == "scan" and how ~= "" then
    one_of { "sum", "prod", "max", "min" }(how, path)
  elseif x ~= name then
    fail(path, ("'%s' has nothing behind a colon"):format(name))
  end
end

local node = object({
  name = text, kind = kind, pointwise = list_of(loop), reduction = list_of(loop),
  reads = list_of(use), writes = list_of(use), mutates = list_of(known_buffer),
  hint = one_of { "default", "inner", "outer", "outer_tiny" }, call = text,
  inputs = list_of(list_of(expression)), outputs = false, group = false, deps = false,
  ancestors = false,
}, { "name", "kind", "reads", "writes" })

local size = object({ hint = whole_number, min = whole_number, max = whole_number,
  unbacked = flag }, {})

local case = {
  inputs = map_of(buffer), buffers = map_of(buffer), outputs = list_of(known_buffer),
  internal = list_of(known_buffer), nodes = list_of(node), sizes = map_of(size),
  id = text, title = text, about = text, schema = text, family = text,
}
-- And what is recorded beside, which is not looked at.
local case_keys = { kernels = true, kernels_order = true }
for key in pairs(case) do case_keys[key] = true end

--- Raises an error object unless the case has the form of a graph; what it tells of results beside
--- is not looked at.
---@param x table
---@param path string
function graph_case.check(x, path)
  local names = {}
  errors.check_keys("bad_case", x, case_keys, path)
  for _, key in ipairs { "inputs", "buffers" } do
    if x[key] ~= nil then map_of(function() end)(x[key], path .. "." .. key) end
    for name in pairs(x[key] or {}) do names[name] = true end
  end
  for _, key in ipairs(errors.keys(case)) do
    if x[key] ~= nil then case[key](x[key], path .. "." .. key, names) end
  end
end

return graph_case
