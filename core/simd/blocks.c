/* SPDX-License-Identifier: MIT */
/* Tilings that follow the blocks in which accesses walk their buffers (doc/formulas.md#tilings).
** Invariant: the tilings found are different. */
#include "simd/select.h"

#include <string.h>

#include "expr/ops.h"
#include "ranges/sizes.h"

typedef struct blocks {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_kernel_steps *steps;
  bool pointwise;
  size_t max_tiles;
  loom_tiling_list *out;
  LOOM_VEC(loom_expr) dims; /* of one candidate */
  LOOM_VEC(loom_expr) scratch;
} blocks;

/* ---- lists of dims ------------------------------------------------------------------------ */

static bool push_dim(blocks *b, loom_expr dim) {
  if (loom_size_is_one(b->ctx, dim, &b->g->given)) return true;
  return loom_vec_push(b->ctx, &b->dims, dim);
}

static bool same_tiling(const loom_tiling *a, const loom_tiling *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->prefix[i] != b->prefix[i] || a->extent[i] != b->extent[i]) return false;
  return true;
}

/* The dims as a tiling of at most max_tiles ranges on their side: the leading ones multiplied; none
** are one range of 1.  There are names for two reduction ranges: a third one is left to the other
** side, as by the reference. */
static bool add_dims(blocks *b) {
  enum { MOST_REDUCTION = 2 };
  size_t n = b->dims.n, kept = n < b->max_tiles ? n : b->max_tiles;
  if (n == 0) {
    if (!loom_vec_push(b->ctx, &b->dims, loom_int(b->ctx, 1))) return false;
    n = kept = 1;
  }
  loom_expr *dims = b->dims.at + (n - kept);
  for (size_t i = 0; i < n - kept; i++) dims[0] = loom_mul(b->ctx, dims[0], b->dims.at[i]);
  if (!b->pointwise && kept > MOST_REDUCTION) kept = MOST_REDUCTION;
  loom_tiling side, tiling;
  loom_status status = b->pointwise ? loom_tiling_create(b->ctx, kept, dims, 0, NULL, &side)
                                    : loom_tiling_create(b->ctx, 0, NULL, kept, dims, &side);
  if (status != LOOM_OK || loom_tiling_complete(b->ctx, &side, b->steps->extent,
                                                b->steps->reduction_extent, &tiling) != LOOM_OK)
    return false;
  for (size_t i = 0; i < b->out->n; i++)
    if (same_tiling(&b->out->at[i], &tiling)) return true;
  return loom_vec_push(b->ctx, b->out, tiling);
}

/* ---- accesses ----------------------------------------------------------------------------- */

static size_t count_digits(loom_ctx *ctx, loom_expr e) {
  size_t n = 0;
  loom_walk walk;
  if (!loom_walk_begin(ctx, &walk, false)) return 0;
  loom_walk_root(&walk, e);
  for (loom_expr f; (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    loom_kind kind = loom_kind_of(ctx, f);
    n += kind == LOOM_FLOORDIV || kind == LOOM_MODIDX || kind == LOOM_MOD || kind == LOOM_FLOOR;
  }
  return loom_walk_end(&walk) ? n : 0;
}

/* The dims of the blocks in which the index walks the variable, else its size; n_own: loops that the
** operation has on the side. */
static bool add_blocks(blocks *b, loom_expr index, loom_extent loop, size_t n_own) {
  loom_expr terms = loom_terms_of(b->ctx, index, loop.variable);
  if (terms == LOOM_NONE) return false;
  size_t n = count_digits(b->ctx, terms);
  if (n < n_own) n = n_own;
  if (n < 2) n = 2;
  b->scratch.n = 0;
  if (!loom_vec_reserve(b->ctx, &b->scratch, 3 * n)) return false;
  loom_expr *dims = b->scratch.at;
  if (!loom_match_blocks(b->ctx, terms, loop.variable, loop.size, n, dims, dims + n, dims + 2 * n))
    return !loom_base_failed(b->ctx) && push_dim(b, loop.size);
  for (size_t i = 0; i < n; i++)
    if (!push_dim(b, dims[i])) return false;
  return true;
}

/* The number of loops of the access that are pointwise, one at least: their product is the extent.
** False: none. */
static bool cut(blocks *b, const loom_dep *dep, size_t *n) {
  loom_expr product = loom_int(b->ctx, 1), extent = b->steps->extent;
  const loom_given *given = &b->g->given;
  for (*n = 0; *n < dep->n;) {
    product = loom_mul(b->ctx, product, dep->loops[(*n)++].size);
    if (loom_known(b->ctx, LOOM_REL_GE, product, extent, given)) break;
  }
  return loom_known(b->ctx, LOOM_REL_EQ, product, extent, given);
}

static bool add_dep(blocks *b, const loom_op *op, const loom_dep *dep) {
  size_t n;
  if (dep->mode != LOOM_USE_INDEXED || dep->n == 0 || !cut(b, dep, &n))
    return !loom_base_failed(b->ctx);
  b->dims.n = 0;
  size_t n_own = b->pointwise ? op->n_pointwise : op->n_reduction;
  for (size_t i = b->pointwise ? 0 : n; i < (b->pointwise ? n : dep->n); i++)
    if (!add_blocks(b, dep->index, dep->loops[i], n_own)) return false;
  return b->dims.n == 0 || add_dims(b);
}

static bool add_op(blocks *b, const loom_op *op) {
  if (!b->pointwise && op->n_reduction == 0) return true;
  b->dims.n = 0;
  size_t first = b->pointwise ? 0 : op->n_pointwise;
  size_t last = b->pointwise ? op->n_pointwise : op->n_pointwise + op->n_reduction;
  for (size_t i = first; i < last; i++)
    if (!push_dim(b, op->loops[i].size)) return false;
  if (!add_dims(b)) return false;
  for (size_t i = 0; i < op->n_dep_reads + op->n_dep_writes; i++)
    if (!add_dep(b, op, op->dep_reads[i])) return false; /* writes follow reads */
  return true;
}

/* ---- entry -------------------------------------------------------------------------------- */

/* By the number of ranges, most first, in order of appearance. */
static void sort(loom_tiling_list *list) {
  for (size_t k = 1; k < list->n; k++)
    for (size_t i = k; i > 0 && list->at[i - 1].n < list->at[i].n; i--) {
      loom_tiling t = list->at[i];
      list->at[i] = list->at[i - 1];
      list->at[i - 1] = t;
    }
}

bool loom_tiling_list_blocks(loom_graph *g, const loom_kernel_steps *steps, size_t max_tiles,
                             loom_tiling_list *out) {
  blocks b = {.g = g, .ctx = g->ctx, .steps = steps, .out = out};
  b.max_tiles = max_tiles ? max_tiles : 2;
  b.pointwise = loom_size_is_one(g->ctx, steps->reduction_extent, &g->given);
  bool good = true, on = true;
  for (size_t i = 0; good && i < steps->n; i++) {
    if (steps->schedule[i] < 0)
      on = steps->schedule[i] == LOOM_REDUCTION_ON;
    else if (on)
      good = add_op(&b, &g->ops.at[steps->schedule[i]]);
  }
  sort(out);
  loom_vec_free(g->ctx, &b.dims);
  loom_vec_free(g->ctx, &b.scratch);
  return good && !loom_base_failed(g->ctx);
}

ptrdiff_t loom_tiling_blocks(loom_graph *g, const loom_kernel_steps *steps, size_t max_tiles,
                             loom_tiling *out, size_t capacity) {
  loom_tiling_list list = {0};
  if (!loom_steps_check(g, steps)) return -1;
  bool good = loom_tiling_list_blocks(g, steps, max_tiles, &list);
  size_t n = list.n;
  for (size_t i = 0; i < n && i < capacity; i++) out[i] = list.at[i];
  loom_vec_free(g->ctx, &list);
  return good ? (ptrdiff_t)n : -1;
}
