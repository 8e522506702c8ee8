-- SPDX-License-Identifier: MIT
-- Checks certificates: that the claimed points are mappings of the space with those figures, that
-- every template is there, that every choice of its tiles ends in a leaf, and that the reason of
-- each leaf holds by bounds that are computed anew.

local bounds = require "einloom.certify.bounds"
local closing = require "einloom.certify.closing"
local core = require "einloom.core"
local errors = require "einloom.errors"
local head = require "einloom.certify.head"
local joining = require "einloom.certify.joining"
local places = require "einloom.certify.places"
local points = require "einloom.certify.points"
local templates = require "einloom.search.templates"
local tree = require "einloom.certify.tree"

local checker = {}

-- Bounds are the same numbers on every machine but for the last digits.
local function differs(a, b)
  if type(a) ~= "number" or type(b) ~= "number" then return a ~= b end
  return math.abs(a - b) > 1e-12 * math.max(math.abs(a), math.abs(b))
end

-- ---- lines ----

local Lines = {}
Lines.__index = Lines

local function new_lines(next_line, file)
  return setmetatable({ next_line = next_line, file = file, number = 0 }, Lines)
end

function Lines:fail(line, message, ...)
  errors.raise("certificate", message:format(...),
    { file = self.file, line = math.max(line, 1), column = 1 })
end

--- The line to come, decoded; nil at the end.
function Lines:peek()
  if self.ahead == nil then
    local text = self.next_line()
    self.number = self.number + 1
    if text then
      local ok, data = pcall(core.json.decode, text)
      if not ok or type(data) ~= "table" then self:fail(self.number, "this is no line of JSON") end
      self.ahead = data
    else
      self.ahead = false
    end
  end
  return self.ahead or nil, self.number
end

function Lines:take()
  local data, line = self:peek()
  self.ahead = nil
  return data, line
end

-- ---- leaves ----

local leaf_keys = {
  at = true, exceeds = true, needs = true, loops = true, shares = true, fused = true,
  energy = true, latency = true, usage = true,
}

local function is_leaf(data)
  if type(data) ~= "table" or type(data.at) ~= "table" then return false end
  for _, step in ipairs(data.at) do
    if type(step) ~= "table" or #step < 2 or #step > 3 then return false end
  end
  return true
end

local function reader_of(lines)
  return {
    peek = function()
      local data, line = lines:peek()
      return is_leaf(data) and data or nil, line
    end,
    take = function() lines:take() end,
    fail = function(...) lines:fail(...) end,
  }
end

local function describe(reason)
  if reason.exceeds then return ("%s exceeded by %s"):format(reason.exceeds, reason.needs) end
  if reason.loops then return "bounds of loops exceeded" end
  if reason.shares then return "dimensions used less than asked for" end
  if reason.fused then return "more fused loops than the limit" end
  return ("energy %s, latency %s"):format(reason.energy, reason.latency)
end

-- The reason of a leaf is the one that holds.
local function check_reason(lines, leaf, line, reason)
  for key in pairs(leaf) do
    if not leaf_keys[key] then lines:fail(line, "a leaf has no '%s'", tostring(key)) end
  end
  for key in pairs(leaf_keys) do
    if key ~= "at" and key ~= "usage" and differs(leaf[key], reason[key]) then
      lines:fail(line, "%s: the bound is %s", tree.text(leaf.at), describe(reason))
    end
  end
  for memory, x in pairs(reason.usage or {}) do
    if type(leaf.usage) ~= "table" or differs(leaf.usage[memory], x) then
      lines:fail(line, "%s: the use of %s is at least %s", tree.text(leaf.at), memory, x)
    end
  end
end

-- Reasons of leaves, as reports have them.
local function reasons()
  return {
    { key = "bounded", text = "bounded", count = 0 },
    { key = "exceeds", text = "exceeding a limit", count = 0 },
    { key = "loops", text = "exceeding bounds of loops", count = 0 },
    { key = "shares", text = "using dimensions less than they ask for", count = 0 },
    { key = "fused", text = "with more fused loops than the limit", count = 0 },
  }
end

local function count(report, reason)
  for _, entry in ipairs(report.reasons) do
    if reason[entry.key] or entry.key == "bounded" and reason.energy then
      entry.count = entry.count + 1
    end
  end
  report.leaves = report.leaves + 1
end

-- ---- templates ----

local function too_low(lines, leaf, line, reason)
  return lines:fail(line, "%s: the bound (%s) is below what is claimed", tree.text(leaf.at),
    describe(reason))
end

-- A bounded leaf of a single einsum is enough by itself.
local function judge_alone(lines, g)
  return function(leaf, line, reason)
    if not g:closes(reason) then too_low(lines, leaf, line, reason) end
  end
end

-- Those of several einsums are judged together in the end.
local function collect(list, shape, template, bounds_of)
  local at, sizes = places.of(template), {}
  for i, v in ipairs(template.way.variables) do sizes[i] = template.way.sizes[v] end
  return function(leaf, line, reason, nodes)
    list[#list + 1] = {
      shape = shape, energy = reason.energy, latency = reason.latency, line = line, at = leaf.at,
      keys = places.keys(at, nodes, sizes), bounds = bounds_of,
      nodes = table.move(nodes, 1, #nodes, 1, {}),
    }
  end
end

local function check_template(lines, b, g, report, judge)
  tree.check(b, reader_of(lines), function(leaf, line, nodes)
    local reason = tree.reason(b, nodes, g.memories)
    check_reason(lines, leaf, line, reason)
    if reason.energy then judge(leaf, line, reason, nodes) end
    count(report, reason)
  end)
end

local function check_templates(lines, s, g, report, list)
  for shape, entry in ipairs(s.shapes) do
    for number, template in ipairs(s:list(entry[1])) do
      local data, line = lines:take()
      local text = templates.text(template)
      if not data or data.einsum ~= shape or data.template ~= number or data.text ~= text then
        lines:fail(line, "template %d of einsum %d was expected: %s", number, shape, text)
      end
      local b = bounds.of(s.case, template)
      local judge = list and collect(list, shape, template, b) or judge_alone(lines, g)
      check_template(lines, b, g, report, judge)
      report.templates = report.templates + 1
    end
  end
end

-- ---- several einsums ----

-- Leaves that stay open have all their tiles, and join to nothing better.
local function check_joining(lines, s, g, report, list)
  local close = closing.new(s, g)
  local open = close:run(list)
  for _, leaf in ipairs(open) do
    for _, node in ipairs(leaf.nodes) do
      if node.children or node.spans then too_low(lines, leaf, leaf.line, leaf) end
    end
    points.fill(leaf.bounds, leaf.nodes, leaf)
  end
  local better
  better, report.joined = joining.better(close, open, joining.memories(s))
  if better then
    lines:fail(open[1].line, "%d leaves, of which this is the first, may join to something better "
      .. "than what is claimed", #open)
  end
  report.open = #open
end

--- Checks a certificate of which next_line() gives one line after the other. Raises an error with
--- the line at which it does not hold.
---@param next_line fun(): string?
---@param file? string its name
---@return table report templates, leaves, reasons {key, text, count}, claims, minimise, and shares
--- by which claims may be worse than what is best: tolerance, usage_tolerance (nil: none)
function checker.run(next_line, file)
  local lines = new_lines(next_line, file)
  local report = { templates = 0, leaves = 0, reasons = reasons() }
  local ok, s, g = pcall(head.read, (lines:take()))
  if not ok then
    if not errors.is(s) then lines:fail(1, "the head cannot be read: %s", tostring(s)) end
    if not s.line then s.file, s.line, s.column = file, 1, 1 end
    error(s, 0)
  end
  local list = #s.steps > 1 and {} or nil
  check_templates(lines, s, g, report, list)
  local last, line = lines:take()
  if not last or last.templates ~= report.templates or last.leaves ~= report.leaves then
    lines:fail(line, "%d templates and %d leaves were read; the last line says otherwise",
      report.templates, report.leaves)
  end
  if list then check_joining(lines, s, g, report, list) end
  if lines:take() then lines:fail(lines.number, "nothing was expected after the last line") end
  report.minimise, report.claims = s.case.objective.text, g.points
  if not s.case.objective.formula then
    report.tolerance = g.tolerance > 0 and g.tolerance or nil
    report.usage_tolerance = g.usage_tolerance > 0 and g.usage_tolerance or nil
  end
  return report
end

return checker
