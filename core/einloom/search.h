/* SPDX-License-Identifier: MIT */
/* Search of mappings. */
#ifndef EINLOOM_PUBLIC_SEARCH_H
#define EINLOOM_PUBLIC_SEARCH_H

#include "einloom/cost.h"

LOOM_C_BEGIN

/* Best mappings of a workload by template: loop nests of single einsums with open tile shapes, whose
** costs are formulas.  The space finds the tiles of each template (perfect factors: a tile divides
** the extent it cuts), keeps what may be part of a best mapping, and joins einsums in their order,
** fused where tensors are kept under shared loops (doc/formulas.md#search). */
typedef struct loom_space loom_space;

typedef struct loom_space_options {
  bool energy, latency, usage; /* what is minimised, together; usage: bits of each open memory */
  bool product;                /* of energy and latency, both asked for, only the product counts */
  int max_fused_loops;         /* loops with several trips above a shared tensor; -1: no limit */
  int max_fused_loops_per_rank_variable;
  bool one_spatial_dim_per_variable; /* a variable takes one dimension of a level at most */
  bool
      ranked; /* of results of equal figures the first is kept, by texts of templates, then tiles */
  bool persistent; /* tensors that are persistent may be held in open memories: all the time */
  int threads;     /* that explore, at most 64; the results do not depend on it.  0: 1 */
  /* By which share a point that is found may be above one that exploring leaves out: in each objective,
  ** and in the bits of each open memory (of spaces with one einsum). */
  double objective_slack, usage_slack;
  /* Of ascending tiles of a loop those are left out that are smaller than so many times the one kept
  ** before; below 1: none. */
  double coarseness;
} loom_space_options;

LOOM_API LOOM_GIVE loom_space *loom_space_new(loom_ctx *ctx, const loom_space_options *options);
LOOM_API void loom_space_free(loom_space *s);

/* Memories: private ones limit single einsums, open ones hold tiles of several einsums at once. */
typedef enum loom_memory_role { LOOM_MEMORY_PRIVATE, LOOM_MEMORY_OPEN } loom_memory_role;
LOOM_API int loom_space_memory(loom_space *s, const char *component, double bits,
                               loom_memory_role role);

/* Kinds of loops whose tiles need not divide the size of the variable. */
typedef enum loom_uneven {
  LOOM_UNEVEN_TEMPORAL = 1,
  LOOM_UNEVEN_SPATIAL = 2,
} loom_uneven;
/* An einsum with the sizes of its variables, of which some may have uneven tiles, by kinds of loops
** (doc/formulas.md#search-uneven-tiles; NULL: none); a dimension its loops may be spread over (at least
** min_fraction of it is used, or as much as a template can); a tensor that other einsums use too,
** with the number of the rank that each variable indexes alone, or -1. */
LOOM_API int loom_space_einsum(loom_space *s, const char *einsum, size_t n_variables,
                               const int64_t *sizes, const unsigned *uneven);
LOOM_API int loom_space_dimension(loom_space *s, int einsum, const char *component,
                                  const char *dimension, double count, double min_fraction);
LOOM_API int loom_space_tensor(loom_space *s, int einsum, const char *tensor, const int *ranks);
/* Limits the trips over a dimension of each of some variables, or of all of them multiplied; a variable
** that is not spread there has 1. */
typedef enum loom_bound_op {
  LOOM_BOUND_EQ,
  LOOM_BOUND_LE,
  LOOM_BOUND_GE,
  LOOM_BOUND_LT,
  LOOM_BOUND_GT,
} loom_bound_op;
LOOM_API loom_status loom_space_bound_loops(loom_space *s, int einsum, int dimension, size_t n,
                                            const int *variables, loom_bound_op op, bool product,
                                            double value);

typedef struct loom_space_loop {
  loom_expr tile;          /* a symbol; LOOM_NONE: 1 */
  int variable, dimension; /* -1: temporal */
  bool pinned;             /* it stands in the mapping even with one trip */
  const int32_t *tiles;    /* those that the loop may have, ascending; NULL: any */
  size_t n_tiles;
} loom_space_loop;
/* The outermost holder of a shared tensor, under so many of the fused loops. */
typedef struct loom_space_backing {
  int tensor, memory, n_loops;
} loom_space_backing;
typedef struct loom_space_template {
  size_t n_loops, n_fused, n_backings; /* the first n_fused loops are fused */
  const loom_space_loop *loops;        /* outermost first */
  const bool *border;                  /* per fused loop: a holder stands right above it */
  const loom_space_backing *backings;
  uint32_t absent;  /* bit d: it does not pass dimension d, whose bounds do not apply */
  const char *text; /* decides between points of equal values, before the number; NULL: "" */
} loom_space_template;

/* Leaves out mappings whose objectives (energy, latency, as asked for) are above limits, of all uses
** together (INFINITY: none), and points of an einsum that are above them with what the other uses add
** at least.  Sums that are larger by 1e-12 of a limit are not above it.  What is within the limit of a
** decided objective is equal: mappings need no other one that is better there alone. */
LOOM_API void loom_space_limit(loom_space *s, const double *limits, const bool *decided);
LOOM_API void loom_space_limit_einsum(loom_space *s, int einsum, const double *others);

/* ---- exploring ---------------------------------------------------------------------------- */

/* Adds a template of an einsum with its costs: a unit of work.  Returns its number, from 0; all units
** are added before the first is explored. */
LOOM_API int loom_space_add(loom_space *s, int einsum, const loom_costs *costs,
                            const loom_space_template *t);
/* Leaves exploring a unit to others: what they find is inserted. */
LOOM_API loom_status loom_space_leave(loom_space *s, int einsum, int number);
/* Finds every point of the units that may be part of a best mapping.  First all of them are sketched
** (some good points of each), then each is explored with the sketches as bounds: what a unit leaves does
** not depend on order, threads, or what else is explored.  LOOM_ERR_STOPPED keeps what is found. */
LOOM_API loom_status loom_space_explore(loom_space *s, int einsum);
/* Some units, after the sketches that are still missing. */
LOOM_API loom_status loom_space_explore_units(loom_space *s, int einsum, size_t n,
                                              const int *numbers);
/* Goes on with the next n sketches or units; *more: there is something left to do. */
LOOM_API loom_status loom_space_explore_some(loom_space *s, int einsum, size_t n, bool *more);

/* Points of the units that may be part of a best mapping, as far as is known, in no order: units are
** stored and read by template and tiles.  Values are energy, latency and bits of each open memory, as
** loom_space_result has them. */
typedef struct loom_space_point {
  int number; /* of the template */
  size_t n_loops, n_values;
  const int32_t *tiles;
  double values[66];
} loom_space_point;
/* Calls visit with every point that the unit left (-1: every unit); it may not change the space. */
typedef void loom_space_visit(void *data, const loom_space_point *point);
LOOM_API loom_status loom_space_points(loom_space *s, int einsum, int number,
                                       loom_space_visit *visit, void *data);
/* X(enumerator, printed name): why tiles of a template are no point. */
#define LOOM_RULE_LIST(X)                                                                      \
  X(LOOM_RULE_NONE, "none")                                                                    \
  X(LOOM_RULE_TILES, "tiles")                                          /* no chain of tiles */ \
  X(LOOM_RULE_FUSED_PER_VARIABLE, "max_fused_loops_per_rank_variable") /* index: variable */   \
  X(LOOM_RULE_FUSED, "max_fused_loops")                                                        \
  X(LOOM_RULE_FANOUT, "fanout")                              /* index: dimension */            \
  X(LOOM_RULE_LOOP_BOUND, "loop_bounds")                     /* index: dimension */            \
  X(LOOM_RULE_ONE_DIMENSION, "one_spatial_dim_per_variable") /* index: variable */             \
  X(LOOM_RULE_SHARE, "min_usage")                            /* other uses are fuller */       \
  X(LOOM_RULE_CAPACITY, "capacity")                          /* index: memory */               \
  X(LOOM_RULE_DOMINATED, "dominated") /* by a choice for some variables, whatever the rest */  \
  X(LOOM_RULE_BOUNDED, "bounded")     /* no better than a point that is known */
typedef enum loom_rule {
#define LOOM_RULE_ENUM(enumerator, name) enumerator,
  LOOM_RULE_LIST(LOOM_RULE_ENUM)
#undef LOOM_RULE_ENUM
      LOOM_N_RULES
} loom_rule;
LOOM_API const char *loom_rule_name(loom_rule rule);
/* The first rule that is broken, and by which variable, dimension or memory (or -1). */
typedef struct loom_space_verdict {
  loom_rule rule;
  int index;
} loom_space_verdict;
/* Writes the name of the rule and of what it is about: "capacity:GLB", "fanout:PE.x",
** "max_fused_loops". */
LOOM_API void loom_space_name_rule(const loom_space *s, int einsum, loom_space_verdict verdict,
                                   size_t size, char *out);
/* Figures of n choices of tiles of a template (n_loops each, one after the other): values has room for
** n times as many as loom_space_result gives; those of choices that break a rule are NaN. */
LOOM_API loom_status loom_space_evaluate(loom_space *s, int einsum, int number, size_t n,
                                         const int32_t *tiles, double *values,
                                         loom_space_verdict *verdicts);
/* Calls visit with every point that sketches found and that is not beaten by another of them; it may not
** change the space. */
LOOM_API loom_status loom_space_sketches(loom_space *s, int einsum, loom_space_visit *visit,
                                         void *data);
/* Whether the sketch of a unit may be restored: not of one that is sketched, and not where limits decide
** which fullest uses of dimensions count. */
LOOM_API bool loom_space_may_restore(loom_space *s, int einsum, int number);
/* The unit is sketched, as it was elsewhere, where all sketches together left n points of it (tiles of
** all its loops, one point after the other) and where no point of it was below `least`.  The sketches
** that beat its other points are restored too, or made again. */
LOOM_API loom_status loom_space_restore(loom_space *s, int einsum, int number, size_t n,
                                        const int32_t *tiles, const double least[2]);
/* Adds a point that was found before or elsewhere; LOOM_ERR_DOMAIN if it breaks a rule. */
LOOM_API loom_status loom_space_insert(loom_space *s, int einsum, int number, const int32_t *tiles);

/* How much of each a space has. */
LOOM_API size_t loom_space_memories(const loom_space *s);
LOOM_API size_t loom_space_einsums(const loom_space *s);
LOOM_API size_t loom_space_variables(const loom_space *s, int einsum);
LOOM_API size_t loom_space_dimensions(const loom_space *s, int einsum);
LOOM_API size_t loom_space_tensors(const loom_space *s, int einsum);
LOOM_API size_t loom_space_units(const loom_space *s, int einsum);             /* templates */
LOOM_API size_t loom_space_loops(const loom_space *s, int einsum, int number); /* of a template */
LOOM_API size_t loom_space_objectives(const loom_space *s); /* energy, latency as asked for */
LOOM_API size_t loom_space_figures(const loom_space *s);    /* of a result */

/* Points kept for an einsum, and counts over all templates. */
typedef struct loom_space_counts {
  double chains, combined, points; /* of tiles looked at: per variable, together, complete */
  double kept, groups;
  double units, sketched, explored;
} loom_space_counts;
LOOM_API loom_space_counts loom_space_counts_of(const loom_space *s, int einsum);
/* How many choices of all tiles of the templates explored fell to each rule, each to the first that
** was met, and how many there are.  False past the last rule; those without any are 0. */
typedef struct loom_space_fall {
  loom_space_verdict verdict;
  double n;
} loom_space_fall;
LOOM_API bool loom_space_falls(const loom_space *s, int einsum, size_t i, loom_space_fall *out);
LOOM_API double loom_space_size(const loom_space *s, int einsum);
/* Pairs of points for which a memory that several einsums share was too small, in the last join of all. */
LOOM_API double loom_space_joint_falls(const loom_space *s, int memory);

/* ---- joining ------------------------------------------------------------------------------ */

/* One use of an einsum: tensors[i] numbers the i-th tensor of loom_space_tensor among all. */
typedef struct loom_space_use {
  int einsum;
  const int *tensors;
} loom_space_use;
/* Joins uses in order; what results are then the points that no other one dominates, of those of one
** value the first in the order of their parts: texts of templates, then tiles.  Where ranks count the
** results are in that order. */
LOOM_API loom_status loom_space_join(loom_space *s, size_t n, const loom_space_use *uses);
/* The same in steps.  A quick join gives some good results only, of the points known so far: the best
** of a search that is stopped. */
typedef enum loom_join_kind { LOOM_JOIN_ALL, LOOM_JOIN_QUICK } loom_join_kind;
LOOM_API loom_status loom_space_join_begin(loom_space *s, size_t n, const loom_space_use *uses,
                                           loom_join_kind kind);
/* Goes on with about so many pairs of points; *more: it is not finished.  While there is more, the
** results are those of the quick join that it begins with, if it had any. */
LOOM_API loom_status loom_space_join_some(loom_space *s, size_t work, bool *more);
/* What no mapping is below, in each objective (energy, latency, as asked for): when all units have
** been added, at any moment.  False before the uses are known. */
LOOM_API bool loom_space_bound(const loom_space *s, double bound[2]);
/* No point of a template (-1: of any template of the einsum) within the limits is below, in each
** objective: closer once it is sketched, and once it is explored. */
LOOM_API loom_status loom_space_least(loom_space *s, int einsum, int number, double least[2]);
LOOM_API size_t loom_space_results(const loom_space *s);
/* Values of a result: energy, latency, bits of each open memory (as asked for). */
LOOM_API const double *loom_space_result(const loom_space *s, size_t result, size_t *n);
/* What a result has of a use: the template, the tiles of its loops, and the variables of its fused
** loops with several trips in the order that fits the others. */
typedef struct loom_space_choice {
  int number; /* of the template */
  size_t n_loops, n_fused;
  const int32_t *tiles;
  int variables[16];
} loom_space_choice;
LOOM_API loom_status loom_space_choose(const loom_space *s, size_t result, size_t use,
                                       loom_space_choice *out);

LOOM_C_END

#endif
