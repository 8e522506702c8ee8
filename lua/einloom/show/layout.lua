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

-- A space to break at after every * and / of a word that is longer than the width.
local function loosen(text, width)
  return (text:gsub("%S+", function(word)
    if #word <= width then return nil end
    return (word:gsub("[*/]", "%0\0"))
  end))
end

--- The parts of a text that fit a width, broken after spaces, long words after * and /.
---@param text string
---@param width integer
---@return string[]
function layout.wrap(text, width)
  local lines, line = {}, ""
  for word, space in loosen(text, width):gmatch "([^%s%z]+)([%s%z]*)" do
    space = space:gsub("%z", "")
    if line ~= "" and #line + #word > width then
      lines[#lines + 1] = (line:gsub("%s+$", ""))
      line = ""
    end
    line = line .. word .. space
  end
  lines[#lines + 1] = (line:gsub("%s+$", ""))
  return lines
end

-- What stands left of the later lines of a row: the bars of the margin.
local function bars(margin) return (margin:gsub("[^|]", " ")) end

local function put_left(out, margin, left, column, room)
  if #margin + 2 > column then
    local after = margin .. "  " .. left
    if #after <= column + room then
      out[#out + 1] = after
      return
    end
    out[#out + 1] = margin
    margin = bars(margin):sub(1, column)
  end
  for i, part in ipairs(layout.wrap(left, math.max(room, 16))) do
    local before = i == 1 and margin or bars(margin)
    out[#out + 1] = part == "" and before or before .. (" "):rep(column - #before) .. part
  end
end

--- Lines of two columns after a margin: `left` from `column`, `right` from `second` or below.
---@param out string[] lines are added here
---@param margin string what stands before the first column
---@param left string
---@param right? string
---@param column integer where `left` begins
---@param second integer where `right` begins
function layout.row(out, margin, left, right, column, second)
  put_left(out, margin, left, column, (right and second - 2 or layout.width) - column)
  if not right then return end
  local last = out[#out]
  if #last + 2 <= second and second + #right <= layout.width then
    out[#out] = last .. (" "):rep(second - #last) .. right
    return
  end
  local before = bars(margin):gsub("%s+$", "")
  if #before + 1 + #right > layout.width then
    return put_left(out, bars(margin):sub(1, column), right, column, layout.width - column)
  end
  local at = math.max(#before + 1, math.min(second, layout.width - #right))
  out[#out + 1] = before .. (" "):rep(at - #before) .. right
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
