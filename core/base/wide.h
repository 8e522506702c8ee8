/* SPDX-License-Identifier: MIT */
/* Ratios of up to 126 bits, in front of the big ones: most of what overflows 64 bits.
** Invariant: den > 0, num / den in lowest terms, both magnitudes below 2^126. */
#ifndef EINLOOM_WIDE_H
#define EINLOOM_WIDE_H

#include "base/num.h"

/* The value on its own, outside any context: words of 64 bits, low first. */
typedef struct loom_wide {
  uint64_t num[2], den[2];
  bool negative;
} loom_wide;
/* False if a does not fit. */
bool loom_wide_get(const loom_ctx *ctx, loom_num a, loom_wide *out);
loom_num loom_wide_put(loom_ctx *ctx, const loom_wide *value);
/* floor(|a| * 2^shift) with 63 or 64 bits, the last one set if anything was cut off. */
bool loom_wide_quotient(const loom_ctx *ctx, loom_num a, uint64_t *quotient, int *shift);

/* Each is true with the result (LOOM_NUM_NONE after an error), or false when an operand or a result
** on the way is too large.  Operands have values. */
bool loom_wide_add(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result);
bool loom_wide_mul(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result);
bool loom_wide_gcd(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result);
bool loom_wide_floor(loom_ctx *ctx, loom_num a, loom_num *result);
bool loom_wide_inv(loom_ctx *ctx, loom_num a, loom_num *result);
/* The numerator or the denominator as an integer. */
bool loom_wide_part(loom_ctx *ctx, loom_num a, bool denominator, loom_num *result);
/* floor(a), clamped to 64 bits. */
bool loom_wide_floor_int(const loom_ctx *ctx, loom_num a, int64_t *result);

#endif
