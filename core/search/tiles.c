/* SPDX-License-Identifier: MIT */
/* Tiles that the loops of a variable may have, and how many chains there are.
** Invariant: a table belongs to a variable of an einsum, or of a nest with given tiles, and only grows,
** so that nests may keep it. */
#include <math.h>

#include "search/search.h"

/* Divisors, or with uneven tiles all numbers up to the size, ascending. */
static bool list_tiles(loom_arena *arena, loom_tile_table *t) {
  size_t n = 0;
  if (t->uneven) n = (size_t)t->size;
  for (int64_t x = 1; !t->uneven && x * x <= t->size; x++)
    if (t->size % x == 0) n += x * x == t->size ? 1 : 2;
  t->tiles = loom_arena_array(arena, n, sizeof *t->tiles);
  if (!t->tiles) return false;
  for (int64_t x = 1; t->n_tiles < n && (t->uneven || x * x <= t->size); x++)
    if (t->uneven || t->size % x == 0) t->tiles[t->n_tiles++] = x;
  for (size_t i = t->n_tiles; i-- > 0 && t->n_tiles < n;) {
    int64_t x = t->size / t->tiles[i];
    if (x != t->tiles[i]) t->tiles[t->n_tiles++] = x;
  }
  return true;
}

size_t loom_tile_position(const loom_tile_table *t, int64_t tile) {
  if (t->uneven) return (size_t)tile - 1;
  size_t low = 0, high = t->n_tiles - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (t->tiles[middle] < tile) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool loom_nest_may_have(const loom_nest *nest, int loop, int32_t tile) {
  const loom_space_loop *l = &nest->loops[loop];
  if (!l->tiles) return true;
  for (size_t i = 0; i < l->n_tiles; i++)
    if (l->tiles[i] == tile) return true;
  return false;
}

/* Of uneven tiles those with the same trips over the whole size as a smaller one are left out, and
** the size itself is always there: the loop then has one trip, and the one inside it may leave a part. */
static bool step(loom_tile_walk *w) {
  const loom_tile_table *t = w->table;
  if (!t->uneven) {
    while (w->next < t->n_tiles && t->tiles[w->next] % w->inner != 0) w->next++;
    if (w->next == t->n_tiles) return false;
    w->tile = t->tiles[w->next++];
    return true;
  }
  if (w->tile == t->size) return false;
  if (w->tile == 0) {
    w->tile = w->inner;
    return true;
  }
  int64_t fewer = (t->size - 1) / w->tile, least = (t->size - 1) / fewer + 1;
  int64_t tile = (least + w->inner - 1) / w->inner * w->inner;
  w->tile = tile < t->size ? tile : t->size;
  return true;
}

bool loom_tile_step(loom_tile_walk *w) {
  double least = w->coarseness * (double)w->tile;
  while (step(w))
    if ((double)w->tile >= least || w->tile == w->table->size) return true;
  return false;
}

loom_tile_walk loom_tiles_around(const loom_nest *nest, const loom_search_variable *v, int position,
                                 int64_t inner) {
  bool given = nest->loops[v->loop[position]].tiles != NULL;
  return (loom_tile_walk){
      .table = v->table, .coarseness = given ? 1 : nest->coarseness, .inner = inner};
}

/* Where the ways of chains from a tile stand. */
static size_t place_of(const loom_tile_table *t, int64_t tile, bool absorbs) {
  return t->mixed ? 2 * loom_tile_position(t, tile) + absorbs : loom_tile_position(t, tile);
}

/* Chains from a tile with one more tile outside. */
static double count_ways(const loom_tile_table *t, const loom_nest *nest,
                         const loom_search_variable *v, int64_t inner, bool absorbs) {
  int n = t->n_ways;
  if (n == 0) return loom_tile_cuts(v, 0, t->size, inner, &absorbs);
  double sum = 0;
  for (loom_tile_walk w = loom_tiles_around(nest, v, n - 1, inner); loom_tile_step(&w);) {
    bool also = absorbs;
    if (!loom_nest_may_have(nest, v->loop[n - 1], (int32_t)w.tile)) continue;
    if (loom_tile_cuts(v, n, w.tile, inner, &also))
      sum += t->ways[n - 1][place_of(t, w.tile, also)];
  }
  return sum;
}

/* Chains with one more tile outside, by the tile that they start from. */
static bool add_ways(loom_arena *arena, loom_tile_table *t, const loom_nest *nest,
                     const loom_search_variable *v) {
  double *ways = loom_arena_array(arena, t->n_tiles * (t->mixed ? 2 : 1), sizeof *ways);
  if (!ways) return false;
  for (size_t i = 0; i < t->n_tiles; i++)
    for (int absorbs = 0; absorbs <= t->mixed; absorbs++)
      ways[place_of(t, t->tiles[i], absorbs)] = count_ways(t, nest, v, t->tiles[i], absorbs);
  t->ways[t->n_ways++] = ways;
  return true;
}

static loom_tile_table *new_table(loom_arena *arena, int64_t size, bool uneven, bool mixed) {
  loom_tile_table *t = loom_arena_new(arena, sizeof *t);
  if (!t) return NULL;
  *t = (loom_tile_table){.size = size, .uneven = uneven, .mixed = mixed};
  return list_tiles(arena, t) ? t : NULL;
}

/* Which loops may be why a part is left, and how many of the outer ones may go. */
static void list_kinds(const loom_nest *nest, loom_search_variable *v) {
  v->absorbing = 0;
  v->n_leading = 0;
  for (int j = 0; j < v->n_loops; j++) {
    unsigned kind =
        nest->loops[v->loop[j]].dimension < 0 ? LOOM_UNEVEN_TEMPORAL : LOOM_UNEVEN_SPATIAL;
    if (v->uneven & kind) v->absorbing |= (uint32_t)1 << j;
  }
  while (v->n_leading + 1 < v->n_loops && !nest->loops[v->loop[v->n_leading]].pinned)
    v->n_leading++;
}

static bool is_limited(const loom_nest *nest, const loom_search_variable *v) {
  for (int k = 0; k < v->n_loops; k++)
    if (nest->loops[v->loop[k]].tiles) return true;
  return false;
}

bool loom_nest_set_table(loom_space *s, loom_space_one *one, loom_nest *nest, int variable) {
  loom_search_variable *v = &nest->variables[variable];
  list_kinds(nest, v);
  nest->uneven = nest->uneven || v->absorbing != 0;
  /* What coarseness leaves of the tiles of a variable does not depend on the loops of a template. */
  bool uneven = v->absorbing != 0 || (v->uneven && nest->coarseness > 1);
  bool all = v->absorbing == ((uint32_t)1 << v->n_loops) - 1, mixed = v->absorbing != 0 && !all;
  bool own = is_limited(nest, v) || (uneven && (!all || v->n_leading + 1 < v->n_loops));
  loom_tile_table *t = own ? NULL : one->tables[variable][uneven];
  if (!t) t = new_table(&s->arena, v->size, uneven, mixed);
  if (!t) return false;
  if (!own) one->tables[variable][uneven] = t;
  v->table = t;
  while (t->n_ways < v->n_loops)
    if (!add_ways(&s->arena, t, nest, v)) return false;
  return true;
}

double loom_chains_from(const loom_search_variable *v, int n_left, int64_t tile, bool absorbs) {
  return v->table->ways[n_left][place_of(v->table, tile, absorbs)];
}

double loom_chains_in_all(const loom_search_variable *v) {
  return loom_chains_from(v, v->n_loops - 1, 1, false);
}

/* Trips are quotients: equal ones may come out a little apart. */
bool loom_bound_allows(const loom_search_bound *bound, double trips, bool all) {
  bool above = loom_exceeds(trips, bound->value), below = loom_exceeds(bound->value, trips);
  switch (bound->op) {
  case LOOM_BOUND_EQ: return !above && (!all || !below);
  case LOOM_BOUND_LE: return !above;
  case LOOM_BOUND_LT: return below;
  case LOOM_BOUND_GE: return !all || !below;
  case LOOM_BOUND_GT: return !all || above;
  }
  return true;
}
