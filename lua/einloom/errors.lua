-- SPDX-License-Identifier: MIT
-- Error objects: what went wrong, of which kind, where it is written, and the nearest known names.
-- Every error that the front end raises is one of these objects.

local errors = {}

---@class einloom.Error
---@field kind string what sort of mistake, e.g. "syntax" or "unknown_tensor"
---@field message string one sentence, without a position
---@field file? string file or chunk name
---@field line? integer 1-based
---@field column? integer 1-based, in bytes
---@field text? string the source line that the caret points into
---@field path? string place in a table, e.g. `mapping.nodes[3]`, where there is no text
---@field caller? string "file:line" of the script that passed the text in
---@field traceback? string where a function of the user's failed
local Error = { __name = "einloom.error" }
Error.__index = Error

local names_of_bytes = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- A text for people: control characters as escapes, so that it stays on its line.
---@param text string
---@return string
function errors.printable(text)
  return (text:gsub("[%c\x7F]", function(c)
    return names_of_bytes[c] or ("\\x%02X"):format(c:byte())
  end))
end

--- A place of any length for people: its beginning and its end.
---@param path string
---@return string
function errors.short(path)
  if #path <= 200 then return path end
  return ("%s ... %s"):format(path:sub(1, 90), path:sub(-90))
end

local function place(e)
  local file = errors.printable(e.file or "?")
  if e.line then return ("%s:%d:%d: "):format(file, e.line, e.column) end
  if e.path then return errors.printable(errors.short(e.path)) .. ": " end
  if e.file then return file .. ": " end
  return ""
end

-- The part of a long line around the column, and the column inside that part.
local function excerpt(text, column)
  local first = 1
  if #text > 100 then
    first = math.max(1, math.min(column - 60, #text - 99))
    text = text:sub(first, first + 99)
  end
  return text, column - first + 1
end

function Error:__tostring()
  local lines = { place(self) .. errors.printable(self.message) }
  if self.text and self.column then
    local text, column = excerpt(self.text, self.column)
    lines[#lines + 1] = "  " .. text:gsub("[\0-\8\10-\31\127]", "?")
    lines[#lines + 1] = "  " .. text:sub(1, column - 1):gsub("[^\t]", " ") .. "^"
  end
  if self.caller then lines[#lines + 1] = "  in " .. errors.printable(self.caller) end
  lines[#lines + 1] = self.traceback
  return table.concat(lines, "\n")
end

function Error.__concat(a, b)
  return tostring(a) .. tostring(b)
end

local here = debug.getinfo(1, "S").source:match("^(.*[/\\])") or "\0"

-- The script outside this folder that the innermost call came from.
local function caller()
  for level = 3, 60 do
    local info = debug.getinfo(level, "Sl")
    if not info then return nil end
    if info.currentline > 0 and info.source:sub(1, #here) ~= here then
      return info.short_src .. ":" .. info.currentline
    end
  end
end

-- Names of sources in tracebacks that belong to this folder.
local function own_sources()
  local own = {}
  for level = 2, math.huge do
    local info = debug.getinfo(level, "S")
    if not info then return own end
    if info.source:sub(1, #here) == here then own[info.short_src] = true end
  end
end

--- For message handlers: a message with the traceback of the functions that failed, from the file
--- of the handler inwards, without others of this folder.
---@param text string
---@return string
function errors.traceback(text)
  local own, lines, last = own_sources(), {}, 0
  local handler = debug.getinfo(2, "S").short_src
  for line in debug.traceback("", 3):gmatch "\n(\t[^\n]*)" do
    local source = line:match "^\t(.-):%d+: in "
    if source == handler then break end
    if not own[source] then
      lines[#lines + 1] = line
      if source then last = #lines end
    end
  end
  if last == 0 then return text end
  return text .. "\nstack traceback:\n" .. table.concat(lines, "\n", 1, last)
end

--- The lines of a coroutine that failed, without functions of this folder; nil where none are left.
---@param routine thread
---@return string?
function errors.traceback_of(routine)
  local lines = {}
  for level = 0, 60 do
    local info = debug.getinfo(routine, level, "Sl")
    if not info then break end
    if info.currentline > 0 and info.source:sub(1, #here) ~= here then
      lines[#lines + 1] = debug.traceback(routine, nil, level):match "\n(\t[^\n]*)"
    end
  end
  return #lines > 0 and "stack traceback:\n" .. table.concat(lines, "\n") or nil
end

--- Whether a value is an error object of this module.
---@return boolean
function errors.is(value)
  return getmetatable(value) == Error
end

--- An error object; `fields` holds any of the other fields.
---@param kind string
---@param message string
---@param fields? table
---@return einloom.Error
function errors.new(kind, message, fields)
  local e = {}
  for k, v in pairs(fields or {}) do e[k] = v end
  e.kind, e.message = kind, message
  return setmetatable(e, Error)
end

---@param kind string
---@param message string
---@param fields? table
function errors.raise(kind, message, fields)
  local e = errors.new(kind, message, fields)
  e.caller = e.caller or caller()
  error(e, 0)
end

-- Source -> positions at which its lines start.
local known_starts = setmetatable({}, { __mode = "k" })

local function line_starts(source)
  if known_starts[source] then return known_starts[source] end
  local starts, position = { 1 }, 0
  repeat
    position = source.text:find("\n", position + 1, true)
    if position then starts[#starts + 1] = position + 1 end
  until not position
  known_starts[source] = starts
  return starts
end

--- Line and column of a byte position (all from 1); logarithmic after the first call.
---@param source { name: string, text: string }
---@param position integer
---@return integer line, integer column
function errors.position(source, position)
  local starts = line_starts(source)
  local low, high = 1, #starts
  while low < high do
    local middle = (low + high + 1) // 2
    if starts[middle] <= position then low = middle else high = middle - 1 end
  end
  return low, position - starts[low] + 1
end

--- A message that begins with a place in the source, "name:line:column: ", with the line and a
--- caret below it; any other message as it is.
---@param message string
---@param source? { name: string, text: string }
---@return string
function errors.annotate(message, source)
  local prefix = source and source.name .. ":"
  if not prefix or message:sub(1, #prefix) ~= prefix then return message end
  local line, column, rest = message:match("^(%d+):(%d+): (.*)$", #prefix + 1)
  line, column = math.tointeger(line), math.tointeger(column)
  local start = line and line_starts(source)[line]
  if not start then return message end
  return tostring(errors.new("", rest, {
    file = source.name, line = line, column = column, text = source.text:match("^[^\n]*", start),
  }))
end

--- Raises an error at a byte position of a text.
---@param kind string
---@param source { name: string, text: string }
---@param position integer
---@param message string
---@param fields? table
function errors.raise_at(kind, source, position, message, fields)
  local e = errors.new(kind, message, fields)
  e.file = source.name
  e.line, e.column = errors.position(source, position)
  e.text = source.text:match("^[^\n]*", line_starts(source)[e.line])
  e.caller = caller()
  error(e, 0)
end

-- Edit distance (insert, delete, replace, swap of neighbours), or limit + 1 when it is larger.
local function distance(a, b, limit)
  if math.abs(#a - #b) > limit then return limit + 1 end
  local before, previous, current = {}, {}, {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    current[0] = i
    local least = i
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local d = math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        d = math.min(d, before[j - 2] + 1)
      end
      current[j] = d
      least = math.min(least, d)
    end
    if least > limit then return limit + 1 end
    before, previous, current = previous, current, before
  end
  return previous[#b]
end

--- The known names nearest to a name, best first, at most three: few typing mistakes away (letter
--- case does not count), or one the beginning of the other.
---@param name string
---@param known string[]
---@param limit? integer typing mistakes
---@return string[]
function errors.nearest(name, known, limit)
  limit = limit or math.min(3, 1 + #name // 4)
  local found, seen = {}, {}
  local lower = name:lower()
  for _, candidate in ipairs(known) do
    if not seen[candidate] and #name <= 200 then
      seen[candidate] = true
      local other = candidate:lower()
      local d = distance(lower, other, limit)
      if #name > 1 and (other:find(lower, 1, true) == 1 or lower:find(other, 1, true) == 1
        and #other > 1) then
        d = math.min(d, 1)
      end
      local close = d < math.max(#name, #candidate)
      if d <= limit and close then found[#found + 1] = { d, candidate } end
    end
  end
  table.sort(found, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  local names = {}
  for i = 1, math.min(3, #found) do names[i] = found[i][2] end
  return names
end

--- "; nearest: Glb" where a known name is near, else "; known: A, B, Z" (at most twenty), else "".
---@param name string
---@param known string[]
---@param label? string what to call them instead of "known"
---@return string
function errors.hint(name, known, label)
  local near = errors.nearest(name, known)
  if #near > 0 then return "; nearest: " .. table.concat(near, ", ") end
  if #known == 0 then return "" end
  local seen, sorted = {}, {}
  for _, candidate in ipairs(known) do
    if not seen[candidate] then sorted[#sorted + 1] = candidate end
    seen[candidate] = true
  end
  table.sort(sorted)
  local shown = table.concat(sorted, ", ", 1, math.min(20, #sorted))
  return ("; %s: "):format(label or "known") .. shown .. (#sorted > 20 and ", ..." or "")
end

--- The keys of a table that are strings, sorted.
---@return string[]
function errors.keys(t)
  local names = {}
  for k in pairs(t) do
    if type(k) == "string" then names[#names + 1] = k end
  end
  table.sort(names)
  return names
end

-- Raises unless the keys of `t` that are no strings are 1, 2, ..., at most `most`.
local function check_positions(kind, t, path, most)
  local n = 0
  for key in pairs(t) do
    if type(key) ~= "string" then
      n = n + 1
      if math.type(key) ~= "integer" or key < 1 or key > most then
        local message = most == 0 and "[%s]: every value needs a key here"
          or most < math.huge and "[%s]: only %d without a key expected"
          or "[%s] is no position in a list"
        errors.raise(kind, message:format(tostring(key), most), { path = path })
      end
    end
  end
  for i = 1, n do
    if t[i] == nil then errors.raise(kind, ("[%d] is missing"):format(i), { path = path }) end
  end
end

--- Raises unless every string key of `t` is a key of `known` and there are at most `positional`
--- other values (none if absent), at 1, 2, ...
---@param kind string
---@param t table
---@param known table<string, any>
---@param path string
---@param positional? number
function errors.check_keys(kind, t, known, path, positional)
  for _, key in ipairs(errors.keys(t)) do
    if known[key] == nil then
      errors.raise(kind, ("unknown key '%s'%s"):format(key, errors.hint(key, errors.keys(known))),
        { path = path, name = key })
    end
  end
  check_positions(kind, t, path, positional or 0)
end

--- Raises if anything was given beside the one argument that a function takes.
---@param function_name string
---@param ... any what came after it
function errors.only_argument(function_name, ...)
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if x ~= nil then
      errors.raise("bad_argument", ("%s takes one table and nothing else, got a %s as argument %d")
        :format(function_name, type(x), i + 1))
    end
  end
end

--- The list `t`; raises unless it is a table with the keys 1, 2, ... only.
---@param kind string
---@param t any
---@param path string
---@param what string what it is a list of
---@return table
function errors.list(kind, t, path, what)
  if type(t) ~= "table" then
    errors.raise(kind, ("list of %s expected, got %s"):format(what, type(t)), { path = path })
  end
  local key = errors.keys(t)[1]
  if key then
    errors.raise(kind, ("list of %s expected, not a table with keys ('%s')"):format(what, key),
      { path = path, name = key })
  end
  check_positions(kind, t, path, math.huge)
  return t
end

return errors
