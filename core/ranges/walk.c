/* SPDX-License-Identifier: MIT */
/* The variables of a tree for an index, with those that fill the gaps between them
** (doc/formulas.md#variables-of-a-tree).
** Invariant: lists are outermost first.  Where they are called exact, the divisor of each variable
** is the product of the sizes after it, and all sizes multiply to the extent of the tree. */
#include "ranges/ranges.h"

#include "expr/ops.h"
#include "ranges/sizes.h"

static int compare_divisors(const loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (a == LOOM_NONE || b == LOOM_NONE) return (a == LOOM_NONE) - (b == LOOM_NONE);
  return loom_num_order(ctx, loom_num_of(ctx, a), loom_num_of(ctx, b));
}

static bool before(const loom_ctx *ctx, loom_rank a, loom_rank b) {
  int order = compare_divisors(ctx, a.divisor, b.divisor);
  if (order == 0) order = (int)a.longer - (int)b.longer;
  return order != 0 ? order < 0 : a.entry < b.entry;
}

/* Insertion sort: few variables occur in one index, and they come nearly in order. */
static bool insert_rank(loom_ranges *r, size_t entry) {
  const loom_entry *e = &r->entries.at[entry];
  loom_rank item = {LOOM_NONE, !loom_size_is_one(r->ctx, e->length, &r->given), entry};
  if (!loom_hint_value(r->ctx, e->divisor, &r->given, &item.divisor)) item.divisor = LOOM_NONE;
  if (loom_base_failed(r->ctx) || !loom_vec_reserve(r->ctx, &r->ranks, 1)) return false;
  size_t i = r->ranks.n++;
  loom_rank *at = r->ranks.at;
  for (; i > 0 && before(r->ctx, item, at[i - 1]); i--) at[i] = at[i - 1];
  at[i] = item;
  return true;
}

/* Ranks the tree's entries whose variables are among the symbols. */
static bool rank_entries(loom_ranges *r, size_t tree, size_t n, const loom_expr *symbols) {
  bool good = true;
  r->ranks.n = 0;
  for (size_t i = 0; good && i < n; i++) {
    const loom_entry *e = loom_ranges_find(r, symbols[i]);
    if (e && e->tree == tree) good = insert_rank(r, (size_t)(e - r->entries.at));
  }
  return good;
}

typedef struct filler {
  loom_ranges *r;
  size_t tree;
  loom_expr divisor; /* of the next variable: the product of the sizes so far */
  bool exact;
} filler;

static bool add(filler *f, loom_expr variable, loom_expr size) {
  f->divisor = loom_mul(f->r->ctx, f->divisor, size);
  return f->divisor != LOOM_NONE && loom_vec_push(f->r->ctx, &f->r->vars, variable) &&
         loom_vec_push(f->r->ctx, &f->r->sizes, size);
}

/* Adds a variable that leads from the current divisor to `wanted`, unless it is there already. */
static bool fill_to(filler *f, loom_expr wanted) {
  loom_ctx *ctx = f->r->ctx;
  if (loom_sizes_same(ctx, wanted, f->divisor, &f->r->given)) return true;
  loom_expr size = loom_floor_div(ctx, wanted, f->divisor);
  loom_expr variable = loom_ranges_lookup(f->r, f->tree, f->divisor, size);
  if (variable == LOOM_NONE) return false;
  if (!add(f, variable, loom_ranges_find(f->r, variable)->length)) return false;
  if (!loom_sizes_same(ctx, wanted, f->divisor, &f->r->given)) f->exact = false;
  f->divisor = wanted;
  return true;
}

static bool fill(filler *f) {
  for (size_t i = 0; i < f->r->ranks.n; i++) {
    loom_entry e = f->r->entries.at[f->r->ranks.at[i].entry];
    if (!fill_to(f, e.divisor) || !add(f, e.variable, e.length)) return false;
  }
  return fill_to(f, f->r->trees[f->tree].extent);
}

static void reverse(size_t n, loom_expr *items) {
  for (size_t i = 0; i < n / 2; i++) {
    loom_expr item = items[i];
    items[i] = items[n - 1 - i];
    items[n - 1 - i] = item;
  }
}

bool loom_ranges_walk_symbols(loom_ranges *r, size_t tree, size_t n, const loom_expr *symbols,
                              bool *exact) {
  filler f = {r, tree, loom_int(r->ctx, 1), true};
  r->vars.n = r->sizes.n = 0;
  bool good = rank_entries(r, tree, n, symbols) && fill(&f);
  reverse(r->vars.n, r->vars.at);
  reverse(r->sizes.n, r->sizes.at);
  *exact = f.exact;
  return good;
}

bool loom_ranges_walk(loom_ranges *r, size_t tree, loom_expr index, bool *exact) {
  loom_expr_list symbols = {0};
  bool good = loom_list_symbols(r->ctx, index, &symbols) &&
              loom_ranges_walk_symbols(r, tree, symbols.n, symbols.at, exact);
  loom_vec_free(r->ctx, &symbols);
  return good;
}

loom_status loom_ranges_vars_and_sizes(loom_ranges *r, size_t tree, loom_expr index, size_t *n,
                                       const loom_expr **variables, const loom_expr **sizes) {
  bool exact;
  if (!loom_ranges_check(r, tree) || !loom_expr_check(r->ctx, index) ||
      !loom_ranges_walk(r, tree, index, &exact))
    return loom_error_status(r->ctx);
  *n = r->vars.n;
  *variables = r->vars.at;
  *sizes = r->sizes.at;
  return LOOM_OK;
}

/* Digits that are known below `divisor` and the entry's give those below the result; LOOM_NONE where
** that is not proved. */
static loom_expr extend(loom_ranges *r, loom_expr divisor, const loom_entry *e) {
  loom_expr end = loom_mul(r->ctx, e->divisor, e->length);
  if (!loom_size_multiple(r->ctx, divisor, e->divisor, &r->given)) return LOOM_NONE;
  if (loom_size_multiple(r->ctx, end, divisor, &r->given)) return end;
  return loom_size_multiple(r->ctx, divisor, end, &r->given) ? divisor : LOOM_NONE;
}

bool loom_ranges_determined(loom_ranges *r, size_t tree, loom_expr index) {
  loom_expr_list symbols = {0};
  bool good =
      loom_list_symbols(r->ctx, index, &symbols) && rank_entries(r, tree, symbols.n, symbols.at);
  loom_vec_free(r->ctx, &symbols);
  loom_expr known = good ? loom_int(r->ctx, 1) : LOOM_NONE;
  for (size_t i = 0; known != LOOM_NONE && i < r->ranks.n; i++)
    known = extend(r, known, &r->entries.at[r->ranks.at[i].entry]);
  return known != LOOM_NONE && loom_sizes_same(r->ctx, known, r->trees[tree].extent, &r->given);
}
