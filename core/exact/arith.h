/* SPDX-License-Identifier: MIT */
/* Arithmetic of extents and counts in few words.
** Invariant: an argument that is LOOM_NONE gives LOOM_NONE; 0 and 1 cost nothing. */
#ifndef EINLOOM_EXACT_ARITH_H
#define EINLOOM_EXACT_ARITH_H

#include "reuse/reuse.h"

static inline loom_expr loom_smaller(loom_analysis *an, loom_expr a, loom_expr b) {
  const loom_expr pair[2] = {a, b};
  return a == b ? a : loom_min(an->ctx, 2, pair);
}

static inline loom_expr loom_larger(loom_analysis *an, loom_expr a, loom_expr b) {
  const loom_expr pair[2] = {a, b};
  return a == b ? a : loom_max(an->ctx, 2, pair);
}

static inline loom_expr loom_positive_part(loom_analysis *an, loom_expr e) {
  return loom_larger(an, an->zero, e);
}

/* 1 of an extent above 0, else 0. */
static inline loom_expr loom_present(loom_analysis *an, loom_expr extent) {
  return loom_smaller(an, an->one, extent);
}

static inline loom_expr loom_times(loom_analysis *an, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE) return LOOM_NONE;
  if (b == an->zero) return b;
  return loom_multiply(an, &a, b) ? a : LOOM_NONE;
}

#endif
