/* SPDX-License-Identifier: MIT */
/* What the operations of a kernel have in common: loops they can all be written in, and buffers that
** nothing else sees. */
#ifndef EINLOOM_COMMON_H
#define EINLOOM_COMMON_H

#include "simd/select.h"

/* The sizes of a nest: pointwise loops, then reduced ones. */
typedef struct loom_nest_sizes {
  size_t n_pointwise, n_reduction;
  const loom_expr *sizes;
} loom_nest_sizes;

/* The sides of an operation in a kernel of these extents: its own, or (pointwise over all points of a
** reduction) its inner loops that multiply to the reduction extent as the reduced ones.  *split: the
** number of loops on the pointwise side; false: there are no such loops. */
bool loom_common_sides(loom_graph *g, const loom_op *op, const loom_kernel_steps *steps,
                       size_t *split);
/* The common loops of the operations of the kernel, in the arena.  False with an error. */
bool loom_common_loops(loom_graph *g, const loom_kernel_steps *steps, loom_arena *arena,
                       loom_nest_sizes *out);

/* Notes which operations are in the kernel; holds until the stamps of the graph are used again.  False
** with an error. */
bool loom_steps_stamp(loom_graph *g, const loom_kernel_steps *steps);
/* Whether nothing outside the kernel that was noted sees the buffer. */
bool loom_steps_internal(const loom_graph *g, int buffer);
/* Whether the kernel that was noted reads the buffer from memory: not what it writes itself, each
** value where it was written. */
bool loom_steps_load(const loom_graph *g, int buffer);

#endif
