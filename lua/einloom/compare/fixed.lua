-- SPDX-License-Identifier: MIT
-- Cases of schema fixed/1 beside what two other tools print for the same nests: the figures that
-- differ and, where it is known, why.

local check = require "einloom.verify.fixed"
local core = require "einloom.core"
local errors = require "einloom.errors"
local fixed = require "einloom.case.fixed"
local layout = require "einloom.show.layout"

local compare = {}

-- ---- what a nest is like ----------------------------------------------------------------------

local function access_of(built, tensor)
  for _, access in ipairs(built.workload.einsums[1].tensors) do
    if access.tensor == tensor then return access end
  end
end

-- How many ranks of a tensor are windows, by the loops that walk them.
local function window_ranks(built, tensor)
  local n, variables = 0, {}
  for _, form in ipairs(access_of(built, tensor).affine) do
    if #form.terms > 1 then
      n = n + 1
      for _, term in ipairs(form.terms) do variables[term[1]] = true end
    end
  end
  return n, variables
end

local function spatial_window(built, tensor)
  local _, variables = window_ranks(built, tensor)
  for _, node in ipairs(built.mapping.nodes) do
    if node.node == "spatial" and variables[node.rank_variable] then return true end
  end
  return false
end

local function has_array(built)
  for _, node in ipairs(built.mapping.nodes) do
    if node.node == "spatial" then return true end
  end
  return false
end

-- ---- the tools --------------------------------------------------------------------------------

local function timeloop_reason(built, tensor)
  local windows = window_ranks(built, tensor)
  if spatial_window(built, tensor) then
    return "what the windows of several units share is not read once for all"
  end
  if windows > 1 then
    return "of windows in two ranks only what a difference of boxes shows is kept, and the first "
      .. "steps are extrapolated"
  end
end

-- Timeloop keeps contents and takes differences; it does not count reads for writing back.
local function timeloop(rows, raw, built, ours)
  local fields = { read = "read", fill = "fill", update = "upd", tile = "tile" }
  for _, name in ipairs(errors.keys(raw.timeloop.counts)) do
    local theirs, mine = raw.timeloop.counts[name], ours.delta[name]
    local outermost = name:match "^[^.]+" == built.levels[1]
    for _, field in ipairs(errors.keys(theirs)) do
      if not (outermost and field == "tile") then
        rows[#rows + 1] = { tool = "timeloop", what = name .. " " .. field, rule = "retain",
          theirs = theirs[field], ours = mine[fields[field]],
          why = function() return timeloop_reason(built, name:match "[^.]+$") end }
      end
    end
  end
  rows[#rows + 1] = { tool = "timeloop", what = "energy", rule = "retain, reads for writing back "
    .. "not counted", theirs = raw.timeloop.energy, ours = ours.energy_no_drain,
    why = function() return "follows from the counts" end }
end

local function accelforge_reason(built, tensor)
  if spatial_window(built, tensor) then
    return "what the windows of several units share is not read once for all"
  end
  if has_array(built) then
    return "a tile that stays in place below an array is fetched again in each iteration above it"
  end
end

-- AccelForge drops contents and reads what it writes back.
local function accelforge(rows, variant, theirs, built, ours, rule)
  for _, name in ipairs(errors.keys(theirs.actions)) do
    local level, tensor, action = name:match "^([^.]+)%.([^.]+)%.([^.]+)$"
    local mine = ours[level .. "." .. tensor]
    if mine then
      local own = action == "read" and mine.read + (mine.drain or 0)
        or (mine.fill or 0) + (mine.upd or 0)
      rows[#rows + 1] = { tool = "accelforge, " .. variant, what = ("%s.%s %s"):format(level,
        tensor, action), rule = rule, theirs = theirs.actions[name], ours = own,
        why = function() return accelforge_reason(built, tensor) end }
    end
  end
end

-- ---- one case ---------------------------------------------------------------------------------

local function counted(raw, built, mapping, lifetime)
  return check.counts(raw, built, check.analyze(built, built.shared, mapping, lifetime),
    check.analyze(built, built.unshared, mapping, lifetime))
end

--- What one case of the file gives beside the recorded figures: records {tool =, what =, rule =,
--- theirs =, ours =, why = function}.
---@param raw table decoded case
---@return table[]
function compare.rows(raw)
  local built = fixed.build(raw)
  local lifted = require "einloom.lift".mapping(built.mapping, built.workload)
  local ours = {
    delta = counted(raw, built, built.mapping, "retain"),
    whole = counted(raw, built, lifted, "scope"),
    below = counted(raw, built, built.mapping, "scope"),
    energy_no_drain = check.analyze(built, built.shared, built.mapping, "retain", false):energy(),
  }
  local rows = {}
  if raw.timeloop then timeloop(rows, raw, built, ours) end
  local theirs = raw.accelforge or {}
  if theirs.stores_lifted then
    accelforge(rows, "storage lifted", theirs.stores_lifted, built, ours.whole,
      "scope after lifting")
  end
  if theirs.stores_at_level_boundary then
    accelforge(rows, "storage at the top of each level", theirs.stores_at_level_boundary, built,
      ours.below, "scope")
  end
  return rows
end

local function equal(theirs, ours)
  return core.number(theirs) == core.sum { ours or 0 }
end

--- The figures of one case that differ from those of the other tools, as text.
---@param raw table decoded case
---@return string
function compare.text(raw)
  local out, agree, differ = {}, 0, 0
  for _, row in ipairs(compare.rows(raw)) do
    if equal(row.theirs, row.ours) then
      agree = agree + 1
    else
      differ = differ + 1
      local text = ("%s: %s %s, einloom %s (%s)"):format(row.what, row.tool,
        ("%.17g"):format(row.theirs), tostring(row.ours or 0), row.rule)
      local why = row.why()
      if why then text = text .. ": " .. why end
      for i, part in ipairs(layout.wrap(text, layout.width - 4)) do
        out[#out + 1] = (i == 1 and "  " or "    ") .. part
      end
    end
  end
  table.insert(out, 1, ("-- %s: %d figures agree, %d differ"):format(raw.id, agree, differ))
  return table.concat(out, "\n")
end

return compare
