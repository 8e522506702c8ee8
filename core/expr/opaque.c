/* SPDX-License-Identifier: MIT */
/* Opaque nodes: a value that no rule looks into.
** Invariant: the argument of one is neither a number nor another one. */
#include "expr/make.h"
#include "expr/ops.h"

loom_expr loom_opaque(loom_ctx *ctx, loom_expr a) {
  if (!loom_usable1(ctx, a)) return LOOM_NONE;
  loom_kind kind = loom_kind_of(ctx, a);
  if (kind == LOOM_NUM || kind == LOOM_OPAQUE) return a;
  return loom_finish(ctx, loom_make_args(ctx, LOOM_OPAQUE, 1, &a));
}

static loom_expr reveal(loom_ctx *ctx, void *data, loom_expr e) {
  (void)data;
  return loom_kind_of(ctx, e) == LOOM_OPAQUE ? loom_child(ctx, e, 0) : e;
}

/* Linear in the distinct sub-expressions, plus the rebuilding of those that change. */
loom_expr loom_reveal(loom_ctx *ctx, loom_expr e) {
  return loom_rewrite(ctx, e, reveal, NULL);
}
