-- SPDX-License-Identifier: MIT
-- Compiles generated C with the compiler of the machine, undefined behaviour being an error, runs
-- it on data and reads the results back.

local compiled = {}

compiled.available = os.execute "cc --version >/dev/null 2>&1" ~= nil

local scalar = require "einloom.kernels.scalar"

local flags = "-std=c11 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover"

local function number_text(x)
  if x ~= x then return "NAN" end
  if x == math.huge or x == -math.huge then return x > 0 and "INFINITY" or "-INFINITY" end
  return math.type(x) == "integer" and ("%d"):format(x) or ("%a"):format(x)
end

-- The data of a tensor as the C of an initialiser.
local function initialiser(list, dtype)
  local values = {}
  for i, x in ipairs(list) do
    if dtype:find "f16" then x = scalar.pack(x, dtype) end
    values[i] = number_text(x)
  end
  return #values > 0 and " = {" .. table.concat(values, ",") .. "}" or ""
end

-- A program that holds the data and prints the tensors that are asked for.
local function main_of(graph, sizes, at, data, asked)
  local lines, arguments, prints = { "#include <stdio.h>\n" }, {}, {}
  for _, name in ipairs(graph.order) do
    local n, dtype, own = #data[name], graph.tensors[name].dtype, name:match "^[^']+"
    if own == name then
      lines[#lines + 1] = ("static %s %s_data[%d]%s;"):format(scalar.types[dtype], name,
        math.max(n, 1), initialiser(data[name], dtype))
      arguments[#arguments + 1] = name .. "_data"
    end
    if asked[name] then
      prints[#prints + 1] = ('  for (int i = 0; i < %d; i++) printf("%%a\\n", %s);'):format(n,
        (scalar.from[dtype]:gsub("%%1", own .. "_data[i]")))
    end
  end
  for _, size in ipairs(sizes) do arguments[#arguments + 1] = ("%d"):format(at[size]) end
  lines[#lines + 1] = ("int main(void) {\n  run(%s);\n%s\n  return 0;\n}\n"):format(
    table.concat(arguments, ", "), table.concat(prints, "\n"))
  return table.concat(lines, "\n")
end

local function number_of(line)
  if line:find "nan" then return 0 / 0 end
  if line:find "inf" then return line:sub(1, 1) == "-" and -math.huge or math.huge end
  return assert(tonumber(line), line)
end

-- What a program prints, line by line.
local function output_of(text)
  local base = os.tmpname()
  local file = assert(io.open(base .. ".c", "w"))
  file:write(text)
  file:close()
  local pipe = assert(io.popen(("cc %s %s.c -o %s.out -lm 2>%s && %s.out 2>>%s"):format(flags, base,
    base, base, base, base)))
  local values = {}
  for line in pipe:lines() do values[#values + 1] = number_of(line) end
  local ok = pipe:close()
  local log = assert(io.open(base))
  local message = log:read "a"
  log:close()
  for _, suffix in ipairs { "", ".c", ".out" } do os.remove(base .. suffix) end
  assert(ok, message .. "\n" .. text)
  return values
end

--- Runs the function `run` of a C text on the data of all tensors; gives the tensors asked for.
---@param graph einloom.Graph
---@param source string
---@param sizes string[] names of the sizes it takes
---@param at table<string, integer>
---@param data table<string, number[]>
---@param asked table<string, boolean>
---@return table<string, number[]>
function compiled.run(graph, source, sizes, at, data, asked)
  local values = output_of(source .. main_of(graph, sizes, at, data, asked))
  local results, place = {}, 0
  for _, name in ipairs(graph.order) do
    if asked[name] then
      results[name] = table.move(values, place + 1, place + #data[name], 1, {})
      place = place + #data[name]
    end
  end
  assert(place == #values, "as many values as the tensors hold")
  return results
end

--- Whether two values agree up to a relative tolerance; two that are no numbers do.
---@param a number
---@param b number
---@param tolerance number
---@return boolean
function compiled.close(a, b, tolerance)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b or math.abs(a - b) <= tolerance * math.max(1, math.abs(a), math.abs(b))
end

return compiled
