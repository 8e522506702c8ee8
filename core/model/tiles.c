/* SPDX-License-Identifier: MIT */
/* How a loop cuts an extent into tiles: doc/formulas.md#tiles. */
#include "einloom.h"

static void one_run(loom_tiles *out, loom_expr extent, loom_expr repeats) {
  out->n = 1;
  out->extent[0] = extent;
  out->repeats[0] = repeats;
}

static void two_runs(loom_tiles *out, loom_expr extent, loom_expr repeats, loom_expr extent2,
                     loom_expr repeats2) {
  out->n = 2;
  out->extent[0] = extent;
  out->repeats[0] = repeats;
  out->extent[1] = extent2;
  out->repeats[1] = repeats2;
}

static void exact_last_tile(loom_ctx *ctx, loom_expr outer, loom_expr tile, loom_tiles *out) {
  loom_expr pair[2] = {tile, outer};
  loom_expr step = loom_min(ctx, 2, pair);
  loom_expr whole = loom_sub(ctx, loom_ceil(ctx, loom_div(ctx, outer, step)), loom_int(ctx, 1));
  two_runs(out, tile, whole, loom_sub(ctx, outer, loom_mul(ctx, tile, whole)), loom_int(ctx, 1));
}

loom_status loom_tile_sequence(loom_ctx *ctx, loom_tiling_mode mode, loom_expr outer,
                               loom_expr tile, loom_expr first, loom_tiles *out) {
  *out = (loom_tiles){.stride = tile};
  switch (mode) {
  case LOOM_WHOLE_TRIPS:
  case LOOM_AVERAGE: one_run(out, tile, loom_div(ctx, outer, tile)); break;
  case LOOM_FIRST_TILE: {
    loom_expr rest = loom_ceil(ctx, loom_div(ctx, loom_sub(ctx, outer, first), tile));
    two_runs(out, first, loom_int(ctx, 1), tile, rest);
    break;
  }
  case LOOM_EXACT_LAST_TILE: exact_last_tile(ctx, outer, tile, out); break;
  default: return loom_error_set(ctx, LOOM_ERR_ARGUMENT, "unknown tiling mode %d", (int)mode);
  }
  for (int i = 0; i < out->n; i++)
    if (out->extent[i] == LOOM_NONE || out->repeats[i] == LOOM_NONE) {
      if (loom_error_status(ctx) != LOOM_OK) return loom_error_status(ctx);
      return loom_error_set(ctx, LOOM_ERR_ARGUMENT, "a tiling needs an extent and a tile");
    }
  return LOOM_OK;
}
