/* SPDX-License-Identifier: MIT */
/* Choices of the tiles of several variables that a function couples: their chains, one of each.
** Invariant: a choice that is not listed has fallen to a limit, or another one is as good. */
#include <math.h>
#include <string.h>

#include "search/search.h"

#define MOST_LOOKED_AT 1e8  /* choices of a template */
#define FIRST_PRUNING 16384 /* rows */

/* What an item of a limited column takes at least: coefficient * factor. */
typedef struct load {
  double coefficient; /* with the least of other parts */
  int factor;
} load;

/* A limited column in which nothing is negative: its loads up to `end`. */
typedef struct limit {
  const loom_column *column;
  size_t end;
} limit;

typedef struct crossing {
  loom_nest *nest;
  int number;
  const loom_search_part *part;
  const loom_rows *lists;
  const loom_search_level *level;
  const double *values;
  loom_rows *out;
  double after[LOOM_SEARCH_MAX_VARIABLES + 1]; /* choices of the variables from one on */
  size_t row[LOOM_SEARCH_MAX_VARIABLES];       /* at hand */
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  LOOM_VEC(load) loads;
  LOOM_VEC(limit) limits;
  double *least; /* of the powers of each variable in each factor */
  double looked_at;
  size_t prune_at;
} crossing;

/* ---- limits ------------------------------------------------------------------------------- */

static bool is_bounded(const crossing *x, const loom_item *item) {
  if (item->n[0] >= 0) return true;
  if (item->coefficient < 0) return false;
  int function = x->part->factors.at[item->p[x->number]].function;
  return function == 0 || x->part->functions.at[function].bounded;
}

static double least_of_others(const crossing *x, const loom_item *item) {
  double product = item->coefficient;
  for (int i = 0; i < x->nest->n_parts; i++)
    if (i != x->number) product *= loom_factor_min(x->nest, i, item->p[i]);
  return product;
}

static bool list_limit(crossing *x, const loom_column *column) {
  loom_ctx *ctx = x->nest->ctx;
  for (size_t k = 0; k < column->items.n; k++)
    if (!is_bounded(x, &column->items.at[k])) return true;
  for (size_t k = 0; k < column->items.n; k++) {
    const loom_item *item = &column->items.at[k];
    load l = {least_of_others(x, item), item->p[x->number]};
    if (item->n[0] < 0 && !loom_vec_push(ctx, &x->loads, l)) return false;
  }
  limit l = {column, x->loads.n};
  return loom_vec_push(ctx, &x->limits, l);
}

static bool list_limits(crossing *x) {
  size_t n = x->part->factors.n;
  x->least =
      loom_realloc_array(x->nest->ctx, NULL, 0, (size_t)x->part->n_variables * n, sizeof *x->least);
  if (!x->least) return false;
  for (int i = 0; i < x->part->n_variables; i++)
    for (size_t k = 0; k < n; k++)
      x->least[(size_t)i * n + k] =
          loom_powers_min(x->nest, x->part->variables[i], &x->part->factors.at[k]);
  for (size_t i = 0; i < x->nest->columns.n; i++) {
    const loom_column *column = &x->nest->columns.at[i];
    if (column->limit < INFINITY && !list_limit(x, column)) return false;
  }
  return true;
}

/* The function looks at tiles of the first n variables only. */
static bool is_known(const crossing *x, const loom_tile_function *f, int n) {
  for (int i = 0; i < f->n; i++) {
    int k = 0;
    while (x->part->variables[k] != f->variables[i]) k++;
    if (k >= n) return false;
  }
  return true;
}

static double power(double x, int exponent) {
  double result = 1;
  for (int n = exponent < 0 ? -exponent : exponent; n > 0; n--) result *= x;
  return exponent < 0 ? 1 / result : result;
}

/* The least of a factor of the part where the tiles of its first n variables are chosen. */
static double least_factor(const crossing *x, int factor, int n) {
  const loom_factor *f = &x->part->factors.at[factor];
  double product = 1;
  for (int i = 0; i < x->part->n_variables; i++) {
    const loom_search_variable *v = &x->nest->variables[x->part->variables[i]];
    if (i >= n) product *= x->least[(size_t)i * x->part->factors.n + (size_t)factor];
    for (int j = 0; i < n && j < v->n_loops; j++)
      if (f->power[v->first + j]) product *= power(x->tiles[v->loop[j]], f->power[v->first + j]);
  }
  if (f->function == 0) return product;
  const loom_tile_function *own = x->part->functions.at[f->function].f;
  if (is_known(x, own, n))
    return product * loom_part_value(x->nest, x->number, f->function, x->tiles);
  return product * own->least;
}

/* The limited column that is too large whatever is chosen for the other variables; NULL: none. */
static const loom_column *exceeded(const crossing *x, int n) {
  size_t k = 0;
  for (size_t i = 0; i < x->limits.n; i++) {
    const limit *l = &x->limits.at[i];
    double sum = 0;
    for (; k < l->end; k++)
      sum += x->loads.at[k].coefficient * least_factor(x, x->loads.at[k].factor, n);
    if (sum > l->column->limit) return l->column;
  }
  return NULL;
}

/* ---- choices ------------------------------------------------------------------------------ */

/* Keys of the chains at hand multiplied, then what each uses, where bounds of loops ask for it. */
static void fill_keys(const crossing *x, double *keys, uint32_t *fused) {
  const loom_nest *nest = x->nest;
  int n = nest->n_fused + nest->n_dims;
  for (int q = 0; q < x->out->n_keys; q++) keys[q] = 1;
  *fused = 0;
  for (int i = 0; i < x->part->n_variables; i++) {
    const loom_rows *list = &x->lists[i];
    const double *own = list->keys + x->row[i] * (size_t)list->n_keys;
    *fused |= list->fused[x->row[i]];
    for (int q = 0; q < n; q++) keys[q] *= own[q];
    for (int d = 0; d < nest->n_dims && nest->n_bounds > 0; d++)
      keys[loom_uses_key(nest, x->part, i) + d] = own[nest->n_fused + d];
  }
}

static bool refuse(const crossing *x) {
  loom_error_set(x->nest->ctx, LOOM_ERR_LIMIT,
                 "formulas of the costs of '%s' have tiles of %d variables together: more than %g "
                 "choices would have to be looked at one by one; other strategies than optimal do "
                 "not, and tighter limits or fixed tiles leave fewer",
                 x->nest->text ? x->nest->text : "", x->part->n_variables, MOST_LOOKED_AT);
  return false;
}

/* Prunes now and then, so that rows stay few. */
static bool prune(crossing *x) {
  if (x->out->n < x->prune_at) return true;
  if (!loom_part_prune(x->nest, x->level, x->out)) return false;
  x->prune_at = 2 * x->out->n > FIRST_PRUNING ? 2 * x->out->n : FIRST_PRUNING;
  return true;
}

static bool add_choice(crossing *x) {
  double *keys;
  uint32_t *fused;
  if (++x->looked_at > MOST_LOOKED_AT) return refuse(x);
  if (fmod(x->looked_at, 256) == 0 && loom_is_stopped(x->nest->ctx)) return false;
  if (!loom_part_add(x->nest, x->number, x->level, x->values, x->tiles, x->out, &keys, &fused))
    return false;
  fill_keys(x, keys, fused);
  return prune(x);
}

static void set_tiles(crossing *x, int i) {
  const loom_search_variable *v = &x->nest->variables[x->part->variables[i]];
  const int32_t *tiles = x->lists[i].tiles + x->row[i] * (size_t)x->lists[i].n_tiles;
  for (int j = 0; j < v->n_loops; j++) x->tiles[v->loop[j]] = tiles[v->loop[j]];
}

/* All chains of the variables from the i-th on. */
static bool choose(crossing *x, int i) {
  if (i == x->part->n_variables) return add_choice(x);
  for (size_t row = 0; row < x->lists[i].n; row++) {
    x->row[i] = row;
    set_tiles(x, i);
    const loom_column *limited = exceeded(x, i + 1);
    if (limited) {
      loom_space_verdict broken = loom_limit_rule(limited);
      loom_nest_fall(x->nest, broken.rule, broken.index, x->nest->others * x->after[i + 1]);
    } else if (!choose(x, i + 1)) {
      return false;
    }
  }
  return true;
}

bool loom_part_cross(loom_nest *nest, int number, const loom_rows *lists,
                     const loom_search_level *level, const double *values, loom_rows *out) {
  const loom_search_part *part = &nest->parts[number];
  crossing x = {.nest = nest,
                .number = number,
                .part = part,
                .lists = lists,
                .level = level,
                .values = values,
                .out = out,
                .prune_at = FIRST_PRUNING};
  x.after[part->n_variables] = 1;
  for (int i = part->n_variables; i-- > 0;) x.after[i] = x.after[i + 1] * (double)lists[i].n;
  bool done = list_limits(&x) && choose(&x, 0);
  nest->counts.chains += x.looked_at;
  loom_vec_free(nest->ctx, &x.limits);
  loom_vec_free(nest->ctx, &x.loads);
  loom_give_back(nest->ctx, x.least, (size_t)part->n_variables * part->factors.n, sizeof *x.least);
  return done;
}
