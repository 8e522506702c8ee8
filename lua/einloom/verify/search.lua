-- SPDX-License-Identifier: MIT
-- Cases of schema search/1: mappings that were recorded cost what was recorded (layers costs and
-- totals), and a search of the same space finds nothing worse (layer search).

local loom = require "einloom"
local read = require "einloom.case.search"

local search = { answers_inside = true }

local function number(x) return type(x) == "number" and x or x:tonumber() end

local function differs(got, expected, tolerance)
  return math.abs(got - expected) > tolerance * math.max(math.abs(got), math.abs(expected))
end

-- ---- recorded mappings ----

local function evaluate(run, case, mapping, at)
  local result, message = loom.analyze(case.workload, case.arch, mapping, { model = "reference" })
  local energy
  if result then energy, message = result:energy() end
  if not energy then
    run.differ(at, "a mapping within all limits", message)
    return nil
  end
  return result
end

local function check_usage(run, result, expected, tolerance, at)
  local usage = result:usage()
  for name, x in pairs(expected) do
    local got = usage[name] and number(usage[name]) or 0
    if differs(got, x, tolerance) then run.differ(("%s.usage.%s"):format(at, name), x, got) end
  end
end

local function check_recorded(run, case, point, at)
  if not point.mapping then return end
  local result = evaluate(run, case, read.mapping(case, point.mapping), at)
  if not result then return end
  local got = { energy = number(result:energy()), latency = number(result:latency()) }
  for _, key in ipairs { "energy", "latency" } do
    if point[key] ~= nil and differs(got[key], point[key], run.objective_tolerance) then
      run.differ(("%s.%s"):format(at, key), point[key], got[key])
    end
  end
  check_usage(run, result, point.usage or {}, run.objective_tolerance, at)
end

-- Points whose figures follow the rules of the schema: of several tools, the other one's.
local function recorded(raw)
  if raw.other_peer then return { ["other_peer"] = raw.other_peer } end
  local points = { ["peer.best"] = raw.peer.best }
  for i, point in ipairs(raw.peer.other_points or {}) do
    points[("peer.other_points[%d]"):format(i)] = point
  end
  return points
end

-- ---- searching ----

local figures = { "energy", "latency", "energy_delay_product" }

-- What was found is what its mapping costs.
local function check_found(run, case, found, point, at)
  local result = evaluate(run, case, found:mapping(point), at)
  if not result then return end
  local energy, latency = number(result:energy()), number(result:latency())
  local got = { energy = energy, latency = latency, energy_delay_product = energy * latency }
  for _, key in ipairs(figures) do
    if point[key] and differs(got[key], point[key], 1e-12) then
      run.differ(("%s.%s"):format(at, key), point[key], got[key])
    end
  end
end

local function check_best(run, raw, case, found)
  local key, point = case.minimise[1], found.points[1]
  local expected = raw.best_known and raw.best_known[key] or raw.peer.best[key]
  if not point then return run.differ(key, expected, "no mapping") end
  if point[key] > expected * (1 + run.objective_tolerance) then
    run.differ(key, ("at most %s"):format(expected), point[key])
  end
  check_found(run, case, found, point, "found")
end

local function reaches(point, goal, tolerance)
  for _, key in ipairs(figures) do
    if goal[key] and point[key] > goal[key] * (1 + tolerance) then return false end
  end
  for name, x in pairs(goal.usage or {}) do
    if (point.usage[name] or 0) > x * (1 + tolerance) then return false end
  end
  return true
end

local function check_front(run, raw, case, found)
  for i, goal in ipairs(raw.peer.front) do
    local reached = false
    for _, point in ipairs(found.points) do
      reached = reached or reaches(point, goal, run.front_tolerance)
    end
    if not reached then
      run.differ(("peer.front[%d]"):format(i), "a point at least as good", "none")
    end
  end
  for i, point in ipairs(found.points) do
    check_found(run, case, found, point, ("found[%d]"):format(i))
  end
end

--- Runs one case. Returns "left out" when the layer does not ask for it.
---@param run einloom.comparison
---@param raw table decoded case
---@param layer string
---@return string?
function search.check(run, raw, layer)
  if layer == "reuse" then return "left out" end
  local case = read.from_json(raw)
  if layer ~= "search" then
    for at, point in pairs(recorded(raw)) do check_recorded(run, case, point, at) end
  end
  if layer ~= "search" and layer ~= "all" then return nil end
  local found = read.space(case):search()
  if #case.minimise == 1 then
    check_best(run, raw, case, found)
  else
    check_front(run, raw, case, found)
  end
  return nil
end

return search
