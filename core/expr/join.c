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

/* The one term x // number with coefficient 1 of a sum; false: there is none, or there are more. */
static bool lone_quotient(const loom_ctx *ctx, loom_expr b, size_t *at) {
  size_t found = 0;
  if (loom_kind_of(ctx, b) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(ctx, b); i < n; i++) {
    loom_term term = loom_add_term(ctx, b, i);
    if (loom_kind_of(ctx, term.id) != LOOM_FLOORDIV || !loom_num_is_one(term.coef)) continue;
    loom_expr below = loom_child(ctx, term.id, 1);
    if (!loom_expr_is_num(ctx, below) || !loom_is_positive_integer(ctx, below)) continue;
    *at = i;
    found++;
  }
  return found == 1;
}

bool loom_digit_unfold(loom_ctx *ctx, loom_digit *digit, bool *changed) {
  enum { DEEPEST = 8 };
  size_t at;
  for (int depth = 0; depth < DEEPEST && lone_quotient(ctx, digit->b, &at); depth++) {
    if (!loom_is_positive_integer(ctx, digit->d)) break;
    if (loom_facts_of(ctx, digit->b).integer != LOOM_YES) break;
    loom_expr quotient = loom_add_term(ctx, digit->b, at).id, e = loom_child(ctx, quotient, 1);
    loom_num by = loom_num_of(ctx, e);
    loom_term terms[] = {{by, digit->b},
                         {loom_num_neg(ctx, by), quotient},
                         {LOOM_NUM_ONE, loom_child(ctx, quotient, 0)}};
    digit->b = loom_build_sum(ctx, LOOM_NUM_ZERO, 3, terms);
    digit->d = loom_scale(ctx, by, digit->d);
    if (digit->b == LOOM_NONE || digit->d == LOOM_NONE) return false;
    *changed = true;
  }
  return true;
}

loom_expr loom_digit_build(loom_ctx *ctx, loom_digit digit) {
  if (digit.m == LOOM_NONE) return loom_build_floor_div(ctx, digit.b, digit.d);
  return loom_build_mod_index(ctx, digit.b, digit.d, digit.m);
}

bool loom_is_multiple(loom_ctx *ctx, loom_expr a, loom_expr d) {
  int64_t step;
  loom_facts f = loom_facts_of(ctx, a);
  if (loom_expr_is_num(ctx, d) && loom_num_to_int(ctx, loom_num_of(ctx, d), &step) && step > 0 &&
      f.integer == LOOM_YES)
    return f.modulus % step == 0 && f.remainder % step == 0;
  loom_expr quotient = loom_build_div(ctx, a, d);
  if (quotient == LOOM_NONE) return false;
  if (loom_facts_of(ctx, quotient).integer == LOOM_YES) return true;
  if (loom_expr_is_num(ctx, d)) return false;
  quotient = loom_divide_exactly(ctx, a, d);
  return quotient != LOOM_NONE && loom_facts_of(ctx, quotient).integer == LOOM_YES;
}

bool loom_is_positive_integer(const loom_ctx *ctx, loom_expr e) {
  int64_t value;
  if (loom_as_int(ctx, e, &value)) return value > 0;
  loom_facts f = loom_facts_of(ctx, e);
  return f.integer == LOOM_YES && f.sign == LOOM_POS;
}

bool loom_digit_collapse(loom_ctx *ctx, loom_digit *digit) {
  loom_digit inner;
  if (!loom_digit_of(ctx, digit->b, &inner) || inner.m == LOOM_NONE) return false;
  bool whole = loom_is_positive_integer(ctx, digit->d) && loom_is_positive_integer(ctx, inner.m);
  if (!whole) return false;
  loom_expr size = digit->d;
  if (digit->m != LOOM_NONE) size = loom_build_mul(ctx, digit->d, digit->m);
  if (size == LOOM_NONE || !loom_is_multiple(ctx, inner.m, size)) return false;
  if (digit->m == LOOM_NONE) digit->m = loom_build_div(ctx, inner.m, digit->d);
  *digit = (loom_digit){inner.b, loom_build_mul(ctx, inner.d, digit->d), digit->m};
  return digit->d != LOOM_NONE && digit->m != LOOM_NONE;
}

/* ---- terms ---------------------------------------------------------------------------------- */

/* coef * rest * digit, a term of a sum; rest LOOM_NONE: 1. */
typedef struct place {
  loom_num coef;
  loom_expr rest;
  loom_digit digit;
  loom_expr node; /* the digit; LOOM_NONE: a term without one */
} place;

/* False with an error. */
static bool find_digit(loom_ctx *ctx, loom_term term, place *out) {
  *out = (place){.coef = term.coef};
  for (size_t i = 0, n = loom_mul_count(ctx, term.id); i < n; i++) {
    loom_power power = loom_mul_power(ctx, term.id, i);
    if (power.exponent != 1 || !loom_digit_of(ctx, power.base, &out->digit)) continue;
    out->node = power.base;
    if (n > 1) out->rest = loom_build_div(ctx, term.id, power.base);
    return n == 1 || out->rest != LOOM_NONE;
  }
  return true;
}

static loom_expr scale_of(loom_ctx *ctx, const place *p) {
  return loom_scale(ctx, p->coef, p->rest == LOOM_NONE ? loom_int(ctx, 1) : p->rest);
}

/* Whether high stands m times as high as low. */
static bool scales_fit(loom_ctx *ctx, const place *low, const place *high) {
  loom_expr m = low->digit.m;
  if (loom_expr_is_num(ctx, m))
    return low->rest == high->rest &&
           loom_num_same(loom_num_mul(ctx, low->coef, loom_num_of(ctx, m)), high->coef);
  loom_expr scale = loom_build_mul(ctx, scale_of(ctx, low), m);
  return scale != LOOM_NONE && scale == scale_of(ctx, high);
}

/* Whether step divides a - b. */
static bool is_congruent(loom_ctx *ctx, loom_expr a, loom_expr b, loom_expr step) {
  if (a == b) return true;
  int64_t by;
  loom_facts f = loom_facts_difference(ctx, a, b);
  if (loom_as_int(ctx, step, &by) && by > 0 && f.integer == LOOM_YES)
    return f.modulus % by == 0 && f.remainder % by == 0;
  return loom_is_multiple(ctx, loom_sub(ctx, a, b), step);
}

/* Whether high is the digit next to the low one, and in which base: (base // (d*m)) % n. */
static bool is_next(loom_ctx *ctx, const loom_digit *low, const loom_digit *high, loom_expr *base) {
  loom_expr step = loom_build_mul(ctx, low->d, low->m);
  *base = high->b;
  if (step == LOOM_NONE) return false;
  if (high->d != step) {
    int64_t from, to;
    if (!loom_as_int(ctx, high->d, &from) || !loom_as_int(ctx, step, &to) || from <= 0 ||
        to % from != 0)
      return false;
    *base = loom_scale(ctx, LOOM_NUM(to / from), high->b);
  }
  return *base != LOOM_NONE && is_congruent(ctx, low->b, *base, step);
}

/* What two terms whose scales fit add up to as one, or LOOM_NONE. */
static loom_expr join_pair(loom_ctx *ctx, const place *low_place, const place *high_place) {
  loom_digit low = low_place->digit, high = high_place->digit;
  bool changed;
  loom_expr base;
  if (!loom_digit_unfold(ctx, &low, &changed) || !loom_digit_unfold(ctx, &high, &changed) ||
      !is_next(ctx, &low, &high, &base))
    return LOOM_NONE;
  loom_digit whole = {base, low.d, LOOM_NONE};
  if (high.m != LOOM_NONE) {
    if (!loom_is_positive_integer(ctx, high.m)) return LOOM_NONE;
    whole.m = loom_build_mul(ctx, low.m, high.m);
    if (whole.m == LOOM_NONE) return LOOM_NONE;
  }
  return loom_build_mul(ctx, scale_of(ctx, low_place), loom_digit_build(ctx, whole));
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

static size_t count_terms(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) : !loom_expr_is_num(ctx, e);
}

/* Whether node is e, or a term of the sum e with coefficient 1. */
static bool has_node(const loom_ctx *ctx, loom_expr e, loom_expr node) {
  if (loom_kind_of(ctx, e) != LOOM_ADD) return e == node;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (term.id == node) return loom_num_is_one(term.coef);
  }
  return false;
}

/* The sum e with s*(q % m) + s*m*(q // m) as s*q, q = b // d, where high is what building makes of
** q // m, which may have lost what tells that they are neighbours; e if that does not fit. */
static loom_expr add_quotient(loom_ctx *ctx, loom_expr e, const place *low, const place *high) {
  loom_digit digit = low->digit;
  loom_expr next = loom_build_floor_div(ctx, digit.b, loom_build_mul(ctx, digit.d, digit.m));
  if (next == LOOM_NONE || !has_node(ctx, next, high->node)) return next == LOOM_NONE ? next : e;
  loom_expr q = loom_build_floor_div(ctx, digit.b, digit.d), scale = scale_of(ctx, low);
  loom_expr here = loom_build_mul(ctx, scale, q), there = loom_build_mul(ctx, scale, low->node);
  next = loom_build_mul(ctx, loom_build_mul(ctx, scale, digit.m), next);
  if (here == LOOM_NONE || there == LOOM_NONE || next == LOOM_NONE) return LOOM_NONE;
  loom_term terms[] = {{LOOM_NUM_ONE, e},
                       {LOOM_NUM_ONE, here},
                       {LOOM_NUM_MINUS_ONE, there},
                       {LOOM_NUM_MINUS_ONE, next}};
  size_t most = count_terms(ctx, e) + count_terms(ctx, q) - 2;
  loom_expr sum = loom_build_sum(ctx, LOOM_NUM_ZERO, 4, terms);
  return sum == LOOM_NONE || count_terms(ctx, sum) <= most ? sum : e;
}

static bool may_be_low(const loom_ctx *ctx, const place *p) {
  return p->node != LOOM_NONE && p->digit.m != LOOM_NONE &&
         loom_is_positive_integer(ctx, p->digit.m);
}

/* Joins the first pair that fits, modular ones (or those with a plain quotient); e if none does. */
static loom_expr join_once(loom_ctx *ctx, loom_expr e, size_t n, const place *places,
                           bool quotients) {
  for (size_t i = 0; i < n; i++) {
    if (!may_be_low(ctx, &places[i])) continue;
    for (size_t k = 0; k < n; k++) {
      bool fits = places[k].node != LOOM_NONE && (places[k].digit.m == LOOM_NONE) == quotients;
      if (k == i || !fits || !scales_fit(ctx, &places[i], &places[k])) continue;
      loom_expr joined = join_pair(ctx, &places[i], &places[k]);
      if (joined != LOOM_NONE) return replace(ctx, e, i, k, joined);
      joined = quotients ? add_quotient(ctx, e, &places[i], &places[k]) : e;
      if (joined != e) return joined;
    }
  }
  return e;
}

/* ---- sums ----------------------------------------------------------------------------------- */

loom_expr loom_join_sum(loom_ctx *ctx, loom_expr e) {
  place places[MOST_TERMS];
  while (e != LOOM_NONE && loom_kind_of(ctx, e) == LOOM_ADD) {
    size_t n = loom_add_count(ctx, e), lows = 0, digits = 0;
    if (n < 2 || n > MOST_TERMS) break;
    for (size_t i = 0; i < n; i++) {
      if (!find_digit(ctx, loom_add_term(ctx, e, i), &places[i])) return LOOM_NONE;
      lows += may_be_low(ctx, &places[i]);
      digits += (places[i].node != LOOM_NONE);
    }
    if (lows == 0 || digits < 2) break;
    loom_expr next = join_once(ctx, e, n, places, false);
    if (next == e) next = join_once(ctx, e, n, places, true);
    if (next == e) break;
    e = next;
  }
  return loom_finish(ctx, e);
}

static loom_expr join(loom_ctx *ctx, void *data, loom_expr e) {
  const bool *collapses = data;
  loom_digit digit;
  if (loom_kind_of(ctx, e) == LOOM_ADD) return loom_join_sum(ctx, e);
  if (!*collapses || !loom_digit_of(ctx, e, &digit) || !loom_digit_collapse(ctx, &digit)) return e;
  return loom_finish(ctx, loom_digit_build(ctx, digit));
}

/* Quadratic in the terms of a sum with modular indices.  Digits of digits are collapsed after, since
** they may be neighbours as they are. */
loom_expr loom_join(loom_ctx *ctx, loom_expr e) {
  bool collapses = false;
  e = loom_rewrite(ctx, e, join, &collapses);
  collapses = true;
  return e == LOOM_NONE ? e : loom_rewrite(ctx, e, join, &collapses);
}
