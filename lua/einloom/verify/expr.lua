-- SPDX-License-Identifier: MIT
-- Files of expressions ("format": "loopnest-expressions", schema expr/1) for `einloom verify`:
-- parse, then evaluate by substitution, on the exact tape and in double.

local compare = require "einloom.verify.compare"
local core = require "einloom.core"
local points = require "einloom.points"

local expr = {}

local real_tolerance = 1e-12

local function symbols_of(raw)
  local list = {}
  for i, name in ipairs(raw.symbols) do
    if raw.domain == "positive integers" then
      list[i] = core.symbol(name)
    else
      local range = raw.domain[name]
      list[i] = core.symbol(name, { min = range[1], max = range[2] })
    end
  end
  return list
end

local function columns(raw)
  local list = {}
  for i = 1, #raw.symbols do
    list[i] = {}
    for p, point in ipairs(raw.points) do list[i][p] = point.at[i] + 0.0 end
  end
  return list
end

local function point_of(raw, p)
  local point = {}
  for i, name in ipairs(raw.symbols) do point[name] = raw.points[p].at[i] end
  return point
end

-- The value as the schema gives it: text is an exact number, a JSON number a rounded one.
local function expected_value(run, raw, p)
  local value = raw.points[p].value
  local wanted = raw.exact and "string" or "number"
  if type(value) ~= wanted then
    run.differ(("points[%d].value"):format(p), wanted == "string" and "an exact number as text"
      or "a number", value == nil and "nothing" or type(value))
    return nil
  end
  return wanted == "number" and value + 0.0 or value
end

local point_shape = compare.object { substituted = "number", exact = "number", real = "number" }

local function as_real(value)
  if type(value) == "string" then return core.number(value):tonumber() end
  return value
end

local function check_point(run, raw, p, got)
  local value = expected_value(run, raw, p)
  if value == nil then return end
  local expected = { substituted = value, exact = value, real = as_real(value) }
  compare.check(run, point_shape, ("points[%d]"):format(p), expected, got)
end

--- Runs one expression.
---@param run einloom.comparison
---@param raw table decoded entry
function expr.check(run, raw)
  if type(raw.points) ~= "table" or #raw.points == 0 then
    return run.differ("points", "values to compare with", "none")
  end
  if type(raw.exact) ~= "boolean" then return run.differ("exact", "true or false", "neither") end
  run.tolerance = real_tolerance
  local symbols = symbols_of(raw)
  local e = core.parse(raw.expr, raw.id, symbols)
  local program = core.compile({ e }, symbols)
  local reals = program:eval(columns(raw))[1]
  for p, point in ipairs(raw.points) do
    check_point(run, raw, p, {
      substituted = points.at(e, point_of(raw, p)),
      exact = program:exact(point.at)[1],
      real = core.number(reals[p]),
    })
  end
end

return expr
