-- SPDX-License-Identifier: MIT
-- `einloom repl`: reads, evaluates and prints, line by line, until the input ends. An error is
-- shown with its traceback and ends nothing; globals stay.

local core = require "einloom.core"
local errors = require "einloom.errors"

local repl = {}

local name = "=repl"

-- A chunk for the text so far, or nil and whether more lines could complete it.
local function compile(text, env)
  local chunk = load("return " .. text:gsub("^%s*=", "", 1), name, "t", env)
  if chunk then return chunk end
  local problem
  chunk, problem = load(text, name, "t", env)
  if chunk then return chunk end
  return nil, problem:sub(-5) == "<eof>", problem
end

local function key_text(key)
  if type(key) == "string" and key:match "^[%a_][%w_]*$" then return key end
  return "[" .. (type(key) == "string" and ("%q"):format(key) or tostring(key)) .. "]"
end

local show

local function show_table(value, depth)
  if depth > 2 then return "{...}" end
  local parts, n = {}, #value
  for i = 1, math.min(n, 20) do parts[i] = show(value[i], depth + 1) end
  for _, key in ipairs(errors.keys(value)) do
    if #parts >= 20 then break end
    parts[#parts + 1] = key_text(key) .. " = " .. show(rawget(value, key), depth + 1)
  end
  local count = 0
  for _ in pairs(value) do count = count + 1 end
  if count > #parts then parts[#parts + 1] = "..." end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function show(value, depth)
  if type(value) == "string" and depth > 0 then return ("%q"):format(value) end
  if type(value) == "table" and not (getmetatable(value) or {}).__tostring then
    return show_table(value, depth)
  end
  return tostring(value)
end

--- What the loop prints for a value: tables are listed, all else is `tostring`.
---@param value any
---@return string
function repl.show(value) return show(value, 0) end

local function traceback(problem)
  if type(problem) == "table" and problem.kind then return tostring(problem) end
  return (errors.traceback(tostring(problem)))
end

local function evaluate(chunk, write, write_error)
  local values = table.pack(xpcall(chunk, traceback))
  if not values[1] then return write_error(values[2] .. "\n") end
  if values.n == 1 then return end
  local parts = {}
  for i = 2, values.n do
    local ok, text = xpcall(repl.show, traceback, values[i])
    parts[#parts + 1] = ok and text or text
  end
  write(table.concat(parts, "\t") .. "\n")
end

--- Globals of a session: those of Lua with `loom` added.
---@return table
function repl.environment()
  local env = setmetatable({ loom = require "einloom" }, { __index = _G })
  env._G = env
  return env
end

-- Evaluates the text so far if it is whole; returns what is still open.
local function take(text, env, write, write_error)
  local chunk, incomplete, problem = compile(text, env)
  if chunk then
    evaluate(chunk, write, write_error)
  elseif incomplete then
    return text
  else
    write_error(problem .. "\n")
  end
end

--- Runs a session. An error of `read` drops the statement that is open.
---@param read fun(): string? the next line without its end, nil at the end
---@param write fun(text: string)
---@param options? { prompt: boolean?, write_error: fun(text: string)?, env: table? }
function repl.run(read, write, options)
  options = options or {}
  local env = options.env or repl.environment()
  local write_error = options.write_error or write
  local function prompt(text) if options.prompt then write(text) end end
  prompt(("einloom %s on %s; the module is `loom`, end with Ctrl-D\n"):format(core.version,
    _VERSION))
  local open
  while true do
    prompt(open and ">> " or "> ")
    local ok, line = pcall(read)
    if not ok then
      write_error((tostring(line):gsub("^.*:%d+: (interrupted!)$", "%1")) .. "\n")
      open = nil
    elseif line == nil then
      break
    else
      open = take(open and open .. "\n" .. line or line, env, write, write_error)
    end
  end
  if open then write_error "the input ended inside a statement\n" end
  prompt "\n"
end

return repl
