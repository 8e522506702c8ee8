-- SPDX-License-Identifier: MIT
-- A chain of matrix products on the TPUv4i-like machine, one after the other.
--
-- unfused  what is between two products goes through the HBM
-- fused    what is between two products stays in the vector memory
--
-- What is read from the HBM, but for the weights, stays in the common memory during its product.
local loom = require "einloom"

local here = debug.getinfo(1, "S").source:match "^@(.*[/\\])" or ""
local branches = dofile(here .. "tpu_branches.lua")

-- The tensors T0, T1, ... of the chain but the first and the last `left_out`.
local function between(n, left_out)
  local names = {}
  for i = left_out, n - left_out do names[#names + 1] = "T" .. i end
  return table.concat(names, " ")
end

--- The mapping of a chain (workload/matmul_chain.lua) whose widths are multiples of 512.
---@param chain einloom.workload
---@param way "unfused"|"fused"
return function(chain, way)
  local n, fused = #chain.einsums, way == "fused"
  local list, products, weights = {}, {}, {}
  for i = 1, n do
    local rows, columns = "n" .. i - 1, "n" .. i
    local input, output = "T" .. i - 1, "T" .. i
    products[i], weights[i] = "Mul" .. i, "W" .. i
    local read, written = not fused or i == 1, not fused or i == n
    list[products[i]] = {
      common = read and input, outer = columns .. " tile 512", held = written and output,
      reduce = rows .. " tile 128", input = read and input, weight = weights[i],
      unit = columns .. " tile 128", row = rows, column = columns, rest = "m",
    }
  end
  return loom.mapping(("HBM: %s %s\n%ssequential\n"):format(table.concat(weights, " "),
      fused and "T0 T" .. n or between(n, 0), fused and ("VMEM: %s\n"):format(between(n, 1)) or "")
    .. branches(list, table.concat(products, " "), 1))
end
