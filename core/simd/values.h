/* SPDX-License-Identifier: MIT */
/* The values of an index at all points of a nest. */
#ifndef EINLOOM_VALUES_H
#define EINLOOM_VALUES_H

#include "expr/node.h"

/* A nest in numbers, of which every point is there `repeats` times in a row. */
typedef struct loom_numeric_nest {
  size_t n; /* at most 24 */
  const loom_expr *variables;
  const int64_t *sizes;
  uint32_t n_points, repeats;
} loom_numeric_nest;

/* The index at the points in order, the innermost loop fastest.  False: it is not an integer of less than
** 2^53 everywhere, or an error. */
bool loom_nest_values(loom_ctx *ctx, loom_expr index, const loom_numeric_nest *nest, int64_t *out);

#endif
