-- SPDX-License-Identifier: MIT
-- Remarks on a result: where its numbers mean something else than one may expect.

local core = require "einloom.core"
local errors = require "einloom.errors"
local handover = require "einloom.show.handover"
local layout = require "einloom.show.layout"
local loops = require "einloom.show.loops"
local points = require "einloom.points"
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

-- ---- shared loops ----------------------------------------------------------------------------

-- The loops of an einsum's path with the nodes of the mapping that they are: {node =, written =}.
local function loops_of(path, mapping, name)
  local list, written = {}, points.loops(mapping.nodes, name)
  for _, node in ipairs(path) do
    if node.variable then list[#list + 1] = { node = node, written = written[#list + 1] } end
  end
  return list
end

local function holder_below(path, loop, tensor)
  local below = false
  for _, node in ipairs(path) do
    if node == loop then below = true end
    if node.tensor == tensor and node.kind ~= "reservation" then return below and node or nil end
  end
end

local function overlap_of(written, name)
  for _, own in ipairs(written and written.tiles or {}) do
    if own.einsum == name then return own.overlap end
  end
end

-- What tiles of a shared loop keep must not be dropped by the holder that is to keep it.
local function dropped_overlap(list, einsum, path, mapping)
  for _, loop in ipairs(loops_of(path, mapping, einsum.name)) do
    for _, tensor in ipairs(overlap_of(loop.written, einsum.name) == "keep" and einsum:tensors()
      or {}) do
      local holder = einsum:is_output(tensor) and holder_below(path, loop.node, tensor)
      if holder and holder.lifetime == "scope" then
        list[#list + 1] = ("%s: what two tiles of %s share is to be kept, but %s drops its "
          .. "contents between them: write %s: %s (retain), or hold it above the loop"):format(
          loops.loop(loop.node), tensor, holder.component, holder.component, tensor)
      end
    end
  end
end

-- A shared loop that runs a different number of times for another einsum.
local function uneven_sharing(list, einsum, path, mapping)
  local others = result.paths_beside(einsum)
  for _, loop in ipairs(loops_of(path, mapping, einsum.name)) do
    local v = loop.written and loop.written.rank_variable
    for _, name in ipairs(type(v) == "table" and errors.keys(v) or {}) do
      for _, other in ipairs(name < einsum.name and others[name]
        and loops_of(others[name], mapping, name) or {}) do
        local same = other.written and other.written.where == loop.written.where
        if same and other.node.trips and loop.node.trips
          and other.node.trips:eq(loop.node.trips) == false then
          list[#list + 1] = ("%s: the shared loop runs %s times here and %s times for %s"):format(
            loops.loop(loop.node), loop.node.trips, other.node.trips, name)
        end
      end
    end
  end
end

-- Numeric tiles that are larger than what they cut, which is then one piece.
local function larger_tiles(list, path, workload)
  local extents = {}
  for _, node in ipairs(path) do
    local v = node.variable
    local extent = v and (extents[v] or core.number(workload.rank_variables[v]))
    if v and extent:is_number() and node.tile:is_number() and extent:lt(node.tile) == true then
      list[#list + 1] = ("%s: tile %s is larger than the extent %s: one piece"):format(
        loops.loop(node), node.tile, extent)
      extents[v] = extent
    elseif v then
      extents[v] = node.tile
    end
  end
end

-- What is said of the model exact alone.
local function of_exact(list, einsum)
  local workload, _, mapping = result.context_of(einsum)
  local path = einsum:path()
  larger_tiles(list, path, workload)
  dropped_overlap(list, einsum, path, mapping)
  uneven_sharing(list, einsum, path, mapping)
end

--- The remarks on one einsum of a result, as it stands at its point.
---@param einsum einloom.EinsumResult
---@return string[]
function notes.einsum(einsum)
  local list = {}
  local model = result.conventions_of(einsum).model
  if model == "reference" then of_reference(list, einsum) else of_exact(list, einsum) end
  for _, remark in ipairs(handover.remarks(einsum)) do list[#list + 1] = remark end
  not_lifted(list, einsum)
  return list
end

return notes
