-- SPDX-License-Identifier: MIT
-- Loops of a path as in the mapping text.

local loops = {}

--- A loop as in the mapping text.
---@param node table
---@return string
function loops.loop(node)
  local word = node.kind == "spatial" and "par" or "for"
  local parts = { word, node.variable, "tile", tostring(node.tile) }
  if node.first then parts[#parts + 1] = "first " .. tostring(node.first) end
  if node.step then parts[#parts + 1] = "step " .. tostring(node.step) end
  if node.kind == "spatial" then
    parts[#parts + 1] = ("on %s.%s"):format(node.component, node.dim)
  end
  return table.concat(parts, " ")
end

return loops
