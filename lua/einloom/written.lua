-- SPDX-License-Identifier: MIT
-- Files that are written as a whole or not at all: they grow under another name beside their place
-- and get there when they are complete, so that what was there before stays till then.
-- Invariant: nothing is removed that was not made here; devices and pipes are written as they are.

local core = require "einloom.core"

local written = {}

---@class einloom.Written
---@field path string as it was given
---@field file file*
---@field target? string where the file goes in the end; nil: it is written in its place
---@field name? string where it grows
local Written = {}
Written.__index = Written

-- A name beside a path that nothing has.
local function name_beside(path)
  local name, n = path .. ".unfinished", 1
  while core.file_kind(name) do
    n = n + 1
    name = ("%s.unfinished%d"):format(path, n)
  end
  return name
end

--- Begins to write a file; nil and why where that cannot be.
---@param path string
---@return einloom.Written?
---@return string? message
function written.open(path)
  local kind, real = core.file_kind(path)
  local target = real or not kind and path ~= "" and path or nil
  if real then -- what may not be written is not replaced either
    local there, message = io.open(path, "ab")
    if not there then return nil, message end
    there:close()
  end
  local name = target and name_beside(target)
  local file, message = io.open(name or path, "wb")
  -- Where no file can be made beside it, one that is there is written in its place.
  if not file and real then
    name, target = nil, nil
    file, message = io.open(path, "wb")
  end
  if not file then
    return nil, name and message:gsub("%.unfinished%d*:", ":", 1) or message
  end
  return setmetatable({ path = path, file = file, target = target, name = name }, Written)
end

--- Adds texts; nil and why where that fails.
---@return boolean? ok
---@return string? message
function Written:write(...)
  local done, message = self.file:write(...)
  return done and true or nil, message
end

--- Ends the file, which is complete, and puts it into its place; nil and why where that fails: then
--- what was there before is there still.
---@return boolean? ok
---@return string? message
function Written:close()
  local closed, message = self.file:close()
  if not closed then
    if self.name then os.remove(self.name) end
    return nil, message
  end
  if not self.name then return true end
  local moved, problem = os.rename(self.name, self.target)
  if moved then return true end
  os.remove(self.name)
  return nil, problem
end

--- Ends a file that is not complete: what was there before stays.
function Written:drop()
  self.file:close()
  if self.name then os.remove(self.name) end
end

--- Whether a file can be written, without a change to what is there; nil and why not.
---@param path string
---@return boolean? ok
---@return string? message
function written.check(path)
  local kind = core.file_kind(path)
  if kind == "other" then return true end -- to open a pipe is to wait for a reader
  local file, message = io.open(path, "ab")
  if not file then return nil, message end
  file:close()
  if not kind then os.remove(path) end
  return true
end

return written
