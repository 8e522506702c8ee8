/* SPDX-License-Identifier: MIT */
/* Modulo and modular index.
** Invariant: a term that is a multiple of the modulus does not occur; mod_index(a, 1, m) is mod(a,
** m) and mod(a // d, m) is mod_index(a, d, m).  a % b = a - b * floor(a / b) at every point: the
** result has the sign of b. */
#include "expr/rounding.h"

/* ---- dropping multiples ---------------------------------------------------------------------- */

enum { MOST_TERMS = 1024 };

static bool is_multiple(loom_ctx *ctx, loom_term term, loom_expr m, bool *good) {
  if (loom_expr_is_num(ctx, m)) {
    loom_num by = loom_num_of(ctx, m);
    loom_facts f = loom_facts_of(ctx, term.id);
    *good = true;
    if (term.coef.den == 1 && by.den == 1 && by.num > 0 && f.integer == LOOM_YES) {
      if (term.coef.num % by.num == 0) return true;
      if (f.modulus == 1 && !loom_has_denominator(loom_cell_of(ctx, term.id))) return false;
    }
    loom_num ratio = loom_num_div(ctx, term.coef, loom_num_of(ctx, m));
    *good = !loom_num_is_none(ratio);
    return *good && loom_facts_term(ctx, ratio, term.id).integer == LOOM_YES;
  }
  loom_expr whole = loom_build_div(ctx, loom_scale(ctx, term.coef, term.id), m);
  *good = whole != LOOM_NONE;
  return *good && loom_facts_of(ctx, whole).integer == LOOM_YES;
}

static bool keep_others(loom_ctx *ctx, loom_expr a, loom_expr m, loom_terms *rest) {
  loom_num constant = loom_add_constant(ctx, a);
  if (!loom_num_is_zero(constant)) {
    loom_expr whole = loom_build_div(ctx, loom_from_num(ctx, constant), m);
    if (whole == LOOM_NONE) return false;
    if (loom_facts_of(ctx, whole).integer != LOOM_YES) rest->constant = constant;
  }
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    bool good, drop = is_multiple(ctx, term, m, &good);
    if (!good || (!drop && !loom_terms_push(rest, term.coef, term.id))) return false;
  }
  return true;
}

/* a without the terms that m divides. */
static loom_expr drop_multiples(loom_ctx *ctx, loom_expr a, loom_expr m) {
  if (loom_kind_of(ctx, a) != LOOM_ADD) {
    loom_expr whole = loom_build_div(ctx, a, m);
    if (whole == LOOM_NONE || loom_facts_of(ctx, whole).integer != LOOM_YES)
      return whole == LOOM_NONE ? whole : a;
    return loom_from_num(ctx, LOOM_NUM_ZERO);
  }
  if (loom_add_count(ctx, a) > MOST_TERMS) return a;
  loom_terms rest;
  loom_terms_begin(ctx, &rest);
  loom_expr e = keep_others(ctx, a, m, &rest) ? loom_terms_build(&rest) : LOOM_NONE;
  loom_terms_end(&rest);
  return e;
}

/* a // b + k as (a + k*b) // b, which is what an integer constant was taken out of.  False: e is
** neither this, b a number, nor a // b; or an error. */
static bool whole_quotient(loom_ctx *ctx, loom_expr e, loom_expr *above, loom_expr *below) {
  loom_num constant = LOOM_NUM_ZERO;
  if (loom_kind_of(ctx, e) == LOOM_ADD) {
    loom_term term = loom_add_term(ctx, e, 0);
    constant = loom_add_constant(ctx, e);
    if (loom_add_count(ctx, e) != 1 || !loom_num_is_one(term.coef)) return false;
    if (!loom_num_is_int(ctx, constant)) return false;
    e = term.id;
  }
  if (loom_kind_of(ctx, e) != LOOM_FLOORDIV) return false;
  *above = loom_child(ctx, e, 0);
  *below = loom_child(ctx, e, 1);
  if (loom_num_is_zero(constant)) return true;
  if (!loom_expr_is_num(ctx, *below)) return false;
  loom_term terms[] = {{LOOM_NUM_ONE, *above}, {constant, *below}};
  *above = loom_build_sum(ctx, LOOM_NUM_ZERO, 2, terms);
  return *above != LOOM_NONE;
}

/* ---- modulo --------------------------------------------------------------------------------- */

/* Whether 0 <= a < b, or b < a <= 0. */
static bool is_reduced(loom_ctx *ctx, loom_expr a, loom_expr b) {
  loom_facts f = loom_facts_of(ctx, a), g = loom_facts_of(ctx, b);
  uint8_t value = f.sign, modulus = g.sign;
  if (loom_expr_is_num(ctx, b) && modulus == LOOM_POS && f.hi != LOOM_PLUS_INF && f.hi < g.lo)
    return !(value & LOOM_NEG);
  if (modulus == LOOM_POS && !(value & LOOM_NEG))
    return loom_facts_difference(ctx, a, b).sign == LOOM_NEG;
  if (modulus == LOOM_NEG && !(value & LOOM_POS))
    return loom_facts_difference(ctx, b, a).sign == LOOM_NEG;
  return false;
}

static loom_expr mod_numbers(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return loom_from_num(ctx, loom_num_mod(ctx, loom_num_of(ctx, a), loom_num_of(ctx, b)));
}

static loom_expr neg(loom_ctx *ctx, loom_expr e) {
  return loom_scale(ctx, LOOM_NUM_MINUS_ONE, e);
}

/* Whether b divides a: at once for an integer by a number of usual size, else by the quotient. */
static bool divides(loom_ctx *ctx, loom_expr a, loom_expr b, bool *good) {
  const int64_t most = (int64_t)1 << 31;
  loom_facts f = loom_facts_of(ctx, a);
  int64_t by;
  *good = true;
  if (f.integer == LOOM_YES && loom_as_int(ctx, b, &by) && by > 0 && by < most)
    return f.modulus % by == 0 && f.remainder % by == 0;
  loom_expr quotient = loom_build_div(ctx, a, b);
  *good = quotient != LOOM_NONE;
  if (*good && loom_facts_of(ctx, quotient).integer == LOOM_YES) return true;
  quotient = loom_divide_exactly(ctx, a, b);
  return quotient != LOOM_NONE && loom_facts_of(ctx, quotient).integer == LOOM_YES;
}

static bool is_zero(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_is_num(ctx, e) && loom_num_is_zero(loom_num_of(ctx, e));
}

loom_expr loom_build_mod(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE || loom_divisor_is_zero(ctx, b)) return LOOM_NONE;
  if (loom_expr_is_num(ctx, a) && loom_expr_is_num(ctx, b)) return mod_numbers(ctx, a, b);
  if (loom_leads_negative(ctx, b)) return neg(ctx, loom_build_mod(ctx, neg(ctx, a), neg(ctx, b)));
  bool good, whole = divides(ctx, a, b, &good);
  if (!good || whole) return good ? loom_from_num(ctx, LOOM_NUM_ZERO) : LOOM_NONE;
  a = drop_multiples(ctx, a, b);
  if (a == LOOM_NONE || is_zero(ctx, a)) return a;
  if (loom_expr_is_num(ctx, a) && loom_expr_is_num(ctx, b)) return mod_numbers(ctx, a, b);
  if (is_reduced(ctx, a, b)) return a;
  loom_expr above, below;
  if (whole_quotient(ctx, a, &above, &below)) return loom_build_mod_index(ctx, above, below, b);
  return loom_make_args(ctx, LOOM_MOD, 2, (loom_expr[]){a, b});
}

loom_expr loom_mod(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  return loom_finish(ctx, loom_build_mod(ctx, a, b));
}

/* ---- modular index --------------------------------------------------------------------------- */

static bool is_positive_integer(const loom_ctx *ctx, loom_expr e) {
  loom_facts f = loom_facts_of(ctx, e);
  return f.integer == LOOM_YES && f.sign == LOOM_POS;
}

/* (a // d) % m where the quotient is known to be in [0, m): the quotient. */
static bool is_small(loom_ctx *ctx, loom_expr a, loom_expr d, loom_expr m) {
  loom_facts f = loom_facts_of(ctx, a);
  int64_t divisor, modulus;
  if (f.sign & LOOM_NEG) return false;
  if (loom_as_int(ctx, d, &divisor) && loom_as_int(ctx, m, &modulus) && divisor > 0 && modulus > 0)
    return f.hi != LOOM_PLUS_INF && (__int128)f.hi < (__int128)divisor * modulus;
  if (loom_facts_of(ctx, d).sign != LOOM_POS || !is_positive_integer(ctx, m)) return false;
  loom_expr size = loom_build_mul(ctx, d, m);
  return size != LOOM_NONE && loom_facts_difference(ctx, a, size).sign == LOOM_NEG;
}

/* Whether a // d has one value, whatever a is within its bounds. */
static bool has_one_quotient(loom_ctx *ctx, loom_expr a, loom_expr d, int64_t *quotient) {
  loom_facts f = loom_facts_of(ctx, a);
  int64_t by;
  if (f.lo == LOOM_MINUS_INF || f.hi == LOOM_PLUS_INF) return false;
  if (!loom_as_int(ctx, d, &by) || by <= 0) return false;
  *quotient = loom_floor_div64(f.lo, by);
  return *quotient == loom_floor_div64(f.hi, by);
}

/* a / d as one expression if d divides a as a polynomial: *a is that, *d is 1. */
static bool divide_whole(loom_ctx *ctx, loom_expr *a, loom_expr *d) {
  loom_expr quotient = loom_divide_exactly(ctx, *a, *d);
  if (quotient == LOOM_NONE) return false;
  *a = quotient;
  *d = loom_from_num(ctx, LOOM_NUM_ONE);
  return true;
}

/* Whether the integer d > 0 shares no factor with the integers that stand in a. */
static bool is_coprime(loom_ctx *ctx, loom_expr a, loom_expr d) {
  if (!loom_expr_is_num(ctx, d)) return false;
  loom_num common = loom_num_of(ctx, d), constant = LOOM_NUM_ZERO;
  if (common.den != 1 || common.num <= 0) return false;
  if (loom_kind_of(ctx, a) == LOOM_SYM) return true;
  if (loom_kind_of(ctx, a) != LOOM_ADD) return false;
  constant = loom_add_constant(ctx, a);
  if (constant.den != 1) return false;
  common = loom_num_gcd(ctx, common, constant);
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    if (term.coef.den != 1 || loom_has_denominator(loom_cell_of(ctx, term.id))) return false;
    common = loom_num_gcd(ctx, common, term.coef);
  }
  return loom_num_is_one(common);
}

/* Common factors of a and d cancelled, the divisor's leading term positive. */
static bool cancel(loom_ctx *ctx, loom_expr *a, loom_expr *d) {
  if (is_coprime(ctx, *a, *d)) return true;
  if (divide_whole(ctx, a, d)) return *d != LOOM_NONE;
  loom_expr quotient = loom_build_div(ctx, *a, *d), above, below;
  if (quotient == LOOM_NONE || !loom_take_apart(ctx, quotient, &above, &below)) return false;
  if (loom_kind_of(ctx, quotient) == LOOM_ADD && loom_split_coef(ctx, quotient).id == quotient) {
    loom_factors content;
    loom_factors_begin(ctx, &content);
    loom_expr rest = loom_take_content(&content, quotient, 1);
    loom_num den = loom_num_denominator(ctx, content.coef);
    loom_factors_end(&content);
    if (rest == LOOM_NONE) return false;
    above = loom_scale(ctx, den, quotient);
    below = loom_from_num(ctx, den);
  }
  *a = above;
  *d = below;
  return above != LOOM_NONE && below != LOOM_NONE;
}

enum { MOST_ROUNDS = 8 };

static bool is_one(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_is_num(ctx, e) && loom_num_is_one(loom_num_of(ctx, e));
}

static bool is_unit(const loom_ctx *ctx, loom_expr e) {
  return is_one(ctx, e) || (loom_expr_is_num(ctx, e) && loom_num_is_minus_one(loom_num_of(ctx, e)));
}

/* Cancels, and drops terms that d * m divides, until nothing changes: what is dropped can make room
** for more to cancel. */
static bool simplify(loom_ctx *ctx, loom_expr *a, loom_expr *d, loom_expr m) {
  bool whole = loom_facts_of(ctx, m).integer == LOOM_YES;
  for (int round = 0; round < MOST_ROUNDS; round++) {
    if (!cancel(ctx, a, d)) return false;
    loom_expr size = whole ? loom_build_mul(ctx, *d, m) : LOOM_NONE;
    loom_expr rest = whole && size != LOOM_NONE ? drop_multiples(ctx, *a, size) : *a;
    if (rest == LOOM_NONE || (whole && size == LOOM_NONE)) return false;
    if (rest == *a) break;
    *a = rest;
  }
  return true;
}

loom_expr loom_build_mod_index(loom_ctx *ctx, loom_expr a, loom_expr d, loom_expr m) {
  if (a == LOOM_NONE || d == LOOM_NONE || m == LOOM_NONE) return LOOM_NONE;
  if (loom_divisor_is_zero(ctx, d) || loom_divisor_is_zero(ctx, m)) return LOOM_NONE;
  if (is_unit(ctx, m)) return loom_from_num(ctx, LOOM_NUM_ZERO);
  if (is_one(ctx, d)) return loom_build_mod(ctx, loom_build_floor(ctx, a), m);
  if (!simplify(ctx, &a, &d, m)) return LOOM_NONE;
  if (is_one(ctx, d) || (loom_expr_is_num(ctx, a) && loom_expr_is_num(ctx, d)))
    return loom_build_mod(ctx, loom_build_floor_div(ctx, a, d), m);
  loom_expr above, below;
  if (is_positive_integer(ctx, d) && whole_quotient(ctx, a, &above, &below))
    return loom_build_mod_index(ctx, above, loom_build_mul(ctx, below, d), m);
  if (is_small(ctx, a, d, m)) return loom_build_floor_div(ctx, a, d);
  int64_t quotient;
  if (has_one_quotient(ctx, a, d, &quotient))
    return loom_build_mod(ctx, loom_int(ctx, quotient), m);
  return loom_make_args(ctx, LOOM_MODIDX, 3, (loom_expr[]){a, d, m});
}

loom_expr loom_mod_index(loom_ctx *ctx, loom_expr a, loom_expr d, loom_expr m) {
  if (!loom_usable(ctx, 3, (loom_expr[]){a, d, m})) return LOOM_NONE;
  return loom_finish(ctx, loom_build_mod_index(ctx, a, d, m));
}
