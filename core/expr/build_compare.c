/* SPDX-License-Identifier: MIT */
/* Comparisons, with value 1 or 0, and selection.
** Invariant: a comparison that loom_sign_of_sum decides is a number (loom_known_lt, le and eq decide
** these and more); the others have no common term and no
** common positive number factor on both sides, and an equality has its positive leading term on
** the left. */
#include "expr/content.h"
#include "expr/facts.h"

/* The sides of a comparison of a sum with 0: positive terms left, negative ones right. */
static bool split_sides(loom_ctx *ctx, const loom_terms *sum, loom_expr *left, loom_expr *right) {
  loom_terms side[2];
  bool good = true;
  for (int i = 0; i < 2; i++) loom_terms_begin(ctx, &side[i]);
  for (size_t i = 0; good && i < sum->n; i++) {
    loom_term term = sum->at[i];
    bool negative = loom_num_sign(ctx, term.coef) < 0;
    if (negative) term.coef = loom_num_neg(ctx, term.coef);
    good = loom_terms_push(&side[negative], term.coef, term.id);
  }
  bool negative = loom_num_sign(ctx, sum->constant) < 0;
  side[negative].constant = negative ? loom_num_neg(ctx, sum->constant) : sum->constant;
  good = good && !loom_num_is_none(side[negative].constant);
  *left = good ? loom_terms_build(&side[0]) : LOOM_NONE;
  *right = good ? loom_terms_build(&side[1]) : LOOM_NONE;
  for (int i = 0; i < 2; i++) loom_terms_end(&side[i]);
  return *left != LOOM_NONE && *right != LOOM_NONE;
}

static bool divide(loom_terms *sum, loom_kind kind) {
  loom_ctx *ctx = sum->ctx;
  loom_num content = loom_content(ctx, sum->constant, sum->n, sum->at);
  if (kind != LOOM_EQ && loom_num_sign(ctx, content) < 0) content = loom_num_neg(ctx, content);
  loom_num inverse = loom_num_inv(ctx, content);
  sum->constant = loom_num_mul(ctx, sum->constant, inverse);
  bool good = !loom_num_is_none(sum->constant);
  for (size_t i = 0; good && i < sum->n; i++) {
    sum->at[i].coef = loom_num_mul(ctx, sum->at[i].coef, inverse);
    good = !loom_num_is_none(sum->at[i].coef);
  }
  return good;
}

/* The signs of a - b for which a comparison holds. */
static uint8_t signs_for(loom_kind kind) {
  return kind == LOOM_LT ? LOOM_NEG : kind == LOOM_LE ? LOOM_NEG | LOOM_ZERO : LOOM_ZERO;
}

/* The number a comparison of the sum with 0 is known to be, or LOOM_NONE. */
static loom_expr decide(loom_ctx *ctx, loom_kind kind, const loom_terms *sum) {
  uint8_t sign = loom_sign_of_sum(sum), holds = signs_for(kind);
  if ((sign & holds) == 0) return loom_from_num(ctx, LOOM_NUM_ZERO);
  return (sign & ~holds) == 0 ? loom_from_num(ctx, LOOM_NUM_ONE) : LOOM_NONE;
}

/* Decided before and after the common factor is taken out: coefficients may become integers. */
static loom_expr compare_sum(loom_ctx *ctx, loom_kind kind, loom_terms *sum) {
  loom_expr known = decide(ctx, kind, sum);
  if (known != LOOM_NONE) return known;
  if (!divide(sum, kind)) return LOOM_NONE;
  known = decide(ctx, kind, sum);
  if (known != LOOM_NONE) return known;
  loom_expr sides[2];
  if (!split_sides(ctx, sum, &sides[0], &sides[1])) return LOOM_NONE;
  return loom_make_args(ctx, kind, 2, sides);
}

static loom_expr compare(loom_ctx *ctx, loom_kind kind, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  loom_expr e = LOOM_NONE;
  if (loom_terms_add(&sum, LOOM_NUM_ONE, a) && loom_terms_add(&sum, LOOM_NUM_MINUS_ONE, b) &&
      loom_terms_merge(&sum))
    e = compare_sum(ctx, kind, &sum);
  loom_terms_end(&sum);
  return loom_finish(ctx, e);
}

loom_expr loom_lt(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return compare(ctx, LOOM_LT, a, b);
}

loom_expr loom_le(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return compare(ctx, LOOM_LE, a, b);
}

loom_expr loom_eq(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return compare(ctx, LOOM_EQ, a, b);
}

static bool is_int(const loom_ctx *ctx, loom_expr e, int64_t value) {
  return loom_expr_is_num(ctx, e) && loom_num_same(loom_num_of(ctx, e), LOOM_NUM(value));
}

loom_expr loom_select(loom_ctx *ctx, loom_expr c, loom_expr a, loom_expr b) {
  if (!loom_usable(ctx, 3, (loom_expr[]){c, a, b})) return LOOM_NONE;
  loom_facts f = loom_facts_of(ctx, c);
  if (a == b || loom_facts_nonzero(f)) return a;
  if (f.sign == LOOM_ZERO) return b;
  bool truth = f.integer == LOOM_YES && f.lo >= 0 && f.hi <= 1;
  if (truth && is_int(ctx, a, 1) && is_int(ctx, b, 0)) return c;
  return loom_finish(ctx, loom_make_args(ctx, LOOM_SELECT, 3, (loom_expr[]){c, a, b}));
}
