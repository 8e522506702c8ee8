/* SPDX-License-Identifier: MIT */
/* Columns of a template: what of its costs is minimised or limited, as sums of products.
** Invariant: a column of bits or instances has the limit of its memory or dimension. */
#include <math.h>
#include <string.h>

#include "search/search.h"

int loom_nest_new_column(loom_nest *nest, loom_column_kind kind, int index) {
  loom_column column = {.kind = kind, .index = index, .limit = INFINITY};
  column.compared = kind != LOOM_COLUMN_SHARED && kind != LOOM_COLUMN_TOTAL;
  return loom_vec_push(nest->ctx, &nest->columns, column) ? (int)nest->columns.n - 1 : -1;
}

/* The column of a kind, index and depth, new or not. */
static loom_column *column_of(loom_nest *nest, loom_column_kind kind, int index, int depth) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column *c = &nest->columns.at[i];
    if (c->kind == kind && c->index == index && c->depth == depth) return c;
  }
  int number = loom_nest_new_column(nest, kind, index);
  if (number < 0) return NULL;
  nest->columns.at[number].depth = depth;
  return &nest->columns.at[number];
}

/* One column for each argument of a maximum, times a positive number. */
static bool add_latency(loom_nest *nest, loom_expr e, double scale) {
  double number;
  loom_expr inner = e;
  if (loom_expr_kind(nest->ctx, e) == LOOM_MUL && loom_expr_arity(nest->ctx, e) == 2 &&
      loom_as_real(nest->ctx, loom_expr_arg(nest->ctx, e, 0), &number)) {
    inner = loom_expr_arg(nest->ctx, e, 1);
    if (loom_expr_kind(nest->ctx, inner) == LOOM_MAX) scale *= number;
  }
  if (loom_expr_kind(nest->ctx, inner) != LOOM_MAX) return loom_nest_add_latency(nest, e, scale);
  for (size_t i = 0; i < loom_expr_arity(nest->ctx, inner); i++)
    if (!add_latency(nest, loom_expr_arg(nest->ctx, inner, i), scale)) return false;
  return true;
}

/* An expression where every tile is 1. */
static loom_expr at_ones(const loom_nest *nest, loom_expr e) {
  loom_expr symbols[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  loom_expr ones[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  size_t n = 0;
  for (int i = 0; i < nest->n_loops; i++) {
    if (nest->loops[i].tile == LOOM_NONE) continue;
    symbols[n] = nest->loops[i].tile;
    ones[n++] = loom_int(nest->ctx, 1);
  }
  return loom_substitute(nest->ctx, e, n, symbols, ones);
}

/* Leaked energy per unit of latency, LOOM_NONE where there is none: a number, unless what leaks
** depends on the tiles (instances that are not in use are switched off). */
static bool read_leak(const loom_nest *nest, const loom_einsum_costs *e, loom_expr *rate) {
  loom_ctx *ctx = nest->ctx;
  double number;
  *rate = LOOM_NONE;
  if (loom_as_real(ctx, e->leak_energy, &number) && number == 0) return true;
  *rate = loom_div(ctx, e->leak_energy, e->latency);
  if (*rate == LOOM_NONE) return false;
  if (loom_as_real(ctx, *rate, &number)) return true;
  loom_expr fixed = loom_div(ctx, at_ones(nest, e->leak_energy), at_ones(nest, e->latency));
  loom_expr rest = loom_sub(ctx, e->leak_energy, loom_mul(ctx, fixed, e->latency));
  loom_expr expanded = loom_expand(ctx, rest);
  if (expanded == LOOM_NONE) return false;
  if (loom_as_real(ctx, expanded, &number) && number == 0) *rate = fixed;
  return true;
}

static bool add_energy(loom_nest *nest, int number, loom_expr energy) {
  loom_column *column = column_of(nest, LOOM_COLUMN_ENERGY, number, 0);
  return column && loom_nest_add(nest, column, energy, 1);
}

/* What leaks depends on tiles: one energy for each argument of the latency, a maximum or not, since
** dynamic + rate * max(a, b) = max(dynamic + rate * a, dynamic + rate * b). */
static bool add_energies(loom_nest *nest, const loom_einsum_costs *e, loom_expr rate,
                         loom_expr latency, int *n) {
  loom_ctx *ctx = nest->ctx;
  loom_expr number = loom_int(ctx, 1), inner = latency;
  if (loom_expr_kind(ctx, latency) == LOOM_MUL && loom_expr_arity(ctx, latency) == 2 &&
      loom_expr_kind(ctx, loom_expr_arg(ctx, latency, 1)) == LOOM_MAX) {
    number = loom_expr_arg(ctx, latency, 0);
    inner = loom_expr_arg(ctx, latency, 1);
  }
  if (loom_expr_kind(ctx, inner) != LOOM_MAX)
    return add_energy(nest, (*n)++, loom_add(ctx, e->dynamic_energy, loom_mul(ctx, rate, latency)));
  for (size_t i = 0; i < loom_expr_arity(ctx, inner); i++)
    if (!add_energies(nest, e, rate, loom_mul(ctx, number, loom_expr_arg(ctx, inner, i)), n))
      return false;
  return true;
}

static bool add_latencies(loom_nest *nest, const loom_einsum_costs *e) {
  double scale;
  if (!loom_as_real(nest->ctx, e->n_instances, &scale)) return false;
  for (size_t i = 0; i < e->n_components; i++)
    if (e->components[i].latency != LOOM_NONE &&
        !add_latency(nest, e->components[i].latency, scale))
      return false;
  return true;
}

static bool add_objectives(const loom_space *s, loom_nest *nest, const loom_einsum_costs *e) {
  loom_expr rate;
  int n = 0;
  nest->leak = 0;
  if (!read_leak(nest, e, &rate)) return false;
  bool fixed = rate == LOOM_NONE || loom_as_real(nest->ctx, rate, &nest->leak);
  if (s->options.energy && !(fixed ? add_energy(nest, 0, e->dynamic_energy)
                                   : add_energies(nest, e, rate, e->latency, &n)))
    return false;
  return (!s->options.latency && !(s->options.energy && nest->leak > 0)) || add_latencies(nest, e);
}

static int memory_of(const loom_space *s, const char *component) {
  for (size_t i = 0; i < s->memories.n; i++)
    if (strcmp(s->memories.at[i].component, component) == 0) return (int)i;
  return -1;
}

static int backing_of(const loom_space_one *one, const loom_space_template *t, int memory,
                      const char *tensor) {
  for (size_t i = 0; i < t->n_backings; i++)
    if (t->backings[i].memory == memory &&
        strcmp(one->tensors.at[t->backings[i].tensor].name, tensor) == 0)
      return t->backings[i].tensor;
  return -1;
}

static bool add_memory_row(const loom_space *s, loom_space_one *one, loom_nest *nest,
                           const loom_space_template *t, const loom_memory_usage *row) {
  int memory = memory_of(s, row->component);
  if (memory < 0) return true;
  const loom_space_store *store = &s->memories.at[memory];
  if (store->bits == INFINITY && store->role == LOOM_MEMORY_PRIVATE) return true;
  bool always = row->n_loops_above < 0;
  if (always && (store->role == LOOM_MEMORY_PRIVATE || !s->options.persistent)) {
    loom_error_set(
        s->ctx, LOOM_ERR_ARGUMENT,
        "persistent tensors (%s) are held in open memories of a space with them, not in %s",
        row->tensor, row->component);
    return false;
  }
  loom_column *total = column_of(nest, LOOM_COLUMN_TOTAL, memory, 0);
  if (!total) return false;
  total->limit = store->bits;
  total->compared = store->role == LOOM_MEMORY_PRIVATE;
  if (!loom_nest_add(nest, total, row->bits, 1)) return false;
  if (store->role == LOOM_MEMORY_PRIVATE) return true;
  int tensor = backing_of(one, t, memory, row->tensor);
  int depth = row->n_loops_above < nest->n_fused ? row->n_loops_above : nest->n_fused;
  loom_column *own = tensor >= 0 ? column_of(nest, LOOM_COLUMN_SHARED, tensor, 0)
                     : always    ? column_of(nest, LOOM_COLUMN_ALWAYS, memory, 0)
                                 : column_of(nest, LOOM_COLUMN_OWN, memory, depth);
  if (own) own->always = always;
  if (own) own->memory = memory;
  return own && loom_nest_add(nest, own, row->bits, 1);
}

static bool add_limits(const loom_space *s, loom_space_one *one, loom_nest *nest,
                       const loom_space_template *t, const loom_einsum_costs *e) {
  for (size_t i = 0; i < e->n_memory; i++)
    if (!add_memory_row(s, one, nest, t, &e->memory[i])) return false;
  for (size_t i = 0; i < e->n_spatial; i++) {
    for (int d = 0; d < nest->n_dims; d++) {
      const loom_search_dim *dim = &nest->dims[d];
      if (strcmp(dim->component, e->spatial[i].component) != 0 ||
          strcmp(dim->name, e->spatial[i].dim) != 0 || dim->min_fraction > 0)
        continue;
      loom_column *column = column_of(nest, LOOM_COLUMN_INSTANCES, d, 0);
      if (!column || !loom_nest_add(nest, column, e->spatial[i].used, 1)) return false;
      column->limit = dim->count;
    }
  }
  return true;
}

/* A limit that is met at all tiles is none; columns of formulas stand before all limits. */
static void drop_idle_limits(loom_nest *nest) {
  size_t kept = 0;
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column *c = &nest->columns.at[i];
    double most = 0;
    for (size_t k = 0; k < c->items.n; k++) {
      const loom_item *item = &c->items.at[k];
      double x = item->coefficient > 0 ? item->coefficient : 0;
      for (int v = 0; v < nest->n_parts; v++) x *= loom_factor_max(nest, v, item->p[v]);
      most += x;
    }
    bool idle = c->kind == LOOM_COLUMN_TOTAL && most <= c->limit;
    if (idle) {
      loom_vec_free(nest->ctx, &c->items);
    } else {
      nest->columns.at[kept++] = *c;
    }
  }
  nest->columns.n = kept;
}

static void drop_columns(loom_nest *nest) {
  for (size_t i = 0; i < nest->columns.n; i++) loom_vec_free(nest->ctx, &nest->columns.at[i].items);
  nest->columns.n = 0;
  loom_nest_free_formulas(nest);
}

/* All columns, the variables in parts as functions want them: what couples them is found on the way. */
static bool add_columns(const loom_space *s, loom_space_one *one, loom_nest *nest,
                        const loom_space_template *t, const loom_einsum_costs *e) {
  do {
    drop_columns(nest);
    if (!loom_nest_split(nest) || !add_objectives(s, nest, e) || !add_limits(s, one, nest, t, e))
      return false;
  } while (nest->split_wrongly);
  return true;
}

bool loom_nest_fill(const loom_space *s, loom_space_one *one, loom_nest *nest,
                    const loom_space_template *t, const loom_einsum_costs *e) {
  if (!add_columns(s, one, nest, t, e)) return false;
  drop_idle_limits(nest);
  for (size_t i = 0; i < nest->columns.n; i++)
    if (!loom_nest_pair(nest, &nest->columns.at[i])) return false;
  loom_nest_note_least(nest);
  return true;
}
