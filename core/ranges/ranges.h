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

/* What entries are sorted by: the hinted divisor, lengths of 1 first, then creation. */
typedef struct loom_rank {
  loom_expr divisor; /* a number, or LOOM_NONE */
  bool longer;
  size_t entry;
} loom_rank;

enum { LOOM_MOST_FLAT = 12 };

/* The index (sum of coefs * symbols + constant) // divisor: what most addresses are.  The symbols are
** different; without a division the divisor is 1. */
typedef struct loom_flat {
  size_t n;
  int64_t divisor;
  loom_expr symbols[LOOM_MOST_FLAT];
  int64_t coefs[LOOM_MOST_FLAT];
} loom_flat;

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
  LOOM_VEC(loom_rank) ranks; /* of the walk that runs */
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
/* Whether e has that form as it stands, with all variables 0 or more where it divides. */
bool loom_flat_of(const loom_ranges *r, loom_expr e, loom_flat *flat);
/* Whether the extents of its variables simplify nothing in an index that has the form. */
bool loom_flat_is_simple(const loom_ranges *r, const loom_flat *flat);
/* Whether no two of the variables that the last walk found, called exact, merge in it. */
bool loom_flat_is_merged(const loom_ranges *r, const loom_flat *flat);
/* As loom_ranges_vars_and_sizes, into r->vars and r->sizes.  *exact: they run over the tree once, in
** order. */
bool loom_ranges_walk(loom_ranges *r, size_t tree, loom_expr index, bool *exact);
/* The same for an index in which those symbols occur, in any order. */
bool loom_ranges_walk_symbols(loom_ranges *r, size_t tree, size_t n, const loom_expr *symbols,
                              bool *exact);
/* Whether it is proved that the variables in index determine the flat index of the tree. */
bool loom_ranges_determined(loom_ranges *r, size_t tree, loom_expr index);

#endif
