/* SPDX-License-Identifier: MIT */
/* Substitution and what is made of it: finite differences.
** Invariant: all symbols are replaced at once, in one walk in which each distinct sub-expression is
** rebuilt at most once.  What has no value (division by zero) matters only where it is not on the
** side of a select that does not count. */
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

/* What a symbol divides, at the point that is substituted, is a multiple of the symbol's number. */
static bool divides(loom_ctx *ctx, loom_expr symbol, loom_expr value, size_t n,
                    const loom_expr *symbols, const loom_expr *values) {
  loom_expr whole = loom_cell_of(ctx, symbol)->u.symbol->assume.divides;
  if (whole == LOOM_NONE || !loom_expr_is_num(ctx, value)) return true;
  whole = loom_replace(ctx, whole, n, symbols, values);
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

/* The side that counts of a select with a decided condition, one of which has no value. */
static loom_expr select_side(const loom_ctx *ctx, const loom_expr *children) {
  if (children[0] == LOOM_NONE) return LOOM_NONE;
  loom_facts condition = loom_facts_of(ctx, children[0]);
  if (loom_facts_nonzero(condition)) return children[1];
  return condition.sign == LOOM_ZERO ? children[2] : LOOM_NONE;
}

/* f with its children replaced by their values in the walk, of which those without are LOOM_NONE. */
static loom_expr rewrite(loom_ctx *ctx, const loom_walk *walk, loom_expr f, loom_expr *children) {
  size_t n = loom_child_count(ctx, f);
  bool changed = false, whole = true;
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, f, i);
    children[i] = loom_walk_get(walk, child);
    changed |= children[i] != child;
    whole &= children[i] != LOOM_NONE;
  }
  if (!whole) return loom_kind_of(ctx, f) == LOOM_SELECT ? select_side(ctx, children) : LOOM_NONE;
  return changed ? loom_rebuild(ctx, f, children) : f;
}

/* What becomes of a number or a symbol. */
static loom_expr replace_leaf(loom_expr e, size_t n, const loom_expr *nodes,
                              const loom_expr *values) {
  for (size_t i = n; i-- > 0;)
    if (nodes[i] == e) return values[i];
  return e;
}

loom_expr loom_replace(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *nodes,
                       const loom_expr *values) {
  loom_walk walk;
  LOOM_VEC(loom_expr) children = {0};
  if (n == 0 || loom_kind_of(ctx, e) <= LOOM_SYM) return replace_leaf(e, n, nodes, values);
  if (!loom_walk_begin(ctx, &walk, false)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) loom_walk_set(&walk, nodes[i], values[i]);
  loom_walk_root(&walk, e);
  loom_error_record error = loom_base_of(ctx)->error;
  bool clean = error.status == LOOM_OK, good = true;
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    good = loom_vec_reserve(ctx, &children, loom_child_count(ctx, f));
    if (good) loom_walk_set(&walk, f, rewrite(ctx, &walk, f, children.at));
    good = good && !loom_base_failed(ctx);
    if (good && clean && loom_error_status(ctx) != LOOM_OK) {
      if (error.status == LOOM_OK) error = loom_base_of(ctx)->error;
      loom_error_clear(ctx);
    }
  }
  loom_expr result = good ? loom_walk_get(&walk, e) : LOOM_NONE;
  if (!loom_walk_end(&walk)) result = LOOM_NONE;
  loom_vec_free(ctx, &children);
  if (result == LOOM_NONE && error.status != LOOM_OK)
    loom_error_set(ctx, error.status, "%s", error.message);
  return result;
}

/* Linear in the distinct sub-expressions, plus the rebuilding of those that change.
** LOOM_ERR_DOMAIN when a number contradicts what its symbol assumes. */
loom_expr loom_substitute(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *symbols,
                          const loom_expr *values) {
  if (!loom_expr_check(ctx, e) || !check(ctx, n, symbols, values)) return LOOM_NONE;
  return loom_replace(ctx, e, n, symbols, values);
}

/* Expanded, so that what both sides share cancels. */
loom_expr loom_difference(loom_ctx *ctx, loom_expr e, loom_expr symbol, loom_expr step) {
  loom_expr next = loom_add(ctx, symbol, step);
  loom_expr moved = loom_substitute(ctx, e, 1, &symbol, &next);
  return loom_expand(ctx, loom_sub(ctx, moved, e));
}
