/* SPDX-License-Identifier: MIT */
/* Tilings from lists of extents, and whether operations run over them. */
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/graph.h"

enum { MOST_POINTWISE = 3, MOST_REDUCTION = 2 };

loom_status loom_tiling_create(loom_ctx *ctx, size_t n_pointwise, const loom_expr *pointwise,
                               size_t n_reduction, const loom_expr *reduction, loom_tiling *out) {
  *out = (loom_tiling){0};
  if (n_pointwise > MOST_POINTWISE || n_reduction > MOST_REDUCTION)
    return loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                          "a tiling has at most %d pointwise and %d reduction ranges",
                          MOST_POINTWISE, MOST_REDUCTION);
  for (size_t i = 0; i < n_pointwise; i++) {
    out->prefix[out->n] = (loom_prefix)(LOOM_PREFIX_R0 - n_pointwise + i);
    out->extent[out->n++] = pointwise[i];
  }
  for (size_t i = 0; i < n_reduction; i++) {
    out->prefix[out->n] = (loom_prefix)(LOOM_PREFIX_R0 + i);
    out->extent[out->n++] = reduction[i];
  }
  return LOOM_OK;
}

loom_status loom_tiling_complete(loom_ctx *ctx, const loom_tiling *side, loom_expr extent,
                                 loom_expr reduction_extent, loom_tiling *out) {
  bool pointwise = false;
  for (size_t i = 0; i < side->n; i++) pointwise |= side->prefix[i] == LOOM_PREFIX_X;
  loom_expr all = loom_mul(ctx, extent, reduction_extent);
  loom_expr product = loom_size_product(ctx, side->n, side->extent);
  loom_expr rest = loom_simplify(ctx, loom_floor_div(ctx, all, product));
  if (rest == LOOM_NONE) return loom_error_status(ctx);
  return pointwise ? loom_tiling_create(ctx, side->n, side->extent, 1, &rest, out)
                   : loom_tiling_create(ctx, 1, &rest, side->n, side->extent, out);
}

bool loom_tiling_good_size(loom_ctx *ctx, loom_expr size, const loom_given *given) {
  int64_t number;
  loom_expr value;
  return loom_hint_value(ctx, size, given, &value) && loom_as_int(ctx, value, &number) &&
         number >= 32 && number % 32 == 0;
}

/* ---- fitting ------------------------------------------------------------------------------ */

static bool op_fits(loom_graph *g, const loom_op *op, const loom_tiling *tiling,
                    loom_expr reduction_extent) {
  loom_expr few[16], *sizes = few;
  loom_split_options options = {&g->given, g->given.strict};
  size_t n = op->n_pointwise + op->n_reduction;
  if (n > 16) sizes = loom_realloc_array(g->ctx, NULL, 0, n, sizeof *sizes);
  if (!sizes) return false;
  for (size_t i = 0; i < n; i++) sizes[i] = op->loops[i].size;
  loom_loops loops = {sizes, op->n_pointwise, op->n_reduction};
  bool fits = loom_loops_fit(g->ctx, tiling->n, tiling->extent, &loops, reduction_extent,
                             &options) == LOOM_OK;
  if (sizes != few) loom_realloc_array(g->ctx, sizes, n, 0, sizeof *sizes);
  return fits;
}

bool loom_tiling_fits(loom_graph *g, const loom_kernel_steps *steps, const loom_tiling *tiling) {
  for (size_t i = 0; i < steps->n; i++)
    if (steps->schedule[i] >= 0 &&
        !op_fits(g, &g->ops.at[steps->schedule[i]], tiling, steps->reduction_extent))
      return false;
  return true;
}
