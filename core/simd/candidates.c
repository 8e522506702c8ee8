/* SPDX-License-Identifier: MIT */
/* Tilings that let one access of an operation step by one element in its inner range, with scores
** (doc/formulas.md#tilings).
** Invariant: the candidates of an operation are found once for its extents. */
#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/graph.h"

typedef struct finder {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_op *op;
  loom_expr extent, reduction_extent;
  size_t n; /* loops considered */
  loom_expr *variables, *sizes, *strides;
  size_t n_others; /* loops of the other side, which stand still */
  loom_expr *others, *zeros;
  loom_expr limit; /* the least score that is kept, at the hints */
  size_t n_found, n_seen;
  loom_candidate *found;
  loom_use *seen;
} finder;

static loom_expr at_hint(finder *f, loom_expr e) {
  loom_expr value;
  return loom_hint_value(f->ctx, e, &f->g->given, &value) ? value : LOOM_NONE;
}

/* The product of the sizes from first to last - 1. */
static loom_expr product(finder *f, size_t first, size_t last) {
  return loom_size_product(f->ctx, last - first, f->sizes + first);
}

/* ---- one access --------------------------------------------------------------------------- */

static bool strides_of(finder *f, loom_expr index) {
  loom_expr none = loom_int(f->ctx, 0);
  if (loom_stride_hints(f->ctx, index, f->n, f->variables, 0, NULL, &f->g->given, f->strides) !=
      LOOM_OK)
    return false;
  for (size_t i = 0; i < f->n; i++)
    if (loom_size_is_one(f->ctx, f->sizes[i], &f->g->given)) f->strides[i] = none;
  return true;
}

/* The loops up to the first that steps by one element: 0 where there is none, or nothing moves behind
** it. */
static size_t cut(finder *f) {
  loom_expr one = loom_int(f->ctx, 1), none = loom_int(f->ctx, 0);
  for (size_t p = 0; p < f->n; p++) {
    if (f->strides[p] != one) continue;
    for (size_t i = p + 1; i < f->n; i++)
      if (f->strides[i] != none) return p + 1;
    return 0;
  }
  return 0;
}

static bool is_written(const loom_op *op, int buffer) {
  for (size_t i = 0; i < op->n_outputs; i++)
    if (op->outputs[i] == buffer) return true;
  return false;
}

static loom_expr score_of(finder *f, int buffer, const loom_expr tiles[2]) {
  loom_expr score = loom_int(f->ctx, 1), two = loom_int(f->ctx, 2), none = loom_int(f->ctx, 0);
  for (size_t i = 0; i < f->n; i++)
    if (f->strides[i] != none) score = loom_mul(f->ctx, score, f->sizes[i]);
  score = at_hint(f, score);
  if (score != LOOM_NONE && is_written(f->op, buffer)) score = loom_mul(f->ctx, score, two);
  for (int k = 0; k < 2; k++)
    if (score != LOOM_NONE && loom_tiling_good_size(f->ctx, tiles[k], &f->g->given))
      score = loom_mul(f->ctx, score, two);
  return score;
}

/* Both tiles become pointwise ranges, also those of a reduction: such tilings rarely fit. */
static bool add_access(finder *f, int buffer, loom_expr index) {
  if (!strides_of(f, index)) return false;
  size_t p = cut(f);
  if (p == 0) return true;
  loom_expr tiles[] = {product(f, 0, p), product(f, p, f->n)};
  loom_candidate c = {.buffer = buffer, .score = score_of(f, buffer, tiles)};
  if (c.score == LOOM_NONE || loom_known_lt(f->ctx, c.score, f->limit) == LOOM_YES)
    return !loom_base_failed(f->ctx);
  loom_tiling side;
  if (loom_tiling_create(f->ctx, 2, tiles, 0, NULL, &side) != LOOM_OK ||
      loom_tiling_complete(f->ctx, &side, f->extent, f->reduction_extent, &c.tiling) != LOOM_OK)
    return false;
  f->found[f->n_found++] = c;
  return true;
}

static bool is_seen(const finder *f, int buffer, loom_expr index) {
  for (size_t i = 0; i < f->n_seen; i++)
    if (f->seen[i].buffer == buffer && f->seen[i].index == index) return true;
  return false;
}

static bool add_use(finder *f, const loom_use *use) {
  if (use->mode != LOOM_USE_INDEXED || f->g->buffers.at[use->buffer].removed) return true;
  loom_expr index = loom_substitute(f->ctx, use->index, f->n_others, f->others, f->zeros);
  if (index == LOOM_NONE) return false;
  if (is_seen(f, use->buffer, index)) return true;
  f->seen[f->n_seen++] = (loom_use){.buffer = use->buffer, .index = index};
  return add_access(f, use->buffer, index);
}

/* ---- one operation ------------------------------------------------------------------------ */

static bool add_none(finder *f, bool pointwise) {
  loom_candidate c = {.buffer = -1, .score = loom_int(f->ctx, 0)};
  loom_expr all = product(f, 0, f->n);
  loom_tiling side;
  loom_status status = pointwise ? loom_tiling_create(f->ctx, 1, &all, 0, NULL, &side)
                                 : loom_tiling_create(f->ctx, 0, NULL, 1, &all, &side);
  if (status != LOOM_OK ||
      loom_tiling_complete(f->ctx, &side, f->extent, f->reduction_extent, &c.tiling) != LOOM_OK)
    return false;
  f->found[f->n_found++] = c;
  return true;
}

/* The sides of the nest, in memory of the graph. */
static bool begin(finder *f, bool pointwise) {
  const loom_op *op = f->op;
  size_t n = op->n_pointwise + op->n_reduction, n_uses = op->n_reads + op->n_writes;
  loom_expr *memory = loom_arena_array(&f->g->arena, 4 * n, sizeof *memory);
  f->found = loom_arena_array(&f->g->arena, n_uses + 1, sizeof *f->found);
  f->seen = loom_arena_array(&f->g->arena, n_uses, sizeof *f->seen);
  if (!memory || !f->found || !f->seen) return false;
  const loom_extent *loops = pointwise ? op->loops : op->loops + op->n_pointwise;
  const loom_extent *others = pointwise ? op->loops + op->n_pointwise : op->loops;
  f->n = pointwise ? op->n_pointwise : op->n_reduction;
  f->n_others = n - f->n;
  f->variables = memory;
  f->sizes = memory + f->n;
  f->strides = memory + 2 * f->n;
  f->others = memory + 3 * f->n;
  f->zeros = f->others + f->n_others;
  for (size_t i = 0; i < f->n; i++) {
    f->variables[i] = loops[i].variable;
    f->sizes[i] = loops[i].size;
  }
  for (size_t i = 0; i < f->n_others; i++) {
    f->others[i] = others[i].variable;
    f->zeros[i] = loom_int(f->ctx, 0);
  }
  loom_expr all = loom_mul(f->ctx, product(f, 0, f->n), op->reduction_extent);
  f->limit = at_hint(f, all);
  return !loom_base_failed(f->ctx);
}

static bool has_hints(finder *f) {
  for (size_t i = 0; i < f->op->n_pointwise + f->op->n_reduction; i++)
    if (at_hint(f, f->op->loops[i].size) == LOOM_NONE) return false;
  return true;
}

static bool find(finder *f) {
  const loom_op *op = f->op;
  if ((op->n_pointwise <= 1 && op->n_reduction <= 1) || !has_hints(f)) return true;
  bool pointwise = loom_size_is_one(f->ctx, f->reduction_extent, &f->g->given);
  if (!begin(f, pointwise) || !add_none(f, pointwise)) return false;
  for (size_t i = 0; i < op->n_reads; i++)
    if (!add_use(f, &op->reads[i])) return false;
  for (size_t i = 0; i < op->n_writes; i++)
    if (!add_use(f, &op->writes[i])) return false;
  return true;
}

static bool grow(loom_graph *g) {
  if (!loom_vec_reserve(g->ctx, &g->candidates, g->ops.n - g->candidates.n)) return false;
  while (g->candidates.n < g->ops.n)
    g->candidates.at[g->candidates.n++] = (loom_candidates){.extent = LOOM_NONE};
  return true;
}

ptrdiff_t loom_tiling_candidates(loom_graph *g, int op, loom_expr extent,
                                 loom_expr reduction_extent, const loom_candidate **list) {
  if (op < 0 || (size_t)op >= g->ops.n)
    return loom_graph_bad(g, "there is no operation number %d", op);
  if (!grow(g)) return -1;
  loom_candidates *known = &g->candidates.at[op];
  if (known->extent != extent || known->reduction_extent != reduction_extent) {
    finder f = {.g = g,
                .ctx = g->ctx,
                .op = &g->ops.at[op],
                .extent = extent,
                .reduction_extent = reduction_extent};
    if (!loom_size_check(g->ctx, extent, "the extent of a kernel") ||
        !loom_size_check(g->ctx, reduction_extent, "the reduction extent of a kernel") ||
        !find(&f) || loom_base_failed(g->ctx))
      return -1;
    *known = (loom_candidates){extent, reduction_extent, f.n_found, f.found};
  }
  *list = known->list;
  return (ptrdiff_t)known->n;
}
