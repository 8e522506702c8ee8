/* SPDX-License-Identifier: MIT */
/* Limits as they are compared with sums of doubles, and what doubles cannot hold.
** Invariant: a choice within its limits is never taken for one beyond them; one beyond may pass where
** sums are rounded, and is refused when the answer is evaluated exactly. */
#include <math.h>

#include "search/search.h"

/* Sums of integers are exact where they are not more than some times this. */
#define EXACT 0x1p50
/* Objectives are within these. */
#define LEAST 1e-290
#define MOST 1e290

double loom_most_within(double limit, bool whole) {
  return whole && limit < EXACT ? floor(limit) + 0.5 : limit * (1 + 1e-12);
}

/* The value of a factor is an integer at all tiles. */
static bool is_whole_factor(const loom_factor *f) {
  if (f->function != 0) return false;
  for (int i = 0; i < LOOM_SEARCH_MAX_PLACES; i++)
    if (f->power[i] < 0) return false;
  return true;
}

static bool is_whole(const loom_nest *nest, const loom_column *column) {
  for (size_t k = 0; k < column->items.n; k++) {
    const loom_item *item = &column->items.at[k];
    if (floor(item->coefficient) != item->coefficient) return false;
    for (int v = 0; v < nest->n_parts; v++) {
      if (!is_whole_factor(&nest->parts[v].factors.at[item->p[v]])) return false;
      if (item->n[0] >= 0 && !is_whole_factor(&nest->parts[v].factors.at[item->n[v]])) return false;
    }
  }
  return true;
}

static bool is_objective(const loom_column *column) {
  return column->kind == LOOM_COLUMN_ENERGY || column->kind == LOOM_COLUMN_LATENCY ||
         column->kind == LOOM_COLUMN_INSIDE;
}

static bool check_range(const loom_nest *nest, const loom_column *column) {
  for (size_t k = 0; k < column->items.n; k++) {
    const loom_item *item = &column->items.at[k];
    double most = fabs(item->coefficient);
    for (int v = 0; v < nest->n_parts; v++) {
      double factor = loom_factor_max(nest, v, item->p[v]);
      if (factor < INFINITY && factor > 1) most *= factor;
    }
    if (most < MOST && (most == 0 || fabs(item->coefficient) > LEAST)) continue;
    loom_error_set(nest->ctx, LOOM_ERR_DOMAIN,
                   "%s of about %g: a search works in doubles, from 1e-290 to 1e290",
                   column->kind == LOOM_COLUMN_ENERGY ? "an energy" : "a latency",
                   most < MOST ? fabs(item->coefficient) : most);
    return false;
  }
  return true;
}

bool loom_nest_set_limits(loom_space *s, loom_nest *nest) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column *column = &nest->columns.at[i];
    if (is_objective(column)) {
      if (!check_range(nest, column)) return false;
      continue;
    }
    bool whole = is_whole(nest, column);
    column->limit = loom_most_within(column->limit, whole);
    if (column->kind == LOOM_COLUMN_INSTANCES) continue;
    int memory = column->kind == LOOM_COLUMN_SHARED ? column->memory : column->index;
    loom_space_store *store = &s->memories.at[memory];
    store->whole = store->whole && whole;
  }
  return true;
}
