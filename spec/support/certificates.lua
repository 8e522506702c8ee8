-- SPDX-License-Identifier: MIT
-- Certificates for specs: written as lists of lines, changed, and checked again.

local brute = require "support.brute"
local checker = require "einloom.certify.checker"
local core = require "einloom.core"
local errors = require "einloom.errors"
local goals = require "einloom.search.goals"
local producer = require "einloom.certify.producer"
local read = require "einloom.case.search"
local small = require "support.small_cases"

local certificates = {}

local function answer(ok, ...)
  if ok then return ... end
  if not errors.is(...) then error((...), 0) end
  return nil, tostring((...))
end

--- The lines of a certificate as data, or nil and why there is none.
function certificates.lines(space, points)
  local lines = {}
  return answer(pcall(function()
    producer.run(space, points, function(data)
      lines[#lines + 1] = core.json.decode(core.json.encode(data))
    end)
    return lines
  end))
end

--- What the checker says of lines: a report, or nil and why it refuses.
function certificates.check(lines)
  local i = 0
  return answer(pcall(checker.run, function()
    i = i + 1
    return lines[i] and core.json.encode(lines[i])
  end, "certificate"))
end

function certificates.copy(lines) return core.json.decode(core.json.encode(lines)) end

--- A random small case of a kind, its space, and what a search of it found.
function certificates.small(kind)
  local raw = small.case(kind)
  local space = read.space(read.from_json(raw))
  return space, space:search(), core.json.encode(raw)
end

--- The least of the objective over all mappings.
function certificates.best_of_all(space)
  local best = math.huge
  brute.mappings(space, function(mapping)
    local energy, latency = brute.evaluate(space.case, mapping)
    if energy then
      local figures = goals.complete { energy = energy, latency = latency }
      best = math.min(best, goals.values(space.case, figures)[1])
    end
  end)
  return best
end

--- A random point of a space as a search would give it; nil where none was drawn.
function certificates.random_point(space, source)
  local candidate = space:random(source)
  local figures = candidate and space:evaluate(candidate)
  if figures then figures.candidate = candidate end
  return figures
end

return certificates
