/* SPDX-License-Identifier: MIT */
/* Tilings compared by the memory sectors that their blocks touch. */
#ifndef EINLOOM_BEST_H
#define EINLOOM_BEST_H

#include "simd/select.h"
#include "simd/touch.h"

/* Fills in the blocks of at most `points` points that touch the fewest sectors of the accesses, and how
** many; if there are not fewer than `limit`, or sectors are not counted, out->sectors is -1 (*counted:
** whether they were).  False with an error. */
bool loom_blocks_best(loom_touches *t, int64_t points, int64_t limit, loom_blocked *out,
                      bool *counted);
/* The ranges of the tiling in numbers, its blocks as they are.  False: some have none. */
bool loom_grid_of(loom_touches *t, const loom_blocked *tiling, loom_grid *out);

/* Tilings at the places where the accesses of the kernel, or its loops, begin anew. */
bool loom_cut_tilings(loom_touches *t, size_t max_tiles, bool reductions, loom_tiling_list *out);

#endif
