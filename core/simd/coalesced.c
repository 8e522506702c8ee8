/* SPDX-License-Identifier: MIT */
/* Tilings along the variables in which addresses are walked element by element
** (doc/formulas.md#coalescing).
** Invariant: candidates are in order: no cut, the suggested split, one variable, two variables. */
#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/select.h"

typedef LOOM_VEC(loom_scored_tiling) scored_list;

typedef struct maker {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_kernel_steps *steps;
  const loom_coalescing *c;
  size_t max_tiles;
  scored_list list;
} maker;

/* Ranges of one side with their scores (-1: none). */
typedef struct side {
  size_t n;
  loom_expr extent[8];
  int64_t score[8];
  bool too_many;
} side;

static int64_t score_of(const maker *m, loom_expr variable) {
  for (size_t i = 0; i < m->c->n_coalesced; i++)
    if (m->c->coalesced[i].variable == variable) return m->c->coalesced[i].score;
  return 0;
}

static void add(side *s, loom_expr extent, int64_t score) {
  if (s->n == 8) {
    s->too_many = true;
    return;
  }
  s->extent[s->n] = extent;
  s->score[s->n++] = score;
}

/* A score counts in full only for ranges of eight elements or more. */
static int64_t scaled(maker *m, loom_expr extent, int64_t score) {
  int64_t size;
  loom_expr value = loom_hint_or(m->ctx, extent, &m->g->given, 32);
  if (!loom_as_int(m->ctx, value, &size) || size > 8) size = 8;
  return score / 8 * size + score % 8 * size / 8;
}

/* The loops from first to last - 1 cut behind those that are chosen; the split one in two. */
static side cut(maker *m, size_t first, size_t last, const bool *chosen, bool use_split,
                loom_expr whole) {
  side s = {0};
  loom_expr product = loom_int(m->ctx, 1), one = product;
  int64_t previous = 0;
  if (first == last) {
    add(&s, whole, -1);
    return s;
  }
  for (size_t i = first; i < last; i++) {
    loom_extent loop = m->c->loops[i];
    int64_t score = score_of(m, loop.variable);
    if (!chosen[i]) {
      product = loom_mul(m->ctx, product, loop.size);
      previous = score;
      continue;
    }
    if (use_split && loop.variable == m->c->split_variable) {
      loom_expr factor = m->c->split_factor;
      loom_expr outer = loom_simplify(m->ctx, loom_floor_div(m->ctx, loop.size, factor));
      add(&s, loom_mul(m->ctx, product, outer), m->c->split_score);
      add(&s, factor, score);
      previous = 0;
    } else {
      add(&s, loom_mul(m->ctx, product, loop.size), score);
    }
    product = one;
  }
  if (product != one || (first == 0 && s.n == 0)) add(&s, product, previous);
  for (size_t i = 0; i < s.n; i++) s.score[i] = scaled(m, s.extent[i], s.score[i]);
  return s;
}

/* The candidate that cuts behind the chosen loops; more ranges than there are prefixes: none. */
static bool add_cut(maker *m, const bool *chosen, bool use_split) {
  size_t n = m->c->n_pointwise, all = n + m->c->n_reduction;
  side pointwise = cut(m, 0, n, chosen, use_split, m->steps->extent);
  side reduction = cut(m, n, all, chosen, false, m->steps->reduction_extent);
  if (pointwise.too_many || pointwise.n > 3 || reduction.too_many || reduction.n > 2) return true;
  loom_scored_tiling t = {0};
  if (loom_tiling_create(m->ctx, pointwise.n, pointwise.extent, reduction.n, reduction.extent,
                         &t.tiling) != LOOM_OK)
    return false;
  for (size_t i = 0; i < pointwise.n; i++) t.score[i] = pointwise.score[i];
  for (size_t i = 0; i < reduction.n; i++) t.score[pointwise.n + i] = reduction.score[i];
  for (size_t i = 0; i < t.tiling.n; i++)
    if (t.score[i] > 0) t.total += t.score[i];
  return loom_vec_push(m->ctx, &m->list, t);
}

static bool make_all(maker *m, bool *chosen) {
  const loom_coalescing *c = m->c;
  bool one_side = m->steps->reduction_extent == loom_int(m->ctx, 1);
  if (!add_cut(m, chosen, false)) return false;
  for (size_t i = 0; c->split_variable != LOOM_NONE && i < c->n_pointwise + c->n_reduction; i++) {
    if (c->loops[i].variable != c->split_variable) continue;
    chosen[i] = true;
    if (!add_cut(m, chosen, true)) return false;
    chosen[i] = false;
  }
  for (size_t i = 0; i < c->n_pointwise; i++) {
    if (score_of(m, c->loops[i].variable) == 0) continue;
    chosen[i] = true;
    if (!add_cut(m, chosen, false)) return false;
    chosen[i] = false;
  }
  for (size_t i = 0; m->max_tiles == 3 && one_side && i < c->n_pointwise; i++)
    for (size_t k = i + 1; k < c->n_pointwise; k++) {
      if (score_of(m, c->loops[i].variable) == 0 || score_of(m, c->loops[k].variable) == 0)
        continue;
      chosen[i] = chosen[k] = true;
      if (!add_cut(m, chosen, false)) return false;
      chosen[i] = chosen[k] = false;
    }
  return true;
}

static bool make(maker *m) {
  size_t n = m->c->n_pointwise + m->c->n_reduction + 1;
  bool *chosen = loom_realloc_array(m->ctx, NULL, 0, n, sizeof *chosen);
  if (!chosen) return false;
  for (size_t i = 0; i < n; i++) chosen[i] = false;
  bool good = make_all(m, chosen);
  loom_realloc_array(m->ctx, chosen, n, 0, sizeof *chosen);
  return good && !loom_base_failed(m->ctx);
}

static maker maker_of(loom_graph *g, const loom_kernel_steps *steps, const loom_coalescing *c,
                      size_t max_tiles) {
  return (maker){
      .g = g, .ctx = g->ctx, .steps = steps, .c = c, .max_tiles = max_tiles ? max_tiles : 3};
}

ptrdiff_t loom_coalesced_tilings(loom_graph *g, const loom_kernel_steps *steps,
                                 const loom_coalescing *c, size_t max_tiles,
                                 loom_scored_tiling *out, size_t capacity) {
  maker m = maker_of(g, steps, c, max_tiles);
  bool good = loom_steps_check(g, steps) && make(&m);
  size_t n = m.list.n;
  for (size_t i = 0; i < n && i < capacity; i++) out[i] = m.list.at[i];
  loom_vec_free(g->ctx, &m.list);
  return good ? (ptrdiff_t)n : -1;
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* The total times 1/1.005 for each good size and 1/1.025 for each other, rounded in this order as by
** the reference: totals that differ by just such a factor fall as its rounding has them. */
static double rank_of(const maker *m, const loom_scored_tiling *t) {
  double factor = 1;
  for (size_t i = 0; i < t->tiling.n; i++)
    factor /= loom_tiling_good_size(m->ctx, t->tiling.extent[i], &m->g->given) ? 1.005 : 1.025;
  return (double)t->total * factor;
}

static bool sort(maker *m) {
  size_t n = m->list.n;
  double *ranks = loom_realloc_array(m->ctx, NULL, 0, n + 1, sizeof *ranks);
  if (!ranks) return false;
  for (size_t i = 0; i < n; i++) ranks[i] = rank_of(m, &m->list.at[i]);
  for (size_t k = 1; k < n; k++)
    for (size_t i = k; i > 0 && ranks[i - 1] < ranks[i]; i--) {
      double rank = ranks[i];
      loom_scored_tiling t = m->list.at[i];
      ranks[i] = ranks[i - 1];
      m->list.at[i] = m->list.at[i - 1];
      ranks[i - 1] = rank;
      m->list.at[i - 1] = t;
    }
  loom_realloc_array(m->ctx, ranks, n + 1, 0, sizeof *ranks);
  return !loom_base_failed(m->ctx);
}

static bool is_default(const maker *m, const loom_tiling *t) {
  return t->n == 2 && t->prefix[0] == LOOM_PREFIX_X && t->extent[0] == m->steps->extent &&
         t->extent[1] == m->steps->reduction_extent;
}

static bool is_allowed(maker *m, const loom_tiling *t) {
  bool reduces = m->steps->reduction_extent != loom_int(m->ctx, 1);
  size_t n = t->n;
  if (!reduces && t->prefix[n - 1] == LOOM_PREFIX_R0) n--;
  return is_default(m, t) || (n <= m->max_tiles && loom_tiling_fits(m->g, m->steps, t));
}

loom_status loom_coalesced_select(loom_graph *g, const loom_kernel_steps *steps,
                                  const loom_coalescing *c, size_t max_tiles,
                                  loom_scored_tiling *out) {
  loom_ctx *ctx = g->ctx;
  maker m = maker_of(g, steps, c, max_tiles);
  *out = (loom_scored_tiling){.score = {-1, -1, -1, -1, -1}};
  if (!loom_steps_check(g, steps)) return loom_error_status(ctx);
  loom_status status =
      loom_tiling_create(ctx, 1, &steps->extent, 1, &steps->reduction_extent, &out->tiling);
  bool good = status == LOOM_OK && make(&m) && sort(&m);
  for (size_t i = 0; good && i < m.list.n; i++)
    if (is_allowed(&m, &m.list.at[i].tiling)) {
      *out = m.list.at[i];
      break;
    }
  loom_vec_free(ctx, &m.list);
  return good ? LOOM_OK : loom_error_status(ctx);
}
