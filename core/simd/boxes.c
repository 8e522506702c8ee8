/* SPDX-License-Identifier: MIT */
/* Counts sectors of boxes of elements in closed form (doc/formulas.md#memory-sectors).
** Invariant: steps of levels ascend, each is more than those before it span. */
#include "simd/boxes.h"

#include "expr/interval.h"

/* ---- elements in ascending order ---------------------------------------------------------- */

/* Inserts by ascending step, steps turned upwards; those of 0 add nothing. */
static void insert(loom_levels *l, loom_step step, bool marked) {
  if (step.size == 1 || step.step == 0) return;
  if (step.step < 0) {
    l->shift += step.step * (step.size - 1);
    step.step = -step.step;
  }
  size_t i = l->n++;
  for (; i > 0 && l->at[i - 1].step.step > step.step; i--) l->at[i] = l->at[i - 1];
  l->at[i] = (loom_level){step, marked};
}

/* Joins levels that overlap evenly: a*[0, m) + a*k*[0, n) = a*[0, m + k*(n - 1)) where k <= m.  False:
** some overlap otherwise. */
static bool nest(loom_levels *l) {
  int64_t span = 0;
  size_t kept = 0;
  for (size_t i = 0; i < l->n; i++) {
    loom_level next = l->at[i];
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

bool loom_levels_of(const loom_step_list *list, const loom_step *more, size_t n, size_t marked,
                    loom_levels *out) {
  out->n = 0;
  out->shift = 0;
  for (size_t i = 0; i < list->n; i++) insert(out, list->at[i], false);
  for (size_t i = 0; i < n; i++) insert(out, more[i], i == marked);
  return nest(out);
}

bool loom_levels_apart(const loom_levels *l, int64_t width) {
  int64_t span = 0;
  bool found = false;
  for (size_t i = 0; i < l->n; i++) {
    loom_step s = l->at[i].step;
    found |= l->at[i].marked;
    if (found && s.step - span < width) return false;
    span += s.step * (s.size - 1);
  }
  return found;
}

/* ---- counting ----------------------------------------------------------------------------- */

loom_residues loom_residues_spread(const loom_residues *r, int64_t width, loom_step s) {
  loom_residues out = {{0}};
  int64_t step = loom_floor_rest(s.step, width), period = width / loom_gcd64(width, step);
  int64_t rounds = s.size / period, rest = s.size % period;
  for (int64_t i = 0; i < width; i++)
    for (int64_t k = 0, to = i; r->at[i] != 0 && k < period; k++, to = (to + step) % width)
      out.at[to] += r->at[i] * (rounds + (k < rest));
  return out;
}

loom_residues loom_residues_shift(const loom_residues *r, int64_t width, int64_t shift) {
  loom_residues out = {{0}};
  int64_t to = loom_floor_rest(shift, width);
  for (int64_t i = 0; i < width; i++, to = to + 1 == width ? 0 : to + 1) out.at[to] = r->at[i];
  return out;
}

static int64_t sum_of(const loom_residues *r, int64_t width) {
  int64_t all = 0;
  for (int64_t i = 0; i < width; i++) all += r->at[i];
  return all;
}

/* One sector for the first element of a set, one more wherever the next element is in another. */
int64_t loom_levels_count(const loom_levels *l, loom_residues r, int64_t width) {
  int64_t total = sum_of(&r, width), span = 0;
  for (size_t i = 0; i < l->n; i++) span += l->at[i].step.step * (l->at[i].step.size - 1);
  for (size_t i = l->n; i-- > 0;) {
    loom_step s = l->at[i].step;
    span -= s.step * (s.size - 1);
    int64_t gap = s.step - span;
    if (gap >= width) {
      total += sum_of(&r, width) * (s.size - 1);
    } else {
      loom_residues before = loom_residues_spread(&r, width, (loom_step){s.size - 1, s.step});
      for (int64_t k = 0; k < width; k++)
        if ((k + span) % width + gap >= width) total += before.at[k];
    }
    r = loom_residues_spread(&r, width, s);
  }
  return total;
}
