-- SPDX-License-Identifier: MIT
-- SQLite files through LuaSQL: statements with values, rows as lists, transactions.  An open file
-- belongs to one process; what SQLite says of it becomes an error object that names the file.

local core = require "einloom.core"
local errors = require "einloom.errors"

local sqlite = {}

local KIND = "store"

---@class einloom.Database
---@field path string
local Database = {}
Database.__index = Database

local explanations = {
  { "database is locked", "is in use by another process" },
  { "file is not a database", "is not an SQLite file" },
  { "malformed", "is damaged" },
  { "unable to open", "cannot be opened" },
  { "readonly", "cannot be written" },
}

local function fail(path, message)
  local plain = message:gsub("^LuaSQL: ", "")
  for _, pair in ipairs(explanations) do
    if plain:find(pair[1], 1, true) then
      plain = ("the store %s (%s)"):format(pair[2], plain)
      break
    end
  end
  errors.raise(KIND, plain, { file = path })
end

local function driver(path)
  local ok, luasql = pcall(require, "luasql.sqlite3")
  if ok then return luasql end
  return errors.raise(KIND, "stores need LuaSQL for SQLite: install the Debian package "
    .. "lua-sql-sqlite3 or the rock luasql-sqlite3", { file = path })
end

local function quoted(connection, value)
  if value == nil then return "NULL" end
  if math.type(value) == "integer" then return ("%d"):format(value) end
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) == "boolean" then return value and "1" or "0" end
  return ("'%s'"):format(connection:escape(value))
end

local function filled(connection, statement, values)
  local i = 0
  return (statement:gsub("%?", function()
    i = i + 1
    return quoted(connection, values[i])
  end))
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- Takes the file for this process till it is closed; only an empty one is written to.
local function take(db, application)
  db:run "BEGIN EXCLUSIVE"
  local is_new = db:is_empty()
  if is_new then db:run(("PRAGMA application_id = %d"):format(application)) end
  db:run "COMMIT"
  if is_new then db:log() end
end

local function check_application(db, application)
  if not db:is_empty() and db:rows("PRAGMA application_id")[1][1] ~= application then
    fail(db.path, "the file holds something else than a search")
  end
end

-- What the file's check of itself answers: "ok", or what is wrong.
local function quick_check(db) return db:rows("PRAGMA quick_check(1)")[1][1] end

--- Raises where SQLite would not keep a file under the path, but something of its own.
---@param path string
function sqlite.check_path(path)
  if path == "" or path:find "^:" or path:lower():find "^file:" then
    errors.raise(KIND, ("'%s' is no name of a file for SQLite%s"):format(errors.printable(path),
      path == "" and "" or ": write ./" .. errors.printable(path)), { file = path })
  end
  local kind = core.file_kind(path)
  if kind and kind ~= "file" then
    errors.raise(KIND, kind == "directory" and "the path is a directory" or "the path is no file",
      { file = path })
  end
end

-- The database in `at`, called `path` in messages.
local function connect(path, at)
  local environment = driver(path).sqlite3()
  local connection, message = environment:connect(at)
  if not connection then
    environment:close()
    fail(path, message)
  end
  return setmetatable({ path = path, environment = environment, connection = connection }, Database)
end

-- What a process that was killed leaves beside a file, and what SQLite makes for the time being.
local left_behind, beside = { "-wal", "-journal" }, { "-wal", "-journal", "-shm" }

-- A copy in blocks; false where there is nothing to copy, or no room for it.
local function copy(from, to)
  local source, target = io.open(from, "rb"), io.open(to, "wb")
  local ok = source and target
  while ok do
    local block = source:read(2 ^ 20)
    if not block then break end
    ok = target:write(block)
  end
  if source then source:close() end
  if target then ok = target:close() and ok end
  return ok
end

-- What processes that were killed left beside a file.
local function parts_beside(path)
  local there = {}
  for _, suffix in ipairs(left_behind) do
    if exists(path .. suffix) then there[#there + 1] = suffix end
  end
  return there
end

-- Calls look(db) unless the file is unsound.
local function look_at_copy(path, name, application, look)
  local db <close> = connect(path, name)
  local sound, answer = pcall(quick_check, db)
  if not sound or answer ~= "ok" then return end
  check_application(db, application)
  look(db)
end

--- Calls look(db), which raises where the file is to be refused. To open a file changes what a
--- process that was killed left beside it, so this is done on a copy, and only where there is
--- something beside it: other files are not changed by being opened. A copy that cannot be made or
--- is unsound (another process may write to the file) is not looked at.
---@param path string
---@param application integer
---@param look fun(db: einloom.Database)
function sqlite.look(path, application, look)
  sqlite.check_path(path)
  local parts = parts_beside(path)
  if #parts == 0 then return end
  local name, whole = os.tmpname(), true
  for _, suffix in ipairs(parts) do whole = whole and copy(path .. suffix, name .. suffix) end
  whole = whole and copy(path, name)
  local ok, problem = true, nil
  if whole then ok, problem = pcall(look_at_copy, path, name, application, look) end
  os.remove(name)
  for _, suffix in ipairs(beside) do os.remove(name .. suffix) end
  if not ok then error(problem, 0) end
end

local function check(db, application)
  check_application(db, application)
  local answer = quick_check(db)
  if answer ~= "ok" then fail(db.path, "malformed: " .. answer:gsub("%s*\n%s*", " ")) end
end

--- Opens a file: to write, for this process alone, made empty where it is not there; or to read.
--- Only files of the application, known by its number, are touched.
---@param path string
---@param application integer
---@param to_read? boolean
---@return einloom.Database
function sqlite.open(path, application, to_read)
  sqlite.check_path(path)
  if to_read and not exists(path) then
    errors.raise(KIND, "there is no such store", { file = path })
  end
  local db = connect(path, path)
  local ok, problem = pcall(function()
    if not to_read then db:rows "PRAGMA locking_mode = EXCLUSIVE" end
    check(db, application)
    if not to_read then take(db, application) end
  end)
  if ok then return db end
  db:close()
  return error(problem, 0)
end

-- The number of rows changed, or a cursor.
local function execute(self, statement)
  local answer, message = self.connection:execute(statement)
  if not answer then fail(self.path, message) end
  return answer
end

local function run(self, statement)
  local answer = execute(self, statement)
  if type(answer) == "userdata" then answer:close() end
end

--- Runs a statement; each ? stands for a value.
---@param statement string
function Database:run(statement, ...)
  run(self, filled(self.connection, statement, { ... }))
end

--- The rows of a query, each a list.
---@param statement string
---@return any[][]
function Database:rows(statement, ...)
  local cursor, list = execute(self, filled(self.connection, statement, { ... })), {}
  if type(cursor) ~= "userdata" then return list end
  local row, message = cursor:fetch({}, "n")
  while row do
    list[#list + 1] = row
    row, message = cursor:fetch({}, "n")
  end
  cursor:close()
  if message then fail(self.path, message) end
  return list
end

--- Before the first change: what is committed outlives a killed process from here on; a file of one
--- piece is left when it is closed.
function Database:log()
  if self.logged then return end
  self:rows "PRAGMA journal_mode = WAL"
  self:rows "PRAGMA synchronous = NORMAL"
  self.logged = true
end

--- Whether nothing was ever put into the file.
---@return boolean
function Database:is_empty() return #self:rows "SELECT 1 FROM sqlite_master LIMIT 1" == 0 end

--- Adds rows, each a list of n values.
---@param into string the table
---@param n integer
---@param rows any[][]
function Database:insert(into, n, rows)
  local marks = "(" .. ("?"):rep(n, ",") .. ")"
  for first = 1, #rows, 200 do
    local parts = {}
    for i = first, math.min(first + 199, #rows) do
      parts[#parts + 1] = filled(self.connection, marks, rows[i])
    end
    run(self, ("INSERT INTO %s VALUES "):format(into) .. table.concat(parts, ","))
  end
end

--- What `work` writes is there altogether or not at all.
---@param work fun()
function Database:transaction(work)
  -- One that was ended by an error from outside, between two lines here.
  if self.is_open then self.connection:execute "ROLLBACK" end
  self.is_open = true
  self:run "BEGIN"
  local ok, problem = pcall(work)
  if ok then self:run "COMMIT" else self.connection:execute "ROLLBACK" end
  self.is_open = false
  if not ok then error(problem, 0) end
end

--- Closes the file; more than once does nothing.
function Database:close()
  if not self.connection then return end
  if self.logged then pcall(run, self, "PRAGMA journal_mode = DELETE") end
  self.connection:close()
  self.environment:close()
  self.connection, self.environment = nil, nil
end
Database.__close = Database.close

return sqlite
