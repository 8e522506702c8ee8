/* SPDX-License-Identifier: MIT */
/* What an index of a kernel tells about its memory access.
** Invariant: what is said strictly holds at every value of the flat indices. */
#include "ranges/ranges.h"

#include "expr/ops.h"
#include "ranges/address.h"
#include "ranges/sizes.h"

/* ---- tile strides ------------------------------------------------------------------------- */

/* The index in flat indices: the variables' expressions in their place. */
static loom_expr flatten(loom_ranges *r, loom_expr index) {
  size_t n = r->entries.n;
  r->vars.n = r->sizes.n = 0;
  if (n == 0) return index;
  if (!loom_vec_reserve(r->ctx, &r->vars, n) || !loom_vec_reserve(r->ctx, &r->sizes, n))
    return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    r->vars.at[i] = r->entries.at[i].variable;
    r->sizes.at[i] = r->entries.at[i].expr;
  }
  return loom_substitute(r->ctx, index, n, r->vars.at, r->sizes.at);
}

static loom_expr at(loom_ctx *ctx, loom_expr e, loom_expr symbol, int64_t value) {
  loom_expr number = loom_int(ctx, value);
  return loom_substitute(ctx, e, 1, &symbol, &number);
}

static bool is_linear(loom_ctx *ctx, loom_expr e, loom_expr symbol, loom_expr origin,
                      loom_expr stride) {
  loom_expr line = loom_add(ctx, origin, loom_mul(ctx, stride, symbol));
  return loom_simplify(ctx, loom_sub(ctx, e, line)) == loom_int(ctx, 0);
}

loom_status loom_ranges_tile_strides(loom_ranges *r, loom_expr index, loom_expr *strides) {
  if (!loom_expr_check(r->ctx, index)) return loom_error_status(r->ctx);
  loom_expr e = flatten(r, index);
  for (size_t i = 0; i < r->n_trees; i++) {
    loom_expr flat = r->trees[i].index, origin = at(r->ctx, e, flat, 0);
    strides[i] = loom_sub(r->ctx, at(r->ctx, e, flat, 1), origin);
    if (strides[i] == LOOM_NONE) return loom_error_status(r->ctx);
    if (r->given.strict && !is_linear(r->ctx, e, flat, origin, strides[i])) strides[i] = LOOM_NONE;
  }
  return loom_base_failed(r->ctx) ? LOOM_ERR_MEMORY : LOOM_OK;
}

/* ---- broadcasting ------------------------------------------------------------------------- */

static bool has_run_time_value(loom_ctx *ctx, const loom_expr_list *symbols) {
  for (size_t i = 0; i < symbols->n; i++)
    if (loom_symbol_is_tmp(ctx, symbols->at[i])) return true;
  return false;
}

/* The products of the lengths of the variables in index, by tree; false with an error.  *gathers:
** there is a run-time value in it. */
static bool lengths_in(loom_ranges *r, loom_expr index, loom_expr *products, bool *gathers) {
  loom_expr_list symbols = {0};
  bool good = loom_list_symbols(r->ctx, index, &symbols);
  *gathers = good && has_run_time_value(r->ctx, &symbols);
  for (size_t i = 0; i < r->n_trees; i++) products[i] = loom_int(r->ctx, 1);
  for (size_t i = 0; good && i < symbols.n; i++) {
    const loom_entry *e = loom_ranges_find(r, symbols.at[i]);
    if (e) products[e->tree] = loom_mul(r->ctx, products[e->tree], e->length);
  }
  loom_vec_free(r->ctx, &symbols);
  return good;
}

static bool differs(loom_ranges *r, loom_expr product, size_t tree) {
  return loom_simplify(r->ctx, product) != r->trees[tree].extent;
}

bool loom_ranges_broadcasted_in(loom_ranges *r, size_t tree, loom_expr index) {
  loom_expr products[LOOM_N_PREFIXES];
  bool gathers;
  if (!loom_ranges_check(r, tree) || !loom_expr_check(r->ctx, index) ||
      !lengths_in(r, index, products, &gathers) || gathers)
    return false;
  return r->given.strict ? !loom_ranges_determined(r, tree, index)
                         : differs(r, products[tree], tree);
}

static bool broadcasted_somewhere(loom_ranges *r, loom_expr index) {
  for (size_t i = 0; i < r->n_trees; i++)
    if (loom_ranges_broadcasted_in(r, i, index)) return true;
  return false;
}

/* The place of a product among the extents: its position; its own where there is no such tree. */
static size_t slot_of(const loom_ranges *r, size_t tree) {
  size_t position = (size_t)r->trees[tree].position;
  return position < r->n_trees ? position : tree;
}

bool loom_ranges_broadcasted(loom_ranges *r, loom_expr index) {
  loom_expr products[LOOM_N_PREFIXES];
  bool gathers;
  if (!loom_expr_check(r->ctx, index)) return false;
  if (r->given.strict) return broadcasted_somewhere(r, index);
  if (!lengths_in(r, index, products, &gathers) || gathers) return false;
  for (size_t i = 0; i < r->n_trees; i++)
    if (differs(r, products[i], slot_of(r, i))) return true;
  return false;
}
