/* SPDX-License-Identifier: MIT */
/* Products, quotients and powers.
** Invariant: a product is flat, powers of one base are merged, sums in it have coprime integer
** coefficients, a positive leading one, and no power common to all terms; its number stands in
** front, as the coefficient of a sum.  Products of sums are not expanded; a number times a sum is
** distributed.  x * x^-1 is 1 and x^0 is 1, also where x may be 0; 0^-n is an error. */
#include "expr/content.h"

/* Rounds of taking contents out of sums that came out of taking contents out. */
enum { MOST_ROUNDS = 16 };

loom_expr loom_factors_make(loom_factors *product) {
  loom_ctx *ctx = product->ctx;
  if (product->n == 0) return loom_from_num(ctx, LOOM_NUM_ONE);
  if (product->n == 1 && product->at->exponent == 1) return product->at->base;
  loom_power few[LOOM_FEW_POWERS] = {{0}}, *powers = few;
  size_t n = product->n;
  if (n > LOOM_FEW_POWERS) powers = loom_realloc_array(ctx, NULL, 0, n, sizeof *powers);
  if (!powers) return LOOM_NONE;
  for (size_t i = 0; i < n; i++)
    powers[i] = (loom_power){product->at[i].base, (int32_t)product->at[i].exponent};
  loom_expr e = loom_make_product(ctx, n, powers);
  if (powers != few) loom_realloc_array(ctx, powers, n, 0, sizeof *powers);
  return e;
}

/* Takes the content out of fresh sums; *again: new factors came in. */
static bool refine(loom_factors *product, bool *again) {
  loom_factors common;
  loom_factors_begin(product->ctx, &common);
  bool good = true;
  *again = false;
  for (size_t i = 0; good && i < product->n; i++) {
    loom_factor *factor = &product->at[i];
    if (!factor->fresh) continue;
    loom_expr rest = loom_take_content(&common, factor->base, factor->exponent);
    good = rest != LOOM_NONE;
    factor->fresh = good && rest != factor->base;
    if (!factor->fresh) continue;
    *again = true;
    good = loom_factors_add(&common, rest, factor->exponent);
    factor->exponent = 0;
  }
  if (good && *again) {
    product->coef = loom_num_mul(product->ctx, product->coef, common.coef);
    good = !loom_num_is_none(product->coef);
    for (size_t i = 0; good && i < common.n; i++) good = loom_factors_push(product, common.at[i]);
  }
  loom_factors_end(&common);
  return good;
}

static loom_expr canonicalise(loom_factors *product) {
  bool again = true;
  for (int round = 0; again; round++) {
    if (!loom_factors_merge(product)) return LOOM_NONE;
    if (loom_num_is_zero(product->coef)) return loom_from_num(product->ctx, LOOM_NUM_ZERO);
    bool alone = product->n == 1 && product->at->exponent == 1;
    if (alone || round == MOST_ROUNDS) break;
    if (!refine(product, &again)) return LOOM_NONE;
  }
  return loom_scale(product->ctx, product->coef, loom_factors_make(product));
}

loom_expr loom_build_product(loom_ctx *ctx, loom_num coef, size_t n, const loom_power *powers) {
  loom_factors product;
  loom_factors_begin(ctx, &product);
  product.coef = coef;
  bool good = !loom_num_is_none(coef);
  for (size_t i = 0; good && i < n; i++)
    good = powers[i].base != LOOM_NONE &&
           loom_factors_add(&product, powers[i].base, powers[i].exponent);
  loom_expr result = good ? canonicalise(&product) : LOOM_NONE;
  loom_factors_end(&product);
  return result;
}

static loom_expr times_power(loom_ctx *ctx, loom_expr a, loom_expr b, int64_t exponent) {
  loom_factors product;
  loom_factors_begin(ctx, &product);
  bool good = loom_factors_add(&product, a, 1) && loom_factors_add(&product, b, exponent);
  loom_expr result = good ? canonicalise(&product) : LOOM_NONE;
  loom_factors_end(&product);
  return result;
}

loom_expr loom_build_div(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE) return LOOM_NONE;
  if (loom_expr_is_num(ctx, b)) return loom_scale(ctx, loom_num_inv(ctx, loom_num_of(ctx, b)), a);
  return times_power(ctx, a, b, -1);
}

loom_expr loom_build_mul(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE) return LOOM_NONE;
  if (loom_expr_is_num(ctx, a)) return loom_scale(ctx, loom_num_of(ctx, a), b);
  if (loom_expr_is_num(ctx, b)) return loom_scale(ctx, loom_num_of(ctx, b), a);
  return times_power(ctx, a, b, 1);
}

loom_expr loom_mul(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  if (a > b) {
    loom_expr t = a;
    a = b;
    b = t;
  }
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_MUL, a, b);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, loom_build_mul(ctx, a, b));
  loom_memo_put(ctx, LOOM_MEMO_MUL, a, b, result);
  return result;
}

loom_expr loom_div(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_DIV, a, b);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, loom_build_div(ctx, a, b));
  loom_memo_put(ctx, LOOM_MEMO_DIV, a, b, result);
  return result;
}

loom_expr loom_pow(loom_ctx *ctx, loom_expr a, int64_t exponent) {
  if (!loom_usable1(ctx, a)) return LOOM_NONE;
  loom_factors product;
  loom_factors_begin(ctx, &product);
  loom_expr result = LOOM_NONE;
  if (loom_factors_add(&product, a, exponent)) result = canonicalise(&product);
  loom_factors_end(&product);
  return loom_finish(ctx, result);
}

loom_expr loom_product(loom_ctx *ctx, size_t n, const loom_expr *factors) {
  if (!loom_usable(ctx, n, factors)) return LOOM_NONE;
  loom_factors product;
  loom_factors_begin(ctx, &product);
  bool good = true;
  for (size_t i = 0; good && i < n; i++) good = loom_factors_add(&product, factors[i], 1);
  loom_expr result = good ? canonicalise(&product) : LOOM_NONE;
  loom_factors_end(&product);
  return loom_finish(ctx, result);
}
