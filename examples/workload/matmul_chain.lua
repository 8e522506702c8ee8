-- SPDX-License-Identifier: MIT
-- A chain of matrix products: T1 = T0 * W1, T2 = T1 * W2, ... with m rows.
local loom = require "einloom"

--- The chain as a workload: widths are the columns of T0, T1, ...; variables m, n0, n1, ...
---@param t { m: integer, widths: integer[], bits: integer? }
return function(t)
  local def = {
    bits = t.bits or 8, sizes = { m = t.m, n0 = t.widths[1] },
    renames = { input = "Inputs - weight", output = "Outputs" },
  }
  local weights = {}
  for i = 1, #t.widths - 1 do
    def.sizes["n" .. i] = t.widths[i + 1]
    def[i] = ("Mul%d: T%d[m,n%d] = T%d[m,n%d] * W%d[n%d,n%d]")
      :format(i, i, i, i - 1, i - 1, i, i - 1, i)
    weights[i] = "W" .. i
  end
  def.renames.weight = table.concat(weights, " | ")
  return loom.workload(def)
end
