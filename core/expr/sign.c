/* SPDX-License-Identifier: MIT */
/* The signs a sum can have, looked at harder than its interval alone tells. */
#include "expr/content.h"
#include "expr/facts.h"

static uint8_t sign_of_product(loom_ctx *ctx, const loom_factors *product) {
  uint8_t sign = loom_num_sign(ctx, product->coef) < 0 ? LOOM_NEG : LOOM_POS;
  for (size_t i = 0; i < product->n; i++) {
    uint8_t base = loom_facts_of(ctx, product->at[i].base).sign;
    sign = loom_sign_mul(sign, loom_sign_pow(base, (int32_t)product->at[i].exponent));
  }
  return sign;
}

/* The sign of a sum once the powers that all its terms share, and its denominators, are taken out. */
static uint8_t sign_by_quotient(loom_ctx *ctx, const loom_terms *sum) {
  loom_factors common;
  loom_factors_begin(ctx, &common);
  loom_expr rest = loom_take_quotient(&common, sum);
  uint8_t sign = LOOM_ANY_SIGN;
  if (rest != LOOM_NONE)
    sign = loom_sign_mul(sign_of_product(ctx, &common), loom_facts_of(ctx, rest).sign);
  loom_factors_end(&common);
  return sign;
}

uint8_t loom_sign_of_sum(const loom_terms *sum) {
  loom_ctx *ctx = sum->ctx;
  uint8_t sign = loom_facts_sum(ctx, sum->constant, sum->n, sum->at).sign;
  bool undecided = (sign & LOOM_NEG) && (sign & LOOM_POS);
  bool factors = sum->n > (loom_num_is_zero(sum->constant) ? 1 : 0);
  return undecided && factors ? sign & sign_by_quotient(ctx, sum) : sign;
}

loom_facts loom_facts_difference(loom_ctx *ctx, loom_expr a, loom_expr b) {
  loom_terms sum;
  loom_facts f = loom_facts_nothing();
  loom_terms_begin(ctx, &sum);
  if (loom_terms_add(&sum, LOOM_NUM_ONE, a) && loom_terms_add(&sum, LOOM_NUM_MINUS_ONE, b) &&
      loom_terms_merge(&sum)) {
    f = loom_facts_sum(ctx, sum.constant, sum.n, sum.at);
    f.sign = loom_sign_of_sum(&sum);
    f = loom_facts_settle(f);
  }
  loom_terms_end(&sum);
  return loom_base_failed(ctx) ? loom_facts_nothing() : f;
}
