/* SPDX-License-Identifier: MIT */
/* Chooses the tiling whose blocks touch the fewest memory sectors (doc/formulas.md#memory-sectors).
** Invariant: no tiling of the rules touches fewer, or sectors are not counted and the rules choose. */
#include "simd/best.h"

#include <limits.h>

#include "ranges/sizes.h"

enum { POINTS = 1024, TILES = 3 };

typedef struct chooser {
  loom_graph *g;
  const loom_kernel_steps *steps;
  loom_best_options options;
  loom_touches touches;
  int64_t least; /* no tiling touches fewer */
  loom_tiling_list list;
  size_t n_rules; /* at the front of the list */
  loom_blocked best;
} chooser;

/* ---- candidates --------------------------------------------------------------------------- */

static size_t pointwise_ranges(const loom_tiling *t) {
  size_t n = 0;
  while (n < t->n && !loom_prefix_is_reduction(t->prefix[n])) n++;
  return n;
}

static bool same_tiling(const loom_tiling *a, const loom_tiling *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->prefix[i] != b->prefix[i] || a->extent[i] != b->extent[i]) return false;
  return true;
}

static bool add(chooser *c, const loom_tiling *tiling) {
  for (size_t i = 0; i < c->list.n; i++)
    if (same_tiling(&c->list.at[i], tiling)) return true;
  return pointwise_ranges(tiling) > c->options.max_tiles ||
         loom_vec_push(c->g->ctx, &c->list, *tiling);
}

static bool add_rules(chooser *c) {
  for (int k = 0; k < 8; k++) {
    loom_tiling_options options = {k & 1 ? 3 : 2, k & 2, k & 4};
    loom_tiling tiling;
    if (options.reductions && !c->options.reductions) continue;
    if (loom_tiling_select(c->g, c->steps, &options, &tiling) != LOOM_OK || !add(c, &tiling))
      return false;
  }
  return true;
}

static bool add_coalesced(chooser *c) {
  loom_coalescing *found = loom_coalesce(c->g, c->steps, false);
  bool good = loom_error_status(c->g->ctx) == LOOM_OK;
  for (size_t tiles = 2; good && found && tiles <= 3; tiles++) {
    loom_scored_tiling scored;
    good = loom_coalesced_select(c->g, c->steps, found, tiles, &scored) == LOOM_OK &&
           add(c, &scored.tiling);
  }
  loom_coalescing_free(found);
  return good;
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* *counted: whether the sectors of the tiling are known as far as they matter. */
static bool try_tiling(chooser *c, const loom_tiling *tiling, bool *counted) {
  loom_blocked b = {.tiling = *tiling};
  int64_t limit = c->best.sectors < 0 ? INT64_MAX : c->best.sectors;
  if (!loom_blocks_best(&c->touches, c->options.points, limit, &b, counted)) return false;
  if (b.sectors >= 0) c->best = b;
  return true;
}

/* Whether what is reduced stays on the ranges of the reduction. */
static bool keeps_reduction(chooser *c, const loom_tiling *tiling) {
  loom_grid grid;
  loom_blocked b = {.tiling = *tiling};
  return loom_grid_of(&c->touches, &b, &grid);
}

/* The candidates with that many ranges; *counted false: one of the rules is not counted. */
static bool try_all(chooser *c, size_t n, bool *counted) {
  for (size_t i = 0; *counted && i < c->list.n && c->best.sectors != c->least; i++) {
    const loom_tiling *tiling = &c->list.at[i];
    bool is_rule = i < c->n_rules, good;
    if (tiling->n != n || !keeps_reduction(c, tiling)) continue;
    if (!is_rule && !loom_tiling_fits(c->g, c->steps, tiling)) continue;
    if (!try_tiling(c, tiling, &good)) return false;
    if (is_rule) *counted = good;
  }
  return loom_error_status(c->g->ctx) == LOOM_OK;
}

/* The sectors of each access if all points were one block: no blocks touch fewer. */
static void find_least(chooser *c) {
  loom_grid grid = {.n = 2, .n_pointwise = 1};
  grid.extent[0] = grid.block[0] = c->touches.extent;
  grid.extent[1] = grid.block[1] = c->touches.reduction_extent;
  for (size_t i = 0; i < c->touches.list.n; i++) {
    loom_touch *touch = &c->touches.list.at[i];
    int64_t sectors = loom_touch_sectors(&c->touches, touch, &grid);
    touch->least = sectors < 0 ? 0 : sectors;
    c->least += touch->least;
  }
}

static bool choose(chooser *c, bool *counted) {
  loom_tiling whole;
  if (loom_tiling_create(c->g->ctx, 1, &c->steps->extent, 1, &c->steps->reduction_extent, &whole) !=
          LOOM_OK ||
      !try_tiling(c, &whole, counted))
    return false;
  if (!*counted || c->best.sectors == c->least || c->options.max_tiles == 1) return true;
  if (!add_rules(c) || !add_coalesced(c)) return false;
  c->n_rules = c->list.n;
  if (!loom_cut_tilings(&c->touches, c->options.max_tiles, c->options.reductions, &c->list))
    return false;
  for (size_t n = 2; *counted && n <= LOOM_N_PREFIXES; n++)
    if (!try_all(c, n, counted)) return false;
  return true;
}

loom_status loom_tiling_best(loom_graph *g, const loom_kernel_steps *steps,
                             const loom_best_options *options, loom_blocked *out) {
  chooser c = {.g = g, .steps = steps, .best = {.sectors = -1}};
  bool counted;
  if (options) c.options = *options;
  if (c.options.max_tiles == 0) c.options.max_tiles = TILES;
  if (c.options.points == 0) c.options.points = POINTS;
  bool good = loom_touches_begin(&c.touches, g, steps, &counted);
  if (good && counted) {
    find_least(&c);
    good = choose(&c, &counted);
  }
  loom_touches_free(&c.touches);
  loom_vec_free(g->ctx, &c.list);
  *out = c.best;
  if (!good) return loom_error_status(g->ctx);
  if (counted) return LOOM_OK;
  *out = (loom_blocked){.sectors = -1};
  loom_tiling_options rules = {.max_tiles = c.options.max_tiles == 1 ? 1 : 0};
  return loom_tiling_select(g, steps, &rules, &out->tiling);
}

/* ---- counting one tiling ------------------------------------------------------------------ */

/* The accesses in blocks that are given, in order; -1 of those that are not counted. */
static void count_accesses(chooser *c, const loom_grid *grid, loom_blocked *b,
                           loom_access_sectors *out, size_t capacity) {
  b->sectors = 0;
  for (size_t i = 0; i < c->touches.list.n; i++) {
    loom_touch *touch = &c->touches.list.at[i];
    int64_t sectors = loom_touch_sectors(&c->touches, touch, grid);
    b->sectors = sectors < 0 || b->sectors < 0 ? -1 : b->sectors + sectors;
    if (i < capacity)
      out[i] = (loom_access_sectors){touch->op, touch->buffer, touch->store, touch->index, sectors};
  }
}

static bool count_tiling(chooser *c, loom_blocked *b, loom_access_sectors *out, size_t capacity) {
  loom_grid grid;
  bool counted, given = b->tiling.n > 0 && b->block[0] > 0;
  if (!loom_grid_of(&c->touches, b, &grid)) {
    if (loom_error_status(c->g->ctx) == LOOM_OK)
      loom_error_set(c->g->ctx, LOOM_ERR_ARGUMENT,
                     "the ranges of the tiling do not multiply to the extents of the kernel");
    return false;
  }
  if (!given && !loom_blocks_best(&c->touches, c->options.points, INT64_MAX, b, &counted))
    return false;
  if (!given && !counted) return true;
  for (size_t i = 0; i < grid.n; i++) grid.block[i] = b->block[i];
  count_accesses(c, &grid, b, out, capacity);
  return true;
}

ptrdiff_t loom_tiling_sectors(loom_graph *g, const loom_kernel_steps *steps, loom_blocked *blocked,
                              loom_access_sectors *out, size_t capacity) {
  chooser c = {.g = g, .steps = steps, .options = {TILES, false, POINTS}};
  bool known;
  ptrdiff_t n = -1;
  blocked->sectors = -1;
  for (size_t i = 0; blocked->block[0] > 0 && i < blocked->tiling.n; i++)
    if (blocked->block[i] < 1)
      return loom_graph_bad(g, "a block of %s has a point or more",
                            loom_prefix_name(blocked->tiling.prefix[i]));
  bool good = loom_touches_begin(&c.touches, g, steps, &known);
  if (good && !known) n = 0;
  if (good && known && count_tiling(&c, blocked, out, capacity)) n = (ptrdiff_t)c.touches.list.n;
  loom_touches_free(&c.touches);
  return n;
}
