-- SPDX-License-Identifier: MIT
-- Tiles of a producer in a loop that it shares with the einsums that read what it writes: as much
-- as they need of it.  What two of their tiles both need is kept, and a tile makes only what is
-- new, or it is dropped and computed again.

local core = require "einloom.core"
local errors = require "einloom.errors"

local overlap = {}

local function fail(node, message, kind)
  errors.raise(kind or "bad_mapping", message, { path = node.where })
end

local function einsum_of(w, name)
  for _, einsum in ipairs(w.einsums) do
    if einsum.name == name then return einsum end
  end
end

-- The terms of a form by variable, and its constant.
local function terms_of(form)
  local terms = {}
  for _, term in ipairs(form.terms) do terms[term[1]] = term[2] end
  return terms
end

-- The rank of a tensor whose index is the variable alone.
local function plain_rank(access, variable)
  for i, form in ipairs(access.affine) do
    local only = not form.steps and #form.terms == 1 and form.terms[1]
    if only and only[1] == variable and only[2] == 1 then
      return i, form
    end
  end
end

-- What a tile of extent `tile` of a consumer's variable needs of a rank: {extent =, step =}.
local function needed(node, w, about, access, rank, variable, tile, from)
  local form = access.affine[rank]
  local factor = not form.steps and terms_of(form)[variable]
  local what = ("%s of %s in einsum %s"):format(access.projection[rank][1], access.tensor,
    about.consumer)
  if not factor or factor < 1 then
    fail(node, ("%s %s: the index of %s does not walk up with %s"):format(about.producer,
      about.overlap, what, variable))
  end
  local extent, lowest = { core.int(1), factor * (tile - 1) }, form.constant
  for _, term in ipairs(form.terms) do
    if term[1] ~= variable then
      local span = core.sum { w.rank_variables[term[1]] } - 1
      extent[#extent + 1] = math.abs(term[2]) * span
      if term[2] < 0 then lowest = lowest + term[2] * span end
    end
  end
  if core.sum { lowest }:eq(from) ~= true then
    fail(node, ("%s %s: the index of %s begins at %s, what einsum %s makes at %s"):format(
      about.producer, about.overlap, what, tostring(lowest), about.producer, tostring(from)))
  end
  return { extent = core.sum(extent), step = factor * tile }
end

-- Adds what one consumer needs of what the producer writes along the loop.
local function add_needs(needs, node, w, about, producer, consumer)
  local by_einsum = node.rank_variable
  for _, output in ipairs(producer.tensors) do
    for _, access in ipairs(consumer.tensors) do
      if output.output and access.tensor == output.tensor and not access.output then
        local rank, form = plain_rank(output, by_einsum[producer.name])
        if not rank then
          fail(node, ("%s %s: no index of %s in einsum %s is %s alone"):format(about.producer,
            about.overlap, output.tensor, producer.name, by_einsum[producer.name]))
        end
        needs[#needs + 1] = needed(node, w, about, access, rank, by_einsum[consumer.name],
          core.sum { node.tile_shape }, form.constant)
      end
    end
  end
end

local function own_tiles_given(node, einsum)
  for _, own in ipairs(node.tiles) do
    if own.einsum == einsum then return true end
  end
  return node.initial_tile_shape ~= nil or node.step ~= nil
end

--- The tiles of an einsum of a shared loop that says to keep or recompute what overlaps: tile
--- shape, first tile shape, step (doc/formulas.md#exact-fused-windows).
---@param node einloom.Node the loop
---@param own einloom.OwnTiles
---@param w einloom.Workload
---@return einloom.Value tile
---@return einloom.Value? first
---@return einloom.Value? step
function overlap.tiles(node, own, w)
  local needs, producer = {}, einsum_of(w, own.einsum)
  for _, consumer in ipairs(w.einsums) do
    if node.rank_variable[consumer.name] and consumer ~= producer then
      local before = #needs
      local about = { producer = own.einsum, consumer = consumer.name, overlap = own.overlap }
      add_needs(needs, node, w, about, producer, consumer)
      if #needs > before and own_tiles_given(node, consumer.name) then
        fail(node, ("%s %s: einsum %s, which reads it, has tiles of its own; write the tiles of %s")
          :format(own.einsum, own.overlap, consumer.name, own.einsum))
      end
    end
  end
  if #needs == 0 then
    fail(node, ("%s %s: no other einsum of the loop reads what it writes"):format(own.einsum,
      own.overlap))
  end
  local extents, step = {}, needs[1].step
  for i, need in ipairs(needs) do
    extents[i] = need.extent
    if need.step ~= step then
      fail(node, ("%s %s: the einsums that read it advance by %s and by %s"):format(own.einsum,
        own.overlap, tostring(step), tostring(need.step)))
    end
  end
  local extent = core.max(table.unpack(extents))
  if extent:le(step) == true then return step, nil, nil end
  if step:le(extent) ~= true then
    fail(node, ("%s %s: it is not known whether its tiles of %s overlap at steps of %s"):format(
      own.einsum, own.overlap, tostring(extent), tostring(step)))
  end
  if own.overlap == "keep" then return step, extent, nil end
  return extent, nil, step
end

return overlap
