/* SPDX-License-Identifier: MIT */
/* Points of an einsum grouped by what other einsums have to fit, each group a front.
** Invariant: no point of a group dominates another one; points stand in the order they came. */
#include <stdlib.h>
#include <string.h>

#include "search/search.h"

static void free_points(loom_ctx *ctx, loom_group *g) {
  loom_give_back(ctx, g->values, g->capacity * (size_t)g->width, sizeof *g->values);
  loom_give_back(ctx, g->templates, g->capacity, sizeof *g->templates);
  loom_give_back(ctx, g->tiles, g->capacity, sizeof *g->tiles);
}

void loom_group_free(loom_ctx *ctx, loom_group *g) {
  free_points(ctx, g);
  loom_give_back(ctx, g->backings, (size_t)g->n_tensors, sizeof *g->backings);
}

static bool same_group(const loom_group *a, const loom_group *b) {
  if (a->n_loops != b->n_loops) return false;
  for (int i = 0; i < a->n_loops; i++) {
    const loom_fused_loop *x = &a->loops[i], *y = &b->loops[i];
    if (x->variable != y->variable || x->tile != y->tile || x->dimension != y->dimension)
      return false;
  }
  for (int i = 0; i < a->n_tensors; i++)
    if (a->backings[i].memory != b->backings[i].memory ||
        a->backings[i].depth != b->backings[i].depth)
      return false;
  return true;
}

static bool grow_group(loom_ctx *ctx, loom_group *g) {
  if (g->n < g->capacity) return true;
  loom_group next = *g;
  size_t w = (size_t)g->width, capacity = next.capacity = g->capacity ? 2 * g->capacity : 4;
  next.values = loom_larger(ctx, g->values, g->n * w, capacity * w, sizeof *g->values);
  next.templates = loom_larger(ctx, g->templates, g->n, capacity, sizeof *g->templates);
  next.tiles = loom_larger(ctx, g->tiles, g->n, capacity, sizeof *g->tiles);
  if ((w > 0 && !next.values) || !next.templates || !next.tiles) {
    free_points(ctx, &next);
    return false;
  }
  free_points(ctx, g);
  *g = next;
  return true;
}

static bool at_most(const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (a[i] > b[i]) return false;
  return true;
}

/* Adds a point unless one there is as good; drops those that it dominates. */
static bool add_point(loom_ctx *ctx, loom_group *g, const double *x, int number, size_t tiles) {
  size_t w = (size_t)g->width, kept = 0;
  for (size_t i = 0; i < g->n; i++)
    if (at_most(g->values + i * w, x, w)) return true;
  for (size_t i = 0; i < g->n; i++) {
    if (at_most(x, g->values + i * w, w)) continue;
    if (kept != i) {
      memcpy(g->values + kept * w, g->values + i * w, w * sizeof *x);
      g->templates[kept] = g->templates[i];
      g->tiles[kept] = g->tiles[i];
    }
    kept++;
  }
  g->n = kept;
  if (!grow_group(ctx, g)) return false;
  memcpy(g->values + g->n * w, x, w * sizeof *x);
  g->templates[g->n] = number;
  g->tiles[g->n++] = tiles;
  return true;
}

struct loom_collector {
  loom_space *s;
  loom_space_one *one;
  const loom_nest *nest;
  const loom_space_template *t;
  int number; /* of the template */
  uint32_t fused;
  loom_group key;
  ptrdiff_t group; /* -1: none yet */
  loom_backing backings[64];
  double columns[LOOM_SEARCH_MAX_FIGURES], values[LOOM_SEARCH_MAX_FIGURES];
  int segment[LOOM_SEARCH_MAX_FUSED]; /* of the loops that stay */
  int place[LOOM_SEARCH_MAX_FIGURES]; /* of each column among the values, or -1 */
  size_t tiles;
};

loom_collector *loom_collector_new(loom_space *s, loom_space_one *one, const loom_nest *nest,
                                   const loom_space_template *t, int number) {
  loom_collector *c = loom_realloc(s->ctx, NULL, 0, sizeof *c);
  if (!c) return NULL;
  memset(c, 0, sizeof *c);
  c->s = s;
  c->one = one;
  c->nest = nest;
  c->t = t;
  c->number = number;
  return c;
}

void loom_collector_free(loom_collector *c) {
  if (c) loom_realloc(c->s->ctx, c, sizeof *c, 0);
}

double *loom_collector_columns(loom_collector *c) {
  return c->columns;
}

static int count_below(uint32_t fused, int depth) {
  int n = 0;
  for (int i = 0; i < depth; i++) n += (int)(fused >> i & 1);
  return n;
}

static void place_columns(loom_collector *c) {
  const loom_space *s = c->s;
  int depths = c->key.n_loops + 1;
  c->key.width = s->n_objectives + s->n_open * depths;
  for (size_t i = 0; i < c->nest->columns.n; i++) {
    const loom_column *column = &c->nest->columns.at[i];
    c->place[i] = -1;
    if (column->kind == LOOM_COLUMN_OWN)
      c->place[i] = s->n_objectives + s->memories.at[column->index].open * depths +
                    count_below(c->fused, column->depth);
  }
}

static ptrdiff_t find_group(const loom_collector *c) {
  for (size_t i = 0; i < c->one->groups.n; i++)
    if (same_group(&c->one->groups.at[i], &c->key)) return (ptrdiff_t)i;
  return -1;
}

void loom_collector_enter(loom_collector *c, uint32_t fused, const double *keys) {
  int segment = 0;
  c->fused = fused;
  c->key.n_loops = 0;
  for (int i = 0; i < c->nest->n_fused; i++) {
    if (c->t->border[i]) segment++;
    if (!(fused >> i & 1)) continue;
    c->segment[c->key.n_loops] = segment;
    c->key.loops[c->key.n_loops++] =
        (loom_fused_loop){c->t->loops[i].variable, c->t->loops[i].dimension, (int32_t)keys[i]};
  }
  c->key.backings = c->backings;
  c->key.n_tensors = (int)c->one->tensors.n;
  for (size_t i = 0; i < c->one->tensors.n; i++) c->backings[i] = (loom_backing){-1, 0, 0};
  for (size_t i = 0; i < c->t->n_backings; i++) {
    const loom_space_backing *b = &c->t->backings[i];
    c->backings[b->tensor] = (loom_backing){b->memory, count_below(fused, b->n_loops), 0};
  }
  place_columns(c);
  c->group = find_group(c);
}

/* Energy, latency and bits by depth of the columns at hand. */
static void read_values(loom_collector *c) {
  const loom_space *s = c->s;
  double energy = 0, latency = 0;
  for (int i = 0; i < c->key.width; i++) c->values[i] = 0;
  for (size_t i = 0; i < c->nest->columns.n; i++) {
    double x = c->columns[i];
    if (c->place[i] >= 0) {
      c->values[c->place[i]] += x;
    } else if (c->nest->columns.at[i].kind == LOOM_COLUMN_ENERGY) {
      energy += x;
    } else if (c->nest->columns.at[i].kind == LOOM_COLUMN_LATENCY && x > latency) {
      latency = x;
    }
  }
  int k = 0;
  if (s->options.energy) c->values[k++] = energy + c->nest->leak * latency;
  if (s->options.latency) c->values[k++] = latency;
}

bool loom_collector_dominated(loom_collector *c) {
  if (c->group < 0) return false;
  const loom_group *g = &c->one->groups.at[c->group];
  size_t w = (size_t)c->key.width;
  read_values(c);
  for (size_t i = 0; i < g->n; i++)
    if (at_most(g->values + i * w, c->values, w)) return true;
  return false;
}

double loom_collector_score(loom_collector *c) {
  double score = 1;
  read_values(c);
  for (int i = 0; i < c->s->n_objectives; i++)
    if (c->values[i] > 0) score *= c->values[i];
  return score;
}

static ptrdiff_t add_group(loom_collector *c) {
  ptrdiff_t found = find_group(c);
  if (found >= 0) return found;
  loom_group g = c->key;
  g.n = g.capacity = 0;
  g.values = NULL;
  g.templates = NULL;
  g.tiles = NULL;
  g.backings = loom_realloc_array(c->s->ctx, NULL, 0, (size_t)g.n_tensors, sizeof *g.backings);
  if (!g.backings && g.n_tensors > 0) return -1;
  if (g.n_tensors > 0) memcpy(g.backings, c->backings, (size_t)g.n_tensors * sizeof *g.backings);
  if (loom_vec_push(c->s->ctx, &c->one->groups, g)) return (ptrdiff_t)c->one->groups.n - 1;
  loom_group_free(c->s->ctx, &g);
  return -1;
}

static bool keep(loom_collector *c) {
  ptrdiff_t g = add_group(c);
  return g >= 0 && add_point(c->s->ctx, &c->one->groups.at[g], c->values, c->number, c->tiles);
}

/* Every order of loops that nothing stands between. */
static bool keep_orders(loom_collector *c, int from) {
  if (from >= c->key.n_loops) return keep(c);
  for (int i = from; i < c->key.n_loops && c->segment[i] == c->segment[from]; i++) {
    loom_fused_loop first = c->key.loops[i];
    memmove(&c->key.loops[from + 1], &c->key.loops[from], (size_t)(i - from) * sizeof first);
    c->key.loops[from] = first;
    bool done = keep_orders(c, from + 1);
    memmove(&c->key.loops[from], &c->key.loops[from + 1], (size_t)(i - from) * sizeof first);
    c->key.loops[i] = first;
    if (!done) return false;
  }
  return true;
}

bool loom_collector_add(loom_collector *c, const int32_t *tiles) {
  size_t n = (size_t)c->nest->n_loops;
  read_values(c);
  for (size_t i = 0; i < c->nest->columns.n; i++)
    if (c->nest->columns.at[i].kind == LOOM_COLUMN_SHARED)
      c->backings[c->nest->columns.at[i].index].bits = c->columns[i];
  c->tiles = c->one->tiles.n;
  if (!loom_vec_reserve(c->s->ctx, &c->one->tiles, n)) return false;
  if (n > 0) memcpy(c->one->tiles.at + c->tiles, tiles, n * sizeof *tiles);
  c->one->tiles.n += n;
  if (!keep_orders(c, 0)) return false;
  if (c->group < 0) c->group = find_group(c);
  return true;
}
