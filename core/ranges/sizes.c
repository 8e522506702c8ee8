/* SPDX-License-Identifier: MIT */
/* Numbers are compared as such; everything else is asked of the expressions. */
#include "ranges/sizes.h"

#include "expr/ops.h"

bool loom_size_check(loom_ctx *ctx, loom_expr e, const char *what) {
  if (e == LOOM_NONE) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s is missing", what);
    return false;
  }
  if (!loom_expr_check(ctx, e)) return false;
  loom_facts facts = loom_facts_of(ctx, e);
  if (loom_facts_integer(facts) && !loom_facts_negative(facts)) return true;
  loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s must be an integer that may be 0 or more", what);
  return false;
}

static bool both_int(loom_ctx *ctx, loom_expr a, loom_expr b, int64_t *x, int64_t *y) {
  return loom_as_int(ctx, a, x) && loom_as_int(ctx, b, y);
}

bool loom_sizes_same(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given) {
  int64_t x, y;
  if (a == b) return true;
  return both_int(ctx, a, b, &x, &y) ? x == y : loom_known(ctx, LOOM_REL_EQ, a, b, given);
}

bool loom_size_is_one(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  int64_t x;
  if (loom_as_int(ctx, e, &x)) return x == 1;
  return loom_known(ctx, LOOM_REL_EQ, e, loom_int(ctx, 1), given);
}

bool loom_size_above(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given) {
  int64_t x, y;
  if (a == b) return false;
  return both_int(ctx, a, b, &x, &y) ? x > y : loom_known(ctx, LOOM_REL_GT, a, b, given);
}

bool loom_size_multiple(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given) {
  int64_t x, y;
  if (both_int(ctx, a, b, &x, &y) && y > 0) return x % y == 0;
  return loom_known(ctx, LOOM_REL_MULTIPLE, a, b, given);
}

bool loom_size_hinted_one(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  int64_t x;
  loom_expr value = e;
  if (!loom_as_int(ctx, e, &x) && !loom_hint_value(ctx, e, given, &value))
    return loom_size_is_one(ctx, e, given);
  return loom_as_int(ctx, value, &x) && x == 1;
}

loom_expr loom_size_product(loom_ctx *ctx, size_t n, const loom_expr *sizes) {
  loom_expr product = loom_int(ctx, 1);
  for (size_t i = 0; i < n; i++) product = loom_mul(ctx, product, sizes[i]);
  return product;
}
