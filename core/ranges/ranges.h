/* SPDX-License-Identifier: MIT */
/* The ranges of a kernel, for the code in core/ranges/.
** Invariant: entries of one tree have different expressions; a variable is known to the kernel
** exactly when it has an entry; the extents are those given of sizes, then those of the entries. */
#ifndef EINLOOM_RANGES_H
#define EINLOOM_RANGES_H

#include "expr/node.h"
#include "model/arena.h"
#include "ranges/address.h"
#include "ranges/idmap.h"

struct loom_ranges {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena; /* names */
  loom_ranges_options options;
  loom_given given; /* of sizes: what was given */
  bool reduction_on;
  size_t n_trees;
  loom_tree trees[LOOM_N_PREFIXES];
  LOOM_VEC(loom_entry) entries;
  LOOM_VEC(loom_extent) extents;
  LOOM_VEC(loom_hint) hints;
  loom_idmap by_variable;          /* variable -> entry + 1 */
  loom_idmap by_expr;              /* tree and expression -> entry + 1 */
  loom_idmap simplified;           /* index -> simplified index */
  LOOM_VEC(loom_expr) vars, sizes; /* of the last loom_ranges_vars_and_sizes */
  LOOM_VEC(loom_expr) fresh, old;  /* of the merging that runs */
  LOOM_VEC(size_t) kept;
  LOOM_VEC(loom_hoisted) hoisted;
  LOOM_VEC(loom_expr) set, values; /* of the last loom_ranges_map */
  loom_split split;
};

/* r->given and the extents of the variables; valid until the next entry is made. */
loom_given loom_ranges_given(const loom_ranges *r);
/* Whether the kernel has that tree; else an error. */
bool loom_ranges_check(loom_ranges *r, size_t tree);
/* The entry of a variable, or NULL. */
loom_entry *loom_ranges_find(const loom_ranges *r, loom_expr variable);
/* As loom_ranges_vars_and_sizes, into r->vars and r->sizes.  *exact: they run over the tree once, in
** order. */
bool loom_ranges_walk(loom_ranges *r, size_t tree, loom_expr index, bool *exact);
/* Whether it is proved that the variables in index determine the flat index of the tree. */
bool loom_ranges_determined(loom_ranges *r, size_t tree, loom_expr index);

#endif
