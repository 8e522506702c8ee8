/* SPDX-License-Identifier: MIT */
/* The blocks of a tiling that touch the fewest sectors.
** Invariant: a shape is counted only as long as it may still be the best. */
#include "simd/best.h"

typedef struct shaper {
  loom_touches *t;
  int64_t points, limit, best;
  loom_grid grid;
  loom_placed *placed; /* by access */
  bool *is_placed;
  int64_t block[LOOM_N_PREFIXES]; /* of the best */
  bool counted;
} shaper;

bool loom_grid_of(loom_touches *t, const loom_blocked *b, loom_grid *out) {
  loom_ctx *ctx = t->g->ctx;
  int64_t pointwise = 1, reduced = 1;
  *out = (loom_grid){.n = b->tiling.n};
  for (size_t i = 0; i < b->tiling.n; i++) {
    loom_expr value;
    bool reduces = loom_prefix_is_reduction(b->tiling.prefix[i]);
    if (!loom_hint_value(ctx, b->tiling.extent[i], &t->g->given, &value) ||
        !loom_as_int(ctx, value, &out->extent[i]) || out->extent[i] <= 0 ||
        __builtin_mul_overflow(reduces ? reduced : pointwise, out->extent[i],
                               reduces ? &reduced : &pointwise))
      return false;
    out->n_pointwise += !reduces;
    out->block[i] = b->block[i];
  }
  return pointwise == t->extent && reduced == t->reduction_extent;
}

/* ---- one shape ---------------------------------------------------------------------------- */

static void try_shape(shaper *s) {
  int64_t total = 0;
  for (size_t i = 0; i < s->t->list.n && total < s->best; i++) {
    const loom_placed *placed = s->is_placed[i] ? &s->placed[i] : NULL;
    int64_t sectors = loom_touch_placed(s->t, &s->t->list.at[i], placed, &s->grid);
    if (sectors < 0) {
      s->counted = false;
      return;
    }
    total += sectors;
  }
  if (total >= s->best) return;
  s->best = total;
  for (size_t i = 0; i < s->grid.n; i++) s->block[i] = s->grid.block[i];
}

/* The greatest block of the range with at most that many points: a power of two or all of it. */
static int64_t greatest(int64_t extent, int64_t points) {
  int64_t block = 1;
  if (extent <= points) return extent;
  while (block <= points / 2) block *= 2;
  return block;
}

/* Blocks of `points` points of the first n ranges, the innermost as long as possible first; the
** outermost takes what it can. */
static void try_shapes(shaper *s, size_t n, int64_t points) {
  int64_t block = greatest(s->grid.extent[n - 1], points);
  s->grid.block[n - 1] = block;
  if (n == 1) {
    try_shape(s);
    return;
  }
  while (s->counted && s->best > s->limit) {
    s->grid.block[n - 1] = block;
    try_shapes(s, n - 1, points / block);
    if (block == 1) return;
    block = greatest(INT64_MAX, block - 1);
  }
}

/* ---- entry -------------------------------------------------------------------------------- */

static int64_t least_of(const loom_touches *t) {
  int64_t least = 0;
  for (size_t i = 0; i < t->list.n; i++) least += t->list.at[i].least;
  return least;
}

bool loom_blocks_best(loom_touches *t, int64_t points, int64_t limit, loom_blocked *out,
                      bool *counted) {
  loom_ctx *ctx = t->g->ctx;
  shaper s = {.t = t, .points = points, .limit = least_of(t), .best = limit, .counted = true};
  size_t n = t->list.n;
  out->sectors = -1;
  *counted = loom_grid_of(t, out, &s.grid);
  if (!*counted || s.grid.n == 0) return loom_error_status(ctx) == LOOM_OK;
  s.placed = loom_realloc_array(ctx, NULL, 0, n + 1, sizeof *s.placed);
  s.is_placed = loom_realloc_array(ctx, NULL, 0, n + 1, sizeof *s.is_placed);
  for (size_t i = 0; s.placed && s.is_placed && i < n; i++)
    s.is_placed[i] =
        t->list.at[i].has_form && loom_form_place(&t->list.at[i].form, &s.grid, &s.placed[i]);
  if (s.placed && s.is_placed) try_shapes(&s, s.grid.n, points);
  if (s.placed) loom_realloc_array(ctx, s.placed, n + 1, 0, sizeof *s.placed);
  if (s.is_placed) loom_realloc_array(ctx, s.is_placed, n + 1, 0, sizeof *s.is_placed);
  *counted = s.counted;
  if (s.counted && s.best < limit) {
    out->sectors = s.best;
    for (size_t i = 0; i < s.grid.n; i++) out->block[i] = s.block[i];
  }
  return loom_error_status(ctx) == LOOM_OK;
}
