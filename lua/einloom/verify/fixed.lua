-- SPDX-License-Identifier: MIT
-- Cases of schema fixed/1 for `einloom verify`: nests that were counted point by point, with
-- contents that are retained (delta) or dropped after lifting (whole), with and without networks
-- that multicast and reduce.

local compare = require "einloom.verify.compare"
local errors = require "einloom.errors"
local fixed = require "einloom.case.fixed"

local check = { answers_inside = true }

check.keys = {
  id = true, iterate = true, tensors = true, output = true, levels = true, fanout_below = true,
  nest = true, enumeration = true, energy_from_enumeration = true, mac_energy = true,
  bits_per_value = true, accelforge_mapping_lifted = true, timeloop = true, accelforge = true,
}

local counts = compare.map(compare.object {
  read = "number", read_uni = "number", fill = "number", upd = "number", upd_uni = "number",
  drain = "number", tile = "number",
})
local enumeration_shape = compare.object { delta = counts, whole = counts }
local energy_shape = compare.object { with_drain = "number", no_drain = "number" }

local function net_reads(b) return b.reads_to_parent - b.skipped_first_reads_to_parent end

--- Whether a level of a result holds a tensor.
function check.held(r, level, tensor)
  for _, b in ipairs(r.buffets) do
    if b.level == level and b.tensor == tensor then return true end
  end
  return false
end

-- The buffet of a tensor next below a level that holds it.
local function child_of(r, built, tensor, level)
  local below = false
  for _, name in ipairs(built.levels) do
    if below and r.levels[name] and check.held(r, name, tensor) then
      return r.levels[name][tensor]
    end
    if name == level then below = true end
  end
  return r.levels[fixed.compute][tensor]
end

local function outermost_of(r, built, tensor)
  for _, name in ipairs(built.levels) do
    if check.held(r, name, tensor) then return name end
  end
end

-- What one level counts of one tensor; what is not moved through a holder is absent, which is 0.
local function record_of(shared, unshared, built, tensor, level, raw)
  local here, alone = shared.levels[level][tensor], unshared.levels[level][tensor]
  local below, below_alone = child_of(shared, built, tensor, level),
    child_of(unshared, built, tensor, level)
  local output, outermost = tensor == raw.output, level == outermost_of(shared, built, tensor)
  return {
    read = net_reads(below), read_uni = net_reads(below_alone),
    fill = not outermost and net_reads(alone) or nil,
    upd = output and below.writes_to_parent or nil,
    upd_uni = output and below_alone.writes_to_parent or nil,
    drain = not outermost and output and here.drains or nil,
    tile = not outermost and here.occupancy / raw.bits_per_value or nil,
  }
end

--- The counts of a case by holder, as the file has them.
---@param raw table decoded case
---@param built einloom.FixedCase
---@param shared einloom.Result with networks that multicast and reduce
---@param unshared einloom.Result without
---@return table<string, table>
function check.counts(raw, built, shared, unshared)
  local found = {}
  for _, level in ipairs(built.levels) do
    for _, tensor in ipairs(built.tensors) do
      if check.held(shared, level, tensor) then
        found[level .. "." .. tensor] =
          record_of(shared, unshared, built, tensor, level, raw)
      end
    end
  end
  return found
end

--- Analyses a case exactly; raises an error object where it cannot be.
---@param built einloom.FixedCase
---@param arch einloom.Arch
---@param mapping einloom.Mapping
---@param lifetime "scope"|"retain"
---@param drain_reads? boolean
---@return einloom.Result
function check.analyze(built, arch, mapping, lifetime, drain_reads)
  local r, message, kind = require "einloom".analyze(built.workload, arch, mapping,
    { model = "exact", lifetime = lifetime, drain_reads = drain_reads })
  if not r then error(errors.new(kind, message), 0) end
  return r
end

local function energy(r)
  local value, message, kind = r:energy()
  if not value then error(errors.new(kind, message), 0) end
  return value
end

-- What is computed of a case in the shape of the file.
local function results(raw, built)
  local function count(mapping, lifetime)
    return check.counts(raw, built, check.analyze(built, built.shared, mapping, lifetime),
      check.analyze(built, built.unshared, mapping, lifetime))
  end
  local lifted = require "einloom.lift".mapping(built.mapping, built.workload)
  local function energy_with(drain_reads)
    return energy(check.analyze(built, built.shared, built.mapping, "retain", drain_reads))
  end
  return { delta = count(built.mapping, "retain"), whole = count(lifted, "scope") },
    { with_drain = energy_with(true), no_drain = energy_with(false) }
end

--- Runs one case.
---@param run einloom.comparison
---@param raw table decoded case
---@param layer string
function check.check(run, raw, layer)
  for key in pairs(raw) do
    if not check.keys[key] and key ~= "model" then
      run.differ(tostring(key), "no such key", "a value")
    end
  end
  local built = fixed.build(raw)
  local enumeration, energies = results(raw, built)
  if layer == "all" or layer == "reuse" then
    compare.check(run, enumeration_shape, "enumeration", raw.enumeration, enumeration)
  end
  if layer ~= "reuse" then
    compare.check(run, energy_shape, "energy_from_enumeration", raw.energy_from_enumeration,
      energies)
  end
end

return check
