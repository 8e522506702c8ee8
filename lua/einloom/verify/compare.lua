-- SPDX-License-Identifier: MIT
-- The one strict comparison behind `einloom verify`: expected JSON against a computed tree of the
-- same shape. Both sides count; what the shape does not name is a difference.

local core = require "einloom.core"
local points = require "einloom.points"

local compare = {}

local null, array = core.json.null, core.json.array

local function is_array(value) return type(value) == "table" and getmetatable(value) == array end

local function sorted_keys(...)
  local seen, keys = {}, {}
  for _, t in ipairs { ... } do
    for key in pairs(t) do
      if not seen[key] then
        seen[key] = true
        keys[#keys + 1] = key
      end
    end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

--- Shapes: "number", "integer", "text", "boolean" for leaves, and the tables made by the
--- constructors below. A shape describes the expected side and the computed side alike; numbers of
--- the computed side are expressions.

--- A table with exactly these keys.
---@param fields table<string, any> shape by key
function compare.object(fields)
  return { kind = "object", fields = fields, order = sorted_keys(fields) }
end

--- A table with free keys and one shape of value; an absent number is 0.
function compare.map(of) return { kind = "map", of = of } end

--- A list of records found by the values of `key`, with further `fields`.
---@param key string[]
---@param fields table<string, any>
function compare.records(key, fields)
  return { kind = "records", key = key, fields = fields, order = sorted_keys(fields) }
end

--- A list in its order.
function compare.list(of) return { kind = "list", of = of } end

--- A list of strings whose order has no meaning.
function compare.set() return { kind = "set" } end

--- A loop nest as strings: loops and compute in order, what stands between two of them in any.
function compare.nest() return { kind = "nest" } end

--- Something that is not compared; any value will do.
function compare.anything() return { kind = "anything" } end

---@class einloom.comparison
---@field names table<string, boolean> names that free keys may have where nothing was computed
---@field tolerance number relative, for numbers written with a fraction
---@field rounded? boolean all numbers were rounded, integers too: the tolerance holds for each
---@field samples table[] the points at which formulas are compared
---@field family? string of the file, where its head names one
---@field differ fun(path: string, expected: string, got: string)
---@field wrapped fun(path: string, expected: string, got: string) recorded modulo 2^64
---@field disputed? fun(path: string, keys: table): boolean

local function show(value)
  if value == nil then return "nothing" end
  if value == null then return "null" end
  if type(value) ~= "table" then return tostring(value) end
  return core.json.encode(value, { sort_keys = true })
end

local function show_number(run, got)
  if got == nil then return "0" end
  if not core.is_expr(got) or got:is_number() or #run.samples == 0 then return tostring(got) end
  local values = {}
  for i = 1, #run.samples do values[i] = tostring((points.at(got, run.samples[i]))) end
  return ("%s = %s"):format(got, table.concat(values, ", "))
end

local function real_equal(expected, got, tolerance)
  if expected == got then return true end
  if expected ~= expected or got ~= got then return false end
  local largest = math.max(math.abs(expected), math.abs(got))
  return largest < math.huge and math.abs(expected - got) <= tolerance * largest
end

local function scalar_equal(run, expected, got)
  if got == math.huge then return expected == "inf" or expected == math.huge end
  if not core.is_expr(got) then got = core.number(got) end
  if not got:is_number() then return false end
  if math.type(expected) == "float" or (run.rounded and math.type(expected) == "integer") then
    local real = got:tonumber()
    return real ~= nil and real_equal(expected, real, run.tolerance)
  end
  if expected == "inf" then return false end
  local ok, exact = pcall(core.number, expected)
  return ok and exact == got
end

local two_to_64 = core.number(2) ^ 64

-- Was the number recorded by a tool that multiplied in 64 bits? Then it is the exact one modulo
-- 2^64, and no integer of 64 bits could be right.
local function recorded_wrapped(expected, got)
  if math.type(expected) ~= "integer" or not core.is_expr(got) then return false end
  if not got:is_number() or not got:is_integer() or got:tointeger() then return false end
  return (got - expected) % two_to_64 == core.int(0)
end

-- Without samples the formulas themselves must be equal.
local function written_differs(formula, got)
  if got:print "infix" == formula then return nil end
  local ok, e = pcall(core.parse, formula, "formula", got:symbols())
  if not ok then return "a formula, not " .. show(formula) end
  return e ~= got and not (e - got):expand():eq(0) and show(formula) or nil
end

local function formula_differs(run, expected, got)
  for key in pairs(expected) do
    if key ~= "formula" and key ~= "values" then return "no key " .. show(key) end
  end
  local values = expected.values
  if #run.samples == 0 and is_array(values) and #values == 0 then
    return written_differs(expected.formula, got)
  end
  if not is_array(values) or #values ~= #run.samples or #values == 0 then
    return "one value per sample"
  end
  for i, sample in ipairs(run.samples) do
    if not scalar_equal(run, values[i], points.at(got, sample)) then
      return ("%s at %s"):format(show(values[i]), show(sample))
    end
  end
  return nil
end

local leaf = {}

function leaf.number(run, path, expected, got)
  if expected == nil then expected = 0 end
  if got == nil then got = core.int(0) end
  local problem
  if type(expected) == "table" and expected ~= null then
    problem = formula_differs(run, expected, points.exact(got))
  elseif type(expected) ~= "number" and type(expected) ~= "string" then
    problem = "a number, not " .. show(expected)
  elseif recorded_wrapped(expected, got) then
    run.wrapped(path, show(expected), show_number(run, got))
  elseif not scalar_equal(run, expected, got) then
    problem = show(expected)
  end
  if problem then run.differ(path, problem, show_number(run, got)) end
end

function leaf.integer(run, path, expected, got)
  if expected == nil then expected = 0 end
  if got == nil then got = 0 end
  if math.type(expected) ~= "integer" or expected ~= got then
    run.differ(path, show(expected), show(got))
  end
end

function leaf.text(run, path, expected, got)
  if expected ~= got then run.differ(path, show(expected), show(got)) end
end

function leaf.boolean(run, path, expected, got)
  if expected == nil then expected = false end
  if (got == true) ~= expected then run.differ(path, show(expected), tostring(got == true)) end
end

local check, check_children

local function child(path, key)
  local text = path.text == "" and key or path.text .. "." .. key
  return { text = text, keys = path.keys, bare = path.bare .. "." .. key }
end

local function is_leaf(shape) return type(shape) == "string" end

-- Both sides are there, and the expected one is a JSON array where a list is meant, else an object.
local function both_tables(run, path, expected, got, want_array)
  local is_table = type(expected) == "table" and expected ~= null
  if is_table and type(got) == "table" and is_array(expected) == want_array then return true end
  if expected ~= nil or got ~= nil then
    local wanted = want_array and "a list" or "an object"
    local shown = type(got) == "table" and wanted or show(got)
    run.differ(path.text, not is_table and show(expected)
      or is_array(expected) and "a list" or "an object", shown)
  end
  return false
end

local composite = {}

function composite.object(run, shape, path, expected, got)
  if not both_tables(run, path, expected, got, false) then return end
  for _, key in ipairs(sorted_keys(expected, got)) do
    if shape.fields[key] == nil then
      local side = expected[key] ~= nil and "no such key" or "nothing"
      run.differ(child(path, tostring(key)).text, side, show(expected[key] or "a value"))
    end
  end
  check_children(run, shape, path, expected, got)
end

function composite.map(run, shape, path, expected, got)
  if not both_tables(run, path, expected, got, false) then return end
  for _, key in ipairs(sorted_keys(expected, got)) do
    local here = child(path, tostring(key))
    if got[key] == nil and not run.names[key] then
      run.differ(here.text, "no such name", show(expected[key]))
    else
      check(run, shape.of, here, expected[key], got[key])
    end
  end
end

local function record_key(record, key)
  local values = {}
  for i, name in ipairs(key) do
    local value = record[name]
    values[i] = (value == nil or value == null) and "-" or tostring(value)
  end
  return table.concat(values, ",")
end

local function index_records(run, path, list, key, side)
  local index = {}
  for _, record in ipairs(list) do
    local id = type(record) == "table" and record_key(record, key) or nil
    if id == nil then
      run.differ(path.text, "records", "a list with " .. show(record))
    elseif index[id] then
      run.differ(("%s[%s]"):format(path.text, id), "one record", "two " .. side)
    else
      index[id] = record
    end
  end
  return index
end

local function check_record(run, shape, path, expected, got)
  local known = {}
  for _, name in ipairs(shape.key) do known[name] = true end
  for _, field in ipairs(sorted_keys(expected)) do
    if not known[field] and shape.fields[field] == nil then
      run.differ(path.text .. "." .. tostring(field), "no such key", show(expected[field]))
    end
  end
  check_children(run, shape, path, expected, got)
end

function composite.records(run, shape, path, expected, got)
  if not both_tables(run, path, expected, got, true) then return end
  local ours = index_records(run, path, got, shape.key, "computed")
  local theirs = index_records(run, path, expected, shape.key, "expected")
  for _, id in ipairs(sorted_keys(theirs, ours)) do
    local keys = setmetatable({}, { __index = path.keys })
    for _, name in ipairs(shape.key) do keys[name] = (theirs[id] or ours[id])[name] end
    local text = ("%s[%s]"):format(path.text, id)
    local here = { text = text, keys = keys, bare = path.bare }
    if not theirs[id] then
      if not (run.disputed and run.disputed(path.bare, keys)) then
        run.differ(text, "no record", "a record")
      end
    elseif not ours[id] then
      if not (run.disputed and run.disputed(path.bare, keys)) then
        run.differ(text, "a record", "no record")
      end
    else
      check_record(run, shape, here, theirs[id], ours[id])
    end
  end
end

function composite.list(run, shape, path, expected, got)
  if not both_tables(run, path, expected, got, true) then return end
  if #expected ~= #got then
    run.differ(path.text, #expected .. " entries", #got .. " entries")
    return
  end
  for i = 1, #expected do
    local here = { text = ("%s[%d]"):format(path.text, i), keys = path.keys, bare = path.bare }
    check(run, shape.of, here, expected[i], got[i])
  end
end

local function sorted_copy(list)
  local copy = {}
  for i, value in ipairs(list) do copy[i] = show(value) end
  table.sort(copy)
  return table.concat(copy, " ")
end

function composite.set(run, _, path, expected, got)
  if not both_tables(run, path, expected, got, true) then return end
  local theirs, ours = sorted_copy(expected), sorted_copy(got)
  if theirs ~= ours then run.differ(path.text, "{" .. theirs .. "}", "{" .. ours .. "}") end
end

local function nest_parts(nest)
  local parts, between = {}, {}
  local function close()
    table.sort(between)
    for _, line in ipairs(between) do parts[#parts + 1] = line end
    between = {}
  end
  for _, line in ipairs(nest) do
    line = tostring(line)
    local word = line:match "^%a+"
    if word == "temporal" or word == "spatial" or word == "compute" then
      close()
      parts[#parts + 1] = line
    else
      between[#between + 1] = line
    end
  end
  close()
  return parts
end

function composite.nest(run, _, path, expected, got)
  if not both_tables(run, path, expected, got, true) then return end
  local theirs, ours = nest_parts(expected), nest_parts(got)
  for i = 1, math.max(#theirs, #ours) do
    if theirs[i] ~= ours[i] then
      local place = ("%s[%d]"):format(path.text, i)
      run.differ(place, theirs[i] or "the end", ours[i] or "the end")
      return
    end
  end
end

function composite.anything() end

function check(run, shape, path, expected, got)
  if run.disputed and run.disputed(path.bare, path.keys) then return end
  if is_leaf(shape) then return leaf[shape](run, path.text, expected, got) end
  return composite[shape.kind](run, shape, path, expected, got)
end

function check_children(run, shape, path, expected, got)
  for _, field in ipairs(shape.order) do
    local e, g = expected[field], got[field]
    if e ~= nil or g ~= nil then check(run, shape.fields[field], child(path, field), e, g) end
  end
end

--- Compares two trees; every difference is given to `run.differ`.
---@param run einloom.comparison
---@param shape any
---@param at string path shown before the names inside
---@param expected any decoded JSON
---@param got any the same shape, numbers as expressions
function compare.check(run, shape, at, expected, got)
  check(run, shape, { text = at, keys = {}, bare = "." .. at }, expected, got)
end

--- A predicate for `disputed`: does a field belong to one of these names? A name is a dotted path
--- found anywhere in the field's ("totals.energy"), or "FIELD of KEY VALUE" for one record.
---@param names string[]
---@param seen table<string, boolean> names that were met
function compare.disputed_names(names, seen)
  local tests = {}
  for i, name in ipairs(names) do
    local field, key, value = name:match "^(%S+) of (%S+) (%S+)$"
    tests[i] = { name = name, needle = "." .. (field or name) .. ".", key = key, value = value }
  end
  return function(bare, keys)
    local disputed = false
    for _, test in ipairs(tests) do
      local here = not test.key or keys[test.key] == test.value
      if here and (bare .. "."):find(test.needle, 1, true) then
        seen[test.name] = true
        disputed = true
      end
    end
    return disputed
  end
end

return compare
