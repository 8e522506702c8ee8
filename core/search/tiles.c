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

static size_t position_of(const loom_tile_table *t, int64_t tile) {
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

/* Chains with one more tile outside, by the tile that they start from; of a nest with given tiles: by
** those that its loop may have. */
static bool add_ways(loom_arena *arena, loom_tile_table *t, const loom_nest *nest,
                     const loom_search_variable *v) {
  double *ways = loom_arena_array(arena, t->n_tiles, sizeof *ways);
  if (!ways) return false;
  const double *before = t->n_ways > 0 ? t->ways[t->n_ways - 1] : NULL;
  for (size_t i = 0; i < t->n_tiles; i++) {
    double last = INFINITY;
    size_t step = t->uneven ? (size_t)t->tiles[i] : 1;
    ways[i] = before ? 0 : 1;
    for (size_t k = i; before && k < t->n_tiles; k += step) {
      if (nest && !loom_nest_may_have(nest, v->loop[t->n_ways - 1], (int32_t)t->tiles[k])) continue;
      if (loom_tile_follows(t, t->tiles[i], t->tiles[k], &last)) ways[i] += before[k];
    }
  }
  t->ways[t->n_ways++] = ways;
  return true;
}

static loom_tile_table *new_table(loom_arena *arena, int64_t size, bool uneven) {
  loom_tile_table *t = loom_arena_new(arena, sizeof *t);
  if (!t) return NULL;
  *t = (loom_tile_table){.size = size, .uneven = uneven};
  return list_tiles(arena, t) ? t : NULL;
}

static bool is_limited(const loom_nest *nest, const loom_search_variable *v) {
  for (int k = 0; k < v->n_loops; k++)
    if (nest->loops[v->loop[k]].tiles) return true;
  return false;
}

bool loom_nest_set_table(loom_space *s, loom_space_one *one, loom_nest *nest, int variable) {
  loom_search_variable *v = &nest->variables[variable];
  bool uneven = v->uneven && nest->loops[v->loop[0]].dimension < 0;
  bool limited = is_limited(nest, v);
  loom_tile_table *t = limited ? NULL : one->tables[variable][uneven];
  if (!t) t = new_table(&s->arena, v->size, uneven);
  if (!t) return false;
  if (!limited) one->tables[variable][uneven] = t;
  while (t->n_ways < v->n_loops)
    if (!add_ways(&s->arena, t, limited ? nest : NULL, v)) return false;
  v->table = t;
  return true;
}

double loom_chains_from(const loom_search_variable *v, int n_left, int64_t tile) {
  return v->table->ways[n_left][position_of(v->table, tile)];
}

double loom_chains_in_all(const loom_search_variable *v) {
  return loom_chains_from(v, v->n_loops - 1, 1);
}

bool loom_bound_allows(const loom_search_bound *bound, double trips, bool all) {
  switch (bound->op) {
  case LOOM_BOUND_EQ: return all ? trips == bound->value : trips <= bound->value;
  case LOOM_BOUND_LE: return trips <= bound->value;
  case LOOM_BOUND_LT: return trips < bound->value;
  case LOOM_BOUND_GE: return !all || trips >= bound->value;
  case LOOM_BOUND_GT: return !all || trips > bound->value;
  }
  return true;
}
