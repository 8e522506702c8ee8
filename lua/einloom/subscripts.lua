-- SPDX-License-Identifier: MIT
-- Einsum strings of the array libraries, `ij,jk->ik` with the operands' shapes, turned into the
-- text of an einsum and the sizes of its variables.  Operand and output numbers count from 0 in
-- messages, as those libraries count.

local errors = require "einloom.errors"

local subscripts = {}

---@class einloom.Subscripts
---@field text string the same einsum in einloom's grammar, operands T0, T1, ..., result Z
---@field sizes table<string, integer> size of every variable
---@field operands string[][] labels of each operand
---@field output string[] labels of the result
---@field out_shape integer[]

local function fail(source, position, message, name)
  errors.raise_at("bad_einsum_string", source, position, message, { name = name })
end

-- One term (operand or output): list of {label, position}; an ellipsis is the label "...".
local function term(source, first, last, what)
  local labels, ellipsis = {}, false
  local position = first
  while position <= last do
    local c = source.text:sub(position, position)
    if c:find "%a" then
      labels[#labels + 1] = { c, position }
    elseif source.text:sub(position, position + 2) == "..." and position + 2 <= last then
      if ellipsis then fail(source, position, ("second '...' in %s"):format(what), "...") end
      ellipsis = true
      labels[#labels + 1] = { "...", position }
      position = position + 2
    elseif not c:find "%s" then
      fail(source, position, ("'%s' in %s is not a label: labels are single letters")
        :format(c, what), c)
    end
    position = position + 1
  end
  return labels, ellipsis
end

-- Byte ranges of the operands and of the output (nil when implicit).
local function split(source)
  local text = source.text
  local arrow = text:find("->", 1, true)
  local second = arrow and text:find("->", arrow + 2, true)
  if second then fail(source, second, "second '->': an einsum string has one", "->") end
  local ranges, first = {}, 1
  local last = arrow and arrow - 1 or #text
  while true do
    local comma = text:find(",", first, true)
    if not comma or comma > last then break end
    ranges[#ranges + 1] = { first, comma - 1 }
    first = comma + 1
  end
  ranges[#ranges + 1] = { first, last }
  return ranges, arrow and { arrow + 2, #text }
end

-- Gives "..." its labels: the n leading-or-inner dimensions that letters leave over, counted from
-- the right so that operands align as in broadcasting.
local function expand(labels, n)
  local out = {}
  for _, label in ipairs(labels) do
    if label[1] == "..." then
      for i = n, 1, -1 do out[#out + 1] = { "_" .. i, label[2] } end
    else
      out[#out + 1] = label
    end
  end
  return out
end

local function shape_of(source, shapes, number, range)
  local shape = shapes[number]
  if type(shape) ~= "table" then
    fail(source, range[1], ("operand %d has no shape"):format(number - 1))
  end
  for i, size in ipairs(shape) do
    if math.type(size) ~= "integer" or size < 1 then
      fail(source, range[1], ("operand %d: dimension %d is %s, not a positive integer")
        :format(number - 1, i - 1, tostring(size)))
    end
  end
  return shape
end

local function operand(source, number, range, shape)
  local what = ("operand %d"):format(number - 1)
  local labels, ellipsis = term(source, range[1], range[2], what)
  local spare = #shape - (#labels - (ellipsis and 1 or 0))
  if spare < 0 or (spare > 0 and not ellipsis) then
    local written = source.text:sub(range[1], range[2]):gsub("%s", "")
    local start = labels[1] and labels[1][2] or range[1]
    fail(source, start, ("%s '%s' has %d labels, its shape has %d dimensions")
      :format(what, written, #labels - (ellipsis and 1 or 0), #shape))
  end
  return expand(labels, spare), ellipsis and spare or 0
end

-- Sizes by label; a broadcast dimension (from "...") of size 1 fits any size.
local function measure(source, operands, shapes)
  local sizes, from = {}, {}
  for number, labels in ipairs(operands) do
    for i, label in ipairs(labels) do
      local name, size = label[1], shapes[number][i]
      local known = sizes[name]
      local broadcast = name:sub(1, 1) == "_"
      if not known or (broadcast and known == 1) then
        sizes[name], from[name] = size, number - 1
      elseif known ~= size and not (broadcast and size == 1) then
        fail(source, label[2], ("label %s is %d in operand %d and %d in operand %d")
          :format(name, known, from[name], size, number - 1), name)
      end
    end
  end
  return sizes
end

local function implicit_output(operands, broadcast)
  local count, output = {}, {}
  for _, labels in ipairs(operands) do
    for _, label in ipairs(labels) do count[label[1]] = (count[label[1]] or 0) + 1 end
  end
  for name, n in pairs(count) do
    if n == 1 and name:sub(1, 1) ~= "_" then output[#output + 1] = name end
  end
  table.sort(output)
  for i = 1, broadcast do table.insert(output, 1, "_" .. i) end
  return output
end

local function explicit_output(source, range, sizes, broadcast)
  local labels, ellipsis = term(source, range[1], range[2], "the output")
  if broadcast > 0 and not ellipsis then
    fail(source, range[1], "the output needs '...' for the dimensions that '...' stands for", "...")
  end
  local output, seen = {}, {}
  for _, label in ipairs(expand(labels, broadcast)) do
    local name = label[1]
    if seen[name] then
      fail(source, label[2], ("label %s appears twice in the output"):format(name), name)
    end
    if not sizes[name] then
      fail(source, label[2], ("label %s of the output is in no operand"):format(name), name)
    end
    seen[name] = true
    output[#output + 1] = name
  end
  return output
end

local function access(tensor, labels, shape, sizes)
  local parts = {}
  for i, name in ipairs(labels) do
    parts[i] = (shape and shape[i] ~= sizes[name]) and "0" or name
  end
  return ("%s[%s]"):format(tensor, table.concat(parts, ","))
end

local function names(labels)
  local list = {}
  for i, label in ipairs(labels) do list[i] = label[1] end
  return list
end

--- Parses an einsum string for operands of given shapes.
---@param text string
---@param shapes integer[][]
---@param name? string chunk name for messages
---@return einloom.Subscripts
function subscripts.parse(text, shapes, name)
  if type(text) ~= "string" then errors.raise("bad_argument", "einsum string expected") end
  if type(shapes) ~= "table" then errors.raise("bad_argument", "list of shapes expected") end
  local source = { name = name or "einsum string", text = text }
  if not text:find "%S" and #shapes == 0 then fail(source, 1, "empty einsum string") end
  local ranges, output_range = split(source)
  local operands, all, broadcast = {}, {}, 0
  for number, range in ipairs(ranges) do
    local labels, spare = operand(source, number, range, shape_of(source, shapes, number, range))
    operands[number], all[number] = labels, names(labels)
    broadcast = math.max(broadcast, spare)
  end
  if #shapes > #ranges then
    fail(source, #text + 1, ("%d shapes for %d operands"):format(#shapes, #ranges))
  end
  local sizes = measure(source, operands, shapes)
  local output = output_range and explicit_output(source, output_range, sizes, broadcast)
    or implicit_output(operands, broadcast)
  local out_shape, factors = {}, {}
  for i, label in ipairs(output) do out_shape[i] = sizes[label] end
  for i, labels in ipairs(all) do factors[i] = access("T" .. i - 1, labels, shapes[i], sizes) end
  return {
    text = access("Z", output) .. " = " .. table.concat(factors, " * "),
    sizes = sizes, operands = all, output = output, out_shape = out_shape,
  }
end

return subscripts
