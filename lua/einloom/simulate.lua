-- SPDX-License-Identifier: MIT
-- Counting a mapping by walking its loops, at a point where it has symbols.

local arch = require "einloom.arch"
local errors = require "einloom.errors"
local mapping = require "einloom.mapping"
local model = require "einloom.model"
local points = require "einloom.points"
local result = require "einloom.result"
local workload = require "einloom.workload"

local simulate = {}

-- A point as symbols and their values.
local function read_point(w, a, m, point)
  local known, symbols, values = require "einloom.case.symbols".of(w, a, m), {}, {}
  for name, value in pairs(points.read(point, known)) do
    symbols[#symbols + 1], values[#values + 1] = known[name], value
  end
  return symbols, values
end

--- loom.simulate.
---@param w einloom.Workload
---@param a einloom.Arch
---@param m einloom.Mapping
---@param options? table
---@return einloom.Result? result
---@return string? message
---@return string? kind
function simulate.run(w, a, m, options)
  model.check_options(options or {}, true)
  local all, symbols, values = {}, nil, nil
  for key, x in pairs(options or {}) do all[key] = x end
  local at = all.at
  all.model, all.at = "exact", nil
  if at ~= nil then
    if type(at) ~= "table" or not (workload.is(w) and arch.is(a) and mapping.is(m)) then
      errors.raise("bad_argument", "at: table of values by symbol expected",
        { path = "options of simulate" })
    end
    symbols, values = read_point(w, a, m, at)
  end
  local counted, message, kind = model.simulate(w, a, m, all, symbols, values)
  if not counted then return nil, message, kind end
  local r = result.new(counted, w, a, m, all)
  return at and next(at) and r(at) or r
end

return simulate
