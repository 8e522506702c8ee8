/* SPDX-License-Identifier: MIT */
/* Ratios beyond 64 bits: temporaries for arithmetic, and the table that keeps their values.
** Invariant: an interned value is in lowest terms with a positive denominator, does not fit a small
** loom_num, and is in the table once. */
#ifndef EINLOOM_BIG_H
#define EINLOOM_BIG_H

#include "base/num.h"

#include <tommath.h>

typedef struct loom_fraction {
  mp_int num, den;
} loom_fraction;

struct loom_big {
  loom_fraction ratio;
  uint32_t hash;
  uint32_t next_free; /* index + 1 */
  bool live, marked;
};

/* The interned value of a big number. */
static inline const loom_fraction *loom_big_of(const loom_ctx *ctx, loom_num a) {
  return &loom_base_of_const(ctx)->bigs.items[a.num].ratio;
}
static inline uint32_t loom_big_hash(const loom_ctx *ctx, loom_num a) {
  return loom_base_of_const(ctx)->bigs.items[a.num].hash;
}

/* A temporary: initialised to a (or to 0), to be given to clear or store.  False with an error. */
bool loom_fraction_load(loom_ctx *ctx, loom_fraction *ratio, loom_num a);
bool loom_fraction_zero(loom_ctx *ctx, loom_fraction *ratio);
void loom_fraction_clear(loom_fraction *ratio);
/* Brings a temporary to lowest terms and to its one representation; clears it in every case. */
loom_num loom_fraction_store(loom_ctx *ctx, loom_fraction *ratio);
/* The value num / den, in lowest terms, den > 0, that does not fit a small loom_num; both are copied if
** it is new. */
loom_num loom_big_intern(loom_ctx *ctx, const mp_int *num, const mp_int *den);

#endif
