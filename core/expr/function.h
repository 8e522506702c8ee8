/* SPDX-License-Identifier: MIT */
/* Named functions, for the code that keeps and evaluates calls of them.
** Invariant: a function never changes once made; it lives as long as someone holds it, and holding
** and releasing are safe from any thread. */
#ifndef EINLOOM_FUNCTION_H
#define EINLOOM_FUNCTION_H

#include "base/num.h"
#include "expr/node.h"

uint32_t loom_function_hash(const loom_function *f);
const char *loom_function_name(const loom_function *f);
size_t loom_function_arity(const loom_function *f);
/* Total order by content: <0, 0 (the same function), >0. */
int loom_function_order(const loom_function *f, const loom_function *g);
/* One holder more; loom_function_free is one less. */
loom_function *loom_function_hold(const loom_function *f);
/* Facts of a call from those of its arguments, not settled. */
loom_facts loom_function_facts(const loom_ctx *ctx, const loom_function *f, const loom_expr *args);
/* The value at numbers, as many as the arity; LOOM_NUM_NONE with a recorded error. */
loom_num loom_function_at(loom_ctx *ctx, const loom_function *f, const loom_num *args);
/* The value at doubles; NaN where one is no integer, is too large, or the evaluator fails. */
double loom_function_real(const loom_function *f, const double *args);

#endif
