/* SPDX-License-Identifier: MIT */
/* Questions about sizes and extents.
** Invariant: yes is a proof from the ranges of the symbols alone, except where hints are named. */
#ifndef EINLOOM_SIZES_H
#define EINLOOM_SIZES_H

#include "expr/node.h"

/* Whether e is a live integer expression that is not known to be negative; else an error about
** `what`. */
bool loom_size_check(loom_ctx *ctx, loom_expr e, const char *what);

bool loom_size_is_one(loom_ctx *ctx, loom_expr e, const loom_given *given);
bool loom_sizes_same(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given);
bool loom_size_above(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given);
/* Whether a is a multiple of b; false for sizes without a hint. */
bool loom_size_multiple(loom_ctx *ctx, loom_expr a, loom_expr b, const loom_given *given);
/* Whether e is 1 at the hints. */
bool loom_size_hinted_one(loom_ctx *ctx, loom_expr e, const loom_given *given);
/* The product of n sizes; 1 for none. */
loom_expr loom_size_product(loom_ctx *ctx, size_t n, const loom_expr *sizes);

#endif
