/* SPDX-License-Identifier: MIT */
/* Interval arithmetic over expressions. */
#ifndef EINLOOM_RANGES_H
#define EINLOOM_RANGES_H

#include "expr/interval.h"

/* The range of a symbol. */
typedef loom_range loom_symbol_range(const loom_ctx *ctx, loom_expr symbol, const void *data);

/* The range of e, rounded outwards.  False with an error. */
bool loom_range_over(loom_ctx *ctx, loom_expr e, loom_symbol_range *range, const void *data,
                     loom_range *out);

#endif
