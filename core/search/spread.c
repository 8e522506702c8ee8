/* SPDX-License-Identifier: MIT */
/* How far the dimensions of the machine can be used by the spatial loops of a template.  Of the uses
** that loops can have, those stay that no other one exceeds in one dimension without falling behind in
** another; a use of the share that is asked for, or more, counts as that share.  A use that limits leave
** no tiles for is barred, and the next ones take its place. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* Uses that differ by a smaller share are one: quotients of uneven tiles are not exact. */
#define CLOSE 1e-9

/* Uses of all dimensions, then what is left of the variable at hand; each once. */
typedef struct uses {
  loom_ctx *ctx;
  int width;
  LOOM_VEC(double) list;
  LOOM_VEC(size_t) slots; /* hash table of positions + 1 */
} uses;

static size_t count_of(const uses *u) {
  return u->list.n / (size_t)u->width;
}

static size_t hash(const uses *u, const double *use) {
  uint64_t h = 14695981039346656037u;
  for (int d = 0; d < u->width; d++) {
    uint64_t bits;
    memcpy(&bits, &use[d], sizeof bits);
    h = (h ^ bits) * 1099511628211u;
    h ^= h >> 29;
  }
  return (size_t)h;
}

static size_t *find_slot(uses *u, const double *use) {
  size_t mask = u->slots.capacity - 1, at = hash(u, use) & mask;
  size_t bytes = (size_t)u->width * sizeof *use;
  while (u->slots.at[at] != 0 &&
         memcmp(u->list.at + (u->slots.at[at] - 1) * (size_t)u->width, use, bytes) != 0)
    at = (at + 1) & mask;
  return &u->slots.at[at];
}

static bool grow_slots(uses *u) {
  size_t n = u->slots.capacity ? 2 * u->slots.capacity : 64;
  size_t *slots = loom_realloc_array(u->ctx, NULL, 0, n, sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, n * sizeof *slots);
  loom_vec_free(u->ctx, &u->slots);
  u->slots.at = slots;
  u->slots.capacity = n;
  for (size_t i = 0; i < count_of(u); i++) *find_slot(u, u->list.at + i * (size_t)u->width) = i + 1;
  return true;
}

static bool add_use(uses *u, const double *use) {
  if (2 * count_of(u) >= u->slots.capacity && !grow_slots(u)) return false;
  size_t *slot = find_slot(u, use);
  if (*slot != 0) return true;
  if (!loom_vec_reserve(u->ctx, &u->list, (size_t)u->width)) return false;
  memcpy(u->list.at + u->list.n, use, (size_t)u->width * sizeof *use);
  u->list.n += (size_t)u->width;
  *slot = count_of(u);
  return true;
}

/* All uses again, with `left` of the next variable. */
static bool restart(uses *u, double left) {
  uses next = {.ctx = u->ctx, .width = u->width};
  size_t width = (size_t)u->width;
  bool done = true;
  for (size_t i = 0; i < count_of(u) && done; i++) {
    u->list.at[i * width + width - 1] = left;
    done = add_use(&next, u->list.at + i * width);
  }
  loom_vec_free(u->ctx, &u->list);
  loom_vec_free(u->ctx, &u->slots);
  *u = next;
  return done;
}

/* One more spatial loop over dimension `dim`, any number of instances that divides what is left. */
static bool spread_loop(uses *u, int dim, double count) {
  double use[LOOM_SEARCH_MAX_KEYS];
  size_t n = count_of(u), width = (size_t)u->width;
  for (size_t i = 0; i < n; i++) {
    double left = u->list.at[i * width + width - 1], used = u->list.at[i * width + (size_t)dim];
    for (int64_t q = 2; q <= (int64_t)left && used * (double)q <= count; q++) {
      if ((int64_t)left % q != 0) continue;
      memcpy(use, u->list.at + i * width, width * sizeof *use);
      use[dim] *= (double)q;
      use[width - 1] = left / (double)q;
      if (!add_use(u, use)) return false;
    }
  }
  return true;
}

/* The next loop with every tile that it may have; only spatial ones with a least share use instances of
** a dimension. */
static bool cut(const loom_nest *nest, uses *from, int loop, bool last, uses *to) {
  double use[LOOM_SEARCH_MAX_KEYS];
  size_t n = count_of(from), width = (size_t)from->width;
  int dim = nest->loops[loop].dimension;
  for (size_t i = 0; i < n; i++) {
    int64_t left = (int64_t)from->list.at[i * width + width - 1];
    for (int64_t tile = 1; tile <= (last ? 1 : left); tile++) {
      double trips = (double)(left / tile);
      if (left % tile != 0 || !loom_nest_may_have(nest, loop, (int32_t)tile)) continue;
      if (dim >= 0 && trips > nest->dims[dim].count) continue;
      memcpy(use, from->list.at + i * width, width * sizeof *use);
      use[width - 1] = (double)tile;
      if (dim >= 0 && nest->dims[dim].min_fraction > 0) use[dim] *= trips;
      if (dim >= 0 && use[dim] > nest->dims[dim].count) continue;
      if (!add_use(to, use)) return false;
    }
  }
  return true;
}

/* Spreads of a variable of which loops may not have every tile. */
static bool spread_limited(const loom_nest *nest, uses *u, const loom_search_variable *v) {
  for (int k = 0; k < v->n_loops; k++) {
    uses next = {.ctx = u->ctx, .width = u->width};
    bool done = cut(nest, u, v->loop[k], k + 1 == v->n_loops, &next);
    loom_vec_free(u->ctx, &u->list);
    loom_vec_free(u->ctx, &u->slots);
    *u = next;
    if (!done) return false;
  }
  return true;
}

static bool is_limited(const loom_nest *nest, const loom_search_variable *v) {
  for (int k = 0; k < v->n_loops; k++)
    if (nest->loops[v->loop[k]].tiles) return true;
  return false;
}

/* What a use is when the loop at a position cuts `outer` into tiles; false where it cannot. */
static bool use_loop(const loom_nest *nest, const loom_search_variable *v, int position,
                     int64_t outer, int64_t tile, double *use) {
  int dim = nest->loops[v->loop[position]].dimension;
  double trips = (double)outer / (double)tile;
  if (!loom_nest_may_have(nest, v->loop[position], (int32_t)tile)) return false;
  if (dim >= 0 && loom_exceeds(trips, nest->dims[dim].count)) return false;
  if (dim < 0 || nest->dims[dim].min_fraction <= 0) return true;
  use[dim] *= trips;
  return !loom_exceeds(use[dim], nest->dims[dim].count);
}

/* One more tile outside of each, for the loop at a position; the one at hand stands with the uses, half
** more where a loop so far may leave a part. */
static bool wrap(const loom_nest *nest, uses *from, const loom_search_variable *v, int position,
                 uses *to) {
  double use[LOOM_SEARCH_MAX_KEYS];
  size_t n = count_of(from), width = (size_t)from->width;
  for (size_t i = 0; i < n; i++) {
    const double *old = from->list.at + i * width;
    if (i % 64 == 63 && loom_is_stopped(nest->ctx)) return false;
    loom_tile_walk w =
        loom_tiles_around(nest, v, position > 0 ? position - 1 : 0, (int64_t)old[width - 1]);
    while (position > 0 ? loom_tile_step(&w) : w.next++ == 0) {
      int64_t outer = position > 0 ? w.tile : v->size;
      bool absorbs = old[width - 1] > (double)w.inner;
      memcpy(use, old, width * sizeof *use);
      if (!loom_tile_cuts(v, position, outer, w.inner, &absorbs) ||
          !use_loop(nest, v, position, outer, w.inner, use))
        continue;
      use[width - 1] = (double)outer + (v->table->mixed && absorbs ? 0.5 : 0);
      if (!add_use(to, use)) return false;
    }
  }
  return true;
}

/* Spreads of a variable of which tiles depend on those inside of them: uneven or coarse ones. */
static bool spread_inside_out(const loom_nest *nest, uses *u, const loom_search_variable *v) {
  for (int j = v->n_loops - 1; j >= 0; j--) {
    uses next = {.ctx = u->ctx, .width = u->width};
    bool done = wrap(nest, u, v, j, &next);
    loom_vec_free(u->ctx, &u->list);
    loom_vec_free(u->ctx, &u->slots);
    *u = next;
    if (!done) return false;
  }
  return restart(u, 1);
}

static bool spread_variable(const loom_nest *nest, uses *u, int variable) {
  const loom_search_variable *v = &nest->variables[variable];
  if (v->absorbing != 0 || nest->coarseness > 1) return spread_inside_out(nest, u, v);
  if (!restart(u, (double)v->size)) return false;
  if (is_limited(nest, v)) return spread_limited(nest, u, v);
  for (int k = 0; k < v->n_loops; k++) {
    int dim = nest->loops[v->loop[k]].dimension;
    if (dim < 0 || nest->dims[dim].min_fraction <= 0) continue;
    if (!spread_loop(u, dim, nest->dims[dim].count)) return false;
  }
  return restart(u, 1);
}

double loom_nest_share(const loom_nest *nest, int dim, double used) {
  const loom_search_dim *d = &nest->dims[dim];
  if (d->min_fraction <= 0) return 1;
  double share = used / d->count / d->min_fraction;
  return share > 1 ? 1 : share;
}

/* Another use that is not barred is at least as full everywhere and fuller somewhere. */
static bool exceeded(const loom_nest *nest, const bool *barred, const double *use) {
  for (size_t i = 0; i < nest->n_uses; i++) {
    const double *others = nest->uses + i * (size_t)nest->n_dims;
    bool less = false, more = false;
    for (int d = 0; d < nest->n_dims && !less; d++) {
      double mine = loom_nest_share(nest, d, use[d]), other = loom_nest_share(nest, d, others[d]);
      less = less || other < mine * (1 - CLOSE);
      more = more || other > mine * (1 + CLOSE);
    }
    if (more && !less && !(barred && barred[i])) return true;
  }
  return false;
}

/* The fullest of the uses that are not barred, into a list with room for all. */
static bool list_fullest(loom_nest *nest, const bool *barred, double *list) {
  size_t n = 0, n_dims = (size_t)nest->n_dims;
  for (size_t i = 0; i < nest->n_uses; i++) {
    const double *use = nest->uses + i * n_dims;
    if (i % 64 == 63 && loom_is_stopped(nest->ctx)) return false;
    if ((barred && barred[i]) || exceeded(nest, barred, use)) continue;
    memcpy(list + n++ * n_dims, use, n_dims * sizeof *list);
  }
  nest->spreads = list;
  nest->n_spreads = n;
  return true;
}

bool loom_nest_list_spreads(loom_nest *nest, loom_arena *arena) {
  bool asked = false;
  for (int d = 0; d < nest->n_dims; d++) asked = asked || nest->dims[d].min_fraction > 0;
  if (!asked) return true;
  uses u = {.ctx = nest->ctx, .width = nest->n_dims + 1};
  double none[LOOM_SEARCH_MAX_KEYS];
  for (int d = 0; d <= nest->n_dims; d++) none[d] = 1;
  bool done = add_use(&u, none);
  for (int v = 0; v < nest->n_variables && done; v++) done = spread_variable(nest, &u, v);
  size_t n = done ? count_of(&u) : 0, n_dims = (size_t)nest->n_dims;
  double *all = loom_arena_array(arena, n * n_dims, sizeof *all);
  double *fullest = loom_arena_array(arena, n * n_dims, sizeof *fullest);
  for (size_t i = 0; i < n && all; i++)
    memcpy(all + i * n_dims, u.list.at + i * (n_dims + 1), n_dims * sizeof *all);
  nest->uses = all;
  nest->n_uses = n;
  loom_vec_free(nest->ctx, &u.list);
  loom_vec_free(nest->ctx, &u.slots);
  return done && all && fullest && list_fullest(nest, NULL, fullest);
}

/* ---- uses that no tiles reach --------------------------------------------------------------- */

void loom_nest_ask_all(loom_nest *nest) {
  nest->spreads = nest->uses;
  nest->n_spreads = nest->n_uses;
}

bool loom_nest_bar(loom_nest *nest, const bool *reached) {
  size_t n = nest->n_uses, n_dims = (size_t)nest->n_dims;
  bool *barred = loom_realloc_array(nest->ctx, NULL, 0, n, sizeof *barred);
  if (!nest->own_spreads)
    nest->own_spreads = loom_realloc_array(nest->ctx, NULL, 0, n * n_dims, sizeof(double));
  bool done = barred && nest->own_spreads;
  for (size_t i = 0; i < n && done; i++) barred[i] = !reached[i];
  done = done && list_fullest(nest, barred, nest->own_spreads);
  loom_give_back(nest->ctx, barred, n, sizeof *barred);
  return done;
}

void loom_nest_unbar(loom_nest *nest) {
  loom_give_back(nest->ctx, nest->own_spreads, nest->n_uses * (size_t)nest->n_dims, sizeof(double));
  nest->own_spreads = NULL;
}

/* Equal in the dimensions with a least share. */
static bool same_use(const loom_nest *nest, const double *a, const double *b) {
  for (int d = 0; d < nest->n_dims; d++)
    if (nest->dims[d].min_fraction > 0 && fabs(a[d] - b[d]) > CLOSE * a[d]) return false;
  return true;
}

bool loom_nest_may_spread(const loom_nest *nest, const double *used) {
  if (!nest->spreads) return true;
  for (size_t i = 0; i < nest->n_spreads; i++) {
    const double *goal = nest->spreads + i * (size_t)nest->n_dims;
    bool possible = true;
    for (int d = 0; d < nest->n_dims && possible; d++)
      possible = nest->dims[d].min_fraction <= 0 ||
                 (nest->uneven ? used[d] <= goal[d] * (1 + CLOSE)
                               : (int64_t)goal[d] % (int64_t)used[d] == 0);
    if (possible) return true;
  }
  return false;
}

static void read_use(const loom_nest *nest, const int32_t *tiles, double *use) {
  for (int d = 0; d < nest->n_dims; d++) use[d] = 1;
  for (int i = 0; i < nest->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[i];
    double outer = (double)v->size;
    for (int j = 0; j < v->n_loops; j++) {
      int dim = nest->loops[v->loop[j]].dimension;
      if (dim >= 0) use[dim] *= outer / tiles[v->loop[j]];
      outer = tiles[v->loop[j]];
    }
  }
}

void loom_nest_mark_spreads(const loom_nest *nest, const loom_fronts *found, bool *reached) {
  double use[LOOM_SEARCH_MAX_KEYS];
  for (size_t i = 0; i < found->groups.n; i++) {
    const loom_group *g = &found->groups.at[i];
    for (size_t p = 0; p < g->n; p++) {
      read_use(nest, found->tiles.at + g->tiles[p], use);
      reached[loom_nest_find_spread(nest, use)] = true;
    }
  }
}

size_t loom_nest_find_spread(const loom_nest *nest, const double *used) {
  size_t i = 0;
  while (i < nest->n_spreads && !same_use(nest, nest->spreads + i * (size_t)nest->n_dims, used))
    i++;
  return i;
}

bool loom_nest_is_spread(const loom_nest *nest, const double *used) {
  return !nest->spreads || loom_nest_find_spread(nest, used) < nest->n_spreads;
}
