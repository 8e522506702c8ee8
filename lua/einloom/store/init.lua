-- SPDX-License-Identifier: MIT
-- Stores of searches: one search per file, or one shard of it.  A unit of work is there with all
-- points it left over, or not at all; what was found is there with how the search ended.  The
-- position of a search is the set of its finished units.

local core = require "einloom.core"
local errors = require "einloom.errors"
local identity = require "einloom.store.identity"
local sqlite = require "einloom.store.sqlite"

local store = { version = 2 }

local KIND = "store"
-- "einl", by which SQLite files that are stores are known.
local APPLICATION = 0x65696e6c

local tables = {
  "CREATE TABLE search (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
  "CREATE TABLE unit (number INTEGER PRIMARY KEY, text TEXT NOT NULL, mine INTEGER NOT NULL, "
    .. "seconds REAL, points INTEGER, counts TEXT)",
  "CREATE TABLE point (unit INTEGER NOT NULL REFERENCES unit, position INTEGER NOT NULL, "
    .. "tiles TEXT NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (unit, position)) WITHOUT ROWID",
  "CREATE TABLE sketch (unit INTEGER PRIMARY KEY REFERENCES unit, points TEXT NOT NULL, "
    .. "least TEXT NOT NULL)",
  "CREATE TABLE answer (position INTEGER PRIMARY KEY, figures TEXT NOT NULL, "
    .. "mapping TEXT NOT NULL)",
  "CREATE TABLE session (number INTEGER PRIMARY KEY, began TEXT NOT NULL, ended TEXT, "
    .. "seconds REAL NOT NULL)",
}

---@class einloom.Shard
---@field number integer from 1
---@field of integer

---@class einloom.Store
---@field path string
---@field search table identity, shard and what else was given, as stored
---@field session? integer of this process
---@field began? number by core.clock
local Store = {}
Store.__index = Store

local function refuse(path, message)
  local problem = errors.new(KIND, message, { file = path })
  error(problem, 0)
end

local function damaged(path, what, ...)
  refuse(path, "the store is damaged: " .. what:format(...))
end

--- What a function answers that works with what a store holds: where it fails, the store is
--- damaged.
---@param path string
---@param work function
---@return any
function store.trust(path, work, ...)
  local answers = table.pack(pcall(work, ...))
  if answers[1] then return table.unpack(answers, 2, answers.n) end
  local problem = answers[2]
  local message = type(problem) == "table" and problem.message
  if message and problem.kind == KIND and not problem.file then refuse(path, message) end
  if message and (problem.kind == KIND or problem.kind == "stopped") then error(problem, 0) end
  return damaged(path, "%s", tostring(message or problem):gsub("^[^\n]-:%d+: ", "")
    :match "^[^\n]*")
end

local function decode(path, text, place)
  local ok, value = pcall(core.json.decode, text)
  if not ok then damaged(path, "%s holds no JSON", place) end
  return value
end

-- ---- what a file is -------------------------------------------------------------------------

local function check_version(db)
  local version = db:rows("PRAGMA user_version")[1][1]
  if version ~= store.version then
    refuse(db.path, ("the store has version %d, this program reads version %d"):format(version,
      store.version))
  end
end

local function read_values(db)
  local values = {}
  for _, row in ipairs(db:rows "SELECT key, value FROM search") do
    values[row[1]] = decode(db.path, row[2], row[1])
  end
  return values
end

local function is_text(x) return type(x) == "string" end

local function is_list(list, is)
  for key, x in pairs(type(list) == "table" and list or { false }) do
    if math.type(key) ~= "integer" or not is(x) then return false end
  end
  return true
end

-- Raises unless there is what says what is searched, which part of it, and how a script gets there.
local function check_values(path, values)
  local identity_there, shard, source = values.identity, values.shard, values.source
  if type(identity_there) ~= "table" or next(identity_there) == nil then
    damaged(path, "it does not say of which search it is")
  end
  if type(shard) ~= "table" or math.type(shard.number) ~= "integer"
    or math.type(shard.of) ~= "integer" or shard.number < 1 or shard.number > shard.of then
    damaged(path, "it does not say of which shard it is")
  end
  if source and not (is_list(source.lines, is_text) and is_list(source.names, is_text)) then
    damaged(path, "it does not say where workload and architecture are from")
  end
  return values
end

local function create(db, search, units)
  db:transaction(function()
    for _, statement in ipairs(tables) do db:run(statement) end
    db:run(("PRAGMA user_version = %d"):format(store.version))
    local rows = {}
    for i, key in ipairs(errors.keys(search)) do rows[i] = { key, identity.encode(search[key]) } end
    db:insert("search", 2, rows)
    local list, shard = {}, search.shard
    for i, unit in ipairs(units) do
      list[i] = { i, unit.text, store.is_mine(shard, i) and 1 or 0 }
    end
    db:insert("unit (number, text, mine)", 3, list)
  end)
end

-- ---- whose a store is -----------------------------------------------------------------------

local function shard_text(shard) return ("%d/%d"):format(shard.number, shard.of) end

local function check_identity(path, here, there)
  local differences = identity.differences(here.identity, there.identity)
  local first = differences[1]
  if first then
    refuse(path, ("the store is of another search: %s is %s here and %s in the store%s"):format(
      first.path, first.here, first.there,
      #differences > 1 and (", and %d more differ"):format(#differences - 1) or ""))
  end
  if shard_text(here.shard) ~= shard_text(there.shard) then
    refuse(path, ("the store is of shard %s, not of %s"):format(shard_text(there.shard),
      shard_text(here.shard)))
  end
end

local function check_units(db, units)
  local rows = db:rows "SELECT text FROM unit ORDER BY number"
  for i = 1, math.max(#rows, #units) do
    local there, here = rows[i] and rows[i][1], units[i] and units[i].text
    if there ~= here then
      refuse(db.path, ("the store was made by a program with other units of work: unit %d is "
        .. "'%s' here and '%s' in the store"):format(i, here or "missing", there or "missing"))
    end
  end
end

--- Whether a store is one of a search and a shard.
---@param kept einloom.Store
---@param search { identity: table, shard: einloom.Shard }
---@return boolean
function store.is_of(kept, search)
  return #identity.differences(search.identity, kept.search.identity) == 0
    and shard_text(search.shard) == shard_text(kept.search.shard)
end

--- Raises where a path can be none of a store.
store.check_path = sqlite.check_path

--- Raises unless the units of the search are these.
---@param units { text: string }[]
function Store:check_units(units) check_units(self.db, units) end

--- Whether a unit of work belongs to a shard.
---@param shard einloom.Shard
---@param number integer of the unit, from 1
---@return boolean
function store.is_mine(shard, number) return (number - 1) % shard.of == shard.number - 1 end

--- Opens the store of a search to go on with it, or makes it. Raises where the file is of another
--- search, damaged, or in use; one of another search stays as it is.
---@param path string
---@param search { identity: table, shard: einloom.Shard, [string]: any } plain data
---@param units { text: string }[] all units of the search in their order
---@return einloom.Store
function store.open(path, search, units)
  local function check(db)
    if db:is_empty() then return end
    check_version(db)
    check_identity(path, search, check_values(path, read_values(db)))
    check_units(db, units)
  end
  sqlite.look(path, APPLICATION, check)
  local db = sqlite.open(path, APPLICATION)
  local ok, problem = pcall(function()
    if db:is_empty() then return create(db, search, units) end
    return check(db)
  end)
  if not ok then
    db:close()
    error(problem, 0)
  end
  return setmetatable({ path = path, db = db, search = search, began = core.clock() }, Store)
end

-- What a store says of itself.
local function values_of(db)
  if db:is_empty() then refuse(db.path, "the store is empty: its search has not begun") end
  check_version(db)
  return check_values(db.path, read_values(db))
end

--- Opens a store to look at it.
---@param path string
---@return einloom.Store
function store.read(path)
  sqlite.look(path, APPLICATION, values_of)
  local db = sqlite.open(path, APPLICATION, true)
  local ok, values = pcall(values_of, db)
  if not ok then
    db:close()
    error(values, 0)
  end
  return setmetatable({ path = path, db = db, search = values }, Store)
end

--- What a store says of itself; nothing changes, nor what a killed process left beside it.
---@param path string
---@return { identity: table, shard: einloom.Shard, source: table? }
function store.look(path)
  local values
  sqlite.look(path, APPLICATION, function(db) values = values_of(db) end)
  if values then return values end
  local part <close> = store.read(path)
  return part.search
end

function Store:close() self.db:close() end
Store.__close = Store.close


-- ---- units and points -----------------------------------------------------------------------

local function is_integer(x) return math.type(x) == "integer" end

local function is_figure(x) return type(x) == "number" or x == "inf" end

local function read_point(path, row)
  local place = ("point %s of unit %s"):format(row[2], row[1])
  local tiles, figures = decode(path, row[3], place), decode(path, row[4], place)
  if not is_list(tiles, is_integer) then damaged(path, "the tiles of %s are no integers", place) end
  if not is_list(figures, is_figure) then
    damaged(path, "the figures of %s are no numbers", place)
  end
  return { tiles = tiles, figures = figures }
end

local function read_known(self)
  local known, n, last = {}, {}, {}
  for _, row in ipairs(self.db:rows "SELECT number, points FROM unit WHERE seconds IS NOT NULL") do
    known[row[1]], n[row[1]], last[row[1]] = {}, row[2], 0
  end
  for _, row in ipairs(self.db:rows [[
      SELECT unit, position, tiles, figures FROM point ORDER BY unit, position]]) do
    local number, position = row[1], row[2]
    if not known[number] then damaged(self.path, "unit %s has points unfinished", number) end
    if position ~= last[number] + 1 then
      damaged(self.path, "point %d of unit %d is missing", last[number] + 1, number)
    end
    known[number][position], last[number] = read_point(self.path, row), position
  end
  for number, points in pairs(n) do
    if last[number] ~= points then
      damaged(self.path, "unit %d has %d points instead of %s", number, last[number], points)
    end
  end
  return known
end

--- The finished units: number -> list of points {tiles =, figures =}.
---@return table<integer, table[]>
function Store:known() return store.trust(self.path, read_known, self) end

--- Keeps a finished unit: once this returns, it outlives the process.
---@param number integer
---@param points { tiles: integer[], figures: number[] }[]
---@param seconds number
---@param counts? table<string, number>
function Store:keep(number, points, seconds, counts)
  local rows = {}
  for i, point in ipairs(points) do
    rows[i] = { number, i, identity.encode(point.tiles), identity.encode(point.figures) }
  end
  self:begin()
  self.db:transaction(function()
    self.db:run("UPDATE unit SET seconds = ?, points = ?, counts = ? WHERE number = ?", seconds,
      #points, identity.encode(counts or {}), number)
    self.db:insert("point", 4, rows)
    self:note_time()
  end)
end

-- Numbers as JSON has them: no infinity.
local function figures_of(list)
  local data = {}
  for i, x in ipairs(list) do data[i] = x == math.huge and "inf" or x end
  return data
end

--- Keeps what sketches found.
---@param list { number: integer, points: integer[][], least: number[] }[]
function Store:keep_sketches(list)
  local rows = {}
  for i, sketch in ipairs(list) do
    rows[i] = { sketch.number, identity.encode(setmetatable(sketch.points, core.json.array)),
      identity.encode(setmetatable(figures_of(sketch.least), core.json.array)) }
  end
  self:begin()
  self.db:transaction(function()
    self.db:insert("sketch", 3, rows)
    self:note_time()
  end)
end

local function read_sketch(path, row)
  local place = "the sketch of unit " .. row[1]
  local points, least = decode(path, row[2], place), decode(path, row[3], place)
  local function is_tiles(x) return is_list(x, is_integer) end
  if not is_list(points, is_tiles) then damaged(path, "the points of %s are no tiles", place) end
  if not is_list(least, is_figure) then damaged(path, "the least of %s is no number", place) end
  for i, x in ipairs(least) do least[i] = x == "inf" and math.huge or x end
  return { points = points, least = least }
end

local function read_sketches(self)
  local sketches = {}
  for _, row in ipairs(self.db:rows "SELECT unit, points, least FROM sketch") do
    sketches[row[1]] = read_sketch(self.path, row)
  end
  return sketches
end

--- What sketches found, by number of the unit.
---@return table<integer, { points: integer[][], least: number[] }>
function Store:sketches() return store.trust(self.path, read_sketches, self) end

---@class einloom.StoredUnits
---@field all integer
---@field mine integer units of this shard
---@field done integer of these
---@field points integer
---@field seconds number

--- How far the search is.
---@return einloom.StoredUnits
function Store:progress()
  local row = self.db:rows([[SELECT count(*), sum(mine), sum(seconds IS NOT NULL),
    (SELECT count(*) FROM point), (SELECT sum(seconds) FROM session) FROM unit]])[1]
  return {
    all = row[1], mine = row[2] or 0, done = row[3] or 0, points = row[4], seconds = row[5] or 0,
  }
end

--- Counts over all finished units, by name.
---@return table<string, number>
function Store:counts()
  local sums = {}
  for _, row in ipairs(self.db:rows "SELECT counts FROM unit WHERE counts IS NOT NULL") do
    for name, count in pairs(decode(self.path, row[1], "counts")) do
      sums[name] = (sums[name] or 0) + count
    end
  end
  return sums
end

-- ---- sessions and answers -------------------------------------------------------------------

--- Notes that this process works at the search since it opened the store: before the first thing
--- that is kept, so that a store that is refused stays as it is.
function Store:begin()
  if self.session then return end
  self.db:log()
  self.db:run("INSERT INTO session (began, seconds) VALUES (?, 0)", os.date "!%Y-%m-%dT%H:%M:%SZ")
  self.session = self.db:rows("SELECT max(number) FROM session")[1][1]
end

function Store:note_time()
  self.db:run("UPDATE session SET seconds = ? WHERE number = ?", core.clock() - self.began,
    self.session)
end

--- Keeps where a search stands that has no units of work.
---@param saved table plain data
function Store:keep_position(saved)
  self:begin()
  self.db:transaction(function()
    self.db:run("INSERT OR REPLACE INTO search VALUES ('position', ?)", identity.encode(saved))
    self:note_time()
  end)
end

--- What keep_position kept last.
---@return table?
function Store:position()
  local row = self.db:rows("SELECT value FROM search WHERE key = 'position'")[1]
  return row and decode(self.path, row[1], "position")
end

-- In place of what was found before.
local function write_answer(self, answer)
  local rows = {}
  for i, point in ipairs(answer) do
    rows[i] = { i, identity.encode(point.figures), point.mapping }
  end
  self.db:run "DELETE FROM answer"
  self.db:insert("answer", 3, rows)
end

--- Keeps the best so far.
---@param answer { figures: table, mapping: string }[]
function Store:keep_answer(answer)
  self:begin()
  self.db:transaction(function()
    self:note_time()
    write_answer(self, answer)
  end)
end

--- Keeps how the session ended ("done", or what stopped it) and what it found.
---@param ended string
---@param answer { figures: table, mapping: string }[]
function Store:finish(ended, answer)
  self:begin()
  self.db:transaction(function()
    self:note_time()
    self.db:run("UPDATE session SET ended = ? WHERE number = ?", ended, self.session)
    write_answer(self, answer)
  end)
end

--- How many sessions there were, and their seconds.
---@return { n: integer, seconds: number }
function Store:sessions()
  local row = self.db:rows("SELECT count(*), sum(seconds) FROM session")[1]
  return { n = row[1], seconds = row[2] or 0 }
end

--- How the last session ended (nil: it was killed, or is none), and how many there were.
---@return string? ended
---@return integer n
function Store:ended()
  local row = self.db:rows(
    "SELECT ended, number FROM session ORDER BY number DESC LIMIT 1")[1]
  if not row then return nil, 0 end
  return row[1], row[2]
end

--- What was found: the answer, or the best so far.
---@return { figures: table, mapping: string }[]
function Store:answer()
  local list = {}
  for i, row in ipairs(self.db:rows "SELECT figures, mapping FROM answer ORDER BY position") do
    list[i] = { figures = decode(self.path, row[1], "answer"), mapping = row[2] }
  end
  return list
end

return store
