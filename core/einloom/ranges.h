/* SPDX-License-Identifier: MIT */
/* Ranges of a kernel and indices over them. */
#ifndef EINLOOM_PUBLIC_RANGES_H
#define EINLOOM_PUBLIC_RANGES_H

#include "einloom/expr.h"

LOOM_C_BEGIN

/* A kernel runs over one flat index for each prefix of its tiling; loop nests of other shapes are
** split onto it.  X(enumerator, name), in the order of every tiling, outermost first. */
#define LOOM_PREFIX_LIST(X) \
  X(LOOM_PREFIX_Z, "z")     \
  X(LOOM_PREFIX_Y, "y")     \
  X(LOOM_PREFIX_X, "x")     \
  X(LOOM_PREFIX_R0, "r0_")  \
  X(LOOM_PREFIX_R1, "r1_")
typedef enum loom_prefix {
#define LOOM_PREFIX_ENUM(enumerator, name) enumerator,
  LOOM_PREFIX_LIST(LOOM_PREFIX_ENUM)
#undef LOOM_PREFIX_ENUM
      LOOM_N_PREFIXES
} loom_prefix;
LOOM_API const char *loom_prefix_name(loom_prefix prefix);
static inline bool loom_prefix_is_reduction(loom_prefix prefix) {
  return prefix >= LOOM_PREFIX_R0;
}

/* Extents of a kernel by prefix, outermost first: prefixes ascend. */
typedef struct loom_tiling {
  size_t n;
  loom_prefix prefix[LOOM_N_PREFIXES];
  loom_expr extent[LOOM_N_PREFIXES];
} loom_tiling;

/* The sizes of a loop nest, outermost first: its pointwise loops, then its reduction loops. */
typedef struct loom_loops {
  const loom_expr *sizes;
  size_t n_pointwise, n_reduction;
} loom_loops;

/* Splitting.  Each loop becomes one piece of a group, or several: then its value is theirs as digits
** of a mixed radix.  A loop of size 1 has no piece, its value is 0. */
typedef struct loom_split_piece {
  loom_expr size;
  size_t group;
} loom_split_piece;
typedef struct loom_getter {
  size_t first, count; /* consecutive pieces, the outermost first; none: 0 */
} loom_getter;
/* Begins as {0}; can be used again and again, loom_split_free gives its memory back.  Or with arrays of
** the caller, which are never moved where capacities suffice: groups + loops, loops. */
typedef struct loom_split {
  loom_split_piece *pieces; /* in order of the groups, outermost first */
  loom_getter *getters;
  size_t n_pieces;
  size_t n_pointwise,
      n_reduction; /* getters; fewer than loops where the groups ended before them */
  bool direct;     /* by loom_map_loops: every loop is one piece, also those of size 1 */
  size_t capacity_pieces, capacity_getters;
} loom_split;

/* strict (of what is given): loops left over when the groups are used up are refused, not ignored. */
typedef struct loom_split_options {
  const loom_given *given; /* of sizes */
  bool any_span;           /* a loop may span any number of groups, else two */
} loom_split_options;

/* Splits loops onto groups (outermost first).  LOOM_ERR_CANNOT_SPLIT where some loop does not fit,
** LOOM_ERR_INCOMPLETE_SPLIT where the loops end before the groups do.  Options NULL: none. */
LOOM_API loom_status loom_split_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                      const loom_loops *loops, const loom_split_options *options,
                                      loom_split *out);
/* The same, but where there are as many groups as lists of loops (two) and each list multiplies to its
** group, the loops themselves are the pieces. */
LOOM_API loom_status loom_map_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                    const loom_loops *loops, const loom_split_options *options,
                                    loom_split *out);
/* Splitting as a question: LOOM_OK, LOOM_ERR_CANNOT_SPLIT or LOOM_ERR_INCOMPLETE_SPLIT without an error
** being recorded; other failures are.  A nest of pointwise loops alone that runs over the groups
** without reduction_extent is asked about with a reduction loop of that size
** (loom_loops_lack_reduction); LOOM_NONE: as it is. */
LOOM_API loom_status loom_loops_fit(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                    const loom_loops *loops, loom_expr reduction_extent,
                                    const loom_split_options *options);
/* Whether a reduction loop of that size has to be added to the (pointwise) loops before they are
** split onto groups of a reduction: the groups multiply to the loops times the extent. */
LOOM_API bool loom_loops_lack_reduction(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                        const loom_loops *loops, loom_expr reduction_extent,
                                        const loom_split_options *options);
/* The value of a loop from the values of all pieces. */
LOOM_API loom_expr loom_getter_value(loom_ctx *ctx, const loom_split *split, loom_getter getter,
                                     const loom_expr *values);
LOOM_API void loom_split_free(loom_ctx *ctx, loom_split *split);

/* One flat index of a kernel.  Dimensions count from 0; -1: none. */
typedef struct loom_tree {
  loom_prefix prefix;
  loom_expr index, extent;
  int position;   /* x 0, y 1, z 2; of a reduction its place in the tiling */
  int grid_dim;   /* the position of a pointwise tree */
  int tensor_dim; /* the axis of a block of values */
  bool is_loop;   /* the kernel loops over it: a reduction, not in one pass */
} loom_tree;

/* A variable of a kernel: floor(index / divisor) modulo length for the index of its tree. */
typedef struct loom_entry {
  const char *name;
  size_t tree;
  loom_expr variable, divisor, length;
  loom_expr expr; /* in the index of the tree */
} loom_entry;

typedef struct loom_ranges_options {
  loom_split_options split;
  bool one_pass; /* the reduction is done in one pass: its trees are no loops */
  bool no_x;     /* blocks of values have reduction axes alone */
} loom_ranges_options;

/* The ranges of a kernel with this tiling.  Options (NULL: none) are copied, with what is given. */
LOOM_API LOOM_GIVE loom_ranges *loom_ranges_new(loom_ctx *ctx, const loom_tiling *tiling,
                                                const loom_ranges_options *options);
LOOM_API void loom_ranges_free(loom_ranges *r);
LOOM_API size_t loom_ranges_trees(const loom_ranges *r, const loom_tree **trees);
/* Entries in order of creation; they stay where they are until the next one is made. */
LOOM_API size_t loom_ranges_entries(const loom_ranges *r, const loom_entry **entries);
/* The entry of a variable, NULL for other symbols. */
LOOM_API const loom_entry *loom_ranges_entry(const loom_ranges *r, loom_expr variable);

/* The variable with this divisor and length, which is made when no variable of the tree has the same
** expression: named prefix + running number of the kernel. */
LOOM_API loom_expr loom_ranges_lookup(loom_ranges *r, size_t tree, loom_expr divisor,
                                      loom_expr length);
/* Variables for n lengths, outermost first, that together run over the tree. */
LOOM_API loom_status loom_ranges_construct(loom_ranges *r, size_t tree, size_t n,
                                           const loom_expr *lengths, loom_expr *variables);
/* The variables of the tree in index, and those that fill the gaps between them, with their sizes,
** outermost first.  The lists stay until the next call. */
LOOM_API loom_status loom_ranges_vars_and_sizes(loom_ranges *r, size_t tree, loom_expr index,
                                                size_t *n, const loom_expr **variables,
                                                const loom_expr **sizes);
/* Whether the reduction trees are active. */
LOOM_API void loom_ranges_reduction(loom_ranges *r, bool on);
LOOM_API bool loom_ranges_tree_active(const loom_ranges *r, size_t tree);

/* What the loops of a nest become: values holds n_pointwise + n_reduction of them. */
typedef struct loom_mapped {
  const loom_expr *values;
  size_t n_pointwise, n_reduction;
  const loom_split *split; /* of the loops; its pieces are variables, in the same order */
} loom_mapped;
/* Puts loops on the active trees; they must have been prepared (loom_loops_lack_reduction).  What is
** mapped stays until the next call. */
LOOM_API loom_status loom_ranges_map(loom_ranges *r, const loom_loops *loops, loom_mapped *out);
/* Variables for lengths that are given for each tree (n_lengths of them), one list after the other;
** values are theirs. */
LOOM_API loom_status loom_ranges_set(loom_ranges *r, const size_t *n_lengths,
                                     const loom_expr *lengths, const loom_expr **values);

/* An index in as few variables as possible: proved by all ranges of the kernel, then the variables of
** each tree that run together merged, then loom_ranges_pair_mod.  Remembered by index. */
LOOM_API loom_expr loom_ranges_simplify(loom_ranges *r, loom_expr index);
/* The steps: variables of one tree merged; (v % a) % b for a variable v in the index of its tree
** where the whole index is that. */
LOOM_API loom_expr loom_ranges_merge_dims(loom_ranges *r, size_t tree, loom_expr index);
LOOM_API loom_expr loom_ranges_pair_mod(loom_ranges *r, loom_expr index);

/* A size computed before the kernel starts. */
typedef struct loom_hoisted {
  loom_expr symbol, value;
} loom_hoisted;
/* Simplifies an index for use in the kernel: what is computed from sizes alone in the divisors and
** lengths of its variables becomes symbols ps0, ps1, ... */
LOOM_API loom_expr loom_ranges_prepare(loom_ranges *r, loom_expr index);
LOOM_API size_t loom_ranges_hoisted(const loom_ranges *r, const loom_hoisted **hoisted);

/* Whether index is used at several points of the kernel: the variables in it run over less than the
** extents.  Their lengths are multiplied by tree and compared with its extent (strict: it is proved
** that they determine the tree's index); run-time values (symbols tmp0, tmp1, ...) are never
** broadcasted. */
LOOM_API bool loom_ranges_broadcasted_in(loom_ranges *r, size_t tree, loom_expr index);
/* In some tree; not strict: as the reference compares, where extents of trees are taken for those of
** others if there are y or z trees.  false with an error too. */
LOOM_API bool loom_ranges_broadcasted(loom_ranges *r, loom_expr index);
/* The step of index along the flat index of each tree at the origin (strict: LOOM_NONE where the
** index is not linear in it). */
LOOM_API loom_status loom_ranges_tile_strides(loom_ranges *r, loom_expr index, loom_expr *strides);

/* An access: its address in the variables of a loop nest, outermost first. */
typedef struct loom_address {
  loom_expr index;
  size_t n;
  const loom_extent *loops;
} loom_address;

/* The nest with loops that run together merged, of which the variables are called prefix0, prefix1,
** ...  by_stride: loops are ordered by descending stride before (at the hints); else their order
** is kept and inner loops that the index does not use are dropped.  Writes the index and up to n
** loops; returns how many, -1 with an error. */
LOOM_API ptrdiff_t loom_address_merge(loom_ctx *ctx, const loom_address *address, bool by_stride,
                                      const char *prefix, const loom_given *given, loom_expr *index,
                                      loom_extent *loops);

typedef struct loom_address_features {
  bool contiguous;    /* one loop variable, or a number */
  bool stride1_last;  /* no loops, or not a multiple of the last variable */
  bool scalar;        /* neither a loop variable nor a run-time value in it */
  bool indirect;      /* a run-time value in it (symbols tmp0, indirect0, ...) */
  loom_expr elements; /* product of the sizes of the variables in it; all if indirect */
  loom_expr offset;   /* with all variables 0 */
} loom_address_features;
/* elements: of the buffer.  strict (of what is given): contiguous of the merged nest without its
** offset, stride1_last where a step of the last variable is one element, elements no more than the
** buffer has. */
LOOM_API loom_status loom_address_look(loom_ctx *ctx, const loom_address *address,
                                       loom_expr elements, const loom_given *given,
                                       loom_address_features *out);

/* Whether 32-bit indices do for a kernel of that extent and buffers of n sizes: none is above
** 2^31 - 1 by its bounds or, if every symbol has a hint and not strict, at the hints. */
LOOM_API bool loom_index_narrow(loom_ctx *ctx, loom_expr extent, size_t n, const loom_expr *sizes,
                                const loom_given *given);
/* Whether an address can be computed in 32 bits at every point of its loops: proved of its value, of
** every part and constant of it, of each loop's variable and of the number of iterations. */
LOOM_API bool loom_address_narrow(loom_ctx *ctx, const loom_address *address);

LOOM_C_END

#endif
