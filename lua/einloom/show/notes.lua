-- SPDX-License-Identifier: MIT
-- Remarks on a result: where its numbers mean something else than one may expect.

local handover = require "einloom.show.handover"
local loops = require "einloom.show.loops"

local notes = {}

local function does_not_divide(node)
  local trips = node.trips
  if not trips or not trips:is_number() or trips:is_integer() then return nil end
  local extent = (trips * node.tile):expand()
  return ("%s: the tile does not divide the extent %s of %s around it (%s trips): counts are of "
    .. "average tiles, but a mapping without symbols rounds visits up, see formulas.md"):format(
    loops.loop(node), extent, node.variable, trips)
end

local function constant_in_index(access, i)
  local form, pair = access.affine[i], access.projection[i]
  if form.constant <= 0 then return nil end
  return ("index %s of rank %s of %s: the constant %d is counted as width of the tile"):format(
    pair[2], pair[1], access.tensor, form.constant)
end

--- The remarks on one einsum of a result, as it stands at its point.
---@param einsum einloom.EinsumResult
---@return string[]
function notes.einsum(einsum)
  local list = {}
  for _, node in ipairs(einsum:path()) do
    if node.variable then list[#list + 1] = does_not_divide(node) end
  end
  for _, access in ipairs(einsum:definition().tensors) do
    for i = 1, #access.projection do list[#list + 1] = constant_in_index(access, i) end
  end
  for _, remark in ipairs(handover.remarks(einsum)) do list[#list + 1] = remark end
  return list
end

return notes
