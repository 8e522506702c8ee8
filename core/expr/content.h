/* SPDX-License-Identifier: MIT */
/* Taking common factors out of sums. */
#ifndef EINLOOM_CONTENT_H
#define EINLOOM_CONTENT_H

#include "expr/terms.h"

/* The largest rational that divides every coefficient and the constant into integers, with the sign
** of the leading term: positive for no sum at all.  LOOM_NUM_NONE with an error. */
loom_num loom_content(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms);
/* The position of the structurally first of n >= 1 terms, whatever the history of the context. */
size_t loom_leading(const loom_ctx *ctx, size_t n, const loom_term *terms);
/* Whether the leading term of e (the number itself) is negative. */
bool loom_leads_negative(const loom_ctx *ctx, loom_expr e);

/* The sum e = coef * (powers) * rest with the numeric content and the powers (positive exponents)
** that all terms share taken out.  The powers are appended to `common` with exponents times
** `exponent` and coef ^ exponent is multiplied in; returns rest, e itself if there is nothing to
** take out, or LOOM_NONE with an error. */
loom_expr loom_take_content(loom_factors *common, loom_expr e, int64_t exponent);

enum { LOOM_MOST_COMMON = 16 };
/* The powers that all terms of a merged sum share (exponents positive) and, if asked for, the
** denominators of its terms (negative): up to LOOM_MOST_COMMON; returns how many. */
size_t loom_common_powers(const loom_terms *sum, loom_power *powers, bool denominators);

/* The signs a merged sum can have: by its interval, and after common powers and denominators. */
uint8_t loom_sign_of_sum(const loom_terms *sum);

#endif
