/* SPDX-License-Identifier: MIT */
/* Costs as items: an expression is expanded into terms, each a number times one factor per part.
** Invariant: equal factors of a part have one number; factor 0 is the constant 1.  A function in a
** factor is never negative, or nothing else is a factor of its item. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* A term taken apart: for each part powers of its tiles and a product of functions (LOOM_NONE: 1). */
typedef struct term {
  double coefficient;
  loom_factor factors[LOOM_SEARCH_MAX_VARIABLES];
  loom_expr functions[LOOM_SEARCH_MAX_VARIABLES];
} term;

static bool refuse(loom_nest *nest, loom_expr e) {
  char *text = loom_print(nest->ctx, e, LOOM_INFIX);
  loom_error_set(nest->ctx, LOOM_ERR_DOMAIN, "a search cannot look at %s, in the costs of '%s'",
                 text ? text : "a formula", nest->text ? nest->text : "");
  loom_free(text);
  return false;
}

static int intern(loom_nest *nest, int number, const loom_factor *f) {
  loom_search_part *part = &nest->parts[number];
  for (size_t i = 0; i < part->factors.n; i++) {
    const loom_factor *other = &part->factors.at[i];
    if (other->function == f->function && other->rounded == f->rounded &&
        memcmp(other->power, f->power, (size_t)part->n_places) == 0)
      return (int)i;
  }
  return loom_vec_push(nest->ctx, &part->factors, *f) ? (int)part->factors.n - 1 : -1;
}

/* ---- taking a term apart ------------------------------------------------------------------ */

/* Multiplies the factors by symbol ^ exponent. */
static bool times_power(loom_nest *nest, term *t, loom_expr symbol, int64_t exponent) {
  int variable, place = 0;
  if (!loom_nest_find_tile(nest, symbol, &variable, &place)) return refuse(nest, symbol);
  int8_t *power = &t->factors[nest->variables[variable].part].power[place];
  if (*power + exponent < -100 || *power + exponent > 100) return refuse(nest, symbol);
  *power = (int8_t)(*power + exponent);
  return true;
}

uint32_t loom_nest_variables(loom_nest *nest, loom_expr e) {
  loom_expr symbols[LOOM_SEARCH_MAX_PLACES];
  size_t n = loom_expr_symbols(nest->ctx, e, symbols, LOOM_SEARCH_MAX_PLACES);
  uint32_t all = 0;
  for (size_t i = 0; i < n && i < LOOM_SEARCH_MAX_PLACES; i++) {
    int variable, place;
    if (!loom_nest_find_tile(nest, symbols[i], &variable, &place)) {
      refuse(nest, symbols[i]);
      return 0;
    }
    all |= (uint32_t)1 << variable;
  }
  if (all != 0 && n <= LOOM_SEARCH_MAX_PLACES) return all;
  refuse(nest, e);
  return 0;
}

/* The loop whose trips, rounded up, are the expression, and what it cuts; false if there is none. */
static bool find_trips(loom_nest *nest, loom_expr e, int *variable, int *position, loom_expr *outer,
                       loom_expr *tile) {
  loom_ctx *ctx = nest->ctx;
  loom_expr symbols[3];
  int place;
  size_t n = loom_expr_kind(ctx, e) == LOOM_CEIL ? loom_expr_symbols(ctx, e, symbols, 3) : 0;
  for (size_t i = 0; i < n && n <= 2; i++) {
    if (!loom_nest_find_tile(nest, symbols[i], variable, &place)) return false;
    const loom_search_variable *v = &nest->variables[*variable];
    *position = place - v->first;
    *tile = symbols[i];
    *outer = *position == 0 ? loom_int(ctx, v->size) : nest->loops[v->loop[*position - 1]].tile;
    if (loom_ceil(ctx, loom_div(ctx, *outer, *tile)) == e) return true;
  }
  return false;
}

static int lowest(uint32_t variables) {
  int v = 0;
  while (!(variables >> v & 1)) v++;
  return v;
}

/* Multiplies by a function; those of several parts have to be one. */
static bool times_function(loom_nest *nest, term *t, loom_expr e) {
  uint32_t variables = loom_nest_variables(nest, e);
  if (variables == 0) return false;
  loom_nest_couple(nest, variables);
  if (nest->split_wrongly) return true;
  loom_expr *own = &t->functions[nest->variables[lowest(variables)].part];
  *own = *own == LOOM_NONE ? e : loom_mul(nest->ctx, *own, e);
  return *own != LOOM_NONE;
}

/* Multiplies by what is no power: the trips of a loop, rounded up, which are a quotient where its tile
** surely divides, or some function. */
static bool times_rounded(loom_nest *nest, term *t, loom_expr e) {
  loom_expr outer, tile;
  int variable, position;
  if (!find_trips(nest, e, &variable, &position, &outer, &tile)) return times_function(nest, t, e);
  const loom_search_variable *v = &nest->variables[variable];
  uint64_t bit = (uint64_t)1 << (v->first + position), *rounded = &t->factors[v->part].rounded;
  if (v->absorbing != 0 && position <= v->n_leading) {
    if (*rounded & bit) return times_function(nest, t, e);
    *rounded |= bit;
    return true;
  }
  if (position == 0) t->coefficient *= (double)v->size;
  return (position == 0 || times_power(nest, t, outer, 1)) && times_power(nest, t, tile, -1);
}

static bool times(loom_nest *nest, term *t, loom_expr e) {
  int64_t exponent;
  double number;
  switch (loom_expr_kind(nest->ctx, e)) {
  case LOOM_NUM:
    if (!loom_as_real(nest->ctx, e, &number)) return refuse(nest, e);
    t->coefficient *= number;
    return true;
  case LOOM_SYM: return times_power(nest, t, e, 1);
  case LOOM_POW:
    if (!loom_as_int(nest->ctx, loom_expr_arg(nest->ctx, e, 1), &exponent)) return refuse(nest, e);
    if (loom_expr_kind(nest->ctx, loom_expr_arg(nest->ctx, e, 0)) != LOOM_SYM)
      return times_function(nest, t, e);
    return times_power(nest, t, loom_expr_arg(nest->ctx, e, 0), exponent);
  default: return times_rounded(nest, t, e);
  }
}

static bool take_apart(loom_nest *nest, loom_expr e, double scale, term *t) {
  t->coefficient = scale;
  memset(t->factors, 0, (size_t)nest->n_parts * sizeof *t->factors);
  for (int i = 0; i < nest->n_parts; i++) t->functions[i] = LOOM_NONE;
  if (loom_expr_kind(nest->ctx, e) != LOOM_MUL) return times(nest, t, e);
  size_t n = loom_expr_arity(nest->ctx, e);
  for (size_t i = 0; i < n; i++)
    if (!times(nest, t, loom_expr_arg(nest->ctx, e, i))) return false;
  return true;
}

/* ---- items -------------------------------------------------------------------------------- */

static bool push_item(loom_nest *nest, loom_column *column, const term *t) {
  loom_item item = {.coefficient = t->coefficient};
  for (int i = 0; i < nest->n_parts; i++) {
    int number = intern(nest, i, &t->factors[i]);
    if (number < 0) return false;
    item.p[i] = (int16_t)number;
  }
  item.n[0] = -1;
  return loom_vec_push(nest->ctx, &column->items, item);
}

static bool is_constant(const loom_search_part *part, const loom_factor *f) {
  for (int i = 0; i < part->n_places; i++)
    if (f->power[i]) return false;
  return f->function == 0 && f->rounded == 0;
}

/* All parts of the term in one. */
static void couple_parts(loom_nest *nest, const term *t) {
  uint32_t variables = 0;
  for (int i = 0; i < nest->n_parts; i++) {
    const loom_search_part *part = &nest->parts[i];
    if (is_constant(part, &t->factors[i]) && t->functions[i] == LOOM_NONE) continue;
    for (int k = 0; k < part->n_variables; k++) variables |= (uint32_t)1 << part->variables[k];
  }
  loom_nest_couple(nest, variables);
}

/* The trips of the loop in a place, rounded up. */
static loom_expr trips_of(const loom_nest *nest, const loom_search_part *part, int place) {
  const loom_search_variable *v = &nest->variables[loom_part_variable(nest, part, place)];
  loom_expr outer =
      place == v->first ? loom_int(nest->ctx, v->size) : nest->loops[part->loop[place - 1]].tile;
  return loom_ceil(nest->ctx, loom_div(nest->ctx, outer, nest->loops[part->loop[place]].tile));
}

/* Powers become part of the function: of less of them nothing follows where its sign is not known. */
static bool fold_powers(loom_nest *nest, int number, term *t) {
  const loom_search_part *part = &nest->parts[number];
  loom_expr e = t->functions[number];
  for (int i = 0; i < part->n_places && e != LOOM_NONE; i++) {
    int power = t->factors[number].power[i];
    if (power != 0)
      e = loom_mul(nest->ctx, e, loom_pow(nest->ctx, nest->loops[part->loop[i]].tile, power));
  }
  for (int i = 0; i < part->n_places && e != LOOM_NONE; i++)
    if (t->factors[number].rounded >> i & 1) e = loom_mul(nest->ctx, e, trips_of(nest, part, i));
  t->factors[number] = (loom_factor){0};
  t->functions[number] = e;
  return e != LOOM_NONE;
}

static bool add_from(loom_nest *nest, loom_column *column, term *t, int number);

/* f = (f - m) + m with the largest integer m below all that f is. */
static bool add_shifted(loom_nest *nest, loom_column *column, term *t, int number, double least) {
  term rest = *t;
  int64_t shift = (int64_t)floor(least);
  rest.coefficient *= (double)shift;
  rest.functions[number] = LOOM_NONE;
  t->functions[number] = loom_sub(nest->ctx, t->functions[number], loom_int(nest->ctx, shift));
  return t->functions[number] != LOOM_NONE && add_from(nest, column, t, number) &&
         add_from(nest, column, &rest, number + 1);
}

/* Makes functions of the parts from a number on factors, then the item. */
static bool add_from(loom_nest *nest, loom_column *column, term *t, int number) {
  while (number < nest->n_parts && t->functions[number] == LOOM_NONE) number++;
  if (number == nest->n_parts) return push_item(nest, column, t);
  int function = loom_part_add_function(nest, number, t->functions[number]);
  if (function == 0) return false;
  const loom_tile_function *f = nest->parts[number].functions.at[function].f;
  if (f->bounded && f->least < 0 && f->least > -1e15)
    return add_shifted(nest, column, t, number, f->least);
  if (!f->bounded || f->least < 0) {
    couple_parts(nest, t);
    if (nest->split_wrongly) return true;
    if (!fold_powers(nest, number, t)) return false;
    function = loom_part_add_function(nest, number, t->functions[number]);
    if (function == 0) return false;
    nest->parts[number].functions.at[function].bounded = false;
  }
  t->factors[number].function = (int16_t)function;
  return add_from(nest, column, t, number + 1);
}

static bool add_term(loom_nest *nest, loom_column *column, loom_expr e, double scale) {
  term t;
  if (!take_apart(nest, e, scale, &t)) return false;
  if (t.coefficient == 0 || nest->split_wrongly) return true;
  return add_from(nest, column, &t, 0);
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
