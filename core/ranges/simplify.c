/* SPDX-License-Identifier: MIT */
/* Indices of a kernel in as few variables as possible.
** Invariant: a rewritten index has the same value at every value of the flat indices. */
#include "ranges/ranges.h"

#include <stdio.h>

#include "expr/ops.h"
#include "ranges/sizes.h"

/* ---- merging the variables of a tree ------------------------------------------------------ */

static bool same_sizes(const loom_ranges *r, size_t n, const loom_expr *sizes) {
  if (n != r->sizes.n) return false;
  for (size_t i = 0; i < n; i++)
    if (sizes[i] != r->sizes.at[i]) return false;
  return true;
}

/* Puts the n new variables for the loops that are left and 0 for the others. */
static loom_expr replace_merged(loom_ranges *r, loom_expr index, size_t n) {
  loom_expr zero = loom_int(r->ctx, 0);
  for (size_t i = 0; i < r->vars.n; i++) r->old.at[i] = zero;
  for (size_t i = 0; i < n; i++) r->old.at[r->kept.at[i]] = r->fresh.at[i];
  return loom_substitute(r->ctx, index, r->vars.n, r->vars.at, r->old.at);
}

static bool reserve(loom_ranges *r, size_t n) {
  r->fresh.n = r->old.n = r->kept.n = 0;
  return loom_vec_reserve(r->ctx, &r->fresh, n) && loom_vec_reserve(r->ctx, &r->old, n) &&
         loom_vec_reserve(r->ctx, &r->kept, n);
}

static loom_expr merge(loom_ranges *r, size_t tree, loom_expr index) {
  bool exact;
  if (index == LOOM_NONE) return LOOM_NONE;
  if (loom_kind_of(r->ctx, index) <= LOOM_SYM) return index;
  if (!loom_ranges_walk(r, tree, index, &exact) || !reserve(r, r->vars.n)) return LOOM_NONE;
  if (r->vars.n <= 1 || !exact) return index;
  ptrdiff_t n = loom_merge_loops(r->ctx, r->vars.n, r->vars.at, r->sizes.at, 1, &index, true,
                                 r->kept.at, r->fresh.at);
  if (n < 0) return LOOM_NONE;
  if (same_sizes(r, (size_t)n, r->fresh.at)) return index;
  if (loom_ranges_construct(r, tree, (size_t)n, r->fresh.at, r->fresh.at) != LOOM_OK)
    return LOOM_NONE;
  return replace_merged(r, index, (size_t)n);
}

/* Makes the variables that fill the gaps, as merging does, and says whether it would change nothing.
** *good: no error. */
static bool is_merged(loom_ranges *r, size_t tree, const loom_flat *flat, bool *good) {
  bool exact;
  *good = loom_ranges_walk_symbols(r, tree, flat->n, flat->symbols, &exact);
  return *good && (r->vars.n <= 1 || !exact || loom_flat_is_merged(r, flat));
}

static loom_expr merge_dims(loom_ranges *r, size_t tree, loom_expr index) {
  loom_expr numerator, divisor;
  loom_given given = loom_ranges_given(r);
  if (loom_expand_div(r->ctx, index, &given, &numerator, &divisor))
    return loom_floor_div(r->ctx, merge(r, tree, numerator), divisor);
  return loom_error_status(r->ctx) == LOOM_OK ? merge(r, tree, index) : LOOM_NONE;
}

loom_expr loom_ranges_merge_dims(loom_ranges *r, size_t tree, loom_expr index) {
  if (!loom_ranges_check(r, tree) || !loom_expr_check(r->ctx, index)) return LOOM_NONE;
  return merge_dims(r, tree, index);
}

/* ---- pairs of remainders ------------------------------------------------------------------ */

static loom_expr pair_mod(loom_ranges *r, loom_expr index) {
  loom_kind kind = loom_kind_of(r->ctx, index);
  if (kind != LOOM_MOD && kind != LOOM_MODIDX) return index;
  const loom_entry *found = loom_ranges_find(r, loom_child(r->ctx, index, 0));
  if (!found) return index;
  loom_entry entry = *found;
  const loom_tree *tree = &r->trees[entry.tree];
  loom_given given = loom_ranges_given(r);
  loom_expr e = loom_substitute(r->ctx, index, 1, &entry.variable, &entry.expr);
  e = loom_pair_mod(r->ctx, e, &given);
  loom_expr whole = loom_ranges_lookup(r, entry.tree, loom_int(r->ctx, 1), tree->extent);
  return whole == LOOM_NONE ? LOOM_NONE : loom_substitute(r->ctx, e, 1, &tree->index, &whole);
}

loom_expr loom_ranges_pair_mod(loom_ranges *r, loom_expr index) {
  return loom_expr_check(r->ctx, index) ? pair_mod(r, index) : LOOM_NONE;
}

/* ---- all of it ---------------------------------------------------------------------------- */

loom_expr loom_ranges_simplify(loom_ranges *r, loom_expr index) {
  if (!loom_expr_check(r->ctx, index)) return LOOM_NONE;
  loom_expr e = loom_idmap_get(&r->simplified, index);
  if (e != LOOM_NONE) return e;
  loom_flat flat;
  bool is_flat = loom_flat_of(r, index, &flat) && loom_flat_is_simple(r, &flat);
  loom_given given = loom_ranges_given(r);
  e = is_flat ? index : loom_simplify_in(r->ctx, index, &given);
  for (size_t i = 0; e != LOOM_NONE && i < r->n_trees; i++) {
    bool good = true;
    if (is_flat && e == index && is_merged(r, i, &flat, &good)) continue;
    e = good ? merge_dims(r, i, e) : LOOM_NONE;
  }
  if (e != LOOM_NONE) e = pair_mod(r, e);
  if (e == LOOM_NONE || !loom_idmap_put(r->ctx, &r->simplified, index, e)) return LOOM_NONE;
  return e;
}

/* ---- prepared for use --------------------------------------------------------------------- */

static loom_expr use_hoisted(loom_ctx *ctx, void *data, loom_expr e) {
  const loom_ranges *r = data;
  (void)ctx;
  for (size_t i = 0; i < r->hoisted.n; i++)
    if (r->hoisted.at[i].value == e) return r->hoisted.at[i].symbol;
  return e;
}

/* A symbol for a size, with its bounds and its hint. */
static loom_expr hoist(loom_ranges *r, loom_expr value) {
  loom_ctx *ctx = r->ctx;
  for (size_t i = 0; i < r->hoisted.n; i++)
    if (r->hoisted.at[i].value == value) return r->hoisted.at[i].symbol;
  loom_facts facts = loom_facts_of(ctx, value);
  loom_assume assume = {.integer = true,
                        .has_min = facts.lo != LOOM_MINUS_INF,
                        .min = facts.lo,
                        .has_max = facts.hi != LOOM_PLUS_INF,
                        .max = facts.hi};
  char name[32];
  snprintf(name, sizeof name, "ps%zu", r->hoisted.n);
  loom_hoisted item = {loom_symbol(ctx, name, &assume), value};
  loom_hint hint = {item.symbol, LOOM_NONE};
  if (!loom_hint_value(ctx, value, &r->given, &hint.value)) hint.value = LOOM_NONE;
  if (item.symbol == LOOM_NONE || !loom_vec_push(ctx, &r->hoisted, item) ||
      !loom_vec_push(ctx, &r->hints, hint))
    return LOOM_NONE;
  r->given.hints = r->hints.at;
  r->given.n_hints = r->hints.n;
  return item.symbol;
}

/* Replaces compound divisors and lengths in the entry's expression. */
static bool hoist_sizes(loom_ranges *r, loom_entry *entry) {
  size_t n = loom_child_count(r->ctx, entry->expr);
  loom_kind kind = loom_kind_of(r->ctx, entry->expr);
  if (kind != LOOM_FLOORDIV && kind != LOOM_MOD && kind != LOOM_MODIDX) return true;
  loom_expr children[3];
  for (size_t i = 0; i < n; i++) {
    loom_expr child = children[i] = loom_child(r->ctx, entry->expr, i);
    if (i == 0 || loom_kind_of(r->ctx, child) <= LOOM_SYM) continue;
    children[i] = hoist(r, child);
    if (children[i] == LOOM_NONE) return false;
  }
  entry->expr = loom_rebuild(r->ctx, entry->expr, children);
  return entry->expr != LOOM_NONE;
}

static bool hoist_in(loom_ranges *r, loom_expr index) {
  loom_expr_list symbols = {0};
  bool good = loom_list_symbols(r->ctx, index, &symbols);
  for (size_t i = 0; good && i < symbols.n; i++) {
    loom_entry *entry = loom_ranges_find(r, symbols.at[i]);
    good = !entry || hoist_sizes(r, entry);
  }
  loom_vec_free(r->ctx, &symbols);
  return good;
}

loom_expr loom_ranges_prepare(loom_ranges *r, loom_expr index) {
  loom_expr e = loom_ranges_simplify(r, index);
  if (e != LOOM_NONE && r->hoisted.n > 0)
    e = loom_ranges_simplify(r, loom_rewrite(r->ctx, e, use_hoisted, r));
  if (e != LOOM_NONE && loom_kind_of(r->ctx, e) == LOOM_OPAQUE) e = loom_child(r->ctx, e, 0);
  return e != LOOM_NONE && hoist_in(r, e) ? e : LOOM_NONE;
}

size_t loom_ranges_hoisted(const loom_ranges *r, const loom_hoisted **hoisted) {
  *hoisted = r->hoisted.at;
  return r->hoisted.n;
}
