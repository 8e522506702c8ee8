-- SPDX-License-Identifier: MIT
-- Why the models differ on a buffet: the rules of the reference that do not hold for its loops, its
-- indices and its place, in words.

local arch_module = require "einloom.arch"
local buffets = require "einloom.result.buffet"
local core = require "einloom.core"
local loops = require "einloom.show.loops"
local points = require "einloom.points"
local result = require "einloom.result"

local reasons = {}

-- Calls visit(node, extent around) for the loops of a path, with the extent that the next outer
-- loop over the variable leaves.
local function each_loop(einsum, visit)
  local extents = {}
  for position, node in ipairs(einsum:path()) do
    if node.variable then
      local extent = extents[node.variable] or einsum:size(node.variable)
      visit(node, extent, position)
      extents[node.variable] = node.tile
    end
  end
end

local function access_of(einsum, tensor)
  for _, access in ipairs(einsum:definition().tensors) do
    if access.tensor == tensor then return access end
  end
end

-- ---- loops ----------------------------------------------------------------------------------

-- Loops whose last tile is smaller, or may be.
local function clipped(einsum, list)
  each_loop(einsum, function(node, extent)
    if node.step then return end
    local divides = node.tile:divides(extent)
    if node.first then
      list[#list + 1] = ("%s: tiles of two sizes are counted each, the last one clipped")
        :format(loops.loop(node))
    elseif extent:lt(node.tile) == true then
      list[#list + 1] =
        ("%s: the tile is clipped to the extent %s"):format(loops.loop(node), extent)
    elseif divides ~= true then
      list[#list + 1] = ("%s: the last tile of the extent %s %s clipped, the reference counts "
        .. "average tiles"):format(loops.loop(node), extent, divides == false and "is" or "may be")
    end
  end)
end

-- ---- indices --------------------------------------------------------------------------------

-- Whether the values of an index over a box leave holes: not known to be an interval.
local function has_holes(form, extents)
  local terms = {}
  for i, term in ipairs(form.terms) do
    terms[i] = { size = math.abs(term[2]), extent = points.exact(extents[term[1]]) }
  end
  table.sort(terms, function(a, b) return a.size < b.size end)
  local span = core.int(1)
  for _, term in ipairs(terms) do
    local single = term.extent:eq(1) == true
    if not single and core.int(term.size):le(span) ~= true then return true end
    if not single then span = span + term.size * (term.extent - 1) end
  end
  return false
end

local function ranks_of(access, variable)
  local names = {}
  for i, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      if term[1] == variable then names[#names + 1] = access.projection[i][1] end
    end
  end
  return names
end

-- Ranks of which the tile is not the box that the reference takes, for each of the tiles given.
local function footprint(access, tiles, list)
  for i, form in ipairs(access.affine) do
    local rank, index = access.projection[i][1], access.projection[i][2]
    if form.constant > 0 then
      list[#list + 1] = ("index %s of rank %s: the constant %d does not widen the tile")
        :format(index, rank, form.constant)
    end
    for _, extents in ipairs(tiles) do
      if has_holes(form, extents) then
        list[#list + 1] = ("index %s of rank %s: only values that are used count, not the holes "
          .. "between them"):format(index, rank)
        break
      end
    end
  end
  local seen = {}
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do
      local ranks = ranks_of(access, term[1])
      if #ranks > 1 and not seen[term[1]] then
        seen[term[1]] = true
        list[#list + 1] = ("%s is in ranks %s of %s: only values that are used count, not their "
          .. "box"):format(term[1], table.concat(ranks, " and "), access.tensor)
      end
    end
  end
end

-- ---- places ---------------------------------------------------------------------------------

-- The extents at a holder in the nest of its tensor, where loops in space are where hardware is.
local function extents_at(einsum, access, place)
  local extents = {}
  for _, form in ipairs(access.affine) do
    for _, term in ipairs(form.terms) do extents[term[1]] = einsum:size(term[1]) end
  end
  for _, node in ipairs(einsum:nest(access.tensor)) do
    if node.component == place.component and not node.variable then break end
    if node.variable and extents[node.variable] then extents[node.variable] = node.tile end
  end
  return extents
end

-- Positions of the holders of a tensor in a path, and of the compute node.
local function places(einsum, tensor)
  local found = {}
  for position, node in ipairs(einsum:path()) do
    local holds = node.tensor == tensor and node.kind ~= "reservation"
    if holds or node.kind == "compute" then
      found[#found + 1] = { position = position, component = node.component, node = node }
    end
  end
  return found
end

local function whole_tile(buffet, reference, list)
  if reference.n_loops_above > buffet.n_loops_above or buffet.persistent then
    list[#list + 1] = "the whole tile at the storage node is reserved; the reference lets the "
      .. "reservation sink below loops"
  end
end

local function shared_over(arch, context, node, tensor)
  for _, dimension in ipairs(arch:component(node.component).spatial) do
    if dimension.name == node.dim then
      return arch_module.reusable(dimension, context, node.component)[tensor] == true
    end
  end
  return false
end

-- Windows of parallel units between a holder and the next share values: one read serves all.
local function shared_windows(einsum, access, outer, inner, list)
  local workload, arch = result.context_of(einsum)
  local context = workload:context(einsum.name)
  each_loop(einsum, function(node, _, position)
    local between = outer and inner and position > outer.position and position < inner.position
    if not between or node.kind ~= "spatial"
      or not shared_over(arch, context, node, access.tensor) then
      return
    end
    for i, form in ipairs(access.affine) do
      local mentions = false
      for _, term in ipairs(form.terms) do mentions = mentions or term[1] == node.variable end
      if mentions and #form.terms > 1 then
        list[#list + 1] = ("%s: what the windows of several units share along %s is %s once")
          :format(loops.loop(node), access.projection[i][1],
            access.output and "summed" or "read")
      end
    end
  end)
end

-- ---- conventions ----------------------------------------------------------------------------

local function convention(einsum, access, place, list)
  local said = result.conventions_of(einsum)
  local around = place
  while around do
    if around.node.lifetime == "retain" then
      list[#list + 1] = ("what %s has of %s is retained between visits: only the difference moves")
        :format(around.component, access.tensor)
    end
    around = (around == place or around.node.kind ~= "storage") and around.child or nil
  end
  local goes_up = access.output or einsum:definition().is_copy
  if goes_up and not said.drain_reads then
    list[#list + 1] = "reads for writing back are not counted"
  end
  if access.output and said.partial_sums == "one_unit" then
    list[#list + 1] = "old partial sums go to one of the units that reduce into a value"
  end
end

-- What a copy reads through a toll.
local function copied(einsum, place, list)
  local through = place and (place.node.kind == "toll" or place.child
    and place.child.node.kind == "toll")
  if through and einsum:definition().is_copy then
    list[#list + 1] = "what is copied past a toll is read above it; the reference lets the toll of "
      .. "a copy ask for nothing"
  end
end

-- Figures of one parent are not summed over the parents that stand in an array.
local function one_parent(einsum, tensor, parent, list)
  for _, node in ipairs(parent and einsum:nest(tensor) or {}) do
    if node.component == parent.component and node.tensor == tensor then return end
    if node.kind == "spatial" then
      list[#list + 1] = ("figures of one %s; the reference multiplies them by the units of %s.%s, "
        .. "which are above it"):format(parent.component, node.component, node.dim)
    end
  end
end

local function any_field(fields, pattern)
  for _, field in ipairs(fields) do
    if field:find(pattern) then return true end
  end
  return false
end

--- The rules by which the exact counts of a buffet differ from those of the reference, in words.
---@param buffet einloom.Buffet counted by the model `exact`
---@param reference einloom.Buffet
---@param fields string[] that differ
---@return string[]
function reasons.of_buffet(buffet, reference, fields)
  local einsum = buffets.einsum_of(buffet)
  local access = access_of(einsum, buffet.tensor)
  local list, here, parent = {}, nil, nil
  local found = places(einsum, buffet.tensor)
  for i, place in ipairs(found) do
    place.child = found[i + 1]
    if place.component == buffet.level then here, parent = place, found[i - 1] end
  end
  if any_field(fields, "occupancy") then whole_tile(buffet, reference, list) end
  if any_field(fields, "per_parent") then one_parent(einsum, buffet.tensor, parent, list) end
  clipped(einsum, list)
  local tiles = {}
  for _, place in ipairs { here or false, here and here.child or false } do
    if place then tiles[#tiles + 1] = extents_at(einsum, access, place) end
  end
  footprint(access, tiles, list)
  shared_windows(einsum, access, parent, here, list)
  shared_windows(einsum, access, here, here and here.child, list)
  convention(einsum, access, here, list)
  copied(einsum, here, list)
  if reasons.partial(access) then
    list[#list + 1] = ("what is a first touch of %s depends on which of its values earlier tiles "
      .. "reached"):format(access.tensor)
  end
  return list
end

--- Whether an output is written through windows, or at indices with a constant.
function reasons.partial(access)
  if not access.output then return false end
  for _, form in ipairs(access.affine) do
    if #form.terms > 1 or form.constant ~= 0 then return true end
  end
  return false
end

--- The same for operations, steps and units of an einsum.
---@param einsum einloom.EinsumResult
---@return string[]
function reasons.of_operations(einsum)
  local list = {}
  clipped(einsum, list)
  return list
end

return reasons
