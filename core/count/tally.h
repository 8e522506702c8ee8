/* SPDX-License-Identifier: MIT */
/* One run of the counting engine: its memory, how much work it may still do, what went wrong; and
** sets of integers.
** Invariant: a tally belongs to one call and to no context, so that evaluators may count from any
** thread; once its status is not LOOM_OK nothing it returns is used. */
#ifndef EINLOOM_TALLY_H
#define EINLOOM_TALLY_H

#include "einloom.h"

/* A growable array in the memory of a tally. */
#define LOOM_LIST(type) \
  struct {              \
    type *at;           \
    size_t n, capacity; \
  }

/* lo <= value < hi; empty where lo >= hi. */
typedef struct loom_run {
  int64_t lo, hi;
} loom_run;

/* A set of integers is ascending runs that do not touch; while it is being made, any runs. */
typedef LOOM_LIST(loom_run) loom_runs;

typedef struct loom_tally {
  struct loom_tally_chunk *chunks;
  char *top, *end;
  int64_t work; /* left */
  loom_status status;
  loom_runs scratch[2]; /* of images */
} loom_tally;

void loom_tally_begin(loom_tally *t, int64_t work);
void loom_tally_end(loom_tally *t);
/* n zeroed items of a size, kept until the end; NULL once the tally has failed. */
void *loom_tally_new(loom_tally *t, size_t n, size_t item);
/* False, and LOOM_ERR_LIMIT, when that much work is more than is left. */
bool loom_tally_spend(loom_tally *t, size_t work);
/* Sum and product; LOOM_ERR_DOMAIN beyond 64 bits. */
int64_t loom_tally_add(loom_tally *t, int64_t a, int64_t b);
int64_t loom_tally_mul(loom_tally *t, int64_t a, int64_t b);

static inline bool loom_tally_good(const loom_tally *t) {
  return t->status == LOOM_OK;
}

bool loom_list_grow(loom_tally *t, void **at, size_t *capacity, size_t n, size_t item);
#define loom_list_push(t, l, item)                                                           \
  (((l)->n < (l)->capacity ||                                                                \
    loom_list_grow((t), (void **)(void *)&(l)->at, &(l)->capacity, (l)->n, sizeof *(l)->at)) \
       ? ((l)->at[(l)->n++] = (item), true)                                                  \
       : false)

/* ---- sets of integers --------------------------------------------------------------------- */

static inline bool loom_run_empty(loom_run r) {
  return r.lo >= r.hi;
}
/* Makes any runs a set. */
void loom_runs_settle(loom_tally *t, loom_runs *set);
int64_t loom_runs_size(const loom_runs *set);
/* Appends the runs of b to a. */
bool loom_runs_append(loom_tally *t, loom_runs *a, const loom_runs *b);
/* Appends a less b, or what a and b share, to out: b and a are sets. */
bool loom_runs_less(loom_tally *t, const loom_runs *a, const loom_runs *b, loom_runs *out);
bool loom_runs_shared(loom_tally *t, const loom_runs *a, const loom_runs *b, loom_runs *out);

#endif
