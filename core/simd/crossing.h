/* SPDX-License-Identifier: MIT */
/* Sectors of blocks that lie across two digits. */
#ifndef EINLOOM_CROSSING_H
#define EINLOOM_CROSSING_H

#include "simd/boxes.h"

/* Blocks of `size` values in a row of the numbers that low and high are the digits of; the last one is
** shorter if they do not come out even. */
typedef struct loom_crossing {
  loom_step low, high;
  int64_t size;
} loom_crossing;

/* Their sectors if each value has all elements of the steps inside it; starts: where the numbers begin.
** False: there is no closed form, or too many different blocks. */
bool loom_crossing_count(const loom_crossing *x, const loom_step_list *inside,
                         const loom_residues *starts, int64_t width, int64_t *total);

#endif
