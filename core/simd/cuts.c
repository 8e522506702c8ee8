/* SPDX-License-Identifier: MIT */
/* Tilings that cut the points of a kernel where loops or digits of its accesses begin.
** Invariant: the ranges of a side multiply to its extent. */
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/best.h"

enum { MOST_CUTS = 10 };

/* A side cut in two: inner points in a row, outer rows. */
typedef struct cut {
  int64_t inner;
  loom_expr outer_size, inner_size;
} cut;
typedef struct cuts {
  size_t n;
  cut at[MOST_CUTS];
} cuts;

typedef struct cutter {
  loom_touches *t;
  loom_ctx *ctx;
  size_t max_tiles;
  cuts sides[2]; /* pointwise, reduction */
  loom_tiling_list *out;
} cutter;

static void add(cutter *c, size_t side, cut new) {
  cuts *list = &c->sides[side];
  int64_t extent = side == 0 ? c->t->extent : c->t->reduction_extent;
  if (new.inner <= 1 || new.inner >= extent || extent % new.inner != 0) return;
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i].inner == new.inner) return;
  if (list->n < MOST_CUTS) list->at[list->n++] = new;
}

/* ---- where -------------------------------------------------------------------------------- */

/* Between loops of one side of an operation that has that side's points. */
static void add_loops(cutter *c, size_t side, size_t n, const loom_extent *loops) {
  loom_ctx *ctx = c->ctx;
  for (size_t i = 1; i < n; i++) {
    cut new = {0, loom_int(ctx, 1), loom_int(ctx, 1)};
    loom_expr value;
    for (size_t k = 0; k < n; k++) {
      loom_expr *product = k < i ? &new.outer_size : &new.inner_size;
      *product = loom_mul(ctx, *product, loops[k].size);
    }
    if (loom_hint_value(ctx, new.inner_size, &c->t->g->given, &value) &&
        loom_as_int(ctx, value, &new.inner))
      add(c, side, new);
  }
}

static void add_ops(cutter *c) {
  const loom_kernel_steps *steps = c->t->steps;
  for (size_t i = 0; i < steps->n; i++) {
    if (steps->schedule[i] < 0) continue;
    const loom_op *op = &c->t->g->ops.at[steps->schedule[i]];
    if (op->extent == steps->extent) add_loops(c, 0, op->n_pointwise, op->loops);
    if (op->reduction_extent == steps->reduction_extent)
      add_loops(c, 1, op->n_reduction, op->loops + op->n_pointwise);
  }
}

/* Between the digits of an access, where the extent of the side is a number. */
static void add_digits(cutter *c, const loom_form *form) {
  int64_t inner = 1, reduced = c->t->reduction_extent;
  const loom_expr extents[] = {c->t->steps->extent, c->t->steps->reduction_extent};
  for (size_t i = form->n; i-- > 0;) {
    inner *= form->digits[i].size;
    size_t side = inner < reduced;
    if (side == 0 && inner % reduced != 0) continue;
    int64_t own = side == 0 ? inner / reduced : inner, extent;
    if (loom_as_int(c->ctx, extents[side], &extent))
      add(c, side, (cut){own, loom_int(c->ctx, extent / own), loom_int(c->ctx, own)});
  }
}

/* ---- tilings ------------------------------------------------------------------------------ */

static bool add_tiling(cutter *c, size_t n, const loom_expr *pointwise, size_t n_reduction,
                       const loom_expr *reduction) {
  loom_tiling tiling;
  return loom_tiling_create(c->ctx, n, pointwise, n_reduction, reduction, &tiling) == LOOM_OK &&
         loom_vec_push(c->ctx, c->out, tiling);
}

/* The pointwise ranges with the reduction whole and cut. */
static bool add_sides(cutter *c, size_t n, const loom_expr *pointwise) {
  if (!add_tiling(c, n, pointwise, 1, &c->t->steps->reduction_extent)) return false;
  for (size_t i = 0; i < c->sides[1].n; i++) {
    loom_expr two[] = {c->sides[1].at[i].outer_size, c->sides[1].at[i].inner_size};
    if (!add_tiling(c, n, pointwise, 2, two)) return false;
  }
  return true;
}

static bool add_three(cutter *c, const cut *outer, const cut *inner) {
  loom_expr middle = loom_floor_div(c->ctx, outer->inner_size, inner->inner_size);
  loom_expr three[] = {outer->outer_size, loom_simplify(c->ctx, middle), inner->inner_size};
  return three[1] != LOOM_NONE && add_sides(c, 3, three);
}

static bool add_all(cutter *c) {
  const cuts *list = &c->sides[0];
  if (!add_sides(c, 1, &c->t->steps->extent)) return false;
  for (size_t i = 0; c->max_tiles >= 2 && i < list->n; i++) {
    loom_expr two[] = {list->at[i].outer_size, list->at[i].inner_size};
    if (!add_sides(c, 2, two)) return false;
  }
  for (size_t i = 0; c->max_tiles >= 3 && i < list->n; i++)
    for (size_t k = 0; k < list->n; k++)
      if (list->at[i].inner > list->at[k].inner && list->at[i].inner % list->at[k].inner == 0 &&
          !add_three(c, &list->at[i], &list->at[k]))
        return false;
  return true;
}

bool loom_cut_tilings(loom_touches *t, size_t max_tiles, bool reductions, loom_tiling_list *out) {
  cutter c = {.t = t, .ctx = t->g->ctx, .max_tiles = max_tiles, .out = out};
  add_ops(&c);
  for (size_t i = 0; i < t->list.n; i++)
    if (t->list.at[i].has_form) add_digits(&c, &t->list.at[i].form);
  if (!reductions) c.sides[1].n = 0;
  return loom_error_status(c.ctx) == LOOM_OK && add_all(&c);
}
