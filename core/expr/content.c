/* SPDX-License-Identifier: MIT */
/* Taking common factors out of sums: the number and the powers that all terms share.
** Invariant: what is taken out times what is left is the sum; denominators are never made common,
** since 'M/t + 1' may be known to be an integer where '(M + t)/t' is not. */
#include "expr/content.h"

size_t loom_leading(const loom_ctx *ctx, size_t n, const loom_term *terms) {
  size_t first = 0;
  for (size_t i = 1; i < n; i++)
    if (loom_expr_order(ctx, terms[i].id, terms[first].id) < 0) first = i;
  return first;
}

static loom_num first_coef(const loom_ctx *ctx, loom_expr e) {
  loom_term first = loom_add_term(ctx, e, 0);
  size_t n = loom_add_count(ctx, e);
  for (size_t i = 1; i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (loom_expr_order(ctx, term.id, first.id) < 0) first = term;
  }
  return first.coef;
}

bool loom_leads_negative(const loom_ctx *ctx, loom_expr e) {
  if (loom_expr_is_num(ctx, e)) return loom_num_sign(ctx, loom_num_of(ctx, e)) < 0;
  if (loom_kind_of(ctx, e) != LOOM_ADD) return false;
  return loom_num_sign(ctx, first_coef(ctx, e)) < 0;
}

/* Whether whole coefficients, one of them 1 or -1, leave nothing to take out. */
static bool is_primitive(loom_num constant, size_t n, const loom_term *terms) {
  bool unit = constant.num == 1 || constant.num == -1, whole = constant.den == 1;
  for (size_t i = 0; i < n && whole; i++) {
    whole = terms[i].coef.den == 1;
    unit = unit || terms[i].coef.num == 1 || terms[i].coef.num == -1;
  }
  return unit && whole;
}

loom_num loom_content(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms) {
  loom_num content = LOOM_NUM_ONE;
  if (!is_primitive(constant, n, terms)) {
    content = loom_num_gcd(ctx, constant, LOOM_NUM_ZERO);
    for (size_t i = 0; i < n; i++) content = loom_num_gcd(ctx, content, terms[i].coef);
  }
  if (n == 0 || loom_num_sign(ctx, terms[loom_leading(ctx, n, terms)].coef) > 0) return content;
  return loom_num_neg(ctx, content);
}

/* Keeps of the powers what e has too; returns how many are left. */
static size_t intersect(const loom_ctx *ctx, loom_power *powers, size_t n, loom_expr e) {
  size_t kept = 0, m = loom_mul_count(ctx, e);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < m; j++) {
      loom_power other = loom_mul_power(ctx, e, j);
      if (other.base != powers[i].base || other.exponent <= 0) continue;
      int32_t least = other.exponent < powers[i].exponent ? other.exponent : powers[i].exponent;
      powers[kept++] = (loom_power){other.base, least};
      break;
    }
  }
  return kept;
}

/* The powers that all terms of a sum share, none if there is a constant. */
static size_t shared_powers(const loom_terms *sum, loom_power *powers) {
  const loom_ctx *ctx = sum->ctx;
  if (!loom_num_is_zero(sum->constant) || sum->n == 0) return 0;
  size_t n = 0, m = loom_mul_count(ctx, sum->at->id);
  for (size_t i = 0; i < m && n < LOOM_MOST_COMMON; i++) {
    loom_power power = loom_mul_power(ctx, sum->at->id, i);
    if (power.exponent > 0) powers[n++] = power;
  }
  for (size_t i = 1; i < sum->n && n > 0; i++) n = intersect(ctx, powers, n, sum->at[i].id);
  return n;
}

/* Adds to n powers the most negative power of each base below the line of some term. */
static size_t add_denominators(const loom_terms *sum, loom_power *powers, size_t n) {
  const loom_ctx *ctx = sum->ctx;
  for (size_t i = 0; i < sum->n; i++) {
    for (size_t j = 0; j < loom_mul_count(ctx, sum->at[i].id); j++) {
      loom_power power = loom_mul_power(ctx, sum->at[i].id, j);
      if (power.exponent >= 0) continue;
      size_t k = 0;
      while (k < n && powers[k].base != power.base) k++;
      if (k == LOOM_MOST_COMMON) return n;
      if (k == n) powers[n++] = power;
      if (power.exponent < powers[k].exponent) powers[k] = power;
    }
  }
  return n;
}

size_t loom_common_powers(const loom_terms *sum, loom_power *powers, bool denominators) {
  size_t n = shared_powers(sum, powers);
  return denominators ? add_denominators(sum, powers, n) : n;
}

static loom_expr divide_term(loom_ctx *ctx, loom_expr e, size_t n, const loom_power *powers) {
  loom_factors product;
  loom_factors_begin(ctx, &product);
  bool good = loom_factors_add(&product, e, 1);
  for (size_t i = 0; good && i < n; i++)
    good = loom_factors_add(&product, powers[i].base, -powers[i].exponent);
  loom_expr result = LOOM_NONE;
  if (good && loom_factors_merge(&product)) result = loom_factors_make(&product);
  loom_factors_end(&product);
  return result;
}

static loom_expr divide_sum(loom_ctx *ctx, const loom_terms *sum, loom_num inverse, size_t n,
                            const loom_power *powers) {
  loom_terms rest;
  loom_terms_begin(ctx, &rest);
  rest.constant = loom_num_mul(ctx, sum->constant, inverse);
  bool good = !loom_num_is_none(rest.constant);
  for (size_t i = 0; good && i < sum->n; i++) {
    loom_expr e = n == 0 ? sum->at[i].id : divide_term(ctx, sum->at[i].id, n, powers);
    good = e != LOOM_NONE && loom_terms_add(&rest, loom_num_mul(ctx, sum->at[i].coef, inverse), e);
  }
  loom_expr result = good && loom_terms_merge(&rest) ? loom_terms_build(&rest) : LOOM_NONE;
  loom_terms_end(&rest);
  return result;
}

static loom_expr take(loom_factors *common, const loom_terms *sum, loom_expr e, int64_t exponent) {
  loom_ctx *ctx = common->ctx;
  loom_power powers[LOOM_MOST_COMMON];
  size_t n = loom_common_powers(sum, powers, false);
  loom_num content = loom_content(ctx, sum->constant, sum->n, sum->at);
  if (loom_num_is_none(content)) return LOOM_NONE;
  if (n == 0 && loom_num_is_one(content)) return e;
  common->coef = loom_num_mul(ctx, common->coef, loom_num_pow(ctx, content, exponent));
  if (loom_num_is_none(common->coef)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++)
    if (!loom_factors_add(common, powers[i].base, exponent * powers[i].exponent)) return LOOM_NONE;
  return divide_sum(ctx, sum, loom_num_inv(ctx, content), n, powers);
}

loom_expr loom_take_content(loom_factors *common, loom_expr e, int64_t exponent) {
  loom_terms sum;
  loom_terms_begin(common->ctx, &sum);
  loom_expr rest = LOOM_NONE;
  if (loom_terms_add(&sum, LOOM_NUM_ONE, e)) rest = take(common, &sum, e, exponent);
  loom_terms_end(&sum);
  return rest;
}
