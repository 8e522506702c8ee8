/* SPDX-License-Identifier: MIT */
/* Points of an einsum grouped by what other einsums have to fit, each group a front.
** Invariant: no point of a group dominates another one; what a front has depends on the points that
** were added, not on their order, but for equal points of one template. */
#include <string.h>

#include "search/search.h"

/* Tiles that are not worth packing. */
#define LEAST_PACKED ((size_t)1 << 10)

static void free_points(loom_ctx *ctx, loom_group *g) {
  loom_give_back(ctx, g->values, g->capacity * (size_t)g->width, sizeof *g->values);
  loom_give_back(ctx, g->templates, g->capacity, sizeof *g->templates);
  loom_give_back(ctx, g->tiles, g->capacity, sizeof *g->tiles);
}

static void free_group(loom_ctx *ctx, loom_group *g) {
  free_points(ctx, g);
  loom_give_back(ctx, g->backings, (size_t)g->n_tensors, sizeof *g->backings);
}

void loom_fronts_free(loom_ctx *ctx, loom_fronts *f) {
  for (size_t i = 0; i < f->groups.n; i++) free_group(ctx, &f->groups.at[i]);
  loom_vec_free(ctx, &f->groups);
  loom_vec_free(ctx, &f->slots);
  loom_vec_free(ctx, &f->tiles);
  f->packed = 0;
}

/* ---- groups by key ------------------------------------------------------------------------ */

static int compare_keys(const loom_group *a, const loom_group *b) {
  if (a->n_loops != b->n_loops) return a->n_loops < b->n_loops ? -1 : 1;
  for (int i = 0; i < a->n_loops; i++) {
    const loom_fused_loop *x = &a->loops[i], *y = &b->loops[i];
    if (x->variable != y->variable) return x->variable < y->variable ? -1 : 1;
    if (x->dimension != y->dimension) return x->dimension < y->dimension ? -1 : 1;
    if (x->tile != y->tile) return x->tile < y->tile ? -1 : 1;
  }
  for (int i = 0; i < a->n_tensors; i++) {
    const loom_backing *x = &a->backings[i], *y = &b->backings[i];
    if (x->memory != y->memory) return x->memory < y->memory ? -1 : 1;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
  }
  return 0;
}

static uint64_t mix(uint64_t h, int value) {
  return (h ^ (uint32_t)value) * 1099511628211u;
}

static uint64_t hash(const loom_group *g) {
  uint64_t h = 14695981039346656037u;
  for (int i = 0; i < g->n_loops; i++)
    h = mix(mix(mix(h, g->loops[i].variable), g->loops[i].dimension), g->loops[i].tile);
  for (int i = 0; i < g->n_tensors; i++)
    h = mix(mix(h, g->backings[i].memory), g->backings[i].depth);
  return h ^ h >> 29;
}

static uint32_t *find_slot(const loom_fronts *f, const loom_group *key) {
  size_t mask = f->slots.capacity - 1, at = (size_t)hash(key) & mask;
  while (f->slots.at[at] != 0 && compare_keys(&f->groups.at[f->slots.at[at] - 1], key) != 0)
    at = (at + 1) & mask;
  return &f->slots.at[at];
}

static bool set_slots(loom_ctx *ctx, loom_fronts *f, size_t n) {
  uint32_t *slots = loom_realloc_array(ctx, NULL, 0, n, sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, n * sizeof *slots);
  loom_vec_free(ctx, &f->slots);
  f->slots.at = slots;
  f->slots.capacity = n;
  for (size_t i = 0; i < f->groups.n; i++) *find_slot(f, &f->groups.at[i]) = (uint32_t)i + 1;
  return true;
}

ptrdiff_t loom_fronts_find(const loom_fronts *f, const loom_group *key) {
  return f->slots.capacity == 0 ? -1 : (ptrdiff_t)*find_slot(f, key) - 1;
}

ptrdiff_t loom_fronts_enter(loom_ctx *ctx, loom_fronts *f, const loom_group *key) {
  size_t room = f->slots.capacity;
  ptrdiff_t found = loom_fronts_find(f, key);
  if (found >= 0) return found;
  if (2 * f->groups.n >= room && !set_slots(ctx, f, room ? 2 * room : 16)) return -1;
  loom_group g = *key;
  size_t n = (size_t)g.n_tensors;
  g.n = g.capacity = 0;
  g.values = NULL;
  g.templates = NULL;
  g.tiles = NULL;
  g.backings = loom_realloc_array(ctx, NULL, 0, n, sizeof *g.backings);
  if (!g.backings && n > 0) return -1;
  if (n > 0) memcpy(g.backings, key->backings, n * sizeof *g.backings);
  if (!loom_vec_push(ctx, &f->groups, g)) {
    free_group(ctx, &g);
    return -1;
  }
  *find_slot(f, key) = (uint32_t)f->groups.n;
  return (ptrdiff_t)f->groups.n - 1;
}

/* ---- points ------------------------------------------------------------------------------- */

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

static int compare_templates(const loom_ranking *r, int a, int b) {
  int texts = a == b ? 0 : strcmp(r->texts[a], r->texts[b]);
  return texts ? texts : a < b ? -1 : a > b;
}

bool loom_group_dominates(const loom_group *g, const loom_ranking *ranking, const double *x,
                          int number) {
  size_t w = (size_t)g->width;
  for (size_t i = 0; i < g->n; i++)
    if (at_most(g->values + i * w, x, w) &&
        (!ranking->ranked || compare_templates(ranking, g->templates[i], number) < 0))
      return true;
  return false;
}

/* A point: its template and where its tiles are. */
typedef struct place {
  int number;
  const int32_t *tiles;
} place;

static place place_of(const loom_fronts *f, const loom_group *g, size_t point) {
  return (place){g->templates[point], f->tiles.at + g->tiles[point]};
}

static int compare_places(const loom_ranking *r, place a, place b) {
  int templates = compare_templates(r, a.number, b.number);
  if (templates) return templates;
  for (size_t i = 0; i < r->n_loops[a.number]; i++)
    if (a.tiles[i] != b.tiles[i]) return a.tiles[i] < b.tiles[i] ? -1 : 1;
  return 0;
}

/* A point there is as good: of equal ones that of the template that comes first, of one template the
** first that came; where ranks count, one that comes first. */
static bool is_needless(const loom_fronts *f, const loom_group *g, const loom_ranking *ranking,
                        const double *x, place own) {
  size_t w = (size_t)g->width;
  for (size_t i = 0; i < g->n; i++) {
    const double *y = g->values + i * w;
    if (!at_most(y, x, w)) continue;
    if (ranking->ranked && compare_places(ranking, place_of(f, g, i), own) > 0) continue;
    if (ranking->ranked || !at_most(x, y, w)) return true;
    return compare_templates(ranking, g->templates[i], own.number) <= 0;
  }
  return false;
}

bool loom_fronts_add(loom_ctx *ctx, loom_fronts *f, size_t group, const loom_ranking *ranking,
                     const double *x, int number, size_t tiles) {
  loom_group *g = &f->groups.at[group];
  place own = {number, f->tiles.at + tiles};
  size_t w = (size_t)g->width, kept = 0;
  if (is_needless(f, g, ranking, x, own)) return true;
  for (size_t i = 0; i < g->n; i++) {
    if (at_most(x, g->values + i * w, w) &&
        (!ranking->ranked || compare_places(ranking, own, place_of(f, g, i)) <= 0))
      continue;
    if (kept != i) {
      memcpy(g->values + kept * w, g->values + i * w, w * sizeof *x);
      g->templates[kept] = g->templates[i];
      g->tiles[kept] = g->tiles[i];
    }
    kept++;
  }
  g->n = kept;
  if (!grow_group(ctx, g)) return false;
  if (w > 0) memcpy(g->values + g->n * w, x, w * sizeof *x);
  g->templates[g->n] = number;
  g->tiles[g->n++] = tiles;
  return true;
}

/* Tiles of n loops copied once for all groups that have their point: `moved` is where they are, by the
** offset before, plus 1. */
static bool move_tiles(loom_ctx *ctx, loom_fronts *f, const int32_t *tiles, size_t n,
                       size_t *moved) {
  if (*moved > 0) return true;
  if (!loom_vec_reserve(ctx, &f->tiles, n)) return false;
  if (n > 0) memcpy(f->tiles.at + f->tiles.n, tiles, n * sizeof *tiles);
  *moved = f->tiles.n + 1;
  f->tiles.n += n;
  return true;
}

bool loom_fronts_pack(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking) {
  if (f->tiles.n <= 2 * f->packed + LEAST_PACKED) return true;
  loom_fronts next = {0};
  size_t room = f->tiles.n + 1;
  size_t *moved = loom_realloc_array(ctx, NULL, 0, room, sizeof *moved);
  bool done = moved != NULL;
  if (done) memset(moved, 0, room * sizeof *moved);
  for (size_t i = 0; i < f->groups.n && done; i++) {
    const loom_group *g = &f->groups.at[i];
    for (size_t p = 0; p < g->n && done; p++)
      done = move_tiles(ctx, &next, f->tiles.at + g->tiles[p], ranking->n_loops[g->templates[p]],
                        &moved[g->tiles[p]]);
  }
  for (size_t i = 0; i < f->groups.n && done; i++)
    for (size_t p = 0; p < f->groups.at[i].n; p++)
      f->groups.at[i].tiles[p] = moved[f->groups.at[i].tiles[p]] - 1;
  loom_give_back(ctx, moved, room, sizeof *moved);
  if (!done) {
    loom_fronts_free(ctx, &next);
    return false;
  }
  loom_vec_free(ctx, &f->tiles);
  f->tiles.at = next.tiles.at;
  f->tiles.n = f->packed = next.tiles.n;
  f->tiles.capacity = next.tiles.capacity;
  return true;
}

/* Adds a point of other fronts unless it is needless; its tiles are copied once for all groups that
** have it: `moved` is where they are, by the offset there, plus 1. */
static bool take_point(loom_ctx *ctx, loom_fronts *f, size_t group, const loom_fronts *from,
                       const loom_group *other, size_t point, const loom_ranking *ranking,
                       size_t *moved) {
  const double *x = other->values + point * (size_t)other->width;
  place own = place_of(from, other, point);
  size_t n = ranking->n_loops[own.number], at = other->tiles[point];
  if (is_needless(f, &f->groups.at[group], ranking, x, own)) return true;
  if (!move_tiles(ctx, f, own.tiles, n, &moved[at])) return false;
  return loom_fronts_add(ctx, f, group, ranking, x, own.number, moved[at] - 1);
}

bool loom_fronts_merge(loom_ctx *ctx, loom_fronts *f, const loom_fronts *from,
                       const loom_ranking *ranking) {
  if (!loom_fronts_pack(ctx, f, ranking)) return false;
  size_t room = from->tiles.n + 1;
  size_t *moved = loom_realloc_array(ctx, NULL, 0, room, sizeof *moved);
  bool done = moved != NULL;
  if (done) memset(moved, 0, room * sizeof *moved);
  for (size_t i = 0; i < from->groups.n && done; i++) {
    const loom_group *other = &from->groups.at[i];
    ptrdiff_t at = loom_fronts_enter(ctx, f, other);
    done = at >= 0;
    for (size_t p = 0; p < other->n && done; p++)
      done = take_point(ctx, f, (size_t)at, from, other, p, ranking, moved);
  }
  loom_give_back(ctx, moved, room, sizeof *moved);
  return done;
}

/* ---- order -------------------------------------------------------------------------------- */

typedef struct order {
  const loom_fronts *fronts;
  const loom_group *group;
  const loom_ranking *ranking;
} order;

static int compare_groups(const void *context, size_t a, size_t b) {
  const loom_fronts *f = context;
  return compare_keys(&f->groups.at[a], &f->groups.at[b]);
}

static int compare_points(const void *context, size_t a, size_t b) {
  const order *o = context;
  const loom_group *g = o->group;
  const double *x = g->values + a * (size_t)g->width, *y = g->values + b * (size_t)g->width;
  for (int k = 0; k < g->width; k++)
    if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
  return compare_places(o->ranking, place_of(o->fronts, g, a), place_of(o->fronts, g, b));
}

static bool sort_points(loom_ctx *ctx, loom_group *g, const size_t *list) {
  loom_group next = *g;
  size_t w = (size_t)g->width;
  next.capacity = g->n;
  next.values = loom_realloc_array(ctx, NULL, 0, g->n * w, sizeof *g->values);
  next.templates = loom_realloc_array(ctx, NULL, 0, g->n, sizeof *g->templates);
  next.tiles = loom_realloc_array(ctx, NULL, 0, g->n, sizeof *g->tiles);
  if ((w > 0 && !next.values) || !next.templates || !next.tiles) {
    free_points(ctx, &next);
    return false;
  }
  for (size_t i = 0; i < g->n; i++) {
    if (w > 0) memcpy(next.values + i * w, g->values + list[i] * w, w * sizeof *g->values);
    next.templates[i] = g->templates[list[i]];
    next.tiles[i] = g->tiles[list[i]];
  }
  free_points(ctx, g);
  *g = next;
  return true;
}

/* The first n numbers in the order of a comparison, into a list with room for 2 n. */
static bool sorted(loom_ctx *ctx, size_t *list, size_t n, loom_comparison *compare,
                   const void *context) {
  for (size_t i = 0; i < n; i++) list[i] = i;
  return loom_sort(ctx, list, list + n, n, compare, context);
}

static bool sort_groups(loom_ctx *ctx, loom_fronts *f, size_t *list) {
  size_t n = f->groups.n;
  if (n == 0) return true;
  loom_group *groups = loom_realloc_array(ctx, NULL, 0, n, sizeof *groups);
  if (!groups || !sorted(ctx, list, n, compare_groups, f)) {
    loom_give_back(ctx, groups, n, sizeof *groups);
    return false;
  }
  for (size_t i = 0; i < n; i++) groups[i] = f->groups.at[list[i]];
  loom_vec_free(ctx, &f->groups);
  f->groups.at = groups;
  f->groups.n = f->groups.capacity = n;
  return set_slots(ctx, f, f->slots.capacity);
}

bool loom_fronts_sort(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking) {
  size_t most = f->groups.n;
  for (size_t i = 0; i < f->groups.n; i++)
    if (f->groups.at[i].n > most) most = f->groups.at[i].n;
  size_t *list = loom_realloc_array(ctx, NULL, 0, 2 * most + 1, sizeof *list);
  bool done = list && sort_groups(ctx, f, list);
  for (size_t i = 0; i < f->groups.n && done; i++) {
    loom_group *g = &f->groups.at[i];
    order o = {f, g, ranking};
    if (g->n < 2) continue;
    done = sorted(ctx, list, g->n, compare_points, &o) && sort_points(ctx, g, list);
  }
  loom_give_back(ctx, list, 2 * most + 1, sizeof *list);
  return done;
}

/* A point by the numbers of its group and its own. */
typedef struct ranked_point {
  size_t group, point;
} ranked_point;

typedef struct rank_order {
  const loom_fronts *fronts;
  const loom_ranking *ranking;
  const ranked_point *points;
} rank_order;

static int compare_ranked(const void *context, size_t a, size_t b) {
  const rank_order *o = context;
  const ranked_point *x = &o->points[a], *y = &o->points[b];
  const loom_group *g = &o->fronts->groups.at[x->group], *h = &o->fronts->groups.at[y->group];
  int places = compare_places(o->ranking, place_of(o->fronts, g, x->point),
                              place_of(o->fronts, h, y->point));
  return places ? places : compare_keys(g, h);
}

static void list_points(loom_fronts *f, ranked_point *points) {
  size_t n = 0;
  for (size_t i = 0; i < f->groups.n; i++) {
    f->groups.at[i].first = n;
    for (size_t p = 0; p < f->groups.at[i].n; p++) points[n++] = (ranked_point){i, p};
  }
}

double *loom_fronts_rank(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking, size_t *n) {
  *n = 0;
  for (size_t i = 0; i < f->groups.n; i++) *n += f->groups.at[i].n;
  ranked_point *points = loom_realloc_array(ctx, NULL, 0, *n + 1, sizeof *points);
  size_t *list = loom_realloc_array(ctx, NULL, 0, 2 * *n + 1, sizeof *list);
  double *ranks = loom_realloc_array(ctx, NULL, 0, *n + 1, sizeof *ranks);
  rank_order o = {f, ranking, points};
  bool done = points && list && ranks;
  if (done) list_points(f, points);
  done = done && sorted(ctx, list, *n, compare_ranked, &o);
  for (size_t i = 0; i < *n && done; i++) ranks[list[i]] = (double)i;
  loom_give_back(ctx, points, *n + 1, sizeof *points);
  loom_give_back(ctx, list, 2 * *n + 1, sizeof *list);
  if (done) return ranks;
  loom_give_back(ctx, ranks, *n + 1, sizeof *ranks);
  return NULL;
}
