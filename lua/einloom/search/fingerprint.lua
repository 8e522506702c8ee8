-- SPDX-License-Identifier: MIT
-- A short text that spaces have in common when they are of the same workload, architecture, limits
-- and goals: what was saved of one space is not taken up in another.

local core = require "einloom.core"
local options = require "einloom.search.options"
local write_case = require "einloom.case.write"

-- FNV-1a, 64 bits.
local function hash(text)
  local h = -3750763034362895579
  for i = 1, #text do h = (h ~ text:byte(i)) * 1099511628211 end
  return ("%016x"):format(h)
end

--- The fingerprint of a space.
---@param space einloom.Space
---@return string
return function(space)
  local case, parts = space.case, {}
  local data = write_case.to_json(case.workload, case.arch, { nodes = {} })
  parts[1] = core.json.encode(data, { sort_keys = true })
  for _, shape in ipairs(space.shapes) do parts[#parts + 1] = shape.signature end
  parts[#parts + 1] = options.text(space.options)
  return hash(table.concat(parts, "\n"))
end
