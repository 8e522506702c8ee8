/* SPDX-License-Identifier: MIT */
/* Counts sectors by looking at every point.
** Invariant: two points have the same number exactly if they are in the same sector. */
#include "simd/points.h"

#include <string.h>

/* ---- numbering sectors -------------------------------------------------------------------- */

typedef struct numbering {
  loom_ctx *ctx;
  uint64_t n_places; /* a power of two, twice the points or more */
  uint32_t *places;  /* number + 1; 0: free */
  int64_t *sectors;  /* by number */
  uint32_t n;
} numbering;

static uint32_t number_of(numbering *t, int64_t sector) {
  uint64_t mask = t->n_places - 1, i = (uint64_t)sector * UINT64_C(0x9e3779b97f4a7c15);
  for (i = (i >> 20) & mask; t->places[i] != 0; i = (i + 1) & mask)
    if (t->sectors[t->places[i] - 1] == sector) return t->places[i] - 1;
  t->sectors[t->n] = sector;
  t->places[i] = ++t->n;
  return t->n - 1;
}

static bool begin_numbering(numbering *t, uint32_t n_points) {
  for (t->n_places = 16; t->n_places < 2 * (uint64_t)n_points;) t->n_places *= 2;
  t->places = loom_realloc_array(t->ctx, NULL, 0, t->n_places, sizeof *t->places);
  t->sectors = loom_realloc_array(t->ctx, NULL, 0, n_points, sizeof *t->sectors);
  if (!t->places || !t->sectors) return false;
  memset(t->places, 0, t->n_places * sizeof *t->places);
  return true;
}

static void end_numbering(numbering *t, uint32_t n_points) {
  if (t->places) loom_realloc_array(t->ctx, t->places, t->n_places, 0, sizeof *t->places);
  if (t->sectors) loom_realloc_array(t->ctx, t->sectors, n_points, 0, sizeof *t->sectors);
}

/* ---- points ------------------------------------------------------------------------------- */

static void number_all(loom_points *p, numbering *numbers, const int64_t *values, int64_t width,
                       uint32_t run) {
  for (uint32_t i = 0; i < p->n; i++) {
    p->reduces |= values[i] != values[i - i % run];
    p->sector[i] = number_of(numbers, loom_floor_quotient(values[i], width));
  }
  p->n_sectors = numbers->n;
  if (p->reduces) return;
  p->n /= run;
  for (uint32_t i = 0; i < p->n; i++) p->sector[i] = p->sector[(size_t)i * run];
}

bool loom_points_of(loom_arena *arena, loom_expr index, const loom_numeric_nest *nest, uint32_t run,
                    int64_t width, loom_points *out) {
  loom_ctx *ctx = arena->ctx;
  uint32_t n = nest->n_points;
  numbering numbers = {.ctx = ctx};
  *out = (loom_points){.n = n};
  out->sector = loom_arena_array(arena, n, sizeof *out->sector);
  int64_t *values = loom_realloc_array(ctx, NULL, 0, n, sizeof *values);
  bool good = out->sector && values && loom_nest_values(ctx, index, nest, values) &&
              begin_numbering(&numbers, n);
  if (good) number_all(out, &numbers, values, width, run);
  end_numbering(&numbers, n);
  if (values) loom_realloc_array(ctx, values, n, 0, sizeof *values);
  if (good) out->seen = loom_arena_array(arena, out->n_sectors, sizeof *out->seen);
  return good && out->seen;
}

/* ---- counting ----------------------------------------------------------------------------- */

/* The sectors of the block that begins at the point `first` of the grid and has `size` of each range. */
static int64_t count_block(loom_points *p, const loom_grid *grid, int64_t first,
                           const int64_t *size) {
  int64_t at[LOOM_N_PREFIXES] = {0}, total = 0, flat = first;
  p->block++;
  for (;;) {
    for (int64_t i = 0; i < size[grid->n - 1]; i++) {
      uint32_t sector = p->sector[flat + i];
      total += p->seen[sector] != p->block;
      p->seen[sector] = p->block;
    }
    int64_t stride = grid->extent[grid->n - 1];
    size_t range = grid->n - 1;
    while (range-- > 0) {
      flat += stride;
      if (++at[range] < size[range]) break;
      flat -= at[range] * stride;
      at[range] = 0;
      stride *= grid->extent[range];
    }
    if (range == SIZE_MAX) return total;
  }
}

int64_t loom_points_sectors(loom_points *p, const loom_grid *grid) {
  int64_t begin[LOOM_N_PREFIXES] = {0}, size[LOOM_N_PREFIXES], total = 0;
  if (grid->n == 0 || p->n == 0) return p->n;
  for (;;) {
    int64_t first = 0;
    for (size_t i = 0; i < grid->n; i++) {
      int64_t left = grid->extent[i] - begin[i];
      size[i] = left < grid->block[i] ? left : grid->block[i];
      first = first * grid->extent[i] + begin[i];
    }
    total += count_block(p, grid, first, size);
    size_t range = grid->n;
    while (range-- > 0) {
      begin[range] += grid->block[range];
      if (begin[range] < grid->extent[range]) break;
      begin[range] = 0;
    }
    if (range == SIZE_MAX) return total;
  }
}
