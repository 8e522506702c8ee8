-- SPDX-License-Identifier: MIT
-- Cases of schema simd/1 for `einloom verify`: index arithmetic, range trees and plans of loop
-- kernels. The head of a file names the family of its cases; each family is checked by the module
-- of its group in einloom/verify/simd.

local errors = require "einloom.errors"

local simd = { answers_inside = true } -- cases have their answers under keys of their own

local families = {
  a1_construct = "einloom.verify.simd.index",
  a2_simplify_with_ranges = "einloom.verify.simd.index",
  a3_helpers = "einloom.verify.simd.index",
  a4_known = "einloom.verify.simd.facts",
  a5_block = "einloom.verify.simd.facts",
  b_range_trees = "einloom.verify.simd.ranges",
  c_split = "einloom.verify.simd.loops",
  f_accesses = "einloom.verify.simd.loops",
  f_index_width = "einloom.verify.simd.loops",
  f_roots = "einloom.verify.simd.ranges",
  d_coalesce_helpers = "einloom.verify.simd.coalesce",
  d_tiling = "einloom.verify.simd.coalesce",
  d_tiling_basic = "einloom.verify.simd.tilings",
  e_fusion = "einloom.verify.simd.fusion",
  e_schedule = "einloom.verify.simd.fusion",
  g_graphs = "einloom.verify.simd.whole",
  f_kernel_bytes = "einloom.verify.simd.kernels",
  f_combine_independent = "einloom.verify.simd.kernels",
  f_two_pass = "einloom.verify.simd.kernels",
}

--- Checks one case: the module of its family has a function of the family's name.
---@param run einloom.comparison
---@param raw table decoded case
---@param layer string
function simd.check(run, raw, layer)
  local family = run.family
  local module = type(family) == "string" and families[family]
  if not module then
    return run.differ("family", table.concat(errors.keys(families), ", "),
      family == nil and "no family in the head of the file" or tostring(family))
  end
  return require(module)[family](run, raw, layer)
end

return simd
