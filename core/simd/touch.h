/* SPDX-License-Identifier: MIT */
/* The memory accesses of a kernel, ready for counting the sectors they touch. */
#ifndef EINLOOM_TOUCH_H
#define EINLOOM_TOUCH_H

#include "simd/graph.h"
#include "simd/points.h"

/* An access to memory: the first in the kernel with that buffer and these addresses. */
typedef struct loom_touch {
  int op, buffer;
  bool store;
  loom_expr index; /* over the loops of the operation, as given */
  int64_t width;   /* elements of a sector */
  bool has_form;
  bool tried, has_points; /* without a form: points are looked at when they are needed */
  loom_form form;         /* over the points of the kernel */
  loom_points points;
  loom_expr numeric; /* the index with all but the loops in numbers */
  size_t n_loops;
  const loom_expr *variables;
  const int64_t *sizes;
  int64_t least; /* no blocks touch fewer sectors */
} loom_touch;

typedef struct loom_touches {
  loom_graph *g;
  const loom_kernel_steps *steps;
  loom_arena arena;
  int64_t extent, reduction_extent; /* at the hints */
  LOOM_VEC(loom_touch) list;
  int64_t budget; /* points that may still be looked at */
} loom_touches;

/* Collects the accesses of the kernel to what is not internal to it.  *known false: a size has no hint,
** or an operation does not have the points of the kernel, or all of them are too many.  False with an
** error; free must be called then too. */
bool loom_touches_begin(loom_touches *t, loom_graph *g, const loom_kernel_steps *steps,
                        bool *known);
void loom_touches_free(loom_touches *t);
/* The sectors that the access touches in blocks of the grid; -1: not counted. */
int64_t loom_touch_sectors(loom_touches *t, loom_touch *touch, const loom_grid *grid);
/* The same for a form that has been placed on the ranges of the grid, NULL: it has none. */
int64_t loom_touch_placed(loom_touches *t, loom_touch *touch, const loom_placed *placed,
                          const loom_grid *grid);

#endif
