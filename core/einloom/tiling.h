/* SPDX-License-Identifier: MIT */
/* Tilings of kernels and the coalescing analysis. */
#ifndef EINLOOM_PUBLIC_TILING_H
#define EINLOOM_PUBLIC_TILING_H

#include "einloom/kernel.h"

LOOM_C_BEGIN

/* ---- tilings of kernels ------------------------------------------------------------------- */

/* A tiling from lists of extents, outermost first: at most three of the pointwise and two of the
** reduction ranges (more are an error). */
LOOM_API loom_status loom_tiling_create(loom_ctx *ctx, size_t n_pointwise,
                                        const loom_expr *pointwise, size_t n_reduction,
                                        const loom_expr *reduction, loom_tiling *out);
/* A tiling of one side (pointwise if it has x) with the other one as what is left of the extents:
** extent * reduction_extent // (product of the side). */
LOOM_API loom_status loom_tiling_complete(loom_ctx *ctx, const loom_tiling *side, loom_expr extent,
                                          loom_expr reduction_extent, loom_tiling *out);
/* Whether a block of that size is convenient: 32 or more and a multiple of it, at the hint. */
LOOM_API bool loom_tiling_good_size(loom_ctx *ctx, loom_expr size, const loom_given *given);

/* A tiling that suits an access of an operation. */
typedef struct loom_candidate {
  int buffer;      /* accessed; -1: one tile, for none */
  loom_expr score; /* elements that it serves, doubled for a write and for each good size */
  loom_tiling tiling;
} loom_candidate;
/* The candidates of an operation in a kernel of these extents: how many, and the list, which stays
** until the next call for the operation or buffers are removed; -1 with an error. */
LOOM_API ptrdiff_t loom_tiling_candidates(loom_graph *g, int op, loom_expr extent,
                                          loom_expr reduction_extent, const loom_candidate **list);

/* n steps of a kernel of these extents. */
typedef struct loom_kernel_steps {
  size_t n;
  const int *schedule;
  loom_expr extent, reduction_extent;
} loom_kernel_steps;
/* Tilings of up to max_tiles (0: two) ranges per side that follow the blocks in the accesses, those
** with most ranges first: how many, of which up to capacity are written; -1 with an error. */
LOOM_API ptrdiff_t loom_tiling_blocks(loom_graph *g, const loom_kernel_steps *steps,
                                      size_t max_tiles, loom_tiling *out, size_t capacity);
/* Whether every operation runs over the tiling. */
LOOM_API bool loom_tiling_fits(loom_graph *g, const loom_kernel_steps *steps,
                               const loom_tiling *tiling);

typedef struct loom_tiling_options {
  size_t max_tiles; /* of the pointwise side; 0: two */
  bool blocks;      /* loom_tiling_blocks come first */
  bool reductions;  /* kernels with a reduction are tiled too */
} loom_tiling_options;
/* The tiling of a kernel: the first that fits of what suits its accesses best, else one range for
** each side. */
LOOM_API loom_status loom_tiling_select(loom_graph *g, const loom_kernel_steps *steps,
                                        const loom_tiling_options *options, loom_tiling *out);

/* ---- coalescing --------------------------------------------------------------------------- */

/* Which variables of a kernel an access walks element by element, and how to split one so that another
** access is walked too.  e: an address in one variable for loom_zero_of and loom_unit_factor. */

/* The value of the variable that makes e, a factor of a term, 0: of (a // d) % m where a = m, of others
** where e = 0; a whole number, not below 0.  False: none is found, or an error. */
LOOM_API bool loom_zero_of(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *value);
/* The whole number f such that e is 1 where its variable is f, if all its products vanish at f alone (as
** the reference finds splits; loom_unit_split proves them): split into outer * f + inner the address
** grows by one along the outer part.  False: none, or an error. */
LOOM_API bool loom_unit_factor(loom_ctx *ctx, loom_expr e, loom_expr *factor);
/* The split of a loop of size t * m into outer * t + inner for which e grows by exactly one with every step
** of the outer part, at all points of the n loops and for all sizes that their assumptions and what is
** given allow; 1: of the loop itself.  In numbers m > 1, and false says that there is none; over symbols m
** may come out as 1, and false says that none is proved.  False with an error too. */
LOOM_API bool loom_unit_split(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                              size_t loop, const loom_given *given, loom_expr *split);
/* The first of n loops along which e grows by exactly one element at the origin; -1: none. */
LOOM_API ptrdiff_t loom_unit_loop(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                                  const loom_given *given);
/* The product of the sizes of the loops in e, at the hints. */
LOOM_API loom_expr loom_address_points(loom_ctx *ctx, loom_expr e, size_t n,
                                       const loom_extent *loops, const loom_given *given);

/* An address of a kernel in its common loops, with the buffers accessed there. */
typedef struct loom_common_address {
  loom_expr index;
  size_t n;
  const int *buffers;
} loom_common_address;
typedef struct loom_coalesced {
  loom_expr variable;
  int64_t score; /* bytes walked along it, twice for writes */
} loom_coalesced;
typedef struct loom_coalescing {
  size_t n_pointwise, n_reduction;
  const loom_extent *loops; /* common to all operations: n0, n1, ..., pointwise first */
  size_t n_reads, n_writes, n_coalesced;
  const loom_common_address *reads, *writes;
  const loom_coalesced *coalesced;        /* in order of first occurrence */
  loom_expr split_variable, split_factor; /* LOOM_NONE: no split is suggested */
  int64_t split_score;
} loom_coalescing;

/* The analysis of a kernel.  NULL without an error: it gives up (an extent is not a number, or an
** index holds a value loaded at run time).  exact: an address counts as walked along a loop, and a split
** is suggested, where loom_unit_split proves it, not where the address looks so near the origin; sizes
** may be symbols with hints, at which scores are taken: the split then is one for all sizes. */
LOOM_API LOOM_GIVE loom_coalescing *loom_coalesce(loom_graph *g, const loom_kernel_steps *steps,
                                                  bool exact);
LOOM_API void loom_coalescing_free(loom_coalescing *c);

/* Tilings along coalesced variables: each with the scores of its ranges (-1: none). */
typedef struct loom_scored_tiling {
  loom_tiling tiling;
  int64_t score[LOOM_N_PREFIXES], total;
} loom_scored_tiling;
/* All of up to max_tiles (0: three) pointwise ranges: how many, of which up to capacity are written;
** -1 with an error. */
LOOM_API ptrdiff_t loom_coalesced_tilings(loom_graph *g, const loom_kernel_steps *steps,
                                          const loom_coalescing *c, size_t max_tiles,
                                          loom_scored_tiling *out, size_t capacity);
/* The best of them that fits, else one range for each side without scores. */
LOOM_API loom_status loom_coalesced_select(loom_graph *g, const loom_kernel_steps *steps,
                                           const loom_coalescing *c, size_t max_tiles,
                                           loom_scored_tiling *out);

/* ---- memory sectors ----------------------------------------------------------------------- */

/* A block of points of a kernel is handled at once.  An access costs the sectors of 32 bytes in which
** it has elements, block by block; each different access of the kernel to memory counts once (in the
** blocks of all ranges, or of the pointwise ones if it does not move along the others), what is
** internal to the kernel not at all.  Sizes at the hints; a value loaded at run time is taken to be
** another one for each value of the loops that are not in the index beside it. */
typedef struct loom_blocked {
  loom_tiling tiling;
  int64_t block[LOOM_N_PREFIXES]; /* points of each range; 0: not known */
  int64_t sectors;                /* -1: not counted */
} loom_blocked;

typedef struct loom_best_options {
  size_t max_tiles; /* of the pointwise side; 0: three */
  bool reductions;  /* the reduction may be cut in two ranges */
  int64_t points;   /* of a block, at most; 0: 1024 */
} loom_best_options;

/* The tiling, and its blocks (of each range a power of two or all of it), that touch the fewest
** sectors; of equal ones the first with fewest ranges.  None that is allowed and that loom_tiling_select
** or loom_coalesced_select gives under some options touches fewer in such blocks.  If sectors cannot be
** counted - a size has no hint, or an index has no closed form and too many points - the tiling is
** that of loom_tiling_select and sectors is -1. */
LOOM_API loom_status loom_tiling_best(loom_graph *g, const loom_kernel_steps *steps,
                                      const loom_best_options *options, loom_blocked *out);

typedef struct loom_access_sectors {
  int op, buffer;
  bool store;
  loom_expr index; /* over the loops of the operation */
  int64_t sectors; /* -1: not counted */
} loom_access_sectors;
/* Counts the sectors of a tiling in the blocks that are given, or where block[0] is 0 in those that touch
** the fewest: how many accesses there are, of which up to capacity are written; 0 if a size has no
** hint; -1 with an error (LOOM_ERR_ARGUMENT: the ranges are not those of the kernel). */
LOOM_API ptrdiff_t loom_tiling_sectors(loom_graph *g, const loom_kernel_steps *steps,
                                       loom_blocked *blocked, loom_access_sectors *out,
                                       size_t capacity);

LOOM_C_END

#endif
