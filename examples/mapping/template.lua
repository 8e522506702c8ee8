-- SPDX-License-Identifier: MIT
-- Loop nests written from a text with places, $name, and their values. A line with places is left
-- out where none of them has a value, so that one text serves similar einsums.

--- The text with values in its places, its lines moved in by `depth` levels.
---@param text string
---@param values table<string, string|integer|false>
---@param depth? integer
---@return string
return function(text, values, depth)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    local wanted = not line:find "%$"
    local filled = line:gsub("%$(%a+)", function(key)
      local value = values[key]
      wanted = wanted or value
      return value or ""
    end)
    if wanted then lines[#lines + 1] = ("  "):rep(depth or 0) .. filled end
  end
  return table.concat(lines, "\n") .. "\n"
end
