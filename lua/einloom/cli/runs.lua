-- SPDX-License-Identifier: MIT
-- einloom runs: what stores of searches hold, side by side, and in what the searches differ.

local core = require "einloom.core"
local errors = require "einloom.errors"
local progress = require "einloom.show.progress"
local terminal = require "einloom.cli.terminal"

local runs = {}

function runs.declare(parser)
  local command = parser:command("runs", "List what stores of searches hold, and in what the "
    .. "searches differ.")
  command:argument("stores", "Files that `einloom map --store FILE` kept."):args "+"
end

local function minimised(search)
  local goal = search.identity.options.minimise
  return type(goal) == "table" and table.concat(goal, ",") or goal
end

-- How far a search is.
local function state_of(part, p)
  local ended, sessions = part:ended()
  if not ended then return sessions > 0 and "killed" or "not begun" end
  if ended ~= "done" then return "stopped: " .. ended end
  return p.done < p.mine and "incomplete" or "done"
end

-- What was found: the figures of a best mapping, the size of a front.
local function found_of(part)
  local list = part:answer()
  if #list == 0 then return "-" end
  if #list > 1 then return ("%d points"):format(#list) end
  local parts = {}
  for _, name in ipairs(errors.keys(list[1].figures)) do
    local value = core.number(list[1].figures[name]):tonumber()
    parts[#parts + 1] = ("%s %.6g"):format(name, value)
  end
  return table.concat(parts, ", ")
end

local function row_of(part)
  local p, search = part:progress(), part.search
  local has_units = search.identity.search.strategy == "optimal" -- of work
  return {
    part.path, minimised(search), search.identity.search.strategy,
    ("%d/%d"):format(search.shard.number, search.shard.of),
    has_units and ("%d of %d"):format(p.done, p.mine) or "-",
    has_units and tostring(p.points) or "-",
 progress.duration(p.seconds), state_of(part, p), found_of(part),
  }
end

local head = {
  "store", "minimise", "strategy", "shard", "units", "points", "time", "state", "found",
}

local function print_table(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for k, text in ipairs(row) do widths[k] = math.max(widths[k] or 0, #text) end
  end
  for _, row in ipairs(rows) do
    local parts = {}
    for k, text in ipairs(row) do
      parts[k] = k < #row and text .. (" "):rep(widths[k] - #text) or text
    end
    terminal.say(table.concat(parts, "  "))
  end
end

-- Lines about the search of one store against that of the first.
local function print_differences(first, part)
  local differences = require "einloom.store.identity".differences(first.search.identity,
    part.search.identity)
  for i, d in ipairs(differences) do
    if i == 1 then terminal.say(("\n%s differs from %s:"):format(part.path, first.path)) end
    terminal.say(("  %s is %s, not %s"):format(d.path, d.there, d.here))
  end
end

local function read(path)
  local store = require "einloom.store"
  local part <close> = store.read(path)
  return { path = path, search = part.search, row = store.trust(path, row_of, part) }
end

function runs.run(args)
  local entries, rows = {}, { head }
  for _, path in ipairs(args.stores) do
    local ok, entry = pcall(read, path)
    if ok then
      entries[#entries + 1], rows[#rows + 1] = entry, entry.row
    else
      terminal.complain(terminal.message_of(entry))
    end
  end
  if #entries > 0 then print_table(rows) end
  for i = 2, #entries do print_differences(entries[1], entries[i]) end
  return #entries == #args.stores and terminal.OK or terminal.FAILED
end

return runs
