-- SPDX-License-Identifier: MIT
-- What a stored search is a search of: two identities are equal when a search of the one may go on
-- where the other stopped.  Differences are named by their place.

local core = require "einloom.core"

local identity = {}

--- The text of an identity, or of any plain data: equal for equal data.
---@param data table
---@return string
function identity.encode(data) return core.json.encode(data, { sort_keys = true }) end

local function sorted_keys(...)
  local seen, keys = {}, {}
  for _, t in ipairs { ... } do
    for key in pairs(t) do
      if not seen[key] then keys[#keys + 1] = key end
      seen[key] = true
    end
  end
  table.sort(keys, function(a, b)
    if math.type(a) == math.type(b) and type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  return keys
end

local function place(path, key)
  if math.type(key) == "integer" then return ("%s[%d]"):format(path, key) end
  return path == "" and key or ("%s.%s"):format(path, key)
end

local function shown(value)
  if value == nil then return "missing" end
  local text = identity.encode { value }:sub(2, -2)
  return #text <= 60 and text or text:sub(1, 57) .. "..."
end

--- The places at which plain data differ, with both values as texts.
---@param here any
---@param there any
---@param path? string
---@param list? table[]
---@return { path: string, here: string, there: string }[]
function identity.differences(here, there, path, list)
  path, list = path or "", list or {}
  if type(here) == "table" and type(there) == "table" then
    for _, key in ipairs(sorted_keys(here, there)) do
      identity.differences(here[key], there[key], place(path, key), list)
    end
  elseif here ~= there then
    list[#list + 1] = { path = path, here = shown(here), there = shown(there) }
  end
  return list
end

return identity
