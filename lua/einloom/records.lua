-- SPDX-License-Identifier: MIT
-- Read-only records: a name that does not exist is an error with the nearest known one, not nil;
-- pairs goes over positions, then names in their order.

local errors = require "einloom.errors"

local records = {}

--- Raises an error at a level above the caller: what was asked has no such name.
---@param what string
---@param name any
---@param known string[]
---@param level? integer
function records.unknown(what, name, known, level)
  local hint = errors.hint(tostring(name), known)
  error(("%s has no '%s'%s"):format(what, tostring(name), hint), (level or 1) + 1)
end

--- For __newindex.
function records.read_only() error("a result cannot be changed", 2) end

-- Walks positions, then names.
local function walk(fields)
  local names, i = errors.keys(fields), 0
  local n = #fields
  return function()
    i = i + 1
    local key = i <= n and i or names[i - n]
    if key ~= nil then return key, fields[key] end
  end
end

--- The fields of a record as lines.
---@param fields table<string, any>
---@return fun(): string
function records.text(fields)
  return function()
    local lines = {}
    for _, name in ipairs(errors.keys(fields)) do
      local value = tostring(fields[name])
      local nested = type(fields[name]) == "table"
      lines[#lines + 1] = nested and ("%s\n  %s"):format(name, (value:gsub("\n", "\n  ")))
        or ("%s %s"):format(name, value)
    end
    return table.concat(lines, "\n")
  end
end

--- A read-only view of some fields; positions that do not exist are nil.
---@param what string what the record is, for messages
---@param fields table
---@param short? table<string, string> other names of fields
---@param text? fun(): string
---@param note? fun(value: any, name: any) called with what is read
---@param absent? table<string, true> names that are right even where there is no field: nil
---@return table
function records.new(what, fields, short, text, note, absent)
  return setmetatable({}, {
    __index = function(_, name)
      local value = fields[short and short[name] or name]
      if value == nil and math.type(name) ~= "integer" and not (absent and absent[name]) then
        local names = errors.keys(fields)
        for other in pairs(short or absent or {}) do names[#names + 1] = other end
        records.unknown(what, name, names, 2)
      end
      if note then note(value, short and short[name] or name) end
      return value
    end,
    __newindex = records.read_only,
    __pairs = function(self) return walk(fields), self, nil end,
    __len = function() return #fields end,
    __tostring = text or records.text(fields),
  })
end

--- A method that says so where it is called without its object.
---@param class table metatable of the object
---@param name string
---@param method function
---@return function
function records.with_colon(class, name, method)
  return function(self, ...)
    if getmetatable(self) ~= class then
      error(("call it with a colon: r:%s()"):format(name), 2)
    end
    return method(self, ...)
  end
end

return records
