/* SPDX-License-Identifier: MIT */
/* Floor division and quotients taken apart.
** Invariant: floor_div(a, b) and floor(a / b) are one expression; nests collapse, common factors
** cancel, terms that b divides stand outside.  Holds at every point where b is not 0: // rounds
** towards minus infinity whatever the signs. */
#include "expr/rounding.h"

/* Sums of more terms are not searched for multiples of a symbolic divisor. */
enum { MOST_TERMS = 1024 };

bool loom_divisor_is_zero(loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_is_num(ctx, e) || !loom_num_is_zero(loom_num_of(ctx, e))) return false;
  loom_error_set(ctx, LOOM_ERR_DOMAIN, "division by zero");
  return true;
}

/* The factors of product with positive (or negated negative) exponents, times coef. */
static loom_expr one_side(loom_ctx *ctx, loom_num coef, loom_expr product, bool below) {
  loom_factors side;
  loom_factors_begin(ctx, &side);
  bool good = true;
  for (size_t i = 0; good && i < loom_mul_count(ctx, product); i++) {
    loom_power power = loom_mul_power(ctx, product, i);
    if ((power.exponent < 0) != below) continue;
    int64_t exponent = below ? -(int64_t)power.exponent : power.exponent;
    good = loom_factors_push(&side, (loom_factor){power.base, false, exponent});
  }
  loom_expr e = LOOM_NONE;
  if (good && loom_factors_merge(&side)) e = loom_scale(ctx, coef, loom_factors_make(&side));
  loom_factors_end(&side);
  return e;
}

bool loom_take_apart(loom_ctx *ctx, loom_expr e, loom_expr *numerator, loom_expr *denominator) {
  loom_term split = loom_split_coef(ctx, e);
  if (split.id == LOOM_NONE || loom_kind_of(ctx, split.id) == LOOM_ADD) {
    *numerator = e;
    *denominator = loom_from_num(ctx, LOOM_NUM_ONE);
    return *denominator != LOOM_NONE;
  }
  *numerator = one_side(ctx, loom_num_numerator(ctx, split.coef), split.id, false);
  *denominator = one_side(ctx, loom_num_denominator(ctx, split.coef), split.id, true);
  return *numerator != LOOM_NONE && *denominator != LOOM_NONE;
}

/* Moves the terms of a that b divides, divided, to `outside` and the others to `rest`. */
static bool split_multiples(loom_ctx *ctx, loom_expr a, loom_expr b, loom_terms *outside,
                            loom_terms *rest) {
  loom_num constant = loom_add_constant(ctx, a);
  loom_expr whole = loom_build_div(ctx, loom_from_num(ctx, constant), b);
  if (whole == LOOM_NONE) return false;
  bool divides = loom_facts_of(ctx, whole).integer == LOOM_YES;
  if (divides && !loom_terms_add(outside, LOOM_NUM_ONE, whole)) return false;
  if (!divides) rest->constant = constant;
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    whole = loom_build_div(ctx, loom_scale(ctx, term.coef, term.id), b);
    if (whole == LOOM_NONE) return false;
    divides = loom_facts_of(ctx, whole).integer == LOOM_YES;
    if (!(divides ? loom_terms_add(outside, LOOM_NUM_ONE, whole)
                  : loom_terms_push(rest, term.coef, term.id)))
      return false;
  }
  return loom_terms_merge(outside) && loom_terms_merge(rest);
}

bool loom_divide_out(loom_ctx *ctx, bool up, loom_expr a, loom_expr b, loom_expr *result) {
  loom_terms outside, rest;
  bool sum = loom_kind_of(ctx, a) == LOOM_ADD && loom_split_coef(ctx, a).id == a;
  *result = LOOM_NONE;
  if (!sum || loom_add_count(ctx, a) > MOST_TERMS) return false;
  loom_terms_begin(ctx, &outside);
  loom_terms_begin(ctx, &rest);
  bool good = split_multiples(ctx, a, b, &outside, &rest);
  bool found = !good || outside.n > 0 || !loom_num_is_zero(outside.constant);
  if (good && found) {
    loom_expr left = loom_build_div(ctx, loom_terms_build(&rest), b);
    left = up ? loom_build_ceil(ctx, left) : loom_build_floor(ctx, left);
    if (left != LOOM_NONE && loom_terms_add(&outside, LOOM_NUM_ONE, left) &&
        loom_terms_merge(&outside))
      *result = loom_terms_build(&outside);
  }
  loom_terms_end(&outside);
  loom_terms_end(&rest);
  return found;
}

loom_expr loom_build_floor_div(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE || loom_divisor_is_zero(ctx, b)) return LOOM_NONE;
  if (loom_expr_is_num(ctx, b)) return loom_build_floor_by(ctx, a, loom_num_of(ctx, b));
  loom_expr quotient = loom_build_div(ctx, a, b);
  if (quotient == LOOM_NONE || loom_facts_of(ctx, quotient).integer == LOOM_YES) return quotient;
  loom_expr split;
  return loom_divide_out(ctx, false, a, b, &split) ? split : loom_build_floor(ctx, quotient);
}

loom_expr loom_floor_div(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_FLOORDIV, a, b);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, loom_build_floor_div(ctx, a, b));
  loom_memo_put(ctx, LOOM_MEMO_FLOORDIV, a, b, result);
  return result;
}
