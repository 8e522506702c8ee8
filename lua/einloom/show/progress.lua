-- SPDX-License-Identifier: MIT
-- How far a search is, as one line.

local goals = require "einloom.search.goals"

local progress = {}

local function count(n)
  for _, unit in ipairs { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" } } do
    if n >= unit[1] then
      local scale = unit[2] == "k" and 1e3 or unit[1]
      return ("%.3g%s"):format(n / scale, unit[2])
    end
  end
  return ("%.0f"):format(n)
end

local function duration(seconds)
  if seconds < 10 then return ("%.1f s"):format(seconds) end
  if seconds < 600 then return ("%.0f s"):format(seconds) end
  if seconds < 36000 then return ("%.0f min"):format(seconds / 60) end
  return ("%.1f h"):format(seconds / 3600)
end

progress.duration = duration

--- How far a value is above a bound that no mapping can beat, e.g. "3.2 % above the bound".
---@param best number
---@param bound number
---@return string
function progress.gap(best, bound)
  if best <= bound then return "no mapping is better" end
  if bound <= 0 then return ("the bound is %.6g"):format(bound) end
  return ("at most %.3g %% above the best"):format(100 * (best / bound - 1))
end

-- Seconds that are left: of the limit, or of the phase as its units go.
local function left(p, limit)
  local remaining
  if p.total and p.total > 0 and p.done > 0 then
    remaining = p.phase_seconds * (p.total - p.done) / p.done
  end
  if limit then remaining = math.min(remaining or math.huge, math.max(limit - p.seconds, 0)) end
  return remaining
end

--- A line about a search under way.
---@param p table as of search:progress()
---@param case einloom.SearchProblem
---@param limit? number seconds the search may take
---@return string
function progress.line(p, case, limit)
  local parts = { p.total and ("%s %d of %d"):format(p.phase, p.done, p.total) or p.phase }
  if p.candidates > 0 then
    parts[#parts + 1] = ("%s candidates, %s/s"):format(count(p.candidates),
      count(p.candidates / math.max(p.seconds, 1e-3)))
  end
  for _, name in ipairs { "best", "bound" } do
    local value = p[name] and not case.objective.is_front and goals.values(case, p[name])[1]
    if value then parts[#parts + 1] = ("%s %.6g"):format(name, value) end
  end
  local remaining = left(p, limit)
  if remaining then parts[#parts + 1] = duration(remaining) .. " left" end
  return table.concat(parts, ", ")
end

return progress
