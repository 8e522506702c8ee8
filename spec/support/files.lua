-- SPDX-License-Identifier: MIT
-- Files for specs: where the golden data is, scratch files that vanish, output that is caught.

local files = {}

local here = debug.getinfo(1, "S").source:match "^@(.*)support/files%.lua$" or "spec/"

--- Path of a file under spec/.
function files.path(name) return here .. name end

--- Path of a file of the project.
function files.root(name) return here .. "../" .. name end

function files.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

--- Makes a file of a text.
function files.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- Whether there is a file.
function files.exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

--- A text as one word of the shell.
function files.quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- A copy of a file under another path.
function files.copy(from, to) files.write(to, files.read(from)) end

--- Calls use(path) with a scratch file of this text and removes the file.
function files.scratch(text, use, suffix)
  local base = os.tmpname()
  local path = base .. (suffix or "")
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local results = table.pack(pcall(use, path))
  os.remove(path)
  os.remove(base)
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

local function sink(list)
  return {
    write = function(self, ...)
      for _, text in ipairs { ... } do list[#list + 1] = tostring(text) end
      return self
    end,
    flush = function() end,
  }
end

--- Runs the command in this process: status, what it printed, what it complained about.
function files.command(...)
  local out, err, old_print, old_arg, old_output = {}, {}, print, arg, io.output()
  _G.print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    out[#out + 1] = table.concat(parts, "\t") .. "\n"
  end
  local streams = { out = sink(out), err = sink(err) }
  local ok, status = pcall(require "einloom.cli".main, { ... }, streams)
  _G.print, _G.arg = old_print, old_arg
  io.output(old_output)
  if not ok then error(status, 0) end
  return status, table.concat(out), table.concat(err)
end

return files
