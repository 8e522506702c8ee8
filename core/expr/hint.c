/* SPDX-License-Identifier: MIT */
/* Values at hints: examples for sizes that are not known.
** Invariant: a hint decides nothing but what asks for a hint. */
#include "expr/index.h"

/* The hints that have values, as two lists.  False with an error. */
typedef struct hinted {
  LOOM_VEC(loom_expr) symbols;
  LOOM_VEC(loom_expr) values;
} hinted;

static bool list_hints(loom_ctx *ctx, hinted *h, const loom_given *given) {
  for (size_t i = 0; given && i < given->n_hints; i++) {
    loom_hint hint = given->hints[i];
    if (!loom_symbol_check(ctx, hint.symbol)) return false;
    if (hint.value == LOOM_NONE) continue;
    if (!loom_expr_check(ctx, hint.value) || !loom_vec_push(ctx, &h->symbols, hint.symbol) ||
        !loom_vec_push(ctx, &h->values, hint.value))
      return false;
  }
  return true;
}

loom_expr loom_at_hints(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  hinted h = {0};
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  if (loom_expr_is_num(ctx, e)) return e;
  bool good = list_hints(ctx, &h, given);
  if (good) e = loom_substitute(ctx, e, h.symbols.n, h.symbols.at, h.values.at);
  loom_vec_free(ctx, &h.symbols);
  loom_vec_free(ctx, &h.values);
  if (!good || e == LOOM_NONE) return LOOM_NONE;
  return loom_reveal(ctx, e);
}

bool loom_hint_value(loom_ctx *ctx, loom_expr e, const loom_given *given, loom_expr *value) {
  *value = loom_at_hints(ctx, e, given);
  return *value != LOOM_NONE && loom_expr_is_num(ctx, *value);
}

loom_expr loom_hint_or(loom_ctx *ctx, loom_expr e, const loom_given *given, int64_t fallback) {
  loom_expr value, lo, hi, other = loom_int(ctx, fallback);
  if (loom_hint_value(ctx, e, given, &value) || value == LOOM_NONE) return value;
  if (loom_bounds(ctx, e, &lo, &hi) != LOOM_OK) return LOOM_NONE;
  if (lo != LOOM_NONE) other = loom_max(ctx, 2, (loom_expr[]){other, lo});
  if (hi != LOOM_NONE) other = loom_min(ctx, 2, (loom_expr[]){other, hi});
  return other;
}
