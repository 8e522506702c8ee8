/* SPDX-License-Identifier: MIT */
/* Searching mappings: what the files of this folder share.
**
** A template of one einsum is a loop nest with open tile shapes.  Its costs are columns: sums of items
** coefficient * product over variables of a factor that looks at the tiles of one variable alone.
** For a set of variables whose tiles are chosen, a column is  sum of C_b * b  over basis functions b
** of the other variables, all of them >= 0, so a choice with smaller or equal C_b everywhere is
** never worse whatever comes after: that is the only kind of pruning by dominance here.  Derivation:
** doc/formulas.md#search. */
#ifndef EINLOOM_SEARCH_H
#define EINLOOM_SEARCH_H

#include "cost/cost.h"

#define LOOM_SEARCH_MAX_VARIABLES 16
#define LOOM_SEARCH_MAX_LOOPS 24 /* of one variable */
#define LOOM_SEARCH_MAX_FUSED 16
#define LOOM_SEARCH_MAX_KEYS (2 * LOOM_SEARCH_MAX_FUSED)
#define LOOM_SEARCH_MAX_FIGURES 256

/* ---- a template --------------------------------------------------------------------------- */

/* Product of powers of the tiles of one variable, by position among its loops, times ceilings. */
typedef struct loom_factor {
  int8_t power[LOOM_SEARCH_MAX_LOOPS];
  loom_expr rounded; /* a function of the outermost tile in whole, or LOOM_NONE */
} loom_factor;

/* coefficient * (product of p[v] - product of n[v]); without n (n[0] < 0): only the first.  In a
** difference the first product is at least the second wherever tiles are. */
typedef struct loom_item {
  double coefficient;
  int16_t p[LOOM_SEARCH_MAX_VARIABLES], n[LOOM_SEARCH_MAX_VARIABLES];
} loom_item;

typedef enum loom_column_kind {
  LOOM_COLUMN_ENERGY,
  LOOM_COLUMN_LATENCY, /* of one component */
  LOOM_COLUMN_TOTAL,   /* bits in one memory, all together */
  LOOM_COLUMN_OWN,     /* bits in an open memory under so many fused loops, shared tensors aside */
  LOOM_COLUMN_SHARED,  /* bits of the outermost tile of a shared tensor in an open memory */
  LOOM_COLUMN_INSTANCES, /* used of a dimension */
} loom_column_kind;

typedef struct loom_column {
  loom_column_kind kind;
  int index;     /* memory, shared tensor or dimension */
  int depth;     /* fused loops of the template above */
  bool compared; /* a smaller value is better by itself */
  double limit;  /* INFINITY: none */
  LOOM_VEC(loom_item) items;
} loom_column;

typedef struct loom_search_variable {
  int64_t size;
  bool uneven; /* tiles need not divide */
  int n_loops;
  int loop[LOOM_SEARCH_MAX_LOOPS]; /* of the template, outermost first */
  LOOM_VEC(loom_factor) factors;   /* 0 is the constant 1 */
} loom_search_variable;

typedef struct loom_search_dim {
  const char *component, *name;
  double count, min_fraction;
} loom_search_dim;

/* out[to] += in[from] * (factor p - factor n) of the variable; n < 0: only p. */
typedef struct loom_step_term {
  int from, to;
  int16_t p, n;
} loom_step_term;

typedef struct loom_basis {
  int column;
  double least, most; /* over all choices of the variables to come */
  loom_item item;     /* coefficient unused; factors of variables already chosen are 0 */
} loom_basis;

typedef struct loom_search_level {
  LOOM_VEC(loom_basis) bases;
  LOOM_VEC(loom_step_term) terms; /* from the level before */
} loom_search_level;

/* Choices of one variable or of several: rows. */
typedef struct loom_rows {
  size_t n, capacity;
  int n_values, n_keys, n_tiles;
  double *values;  /* of the bases of a level */
  double *keys;    /* what must be equal to be compared: tiles of fused loops, then dimensions */
  int32_t *tiles;  /* of all loops of the template; 0: not chosen */
  uint32_t *fused; /* loops with more than one trip among the fused ones */
} loom_rows;

/* Chains with the same fused tiles and dimensions: rows from `first` on. */
typedef struct loom_chain_class {
  size_t first, n;
  double *least, *most; /* of each factor */
} loom_chain_class;

typedef struct loom_chain_list {
  loom_rows rows;          /* values: those of `level` */
  loom_search_level level; /* with this variable chosen alone */
  double *factors;         /* per row all factors of the variable */
  size_t n_factors;
  LOOM_VEC(loom_chain_class) classes;
} loom_chain_list;

typedef struct loom_nest {
  loom_ctx *ctx;
  int n_variables, n_loops, n_fused, n_dims;
  const loom_space_loop *loops;
  const loom_search_dim *dims;
  loom_search_variable variables[LOOM_SEARCH_MAX_VARIABLES];
  LOOM_VEC(loom_column) columns;
  loom_space_counts *counts;
  const double
      *spreads; /* uses of the dimensions that are as full as can be, n_dims each; NULL: any */
  size_t n_spreads;
  double leak; /* leaked energy per unit of latency */
  int max_fused, max_fused_per_variable;
  bool one_dimension; /* a variable is spread over one dimension of a level at most */
  loom_arena arena;
  loom_chain_list lists[LOOM_SEARCH_MAX_VARIABLES];
  int order[LOOM_SEARCH_MAX_VARIABLES]; /* in which variables are joined */
  loom_search_level levels[LOOM_SEARCH_MAX_VARIABLES + 1];
  double *values; /* of levels[0] */
  size_t values_room;
} loom_nest;

/* Items of an expression added to a column (terms.c). */
bool loom_nest_add(loom_nest *nest, loom_column *column, loom_expr e, double scale);
/* Pairs negative items with positive ones that are never smaller (pairs.c). */
bool loom_nest_pair(loom_nest *nest, loom_column *column);
/* Smallest and largest value of a factor, or of the quotient of two, over all chains. */
double loom_factor_min(const loom_nest *nest, int variable, int factor);
double loom_factor_max(const loom_nest *nest, int variable, int factor);
double loom_ratio_min(const loom_nest *nest, int variable, int p, int n);

/* ---- levels: what is left of the columns when variables are chosen one after the other ---- */

/* The level of all items (no variable chosen) with its values, or the one after `variable`. */
bool loom_level_first(loom_nest *nest, loom_search_level *level, double **values);
bool loom_level_next(loom_nest *nest, const loom_search_level *before, int variable,
                     loom_search_level *level);
void loom_level_free(loom_ctx *ctx, loom_search_level *level);

/* ---- chains ------------------------------------------------------------------------------- */

/* Frees n items, if there are any. */
void loom_give_back(loom_ctx *ctx, void *array, size_t n, size_t item);
/* A copy of n items with room for more; the old ones stay. */
void *loom_larger(loom_ctx *ctx, const void *array, size_t n, size_t capacity, size_t item);
void loom_rows_free(loom_ctx *ctx, loom_rows *rows);
/* A new row, zero; its index or -1. */
ptrdiff_t loom_rows_add(loom_ctx *ctx, loom_rows *rows);
/* Keeps of rows with equal keys and loops those that no other one dominates in the compared values;
** of equal ones the first. */
bool loom_rows_prune(loom_ctx *ctx, loom_rows *rows, const bool *compared);
/* Sorts rows by their keys and loops, equal ones as they stand. */
bool loom_rows_sort(loom_ctx *ctx, loom_rows *rows);

/* The chains of one variable that may be part of a best choice; values are those of the level after
** the variable alone. */
bool loom_nest_chains(loom_nest *nest, int variable, const loom_search_level *first,
                      const double *values, const loom_search_level *level, loom_rows *out);
/* Values of all factors of a variable at given tiles. */
bool loom_nest_factors(const loom_nest *nest, int variable, const int32_t *tiles, double *out);

/* ---- spreading ---------------------------------------------------------------------------- */

/* The fullest uses of the dimensions with a least share, into memory of the arena; NULL without such
** dimensions. */
bool loom_nest_list_spreads(loom_nest *nest, loom_arena *arena);
/* Uses so far (per dimension, 1: none) can still become one of the list. */
bool loom_nest_may_spread(const loom_nest *nest, const double *used);
/* They are one of the list. */
bool loom_nest_is_spread(const loom_nest *nest, const double *used);
/* What part of the share that is asked for a use is, at most 1. */
double loom_nest_share(const loom_nest *nest, int dim, double used);

/* ---- combining ---------------------------------------------------------------------------- */

typedef struct loom_collector loom_collector;

/* Chains of every variable and the levels in which they are joined. */
bool loom_nest_prepare(loom_nest *nest);
void loom_nest_free_lists(loom_nest *nest);
/* Hands the points of a template that may be part of a best mapping to the collector; beam > 0: only
** some good ones, keeping so many rows at each variable (at most 64). */
bool loom_nest_combine(loom_nest *nest, loom_collector *collector, size_t beam);

/* ---- points of an einsum, by what others have to fit ---------------------------------------- */

typedef struct loom_fused_loop {
  int variable, dimension;
  int32_t tile;
} loom_fused_loop;

typedef struct loom_backing {
  int memory, depth; /* -1: no open memory; loops above */
  double bits;
} loom_backing;

/* Points that keep every shared tensor in the same memory under the same loops.  Values of a point:
** energy, latency (as asked for), then for each open memory the bits under 0, 1, ... n_loops loops,
** shared tensors aside. */
typedef struct loom_group {
  int n_loops, n_tensors, width;
  loom_fused_loop loops[LOOM_SEARCH_MAX_FUSED];
  loom_backing *backings; /* by tensor of the einsum */
  size_t n, capacity;
  double *values;
  int *templates;
  size_t *tiles;   /* offsets in the einsum's tiles */
  double least[2]; /* of each objective, when joined */
} loom_group;

typedef struct loom_space_tensor_ {
  char *name;
  int ranks[LOOM_SEARCH_MAX_VARIABLES];
} loom_space_shared;

/* A template whose points are not all known. */
typedef struct loom_waiting {
  loom_nest *nest;
  loom_space_template t;
  int number;
} loom_waiting;

/* The fullest uses of dimensions of templates whose loops are spread alike. */
typedef struct loom_spread_list {
  const uint8_t *loops; /* per variable and dimension */
  const double *spreads;
  size_t n;
} loom_spread_list;

typedef struct loom_space_einsum_ {
  char *name;
  int n_variables;
  int64_t sizes[LOOM_SEARCH_MAX_VARIABLES];
  bool uneven[LOOM_SEARCH_MAX_VARIABLES];
  LOOM_VEC(loom_search_dim) dims;
  LOOM_VEC(loom_space_shared) tensors;
  LOOM_VEC(size_t) templates; /* loops of each */
  LOOM_VEC(loom_waiting) waiting;
  LOOM_VEC(loom_spread_list) spreads;
  LOOM_VEC(loom_group) groups;
  LOOM_VEC(int32_t) tiles;
  loom_space_counts counts;
} loom_space_one;

typedef struct loom_space_memory_ {
  char *component;
  double bits;
  loom_memory_role role;
  int open; /* number among the open ones, or -1 */
} loom_space_store;

/* One row of a join: the row before and the point that was attached. */
typedef struct loom_join_link {
  size_t before;
  int group;
  size_t point;
} loom_join_link;

typedef LOOM_VEC(loom_join_link) loom_join_links;

struct loom_space {
  loom_ctx *ctx;
  loom_space_options options;
  loom_arena arena;
  int n_objectives, n_open;
  LOOM_VEC(loom_space_store) memories;
  LOOM_VEC(loom_space_one) einsums;
  size_t n_uses;
  loom_space_use *uses;
  loom_join_links *links;   /* by use */
  LOOM_VEC(size_t) results; /* rows of the last use */
  LOOM_VEC(double) figures;
};

/* Takes points of one template into the groups of its einsum (groups.c). */
LOOM_GIVE loom_collector *loom_collector_new(loom_space *s, loom_space_one *one,
                                             const loom_nest *nest, const loom_space_template *t,
                                             int number);
void loom_collector_free(loom_collector *c);
/* Goes to the group of points with these fused loops (keys: tiles by fused loop). */
void loom_collector_enter(loom_collector *c, uint32_t fused, const double *keys);
/* The columns of the point at hand, to be filled. */
double *loom_collector_columns(loom_collector *c);
/* A point of the group is at most the point at hand in everything. */
bool loom_collector_dominated(loom_collector *c);
/* What is minimised of the point at hand, multiplied. */
double loom_collector_score(loom_collector *c);
/* Adds the point at hand. */
bool loom_collector_add(loom_collector *c, const int32_t *tiles);
void loom_group_free(loom_ctx *ctx, loom_group *g);
void loom_space_drop_join(loom_space *s);

#endif
