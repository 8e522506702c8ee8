/* SPDX-License-Identifier: MIT */
/* Counts sectors of blocks in closed form (doc/formulas.md#memory-sectors).
** Invariant: what is counted is exact; where elements of a block are not found in ascending order, and
** where parts of it may share a sector, there is no answer. */
#include "simd/sectors.h"

#include <string.h>

enum { MOST_STEPS = 2 * LOOM_MOST_DIGITS, MOST_CLASSES = 4096 };

typedef struct steps {
  size_t n;
  loom_step at[MOST_STEPS];
} steps;

/* A level of a set of elements that are met in ascending order: its step is more than all that is inside
** it spans. */
typedef struct level {
  loom_step step;
  bool marked;
} level;
typedef struct levels {
  size_t n;
  int64_t shift; /* of the least element */
  level at[MOST_STEPS];
} levels;

/* Blocks by where they begin in a sector. */
typedef struct residues {
  int64_t at[LOOM_SECTOR_BYTES];
} residues;

/* Blocks of a range that lie across its digits: from place `from` of one row of `low` elements to place
** `to` of the row `rows` further on. */
typedef struct crossing {
  bool exists;
  loom_step low;
  int64_t high_step, from, to, rows;
} crossing;

typedef struct counter {
  const loom_placed *placed;
  const loom_grid *grid;
  int64_t width;
  steps inside, starts; /* within a block; from block to block */
  int64_t base;
  crossing crossing;
  int64_t total;
} counter;

static int64_t divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void push(steps *s, int64_t size, int64_t step) {
  if (size > 1) s->at[s->n++] = (loom_step){size, step};
}

/* ---- elements in ascending order ---------------------------------------------------------- */

/* Inserts by ascending step, steps turned upwards; those of 0 add nothing. */
static void insert(levels *l, loom_step step, bool marked) {
  if (step.size == 1 || step.step == 0) return;
  if (step.step < 0) {
    l->shift += step.step * (step.size - 1);
    step.step = -step.step;
  }
  size_t i = l->n++;
  for (; i > 0 && l->at[i - 1].step.step > step.step; i--) l->at[i] = l->at[i - 1];
  l->at[i] = (level){step, marked};
}

/* Joins levels that overlap evenly: a*[0, m) + a*k*[0, n) = a*[0, m + k*(n - 1)) where k <= m.  False:
** some overlap otherwise. */
static bool nest(levels *l) {
  int64_t span = 0;
  size_t kept = 0;
  for (size_t i = 0; i < l->n; i++) {
    level next = l->at[i];
    if (next.step.step <= span) {
      loom_step *last = &l->at[kept - 1].step;
      int64_t k = next.step.step / last->step;
      if (next.step.step % last->step != 0 || k > last->size) return false;
      last->size += k * (next.step.size - 1);
      l->at[kept - 1].marked = false;
    } else {
      l->at[kept++] = next;
    }
    span += next.step.step * (next.step.size - 1);
  }
  l->n = kept;
  return true;
}

static bool levels_of(const counter *c, const loom_step *more, size_t n, size_t marked,
                      levels *out) {
  out->n = 0;
  out->shift = 0;
  for (size_t i = 0; i < c->inside.n; i++) insert(out, c->inside.at[i], false);
  for (size_t i = 0; i < n; i++) insert(out, more[i], i == marked);
  return nest(out);
}

/* ---- counting ----------------------------------------------------------------------------- */

static residues spread(const residues *r, int64_t width, loom_step s) {
  residues out = {{0}};
  int64_t step = loom_floor_rest(s.step, width), period = width / divisor(width, step);
  int64_t rounds = s.size / period, rest = s.size % period;
  for (int64_t i = 0; i < width; i++)
    for (int64_t k = 0, to = i; r->at[i] != 0 && k < period; k++, to = (to + step) % width)
      out.at[to] += r->at[i] * (rounds + (k < rest));
  return out;
}

static int64_t sum_of(const residues *r, int64_t width) {
  int64_t all = 0;
  for (int64_t i = 0; i < width; i++) all += r->at[i];
  return all;
}

/* One sector for the first element of a block, one more wherever the next element is in another. */
static int64_t count(const levels *l, residues r, int64_t width) {
  int64_t total = sum_of(&r, width), span = 0;
  for (size_t i = 0; i < l->n; i++) span += l->at[i].step.step * (l->at[i].step.size - 1);
  for (size_t i = l->n; i-- > 0;) {
    loom_step s = l->at[i].step;
    span -= s.step * (s.size - 1);
    int64_t gap = s.step - span;
    if (gap >= width) {
      total += sum_of(&r, width) * (s.size - 1);
    } else {
      residues before = spread(&r, width, (loom_step){s.size - 1, s.step});
      for (int64_t k = 0; k < width; k++)
        if ((k + span) % width + gap >= width) total += before.at[k];
    }
    r = spread(&r, width, s);
  }
  return total;
}

static residues starts_of(const counter *c, int64_t shift) {
  residues r = {{0}};
  r.at[loom_floor_rest(c->placed->constant + c->base + shift, c->width)] = 1;
  for (size_t i = 0; i < c->starts.n; i++) r = spread(&r, c->width, c->starts.at[i]);
  return r;
}

/* ---- blocks across digits ----------------------------------------------------------------- */

typedef struct piece {
  int64_t low, n_low, high, n_high; /* first and number */
} piece;

/* The parts of the block by place in the row: up to three with the same rows. */
static size_t pieces_by_place(const crossing *x, piece *out) {
  int64_t s = x->low.size, a = x->from, b = x->to + 1, rows = x->rows;
  if (a <= b) {
    out[0] = (piece){0, a, 1, rows};
    out[1] = (piece){a, b - a, 0, rows + 1};
    out[2] = (piece){b, s - b, 0, rows};
  } else {
    out[0] = (piece){0, b, 1, rows};
    out[1] = (piece){b, a - b, 1, rows - 1};
    out[2] = (piece){a, s - a, 0, rows};
  }
  return 3;
}

/* The same by row: the first, those that are whole, the last. */
static size_t pieces_by_row(const crossing *x, piece *out) {
  int64_t s = x->low.size;
  out[0] = (piece){x->from, s - x->from, 0, 1};
  out[1] = (piece){0, s, 1, x->rows - 1};
  out[2] = (piece){0, x->to + 1, x->rows, 1};
  return 3;
}

/* Whether elements that differ in the marked digit, or in one outside it, are never in one sector. */
static bool is_apart(const counter *c, size_t marked) {
  const crossing *x = &c->crossing;
  loom_step whole[] = {x->low, {x->rows + 1, x->high_step}};
  levels l;
  if (!levels_of(c, whole, 2, marked, &l)) return false;
  int64_t span = 0;
  bool found = false;
  for (size_t i = 0; i < l.n; i++) {
    loom_step s = l.at[i].step;
    found |= l.at[i].marked;
    if (found && s.step - span < c->width) return false;
    span += s.step * (s.size - 1);
  }
  return found;
}

static bool count_pieces(counter *c, size_t n, const piece *pieces) {
  const crossing *x = &c->crossing;
  for (size_t i = 0; i < n; i++) {
    const piece *p = &pieces[i];
    if (p->n_low <= 0 || p->n_high <= 0) continue;
    loom_step box[] = {{p->n_low, x->low.step}, {p->n_high, x->high_step}};
    levels l;
    if (!levels_of(c, box, 2, 2, &l)) return false;
    int64_t shift = p->low * x->low.step + p->high * x->high_step + l.shift;
    c->total += count(&l, starts_of(c, shift), c->width);
  }
  return true;
}

static bool count_crossing(counter *c) {
  const crossing *x = &c->crossing;
  piece pieces[3];
  if (x->rows == 0) return count_pieces(c, 1, &(piece){x->from, x->to - x->from + 1, 0, 1});
  if (x->low.step == 0) return count_pieces(c, 1, &(piece){0, 1, 0, x->rows + 1});
  if (x->high_step == 0 && (x->rows > 1 || x->from <= x->to + 1))
    return count_pieces(c, 1, &(piece){0, x->low.size, 0, 1});
  if (is_apart(c, 0)) return count_pieces(c, pieces_by_place(x, pieces), pieces);
  return is_apart(c, 1) && count_pieces(c, pieces_by_row(x, pieces), pieces);
}

/* ---- blocks of ranges --------------------------------------------------------------------- */

static bool count_range(counter *c, size_t range);

static bool count_rest(counter *c, size_t range) {
  if (range > 0) return count_range(c, range - 1);
  if (c->crossing.exists) return count_crossing(c);
  levels l;
  if (!levels_of(c, NULL, 0, 0, &l)) return false;
  c->total += count(&l, starts_of(c, l.shift), c->width);
  return true;
}

/* Blocks that cover `inside` values of a digit at `base`, begin at `starts` of them, and at those of the
** digits outside it. */
static bool count_class(counter *c, size_t range, size_t outer, loom_step inside, loom_step starts,
                        int64_t base) {
  size_t n_inside = c->inside.n, n_starts = c->starts.n;
  push(&c->inside, inside.size, inside.step);
  push(&c->starts, starts.size, starts.step);
  for (size_t i = outer; i < c->placed->range[range].n; i++)
    push(&c->starts, c->placed->range[range].digits[i].size,
         c->placed->range[range].digits[i].step);
  c->base += base;
  bool good = count_rest(c, range);
  c->base -= base;
  c->inside.n = n_inside;
  c->starts.n = n_starts;
  return good;
}

/* The blocks of `size` values across digits i and i + 1, grouped by where in a row they begin. */
static bool count_crossings(counter *c, size_t range, size_t i, int64_t size) {
  const loom_step *d = c->placed->range[range].digits, none = {1, 0};
  int64_t low = d[i].size, all = low * d[i + 1].size, high_step = d[i + 1].step;
  int64_t full = all / size, period = low / divisor(low, size);
  if (c->crossing.exists || (period > MOST_CLASSES && full > MOST_CLASSES) ||
      (all % size != 0 && i + 2 < c->placed->range[range].n))
    return false;
  bool good = true;
  for (int64_t k = 0; good && k <= full && (k < period || k == full); k++) {
    int64_t points = k < full ? size : all % size, from = k * size % low;
    int64_t end = from + points - 1, times = k < full ? (full - k - 1) / period + 1 : 1;
    if (k == full && all % size == 0) break;
    c->crossing = (crossing){true, d[i], high_step, from, end % low, end / low};
    loom_step starts = {times, high_step * (period * size / low)};
    good = count_class(c, range, i + 2, none, starts, k * size / low * high_step);
    if (k + 1 == period && k + 1 < full) k = full - 1;
  }
  c->crossing.exists = false;
  return good;
}

static bool count_range(counter *c, size_t range) {
  const loom_step *d = c->placed->range[range].digits, none = {1, 0};
  size_t n = c->placed->range[range].n, i = 0, n_inside = c->inside.n;
  bool whole = c->grid->block[range] >= c->grid->extent[range] ||
               (range >= c->grid->n_pointwise && !c->placed->reduces);
  int64_t rest = whole ? c->grid->extent[range] : c->grid->block[range];
  for (; i < n && rest % d[i].size == 0; rest /= d[i++].size)
    push(&c->inside, d[i].size, d[i].step);
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
    good = i + 1 < n && count_crossings(c, range, i, rest);
  }
  c->inside.n = n_inside;
  return good;
}

int64_t loom_placed_sectors(const loom_placed *placed, const loom_grid *grid, int64_t width) {
  counter c = {.placed = placed, .grid = grid, .width = width};
  return count_rest(&c, grid->n) ? c.total : -1;
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
