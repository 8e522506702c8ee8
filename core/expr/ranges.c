/* SPDX-License-Identifier: MIT */
/* Interval arithmetic over an expression, with a range for each symbol.
** Invariant: the result contains every value that symbols within their ranges can give; occurrences
** of a symbol are taken apart, as interval arithmetic does. */
#include "expr/ranges.h"

typedef struct evaluator {
  loom_ctx *ctx;
  loom_walk walk; /* index + 1 into ranges */
  LOOM_VEC(loom_range) ranges;
} evaluator;

static loom_range range_of(const evaluator *v, loom_expr e) {
  return v->ranges.at[loom_walk_get(&v->walk, e) - 1];
}

static loom_range range_of_num(const loom_ctx *ctx, loom_num a) {
  return (loom_range){loom_end_lo(loom_num_lower(ctx, a)), loom_end_hi(loom_num_upper(ctx, a))};
}

static loom_range add(loom_range a, loom_range b) {
  return (loom_range){
      a.lo == LOOM_MINUS_INF || b.lo == LOOM_MINUS_INF ? LOOM_MINUS_INF
                                                       : loom_end_lo((loom_wide)a.lo + b.lo),
      a.hi == LOOM_PLUS_INF || b.hi == LOOM_PLUS_INF ? LOOM_PLUS_INF
                                                     : loom_end_hi((loom_wide)a.hi + b.hi)};
}

static loom_range range_of_sum(const evaluator *v, loom_expr e) {
  loom_range r = range_of_num(v->ctx, loom_add_constant(v->ctx, e));
  for (size_t i = 0; i < loom_add_count(v->ctx, e); i++) {
    loom_term term = loom_add_term(v->ctx, e, i);
    r = add(r, loom_range_mul(range_of_num(v->ctx, term.coef), range_of(v, term.id)));
  }
  return r;
}

static loom_range range_of_product(const evaluator *v, loom_expr e) {
  loom_range r = {1, 1};
  for (size_t i = 0; i < loom_mul_count(v->ctx, e); i++) {
    loom_power power = loom_mul_power(v->ctx, e, i);
    if (power.exponent < 0) return LOOM_EVERYTHING;
    r = loom_range_mul(r, loom_range_pow(range_of(v, power.base), (uint32_t)power.exponent));
  }
  return r;
}

static loom_range range_of_extreme(const evaluator *v, loom_expr e, bool largest) {
  loom_range r = range_of(v, loom_child(v->ctx, e, 0));
  for (size_t i = 1; i < loom_child_count(v->ctx, e); i++) {
    loom_range next = range_of(v, loom_child(v->ctx, e, i));
    if (largest ? next.lo > r.lo : next.lo < r.lo) r.lo = next.lo;
    if (largest ? next.hi > r.hi : next.hi < r.hi) r.hi = next.hi;
  }
  return r;
}

static loom_range quotient(loom_range a, loom_range d) {
  return d.lo > 0 ? loom_range_floor_div(a, d, LOOM_POS) : LOOM_EVERYTHING;
}

/* The remainder of an integer. */
static loom_range remainder_of(loom_range a, loom_range m) {
  if (m.lo <= 0) return LOOM_EVERYTHING;
  bool one_turn = m.lo == m.hi && a.lo != LOOM_MINUS_INF && a.hi != LOOM_PLUS_INF &&
                  loom_floor_div64(a.lo, m.lo) == loom_floor_div64(a.hi, m.lo);
  if (one_turn) return (loom_range){loom_mod64(a.lo, m.lo), loom_mod64(a.hi, m.lo)};
  loom_range r = {0, m.hi == LOOM_PLUS_INF ? LOOM_PLUS_INF : m.hi - 1};
  if (a.lo >= 0 && a.hi < r.hi) r.hi = a.hi;
  return r;
}

static loom_range range_of_node(const evaluator *v, loom_expr e, loom_symbol_range *range,
                                const void *data) {
  const loom_ctx *ctx = v->ctx;
  loom_facts facts = loom_facts_of(ctx, e);
  loom_range by_facts = {facts.lo, facts.hi}, c[3];
  loom_kind kind = loom_kind_of(ctx, e);
  size_t n = loom_child_count(ctx, e);
  for (size_t i = 0; i < n && i < 3; i++) c[i] = range_of(v, loom_child(ctx, e, i));
  switch (kind) {
  case LOOM_SYM: return range(ctx, e, data);
  case LOOM_ADD: return range_of_sum(v, e);
  case LOOM_MUL:
  case LOOM_POW: return range_of_product(v, e);
  case LOOM_MIN:
  case LOOM_MAX: return range_of_extreme(v, e, kind == LOOM_MAX);
  case LOOM_FLOORDIV: return quotient(c[0], c[1]);
  case LOOM_MOD:
    if (loom_facts_of(ctx, loom_child(ctx, e, 0)).integer != LOOM_YES) return by_facts;
    return remainder_of(c[0], c[1]);
  case LOOM_MODIDX: return remainder_of(quotient(c[0], c[1]), c[2]);
  case LOOM_OPAQUE: return c[0];
  default: return by_facts;
  }
}

bool loom_range_over(loom_ctx *ctx, loom_expr e, loom_symbol_range *range, const void *data,
                     loom_range *out) {
  evaluator v = {.ctx = ctx};
  *out = LOOM_EVERYTHING;
  if (!loom_walk_begin(ctx, &v.walk, false)) return false;
  loom_walk_root(&v.walk, e);
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&v.walk)) != LOOM_NONE;) {
    loom_range r = range_of_node(&v, f, range, data);
    good = loom_vec_push(ctx, &v.ranges, r);
    if (good) loom_walk_set(&v.walk, f, (uint32_t)v.ranges.n);
  }
  if (good) *out = range_of(&v, e);
  if (!loom_walk_end(&v.walk)) good = false;
  loom_vec_free(ctx, &v.ranges);
  return good;
}
