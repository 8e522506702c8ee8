/* SPDX-License-Identifier: MIT */
/* Exact division of one sum by another, as polynomials in whatever their terms are made of.
** Invariant: a quotient is returned only if quotient * divisor is the dividend term for term. */
#include "expr/terms.h"

enum { MOST_STEPS = 32, MOST_PRODUCTS = 2048, MOST_POWERS = 32 };

/* The order by which terms lead: exponents of the highest base first; compatible with products. */
static int compare_monomials(const loom_ctx *ctx, loom_expr a, loom_expr b) {
  size_t i = loom_mul_count(ctx, a), j = loom_mul_count(ctx, b);
  while (i > 0 || j > 0) {
    loom_power x = i > 0 ? loom_mul_power(ctx, a, i - 1) : (loom_power){LOOM_NONE, 0};
    loom_power y = j > 0 ? loom_mul_power(ctx, b, j - 1) : (loom_power){LOOM_NONE, 0};
    if (x.base > y.base) return x.exponent > 0 ? 1 : -1;
    if (x.base < y.base) return y.exponent > 0 ? -1 : 1;
    if (x.exponent != y.exponent) return x.exponent > y.exponent ? 1 : -1;
    i--;
    j--;
  }
  return 0;
}

static loom_term leading_term(const loom_ctx *ctx, const loom_term *terms, size_t n) {
  loom_term first = terms[0];
  for (size_t i = 1; i < n; i++)
    if (compare_monomials(ctx, terms[i].id, first.id) > 0) first = terms[i];
  return first;
}

/* a / b as one term if it is a product of non-negative powers; id LOOM_NONE: a number.  False if it is
** not, or with an error. */
static bool divide_term(loom_ctx *ctx, loom_term a, loom_term b, loom_term *out) {
  loom_factors product;
  loom_factors_begin(ctx, &product);
  bool good = loom_factors_add(&product, a.id, 1) && loom_factors_add(&product, b.id, -1) &&
              loom_factors_merge(&product);
  for (size_t i = 0; good && i < product.n; i++) good = product.at[i].exponent > 0;
  out->coef = loom_num_div(ctx, a.coef, b.coef);
  out->id = LOOM_NONE;
  good = good && !loom_num_is_none(out->coef);
  if (good && product.n > 0) {
    out->id = loom_factors_make(&product);
    good = out->id != LOOM_NONE;
  }
  loom_factors_end(&product);
  return good;
}

/* Adds coef * (term * e), e a term of a sum or LOOM_NONE for 1. */
static bool add_product(loom_terms *sum, loom_num coef, loom_term term, loom_expr e) {
  loom_ctx *ctx = sum->ctx;
  coef = loom_num_mul(ctx, coef, term.coef);
  loom_expr one = loom_from_num(ctx, LOOM_NUM_ONE);
  loom_expr product = loom_build_mul(ctx, term.id ? term.id : one, e ? e : one);
  return !loom_num_is_none(coef) && loom_terms_add(sum, coef, product);
}

/* rest -= term * divisor. */
static bool subtract(loom_terms *rest, loom_term term, const loom_terms *divisor) {
  loom_ctx *ctx = rest->ctx;
  bool good = loom_num_is_zero(divisor->constant) ||
              add_product(rest, loom_num_neg(ctx, divisor->constant), term, LOOM_NONE);
  for (size_t i = 0; good && i < divisor->n; i++)
    good = add_product(rest, loom_num_neg(ctx, divisor->at[i].coef), term, divisor->at[i].id);
  return good && loom_terms_merge(rest);
}

static bool divide(loom_terms *rest, const loom_terms *divisor, loom_terms *quotient) {
  loom_ctx *ctx = rest->ctx;
  loom_term lead = leading_term(ctx, divisor->at, divisor->n);
  for (int step = 0; rest->n > 0; step++) {
    loom_term term;
    if (step == MOST_STEPS) return false;
    if (!divide_term(ctx, leading_term(ctx, rest->at, rest->n), lead, &term)) return false;
    if (!add_product(quotient, LOOM_NUM_ONE, term, LOOM_NONE)) return false;
    if (!subtract(rest, term, divisor)) return false;
  }
  return loom_num_is_zero(rest->constant) && loom_terms_merge(quotient);
}

/* Whether every term is a product of few positive powers: only then does the outcome not depend on
** the order in which terms lead. */
static bool is_polynomial(const loom_ctx *ctx, loom_expr e) {
  for (size_t i = 0; i < loom_add_count(ctx, e); i++) {
    loom_expr term = loom_add_term(ctx, e, i).id;
    size_t n = loom_mul_count(ctx, term);
    if (n > MOST_POWERS) return false;
    for (size_t k = 0; k < n; k++)
      if (loom_mul_power(ctx, term, k).exponent < 0) return false;
  }
  return true;
}

static bool fit_for_division(const loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (loom_kind_of(ctx, a) != LOOM_ADD || loom_kind_of(ctx, b) != LOOM_ADD) return false;
  size_t n = loom_add_count(ctx, a), m = loom_add_count(ctx, b);
  return n * m <= MOST_PRODUCTS && is_polynomial(ctx, a) && is_polynomial(ctx, b);
}

loom_expr loom_divide_exactly(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!fit_for_division(ctx, a, b)) return LOOM_NONE;
  loom_terms rest, divisor, quotient;
  loom_terms_begin(ctx, &rest);
  loom_terms_begin(ctx, &divisor);
  loom_terms_begin(ctx, &quotient);
  bool good = loom_terms_add(&rest, LOOM_NUM_ONE, a) && loom_terms_add(&divisor, LOOM_NUM_ONE, b);
  loom_expr e =
      good && divide(&rest, &divisor, &quotient) ? loom_terms_build(&quotient) : LOOM_NONE;
  loom_terms_end(&rest);
  loom_terms_end(&divisor);
  loom_terms_end(&quotient);
  return e;
}
