-- SPDX-License-Identifier: MIT
-- Remarks on a result: where its numbers mean something else than one may expect.

local handover = require "einloom.show.handover"
local layout = require "einloom.show.layout"
local loops = require "einloom.show.loops"
local result = require "einloom.result"

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

-- What the model reference counts otherwise than the loops do.
local function of_reference(list, einsum)
  for _, node in ipairs(einsum:path()) do
    if node.variable then list[#list + 1] = does_not_divide(node) end
  end
  for _, access in ipairs(einsum:definition().tensors) do
    for i = 1, #access.projection do list[#list + 1] = constant_in_index(access, i) end
  end
end

local function net_reads(b) return b.reads_to_parent - b.skipped_first_reads_to_parent end
local function writes(b) return b.writes_to_parent end

-- What a buffet would not move, as text; nil for nothing.
local function saved(before, after, moved, direction)
  local difference = moved(before) - moved(after)
  if difference:eq(0) == true then return nil end
  return ("%s of %s values %s"):format(layout.value(difference), layout.value(moved(before)),
    direction)
end

local function loops_text(variables)
  return ("%s %s"):format(#variables > 1 and "the loops over" or "the loop over",
    table.concat(variables, ", "))
end

local function lift_text(move, savings)
  return ("%s of %s stands below %s, which %s does not depend on: lifted, %s would not move "
    .. "(einloom eval --lift, loom.lift)"):format(move.tensor, move.component,
    loops_text(move.over), move.tensor, savings)
end

-- A storage node that stands below loops that do not index its tensor fetches in vain.
local function not_lifted(list, einsum)
  local lifted, moves = result.lifted(einsum)
  for _, move in ipairs(moves or {}) do
    local here
    for _, b in ipairs(einsum.buffets) do
      if b.level == move.component and b.tensor == move.tensor then here = b end
    end
    if here then
      local there = lifted.levels[move.component][move.tensor]
      local parts = { saved(here, there, net_reads, "in") }
      parts[#parts + 1] = saved(here, there, writes, "out")
      if #parts > 0 then
        list[#list + 1] = lift_text(move, table.concat(parts, " and "))
      end
    end
  end
end

--- The remarks on one einsum of a result, as it stands at its point.
---@param einsum einloom.EinsumResult
---@return string[]
function notes.einsum(einsum)
  local list = {}
  if result.conventions_of(einsum).model == "reference" then of_reference(list, einsum) end
  for _, remark in ipairs(handover.remarks(einsum)) do list[#list + 1] = remark end
  not_lifted(list, einsum)
  return list
end

return notes
