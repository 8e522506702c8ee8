/* SPDX-License-Identifier: MIT */
/* How loops cut intervals, and words.
** Invariant: pieces come in ascending order, cover the interval, and only the last may be clipped. */
#include <string.h>

#include "count/nest.h"

/* ---- cuts ----------------------------------------------------------------------------------- */

static int64_t divide_up(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}

int64_t loom_cut_pieces(const loom_cut *cut, loom_run whole) {
  int64_t extent = whole.hi - whole.lo;
  if (extent <= 0) return 0;
  if (cut->alone) return 1;
  return extent <= cut->first ? 1 : 1 + divide_up(extent - cut->first, cut->step);
}

/* Where piece i > 0 starts, from the interval's start. */
static int64_t start_of(const loom_cut *cut, int64_t i) {
  return cut->first - cut->tile + i * cut->step;
}

/* The largest tile of an extent. */
static int64_t largest_of(const loom_cut *cut, int64_t extent) {
  int64_t rest = extent - cut->first;
  if (rest <= 0) return extent;
  if (rest > cut->tile) rest = cut->tile;
  return rest > cut->first ? rest : cut->first;
}

loom_run loom_cut_piece(const loom_cut *cut, loom_run whole, int64_t i) {
  if (i >= loom_cut_pieces(cut, whole)) return (loom_run){0, 0};
  int64_t from = i == 0 ? 0 : start_of(cut, i), to = i == 0 ? cut->first : from + cut->tile;
  int64_t extent = whole.hi - whole.lo;
  if (cut->alone) return (loom_run){whole.lo, whole.lo + largest_of(cut, extent)};
  return (loom_run){whole.lo + from, whole.lo + (to < extent ? to : extent)};
}

int64_t loom_cut_change(const loom_cut *cut, loom_run whole, int64_t i) {
  int64_t extent = whole.hi - whole.lo, n = loom_cut_pieces(cut, whole);
  if (i >= n) return INT64_MAX;
  if (cut->alone) return i + 1;
  if (i == 0 && cut->first != cut->tile) return 1;
  if (extent < cut->first) return i + 1;
  int64_t full = (extent - cut->first) / cut->step; /* the last one that is not clipped */
  return i <= full ? full + 1 : i + 1;
}

int64_t loom_cut_most(const loom_numbers *p, int loop) {
  int variable = p->loops[loop].variable;
  int64_t extent = p->sizes[variable];
  for (int i = 0; i < loop; i++) {
    const loom_cut *cut = &p->loops[i];
    if (cut->variable != variable) continue;
    int64_t largest = cut->tile;
    if (cut->first > largest || extent <= cut->first) largest = cut->first;
    if (largest < extent) extent = largest;
  }
  return loom_cut_pieces(&p->loops[loop], (loom_run){0, extent});
}

/* ---- words ---------------------------------------------------------------------------------- */

static uint64_t hash_word(const int64_t *word, size_t n) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < n; i++) {
    h = (h ^ (uint64_t)word[i]) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  return h;
}

static void put(loom_words *w, uint32_t number) {
  size_t mask = w->n_slots - 1;
  size_t at = hash_word(loom_word(w, number), w->length) & mask;
  while (w->slots[at]) at = (at + 1) & mask;
  w->slots[at] = number + 1;
}

static bool grow(loom_tally *t, loom_words *w) {
  size_t n = w->n_slots ? w->n_slots * 2 : 64;
  uint32_t *slots = loom_tally_new(t, n, sizeof *slots);
  if (!slots) return false;
  w->slots = slots;
  w->n_slots = n;
  for (uint32_t i = 0; i < w->n; i++) put(w, i);
  return true;
}

int64_t loom_words_find(loom_tally *t, loom_words *w, const int64_t *word) {
  if (!loom_tally_spend(t, w->length + 1)) return -1;
  if (2 * (w->n + 1) > w->n_slots && !grow(t, w)) return -1;
  size_t mask = w->n_slots - 1, bytes = w->length * sizeof *word;
  size_t at = hash_word(word, w->length) & mask;
  for (; w->slots[at]; at = (at + 1) & mask)
    if (!bytes || memcmp(loom_word(w, w->slots[at] - 1), word, bytes) == 0) return w->slots[at] - 1;
  if (w->n == UINT32_MAX - 1) return t->status = LOOM_ERR_LIMIT, -1;
  for (size_t i = 0; i < w->length; i++)
    if (!loom_list_push(t, &w->text, word[i])) return -1;
  w->slots[at] = (uint32_t)++w->n;
  return (int64_t)w->n - 1;
}
