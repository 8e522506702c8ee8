/* SPDX-License-Identifier: MIT */
/* Helpers of the operations on expressions. */
#ifndef EINLOOM_OPS_H
#define EINLOOM_OPS_H

#include "expr/node.h"

/* Whether e may be worked on: false for LOOM_NONE (whose error was recorded when it arose) and,
** with LOOM_ERR_ARGUMENT, for a handle that is not live. */
static inline bool loom_expr_check(loom_ctx *ctx, loom_expr e) {
  if (e == LOOM_NONE) return false;
  if (loom_expr_live(ctx, e)) return true;
  loom_error_set(ctx, LOOM_ERR_ARGUMENT, "stale or unknown expression");
  return false;
}
/* The same for a symbol. */
static inline bool loom_symbol_check(loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_check(ctx, e)) return false;
  if (loom_kind_of(ctx, e) == LOOM_SYM) return true;
  loom_error_set(ctx, LOOM_ERR_ARGUMENT, "expected a symbol");
  return false;
}

/* Expands everywhere in e, also below functions, while at most `budget` products of two terms are
** made; the products beyond that, and sums in denominators, stay as they are. */
loom_expr loom_expand_within(loom_ctx *ctx, loom_expr e, int64_t budget);

/* The product or power e with its sums multiplied out while the budget lasts, else e. */
loom_expr loom_multiply_out(loom_ctx *ctx, loom_expr e, int64_t *budget);

/* e with n nodes in it replaced by others, all at once, whatever is assumed of them. */
loom_expr loom_replace(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *nodes,
                       const loom_expr *values);

/* What a node becomes whose children have been rewritten; LOOM_NONE with an error. */
typedef loom_expr loom_rewriter(loom_ctx *ctx, void *data, loom_expr e);
/* Every distinct sub-expression of e, children first, rebuilt on what its children became and then
** rewritten. */
loom_expr loom_rewrite(loom_ctx *ctx, loom_expr e, loom_rewriter *rewriter, void *data);

#endif
