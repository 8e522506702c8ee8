/* SPDX-License-Identifier: MIT */
/* Joins neighbouring terms of sums: what a modular index keeps of a quotient and what it leaves out.
** Invariant: for integers m > 0 (and n > 0), with b the same up to a multiple of d*m,
** s*((b // d) % m) + s*m*(b // (d*m)) is s*(b // d), and with (b // (d*m)) % n in the second place
** s*((b // d) % (m*n)), whatever the signs of b and d. */
#include "expr/index.h"
#include "expr/rounding.h"

/* Sums of more terms are left alone. */
enum { MOST_TERMS = 256 };

/* ---- digits --------------------------------------------------------------------------------- */

bool loom_digit_of(loom_ctx *ctx, loom_expr e, loom_digit *out) {
  switch (loom_kind_of(ctx, e)) {
  case LOOM_FLOORDIV:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_child(ctx, e, 1), LOOM_NONE};
    return true;
  case LOOM_MOD:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_int(ctx, 1), loom_child(ctx, e, 1)};
    return loom_facts_of(ctx, out->b).integer == LOOM_YES && out->d != LOOM_NONE;
  case LOOM_MODIDX:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_child(ctx, e, 1), loom_child(ctx, e, 2)};
    return true;
  default: return false;
  }
}

loom_expr loom_digit_build(loom_ctx *ctx, loom_digit digit) {
  if (digit.m == LOOM_NONE) return loom_build_floor_div(ctx, digit.b, digit.d);
  return loom_build_mod_index(ctx, digit.b, digit.d, digit.m);
}

bool loom_is_multiple(loom_ctx *ctx, loom_expr a, loom_expr d) {
  loom_expr quotient = loom_build_div(ctx, a, d);
  if (quotient == LOOM_NONE) return false;
  if (loom_facts_of(ctx, quotient).integer == LOOM_YES) return true;
  if (loom_expr_is_num(ctx, d)) return false;
  quotient = loom_divide_exactly(ctx, a, d);
  return quotient != LOOM_NONE && loom_facts_of(ctx, quotient).integer == LOOM_YES;
}

bool loom_is_positive_integer(const loom_ctx *ctx, loom_expr e) {
  loom_facts f = loom_facts_of(ctx, e);
  return f.integer == LOOM_YES && f.sign == LOOM_POS;
}

/* ---- terms ---------------------------------------------------------------------------------- */

/* scale * digit, a term of a sum.  scale LOOM_NONE: a term without a digit. */
typedef struct place {
  loom_expr scale;
  loom_digit digit;
} place;

/* False with an error. */
static bool find_digit(loom_ctx *ctx, loom_term term, place *out) {
  out->scale = LOOM_NONE;
  for (size_t i = 0, n = loom_mul_count(ctx, term.id); i < n; i++) {
    loom_power power = loom_mul_power(ctx, term.id, i);
    if (power.exponent != 1 || !loom_digit_of(ctx, power.base, &out->digit)) continue;
    out->scale = loom_scale(ctx, term.coef, loom_build_div(ctx, term.id, power.base));
    return out->scale != LOOM_NONE;
  }
  return true;
}

/* The digit next to the low one that high is, in the low one's base: (b // (d*m)) % n. */
static bool is_next(loom_ctx *ctx, const loom_digit *low, const loom_digit *high, loom_expr *base) {
  loom_expr step = loom_build_mul(ctx, low->d, low->m);
  if (step == LOOM_NONE) return false;
  *base = high->b;
  if (high->d != step) {
    loom_expr ratio = loom_build_div(ctx, step, high->d);
    if (ratio == LOOM_NONE || !loom_expr_is_num(ctx, ratio) ||
        !loom_num_is_int(ctx, loom_num_of(ctx, ratio)))
      return false;
    *base = loom_build_mul(ctx, ratio, high->b);
  }
  if (*base == low->b) return true;
  return *base != LOOM_NONE && loom_is_multiple(ctx, loom_sub(ctx, low->b, *base), step);
}

/* What two terms add up to as one, or LOOM_NONE. */
static loom_expr join_pair(loom_ctx *ctx, const place *low, loom_expr next_scale,
                           const place *high) {
  loom_expr base;
  if (high->scale != next_scale || !is_next(ctx, &low->digit, &high->digit, &base))
    return LOOM_NONE;
  loom_digit whole = {base, low->digit.d, LOOM_NONE};
  if (high->digit.m != LOOM_NONE) {
    if (!loom_is_positive_integer(ctx, high->digit.m)) return LOOM_NONE;
    whole.m = loom_build_mul(ctx, low->digit.m, high->digit.m);
    if (whole.m == LOOM_NONE) return LOOM_NONE;
  }
  return loom_build_mul(ctx, low->scale, loom_digit_build(ctx, whole));
}

/* The sum e with terms i and k replaced by one. */
static loom_expr replace(loom_ctx *ctx, loom_expr e, size_t i, size_t k, loom_expr joined) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  sum.constant = loom_add_constant(ctx, e);
  bool good = loom_terms_add(&sum, LOOM_NUM_ONE, joined);
  for (size_t t = 0; good && t < loom_add_count(ctx, e); t++) {
    loom_term term = loom_add_term(ctx, e, t);
    good = t == i || t == k || loom_terms_push(&sum, term.coef, term.id);
  }
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return result;
}

static bool may_be_low(const loom_ctx *ctx, const place *p) {
  return p->scale != LOOM_NONE && p->digit.m != LOOM_NONE &&
         loom_is_positive_integer(ctx, p->digit.m);
}

/* Joins the first pair that fits, modular ones (or those with a plain quotient); e if none does. */
static loom_expr join_once(loom_ctx *ctx, loom_expr e, size_t n, const place *places,
                           bool quotients) {
  for (size_t i = 0; i < n; i++) {
    if (!may_be_low(ctx, &places[i])) continue;
    loom_expr scale = loom_build_mul(ctx, places[i].scale, places[i].digit.m);
    if (scale == LOOM_NONE) return LOOM_NONE;
    for (size_t k = 0; k < n; k++) {
      bool fits = places[k].scale != LOOM_NONE && (places[k].digit.m == LOOM_NONE) == quotients;
      if (k == i || !fits) continue;
      loom_expr joined = join_pair(ctx, &places[i], scale, &places[k]);
      if (joined != LOOM_NONE) return replace(ctx, e, i, k, joined);
    }
  }
  return e;
}

/* ---- sums ----------------------------------------------------------------------------------- */

loom_expr loom_join_sum(loom_ctx *ctx, loom_expr e) {
  place places[MOST_TERMS];
  while (e != LOOM_NONE && loom_kind_of(ctx, e) == LOOM_ADD) {
    size_t n = loom_add_count(ctx, e), lows = 0;
    if (n < 2 || n > MOST_TERMS) break;
    for (size_t i = 0; i < n; i++) {
      if (!find_digit(ctx, loom_add_term(ctx, e, i), &places[i])) return LOOM_NONE;
      lows += may_be_low(ctx, &places[i]);
    }
    if (lows == 0) break;
    loom_expr next = join_once(ctx, e, n, places, false);
    if (next == e) next = join_once(ctx, e, n, places, true);
    if (next == e) break;
    e = next;
  }
  return loom_finish(ctx, e);
}

static loom_expr join(loom_ctx *ctx, void *data, loom_expr e) {
  (void)data;
  return loom_join_sum(ctx, e);
}

/* Quadratic in the terms of a sum with modular indices. */
loom_expr loom_join(loom_ctx *ctx, loom_expr e) {
  return loom_rewrite(ctx, e, join, NULL);
}
