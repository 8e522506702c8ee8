/* SPDX-License-Identifier: MIT */
/* Builders of rounding operations for one another: usable arguments, LOOM_NONE gives LOOM_NONE. */
#ifndef EINLOOM_ROUNDING_H
#define EINLOOM_ROUNDING_H

#include "expr/content.h"
#include "expr/facts.h"

loom_expr loom_build_floor(loom_ctx *ctx, loom_expr a);
loom_expr loom_build_ceil(loom_ctx *ctx, loom_expr a);
loom_expr loom_build_floor_div(loom_ctx *ctx, loom_expr a, loom_expr b);
/* floor(a / divisor), divisor a number other than 0. */
loom_expr loom_build_floor_by(loom_ctx *ctx, loom_expr a, loom_num divisor);
loom_expr loom_build_mod(loom_ctx *ctx, loom_expr a, loom_expr b);
loom_expr loom_build_mod_index(loom_ctx *ctx, loom_expr a, loom_expr d, loom_expr m);

/* floor or ceil of numerator / denominator of one quotient without common factors, numerator not
** negative in front, where the quotient is no integer and the denominator not a number. */
loom_expr loom_round_quotient(loom_ctx *ctx, bool up, loom_expr numerator, loom_expr denominator);

/* A quotient coef * powers taken apart: e = numerator / denominator without common factors, both
** with integer numbers in front, the denominator's positive.  For a sum of several terms the
** denominator is 1.  False with an error. */
bool loom_take_apart(loom_ctx *ctx, loom_expr e, loom_expr *numerator, loom_expr *denominator);

/* Records division by zero if e is the number 0. */
bool loom_divisor_is_zero(loom_ctx *ctx, loom_expr e);

/* floor (or ceil, up) of a / b when a is a sum with terms that b divides: these stand outside.  False
** when there are none; else true and the result, LOOM_NONE after an error. */
bool loom_divide_out(loom_ctx *ctx, bool up, loom_expr a, loom_expr b, loom_expr *result);

#endif
