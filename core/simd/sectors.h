/* SPDX-License-Identifier: MIT */
/* Counting the memory sectors that blocks of a kernel touch. */
#ifndef EINLOOM_SECTORS_H
#define EINLOOM_SECTORS_H

#include "einloom/tiling.h"
#include "simd/boxes.h"

/* The ranges of a kernel in numbers, outermost first, and the points of each that a block has; the last
** block of a range may have fewer. */
typedef struct loom_grid {
  size_t n, n_pointwise;
  int64_t extent[LOOM_N_PREFIXES], block[LOOM_N_PREFIXES];
} loom_grid;

/* A form with its digits on the ranges of a kernel, the innermost digit of each first. */
typedef struct loom_placed {
  size_t n;
  int64_t constant;
  bool reduces; /* the index moves along the reduction ranges */
  struct {
    size_t n;
    loom_step digits[LOOM_MOST_DIGITS];
  } range[LOOM_N_PREFIXES];
} loom_placed;

/* False: a digit lies across two ranges and cannot be cut there. */
bool loom_form_place(const loom_form *form, const loom_grid *grid, loom_placed *out);
/* The sectors of `width` elements (at most LOOM_SECTOR_BYTES) in which an access has elements, added up
** over the blocks; blocks of the reduction ranges count where it moves along them.  -1: there is no
** closed form.  Time: independent of the number of points, but for ranges in which blocks lie across
** digits: with the number of different places they start at. */
int64_t loom_placed_sectors(const loom_placed *placed, const loom_grid *grid, int64_t width);

#endif
