/* SPDX-License-Identifier: MIT */
/* Intervals with exact ends.
** Invariant: the result of an operation holds every value the operation takes on its arguments. */
#ifndef EINLOOM_SPAN_H
#define EINLOOM_SPAN_H

#include "base/num.h"

/* [lo, hi]; an end that is not bounded holds no number of meaning. */
typedef struct loom_span {
  loom_num lo, hi;
  bool below, above; /* unbounded */
} loom_span;

static inline loom_span loom_span_whole(void) {
  return (loom_span){LOOM_NUM_ZERO, LOOM_NUM_ZERO, true, true};
}
static inline loom_span loom_span_point(loom_num x) {
  return (loom_span){x, x, false, false};
}
static inline bool loom_span_is_point(loom_span s) {
  return !s.below && !s.above && loom_num_same(s.lo, s.hi);
}

bool loom_span_has_zero(const loom_ctx *ctx, loom_span s);
loom_span loom_span_add(loom_ctx *ctx, loom_span a, loom_span b);
loom_span loom_span_scale(loom_ctx *ctx, loom_span a, loom_num c);
loom_span loom_span_mul(loom_ctx *ctx, loom_span a, loom_span b);
loom_span loom_span_pow(loom_ctx *ctx, loom_span a, int32_t exponent);
/* floor, or ceil when up. */
loom_span loom_span_round(loom_ctx *ctx, loom_span a, bool up);
/* Both. */
loom_span loom_span_join(loom_ctx *ctx, loom_span a, loom_span b);
loom_span loom_span_max(loom_ctx *ctx, loom_span a, loom_span b);
/* a - b * q for whole q = floor(a / b). */
loom_span loom_span_remainder(loom_ctx *ctx, loom_span a, loom_span b, loom_span q);
/* floor(a / b) */
loom_span loom_span_quotient(loom_ctx *ctx, loom_span a, loom_span b);

#endif
