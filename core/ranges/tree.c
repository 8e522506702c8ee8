/* SPDX-License-Identifier: MIT */
/* Kernels as range trees: roots, entries by lookup, variables for lengths.
** Invariant: an entry is never changed or removed, but for sizes hoisted out of its expression. */
#include "ranges/ranges.h"

#include <stdio.h>
#include <string.h>

#include "ranges/sizes.h"

const char *loom_prefix_name(loom_prefix prefix) {
  static const char *const names[] = {
#define NAME(enumerator, name) name,
      LOOM_PREFIX_LIST(NAME)
#undef NAME
  };
  return prefix < LOOM_N_PREFIXES ? names[prefix] : "?";
}

/* ---- life --------------------------------------------------------------------------------- */

static void mark(loom_owner *owner, loom_ctx *ctx) {
  loom_ranges *r = (loom_ranges *)(void *)owner;
  for (size_t i = 0; i < r->n_trees; i++) {
    loom_gc_mark(ctx, r->trees[i].index);
    loom_gc_mark(ctx, r->trees[i].extent);
  }
  for (size_t i = 0; i < r->entries.n; i++) {
    const loom_entry *e = &r->entries.at[i];
    loom_gc_mark(ctx, e->variable);
    loom_gc_mark(ctx, e->divisor);
    loom_gc_mark(ctx, e->length);
    loom_gc_mark(ctx, e->expr);
  }
  for (size_t i = 0; i < r->extents.n; i++) {
    loom_gc_mark(ctx, r->extents.at[i].variable);
    loom_gc_mark(ctx, r->extents.at[i].size);
  }
  for (size_t i = 0; i < r->hints.n; i++) {
    loom_gc_mark(ctx, r->hints.at[i].symbol);
    if (r->hints.at[i].value != LOOM_NONE) loom_gc_mark(ctx, r->hints.at[i].value);
  }
  for (size_t i = 0; i < r->hoisted.n; i++) {
    loom_gc_mark(ctx, r->hoisted.at[i].symbol);
    loom_gc_mark(ctx, r->hoisted.at[i].value);
  }
  for (size_t i = 0; i < r->simplified.capacity; i++) {
    if (r->simplified.at[i].key == 0) continue;
    loom_gc_mark(ctx, (loom_expr)r->simplified.at[i].key);
    loom_gc_mark(ctx, r->simplified.at[i].value);
  }
}

static loom_expr variable_symbol(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static loom_expr index_symbol(loom_ctx *ctx, loom_prefix prefix) {
  char name[16];
  snprintf(name, sizeof name, "%sindex", loom_prefix_name(prefix));
  return variable_symbol(ctx, name);
}

static bool check_tiling(loom_ctx *ctx, const loom_tiling *tiling) {
  if (tiling->n == 0 || tiling->n > LOOM_N_PREFIXES) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "a kernel has 1 to %d ranges, not %zu", LOOM_N_PREFIXES,
                   tiling->n);
    return false;
  }
  for (size_t i = 0; i < tiling->n; i++) {
    if (tiling->prefix[i] >= LOOM_N_PREFIXES ||
        (i > 0 && tiling->prefix[i] <= tiling->prefix[i - 1])) {
      loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                     "the ranges of a kernel come in the order z, y, x, r0_, "
                     "r1_");
      return false;
    }
    char what[32];
    snprintf(what, sizeof what, "the extent of %s", loom_prefix_name(tiling->prefix[i]));
    if (!loom_size_check(ctx, tiling->extent[i], what)) return false;
  }
  return true;
}

static bool has_reduction(loom_ranges *r) {
  loom_expr all = loom_int(r->ctx, 1);
  for (size_t i = 0; i < r->n_trees; i++)
    if (loom_prefix_is_reduction(r->trees[i].prefix))
      all = loom_mul(r->ctx, all, r->trees[i].extent);
  return !loom_size_is_one(r->ctx, all, &r->given);
}

/* Axes of a block of values: the pointwise trees (unless no_x), then those of a reduction if there
** is one. */
static void number_axes(loom_ranges *r) {
  bool reduction = has_reduction(r);
  int axis = 0;
  for (size_t i = 0; i < r->n_trees; i++) {
    bool own = loom_prefix_is_reduction(r->trees[i].prefix) ? reduction : !r->options.no_x;
    r->trees[i].tensor_dim = own ? axis++ : -1;
  }
}

static bool make_trees(loom_ranges *r, const loom_tiling *tiling) {
  static const int grid[] = {[LOOM_PREFIX_Z] = 2, [LOOM_PREFIX_Y] = 1, [LOOM_PREFIX_X] = 0};
  for (size_t i = 0; i < tiling->n; i++) {
    loom_prefix prefix = tiling->prefix[i];
    bool reduction = loom_prefix_is_reduction(prefix);
    loom_tree *tree = &r->trees[i];
    *tree = (loom_tree){.prefix = prefix,
                        .index = index_symbol(r->ctx, prefix),
                        .extent = loom_simplify(r->ctx, tiling->extent[i]),
                        .grid_dim = reduction ? -1 : grid[prefix],
                        .is_loop = reduction && !r->options.one_pass};
    tree->position = reduction ? (int)i : tree->grid_dim;
    if (tree->index == LOOM_NONE || tree->extent == LOOM_NONE) return false;
    r->n_trees++;
  }
  number_axes(r);
  return true;
}

static bool copy_given(loom_ranges *r) {
  const loom_given *given = r->options.split.given;
  r->options.split.given = &r->given;
  if (!given) return true;
  for (size_t i = 0; i < given->n_hints; i++)
    if (!loom_vec_push(r->ctx, &r->hints, given->hints[i])) return false;
  for (size_t i = 0; i < given->n_extents; i++)
    if (!loom_vec_push(r->ctx, &r->extents, given->extents[i])) return false;
  r->given = (loom_given){r->extents.at, r->extents.n, r->hints.at, r->hints.n, given->strict};
  return true;
}

loom_ranges *loom_ranges_new(loom_ctx *ctx, const loom_tiling *tiling,
                             const loom_ranges_options *options) {
  if (!check_tiling(ctx, tiling)) return NULL;
  loom_ranges *r = loom_realloc(ctx, NULL, 0, sizeof *r);
  if (!r) return NULL;
  *r = (loom_ranges){.ctx = ctx, .reduction_on = true};
  if (options) r->options = *options;
  loom_arena_init(&r->arena, ctx);
  loom_owner_add(ctx, &r->owner, mark);
  if (copy_given(r) && make_trees(r, tiling)) return r;
  loom_ranges_free(r);
  return NULL;
}

void loom_ranges_free(loom_ranges *r) {
  if (!r) return;
  loom_vec_free(r->ctx, &r->entries);
  loom_vec_free(r->ctx, &r->extents);
  loom_vec_free(r->ctx, &r->hints);
  loom_vec_free(r->ctx, &r->vars);
  loom_vec_free(r->ctx, &r->sizes);
  loom_vec_free(r->ctx, &r->fresh);
  loom_vec_free(r->ctx, &r->old);
  loom_vec_free(r->ctx, &r->kept);
  loom_vec_free(r->ctx, &r->ranks);
  loom_vec_free(r->ctx, &r->hoisted);
  loom_vec_free(r->ctx, &r->set);
  loom_vec_free(r->ctx, &r->values);
  loom_idmap_free(r->ctx, &r->by_variable);
  loom_idmap_free(r->ctx, &r->by_expr);
  loom_idmap_free(r->ctx, &r->simplified);
  loom_split_free(r->ctx, &r->split);
  loom_arena_free(&r->arena);
  loom_owner_remove(&r->owner);
  loom_realloc(r->ctx, r, sizeof *r, 0);
}

/* ---- reading ------------------------------------------------------------------------------ */

size_t loom_ranges_trees(const loom_ranges *r, const loom_tree **trees) {
  *trees = r->trees;
  return r->n_trees;
}

size_t loom_ranges_entries(const loom_ranges *r, const loom_entry **entries) {
  *entries = r->entries.at;
  return r->entries.n;
}

loom_entry *loom_ranges_find(const loom_ranges *r, loom_expr variable) {
  uint32_t i = loom_idmap_get(&r->by_variable, variable);
  return i ? &r->entries.at[i - 1] : NULL;
}

const loom_entry *loom_ranges_entry(const loom_ranges *r, loom_expr variable) {
  return loom_ranges_find(r, variable);
}

loom_given loom_ranges_given(const loom_ranges *r) {
  loom_given given = r->given;
  given.n_extents = r->extents.n;
  return given;
}

bool loom_ranges_check(loom_ranges *r, size_t tree) {
  if (tree < r->n_trees) return true;
  loom_error_set(r->ctx, LOOM_ERR_ARGUMENT, "the kernel has no tree number %zu", tree);
  return false;
}

/* ---- entries ------------------------------------------------------------------------------ */

static loom_expr new_entry(loom_ranges *r, loom_entry entry, uint64_t key) {
  char name[32];
  const char *prefix = loom_prefix_name(r->trees[entry.tree].prefix);
  snprintf(name, sizeof name, "%s%zu", prefix, r->entries.n);
  entry.name = loom_arena_string(&r->arena, name);
  entry.variable = variable_symbol(r->ctx, name);
  uint32_t number = (uint32_t)r->entries.n + 1;
  if (!entry.name || entry.variable == LOOM_NONE || !loom_vec_reserve(r->ctx, &r->extents, 1) ||
      !loom_vec_reserve(r->ctx, &r->entries, 1) ||
      !loom_idmap_put(r->ctx, &r->by_variable, entry.variable, number) ||
      !loom_idmap_put(r->ctx, &r->by_expr, key, number))
    return LOOM_NONE;
  r->entries.at[r->entries.n++] = entry;
  r->extents.at[r->extents.n++] = (loom_extent){entry.variable, entry.length};
  r->given.extents = r->extents.at;
  return entry.variable;
}

/* The entry's expression in the flat index.  One of length 0 has no value at all: it stands apart
** from the others (key) and gets 0. */
static loom_expr entry_expr(loom_ranges *r, const loom_tree *tree, loom_expr divisor,
                            loom_expr length, uint64_t *key) {
  int64_t number;
  if (loom_as_int(r->ctx, length, &number) && number == 0) {
    *key = (uint64_t)1 << 40 | divisor;
    return loom_int(r->ctx, 0);
  }
  loom_expr whole = loom_mul(r->ctx, divisor, length), e;
  if (loom_sizes_same(r->ctx, whole, tree->extent, &r->given))
    e = loom_floor_div(r->ctx, tree->index, divisor);
  else
    e = loom_mod_index(r->ctx, tree->index, divisor, length);
  *key = e;
  return e;
}

loom_expr loom_ranges_lookup(loom_ranges *r, size_t tree, loom_expr divisor, loom_expr length) {
  if (!loom_ranges_check(r, tree) || !loom_size_check(r->ctx, divisor, "the divisor") ||
      !loom_size_check(r->ctx, length, "the length"))
    return LOOM_NONE;
  loom_entry entry = {.tree = tree, .divisor = divisor, .length = length};
  uint64_t key;
  entry.expr = entry_expr(r, &r->trees[tree], divisor, length, &key);
  if (entry.expr == LOOM_NONE) return LOOM_NONE;
  key |= (uint64_t)(tree + 1) << 32;
  uint32_t known = loom_idmap_get(&r->by_expr, key);
  return known ? r->entries.at[known - 1].variable : new_entry(r, entry, key);
}

loom_status loom_ranges_construct(loom_ranges *r, size_t tree, size_t n, const loom_expr *lengths,
                                  loom_expr *variables) {
  loom_expr divisor = loom_int(r->ctx, 1);
  for (size_t i = n; i-- > 0;) {
    loom_expr length = lengths[i]; /* variables may be the same array */
    variables[i] = loom_ranges_lookup(r, tree, divisor, length);
    if (variables[i] == LOOM_NONE) return loom_error_status(r->ctx);
    if (i > 0) divisor = loom_mul(r->ctx, divisor, length);
  }
  return divisor == LOOM_NONE ? loom_error_status(r->ctx) : LOOM_OK;
}

/* ---- reduction ---------------------------------------------------------------------------- */

void loom_ranges_reduction(loom_ranges *r, bool on) {
  r->reduction_on = on;
}

bool loom_ranges_tree_active(const loom_ranges *r, size_t tree) {
  return tree < r->n_trees && (r->reduction_on || !loom_prefix_is_reduction(r->trees[tree].prefix));
}
