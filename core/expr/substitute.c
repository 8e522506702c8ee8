/* SPDX-License-Identifier: MIT */
/* Substitution and what is made of it: finite differences.
** Invariant: all symbols are replaced at once, in one walk in which each distinct sub-expression is
** rebuilt at most once. */
#include "expr/ops.h"

/* A number given for a symbol must be one the symbol can have: rewrites relied on it. */
static bool admissible(loom_ctx *ctx, loom_expr symbol, loom_expr value) {
  if (!loom_expr_is_num(ctx, value)) return true;
  const loom_assume *assume = &loom_cell_of(ctx, symbol)->u.symbol->assume;
  loom_num num = loom_num_of(ctx, value);
  const char *name = loom_symbol_name(ctx, symbol);
  const char *wanted = NULL;
  int64_t bound = 0;
  if (assume->has_min && loom_num_cmp(ctx, num, loom_num_int(ctx, assume->min)) < 0) {
    wanted = "at least";
    bound = assume->min;
  } else if (assume->has_max && loom_num_cmp(ctx, num, loom_num_int(ctx, assume->max)) > 0) {
    wanted = "at most";
    bound = assume->max;
  } else if (assume->multiple > 1 &&
             (!loom_num_is_int(ctx, num) || loom_num_residue(ctx, num, assume->multiple) != 0)) {
    wanted = "a multiple of";
    bound = assume->multiple;
  } else if (assume->integer && !loom_num_is_int(ctx, num)) {
    loom_error_set(ctx, LOOM_ERR_DOMAIN, "the value of %s must be an integer", name);
    return false;
  }
  if (wanted)
    loom_error_set(ctx, LOOM_ERR_DOMAIN, "the value of %s must be %s %lld", name, wanted,
                   (long long)bound);
  return !wanted;
}

static loom_expr replace(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *symbols,
                         const loom_expr *values);

/* What a symbol divides, at the point that is substituted, is a multiple of the symbol's number. */
static bool divides(loom_ctx *ctx, loom_expr symbol, loom_expr value, size_t n,
                    const loom_expr *symbols, const loom_expr *values) {
  loom_expr whole = loom_cell_of(ctx, symbol)->u.symbol->assume.divides;
  if (whole == LOOM_NONE || !loom_expr_is_num(ctx, value)) return true;
  whole = replace(ctx, whole, n, symbols, values);
  if (whole == LOOM_NONE) return false;
  if (!loom_expr_is_num(ctx, whole)) return true;
  if (!loom_num_is_zero(loom_num_of(ctx, value))) {
    loom_expr quotient = loom_div(ctx, whole, value);
    if (quotient == LOOM_NONE || loom_is_integer(ctx, quotient) == LOOM_YES)
      return quotient != LOOM_NONE;
  }
  char *text = loom_print(ctx, whole, LOOM_INFIX);
  loom_error_set(ctx, LOOM_ERR_DOMAIN, "the value of %s must divide %s",
                 loom_symbol_name(ctx, symbol), text ? text : "?");
  loom_free(text);
  return false;
}

static bool check(loom_ctx *ctx, size_t n, const loom_expr *symbols, const loom_expr *values) {
  for (size_t i = 0; i < n; i++) {
    if (symbols[i] == LOOM_NONE || values[i] == LOOM_NONE) return false;
    if (!loom_expr_live(ctx, symbols[i]) || !loom_expr_live(ctx, values[i]) ||
        loom_kind_of(ctx, symbols[i]) != LOOM_SYM) {
      loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                     "loom_substitute: pair %zu is not a symbol and an expression", i);
      return false;
    }
    if (!admissible(ctx, symbols[i], values[i])) return false;
  }
  for (size_t i = 0; i < n; i++)
    if (!divides(ctx, symbols[i], values[i], n, symbols, values)) return false;
  return true;
}

/* f with its children replaced by their values in the walk. */
static loom_expr rewrite(loom_ctx *ctx, const loom_walk *walk, loom_expr f, loom_expr *children) {
  size_t n = loom_child_count(ctx, f);
  bool changed = false;
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, f, i);
    children[i] = loom_walk_get(walk, child);
    changed |= children[i] != child;
  }
  return changed ? loom_rebuild(ctx, f, children) : f;
}

static loom_expr replace(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *symbols,
                         const loom_expr *values) {
  loom_walk walk;
  LOOM_VEC(loom_expr) children = {0};
  if (!loom_walk_begin(ctx, &walk, false)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) loom_walk_set(&walk, symbols[i], values[i]);
  loom_walk_root(&walk, e);
  loom_expr result = LOOM_NONE;
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    good = loom_vec_reserve(ctx, &children, loom_child_count(ctx, f));
    if (good) good = (result = rewrite(ctx, &walk, f, children.at)) != LOOM_NONE;
    if (good) loom_walk_set(&walk, f, result);
  }
  if (good) result = loom_walk_get(&walk, e);
  if (!loom_walk_end(&walk)) good = false;
  loom_vec_free(ctx, &children);
  return good ? result : LOOM_NONE;
}

/* Linear in the distinct sub-expressions, plus the rebuilding of those that change.
** LOOM_ERR_DOMAIN when a number contradicts what its symbol assumes. */
loom_expr loom_substitute(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *symbols,
                          const loom_expr *values) {
  if (!loom_expr_check(ctx, e) || !check(ctx, n, symbols, values)) return LOOM_NONE;
  return replace(ctx, e, n, symbols, values);
}

/* Expanded, so that what both sides share cancels. */
loom_expr loom_difference(loom_ctx *ctx, loom_expr e, loom_expr symbol, loom_expr step) {
  loom_expr next = loom_add(ctx, symbol, step);
  loom_expr moved = loom_substitute(ctx, e, 1, &symbol, &next);
  return loom_expand(ctx, loom_sub(ctx, moved, e));
}
