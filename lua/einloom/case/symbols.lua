-- SPDX-License-Identifier: MIT
-- The symbols that stand in a case.

local core = require "einloom.core"

local symbols = {}

--- Adds the symbols of a value and of what it holds, by name.
---@param found table<string, userdata>
---@return table<string, userdata>
function symbols.collect(value, found)
  if core.is_expr(value) then
    for _, symbol in ipairs(value:symbols()) do found[symbol:name()] = symbol end
  elseif type(value) == "table" then
    for _, entry in pairs(value) do symbols.collect(entry, found) end
  end
  return found
end

--- The symbols of a workload, an architecture and a mapping, by name.
---@return table<string, userdata>
function symbols.of(workload, arch, mapping)
  local found = {}
  for _, value in ipairs { workload.rank_variables, workload.einsums, arch.nodes, mapping.nodes } do
    symbols.collect(value, found)
  end
  symbols.collect({ workload.n_instances, workload.rank_sizes }, found)
  return found
end

return symbols
