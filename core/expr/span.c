/* SPDX-License-Identifier: MIT */
/* Arithmetic on intervals with exact ends.
** Invariant: a function that cannot bound its result returns the whole line. */
#include "expr/span.h"

bool loom_span_has_zero(const loom_ctx *ctx, loom_span s) {
  return (s.below || loom_num_sign(ctx, s.lo) <= 0) && (s.above || loom_num_sign(ctx, s.hi) >= 0);
}

loom_span loom_span_add(loom_ctx *ctx, loom_span a, loom_span b) {
  loom_span r = {LOOM_NUM_ZERO, LOOM_NUM_ZERO, a.below || b.below, a.above || b.above};
  if (!r.below) r.lo = loom_num_add(ctx, a.lo, b.lo);
  if (!r.above) r.hi = loom_num_add(ctx, a.hi, b.hi);
  return r;
}

loom_span loom_span_scale(loom_ctx *ctx, loom_span a, loom_num c) {
  loom_span r = {LOOM_NUM_ZERO, LOOM_NUM_ZERO, a.below, a.above};
  if (!a.below) r.lo = loom_num_mul(ctx, a.lo, c);
  if (!a.above) r.hi = loom_num_mul(ctx, a.hi, c);
  if (loom_num_sign(ctx, c) >= 0) return r;
  return (loom_span){r.hi, r.lo, r.above, r.below};
}

static void widen(loom_ctx *ctx, loom_span *r, loom_num x) {
  if (loom_num_cmp(ctx, x, r->lo) < 0) r->lo = x;
  if (loom_num_cmp(ctx, x, r->hi) > 0) r->hi = x;
}

loom_span loom_span_mul(loom_ctx *ctx, loom_span a, loom_span b) {
  if (loom_span_is_point(a)) return loom_span_scale(ctx, b, a.lo);
  if (loom_span_is_point(b)) return loom_span_scale(ctx, a, b.lo);
  if (a.below || a.above || b.below || b.above) return loom_span_whole();
  loom_span r = loom_span_point(loom_num_mul(ctx, a.lo, b.lo));
  widen(ctx, &r, loom_num_mul(ctx, a.lo, b.hi));
  widen(ctx, &r, loom_num_mul(ctx, a.hi, b.lo));
  widen(ctx, &r, loom_num_mul(ctx, a.hi, b.hi));
  return r;
}

loom_span loom_span_pow(loom_ctx *ctx, loom_span a, int32_t exponent) {
  if (a.below || a.above || (exponent < 0 && loom_span_has_zero(ctx, a))) return loom_span_whole();
  loom_span r = loom_span_point(loom_num_pow(ctx, a.lo, exponent));
  widen(ctx, &r, loom_num_pow(ctx, a.hi, exponent));
  if (exponent % 2 == 0 && loom_span_has_zero(ctx, a)) widen(ctx, &r, LOOM_NUM_ZERO);
  return r;
}

loom_span loom_span_round(loom_ctx *ctx, loom_span a, bool up) {
  loom_num (*round)(loom_ctx *, loom_num) = up ? loom_num_ceil : loom_num_floor;
  if (!a.below) a.lo = round(ctx, a.lo);
  if (!a.above) a.hi = round(ctx, a.hi);
  return a;
}

loom_span loom_span_join(loom_ctx *ctx, loom_span a, loom_span b) {
  loom_span r = {a.lo, a.hi, a.below || b.below, a.above || b.above};
  if (!r.below && loom_num_cmp(ctx, b.lo, a.lo) < 0) r.lo = b.lo;
  if (!r.above && loom_num_cmp(ctx, b.hi, a.hi) > 0) r.hi = b.hi;
  return r;
}

/* max; min is the mirror image. */
loom_span loom_span_max(loom_ctx *ctx, loom_span a, loom_span b) {
  loom_span r = {LOOM_NUM_ZERO, LOOM_NUM_ZERO, a.below && b.below, a.above || b.above};
  if (!r.below) r.lo = a.below ? b.lo : b.below || loom_num_cmp(ctx, a.lo, b.lo) > 0 ? a.lo : b.lo;
  if (!r.above) r.hi = loom_num_cmp(ctx, a.hi, b.hi) > 0 ? a.hi : b.hi;
  return r;
}

/* a - b * q for whole quotients q. */
loom_span loom_span_remainder(loom_ctx *ctx, loom_span a, loom_span b, loom_span q) {
  if (loom_span_is_point(q))
    return loom_span_add(ctx, a, loom_span_scale(ctx, b, loom_num_neg(ctx, q.lo)));
  if (b.below || b.above || loom_num_sign(ctx, b.lo) <= 0) return loom_span_whole();
  return (loom_span){LOOM_NUM_ZERO, b.hi, false, false};
}

loom_span loom_span_quotient(loom_ctx *ctx, loom_span a, loom_span b) {
  return loom_span_round(ctx, loom_span_mul(ctx, a, loom_span_pow(ctx, b, -1)), false);
}
