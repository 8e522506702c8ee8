-- SPDX-License-Identifier: MIT
-- einloom merge: joins what all shards of a search found, and gives the answer of the whole search.

local answer = require "einloom.cli.answer"
local drive = require "einloom.cli.drive"
local errors = require "einloom.errors"
local input = require "einloom.cli.input"
local terminal = require "einloom.cli.terminal"

local merge = {}

function merge.declare(parser)
  local command = parser:command("merge", "Join the shards of a search: the answer of the whole "
    .. "search, if all are there and complete.")
  command:argument("stores", "The files that `einloom map --shard I/N --store FILE` kept."):args "+"
  answer.declare(command)
end

-- ---- what is there --------------------------------------------------------------------------

-- What `read` gives of the stores; what is wrong with each goes into `problems`.
local function read_all(paths, problems, read)
  local parts = {}
  for _, path in ipairs(paths) do
    local ok, part = pcall(read, path)
    if ok then
      parts[#parts + 1] = part
    elseif errors.is(part) then
      problems[#problems + 1] = part.file .. ": " .. part.message
    else
      error(part, 0)
    end
  end
  return parts
end

local function check_same(first, part, problems)
  local differences = require "einloom.store.identity".differences(first.search.identity,
    part.search.identity)
  local d = differences[1]
  if d then
    problems[#problems + 1] = ("%s is of another search than %s: %s is %s, not %s"):format(
      part.path, first.path, d.path, d.there, d.here)
  elseif part.search.shard.of ~= first.search.shard.of then
    problems[#problems + 1] = ("%s is one of %d shards, %s one of %d"):format(part.path,
      part.search.shard.of, first.path, first.search.shard.of)
  end
end

-- Every shard once, and complete.
local function check_coverage(parts, problems)
  local of, by_number = parts[1].search.shard.of, {}
  for _, part in ipairs(parts) do
    local number, p = part.search.shard.number, part:progress()
    if by_number[number] then
      problems[#problems + 1] = ("%s and %s are the same shard %d/%d"):format(by_number[number],
        part.path, number, of)
    elseif p.done < p.mine then
      problems[#problems + 1] = ("shard %d/%d is incomplete: %s has %d of its %d units"):format(
        number, of, part.path, p.done, p.mine)
    end
    by_number[number] = by_number[number] or part.path
  end
  for number = 1, of do
    if not by_number[number] then
      problems[#problems + 1] = ("shard %d/%d is missing"):format(number, of)
    end
  end
end

local function refuse(problems)
  if #problems == 0 then return end
  terminal.refuse("store", #problems == 1 and problems[1]
    or "the search is not complete:\n  " .. table.concat(problems, "\n  "))
end

-- Stores of several searches are refused before any is opened: so they stay as they are.
local function check_one_search(paths)
  local store, problems = require "einloom.store", {}
  local heads = read_all(paths, problems, function(path)
    return { path = path, search = store.look(path) }
  end)
  local n = #problems
  for i = 2, #heads do check_same(heads[1], heads[i], problems) end
  if #heads == 0 or #problems > n then refuse(problems) end
end

-- ---- the command ----------------------------------------------------------------------------

local function whole_ledger(parts)
  local all = require "einloom.store.ledger".new { number = 1, of = 1 }
  for _, part in ipairs(parts) do all:know(part:known(), part.path) end
  return all
end

local function search_of(parts, args)
  local first = parts[1]
  local trust = require "einloom.store".trust
  local space = trust(first.path, require "einloom.store.problem".space, first.search.identity)
  answer.check(space, args, args.stores)
  first:check_units(space:units())
  return space:search {
    strategy = "optimal", ledger = whole_ledger(parts),
    threads = input.number(args, "threads", "integer"),
  }
end

local function run(parts, args)
  local catch <close>, search = drive.catch(), nil
  local stopped = catch:during(function() search = search_of(parts, args) end)
  if stopped then return answer.complain(stopped, args) end
  stopped = drive.run(search, {
    catch = catch, shown = terminal.is_terminal(), keep = function() end,
  })
  local source = parts[1].search.source or {}
  return answer.give(search, answer.points(search), stopped,
    { source = source.lines, names = source.names, strategy = "optimal" }, args)
end

function merge.run(args)
  check_one_search(args.stores)
  local problems = {}
  local parts = read_all(args.stores, problems, require "einloom.store".read)
  local ok, status = pcall(function()
    if #parts > 0 then check_coverage(parts, problems) end
    refuse(problems)
    return run(parts, args)
  end)
  for _, part in ipairs(parts) do part:close() end
  if not ok then error(status, 0) end
  return status
end

return merge
