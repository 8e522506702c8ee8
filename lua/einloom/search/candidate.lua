-- SPDX-License-Identifier: MIT
-- Candidates: a template and its tiles for each einsum. What mapping they are, and what it costs.

local goals = require "einloom.search.goals"
local loom = require "einloom"
local tree = require "einloom.search.tree"

local candidate = {}

---@class einloom.Candidate
---@field choices einloom.Choice[] one for each einsum

---@class einloom.Choice
---@field template integer the number of the template among those of the einsum
---@field tiles integer[] of its loops, outermost first
---@field fused? string[] variables of the fused loops with several trips, in the order that fits
--- the other einsums; that of the template without it

-- Variables of the fused loops with several trips, as they stand in the template.
local function fused_variables(step, template, tiles)
  local extent, names, i = {}, {}, 0
  for v, size in pairs(step.sizes) do extent[v] = size end
  for _, node in ipairs(template.nodes) do
    if not node.tensor then
      i = i + 1
      if node.fused and tiles[i] < extent[node.variable] then names[#names + 1] = node.variable end
      extent[node.variable] = tiles[i]
    end
  end
  return names
end

--- The mapping of a candidate.
---@param space einloom.Space
---@param c einloom.Candidate
---@return einloom.Mapping
function candidate.mapping(space, c)
  local paths = {}
  for i, step in ipairs(space.steps) do
    local choice = c.choices[i]
    local template = space:list(i)[choice.template]
    local names = choice.fused or fused_variables(step, template, choice.tiles)
    paths[i] = tree.path(step, template, choice.tiles, names)
  end
  return tree.mapping(paths)
end

local function number(x) return type(x) == "number" and x or x:tonumber() end

--- Figures of a candidate: energy, latency, their product, and what it uses of each memory with a
--- limit; or nil and the kind of what is wrong with it.
---@param space einloom.Space
---@param c einloom.Candidate
---@return table? figures
---@return string? rule
function candidate.evaluate(space, c)
  local case = space.case
  local result, _, kind = loom.analyze(case.workload, case.arch, candidate.mapping(space, c),
    { model = case.options.model })
  if not result then return nil, kind end
  local energy, _, problem = result:energy()
  if not energy then return nil, problem end
  local usage = {}
  for name, x in pairs(result:usage()) do usage[name] = number(x) end
  return goals.complete {
    energy = number(energy), latency = number(result:latency()), usage = usage,
  }
end

return candidate
