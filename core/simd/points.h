/* SPDX-License-Identifier: MIT */
/* Memory sectors of an access point by point, where there is no closed form. */
#ifndef EINLOOM_POINTS_H
#define EINLOOM_POINTS_H

#include "model/arena.h"
#include "simd/sectors.h"
#include "simd/values.h"

/* The sector of every point of a nest, by running number of the point; sectors are numbered from 0. */
typedef struct loom_points {
  uint32_t n, n_sectors;
  bool reduces; /* false: the index is the same for each run of points, of which one is kept */
  uint32_t *sector;
  uint32_t *seen; /* by sector: the block in which it was last seen */
  uint32_t block;
} loom_points;

/* The index at all points of the nest; its innermost `run` points are those of the reduction.  False: it
** is not an integer of less than 2^53 everywhere, or an error. */
bool loom_points_of(loom_arena *arena, loom_expr index, const loom_numeric_nest *nest, uint32_t run,
                    int64_t width, loom_points *out);
/* As loom_placed_sectors; the ranges of the grid have n points together.  Time: n. */
int64_t loom_points_sectors(loom_points *p, const loom_grid *grid);

#endif
