-- SPDX-License-Identifier: MIT
-- Text in columns within a width: numbers, names with values, wrapped formulas.

local core = require "einloom.core"

local layout = {}

layout.width = 100

--- A number or formula as text; a fraction also as a decimal.
---@param value any
---@return string
function layout.value(value)
  if not core.is_expr(value) then return tostring(value) end
  if value:is_number() and not value:is_integer() then
    return ("%s (%.6g)"):format(value, value:tonumber())
  end
  return tostring(value)
end

--- The parts of a text that fit a width, broken after spaces; a word longer than it stays whole.
---@param text string
---@param width integer
---@return string[]
function layout.wrap(text, width)
  local lines, line = {}, ""
  for word, space in text:gmatch "(%S+)(%s*)" do
    if line ~= "" and #line + #word > width then
      lines[#lines + 1] = (line:gsub("%s+$", ""))
      line = ""
    end
    line = line .. word .. space
  end
  lines[#lines + 1] = (line:gsub("%s+$", ""))
  return lines
end

--- Lines of two columns after a margin: `left` from `column`, `right` from `second` or below.
---@param out string[] lines are added here
---@param margin string what stands before the first column
---@param left string
---@param right? string
---@param column integer where `left` begins
---@param second integer where `right` begins
function layout.row(out, margin, left, right, column, second)
  local room = (right and second - 2 or layout.width) - column
  local parts = layout.wrap(left, math.max(room, 16))
  for i, part in ipairs(parts) do
    local before = i == 1 and margin or margin:gsub("[^|]", " ")
    out[#out + 1] = part == "" and before or before .. (" "):rep(column - #before) .. part
  end
  if not right then return end
  local last = out[#out]
  if #last + 2 <= second then
    out[#out] = last .. (" "):rep(second - #last) .. right
  else
    local before = margin:gsub("[^|]", " "):gsub("%s+$", "")
    local at = math.max(#before + 1, math.min(second, layout.width - #right))
    out[#out + 1] = before .. (" "):rep(at - #before) .. right
  end
end

--- "3 values", "1 value".
---@param value any
---@param unit string plural
---@return string
function layout.count(value, unit)
  local text = layout.value(value)
  return ("%s %s"):format(text, text == "1" and unit:sub(1, -2) or unit)
end

--- "m=16 k=64" for values by name, in the order of the names.
---@param names string[]
---@param values table<string, any>
---@return string
function layout.assignments(names, values)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = ("%s=%s"):format(name, tostring(values[name])) end
  return table.concat(parts, " ")
end

return layout
