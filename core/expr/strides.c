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

/* ---- linear terms --------------------------------------------------------------------------- */

static bool is_one_of(loom_expr e, size_t n, const loom_expr *variables) {
  for (size_t i = 0; i < n; i++)
    if (variables[i] == e) return true;
  return false;
}

typedef enum place { ABSENT, LINEAR, ELSEWHERE } place;

/* How a variable stands in a term without its coefficient. */
static place find_in_term(loom_ctx *ctx, loom_expr id, loom_expr variable, size_t n,
                          const loom_expr *variables) {
  loom_kind kind = loom_kind_of(ctx, id);
  if (kind == LOOM_SYM) return id == variable ? LINEAR : ABSENT;
  if (kind == LOOM_MUL) {
    bool plain = true, linear = false;
    for (size_t i = 0; plain && i < loom_mul_count(ctx, id); i++) {
      loom_power power = loom_mul_power(ctx, id, i);
      plain = loom_kind_of(ctx, power.base) == LOOM_SYM;
      if (power.base == variable)
        linear = power.exponent == 1;
      else if (is_one_of(power.base, n, variables))
        plain = false;
    }
    if (plain && linear) return LINEAR;
  }
  return loom_occurs(ctx, variable, id) ? ELSEWHERE : ABSENT;
}

bool loom_linear_stride(loom_ctx *ctx, loom_expr e, loom_expr variable, size_t n,
                        const loom_expr *variables, loom_expr *stride) {
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  size_t count = sum ? loom_add_count(ctx, e) : 1;
  *stride = loom_int(ctx, 0);
  for (size_t i = 0; i < count && *stride != LOOM_NONE; i++) {
    loom_term term = sum ? loom_add_term(ctx, e, i) : loom_split_coef(ctx, e);
    if (term.id == LOOM_NONE) continue;
    place found = find_in_term(ctx, term.id, variable, n, variables);
    if (found == ELSEWHERE) return false;
    if (found == LINEAR)
      *stride =
          loom_add(ctx, *stride, loom_scale(ctx, term.coef, loom_div(ctx, term.id, variable)));
  }
  return true;
}

/* ---- strides -------------------------------------------------------------------------------- */

/* What a term that is not linear adds to the stride: its value at 1 less that at 0. */
static loom_expr first_step(loom_ctx *ctx, loom_expr term, loom_expr variable,
                            const expr_list *symbols) {
  loom_expr at_one = at_origin(ctx, term, symbols, variable);
  loom_expr at_zero = at_origin(ctx, term, symbols, LOOM_NONE);
  return loom_simplify(ctx, loom_sub(ctx, at_one, at_zero));
}

/* Term by term; support has room for one more. */
static loom_expr stride_along(loom_ctx *ctx, loom_expr e, loom_expr variable, expr_list *support) {
  loom_expr stride = loom_int(ctx, 0);
  if (loom_kind_of(ctx, variable) != LOOM_SYM) return stride;
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  size_t count = sum ? loom_add_count(ctx, e) : 1, n = support->n;
  support->at[support->n++] = variable;
  for (size_t i = 0; i < count && stride != LOOM_NONE; i++) {
    loom_term term = sum ? loom_add_term(ctx, e, i) : loom_split_coef(ctx, e);
    if (term.id == LOOM_NONE) continue;
    place found = find_in_term(ctx, term.id, variable, n, support->at);
    loom_expr step = LOOM_NONE;
    if (found == ABSENT) continue;
    if (found == LINEAR) step = loom_div(ctx, term.id, variable);
    if (found == ELSEWHERE) step = first_step(ctx, term.id, variable, support);
    stride = loom_add(ctx, stride, loom_scale(ctx, term.coef, step));
  }
  support->n = n;
  return stride == LOOM_NONE ? stride : loom_simplify(ctx, stride);
}

loom_status loom_strides(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables,
                         size_t n_support, const loom_expr *support, loom_expr *strides) {
  expr_list others = {0};
  bool good = loom_expr_check(ctx, e) && check_symbols(ctx, n, variables) &&
              check_symbols(ctx, support ? n_support : 0, support) &&
              list_symbols(ctx, &others, support ? n_support : n, support ? support : variables) &&
              loom_vec_reserve(ctx, &others, 1);
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
