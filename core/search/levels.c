/* SPDX-License-Identifier: MIT */
/* Columns of a template with some parts chosen.  A difference P - N of two products splits as
** P_s P_r - N_s N_r = P_s (P_r - N_r) + (P_s - N_s) N_r, chosen part s and rest r, so that no basis is
** negative. */
#include <math.h>
#include <string.h>

#include "search/search.h"

static bool same_factors(const loom_nest *nest, const int16_t *a, const int16_t *b) {
  return memcmp(a, b, (size_t)nest->n_parts * sizeof *a) == 0;
}

static bool same_item(const loom_nest *nest, const loom_item *a, const loom_item *b) {
  if ((a->n[0] < 0) != (b->n[0] < 0) || !same_factors(nest, a->p, b->p)) return false;
  return a->n[0] < 0 || same_factors(nest, a->n, b->n);
}

static int find_basis(loom_nest *nest, loom_search_level *level, int column,
                      const loom_item *item) {
  for (size_t i = level->bases.n; i-- > 0;)
    if (level->bases.at[i].column == column && same_item(nest, &level->bases.at[i].item, item))
      return (int)i;
  loom_basis basis = {.column = column, .item = *item};
  return loom_vec_push(nest->ctx, &level->bases, basis) ? (int)level->bases.n - 1 : -1;
}

bool loom_level_first(loom_nest *nest, loom_search_level *level, double **values) {
  size_t room = 0;
  for (size_t c = 0; c < nest->columns.n; c++) room += nest->columns.at[c].items.n;
  *values = loom_realloc_array(nest->ctx, NULL, 0, room + 1, sizeof **values);
  if (!*values) return false;
  for (size_t c = 0; c < nest->columns.n; c++) {
    const loom_column *column = &nest->columns.at[c];
    for (size_t i = 0; i < column->items.n; i++) {
      size_t n = level->bases.n;
      int k = find_basis(nest, level, (int)c, &column->items.at[i]);
      if (k < 0) return false;
      if ((size_t)k == n) (*values)[k] = 0;
      (*values)[k] += column->items.at[i].coefficient;
    }
  }
  return true;
}

static bool add_step(loom_nest *nest, loom_search_level *level, int from, int column,
                     const loom_item *item, int p, int n) {
  int to = find_basis(nest, level, column, item);
  loom_step_term term = {from, to, (int16_t)p, (int16_t)n};
  return to >= 0 && loom_vec_push(nest->ctx, &level->terms, term);
}

static bool choose(loom_nest *nest, loom_search_level *level, int from, const loom_basis *basis,
                   int part) {
  loom_item rest = basis->item;
  int p = rest.p[part], n = rest.n[0] < 0 ? -1 : rest.n[part];
  rest.p[part] = 0;
  if (n < 0) return add_step(nest, level, from, basis->column, &rest, p, -1);
  rest.n[part] = 0;
  loom_item lower = rest;
  memcpy(lower.p, rest.n, sizeof lower.p);
  lower.n[0] = -1;
  if (same_factors(nest, rest.p, rest.n))
    return add_step(nest, level, from, basis->column, &lower, p, n);
  if (!add_step(nest, level, from, basis->column, &rest, p, -1)) return false;
  return p == n || add_step(nest, level, from, basis->column, &lower, p, n);
}

bool loom_level_next(loom_nest *nest, const loom_search_level *before, int part,
                     loom_search_level *level) {
  for (size_t i = 0; i < before->bases.n; i++)
    if (!choose(nest, level, (int)i, &before->bases.at[i], part)) return false;
  return true;
}

void loom_level_free(loom_ctx *ctx, loom_search_level *level) {
  loom_vec_free(ctx, &level->bases);
  loom_vec_free(ctx, &level->terms);
}
