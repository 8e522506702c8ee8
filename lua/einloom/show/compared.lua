-- SPDX-License-Identifier: MIT
-- Comparisons of two models as text: the fields that differ, buffet by buffet, and why.

local conventions = require "einloom.conventions"
local layout = require "einloom.show.layout"

local compared = {}

local function title(about)
  if about.level then return ("%s in %s"):format(about.tensor, about.level) end
  return about.einsum and "operations" or "in all"
end

local function rows_of(comparison, about)
  local rows = {}
  for _, d in ipairs(comparison.differences) do
    if d.einsum == about.einsum and d.level == about.level and d.tensor == about.tensor then
      rows[#rows + 1] = d
    end
  end
  return rows
end

local function put(out, margin, text)
  for i, part in ipairs(layout.wrap(text, layout.width - #margin)) do
    out[#out + 1] = (i == 1 and margin or (" "):rep(#margin)) .. part
  end
end

local function block(out, comparison, about, why)
  out[#out + 1] = title(about)
  for _, d in ipairs(rows_of(comparison, about)) do
    put(out, ("  %-44s "):format(d.field), ("reference %s, exact %s"):format(
      layout.value(d.reference), layout.value(d.exact)))
  end
  for _, reason in ipairs(why) do put(out, "  why: ", reason) end
end

--- The text of a comparison.
---@param comparison einloom.Comparison
---@return string
function compared.text(comparison)
  local out = {}
  local said = conventions.text(comparison.exact.conventions)
  if said ~= "model exact" then out[1] = said end
  if comparison.refused then
    put(out, "", "the reference does not count this mapping: "
      .. comparison.refused:match "^[^\n]*")
    return table.concat(out, "\n")
  end
  local several, last = #comparison.exact.einsums > 1, nil
  for _, about in ipairs(comparison.why) do
    if several and about.einsum ~= last then
      out[#out + 1] = ("-- einsum %s"):format(about.einsum)
      last = about.einsum
    end
    block(out, comparison, about, about.reasons)
  end
  if #rows_of(comparison, {}) > 0 then block(out, comparison, {}, {}) end
  out[#out + 1] = ("%d fields agree, %d differ"):format(comparison.agreeing,
    #comparison.differences)
  return table.concat(out, "\n")
end

return compared
