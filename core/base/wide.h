/* SPDX-License-Identifier: MIT */
/* Ratios of up to 126 bits, in front of the big ones: most of what overflows 64 bits.
** Invariant: den > 0, num / den in lowest terms, both magnitudes below 2^126. */
#ifndef EINLOOM_WIDE_H
#define EINLOOM_WIDE_H

#include "base/num.h"

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
