/* SPDX-License-Identifier: MIT */
/* Chooses the tiling of a kernel among the candidates of its operations (doc/formulas.md#tilings).
** Invariant: what is chosen fits, or it is one range for each side. */
#include "simd/select.h"

#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"

bool loom_steps_check(loom_graph *g, const loom_kernel_steps *steps) {
  for (size_t i = 0; i < steps->n; i++)
    if (steps->schedule[i] < LOOM_REDUCTION_ON ||
        (steps->schedule[i] >= 0 && (size_t)steps->schedule[i] >= g->ops.n)) {
      loom_graph_bad(g, "there is no operation number %d", steps->schedule[i]);
      return false;
    }
  return loom_size_check(g->ctx, steps->extent, "the extent of a kernel") &&
         loom_size_check(g->ctx, steps->reduction_extent, "the reduction extent of a kernel");
}

typedef struct selector {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_kernel_steps *steps;
  LOOM_VEC(loom_candidate) ranked;
} selector;

/* ---- ranking ------------------------------------------------------------------------------ */

static bool is_named(const selector *s, int buffer) {
  for (size_t i = 0; i < s->ranked.n; i++)
    if (s->ranked.at[i].buffer == buffer) return true;
  return false;
}

static bool collect(selector *s, int op) {
  const loom_candidate *list;
  ptrdiff_t n =
      loom_tiling_candidates(s->g, op, s->steps->extent, s->steps->reduction_extent, &list);
  for (ptrdiff_t i = 0; i < n; i++)
    if (!is_named(s, list[i].buffer) && !loom_vec_push(s->ctx, &s->ranked, list[i])) return false;
  return n >= 0;
}

/* By descending score; equal ones in order of appearance. */
static void rank(selector *s) {
  for (size_t k = 1; k < s->ranked.n; k++)
    for (size_t i = k; i > 0; i--) {
      loom_candidate *a = &s->ranked.at[i - 1], c = s->ranked.at[i];
      if (loom_known_lt(s->ctx, a->score, c.score) != LOOM_YES) break;
      s->ranked.at[i] = *a;
      *a = c;
    }
}

static bool collect_all(selector *s) {
  bool on = true;
  for (size_t i = 0; i < s->steps->n; i++) {
    if (s->steps->schedule[i] < 0)
      on = s->steps->schedule[i] == LOOM_REDUCTION_ON;
    else if (on && !collect(s, s->steps->schedule[i]))
      return false;
  }
  rank(s);
  return true;
}

/* ---- three tiles -------------------------------------------------------------------------- */

static loom_expr extent_of(const loom_tiling *t, loom_prefix prefix) {
  for (size_t i = 0; i < t->n; i++)
    if (t->prefix[i] == prefix) return t->extent[i];
  return LOOM_NONE;
}

/* A tiling by x and y: [0] x, [1] y or 1. */
static void pair_of(loom_ctx *ctx, const loom_tiling *t, loom_expr pair[2]) {
  pair[0] = extent_of(t, LOOM_PREFIX_X);
  pair[1] = extent_of(t, LOOM_PREFIX_Y);
  if (pair[1] == LOOM_NONE) pair[1] = loom_int(ctx, 1);
}

static loom_answer compare_hints(selector *s, loom_expr a, loom_expr b, bool *equal) {
  loom_expr difference = loom_hint_or(s->ctx, loom_sub(s->ctx, a, b), &s->g->given, 0);
  *equal = difference == loom_int(s->ctx, 0);
  return loom_known_lt(s->ctx, difference, loom_int(s->ctx, 0));
}

/* Combines two tilings whose y differ into one of three ranges.  False: they do not combine. */
static bool combine(selector *s, const loom_tiling *first, const loom_tiling *second,
                    loom_tiling *out) {
  loom_ctx *ctx = s->ctx;
  loom_expr a[2], b[2];
  bool equal;
  pair_of(ctx, first, a);
  pair_of(ctx, second, b);
  loom_answer less = compare_hints(s, a[1], b[1], &equal);
  if (equal) return false;
  if (less == LOOM_YES) {
    for (int i = 0; i < 2; i++) {
      loom_expr e = a[i];
      a[i] = b[i];
      b[i] = e;
    }
  }
  if (!loom_size_multiple(ctx, a[1], b[1], &s->g->given)) return false;
  loom_expr tiles[] = {a[0], loom_floor_div(ctx, a[1], b[1]), b[1]};
  return loom_tiling_create(ctx, 3, tiles, 1, &s->steps->reduction_extent, out) == LOOM_OK;
}

/* The best tiling with the first that it combines with, in front. */
static bool add_three(selector *s, loom_tiling_list *list) {
  for (size_t i = 1; i < s->ranked.n; i++) {
    loom_tiling three;
    if (!combine(s, &s->ranked.at[0].tiling, &s->ranked.at[i].tiling, &three)) continue;
    return loom_vec_push(s->ctx, list, three);
  }
  return true;
}

/* ---- entry -------------------------------------------------------------------------------- */

static bool list_all(selector *s, const loom_tiling_options *options, bool reduces,
                     loom_tiling_list *list) {
  if (!collect_all(s)) return false;
  if (options->blocks && !loom_tiling_list_blocks(s->g, s->steps, options->max_tiles, list))
    return false;
  if (options->max_tiles >= 3 && !reduces && !add_three(s, list)) return false;
  for (size_t i = 0; i < s->ranked.n; i++)
    if (!loom_vec_push(s->ctx, list, s->ranked.at[i].tiling)) return false;
  return true;
}

loom_status loom_tiling_select(loom_graph *g, const loom_kernel_steps *steps,
                               const loom_tiling_options *options, loom_tiling *out) {
  loom_ctx *ctx = g->ctx;
  if (!loom_steps_check(g, steps)) return loom_error_status(ctx);
  bool reduces = !loom_size_is_one(ctx, steps->reduction_extent, &g->given);
  loom_status status = loom_tiling_create(ctx, 1, &steps->extent, 1, &steps->reduction_extent, out);
  if (status != LOOM_OK || (reduces && !options->reductions) || options->max_tiles == 1)
    return status;
  selector s = {.g = g, .ctx = ctx, .steps = steps};
  loom_tiling_list list = {0};
  bool good = list_all(&s, options, reduces, &list);
  for (size_t i = 0; good && i < list.n; i++)
    if (loom_tiling_fits(g, steps, &list.at[i])) {
      *out = list.at[i];
      break;
    }
  loom_vec_free(ctx, &list);
  loom_vec_free(ctx, &s.ranked);
  return good && loom_error_status(ctx) == LOOM_OK ? LOOM_OK : loom_error_status(ctx);
}
