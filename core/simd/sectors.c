/* SPDX-License-Identifier: MIT */
/* Counts the sectors of the blocks of a kernel in closed form (doc/formulas.md#memory-sectors).
** Invariant: what is counted is exact; where elements of a block are not found in ascending order, and
** where parts of it may share a sector, there is no answer. */
#include "simd/sectors.h"

#include "simd/crossing.h"

typedef struct counter {
  const loom_placed *placed;
  const loom_grid *grid;
  int64_t width;
  loom_step_list inside, starts; /* within a block; from block to block */
  int64_t base;
  bool crosses; /* a range whose blocks lie across digits */
  loom_crossing crossing;
  int64_t total;
} counter;

/* ---- blocks of ranges --------------------------------------------------------------------- */

static bool count_blocks(counter *c) {
  loom_residues starts = {{0}};
  loom_levels l;
  starts.at[loom_floor_rest(c->placed->constant + c->base, c->width)] = 1;
  for (size_t i = 0; i < c->starts.n; i++)
    starts = loom_residues_spread(&starts, c->width, c->starts.at[i]);
  if (c->crosses)
    return loom_crossing_count(&c->crossing, &c->inside, &starts, c->width, &c->total);
  if (!loom_levels_of(&c->inside, NULL, 0, 0, &l)) return false;
  starts = loom_residues_shift(&starts, c->width, l.shift);
  c->total += loom_levels_count(&l, starts, c->width);
  return true;
}

static bool count_range(counter *c, size_t range);

/* Blocks that cover `inside` values of a digit at `base`, begin at `starts` of them, and at those of the
** digits outside it. */
static bool count_class(counter *c, size_t range, size_t outer, loom_step inside, loom_step starts,
                        int64_t base) {
  size_t n_inside = c->inside.n, n_starts = c->starts.n;
  loom_step_push(&c->inside, inside.size, inside.step);
  loom_step_push(&c->starts, starts.size, starts.step);
  for (size_t i = outer; i < c->placed->range[range].n; i++)
    loom_step_push(&c->starts, c->placed->range[range].digits[i].size,
                   c->placed->range[range].digits[i].step);
  c->base += base;
  bool good = range > 0 ? count_range(c, range - 1) : count_blocks(c);
  c->base -= base;
  c->inside.n = n_inside;
  c->starts.n = n_starts;
  return good;
}

/* The blocks of `size` values across digits i and i + 1, those of one range at most. */
static bool count_crossing(counter *c, size_t range, size_t i, int64_t size) {
  const loom_step *d = c->placed->range[range].digits, none = {1, 0};
  bool even = d[i].size * d[i + 1].size % size == 0;
  if (c->crosses || (!even && i + 2 < c->placed->range[range].n)) return false;
  c->crosses = true;
  c->crossing = (loom_crossing){d[i], d[i + 1], size};
  bool good = count_class(c, range, i + 2, none, none, 0);
  c->crosses = false;
  return good;
}

static bool count_range(counter *c, size_t range) {
  const loom_step *d = c->placed->range[range].digits, none = {1, 0};
  size_t n = c->placed->range[range].n, i = 0, n_inside = c->inside.n;
  bool whole = c->grid->block[range] >= c->grid->extent[range] ||
               (range >= c->grid->n_pointwise && !c->placed->reduces);
  int64_t rest = whole ? c->grid->extent[range] : c->grid->block[range];
  for (; i < n && rest % d[i].size == 0; rest /= d[i++].size)
    loom_step_push(&c->inside, d[i].size, d[i].step);
  bool good;
  if (i == n || rest == 1) {
    good = count_class(c, range, i, none, none, 0);
  } else if (rest < d[i].size && (d[i].size % rest == 0 || i + 1 == n)) {
    int64_t times = d[i].size / rest, tail = d[i].size % rest, step = d[i].step;
    good =
        count_class(c, range, i + 1, (loom_step){rest, step}, (loom_step){times, step * rest}, 0);
    if (good && tail > 0)
      good = count_class(c, range, i + 1, (loom_step){tail, step}, none, step * rest * times);
  } else {
    good = i + 1 < n && count_crossing(c, range, i, rest);
  }
  c->inside.n = n_inside;
  return good;
}

int64_t loom_placed_sectors(const loom_placed *placed, const loom_grid *grid, int64_t width) {
  counter c = {.placed = placed, .grid = grid, .width = width};
  bool good = grid->n > 0 ? count_range(&c, grid->n - 1) : count_blocks(&c);
  return good ? c.total : -1;
}

/* ---- placing ------------------------------------------------------------------------------ */

/* Neighbours that go on as one are one. */
static void place(loom_placed *out, size_t range, loom_step digit) {
  size_t n = out->range[range].n;
  loom_step *last = n > 0 ? &out->range[range].digits[n - 1] : NULL;
  if (digit.size == 1) return;
  if (last && digit.step == last->step * last->size)
    last->size *= digit.size;
  else
    out->range[range].digits[out->range[range].n++] = digit;
}

bool loom_form_place(const loom_form *form, const loom_grid *grid, loom_placed *out) {
  size_t left = form->n;
  loom_step digit = {1, 0};
  out->n = grid->n;
  out->constant = form->constant;
  out->reduces = false;
  for (size_t range = grid->n; range-- > 0;) {
    out->range[range].n = 0;
    for (int64_t rest = grid->extent[range]; rest > 1;) {
      if (digit.size == 1 && left > 0) digit = form->digits[--left];
      int64_t taken = rest % digit.size == 0 ? digit.size : rest;
      if (digit.size == 1 || digit.size % taken != 0) return false;
      place(out, range, (loom_step){taken, digit.step});
      if (range >= grid->n_pointwise && digit.step != 0) out->reduces = true;
      digit = (loom_step){digit.size / taken, digit.step * taken};
      rest /= taken;
    }
  }
  return left == 0 && digit.size == 1;
}
