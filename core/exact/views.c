/* SPDX-License-Identifier: MIT */
/* Pieces of a variable: what a row of loops over it cuts, the last tile clipped
** (doc/formulas.md#exact-pieces).
** Invariant: a view is made once for a path and a choice of ways; pieces of one view have different
** extents. */
#include "exact/arith.h"
#include "exact/exact.h"

bool loom_view_whole(loom_analysis *an, loom_view *view, loom_expr extent) {
  *view = (loom_view){.loop = -1, .n_pieces = 1, .number = an->one, .values = extent};
  view->pieces = loom_arena_new(&an->scratch, sizeof *view->pieces);
  if (view->pieces) view->pieces[0] = (loom_pieces){extent, an->one};
  return view->pieces != NULL;
}

loom_status loom_views_begin(loom_analysis *an) {
  size_t n = an->w->variables.n;
  loom_exact *ex = an->exact = loom_arena_new(&an->scratch, sizeof *ex);
  if (!ex) return loom_failed(an);
  ex->whole = loom_arena_array(&an->scratch, n, sizeof *ex->whole);
  ex->loops_of = loom_arena_array(&an->scratch, n, sizeof *ex->loops_of);
  ex->ways = loom_arena_array(&an->scratch, an->n_loops, sizeof *ex->ways);
  if (!ex->whole || !ex->loops_of || !ex->ways) return loom_failed(an);
  for (size_t v = 0; v < n; v++) {
    ex->loops_of[v] = loom_arena_array(&an->scratch, an->n_loops + 1, sizeof **ex->loops_of);
    if (!ex->loops_of[v] || !loom_view_whole(an, &ex->whole[v], an->w->variables.at[v].size))
      return loom_failed(an);
    size_t k = 0;
    for (size_t i = 0; i < an->n_loops; i++)
      if (an->loops[i].variable == (int)v) ex->loops_of[v][k++] = (int)i;
    ex->loops_of[v][k] = -1;
  }
  return LOOM_OK;
}

loom_view *loom_view_of(loom_analysis *an, int variable) {
  loom_exact *ex = an->exact;
  loom_view *view = &ex->whole[variable];
  for (const int *loop = ex->loops_of[variable]; *loop >= 0; loop++) {
    loom_way way = (loom_way)ex->ways[*loop];
    if (way == LOOM_WAY_PASS) continue;
    loom_view *inner = view->inner;
    while (inner && (inner->loop != *loop || inner->way != way)) inner = inner->next;
    if (!inner) {
      inner = loom_arena_new(&an->scratch, sizeof *inner);
      if (!inner) return NULL;
      *inner = (loom_view){.outer = view, .next = view->inner, .loop = *loop, .way = way};
      view->inner = inner;
    }
    view = inner;
  }
  return view;
}

/* ---- pieces ------------------------------------------------------------------------------- */

static bool add_pieces(loom_analysis *an, loom_view *view, loom_expr extent, loom_expr count) {
  if (extent == LOOM_NONE || count == LOOM_NONE) return false;
  if (extent == an->zero || count == an->zero) return true;
  for (size_t i = 0; i < view->n_pieces; i++)
    if (view->pieces[i].extent == extent) return loom_accumulate(an, &view->pieces[i].count, count);
  view->pieces[view->n_pieces++] = (loom_pieces){extent, count};
  return true;
}

/* Tiles that begin every `step` and overlap: all but the last are whole. */
static bool cut_overlapping(loom_analysis *an, loom_view *view, const loom_loop *loop,
                            loom_pieces p) {
  loom_ctx *ctx = an->ctx;
  loom_expr shared = loom_sub(ctx, loop->tile, loop->step);
  loom_expr before = loom_sub(
      ctx, loom_ceil(ctx, loom_div(ctx, loom_sub(ctx, p.extent, shared), loop->step)), an->one);
  before = loom_positive_part(an, before);
  loom_expr last = loom_sub(ctx, p.extent, loom_times(an, before, loop->step));
  return add_pieces(an, view, loop->tile, loom_times(an, p.count, before)) &&
         add_pieces(an, view, last, p.count);
}

static bool cut(loom_analysis *an, loom_view *view, const loom_loop *loop, loom_pieces p) {
  loom_ctx *ctx = an->ctx;
  if (loop->step != LOOM_NONE) return cut_overlapping(an, view, loop, p);
  if (loop->first != LOOM_NONE) {
    loom_expr first = loom_smaller(an, p.extent, loop->first);
    if (!add_pieces(an, view, first, p.count)) return false;
    p.extent = loom_sub(ctx, p.extent, first);
  }
  return add_pieces(an, view, loop->tile,
                    loom_times(an, p.count, loom_floor_div(ctx, p.extent, loop->tile))) &&
         add_pieces(an, view, loom_mod(ctx, p.extent, loop->tile), p.count);
}

/* Tiles are known to fit in the extent around their loop where growing ones are not allowed: numbers
** that do not are seen as they are, and points of formulas are checked for it. */
static bool fits(const loom_analysis *an, const loom_loop *loop, loom_expr extent) {
  if (an->options->allow_growing_tiles) return false;
  loom_expr around =
      loop->outer < 0 ? an->w->variables.at[loop->variable].size : an->loops[loop->outer].tile;
  return extent == around &&
         !(loom_expr_is_num(an->ctx, extent) && loom_expr_is_num(an->ctx, loop->tile));
}

loom_expr loom_whole_tile(loom_analysis *an, int loop, loom_expr extent) {
  loom_expr tile = an->loops[loop].tile;
  return fits(an, &an->loops[loop], extent) ? tile : loom_smaller(an, extent, tile);
}

/* Takes a piece if it is the only one that the loop makes of it. */
static bool take_sole(loom_analysis *an, loom_view *view, loom_pieces p) {
  loom_expr sole = loom_le(an->ctx, p.extent, an->loops[view->loop].tile);
  return sole != LOOM_NONE && add_pieces(an, view, p.extent, loom_times(an, p.count, sole));
}

/* The extent of the one tile that a way other than these leaves of a piece. */
static loom_expr one_tile(loom_analysis *an, const loom_view *view, loom_expr extent) {
  const loom_loop *loop = &an->loops[view->loop];
  bool single = loop->first == LOOM_NONE;
  if (single && fits(an, loop, extent)) return loop->tile;
  if (single) return loom_smaller(an, extent, loop->tile);
  loom_expr first = loom_smaller(an, extent, loop->first);
  if (view->way == LOOM_WAY_FIRST) return first;
  loom_expr rest = loom_positive_part(an, loom_sub(an->ctx, extent, loop->first));
  loom_expr second = loom_smaller(an, rest, loop->tile);
  return view->way == LOOM_WAY_SECOND ? second : loom_larger(an, first, second);
}

bool loom_view_pieces(loom_analysis *an, loom_view *view) {
  if (view->pieces) return true;
  if (!loom_view_pieces(an, view->outer)) return false;
  const loom_view *outer = view->outer;
  const loom_loop *loop = &an->loops[view->loop];
  view->pieces = loom_arena_array(&an->scratch, 3 * outer->n_pieces, sizeof *view->pieces);
  if (!view->pieces) return false;
  for (size_t i = 0; i < outer->n_pieces; i++) {
    loom_pieces p = outer->pieces[i];
    bool good = view->way == LOOM_WAY_CUT ? cut(an, view, loop, p)
                : view->way == LOOM_WAY_SOLE
                    ? take_sole(an, view, p)
                    : add_pieces(an, view, one_tile(an, view, p.extent), p.count);
    if (!good) return false;
  }
  return true;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* The view cuts without leaving out or repeating anything. */
static bool is_partition(const loom_analysis *an, const loom_view *view) {
  return view->way == LOOM_WAY_CUT && an->loops[view->loop].step == LOOM_NONE;
}

/* The view leaves one value of each piece. */
static bool keeps_one_value(const loom_analysis *an, const loom_view *view) {
  const loom_loop *loop = &an->loops[view->loop];
  return loop->tile == an->one && loop->first == LOOM_NONE &&
         (view->way == LOOM_WAY_FIRST || view->way == LOOM_WAY_LARGEST);
}

/* Tiles that a loop makes of one piece. */
static loom_expr tiles_in(loom_analysis *an, const loom_loop *loop, loom_expr extent) {
  loom_ctx *ctx = an->ctx;
  if (loop->step != LOOM_NONE) {
    loom_expr shared = loom_sub(ctx, loop->tile, loop->step);
    loom_expr n = loom_ceil(ctx, loom_div(ctx, loom_sub(ctx, extent, shared), loop->step));
    return loom_larger(an, loom_present(an, extent), n);
  }
  if (loop->first == LOOM_NONE) return loom_ceil(ctx, loom_div(ctx, extent, loop->tile));
  loom_expr rest = loom_sub(ctx, extent, loom_smaller(an, extent, loop->first));
  return loom_add(ctx, loom_present(an, extent), loom_ceil(ctx, loom_div(ctx, rest, loop->tile)));
}

static loom_expr present_pieces(loom_analysis *an, loom_view *view) {
  if (!loom_view_pieces(an, view)) return LOOM_NONE;
  loom_expr sum = an->zero;
  for (size_t i = 0; i < view->n_pieces; i++) {
    loom_expr count =
        loom_times(an, view->pieces[i].count, loom_present(an, view->pieces[i].extent));
    if (count == LOOM_NONE || !loom_accumulate(an, &sum, count)) return LOOM_NONE;
  }
  return sum;
}

loom_expr loom_view_number(loom_analysis *an, loom_view *view) {
  if (view->number != LOOM_NONE) return view->number;
  if (view->way == LOOM_WAY_SOLE || view->way == LOOM_WAY_SECOND)
    return view->number = present_pieces(an, view);
  if (view->way != LOOM_WAY_CUT) return view->number = loom_view_number(an, view->outer);
  const loom_loop *loop = &an->loops[view->loop];
  if (loop->tile == an->one && loop->first == LOOM_NONE && loop->step == LOOM_NONE)
    return view->number = loom_view_values(an, view->outer);
  if (!loom_view_pieces(an, view->outer)) return LOOM_NONE;
  loom_expr sum = an->zero;
  for (size_t i = 0; i < view->outer->n_pieces; i++) {
    loom_pieces p = view->outer->pieces[i];
    loom_expr tiles = tiles_in(an, loop, p.extent);
    if (tiles == LOOM_NONE || !loom_accumulate(an, &sum, loom_times(an, p.count, tiles)))
      return LOOM_NONE;
  }
  return view->number = sum;
}

/* Sum over the pieces of what `part` makes of their extents. */
static loom_expr sum_over(loom_analysis *an, loom_view *view, int64_t length,
                          loom_expr (*part)(loom_analysis *, loom_expr, int64_t)) {
  if (!loom_view_pieces(an, view)) return LOOM_NONE;
  loom_expr sum = an->zero;
  for (size_t i = 0; i < view->n_pieces; i++) {
    loom_expr e = part(an, view->pieces[i].extent, length);
    if (e == LOOM_NONE || !loom_accumulate(an, &sum, loom_times(an, view->pieces[i].count, e)))
      return LOOM_NONE;
  }
  return sum;
}

static loom_expr excess(loom_analysis *an, loom_expr extent, int64_t length) {
  if (length == 0) return extent;
  return loom_positive_part(an, loom_sub(an->ctx, extent, loom_int(an->ctx, length)));
}

static loom_expr least(loom_analysis *an, loom_expr extent, int64_t length) {
  return loom_smaller(an, extent, loom_int(an->ctx, length));
}

loom_expr loom_view_values(loom_analysis *an, loom_view *view) {
  if (view->values != LOOM_NONE) return view->values;
  if (is_partition(an, view)) return view->values = loom_view_values(an, view->outer);
  if (keeps_one_value(an, view)) return view->values = loom_view_number(an, view->outer);
  return view->values = sum_over(an, view, 0, excess);
}

loom_expr loom_view_excess(loom_analysis *an, loom_view *view, int64_t length) {
  if (length == 1) return loom_sub(an->ctx, loom_view_values(an, view), loom_view_number(an, view));
  return sum_over(an, view, length, excess);
}

loom_expr loom_view_least(loom_analysis *an, loom_view *view, int64_t length) {
  return length == 1 ? loom_view_number(an, view) : sum_over(an, view, length, least);
}

bool loom_view_even(loom_analysis *an, loom_view *view, loom_expr *extent) {
  if (!loom_view_pieces(an, view) || view->n_pieces > 1) return false;
  *extent = view->n_pieces == 0 ? an->zero : view->pieces[0].extent;
  return true;
}

/* ---- collection --------------------------------------------------------------------------- */

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

/* Views form a tree whose depth is the number of loops over one variable. */
static void mark_views(loom_ctx *ctx, const loom_view *top) {
  const loom_view *view = top;
  while (view) {
    for (size_t i = 0; i < view->n_pieces; i++) {
      mark_one(ctx, view->pieces[i].extent);
      mark_one(ctx, view->pieces[i].count);
    }
    mark_one(ctx, view->number);
    mark_one(ctx, view->values);
    if (view->inner) {
      view = view->inner;
      continue;
    }
    while (view && view != top && !view->next) view = view->outer;
    view = view && view != top ? view->next : NULL;
  }
}

void loom_exact_mark(loom_ctx *ctx, const loom_exact *ex, size_t n_variables) {
  for (; ex; ex = ex->around) {
    for (size_t v = 0; ex->whole && v < n_variables; v++) mark_views(ctx, &ex->whole[v]);
    for (const loom_answered *a = ex->answers; a; a = a->next) mark_one(ctx, a->value);
    for (const loom_kept *k = ex->kept; k; k = k->next)
      for (size_t i = 0; i < k->n; i++) mark_one(ctx, k->at[i]);
  }
}
