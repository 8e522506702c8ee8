/* SPDX-License-Identifier: MIT */
/* Facts of nodes from the facts of their children: every kind but sums and products.
** Invariant: a fact holds at every point the assumptions allow at which the node has a value. */
#include "expr/facts.h"
#include "expr/function.h"

static const loom_facts nothing = {.lo = LOOM_MINUS_INF,
                                   .hi = LOOM_PLUS_INF,
                                   .modulus = 1,
                                   .integer = LOOM_UNKNOWN,
                                   .sign = LOOM_ANY_SIGN};

loom_facts loom_facts_nothing(void) {
  return nothing;
}

static loom_facts facts_of_num(const loom_ctx *ctx, loom_num a) {
  int sign = loom_num_sign(ctx, a);
  loom_facts f = {.lo = loom_end_lo(loom_num_lower(ctx, a)),
                  .hi = loom_end_hi(loom_num_upper(ctx, a)),
                  .modulus = 1,
                  .integer = loom_num_is_int(ctx, a) ? LOOM_YES : LOOM_NO,
                  .sign = sign > 0   ? LOOM_POS
                          : sign < 0 ? LOOM_NEG
                                     : LOOM_ZERO};
  if (f.integer != LOOM_YES) return f;
  if (loom_num_is_big(a)) {
    f.modulus = (int64_t)1 << 31;
    f.remainder = loom_num_residue(ctx, a, f.modulus);
  } else {
    f.modulus = 0;
    f.remainder = a.num;
  }
  return f;
}

loom_facts loom_facts_of(const loom_ctx *ctx, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (cell->kind == LOOM_NUM) return facts_of_num(ctx, cell->v.num);
  loom_facts f = {.lo = cell->v.range.lo,
                  .hi = cell->v.range.hi,
                  .modulus = cell->modulus,
                  .remainder = cell->remainder,
                  .integer = cell->known >> 3,
                  .sign = cell->known & LOOM_ANY_SIGN};
  if (f.integer == LOOM_YES && f.lo == f.hi) {
    f.modulus = 0;
    f.remainder = f.lo;
  }
  return f;
}

static loom_facts join(loom_facts a, loom_facts b) {
  loom_residue_class r = loom_residue_join((loom_residue_class){a.modulus, a.remainder},
                                           (loom_residue_class){b.modulus, b.remainder});
  return (loom_facts){.lo = a.lo < b.lo ? a.lo : b.lo,
                      .hi = a.hi > b.hi ? a.hi : b.hi,
                      .modulus = r.modulus,
                      .remainder = r.remainder,
                      .integer = a.integer == b.integer ? a.integer : LOOM_UNKNOWN,
                      .sign = a.sign | b.sign};
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* |value| <= |number| where value divides number and number is not 0. */
static void bound_by_multiple(loom_facts *f, loom_facts number) {
  if (number.integer != LOOM_YES || (number.sign & LOOM_ZERO)) return;
  f->sign &= (uint8_t)~LOOM_ZERO;
  if (number.lo == LOOM_MINUS_INF || number.hi == LOOM_PLUS_INF) return;
  int64_t most = -number.lo > number.hi ? -number.lo : number.hi;
  if (f->hi > most) f->hi = most;
  if (f->lo < -most) f->lo = -most;
}

static loom_facts facts_of_symbol(const loom_ctx *ctx, const loom_assume *a) {
  loom_facts f = nothing;
  if (a->has_min) f.lo = loom_end_lo(a->min);
  if (a->has_max) f.hi = loom_end_hi(a->max);
  f.integer = a->integer ? LOOM_YES : LOOM_UNKNOWN;
  if (a->integer && a->multiple > 1) f.modulus = a->multiple;
  if (a->integer && a->divides != LOOM_NONE) bound_by_multiple(&f, loom_facts_of(ctx, a->divides));
  return f;
}

/* ---- rounding ------------------------------------------------------------------------------- */

static loom_facts facts_of_floor(loom_facts a) {
  loom_facts f = nothing;
  f.integer = LOOM_YES;
  f.lo = a.lo;
  f.hi = a.hi;
  if (a.sign == LOOM_NEG && f.hi > -1) f.hi = -1;
  if (a.integer == LOOM_NO && a.hi != LOOM_PLUS_INF && f.hi == a.hi) f.hi--;
  return f;
}

static loom_facts facts_of_ceil(loom_facts a) {
  loom_facts f = nothing;
  f.integer = LOOM_YES;
  f.lo = a.lo;
  f.hi = a.hi;
  if (a.sign == LOOM_POS && f.lo < 1) f.lo = 1;
  if (a.integer == LOOM_NO && a.lo != LOOM_MINUS_INF && f.lo == a.lo) f.lo++;
  return f;
}

loom_facts loom_facts_floor_div(loom_facts a, loom_facts b) {
  loom_facts f = nothing;
  f.integer = LOOM_YES;
  loom_range r = loom_range_floor_div((loom_range){a.lo, a.hi}, (loom_range){b.lo, b.hi}, b.sign);
  f.lo = r.lo;
  f.hi = r.hi;
  uint8_t sign = loom_sign_mul(a.sign, b.sign & (uint8_t)~LOOM_ZERO);
  if (sign == LOOM_NEG && f.hi > -1) f.hi = -1;
  if (!(sign & LOOM_NEG) && f.lo < 0) f.lo = 0;
  if (b.modulus == 0 && b.remainder > 0 && a.integer == LOOM_YES && a.modulus > 0 &&
      a.modulus % b.remainder == 0) {
    f.modulus = a.modulus / b.remainder;
    f.remainder = a.remainder / b.remainder;
  }
  return f;
}

loom_facts loom_facts_mod(loom_facts a, loom_facts b) {
  loom_facts f = nothing;
  bool integer = a.integer == LOOM_YES && b.integer == LOOM_YES;
  if (integer) {
    f.integer = LOOM_YES;
    f.modulus = loom_gcd64(a.modulus, loom_gcd64(b.modulus, b.remainder));
    f.remainder = f.modulus ? loom_mod64(a.remainder, f.modulus) : a.remainder;
  }
  if (!(b.sign & LOOM_NEG)) {
    f.lo = 0;
    f.hi = b.hi == LOOM_PLUS_INF ? b.hi : b.hi - integer;
    if (!(a.sign & LOOM_NEG) && a.hi < f.hi) f.hi = a.hi;
  } else if (!(b.sign & LOOM_POS)) {
    f.hi = 0;
    f.lo = b.lo == LOOM_MINUS_INF ? b.lo : b.lo + integer;
    if (!(a.sign & LOOM_POS) && a.lo > f.lo) f.lo = a.lo;
  } else {
    f.lo = b.lo;
    f.hi = b.hi;
  }
  return f;
}

/* ---- min, max, comparisons ------------------------------------------------------------------- */

static loom_facts smaller(loom_facts a, loom_facts b, bool largest) {
  loom_facts f = join(a, b);
  if (largest) {
    f.lo = a.lo > b.lo ? a.lo : b.lo;
    f.sign = loom_sign_neg(loom_sign_min(loom_sign_neg(a.sign), loom_sign_neg(b.sign)));
  } else {
    f.hi = a.hi < b.hi ? a.hi : b.hi;
    f.sign = loom_sign_min(a.sign, b.sign);
  }
  return f;
}

static loom_facts facts_of_extreme(const loom_ctx *ctx, const loom_draft *d) {
  loom_facts f = loom_facts_of(ctx, d->args[0]);
  for (uint32_t i = 1; i < d->count; i++)
    f = smaller(f, loom_facts_of(ctx, d->args[i]), d->kind == LOOM_MAX);
  return f;
}

static loom_facts facts_of_truth(void) {
  loom_facts f = nothing;
  f.integer = LOOM_YES;
  f.lo = 0;
  f.hi = 1;
  return f;
}

static loom_facts facts_of_opaque(loom_facts a) {
  a.modulus = 1;
  a.remainder = 0;
  return a;
}

/* ---- drafts --------------------------------------------------------------------------------- */

static loom_facts facts_of_args(const loom_ctx *ctx, const loom_draft *d) {
  loom_facts a = loom_facts_of(ctx, d->args[0]);
  loom_facts b = d->count > 1 ? loom_facts_of(ctx, d->args[1]) : nothing;
  switch (d->kind) {
  case LOOM_FLOOR: return facts_of_floor(a);
  case LOOM_CEIL: return facts_of_ceil(a);
  case LOOM_FLOORDIV: return loom_facts_floor_div(a, b);
  case LOOM_MOD: return loom_facts_mod(a, b);
  case LOOM_MODIDX:
    return loom_facts_mod(loom_facts_settle(loom_facts_floor_div(a, b)),
                          loom_facts_of(ctx, d->args[2]));
  case LOOM_SELECT: return join(b, loom_facts_of(ctx, d->args[2]));
  case LOOM_OPAQUE: return facts_of_opaque(a);
  default: return facts_of_truth();
  }
}

loom_facts loom_facts_draft(loom_ctx *ctx, const loom_draft *d) {
  switch (d->kind) {
  case LOOM_NUM: return facts_of_num(ctx, d->num);
  case LOOM_SYM: return loom_facts_settle(facts_of_symbol(ctx, &d->symbol->assume));
  case LOOM_POW:
  case LOOM_MUL: return loom_facts_product(ctx, LOOM_NUM_ONE, d->count, d->powers);
  case LOOM_ADD: return loom_facts_packed_sum(ctx, d);
  case LOOM_MIN:
  case LOOM_MAX: return loom_facts_settle(facts_of_extreme(ctx, d));
  case LOOM_CALL: return loom_facts_settle(loom_function_facts(ctx, d->function, d->args));
  default: return loom_facts_settle(facts_of_args(ctx, d));
  }
}
