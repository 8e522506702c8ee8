/* SPDX-License-Identifier: MIT */
/* What a nest needs before its parts are combined: chains of each, sorted into classes (what they
** give to the key of a group and to the dimensions), and levels; and the columns of given tiles. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* ---- lists of chains ---------------------------------------------------------------------- */

static bool fill_factors(loom_nest *nest, int part, loom_chain_list *l) {
  size_t n = l->n_factors = nest->parts[part].factors.n;
  l->factors = loom_realloc_array(nest->ctx, NULL, 0, l->rows.n * n + 1, sizeof *l->factors);
  if (!l->factors) return false;
  for (size_t i = 0; i < l->rows.n; i++)
    if (!loom_nest_factors(nest, part, l->rows.tiles + i * (size_t)l->rows.n_tiles,
                           l->factors + i * n))
      return false;
  return true;
}

static bool same_class(const loom_rows *r, size_t a, size_t b) {
  size_t n = (size_t)r->n_keys;
  return r->fused[a] == r->fused[b] &&
         (n == 0 || memcmp(r->keys + a * n, r->keys + b * n, n * sizeof *r->keys) == 0);
}

static bool add_class(loom_nest *nest, loom_chain_list *l, size_t first, size_t n) {
  loom_chain_class c = {.first = first, .n = n};
  c.least = loom_arena_array(&nest->arena, l->n_factors, sizeof *c.least);
  c.most = loom_arena_array(&nest->arena, l->n_factors, sizeof *c.most);
  if (!c.least || !c.most) return false;
  for (size_t k = 0; k < l->n_factors; k++) c.least[k] = INFINITY;
  for (size_t i = first; i < first + n; i++) {
    const double *f = l->factors + i * l->n_factors;
    for (size_t k = 0; k < l->n_factors; k++) {
      if (f[k] < c.least[k]) c.least[k] = f[k];
      if (f[k] > c.most[k]) c.most[k] = f[k];
    }
  }
  return loom_vec_push(nest->ctx, &l->classes, c);
}

static bool list_classes(loom_nest *nest, loom_chain_list *l) {
  l->least = loom_arena_array(&nest->arena, l->n_factors, sizeof *l->least);
  l->most = loom_arena_array(&nest->arena, l->n_factors, sizeof *l->most);
  if (!l->least || !l->most) return false;
  for (size_t k = 0; k < l->n_factors; k++) l->least[k] = INFINITY;
  for (size_t from = 0, to; from < l->rows.n; from = to) {
    for (to = from + 1; to < l->rows.n && same_class(&l->rows, from, to);) to++;
    if (!add_class(nest, l, from, to - from)) return false;
    const loom_chain_class *c = &l->classes.at[l->classes.n - 1];
    for (size_t k = 0; k < l->n_factors; k++) {
      if (c->least[k] < l->least[k]) l->least[k] = c->least[k];
      if (c->most[k] > l->most[k]) l->most[k] = c->most[k];
    }
  }
  return true;
}

/* Parts with few chains first. */
static void sort_parts(loom_nest *nest) {
  for (int i = 0; i < nest->n_parts; i++) {
    int k = i;
    for (; k > 0 && nest->lists[nest->order[k - 1]].rows.n > nest->lists[i].rows.n; k--)
      nest->order[k] = nest->order[k - 1];
    nest->order[k] = i;
  }
}

/* Choices of tiles that each choice of a part stands for while all are made one after the other: with
** those that are left of the parts before it and all of those after it. */
static double others_of(const loom_nest *nest, int number) {
  double product = 1;
  for (int i = 0; i < number; i++) product *= (double)nest->lists[i].rows.n;
  for (int i = number + 1; i < nest->n_parts; i++)
    for (int k = 0; k < nest->parts[i].n_variables; k++)
      product *= loom_chains_in_all(&nest->variables[nest->parts[i].variables[k]]);
  return product;
}

static bool list_chains(loom_nest *nest, int part, const double *values) {
  loom_chain_list *l = &nest->lists[part];
  nest->others = others_of(nest, part);
  return loom_level_next(nest, &nest->levels[0], part, &l->level) &&
         loom_nest_chains(nest, part, &nest->levels[0], values, &l->level, &l->rows) &&
         loom_rows_sort(nest->ctx, &l->rows) && fill_factors(nest, part, l) &&
         list_classes(nest, l);
}

bool loom_nest_prepare(loom_nest *nest) {
  double *values = NULL;
  size_t room = 1;
  for (size_t i = 0; i < nest->columns.n; i++) room += nest->columns.at[i].items.n;
  nest->falls = loom_arena_array(&nest->arena, (size_t)loom_n_falls(nest), sizeof *nest->falls);
  bool done = nest->falls && loom_level_first(nest, &nest->levels[0], &values);
  for (int v = 0; v < nest->n_parts && done; v++) done = list_chains(nest, v, values);
  if (done) sort_parts(nest);
  for (int i = 0; i < nest->n_parts && done; i++)
    done = loom_level_next(nest, &nest->levels[i], nest->order[i], &nest->levels[i + 1]);
  for (int i = 0; i <= nest->n_parts && done; i++)
    done = nest->levels[i].bases.n <= LOOM_SEARCH_MAX_FIGURES;
  nest->values = values;
  nest->values_room = values ? room : 0;
  return done;
}

void loom_nest_free_lists(loom_nest *nest) {
  loom_ctx *ctx = nest->ctx;
  for (int v = 0; v < nest->n_variables; v++) {
    loom_chain_list *l = &nest->lists[v];
    loom_give_back(ctx, l->factors, l->rows.n * l->n_factors + 1, sizeof *l->factors);
    l->factors = NULL;
    loom_rows_free(ctx, &l->rows);
    loom_level_free(ctx, &l->level);
    loom_vec_free(ctx, &l->classes);
  }
  for (int i = 0; i <= nest->n_variables; i++) loom_level_free(ctx, &nest->levels[i]);
  loom_give_back(ctx, nest->values, nest->values_room, sizeof *nest->values);
  nest->values = NULL;
}

/* ---- columns ------------------------------------------------------------------------------ */

bool loom_nest_evaluate(const loom_nest *nest, const int32_t *tiles, double *columns) {
  double factors[LOOM_SEARCH_MAX_VARIABLES][LOOM_SEARCH_MAX_FACTORS];
  for (int v = 0; v < nest->n_parts; v++)
    if (!loom_nest_factors(nest, v, tiles, factors[v])) return false;
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    columns[i] = 0;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      double p = item->coefficient, n = item->n[0] >= 0 ? item->coefficient : 0;
      for (int v = 0; v < nest->n_parts; v++) {
        p *= factors[v][item->p[v]];
        if (item->n[0] >= 0) n *= factors[v][item->n[v]];
      }
      columns[i] += p - n;
    }
  }
  return loom_nest_evaluate_formulas(nest, tiles, columns);
}

/* What a column is at least, of which the least values of each factor are known alone; 0 where one has
** none. */
static double first_least(const loom_nest *nest, const loom_column *column) {
  double sum = 0;
  for (size_t k = 0; k < column->items.n; k++) {
    const loom_item *item = &column->items.at[k];
    bool large = item->coefficient < 0, difference = item->n[0] >= 0;
    double p = 1, n = difference ? 1 : 0;
    for (int v = 0; v < nest->n_parts; v++) {
      p *= large ? loom_factor_max(nest, v, item->p[v]) : loom_factor_min(nest, v, item->p[v]);
      if (difference)
        n *= large ? loom_factor_min(nest, v, item->n[v]) : loom_factor_max(nest, v, item->n[v]);
    }
    double x = item->coefficient * (p > n || large ? p - n : 0);
    if (!isfinite(x) || !isfinite(p)) return 0;
    sum += x;
  }
  return sum > 0 ? sum * (1 - 1e-12) : 0;
}

void loom_nest_first_least(const loom_nest *nest, double *columns) {
  for (size_t i = 0; i < nest->columns.n; i++)
    columns[i] = nest->formulas.n > 0 ? 0 : first_least(nest, &nest->columns.at[i]);
}

void loom_nest_least(const loom_nest *nest, double *columns) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    columns[i] = 0;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      bool large = item->coefficient < 0, difference = item->n[0] >= 0;
      double p = 1, n = difference ? 1 : 0;
      for (int v = 0; v < nest->n_parts; v++) {
        const loom_chain_list *l = &nest->lists[v];
        p *= large ? l->most[item->p[v]] : l->least[item->p[v]];
        if (difference) n *= large ? l->least[item->n[v]] : l->most[item->n[v]];
      }
      columns[i] += item->coefficient * (p > n || large ? p - n : 0);
    }
  }
  loom_nest_bound_formulas(nest, columns);
}
