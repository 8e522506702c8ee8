/* SPDX-License-Identifier: MIT */
/* Joining einsums: what the files that do it share.
**
** A state of a join has the tensors that later einsums use, each with the loops
** above its outermost holder, and rows of values: energy, latency, then for each open memory what is
** needed at depth 0 .. d (A: at most by branches that are over, under j shared loops) and what is
** reserved at depth 0 .. d - 1 while the branch that is open runs (C); d loops stand above the
** deepest of the tensors.  Derivation: doc/formulas.md#search-joining. */
#ifndef EINLOOM_SEARCH_JOIN_H
#define EINLOOM_SEARCH_JOIN_H

#include "search/search.h"

#define LOOM_JOIN_FIRST_ROWS 4 /* of a state, in a quick join */

/* A tensor between its first and its last user. */
typedef struct live {
  int tensor, memory, depth;
  bool always; /* persistent */
  double bits;
  int ranks[LOOM_SEARCH_MAX_FUSED], dims[LOOM_SEARCH_MAX_FUSED];
  int32_t tiles[LOOM_SEARCH_MAX_FUSED];
} live;

typedef struct state {
  int depth, width;
  size_t n_live, room;
  live *lives; /* by number of the tensor */
  size_t n, capacity, checked;
  double *values;
  loom_join_link *links;
} state;

/* Places of the points of an einsum in the order of templates, tiles and fused loops. */
typedef struct join_ranks {
  double *of; /* group by group */
  size_t n;
} join_ranks;

struct loom_joining {
  loom_space *s;
  loom_ctx *ctx;
  const loom_space_one *one;
  const loom_space_use *use;
  bool quick, started; /* the quick pass goes on, or is to be the only one; it has begun */
  bool only_quick, finished;
  size_t step;
  size_t at, group, row, first; /* of the step: state, group and row that are next; rows before */
  bool *hopeful;                /* rows of the state at hand, or NULL */
  size_t n_hopeful;
  int *last; /* step of the last user, by tensor */
  int n_tensors;
  LOOM_VEC(state) before, after;
  size_t beam;  /* rows of a state kept at most; 0: all */
  double *rest; /* least of each objective that the uses from a step on add */
  size_t rest_room;
  double *goals; /* figures of complete results, which bound what is worth keeping */
  size_t n_goals, goals_room;
  loom_join_links *links; /* by use */
  join_ranks *ranks;      /* by einsum, where they count, or NULL */
  size_t work;            /* pairs that may still be looked at before a pause */
};

typedef struct loom_joining join;

/* Bits at each depth that do not depend on the point: shared tensors of the right side, without
** those the left side has counted. */
typedef struct constants {
  int shared, depth; /* loops shared with the left side; loops of the state after */
  double added[32][LOOM_SEARCH_MAX_FUSED + 1], always[32];
} constants;

/* ---- states (attach.c) ---- */

/* Frees rows and live tensors of a state, which may be half built. */
void loom_state_free(loom_ctx *ctx, state *st);
/* Every tensor of both sides is kept in the same place, and the shared loops are seen by one. */
bool loom_state_fits(const join *g, const state *left, const loom_group *right);
/* The state that a group attached to another one gives, new or known; NULL with an error. */
state *loom_state_after(join *g, const state *left, const loom_group *right);
/* What is the same for all pairs of rows of a state and a group. */
void loom_state_constants(const join *g, const state *left, const loom_group *right,
                          const state *after, constants *k);
/* A complete result beats everything that values with `more` of each objective can become, or they are
** above a limit. */
bool loom_join_is_hopeless(const join *g, const double *values, const double *more);
/* Room for one more row; false with an error. */
bool loom_state_grow(loom_ctx *ctx, state *st);
/* Adds a row with a point attached, unless it is hopeless or a memory is too small; false with an error. */
bool loom_state_add_row(const join *g, const constants *k, const double *left,
                        const loom_group *right, size_t point, const loom_join_link *link,
                        state *after);
/* Keeps the front of a state. */
bool loom_state_prune(join *g, state *st);
/* Keeps the rows with the least product of objectives, in their order. */
void loom_state_narrow(const join *g, state *st);
/* Values of a row under so many loops. */
int loom_state_width(const loom_space *s, int depth);

/* Compares rows of a list of links by their ranks: a loom_comparison. */
int loom_compare_ranks(const void *context, size_t a, size_t b);

/* ---- results (results.c) ---- */

/* The rows that are left become the results, in place of earlier ones. */
bool loom_join_list_results(join *g);
/* Forgets the results. */
void loom_space_drop_results(loom_space *s);

#endif
