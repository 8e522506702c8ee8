/* SPDX-License-Identifier: MIT */
/* Memory and budget of the counting engine, and sets of integers as runs.
** Invariant: what is handed out lies in chunks that live until the end of the tally. */
#include "count/tally.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory and work ------------------------------------------------------------------------ */

#define CHUNK ((size_t)64 << 10)
#define MOST_MEMORY ((size_t)1 << 30) /* of one block */

typedef struct loom_tally_chunk {
  struct loom_tally_chunk *next;
  max_align_t at[];
} chunk;

void loom_tally_begin(loom_tally *t, int64_t work) {
  *t = (loom_tally){.work = work, .status = LOOM_OK};
}

void loom_tally_end(loom_tally *t) {
  for (chunk *c = t->chunks; c;) {
    chunk *next = c->next;
    free(c);
    c = next;
  }
  t->chunks = NULL;
  t->top = t->end = NULL;
}

static bool add_chunk(loom_tally *t, size_t size) {
  chunk *c = malloc(sizeof *c + size);
  if (!c) {
    t->status = LOOM_ERR_MEMORY;
    return false;
  }
  c->next = t->chunks;
  t->chunks = c;
  t->top = (char *)c->at;
  t->end = t->top + size;
  return true;
}

void *loom_tally_new(loom_tally *t, size_t n, size_t item) {
  if (!loom_tally_good(t)) return NULL;
  if (n >= MOST_MEMORY / item) {
    t->status = LOOM_ERR_LIMIT;
    return NULL;
  }
  size_t size = (n * item + 15) & ~(size_t)15;
  if (size == 0) size = 16;
  if (size > (size_t)(t->end - t->top) && !add_chunk(t, size > CHUNK ? size : CHUNK)) return NULL;
  void *block = t->top;
  t->top += size;
  return memset(block, 0, size);
}

bool loom_tally_spend(loom_tally *t, size_t work) {
  if (!loom_tally_good(t)) return false;
  if (work <= INT64_MAX && (int64_t)work <= t->work) {
    t->work -= (int64_t)work;
    return true;
  }
  t->status = LOOM_ERR_LIMIT;
  return false;
}

int64_t loom_tally_add(loom_tally *t, int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  if (loom_tally_good(t)) t->status = LOOM_ERR_DOMAIN;
  return 0;
}

int64_t loom_tally_mul(loom_tally *t, int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  if (loom_tally_good(t)) t->status = LOOM_ERR_DOMAIN;
  return 0;
}

bool loom_list_grow(loom_tally *t, void **at, size_t *capacity, size_t n, size_t item) {
  size_t larger = *capacity ? *capacity * 2 : 8;
  void *block = loom_tally_new(t, larger, item);
  if (!block) return false;
  if (n) memcpy(block, *at, n * item);
  *at = block;
  *capacity = larger;
  return true;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int by_lo(const void *a, const void *b) {
  const loom_run *x = a, *y = b;
  return (x->lo > y->lo) - (x->lo < y->lo);
}

void loom_runs_settle(loom_tally *t, loom_runs *set) {
  size_t kept = 0;
  bool sorted = true;
  if (!loom_tally_spend(t, set->n)) return;
  for (size_t i = 1; i < set->n && sorted; i++) sorted = set->at[i - 1].lo <= set->at[i].lo;
  if (!sorted) qsort(set->at, set->n, sizeof *set->at, by_lo);
  for (size_t i = 0; i < set->n; i++) {
    loom_run next = set->at[i];
    if (loom_run_empty(next)) continue;
    if (kept > 0 && next.lo <= set->at[kept - 1].hi) {
      if (next.hi > set->at[kept - 1].hi) set->at[kept - 1].hi = next.hi;
    } else {
      set->at[kept++] = next;
    }
  }
  set->n = kept;
}

int64_t loom_runs_size(const loom_runs *set) {
  int64_t size = 0;
  for (size_t i = 0; i < set->n; i++) size += set->at[i].hi - set->at[i].lo;
  return size;
}

bool loom_runs_append(loom_tally *t, loom_runs *a, const loom_runs *b) {
  for (size_t i = 0; i < b->n; i++)
    if (!loom_list_push(t, a, b->at[i])) return false;
  return true;
}

bool loom_runs_less(loom_tally *t, const loom_runs *a, const loom_runs *b, loom_runs *out) {
  size_t j = 0;
  if (!loom_tally_spend(t, a->n + b->n)) return false;
  for (size_t i = 0; i < a->n; i++) {
    loom_run rest = a->at[i];
    while (j < b->n && b->at[j].hi <= rest.lo) j++;
    for (size_t k = j; k < b->n && b->at[k].lo < rest.hi; k++) {
      loom_run before = {rest.lo, b->at[k].lo};
      if (!loom_run_empty(before) && !loom_list_push(t, out, before)) return false;
      rest.lo = b->at[k].hi;
    }
    if (!loom_run_empty(rest) && !loom_list_push(t, out, rest)) return false;
  }
  return true;
}

bool loom_runs_shared(loom_tally *t, const loom_runs *a, const loom_runs *b, loom_runs *out) {
  if (!loom_tally_spend(t, a->n + b->n)) return false;
  for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
    loom_run x = a->at[i], y = b->at[j];
    loom_run both = {x.lo > y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    if (!loom_run_empty(both) && !loom_list_push(t, out, both)) return false;
    if (x.hi < y.hi)
      i++;
    else
      j++;
  }
  return true;
}
