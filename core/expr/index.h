/* SPDX-License-Identifier: MIT */
/* What the files of index arithmetic share: digits of a number in a mixed radix, and expressions
** under extents of variables. */
#ifndef EINLOOM_INDEX_H
#define EINLOOM_INDEX_H

#include "expr/ops.h"

/* (b // d) % m; m LOOM_NONE: b // d. */
typedef struct loom_digit {
  loom_expr b, d, m;
} loom_digit;

/* Whether e is a floor division, a modular index or the remainder of an integer. */
bool loom_digit_of(loom_ctx *ctx, loom_expr e, loom_digit *out);
/* Takes a quotient that stands alone in the sum b into d: ((r + c // e) // d) % m is
** ((e*r + c) // (e*d)) % m.  *changed where there was one.  False with an error. */
bool loom_digit_unfold(loom_ctx *ctx, loom_digit *digit, bool *changed);
/* Of a digit of a digit makes one where the sizes divide: of ((b // c) % k) // d where d divides k,
** of the same % m where d*m does.  False: it is none such, or an error. */
bool loom_digit_collapse(loom_ctx *ctx, loom_digit *digit);
/* The digit as an expression. */
loom_expr loom_digit_build(loom_ctx *ctx, loom_digit digit);

/* The sum e (or anything) with neighbouring terms joined. */
loom_expr loom_join_sum(loom_ctx *ctx, loom_expr e);
/* The same of the outermost sum of e, multiplied out where that helps: terms that are neighbours as
** they stand may not be after what is inside them has been rewritten. */
loom_expr loom_join_outside(loom_ctx *ctx, loom_expr e);
/* e with s*(q % m) + c*(q // m), c beyond s*m, as s*q + (c - s*m)*(q // m) where that is a remainder
** less and nothing more. */
loom_expr loom_join_apart(loom_ctx *ctx, loom_expr e);

/* Whether a / d is an integer where d is not 0: at a glance, or expanded. */
bool loom_is_multiple(loom_ctx *ctx, loom_expr a, loom_expr d);
/* Whether symbol occurs in e. */
bool loom_occurs(loom_ctx *ctx, loom_expr symbol, loom_expr e);
/* Whether e is an integer known to be > 0. */
bool loom_is_positive_integer(const loom_ctx *ctx, loom_expr e);

/* Whether the sum e (or anything) is stride * variable + what is free of it, the stride free of all n
** variables, at a glance: false for what is not written so. *stride: LOOM_NONE with an error. */
bool loom_linear_stride(loom_ctx *ctx, loom_expr e, loom_expr variable, size_t n,
                        const loom_expr *variables, loom_expr *stride);

/* e at the hints, revealed. */
loom_expr loom_at_hints(loom_ctx *ctx, loom_expr e, const loom_given *given);

/* Expressions in which variables with extents are replaced by symbols that assume them: what facts
** prove of these holds within the extents.  Extents without a numeric end stay in `open`. */
typedef struct loom_scope {
  loom_ctx *ctx;
  LOOM_VEC(loom_expr) plain;  /* variables that have been replaced */
  LOOM_VEC(loom_expr) narrow; /* by these: symbols, or the only value there is */
  LOOM_VEC(loom_extent) open; /* narrow symbols and the sizes they are less than */
} loom_scope;

/* False with an error; end must be called then too. */
bool loom_scope_begin(loom_ctx *ctx, loom_scope *scope, const loom_given *given);
void loom_scope_end(loom_scope *scope);
/* Treats the opaque nodes of e as variables too, if there are any variables.  False with an error. */
bool loom_scope_hide(loom_scope *scope, loom_expr e);
/* e with narrow symbols, and back. */
loom_expr loom_scope_enter(loom_scope *scope, loom_expr e);
loom_expr loom_scope_leave(loom_scope *scope, loom_expr e);
/* Whether a < b (or a <= b) is proved of two integers in narrow symbols. */
bool loom_scope_less(loom_scope *scope, loom_expr a, loom_expr b);
bool loom_scope_less_equal(loom_scope *scope, loom_expr a, loom_expr b);

#endif
