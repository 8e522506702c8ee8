-- SPDX-License-Identifier: MIT
-- Why two kernels that use a tensor in common stay apart, as sentences: one for each reason that
-- the core gives, with the names of the kernels and of what they share.

local core = require "einloom.core"

local reasons = {}

--- Sentences by reason. %first and %second are the kernels, %tensors what both use, %extents1 and
--- %extents2 their loops.
reasons.sentences = {
  first_opaque = "%first is a call, or launches nothing: nothing joins it",
  second_opaque = "%second is a call, or launches nothing: it joins nothing",
  wrong_order = "%first needs what %second makes, so it cannot run before it",
  unfit_for_template = "a template takes in pointwise operations alone: behind it those that run"
    .. " over its result, before it those that nothing else uses",
  no_shared_data = "both use %tensors, but have no access in common: the same index over the same"
    .. " loops, in the same order; nothing is known that one kernel would save",
  too_many_nodes = "together they are more operations than one kernel may have",
  many_reads = "together they use more tensors than one kernel may",
  peak_memory = "both end the use of tensors whose storage could be used again; in one kernel these"
    .. " would all be live at once, at more than 32 times the bytes that are shared",
  access_mismatch = "%second reads elements of %made that %first has not yet made at that"
    .. " point of the loops",
  node_between = "another operation must run behind %first and before %second",
  little_shared_data = "neither needs the other, and less than 10 bytes are common to both",
  too_far = "neither needs the other, and more than 64 operations are between them",
  list_lengths_differ = "both are lists of operations that are launched at once, of different"
    .. " lengths",
  list_members_mixed = "in a list that is launched at once, a member may need only the one that it"
    .. " is fused with, and a single operation goes with one member alone",
  cycle = "another kernel must run behind one of them and before the other",
  split_scan = "a scan that runs in several passes is in no kernel with a reduction",
  reduction_extents_differ = "both reduce, over different loops: %extents1 and %extents2",
  extents_differ = "both are pointwise, over loops of different extents: %extents1 and %extents2",
  tiling_differs = "their accesses ask for different tilings of the same loops",
  loops_do_not_split = "the loops of a pointwise operation do not split into those over the result"
    .. " and those over the reduction of the other kernel: %extents1 and %extents2",
  tiling_unfit_for_reduction = "the accesses of the pointwise kernel ask for a tiling that is not"
    .. " that of the reduction: %extents1 and %extents2",
  outer_extent_differs = "the pointwise kernel runs neither over the result of the reduction nor"
    .. " over all that is reduced: %extents1 and %extents2",
  error = "the question could not be decided",
}

local one = core.int(1)

--- The extents of a kernel as text.
---@param facts einloom.KernelFacts
---@return string
function reasons.extents(facts)
  if not facts.extents then return "none" end
  local n, r = facts.extents[1], facts.extents[2]
  return r:eq(one) == true and tostring(n) or ("%s with %s reduced"):format(tostring(n),
    tostring(r))
end

--- The sentence of a reason about two kernels.
---@param reason string
---@param about table<string, string> first, second, tensors, made, extents1, extents2
---@return string
function reasons.sentence(reason, about)
  return (reasons.sentences[reason]:gsub("%%(%a+%d?)", about))
end

return reasons
