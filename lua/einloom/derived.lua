-- SPDX-License-Identifier: MIT
-- Numbers of a component given as functions: each is called once, when the architecture is made,
-- with the component and the action or dimension it stands in; its result takes its place.

local core = require "einloom.core"
local errors = require "einloom.errors"

local derived = {}

local KIND = "bad_arch"

local function fail(message, path)
  errors.raise(KIND, message, { path = path })
end

-- Keys under which an action stands, and keys of lists or tables of actions and dimensions.
local actions = { read = true, write = true, compute = true }
local groups = { actions = true, spatial = true }
-- A latency rule is a formula over counts, not a number: its function is for the analysis to call.
local kept = { latency_rule = true }

-- No field of a component lies deeper than this; what does is refused later.
local deepest = 6

local function has_function(t, depth)
  for key, x in pairs(t) do
    if type(x) == "function" and not kept[key] then return true end
    if type(x) == "table" and depth < deepest and has_function(x, depth + 1) then return true end
  end
  return false
end

-- The metatable of a table that is filled as it is read and never written by who reads it; `busy`
-- holds the keys whose functions are being called, which pairs leaves out.
local function lazy(source, name, busy, resolve)
  local done = {}
  local function next_field(self, key)
    repeat key = next(source, key) until key == nil or not busy[key]
    if key ~= nil then return key, self[key] end
  end
  return {
    __name = "einloom.component",
    __index = function(_, key)
      if done[key] == nil then
        local x = source[key]
        if key == "name" and x == nil then x = name end
        done[key] = resolve(key, x)
      end
      return done[key]
    end,
    __newindex = function(_, key)
      error(("%s of %s cannot be set here"):format(tostring(key), name), 2)
    end,
    __pairs = function(self) return next_field, self end,
    __len = function() return #source end,
    __tostring = function() return name end,
  }
end

local function place(path, key)
  if math.type(key) == "integer" then return ("%s[%d]"):format(path, key) end
  return path .. "." .. tostring(key)
end

local function call(f, component, part, path)
  local ok, x = pcall(f, component, part)
  if not ok then
    if not errors.is(x) then fail("its function failed: " .. tostring(x), path) end
    x.path = x.path or path
    error(x, 0)
  end
  if type(x) ~= "number" and not core.is_expr(x) then
    fail(("its function returned %s: a number or an expression expected")
      :format(x == nil and "nothing" or "a " .. type(x)), path)
  end
  return x
end

-- What a table inside another one is: groups hold parts (actions, dimensions), the rest is plain.
local function role_of(key, role)
  if role == "group" or role == "component" and actions[key] then return "part" end
  return role == "component" and groups[key] and "group" or "plain"
end

-- The view of a component or a table in it; functions get the component and the part they are in.
local function open(source, name, path, role, component, part)
  local busy, self = {}, {}
  local function resolve(key, x)
    if kept[key] or type(x) ~= "function" and type(x) ~= "table" then return x end
    local where, around = place(path, key), component or self
    local inside = role == "part" and self or part
    if type(x) == "table" then
      return open(x, tostring(x.name or key), where, role_of(key, role), around, inside)
    end
    if busy[key] then fail("its function depends on itself", where) end
    busy[key] = true
    x = call(x, around, role == "group" and { name = key } or inside, where)
    busy[key] = nil
    return x
  end
  return setmetatable(self, lazy(source, name, busy, resolve))
end

local function copy(opened, depth)
  local result = {}
  for key, x in pairs(opened) do
    local deeper = type(x) == "table" and depth < deepest
    result[key] = deeper and copy(x, depth + 1) or x
  end
  return result
end

--- A component's table with what its functions return in their places; the table itself if it has
--- no functions. A function may read other fields of the component, also those that are functions;
--- a circle is an error.
---@param t table
---@param path string place of the component, for messages
---@return table
function derived.resolve(t, path)
  if not has_function(t, 1) then return t end
  return copy(open(t, t.name, path, "component"), 1)
end

return derived
