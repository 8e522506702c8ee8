-- SPDX-License-Identifier: MIT
-- What a search found, as a Lua script that `einloom eval` takes and as JSON: every figure is what
-- the analysis of the mapping gives, none is the engine's.

local core = require "einloom.core"
local errors = require "einloom.errors"
local goals = require "einloom.search.goals"
local layout = require "einloom.show.layout"

local found_text = {}

---@class einloom.FoundPoint
---@field result einloom.Result
---@field figures { name: string, value: einloom.Expr }[]
---@field mapping einloom.Mapping

-- ---- figures --------------------------------------------------------------------------------

-- The figures in which the points of the search are compared, then the other costs.
local function figures_of(result, minimise)
  local wanted, list = {}, {}
  for _, name in ipairs(minimise) do wanted[name] = true end
  local energy, latency = result:energy(), result:latency()
  local function add(name, value) list[#list + 1] = { name = name, value = value } end
  add("energy", energy)
  add("latency", latency)
  if wanted.energy_delay_product then add("energy_delay_product", energy * latency) end
  if wanted.usage or wanted.buffer_usage then
    local usage = result:usage()
    for _, name in ipairs(errors.keys(usage)) do add(("usage(%s)"):format(name), usage[name]) end
  end
  return list
end

-- Smaller figures first, one after the other; then by the text of the mapping.
local function before(a, b)
  for i, figure in ipairs(a.figures) do
    local x, y = figure.value:tonumber(), b.figures[i].value:tonumber()
    if x ~= y then return x < y end
  end
  return tostring(a.mapping) < tostring(b.mapping)
end

--- A mapping of a space with its figures, analysed as `einloom eval` does; or nil, a message and
--- its kind.
---@param space einloom.Space
---@param mapping einloom.Mapping
---@return einloom.FoundPoint?
---@return string? message
---@return string? kind
function found_text.point(space, mapping)
  local result, message, kind = require "einloom".analyze(space.workload, space.arch, mapping,
    { model = space.options.model })
  if not result then return nil, message, kind end
  local energy, exceeded, its_kind = result:energy()
  if not energy then return nil, exceeded, its_kind end
  local figures = figures_of(result, space.case.objective.names)
  return { result = result, mapping = mapping, figures = figures }
end

--- The points of a found front or best mapping, in order of their figures.
---@param found einloom.Found
---@return einloom.FoundPoint[]
function found_text.points(found)
  local list = {}
  for i, point in ipairs(found.points) do
    local shown, message, kind = found_text.point(found.space, found:mapping(point))
    list[i] = shown or errors.raise(kind, message)
  end
  return found_text.sorted(list)
end

--- Points in order of their figures.
---@param points einloom.FoundPoint[]
---@return einloom.FoundPoint[]
function found_text.sorted(points)
  table.sort(points, before)
  return points
end

--- What a search compares of a point: energy, latency, their product, use of memories.
---@param point einloom.FoundPoint
---@return table
function found_text.numbers(point)
  local usage = {}
  for name, x in pairs(point.result:usage()) do usage[name] = x:tonumber() end
  return goals.complete {
    energy = point.result:energy():tonumber(), latency = point.result:latency():tonumber(),
    usage = usage,
  }
end

local function short(value)
  local text = layout.value(value)
  if #text <= 24 then return text end
  return ("%.10g"):format(value:tonumber())
end

-- The figures of all points as the rows of a table with a head.
local function rows_of(points)
  local rows = { {} }
  for _, figure in ipairs(points[1].figures) do rows[1][#rows[1] + 1] = figure.name end
  for i, point in ipairs(points) do
    rows[i + 1] = {}
    for k, figure in ipairs(point.figures) do rows[i + 1][k] = short(figure.value) end
  end
  return rows
end

--- The figures of points as lines: a head, and a numbered line for each point where there are
--- several.
---@param points einloom.FoundPoint[]
---@return string[]
function found_text.table(points)
  local rows, widths, lines = rows_of(points), {}, {}
  for _, row in ipairs(rows) do
    for k, text in ipairs(row) do widths[k] = math.max(widths[k] or 0, #text) end
  end
  for i, row in ipairs(rows) do
    local parts = { #points > 1 and ("%4s"):format(i > 1 and i - 1 or "") or "" }
    for k, text in ipairs(row) do parts[k + 1] = ("%" .. widths[k] .. "s"):format(text) end
    lines[i] = table.concat(parts, "  ")
  end
  return lines
end

-- ---- a script -------------------------------------------------------------------------------

local function quoted(text)
  local level = ""
  while text:find("]" .. level .. "]", 1, true) do level = level .. "=" end
  return ("[%s[\n%s]%s]"):format(level, text:gsub("\n*$", "\n"), level)
end

--- A script that returns the subject of the first point for `einloom eval`, with the figures of all
--- points in comments.
---@param points einloom.FoundPoint[]
---@param notes string[] lines about the search
---@param problem { source: string[], names: string[] } how a script gets workload and arch
---@param model string
---@return string
function found_text.script(points, notes, problem, model)
  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  for _, note in ipairs(notes) do add("-- " .. note) end
  for _, row in ipairs(found_text.table(points)) do add("-- " .. row) end
  add 'local loom = require "einloom"'
  for _, line in ipairs(problem.source) do add(line) end
  if #points > 1 then add("local mappings = {") end
  local texts = {}
  for i, point in ipairs(points) do texts[i] = quoted(tostring(point.mapping)) end
  if #points > 1 then
    for _, text in ipairs(texts) do add(text .. ",") end
    add "}"
  end
  add "return {"
  add(("  workload = %s, arch = %s, options = { model = %q },"):format(problem.names[1],
    problem.names[2], model))
  add(("  mapping = loom.mapping%s,"):format(#points > 1 and "(mappings[1])" or " " .. texts[1]))
  add "}"
  return table.concat(lines, "\n")
end

-- ---- JSON -----------------------------------------------------------------------------------

--- Cases of schema mapping/1 with their results, and what is said about the search in `search`.
---@param points einloom.FoundPoint[]
---@param about table plain data
---@return string
function found_text.json(points, about)
  local case, list = require "einloom.case", setmetatable({}, core.json.array)
  for i, point in ipairs(points) do
    local filled, message, kind = case.with_results(point.result)
    if message then errors.raise(kind, message) end
    filled.id = #points > 1 and ("point %d"):format(i) or "best"
    list[i] = filled
  end
  return core.json.encode({ schema = case.schema, search = about, cases = list },
    { indent = 2, sort_keys = true })
end

return found_text
