/* SPDX-License-Identifier: MIT */
/* Counts blocks across digits, grouped by where in a row they begin (doc/formulas.md#memory-sectors).
** Invariant: the parts of a block that are counted one by one share no sector. */
#include "simd/crossing.h"

#include "expr/interval.h"

enum { MOST_CLASSES = 1 << 16, MOST_PARTS = 8 };

/* Parts of blocks of the same shape: values of the low digit and rows, by where they begin if the numbers
** begin at the beginning of a sector. */
typedef struct part {
  int64_t n_low, n_high;
  loom_residues starts;
} part;

/* What is known of blocks that end so many rows after they begin. */
typedef struct known {
  int64_t rows;
  bool by_place, by_row; /* elements of different places (rows) are never in one sector */
} known;

/* Steps of which the places in a sector come round after `period` values. */
typedef struct cycle {
  int64_t step, period;
} cycle;

typedef struct counter {
  const loom_crossing *x;
  const loom_step_list *inside;
  const loom_residues *starts;
  int64_t width, total;
  cycle low, again; /* along a row; from one block of a class to the next */
  known known;
  size_t n;
  part parts[MOST_PARTS];
} counter;

/* Blocks, `times` of them: from place `from` of one row to place `to` of the row `rows` further on, the first
** beginning at a place of a sector. */
typedef struct block {
  int64_t from, to, rows, times, at;
} block;

typedef struct piece {
  int64_t low, n_low, high, n_high; /* first and number */
} piece;

static cycle cycle_of(int64_t step, int64_t width) {
  step = loom_floor_rest(step, width);
  return (cycle){step, width / loom_gcd64(width, step)};
}

/* ---- parts -------------------------------------------------------------------------------- */

static bool count_part(counter *c, const part *p) {
  loom_step box[] = {{p->n_low, c->x->low.step}, {p->n_high, c->x->high.step}};
  loom_residues all = {{0}};
  loom_levels l;
  if (!loom_levels_of(c->inside, box, 2, 2, &l)) return false;
  for (int64_t i = 0; i < c->width; i++) {
    if (p->starts.at[i] == 0) continue;
    loom_residues at = loom_residues_shift(c->starts, c->width, l.shift + i);
    for (int64_t k = 0; k < c->width; k++) all.at[k] += at.at[k] * p->starts.at[i];
  }
  c->total += loom_levels_count(&l, all, c->width);
  return true;
}

static bool count_parts(counter *c) {
  bool good = true;
  for (size_t i = 0; good && i < c->n; i++) good = count_part(c, &c->parts[i]);
  c->n = 0;
  return good;
}

/* The part of that shape; NULL: those before could not be counted. */
static part *part_of(counter *c, int64_t n_low, int64_t n_high) {
  for (size_t i = 0; i < c->n; i++)
    if (c->parts[i].n_low == n_low && c->parts[i].n_high == n_high) return &c->parts[i];
  if (c->n == MOST_PARTS && !count_parts(c)) return NULL;
  c->parts[c->n] = (part){.n_low = n_low, .n_high = n_high};
  return &c->parts[c->n++];
}

/* How often n values are the i-th of a period. */
static int64_t share(int64_t n, int64_t period, int64_t i) {
  return n / period + (i < n % period);
}

/* apart: every place of the low digit is counted by itself. */
static bool add_pieces(counter *c, size_t n, const piece *pieces, const block *b, bool apart) {
  int64_t again = b->times > 1 ? c->again.period : 1, along = apart ? c->low.period : 1;
  for (size_t k = 0; k < n; k++) {
    const piece *p = &pieces[k];
    if (p->n_low <= 0 || p->n_high <= 0) continue;
    part *to = part_of(c, apart ? 1 : p->n_low, p->n_high);
    if (!to) return false;
    int64_t at =
        b->at + loom_floor_rest(p->low * c->low.step + p->high * c->x->high.step, c->width);
    for (int64_t i = 0; i < again; i++)
      for (int64_t j = 0; j < along; j++)
        to->starts.at[(at + i * c->again.step + j * c->low.step) % c->width] +=
            share(b->times, again, i) * (apart ? share(p->n_low, along, j) : 1);
  }
  return true;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* The parts of the block by place in the row: those with the same rows. */
static void pieces_by_place(const block *b, int64_t size, piece out[3]) {
  int64_t from = b->from, end = b->to + 1, rows = b->rows;
  if (from <= end) {
    out[0] = (piece){0, from, 1, rows};
    out[1] = (piece){from, end - from, 0, rows + 1};
    out[2] = (piece){end, size - end, 0, rows};
  } else {
    out[0] = (piece){0, end, 1, rows};
    out[1] = (piece){end, from - end, 1, rows - 1};
    out[2] = (piece){from, size - from, 0, rows};
  }
}

/* The same by row: the first, those that are whole, the last. */
static void pieces_by_row(const block *b, int64_t size, piece out[3]) {
  out[0] = (piece){b->from, size - b->from, 0, 1};
  out[1] = (piece){0, size, 1, b->rows - 1};
  out[2] = (piece){0, b->to + 1, b->rows, 1};
}

static bool is_apart(const counter *c, int64_t rows, size_t marked) {
  loom_step whole[] = {c->x->low, {rows + 1, c->x->high.step}};
  loom_levels l;
  return loom_levels_of(c->inside, whole, 2, marked, &l) && loom_levels_apart(&l, c->width);
}

static void look(counter *c, int64_t rows) {
  if (c->known.rows == rows) return;
  c->known = (known){rows, is_apart(c, rows, 0), false};
  if (!c->known.by_place) c->known.by_row = is_apart(c, rows, 1);
}

static bool add_block(counter *c, const block *b) {
  int64_t size = c->x->low.size;
  piece pieces[3];
  if (b->rows == 0) return add_pieces(c, 1, &(piece){b->from, b->to - b->from + 1, 0, 1}, b, false);
  if (c->x->low.step == 0) return add_pieces(c, 1, &(piece){0, 1, 0, b->rows + 1}, b, false);
  if (c->x->high.step == 0 && (b->rows > 1 || b->from <= b->to + 1))
    return add_pieces(c, 1, &(piece){0, size, 0, 1}, b, false);
  look(c, b->rows);
  if (c->known.by_place)
    pieces_by_place(b, size, pieces);
  else
    pieces_by_row(b, size, pieces);
  return (c->known.by_place || c->known.by_row) && add_pieces(c, 3, pieces, b, c->known.by_place);
}

/* ---- entry -------------------------------------------------------------------------------- */

/* The blocks that begin where the first `classes` do, and a shorter one at the end. */
static bool add_blocks(counter *c, int64_t full, int64_t period, int64_t classes) {
  const loom_crossing *x = c->x;
  int64_t row = x->low.size, from = 0, high = loom_floor_rest(x->high.step, c->width), at = 0;
  int64_t rows = x->size / row, places = x->size % row;
  bool good = true;
  for (int64_t k = 0; good && k < classes; k++) {
    int64_t end = from + places - 1, more = end >= row ? 1 : end < 0 ? -1 : 0;
    block b = {from, end - more * row, rows + more, share(full, period, k), at};
    good = add_block(c, &b);
    from += places;
    at += high * ((rows + (from >= row)) % c->width);
    at %= c->width;
    if (from >= row) from -= row;
  }
  int64_t begin = full * x->size, tail = row * x->high.size - begin;
  if (!good || tail == 0) return good;
  int64_t end = begin % row + tail - 1;
  block last = {begin % row, end % row, end / row, 1,
                loom_floor_rest(begin / row * x->high.step, c->width)};
  return add_block(c, &last);
}

bool loom_crossing_count(const loom_crossing *x, const loom_step_list *inside,
                         const loom_residues *starts, int64_t width, int64_t *total) {
  counter c = {.x = x, .inside = inside, .starts = starts, .width = width, .known.rows = -1};
  int64_t full = x->low.size * x->high.size / x->size;
  int64_t period = x->low.size / loom_gcd64(x->low.size, x->size);
  int64_t classes = period < full ? period : full;
  c.low = cycle_of(x->low.step, width);
  c.again = cycle_of(x->high.step * (period * x->size / x->low.size), width);
  if (classes > MOST_CLASSES || !add_blocks(&c, full, period, classes) || !count_parts(&c))
    return false;
  *total += c.total;
  return true;
}
