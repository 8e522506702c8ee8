/* SPDX-License-Identifier: MIT */
/* Searching mappings: what the files of this folder share.
**
** A template of one einsum is a loop nest with open tile shapes.  Its costs are columns: sums of items
** coefficient * product over parts of a factor that looks at the tiles of one part alone.  A part is
** a variable, or variables that some function of the costs has tiles of together.  For a set of parts
** whose tiles are chosen, a column is  sum of C_b * b  over basis functions b of the other parts, all
** of them >= 0, so a choice with smaller or equal C_b everywhere is never worse whatever comes after:
** that is the only kind of pruning by dominance here.  Derivation: doc/formulas.md#search. */
#ifndef EINLOOM_SEARCH_H
#define EINLOOM_SEARCH_H

#include "cost/cost.h"

#define LOOM_SEARCH_MAX_VARIABLES 16
#define LOOM_SEARCH_MAX_LOOPS 24  /* of one variable */
#define LOOM_SEARCH_MAX_PLACES 48 /* loops of a part */
#define LOOM_SEARCH_MAX_FUSED 16
#define LOOM_SEARCH_MAX_KEYS (2 * LOOM_SEARCH_MAX_FUSED)
#define LOOM_SEARCH_MAX_FIGURES 256
#define LOOM_SEARCH_MAX_FACTORS 512 /* of one part in a template */

typedef struct loom_space_einsum_ loom_space_one;
typedef struct loom_fronts loom_fronts;

/* ---- a template --------------------------------------------------------------------------- */

/* Product of powers of the tiles of a part, by place among its loops, times the trips of some of them,
** rounded up, times a function of tiles. */
typedef struct loom_factor {
  int8_t power[LOOM_SEARCH_MAX_PLACES];
  int16_t function; /* of the part; 0: none, which is 1 */
  uint64_t rounded; /* bit i: the trips of the loop in place i */
  double least;     /* of one with a function, once its columns are paired; before, 0 */
} loom_factor;

/* Values of a function by its tiles: a hash table, full once it is made. */
typedef struct loom_tile_values {
  size_t n, room; /* room: a power of two; 0: there are too many values */
  uint64_t *keys; /* positions of the tiles in their tables, packed, plus 1 */
  double *values;
} loom_tile_values;

/* A function of some tiles, of all templates of an einsum that have it.  Bounds are those over all tiles
** that these loops can have. */
typedef struct loom_tile_function {
  loom_expr expression;
  uint32_t generation; /* of the handle, which may be another expression's later */
  loom_program *program;
  bool own; /* of one template, whose loops may not have all tiles */
  int n, variables[LOOM_SEARCH_MAX_PLACES]; /* of the tiles, by variable, outermost first */
  loom_expr symbols[LOOM_SEARCH_MAX_PLACES];
  bool bounded; /* the bounds are known */
  double least, most;
  loom_tile_values known;
} loom_tile_function;

/* The functions of an einsum.  Made while templates are added, not changed after that. */
typedef struct loom_function_pool {
  loom_arena *arena;
  size_t n_known; /* values in all */
  LOOM_VEC(loom_tile_function *) functions;
} loom_function_pool;

/* A function in a part. */
typedef struct loom_part_function {
  const loom_tile_function *f;
  bool bounded;                         /* in a factor the bounds are known and >= 0 */
  int8_t place[LOOM_SEARCH_MAX_PLACES]; /* of its tiles among the loops of the part, ascending */
} loom_part_function;

/* coefficient * (product of p - product of n), factors by part; without n (n[0] < 0): only the first.
** In a difference the first product is at least the second wherever tiles are. */
typedef struct loom_item {
  double coefficient;
  int16_t p[LOOM_SEARCH_MAX_VARIABLES], n[LOOM_SEARCH_MAX_VARIABLES];
} loom_item;

typedef enum loom_column_kind {
  LOOM_COLUMN_ENERGY,  /* dynamic, or with what leaks while one component is at work */
  LOOM_COLUMN_LATENCY, /* of one component, or what it is the largest of */
  LOOM_COLUMN_INSIDE,  /* what a formula of a latency looks at */
  LOOM_COLUMN_TOTAL,   /* bits in one memory, all together */
  LOOM_COLUMN_OWN,     /* bits in an open memory under so many fused loops, shared tensors aside */
  LOOM_COLUMN_SHARED,  /* bits of the outermost tile of a shared tensor in an open memory */
  LOOM_COLUMN_ALWAYS,  /* bits of persistent tensors in an open memory, shared tensors aside */
  LOOM_COLUMN_INSTANCES, /* used of a dimension */
} loom_column_kind;

typedef struct loom_column {
  loom_column_kind kind;
  int index;                 /* memory, shared tensor, dimension or formula */
  int memory;                /* of a shared tensor */
  int depth;                 /* fused loops of the template above */
  bool always;               /* bits of a shared tensor that is persistent */
  bool compared;             /* a smaller value is better by itself */
  double limit;              /* INFINITY: none */
  LOOM_VEC(loom_item) items; /* none of a formula */
} loom_column;

/* One step of a formula, on a stack. */
typedef enum loom_step_kind {
  LOOM_STEP_COLUMN,
  LOOM_STEP_SCALE, /* by a number >= 0 */
  LOOM_STEP_ADD,
  LOOM_STEP_MIN,
  LOOM_STEP_MAX,
  LOOM_STEP_FLOOR,
  LOOM_STEP_CEIL,
} loom_step_kind;

typedef struct loom_formula_step {
  loom_step_kind kind;
  int n; /* arguments, or the column */
  double number;
} loom_formula_step;

/* A column that is a function of others which never falls where they grow. */
typedef struct loom_formula {
  int column;
  LOOM_VEC(loom_formula_step) steps;
  loom_program *program; /* the same of all open tiles of the template, to be scaled */
  double scale;
} loom_formula;

/* Tiles of a variable, ascending, and chains from each of them with 0, 1, ... more tiles outside. */
typedef struct loom_tile_table {
  int64_t size;
  bool uneven; /* the outermost loop with several trips may leave a part */
  bool mixed;  /* ways also tell whether a loop so far may be why */
  size_t n_tiles;
  int64_t *tiles;
  int n_ways;
  double *ways[LOOM_SEARCH_MAX_LOOPS];
} loom_tile_table;

/* Tiles that may stand around an inner one, ascending: loom_tile_step goes to the next that is not
** smaller than coarseness times the one before, or is the size. */
typedef struct loom_tile_walk {
  const loom_tile_table *table;
  double coarseness;
  int64_t inner, tile; /* 0: before the first */
  size_t next;
} loom_tile_walk;

/* The trips of each of some variables over a dimension, or their product. */
typedef struct loom_search_bound {
  int dim;
  uint32_t variables;
  loom_bound_op op;
  bool product;
  double value;
} loom_search_bound;

typedef struct loom_search_variable {
  int64_t size;
  unsigned uneven;    /* kinds of loops whose tiles need not divide: loom_uneven */
  uint32_t absorbing; /* bit j: loop j is of such a kind */
  int n_leading;      /* loops at the outside that may go when they have one trip */
  int n_loops;
  int loop[LOOM_SEARCH_MAX_LOOPS]; /* of the template, outermost first */
  int part, first;                 /* where its loops are among those of its part */
  const loom_tile_table *table;
} loom_search_variable;

/* Variables whose tiles are chosen together: one, unless a function looks at tiles of several. */
typedef struct loom_search_part {
  int n_variables, variables[LOOM_SEARCH_MAX_VARIABLES];
  int n_places, loop[LOOM_SEARCH_MAX_PLACES]; /* of the template, by variable, outermost first */
  LOOM_VEC(loom_factor) factors;              /* 0 is the constant 1 */
  LOOM_VEC(loom_part_function) functions;     /* 0 stands for none */
} loom_search_part;

typedef struct loom_search_dim {
  const char *component, *name;
  double count, min_fraction;
  bool keyed; /* what chains use of it must be equal to be compared */
} loom_search_dim;

/* out[to] += in[from] * (factor p - factor n) of the part; n < 0: only p. */
typedef struct loom_step_term {
  int from, to;
  int16_t p, n;
} loom_step_term;

typedef struct loom_basis {
  int column;
  double least, most; /* over all choices of the parts to come */
  loom_item item;     /* coefficient unused; factors of parts already chosen are 0 */
} loom_basis;

typedef struct loom_search_level {
  LOOM_VEC(loom_basis) bases;
  LOOM_VEC(loom_step_term) terms; /* from the level before */
} loom_search_level;

/* Choices of one part or of several: rows. */
typedef struct loom_rows {
  bool ranked; /* what comes later by tiles dominates nothing */
  size_t n, capacity;
  int n_values, n_keys, n_tiles;
  double *values;  /* of the bases of a level */
  double *keys;    /* what must be equal to be compared: tiles of fused loops, then dimensions, then
                   ** what of them each of several variables of a part uses */
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
  loom_search_level level; /* with this part chosen alone */
  double *factors;         /* per row all factors of the part */
  size_t n_factors;
  LOOM_VEC(loom_chain_class) classes;
  double *least, *most; /* of each factor, over all classes */
} loom_chain_list;

/* Invariant: from loom_nest_prepare on nothing of a nest is an expression that has to be looked at, so
** that `ctx` may be the account of another thread (account.h). */
typedef struct loom_nest {
  loom_ctx *ctx;
  int n_variables, n_loops, n_fused, n_dims;
  const loom_space_loop *loops;
  const loom_search_dim *dims;
  const char *text; /* of the template */
  loom_function_pool *pool;
  loom_search_variable variables[LOOM_SEARCH_MAX_VARIABLES];
  int n_parts;
  loom_search_part parts[LOOM_SEARCH_MAX_VARIABLES];
  uint32_t coupled[LOOM_SEARCH_MAX_VARIABLES]; /* variables that have to be in one part with each */
  bool split_wrongly;                          /* parts are not so yet */
  LOOM_VEC(loom_column) columns;
  LOOM_VEC(loom_formula) formulas;
  loom_space_counts counts;
  const double
      *spreads; /* uses of the dimensions that are as full as can be, n_dims each; NULL: any */
  size_t n_spreads;
  const double *uses; /* all that loops can have */
  size_t n_uses;
  double *own_spreads; /* once some uses are barred */
  double leak;         /* leaked energy per unit of latency, where the energies are without it */
  size_t n_bounds;
  const loom_search_bound *bounds;
  uint32_t absent; /* dimensions of which the bounds do not apply */
  int n_memories;
  double *falls; /* choices of all tiles by the rule to which they fell, since it was prepared */
  double others; /* of them, that a chain of the part at hand stands for */
  int max_fused, max_fused_per_variable;
  bool ranked;        /* of choices with equal figures the first by tiles is needed */
  bool one_dimension; /* a variable is spread over one dimension of a level at most */
  bool uneven;        /* some variable may leave a part */
  double coarseness;  /* of tiles of loops that may have any */
  loom_arena arena;
  loom_chain_list lists[LOOM_SEARCH_MAX_VARIABLES];
  int order[LOOM_SEARCH_MAX_VARIABLES]; /* in which parts are joined */
  loom_search_level levels[LOOM_SEARCH_MAX_VARIABLES + 1];
  double *values; /* of levels[0] */
  size_t values_room;
} loom_nest;

/* ---- parts and functions (parts.c, functions.c) --------------------------------------------- */

/* Every variable a part, or those together that are coupled. */
bool loom_nest_split(loom_nest *nest);
void loom_nest_free_parts(loom_nest *nest);
/* The variable and the place, among the loops of its part, of a symbol; false: it is no tile. */
bool loom_nest_find_tile(const loom_nest *nest, loom_expr symbol, int *variable, int *place);
/* The variable of a place of a part. */
int loom_part_variable(const loom_nest *nest, const loom_search_part *part, int place);
/* Variables have to be in one part; parts are split wrongly if they are not. */
void loom_nest_couple(loom_nest *nest, uint32_t variables);
/* The number of a function of tiles of a part, new or not; 0 with an error. */
int loom_part_add_function(loom_nest *nest, int part, loom_expr e);
/* The value at tiles (by loop of the template), NaN where it has none. */
double loom_part_value(const loom_nest *nest, int part, int function, const int32_t *tiles);
void loom_space_free_functions(loom_ctx *ctx, loom_function_pool *pool);
/* Calls visit for all tiles that some places of a part can have, in place order, until it says no;
** false then.  Other tiles stay as they are. */
typedef bool loom_tiles_visit(void *data, const int32_t *tiles);
bool loom_part_each(const loom_nest *nest, int part, int n, const int8_t *places, int32_t *tiles,
                    loom_tiles_visit *visit, void *data);

/* Items of an expression added to a column (terms.c). */
bool loom_nest_add(loom_nest *nest, loom_column *column, loom_expr e, double scale);
/* The variables of the tiles that an expression looks at; 0 with an error. */
uint32_t loom_nest_variables(loom_nest *nest, loom_expr e);
/* A new column of a kind; its number, or -1 with an error (columns.c). */
int loom_nest_new_column(loom_nest *nest, loom_column_kind kind, int index);
/* A latency as a column; as a formula of several where it rounds, or takes the least or largest, of
** what parts add up to (formulas.c). */
bool loom_nest_add_latency(loom_nest *nest, loom_expr e, double scale);
/* What formulas are at least where their columns are as given; what they are at tiles. */
void loom_nest_bound_formulas(const loom_nest *nest, double *columns);
bool loom_nest_evaluate_formulas(const loom_nest *nest, const int32_t *tiles, double *columns);
void loom_nest_free_formulas(loom_nest *nest);

/* Pairs negative items with positive ones that are never smaller (pairs.c). */
bool loom_nest_pair(loom_nest *nest, loom_column *column);
/* Bounds of a factor, or of the quotient of two, over all chains. */
double loom_factor_min(const loom_nest *nest, int part, int factor);
double loom_factor_max(const loom_nest *nest, int part, int factor);
double loom_ratio_min(const loom_nest *nest, int part, int p, int n);
/* Notes the least value of each factor with a function. */
void loom_nest_note_least(loom_nest *nest);
/* The least value of the powers that a factor has of the tiles of one variable. */
double loom_powers_min(const loom_nest *nest, int variable, const loom_factor *f);

/* ---- levels: what is left of the columns when parts are chosen one after the other -------- */

/* The level of all items (no part chosen) with its values, or the one after `part`. */
bool loom_level_first(loom_nest *nest, loom_search_level *level, double **values);
bool loom_level_next(loom_nest *nest, const loom_search_level *before, int part,
                     loom_search_level *level);
void loom_level_free(loom_ctx *ctx, loom_search_level *level);

/* ---- chains ------------------------------------------------------------------------------- */

/* Where the keys of a part's chains have what the i-th of its variables uses of each dimension. */
static inline int loom_uses_key(const loom_nest *nest, const loom_search_part *part, int i) {
  return nest->n_fused + (part->n_variables > 1 ? (i + 1) * nest->n_dims : 0);
}
/* How many keys they have. */
static inline int loom_part_keys(const loom_nest *nest, const loom_search_part *part) {
  return loom_uses_key(nest, part, part->n_variables > 1 ? part->n_variables : 1) +
         (part->n_variables > 1 ? 0 : nest->n_dims);
}

/* Frees n items, if there are any. */
void loom_give_back(loom_ctx *ctx, void *array, size_t n, size_t item);
/* Sorts n numbers by a comparison; `spare` has room for n / 2.  False when stopped, with the numbers in
** some order. */
typedef int loom_comparison(const void *context, size_t a, size_t b);
bool loom_sort(loom_ctx *ctx, size_t *list, size_t *spare, size_t n, loom_comparison *compare,
               const void *context);
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

/* The choices of the tiles of a part that may be part of a best choice; values are those of the level
** after the part alone. */
bool loom_nest_chains(loom_nest *nest, int part, const loom_search_level *first,
                      const double *values, const loom_search_level *level, loom_rows *out);
/* A choice more of a part (values by the level), whose keys and loops the caller fills. */
bool loom_part_add(loom_nest *nest, int part, const loom_search_level *level, const double *values,
                   const int32_t *tiles, loom_rows *out, double **keys, uint32_t **fused);
/* Drops choices of a part that others dominate; they fall. */
bool loom_part_prune(loom_nest *nest, const loom_search_level *level, loom_rows *rows);
/* The choices of a part of several variables from the chains of each (cross.c). */
bool loom_part_cross(loom_nest *nest, int part, const loom_rows *lists,
                     const loom_search_level *level, const double *values, loom_rows *out);
/* Values of all factors of a part at given tiles; false with an error. */
bool loom_nest_factors(const loom_nest *nest, int part, const int32_t *tiles, double *out);

/* ---- tiles and rules ------------------------------------------------------------------------ */

static inline int loom_count_bits(uint32_t x) {
  int n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}
/* Gives a variable of a nest the table of its tiles. */
bool loom_nest_set_table(loom_space *s, loom_space_one *one, loom_nest *nest, int variable);
/* Whether a loop may have a tile. */
bool loom_nest_may_have(const loom_nest *nest, int loop, int32_t tile);
/* The position of a tile in a table that has it. */
size_t loom_tile_position(const loom_tile_table *t, int64_t tile);
/* The tiles that a loop may have around an inner one. */
loom_tile_walk loom_tiles_around(const loom_nest *nest, const loom_search_variable *v, int position,
                                 int64_t inner);
/* Goes to the next tile that may stand around the inner one; false past the last. */
bool loom_tile_step(loom_tile_walk *w);
/* Whether the loop at a position may cut `outer` into tiles: they divide it, or it is the size of the
** variable and the loop or one inside it may leave a part; *absorbs: one inside it, then also the loop. */
static inline bool loom_tile_cuts(const loom_search_variable *v, int position, int64_t outer,
                                  int64_t tile, bool *absorbs) {
  if (outer > tile && (v->absorbing >> position & 1)) *absorbs = true;
  return outer % tile == 0 || (*absorbs && position <= v->n_leading);
}
/* Chains of a variable whose innermost tiles are chosen up to `tile`, with n_left loops outside;
** absorbs: a loop so far may leave a part. */
double loom_chains_from(const loom_search_variable *v, int n_left, int64_t tile, bool absorbs);
/* More than a limit by more than rounding can be. */
static inline bool loom_exceeds(double x, double limit) {
  return x > limit * (1 + 1e-12);
}
double loom_chains_in_all(const loom_search_variable *v);
/* Trips are allowed; not `all`: they may still grow. */
bool loom_bound_allows(const loom_search_bound *bound, double trips, bool all);
/* The rule of a limited column. */
loom_space_verdict loom_limit_rule(const loom_column *column);
/* Where a nest counts what fell to a rule, and how many places there are. */
int loom_n_falls(const loom_nest *nest);
void loom_nest_fall(loom_nest *nest, loom_rule rule, int index, double n);

/* ---- spreading ---------------------------------------------------------------------------- */

/* The fullest uses of the dimensions with a least share, into memory of the arena; NULL without such
** dimensions. */
bool loom_nest_list_spreads(loom_nest *nest, loom_arena *arena);
/* Uses so far (per dimension, 1: none) can still become one of the list. */
bool loom_nest_may_spread(const loom_nest *nest, const double *used);
/* They are one of the list. */
bool loom_nest_is_spread(const loom_nest *nest, const double *used);
/* The position of a use in the list; how many there are without one. */
size_t loom_nest_find_spread(const loom_nest *nest, const double *used);
/* Marks the spreads that points have. */
void loom_nest_mark_spreads(const loom_nest *nest, const loom_fronts *found, bool *reached);
/* The list becomes all uses, or the fullest of those that are reached. */
void loom_nest_ask_all(loom_nest *nest);
bool loom_nest_bar(loom_nest *nest, const bool *reached);
void loom_nest_unbar(loom_nest *nest);
/* What part of the share that is asked for a use is, at most 1. */
double loom_nest_share(const loom_nest *nest, int dim, double used);

/* ---- combining ---------------------------------------------------------------------------- */

typedef struct loom_collector loom_collector;

/* Chains of every part and the levels in which they are joined. */
bool loom_nest_prepare(loom_nest *nest);
void loom_nest_free_lists(loom_nest *nest);
/* Hands the points of a template that may be part of a best mapping to the collector; beam > 0: only
** some good ones, keeping so many rows at each variable (at most 64). */
bool loom_nest_combine(loom_nest *nest, loom_collector *collector, size_t beam);
/* Marks the spreads that some choice of all tiles has within the limits. */
bool loom_nest_probe(loom_nest *nest, loom_collector *collector, bool *reached);
/* The value of each column at given tiles: a function of the template and the tiles alone.  False with
** an error. */
bool loom_nest_evaluate(const loom_nest *nest, const int32_t *tiles, double *columns);
/* What each column is at least, before anything is prepared. */
void loom_nest_first_least(const loom_nest *nest, double *columns);
/* The least value of each column over all chains of all variables; prepared. */
void loom_nest_least(const loom_nest *nest, double *columns);

/* ---- points of an einsum, by what others have to fit ---------------------------------------- */

typedef struct loom_fused_loop {
  int variable, dimension;
  int32_t tile;
} loom_fused_loop;

typedef struct loom_backing {
  int memory, depth; /* -1: no open memory; loops above */
  bool always;       /* persistent */
  double bits;
} loom_backing;

/* Points that keep every shared tensor in the same memory under the same loops.  Values of a point:
** energy, latency (as asked for), then for each open memory the bits under 0, 1, ... n_loops loops and, if
** there may be any, of persistent tensors, shared tensors aside. */
typedef struct loom_group {
  int n_loops, n_tensors, width;
  loom_fused_loop loops[LOOM_SEARCH_MAX_FUSED];
  loom_backing *backings; /* by tensor of the einsum */
  size_t n, capacity;
  double *values;
  int *templates;
  size_t *tiles;   /* offsets in the tiles of the fronts */
  double least[2]; /* of each objective, when joined */
  size_t first;    /* points of the groups before, when they are ranked */
} loom_group;

/* Groups, and the tiles of their points. */
struct loom_fronts {
  LOOM_VEC(loom_group) groups;
  LOOM_VEC(uint32_t) slots; /* hash table of positions + 1; its n is not used */
  LOOM_VEC(int32_t) tiles;
  size_t packed; /* tiles after those of points that were dropped have last been left out */
};

/* What decides between points of equal values: the texts of their templates, or their numbers. */
typedef struct loom_ranking {
  const char *const *texts; /* by number of the template */
  const size_t *n_loops;    /* of each template */
  bool ranked;              /* a later point dominates nothing */
} loom_ranking;

void loom_fronts_free(loom_ctx *ctx, loom_fronts *f);
/* The group with the key of `key`, or -1. */
ptrdiff_t loom_fronts_find(const loom_fronts *f, const loom_group *key);
/* The same; a new one where there is none; -1 with an error. */
ptrdiff_t loom_fronts_enter(loom_ctx *ctx, loom_fronts *f, const loom_group *key);
/* A point of the group is at most x, of tiles of a template that are not all known, in everything. */
bool loom_group_dominates(const loom_group *g, const loom_ranking *ranking, const double *x,
                          int number);
/* Adds a point, whose tiles are there, unless one there is as good; drops those that it dominates.  Of equal ones the one
** that ranks first stays, of one template the first that came. */
bool loom_fronts_add(loom_ctx *ctx, loom_fronts *f, size_t group, const loom_ranking *ranking,
                     const double *x, int number, size_t tiles);
/* Leaves out tiles of points that were dropped, once they may be more than the others; offsets change. */
bool loom_fronts_pack(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking);
/* Adds all points of others. */
bool loom_fronts_merge(loom_ctx *ctx, loom_fronts *f, const loom_fronts *from,
                       const loom_ranking *ranking);
/* Numbers all points, group by group, in the order of their templates, tiles and fused loops: n
** numbers; NULL with an error. */
double *loom_fronts_rank(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking, size_t *n);
/* Groups and points in an order that does not depend on how they came. */
bool loom_fronts_sort(loom_ctx *ctx, loom_fronts *f, const loom_ranking *ranking);

typedef struct loom_space_tensor_ {
  char *name;
  int ranks[LOOM_SEARCH_MAX_VARIABLES];
} loom_space_shared;

/* The fullest uses of dimensions of templates whose loops are spread alike. */
typedef struct loom_spread_list {
  const uint8_t *loops; /* per variable and dimension, or in their order (units.c) */
  bool in_order;
  const double *spreads, *uses;
  size_t n, n_uses;
} loom_spread_list;

typedef enum loom_unit_state {
  LOOM_UNIT_ADDED,
  LOOM_UNIT_SKETCHED, /* some good points are known */
  LOOM_UNIT_EXPLORED,
} loom_unit_state;

/* A template and how far it has been explored. */
typedef struct loom_unit {
  loom_space_template t;
  int number;
  loom_unit_state state;
  bool left; /* to be sketched only: others explore it */
  loom_nest nest;
  loom_fronts found; /* while it is sketched or explored */
  double least[2];   /* no choice of tiles is below in the objectives */
  double reached[2]; /* the least that was met when it was explored; INFINITY at first */
  double lowest[2];  /* what all classes have at least, by its sketch */
} loom_unit;

struct loom_space_einsum_ {
  char *name;
  bool ranked;
  int n_variables;
  int64_t sizes[LOOM_SEARCH_MAX_VARIABLES];
  unsigned uneven[LOOM_SEARCH_MAX_VARIABLES];
  LOOM_VEC(loom_search_dim) dims;
  LOOM_VEC(loom_space_shared) tensors;
  LOOM_VEC(loom_unit *) units;
  LOOM_VEC(const char *) texts; /* of the templates */
  LOOM_VEC(size_t) n_loops;     /* of the templates */
  LOOM_VEC(loom_spread_list) spreads;
  loom_function_pool pool;
  loom_fronts sketch; /* of all units, what exploring is bounded by */
  loom_fronts fronts;
  size_t next, n_sketched, n_explored; /* units up to `next` have the state that is reached for */
  loom_space_counts counts;
  LOOM_VEC(loom_search_bound) bounds;
  loom_tile_table *tables[LOOM_SEARCH_MAX_VARIABLES][2]; /* even, uneven */
  double *falls;                                         /* of what was explored */
  double others[2]; /* of each objective: what the other uses add at least, or 0 */
};

typedef struct loom_space_memory_ {
  char *component;
  double bits;
  loom_memory_role role;
  int open;   /* number among the open ones, or -1 */
  bool whole; /* all bits in it are integers */
} loom_space_store;

/* One row of a join: the row before and the point that was attached. */
typedef struct loom_join_link {
  size_t before;
  int group;
  size_t point;
  double rank; /* among the rows of the step, where ranks count */
} loom_join_link;

typedef LOOM_VEC(loom_join_link) loom_join_links;

/* What a result has of a use. */
typedef struct loom_chosen {
  int number, n_fused;
  size_t tiles;
  int variables[LOOM_SEARCH_MAX_FUSED];
} loom_chosen;

/* A join that goes on (join.c). */
typedef struct loom_joining loom_joining;

struct loom_space {
  loom_ctx *ctx;
  loom_space_options options;
  loom_arena arena;
  int n_objectives, n_open, n_always; /* figures of an open memory for persistent tensors: 0 or 1 */
  double *joint;                      /* by memory: pairs of points that fell to it */
  bool limited;
  double limits[2]; /* of each objective */
  bool decided[2];  /* what is within the limit is equal */
  LOOM_VEC(loom_space_store) memories;
  LOOM_VEC(loom_space_one) einsums;
  size_t n_uses;
  loom_space_use *uses;
  loom_joining *join;
  size_t n_results;
  LOOM_VEC(double) results;      /* figures */
  LOOM_VEC(loom_chosen) choices; /* by result and use */
  LOOM_VEC(int32_t) tiles;       /* of the choices */
};

/* Objectives with what comes on top of them are above a limit (space.c). */
bool loom_space_exceeds(const loom_space *s, const double *values, const double *more);
/* Columns of a template from its costs (columns.c). */
bool loom_nest_fill(const loom_space *s, loom_space_one *one, loom_nest *nest,
                    const loom_space_template *t, const loom_einsum_costs *e);
/* The most that counts as within a limit; whole: of sums of integers (limits.c). */
double loom_most_within(double limit, bool whole);
/* Limits of columns become the most that counts as within them; false with an error where objectives
** leave the range of doubles. */
bool loom_nest_set_limits(loom_space *s, loom_nest *nest);
/* Frees all of a nest but what evaluating needs, or all. */
void loom_nest_shrink(loom_nest *nest);
void loom_nest_free(loom_nest *nest);

/* Takes points of one template into fronts, past what others found (collector.c). */
LOOM_GIVE loom_collector *loom_collector_new(const loom_space *s, const loom_space_one *one,
                                             loom_unit *unit, const loom_fronts *known);
void loom_collector_free(loom_collector *c);
/* Goes to the group of points with these fused loops (keys: tiles by fused loop). */
void loom_collector_enter(loom_collector *c, uint32_t fused, const double *keys);
/* The columns of the point at hand, to be filled. */
double *loom_collector_columns(loom_collector *c);
/* Objectives of the columns at hand; notes what all choices of some classes have at least. */
void loom_collector_objectives(loom_collector *c, double least[2]);
void loom_collector_lower(loom_collector *c, const double least[2]);
/* A point of the group is at most the point at hand in everything. */
bool loom_collector_dominated(loom_collector *c);
/* What is minimised of the point at hand, multiplied. */
double loom_collector_score(loom_collector *c);
/* Adds the point with these tiles. */
bool loom_collector_add(loom_collector *c, const int32_t *tiles);
/* Energy and latency (as asked for) of columns. */
void loom_objectives(const loom_space *s, const loom_nest *nest, const double *columns,
                     double *out);

/* What an earlier sketch of a unit found is in `found`: it is sketched.  False with an error. */
bool loom_unit_take_sketch(loom_space *s, loom_space_one *one, loom_unit *u);
/* One step of a unit (to its next state, which the caller sets), on any thread, with an account. */
bool loom_unit_advance(const loom_space *s, const loom_space_one *one, loom_unit *u, loom_ctx *ctx);
/* One step of several units on the threads that are asked for; which ones are done.  False with an
** error, or stopped (pool.c). */
bool loom_units_advance(loom_space *s, const loom_space_one *one, size_t n, loom_unit **units,
                        bool *done);
/* The unit of a template; NULL with an error. */
loom_unit *loom_space_unit(loom_space *s, int einsum, int number);
void loom_space_free_units(loom_space *s, loom_space_one *one);
loom_ranking loom_ranking_of(const loom_space_one *one);
/* Ends the join at hand, whose groups are about to change; results stay. */
void loom_space_end_join(loom_space *s);
void loom_space_drop_join(loom_space *s);

#endif
