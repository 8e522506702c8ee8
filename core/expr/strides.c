/* SPDX-License-Identifier: MIT */
/* Steps of an address along its variables, and loops that can be walked as one.
** Invariant: strides are those at the origin: of a division or remainder they are the first step. */
#include "expr/index.h"

#include <string.h>

typedef LOOM_VEC(loom_expr) expr_list;

static bool check_symbols(loom_ctx *ctx, size_t n, const loom_expr *symbols) {
  for (size_t i = 0; i < n; i++)
    if (!loom_expr_check(ctx, symbols[i])) return false;
  return true;
}

/* The symbols among n variables; numbers have nothing to set. */
static bool list_symbols(loom_ctx *ctx, expr_list *list, size_t n, const loom_expr *variables) {
  for (size_t i = 0; i < n; i++)
    if (loom_kind_of(ctx, variables[i]) == LOOM_SYM && !loom_vec_push(ctx, list, variables[i]))
      return false;
  return true;
}

/* e with the symbols at 0, but one of them (or LOOM_NONE) at 1. */
static loom_expr at_origin(loom_ctx *ctx, loom_expr e, const expr_list *symbols, loom_expr one) {
  expr_list values = {0};
  loom_expr result = LOOM_NONE;
  bool good = loom_vec_reserve(ctx, &values, symbols->n);
  for (size_t i = 0; good && i < symbols->n; i++)
    values.at[i] = loom_int(ctx, symbols->at[i] == one);
  if (good) result = loom_substitute(ctx, e, symbols->n, symbols->at, values.at);
  loom_vec_free(ctx, &values);
  return result;
}

/* ---- strides -------------------------------------------------------------------------------- */

static loom_expr stride_along(loom_ctx *ctx, loom_expr e, loom_expr variable, expr_list *support) {
  if (loom_kind_of(ctx, variable) != LOOM_SYM) return loom_int(ctx, 0);
  size_t n = support->n;
  if (!loom_vec_push(ctx, support, variable)) return LOOM_NONE;
  loom_expr at_one = at_origin(ctx, e, support, variable);
  loom_expr at_zero = at_origin(ctx, e, support, LOOM_NONE);
  support->n = n;
  return loom_simplify(ctx, loom_sub(ctx, at_one, at_zero));
}

loom_status loom_strides(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables,
                         size_t n_support, const loom_expr *support, loom_expr *strides) {
  expr_list others = {0};
  bool good = loom_expr_check(ctx, e) && check_symbols(ctx, n, variables) &&
              check_symbols(ctx, support ? n_support : 0, support) &&
              list_symbols(ctx, &others, support ? n_support : n, support ? support : variables);
  e = good ? loom_simplify(ctx, e) : LOOM_NONE;
  for (size_t i = 0; i < n && e != LOOM_NONE && good; i++) {
    strides[i] = stride_along(ctx, e, variables[i], &others);
    good = strides[i] != LOOM_NONE;
  }
  loom_vec_free(ctx, &others);
  return good && e != LOOM_NONE ? LOOM_OK : loom_error_status(ctx);
}

static bool is_loaded(const loom_ctx *ctx, loom_expr symbol) {
  return strncmp(loom_symbol_name(ctx, symbol), "indirect", strlen("indirect")) == 0;
}

/* e with the symbols of values loaded at run time at 0. */
static loom_expr without_loaded(loom_ctx *ctx, loom_expr e) {
  loom_walk walk;
  expr_list loaded = {0};
  bool good = loom_walk_begin(ctx, &walk, false);
  if (!good) return LOOM_NONE;
  loom_walk_root(&walk, e);
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;)
    if (loom_kind_of(ctx, f) == LOOM_SYM && is_loaded(ctx, f))
      good = loom_vec_push(ctx, &loaded, f);
  good = loom_walk_end(&walk) && good;
  if (good && loaded.n) e = at_origin(ctx, e, &loaded, LOOM_NONE);
  loom_vec_free(ctx, &loaded);
  return good ? e : LOOM_NONE;
}

loom_status loom_stride_hints(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables,
                              size_t n_support, const loom_expr *support, const loom_given *given,
                              loom_expr *hints) {
  if (!loom_expr_check(ctx, e)) return loom_error_status(ctx);
  e = without_loaded(ctx, e);
  if (e == LOOM_NONE) return loom_error_status(ctx);
  loom_status status = loom_strides(ctx, e, n, variables, n_support, support, hints);
  for (size_t i = 0; status == LOOM_OK && i < n; i++) {
    loom_expr value = loom_at_hints(ctx, hints[i], given);
    if (value == LOOM_NONE) return loom_error_status(ctx);
    bool whole = loom_expr_is_num(ctx, value) && loom_num_is_int(ctx, loom_num_of(ctx, value));
    hints[i] = whole ? value : loom_int(ctx, 0);
  }
  return status;
}

loom_expr loom_offset(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables) {
  expr_list symbols = {0};
  bool good = loom_expr_check(ctx, e) && check_symbols(ctx, n, variables) &&
              list_symbols(ctx, &symbols, n, variables);
  e = good ? at_origin(ctx, loom_simplify(ctx, e), &symbols, LOOM_NONE) : LOOM_NONE;
  loom_vec_free(ctx, &symbols);
  return e;
}
