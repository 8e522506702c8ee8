-- SPDX-License-Identifier: MIT
-- Why no mapping fits, as lines: what fell to which rule, and what would let a mapping through.

local value = require "einloom.value"

local nothing = {}

local function number(x)
  return (x % 1 == 0 and x < 1e15 and "%.0f" or "%.6g"):format(x)
end

local function count(n, one, many)
  if n == 1 then return "1 " .. one end
  return number(n) .. " " .. many
end

local function choices(n, one, many)
  return count(n, "choice of tiles " .. one, "choices of tiles " .. many)
end

local function capacity_of(fall, arch, what)
  local size = value.nearest(arch:component(fall.subject).size)
  if fall.needs then
    return ("the size of %s: every mapping needs %s bits or more, there are %s"):format(
      fall.subject, number(fall.needs), number(size))
  end
  local remedy = fall.least and ("%s bits would do, there are %s"):format(number(fall.least),
    number(size)) or "no size alone would do"
  return ("the size of %s: %s; %s"):format(fall.subject, what, remedy)
end

-- What a rule is called, for those that have a remedy of their own.
local texts = {
  capacity = function(fall, arch)
    return capacity_of(fall, arch, choices(fall.n, "needs", "need") .. " more")
  end,
  capacity_joint = function(fall, arch)
    return capacity_of(fall, arch, count(fall.n, "choice of several einsums needs",
      "choices of several einsums need") .. " more")
  end,
  fanout = function(fall)
    return ("the instances of %s: %s more%s"):format(fall.subject, choices(fall.n, "needs", "need"),
      fall.least and ("; %s would do"):format(number(fall.least)) or "; no number alone would do")
  end,
}

--- Lines about falls.
---@param falls { rule: string, subject: string?, n: number, least: number? }[]
---@param arch einloom.Arch
---@return string[]
function nothing.lines(falls, arch)
  local lines = {}
  for i, fall in ipairs(falls) do
    local text = texts[fall.rule]
    lines[i] = text and text(fall, arch) or ("%s: %s"):format(
      fall.subject and ("%s of %s"):format(fall.rule, fall.subject) or fall.rule,
      choices(fall.n, "falls", "fall"))
  end
  return lines
end

return nothing
