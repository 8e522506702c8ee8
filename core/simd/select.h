/* SPDX-License-Identifier: MIT */
/* Choosing a tiling: what its parts share. */
#ifndef EINLOOM_SELECT_H
#define EINLOOM_SELECT_H

#include "simd/graph.h"

typedef LOOM_VEC(loom_tiling) loom_tiling_list;

/* Whether the steps name operations and have extents; else an error. */
bool loom_steps_check(loom_graph *g, const loom_kernel_steps *steps);
/* As loom_tiling_blocks, into an empty list.  False with an error. */
bool loom_tiling_list_blocks(loom_graph *g, const loom_kernel_steps *steps, size_t max_tiles,
                             loom_tiling_list *out);

#endif
