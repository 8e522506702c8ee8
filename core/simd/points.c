/* SPDX-License-Identifier: MIT */
/* Counts sectors by looking at every point.
** Invariant: two points have the same number exactly if they are in the same sector. */
#include "simd/points.h"

#include <math.h>
#include <string.h>

enum { BATCH = 256 };

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

/* ---- evaluating --------------------------------------------------------------------------- */

typedef struct evaluator {
  const loom_numeric_nest *nest;
  loom_points *points;
  numbering numbers;
  int64_t width;
  double begin; /* the index at the beginning of the run */
} evaluator;

/* The values of the loops at points first, first + 1, ..., one row of BATCH for each loop. */
static void fill(const loom_numeric_nest *nest, uint32_t first, size_t count, double *rows) {
  for (size_t k = 0; k < count; k++) {
    int64_t left = ((int64_t)first + (int64_t)k) / nest->repeats;
    for (size_t i = nest->n; i-- > 0; left /= nest->sizes[i])
      rows[i * BATCH + k] = (double)(left % nest->sizes[i]);
  }
}

static bool take(evaluator *e, const double *values, uint32_t first, size_t count) {
  for (size_t k = 0; k < count; k++) {
    double v = values[k];
    if (!(fabs(v) < 9007199254740992.0) || v != floor(v)) return false;
    if ((first + k) % e->nest->run == 0) e->begin = v;
    if (v != e->begin) e->points->reduces = true;
    int64_t sector = loom_floor_quotient((int64_t)v, e->width);
    e->points->sector[first + k] = number_of(&e->numbers, sector);
  }
  return true;
}

static bool evaluate(evaluator *e, const loom_program *program, double *memory) {
  const double *inputs[LOOM_MOST_DIGITS];
  double *outputs[] = {memory + e->nest->n * BATCH};
  for (size_t i = 0; i < e->nest->n; i++) inputs[i] = memory + i * BATCH;
  for (uint32_t first = 0; first < e->nest->n_points; first += BATCH) {
    uint32_t left = e->nest->n_points - first;
    size_t count = left < BATCH ? left : BATCH;
    fill(e->nest, first, count, memory);
    if (loom_program_eval(program, count, inputs, outputs) != LOOM_OK) {
      loom_error_memory(e->numbers.ctx);
      return false;
    }
    if (!take(e, outputs[0], first, count)) return false;
  }
  return true;
}

static void shrink(loom_points *p, uint32_t run) {
  if (p->reduces) return;
  p->n /= run;
  for (uint32_t i = 0; i < p->n; i++) p->sector[i] = p->sector[(size_t)i * run];
}

bool loom_points_of(loom_arena *arena, loom_expr index, const loom_numeric_nest *nest,
                    int64_t width, loom_points *out) {
  loom_ctx *ctx = arena->ctx;
  if (nest->n > LOOM_MOST_DIGITS) return false;
  *out = (loom_points){.n = nest->n_points};
  evaluator e = {.nest = nest, .points = out, .numbers.ctx = ctx, .width = width};
  size_t room = (nest->n + 1) * BATCH;
  out->sector = loom_arena_array(arena, nest->n_points, sizeof *out->sector);
  double *memory = loom_realloc_array(ctx, NULL, 0, room, sizeof *memory);
  loom_program *program = loom_compile(ctx, 1, &index, nest->n, nest->variables);
  bool good = out->sector && memory && program && begin_numbering(&e.numbers, nest->n_points) &&
              evaluate(&e, program, memory);
  out->n_sectors = e.numbers.n;
  end_numbering(&e.numbers, nest->n_points);
  loom_program_free(program);
  if (memory) loom_realloc_array(ctx, memory, room, 0, sizeof *memory);
  if (!good) return false;
  shrink(out, nest->run);
  out->seen = loom_arena_array(arena, out->n_sectors, sizeof *out->seen);
  return out->seen != NULL;
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
