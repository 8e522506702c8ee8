-- SPDX-License-Identifier: MIT
-- Certificates of optimality: files that prove that no mapping of a space is better than what was
-- found, and their check, which shares nothing with the search but the list of templates
-- (doc/formulas.md#certificates).

local core = require "einloom.core"
local errors = require "einloom.errors"
local written = require "einloom.written"

local certify = {}

local function answer(ok, ...)
  if ok then return ... end
  local problem = ...
  if errors.is(problem) then return nil, tostring(problem), problem.kind end
  error(problem, 0)
end

-- Instructions of Lua between two looks at what the caller says: well under a millisecond.
local BETWEEN <const> = 2000

-- Calls run(); an error of kind `stopped` where watch(state) gives a reason meanwhile.
local function watched(watch, state, run)
  if not watch then return pcall(run) end
  local hook, mask, count = debug.gethook()
  debug.sethook(function()
    local why = watch(state)
    if why then errors.raise("stopped", "no certificate: stopped by " .. why) end
  end, "", BETWEEN)
  local result = table.pack(pcall(run))
  debug.sethook(hook, mask, count)
  return table.unpack(result, 1, result.n)
end

--- Why nothing that a search of a space finds can be certified, or nil.
---@param space einloom.Space
---@return string?
function certify.refused(space)
  local goal = space.case.objective
  if not goal.has_steps then return nil end
  return ("no certificate of '%s': bounds of energy and latency have a slack, which floor and ceil "
    .. "may make a whole step"):format(goal.text)
end

--- Writes a certificate of what a search found to a file; nil, a message and its kind where it
--- cannot be proved: then what was there stays. Returns the number of lines.
---@param found einloom.Found
---@param path string
---@param watch? fun(state: { text: string }): string? called every millisecond or so with what is
--- done at the time; a text ends the proof, which leaves the file as it was, and says why
---@return integer? lines
---@return string? message
---@return string? kind
function certify.write(found, path, watch)
  local refused = certify.refused(found.space)
  if refused then return nil, refused, "certificate" end
  local file, message = written.open(path)
  if not file then return nil, message, "file" end
  local n = 0
  local function write(data)
    n = n + 1
    local done, problem = file:write(core.json.encode(data, { sort_keys = true }), "\n")
    if not done then errors.raise("file", problem, { file = path }) end
  end
  local producer = require "einloom.certify.producer"
  local state = { text = "proving" }
  local tried = table.pack(watched(watch, state, function()
    producer.run(found.space, found.points, write, state)
  end))
  if not tried[1] and not errors.is(tried[2]) then file:drop() end
  local result = table.pack(answer(table.unpack(tried, 1, tried.n)))
  if result[2] then
    file:drop()
    return table.unpack(result, 1, 3)
  end
  local closed, problem = file:close()
  if not closed then return nil, problem, "file" end
  return n
end

-- Bytes of a line at most, and read at once: a file may have no end.
local MOST_BYTES <const>, BLOCK <const> = 1 << 26, 1 << 16

-- Reads a file line by line; raises where a line is too long.
local function lines_of(file, path)
  local rest, number, over = "", 0, false
  return function()
    local parts, n, at = { rest }, #rest, rest:find("\n", 1, true)
    number = number + 1
    while not at and not over do
      local block, problem = file:read(BLOCK)
      if problem then errors.raise("file", problem, { file = path }) end
      over = not block
      at = block and block:find("\n", 1, true)
      if at then at = at + n end
      parts[#parts + 1], n = block, n + #(block or "")
      if n > MOST_BYTES and not at then
        errors.raise("certificate", ("a line of more than %d bytes"):format(MOST_BYTES),
          { file = path, line = number, column = 1 })
      end
    end
    local text = table.concat(parts)
    if not at and text == "" then return nil end
    rest = at and text:sub(at + 1) or ""
    return text:sub(1, (at or #text + 1) - 1)
  end
end

--- Checks a certificate; nil, a message with its place and the kind where it does not hold.
---@param path string
---@return table? report templates, leaves, reasons, claims; of several einsums open: leaves that
--- were joined, and joined: how many rows that took
---@return string? message
---@return string? kind
function certify.check(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message, "file" end
  local _, problem = file:read(0)
  if problem then
    file:close()
    return nil, ("%s: %s"):format(path, problem), "file"
  end
  local checker = require "einloom.certify.checker"
  local result = table.pack(answer(pcall(checker.run, lines_of(file, path), path)))
  file:close()
  return table.unpack(result, 1, 3)
end

return certify
