/* SPDX-License-Identifier: MIT */
/* Costs as items: an expression is expanded into terms, each a number times one factor per variable.
** Invariant: equal factors of a variable have one number; factor 0 is the constant 1. */
#include <math.h>
#include <string.h>

#include "search/search.h"

static bool refuse(loom_nest *nest, loom_expr e) {
  char *text = loom_print(nest->ctx, e, LOOM_INFIX);
  loom_error_set(nest->ctx, LOOM_ERR_DOMAIN,
                 "a search needs sums of products of tile shapes, not %s", text ? text : "this");
  loom_free(text);
  return false;
}

static bool find_symbol(const loom_nest *nest, loom_expr symbol, int *variable, int *position) {
  for (int i = 0; i < nest->n_loops; i++) {
    if (nest->loops[i].tile != symbol) continue;
    *variable = nest->loops[i].variable;
    const loom_search_variable *v = &nest->variables[*variable];
    for (int k = 0; k < v->n_loops; k++)
      if (v->loop[k] == i) *position = k;
    return true;
  }
  return false;
}

static int intern(loom_nest *nest, int variable, const loom_factor *f) {
  loom_search_variable *v = &nest->variables[variable];
  for (size_t i = 0; i < v->factors.n; i++)
    if (memcmp(&v->factors.at[i], f, sizeof *f) == 0) return (int)i;
  return loom_vec_push(nest->ctx, &v->factors, *f) ? (int)v->factors.n - 1 : -1;
}

/* Multiplies the factors by symbol ^ exponent. */
static bool times_power(loom_nest *nest, loom_factor *factors, loom_expr symbol, int64_t exponent) {
  int variable, position = 0;
  if (!find_symbol(nest, symbol, &variable, &position)) return refuse(nest, symbol);
  int64_t power = factors[variable].power[position] + exponent;
  if (power < -100 || power > 100) return refuse(nest, symbol);
  factors[variable].power[position] = (int8_t)power;
  return true;
}

/* The loop whose trips, rounded up, are the expression, with what it cuts; false if there is none. */
static bool find_trips(loom_nest *nest, loom_expr e, int *variable, int *position, loom_expr *outer,
                       loom_expr *tile) {
  loom_ctx *ctx = nest->ctx;
  loom_expr symbols[3];
  size_t n = loom_expr_symbols(ctx, e, symbols, 3);
  for (size_t i = 0; i < n && n <= 2; i++) {
    if (!find_symbol(nest, symbols[i], variable, position)) return false;
    const loom_search_variable *v = &nest->variables[*variable];
    *tile = symbols[i];
    *outer = *position == 0 ? loom_int(ctx, v->size) : nest->loops[v->loop[*position - 1]].tile;
    if (loom_ceil(ctx, loom_div(ctx, *outer, *tile)) == e) return true;
  }
  return false;
}

/* Multiplies by the trips of a loop, rounded up; where its tile surely divides they are a quotient. */
static bool times_rounded(loom_nest *nest, loom_factor *factors, double *coefficient, loom_expr e) {
  loom_expr outer, tile;
  int variable, position = 0;
  if (!find_trips(nest, e, &variable, &position, &outer, &tile)) return refuse(nest, e);
  const loom_search_variable *v = &nest->variables[variable];
  uint32_t bit = (uint32_t)1 << position;
  if (v->absorbing != 0 && position <= v->n_leading) {
    if (factors[variable].rounded & bit) return refuse(nest, e);
    factors[variable].rounded |= bit;
    return true;
  }
  if (position == 0) *coefficient *= (double)v->size;
  return (position == 0 || times_power(nest, factors, outer, 1)) &&
         times_power(nest, factors, tile, -1);
}

static bool times(loom_nest *nest, loom_factor *factors, double *coefficient, loom_expr e) {
  int64_t exponent;
  double number;
  switch (loom_expr_kind(nest->ctx, e)) {
  case LOOM_NUM:
    if (!loom_as_real(nest->ctx, e, &number)) return refuse(nest, e);
    *coefficient *= number;
    return true;
  case LOOM_SYM: return times_power(nest, factors, e, 1);
  case LOOM_POW:
    if (!loom_as_int(nest->ctx, loom_expr_arg(nest->ctx, e, 1), &exponent) ||
        loom_expr_kind(nest->ctx, loom_expr_arg(nest->ctx, e, 0)) != LOOM_SYM)
      return refuse(nest, e);
    return times_power(nest, factors, loom_expr_arg(nest->ctx, e, 0), exponent);
  case LOOM_ADD:
  case LOOM_MUL: return refuse(nest, e);
  default: return times_rounded(nest, factors, coefficient, e);
  }
}

static bool add_term(loom_nest *nest, loom_column *column, loom_expr term, double scale) {
  loom_factor factors[LOOM_SEARCH_MAX_VARIABLES];
  memset(factors, 0, sizeof factors);
  loom_item item = {.coefficient = scale};
  size_t n = loom_expr_kind(nest->ctx, term) == LOOM_MUL ? loom_expr_arity(nest->ctx, term) : 0;
  if (n == 0 && !times(nest, factors, &item.coefficient, term)) return false;
  for (size_t i = 0; i < n; i++)
    if (!times(nest, factors, &item.coefficient, loom_expr_arg(nest->ctx, term, i))) return false;
  if (item.coefficient == 0) return true;
  for (int v = 0; v < nest->n_variables; v++) {
    int number = intern(nest, v, &factors[v]);
    if (number < 0) return false;
    item.p[v] = (int16_t)number;
  }
  item.n[0] = -1;
  return loom_vec_push(nest->ctx, &column->items, item);
}

bool loom_nest_add(loom_nest *nest, loom_column *column, loom_expr e, double scale) {
  e = loom_expand(nest->ctx, e);
  if (e == LOOM_NONE) return false;
  if (loom_expr_kind(nest->ctx, e) != LOOM_ADD) return add_term(nest, column, e, scale);
  size_t n = loom_expr_arity(nest->ctx, e);
  for (size_t i = 0; i < n; i++)
    if (!add_term(nest, column, loom_expr_arg(nest->ctx, e, i), scale)) return false;
  return true;
}
