-- SPDX-License-Identifier: MIT
-- Calls that have to fail with an error object.

local fails = {}

--- Checks that f raises an error of a kind whose text has all parts.
---@param kind string
---@param parts string[]
---@param f function
function fails.with(kind, parts, f)
  local ok, e = pcall(f)
  if ok then error("no error", 2) end
  local text = tostring(e)
  if type(e) ~= "table" or e.kind ~= kind then
    error(("kind %s expected, got %s: %s"):format(kind, type(e) == "table" and e.kind, text), 2)
  end
  for _, part in ipairs(parts) do
    if not text:find(part, 1, true) then error(("'%s' is not in: %s"):format(part, text), 2) end
  end
end

return fails
