/* SPDX-License-Identifier: MIT */
/* Sectors of sets of elements that are all sums of multiples of some steps. */
#ifndef EINLOOM_BOXES_H
#define EINLOOM_BOXES_H

#include "simd/form.h"

enum { LOOM_SECTOR_BYTES = 32, LOOM_MOST_STEPS = 2 * LOOM_MOST_DIGITS };

typedef struct loom_step_list {
  size_t n;
  loom_step at[LOOM_MOST_STEPS];
} loom_step_list;

/* Numbers of sets by where in a sector of `width` elements they begin. */
typedef struct loom_residues {
  int64_t at[LOOM_SECTOR_BYTES];
} loom_residues;

/* A level of a set of elements that are met in ascending order: its step is more than all that is inside
** it spans.  marked: by the caller, and not joined with another. */
typedef struct loom_level {
  loom_step step;
  bool marked;
} loom_level;
typedef struct loom_levels {
  size_t n;
  int64_t shift; /* of the least element from the one with all values 0 */
  loom_level at[LOOM_MOST_STEPS];
} loom_levels;

static inline void loom_step_push(loom_step_list *list, int64_t size, int64_t step) {
  if (size > 1) list->at[list->n++] = (loom_step){size, step};
}

/* The levels of the steps in the list and n more, of which the marked-th is marked (n: none).  False: they
** overlap otherwise than evenly. */
bool loom_levels_of(const loom_step_list *list, const loom_step *more, size_t n, size_t marked,
                    loom_levels *out);
/* Whether elements that differ in the marked level, or in one outside it, are never in one sector. */
bool loom_levels_apart(const loom_levels *l, int64_t width);
/* The sectors of the sets of which r says where their least elements are. */
int64_t loom_levels_count(const loom_levels *l, loom_residues r, int64_t width);

/* Each set s.size times, s.step further on each time. */
loom_residues loom_residues_spread(const loom_residues *r, int64_t width, loom_step s);
loom_residues loom_residues_shift(const loom_residues *r, int64_t width, int64_t shift);

#endif
