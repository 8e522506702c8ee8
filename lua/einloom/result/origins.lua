-- SPDX-License-Identifier: MIT
-- Which fields of a result expressions were read from, for loom.explain(expression).

local core = require "einloom.core"

local origins = {}

-- Which fields gave an expression when they were read, latest last, for loom.explain(expression).
-- What this project reads itself to show something is not noted.
local noted = setmetatable({}, { __mode = "k" })
local noting = true
local kept_origins = 8 -- for each number: a list without end would keep all results alive

--- Notes that a field of an owner (a buffet, or an einsum) gave an expression.
---@param e any
---@param owner table
---@param field string
function origins.note(e, owner, field)
  if not noting or not core.is_expr(e) then return end
  local list = noted[e] or {}
  for i, entry in ipairs(list) do
    if entry.owner == owner and entry.field == field then table.remove(list, i) end
  end
  if #list == kept_origins then table.remove(list, 1) end
  list[#list + 1] = { owner = owner, field = field }
  noted[e] = list
end

--- The fields that an expression was read from, the latest first: {owner =, field =}; the owner is
--- a buffet, or an einsum for what belongs to no buffet.
---@param e any
---@return { owner: table, field: string }[]
function origins.of(e)
  local list, latest = noted[e] or {}, {}
  for i = #list, 1, -1 do latest[#latest + 1] = list[i] end
  return latest
end

--- Calls a function whose reading of results is not noted as that of the user.
---@param f function
function origins.quietly(f, ...)
  local before = noting
  noting = false
  local values = table.pack(pcall(f, ...))
  noting = before
  if not values[1] then error(values[2], 0) end
  return table.unpack(values, 2, values.n)
end

return origins
