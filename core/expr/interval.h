/* SPDX-License-Identifier: MIT */
/* Arithmetic of 64-bit intervals with infinite ends, residues and sign sets, as facts need them.
** Invariant: every result contains every value that operands within the given facts can produce.
** Ends are made by loom_end_lo and loom_end_hi alone: what a finite end cannot hold moves outwards,
** a lower bound above LOOM_MOST down to it, one below -LOOM_MOST to no bound; upper ones mirrored. */
#ifndef EINLOOM_INTERVAL_H
#define EINLOOM_INTERVAL_H

#include "expr/node.h"

typedef __int128 loom_wide;

typedef struct loom_range {
  int64_t lo, hi; /* LOOM_MINUS_INF, LOOM_PLUS_INF: none */
} loom_range;

typedef struct loom_residue_class {
  int64_t modulus, remainder; /* modulus 0: exactly the remainder */
} loom_residue_class;

#define LOOM_EVERYTHING ((loom_range){LOOM_MINUS_INF, LOOM_PLUS_INF})

/* The strongest lower (upper) end that a lower (upper) bound a allows. */
static inline int64_t loom_end_lo(loom_wide a) {
  return a < -LOOM_MOST ? LOOM_MINUS_INF : a > LOOM_MOST ? LOOM_MOST : (int64_t)a;
}
static inline int64_t loom_end_hi(loom_wide a) {
  return a > LOOM_MOST ? LOOM_PLUS_INF : a < -LOOM_MOST ? -LOOM_MOST : (int64_t)a;
}

int64_t loom_gcd64(int64_t a, int64_t b); /* >= 0, of magnitudes; arguments > INT64_MIN */
int64_t loom_floor_div64(int64_t a, int64_t b);
int64_t loom_mod64(int64_t a, int64_t m); /* m > 0: in [0, m) */

loom_range loom_range_mul(loom_range a, loom_range b);
loom_range loom_range_pow(loom_range a, uint32_t exponent);
/* a / b rounded outwards, and floor(a / b); b must not be 0 (its sign set says where it lies). */
loom_range loom_range_div(loom_range a, loom_range b, uint8_t sign_of_b);
loom_range loom_range_floor_div(loom_range a, loom_range b, uint8_t sign_of_b);

loom_residue_class loom_residue_mul(loom_residue_class a, loom_residue_class b);
/* The class that contains both. */
loom_residue_class loom_residue_join(loom_residue_class a, loom_residue_class b);

uint8_t loom_sign_mul(uint8_t a, uint8_t b);
uint8_t loom_sign_pow(uint8_t a, int32_t exponent);
uint8_t loom_sign_min(uint8_t a, uint8_t b);
uint8_t loom_sign_neg(uint8_t a);

/* Makes range, sign, integrality and residue agree with one another, the ends ends (they may be any
** integers, no bound as above) and the residue fit 32 bits. */
loom_facts loom_facts_settle(loom_facts f);

#endif
