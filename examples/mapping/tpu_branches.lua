-- SPDX-License-Identifier: MIT
-- Branches of mappings on the TPUv4i-like machine. A product keeps 128 x 128 weights in each matrix
-- unit while all rows of its input pass; what is done value by value is done by the vector unit.
local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local template = dofile(here .. "template.lua")

local text = [[
branch
  CMEM: $common
  for $outer
  VMEM: $held
  for $reduce
  VMEM: $input $weight
  par $unit on MXU.unit
  par $row on Array.row
  par $column on Array.column
  par $sublane on Vector.sublane
  par $lane on Vector.lane
  Cell: $weight
  for $rest
  $name on $on
]]

---@class tpu_branch
---@field name? string the einsum's, where the list has it under another
---@field on? "MAC"|"VPU" MAC unless given
---@field common? string|false what stays in the common memory throughout
---@field outer? string|false loops around all
---@field held? string|false what stays in the vector memory while the loops of `reduce` run
---@field reduce? string|false loops over the sums
---@field input? string|false what passes through the vector memory
---@field weight? string the same, and then stays in the matrix units
---@field unit? string
---@field row? string
---@field column? string
---@field sublane? string
---@field lane? string
---@field rest? string loops while a weight stays

--- The branches of the named einsums as text, moved in by `depth` levels.
---@param list table<string, tpu_branch> by the names of the einsums
---@param names string
---@param depth integer
---@return string
return function(list, names, depth)
  local branches = {}
  for name in names:gmatch "%w+" do
    local e = { name = name, on = "MAC" }
    for key, value in pairs(list[name]) do e[key] = value end
    branches[#branches + 1] = template(text, e, depth)
  end
  return table.concat(branches)
end
