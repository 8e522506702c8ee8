/* SPDX-License-Identifier: MIT */
/* What is analysed: workloads, architectures and mappings. */
#ifndef EINLOOM_PUBLIC_MODEL_H
#define EINLOOM_PUBLIC_MODEL_H

#include "einloom/expr.h"

LOOM_C_BEGIN

/* ---- workload ----------------------------------------------------------------------------- */

/* Names are copied.  Sizes, bits and repeats are expressions (usually numbers), in values and bits.
** Builders return an index (0, 1, ...) or -1, or a status. */
LOOM_API LOOM_GIVE loom_workload *loom_workload_new(loom_ctx *ctx);
LOOM_API void loom_workload_free(loom_workload *w);
LOOM_API loom_status loom_workload_variable(loom_workload *w, const char *variable, loom_expr size);
LOOM_API loom_status loom_workload_repeat(loom_workload *w, loom_expr n_instances);
LOOM_API int loom_workload_einsum(loom_workload *w, const char *name, bool is_copy,
                                  loom_expr n_instances);
LOOM_API int loom_workload_access(loom_workload *w, int einsum, const char *tensor, bool output,
                                  loom_expr bits_per_value);
/* The next rank of an access: constant + sum of coefficient * variable. */
LOOM_API loom_status loom_workload_rank(loom_workload *w, int einsum, int access, const char *rank,
                                        int64_t constant, size_t n_terms,
                                        const char *const *variables, const int64_t *coefficients);

/* The next rank of an access whose index is no such sum, as steps on a stack of integers: put a
** variable or a constant there; replace the two topmost by their sum; multiply the topmost, divide it
** (floor) or take its remainder (that of floor division) by a value, above 0 for the last two.  One
** integer is left. */
typedef enum loom_index_operation {
  LOOM_INDEX_VARIABLE,
  LOOM_INDEX_CONSTANT,
  LOOM_INDEX_ADD,
  LOOM_INDEX_SCALE,
  LOOM_INDEX_FLOOR_DIV,
  LOOM_INDEX_MOD
} loom_index_operation;
typedef struct loom_index_step {
  loom_index_operation operation;
  const char *variable;
  int64_t value;
} loom_index_step;
LOOM_API loom_status loom_workload_index(loom_workload *w, int einsum, int access, const char *rank,
                                         size_t n_steps, const loom_index_step *steps);

typedef enum loom_relevancy {
  LOOM_IRRELEVANT,
  LOOM_RELEVANT,
  LOOM_PARTIALLY_RELEVANT
} loom_relevancy;
/* Geometry of an access.  -1 or LOOM_NONE with an error for an unknown name. */
LOOM_API int loom_workload_relevancy(loom_workload *w, int einsum, int access,
                                     const char *variable);
LOOM_API loom_status loom_workload_stride_halo(loom_workload *w, int einsum, int access, int rank,
                                               const char *variable, loom_expr *stride,
                                               loom_expr *halo);
/* Values in the bounding box of a tile: n variables with their extents, all others whole. */
LOOM_API loom_expr loom_workload_tile_occupancy(loom_workload *w, int einsum, int access, size_t n,
                                                const char *const *variables,
                                                const loom_expr *extents);
LOOM_API int loom_workload_used_alone(loom_workload *w, int einsum, const char *variable);

/* How a loop cuts an extent: stride and up to two runs of (tile extent, repeats). */
typedef enum loom_tiling_mode {
  LOOM_WHOLE_TRIPS,     /* extent / tile repeats, maybe a fraction */
  LOOM_FIRST_TILE,      /* one first tile, then ceil of the rest */
  LOOM_EXACT_LAST_TILE, /* whole tiles, then what is left */
  LOOM_AVERAGE          /* as whole trips: tiles of average extent */
} loom_tiling_mode;
typedef struct loom_tiles {
  loom_expr stride;
  int n; /* 1 or 2 */
  loom_expr extent[2], repeats[2];
} loom_tiles;
LOOM_API loom_status loom_tile_sequence(loom_ctx *ctx, loom_tiling_mode mode, loom_expr outer,
                                        loom_expr tile, loom_expr first, loom_tiles *out);

/* ---- architecture ------------------------------------------------------------------------- */

typedef enum loom_class { LOOM_MEMORY, LOOM_TOLL, LOOM_COMPUTE, LOOM_CONTAINER } loom_class;
typedef enum loom_direction { LOOM_UP = 1, LOOM_DOWN = 2, LOOM_UP_AND_DOWN = 3 } loom_direction;

/* Numbers of a component: X(enumerator, name). LOOM_NONE for size and throughput: without limit. */
#define LOOM_COMPONENT_NUMBER_LIST(X)                  \
  X(LOOM_SIZE, "size")                                 \
  X(LOOM_LEAK_POWER, "leak_power")                     \
  X(LOOM_ACTIONS_SCALE, "actions_scale")               \
  X(LOOM_N_PARALLEL_INSTANCES, "n_parallel_instances") \
  X(LOOM_AREA, "area")
typedef enum loom_component_number {
#define LOOM_NUMBER_ENUM(enumerator, name) enumerator,
  LOOM_COMPONENT_NUMBER_LIST(LOOM_NUMBER_ENUM)
#undef LOOM_NUMBER_ENUM
      LOOM_N_COMPONENT_NUMBERS
} loom_component_number;

typedef enum loom_latency_rule {
  LOOM_SUM_COUNT_OVER_THROUGHPUT,
  LOOM_MAX_COUNT_OVER_THROUGHPUT,
  LOOM_SUM_COUNT_OVER, /* divided by the value */
  LOOM_CONSTANT_LATENCY
} loom_latency_rule;

LOOM_API LOOM_GIVE loom_arch *loom_arch_new(loom_ctx *ctx);
LOOM_API void loom_arch_free(loom_arch *a);
/* The next component of list 0, outermost first. */
LOOM_API int loom_arch_component(loom_arch *a, loom_class class_, const char *name);
/* A machine with several kinds of units is a tree: a fork ends a list, its branches are lists that go
** on below the list's last component.  Every einsum runs on the way from list 0 to one compute unit:
** it holds tensors and spreads loops there alone, and what is below or above a component follows
** the tree. */
LOOM_API int loom_arch_component_in(loom_arch *a, int list, loom_class class_, const char *name);
LOOM_API int loom_arch_fork(loom_arch *a, int list);
LOOM_API int loom_arch_branch(loom_arch *a, int fork); /* returns a list */
LOOM_API loom_status loom_arch_number(loom_arch *a, int component, loom_component_number which,
                                      loom_expr value);
LOOM_API loom_status loom_arch_skip_initial_output_write(loom_arch *a, int component, bool skip);
LOOM_API loom_status loom_arch_latency_rule(loom_arch *a, int component, loom_latency_rule rule,
                                            loom_expr value);
/* Actions: "read" and "write" of a memory, "read" of a toll, "compute". LOOM_NONE: energy 0,
** throughput without limit, bits_per_action 1. */
LOOM_API loom_status loom_arch_action(loom_arch *a, int component, const char *action,
                                      loom_expr energy, loom_expr throughput,
                                      loom_expr bits_per_action);
LOOM_API int loom_arch_dimension(loom_arch *a, int component, const char *name, loom_expr fanout,
                                 loom_expr usage_scale, bool power_gateable);
/* Per-tensor settings; einsum NULL: in every einsum, tensor NULL: every tensor.  A setting with the
** einsum wins, then one with the tensor, then the last given.  Nothing given: no reuse, the tensor's
** own bits, bits / bits_per_action, both directions. */
LOOM_API loom_status loom_arch_may_reuse(loom_arch *a, int component, int dimension,
                                         const char *einsum, const char *tensor); /* NULL: all */
LOOM_API loom_status loom_arch_bits_per_value(loom_arch *a, int component, const char *einsum,
                                              const char *tensor, loom_expr bits);
LOOM_API loom_status loom_arch_values_per_action(loom_arch *a, int component, const char *action,
                                                 const char *einsum, const char *tensor,
                                                 loom_expr values); /* action NULL: all */
LOOM_API loom_status loom_arch_direction(loom_arch *a, int component, const char *einsum,
                                         const char *tensor, loom_direction d); /* NULL: all */

/* ---- mapping ------------------------------------------------------------------------------ */

/* X(enumerator, name) */
#define LOOM_NODE_LIST(X)                 \
  X(LOOM_NODE_STORAGE, "storage")         \
  X(LOOM_NODE_TOLL, "toll")               \
  X(LOOM_NODE_TEMPORAL, "temporal")       \
  X(LOOM_NODE_SPATIAL, "spatial")         \
  X(LOOM_NODE_SEQUENTIAL, "sequential")   \
  X(LOOM_NODE_PIPELINE, "pipeline")       \
  X(LOOM_NODE_PARALLEL, "parallel")       \
  X(LOOM_NODE_RESERVATION, "reservation") \
  X(LOOM_NODE_COMPUTE, "compute")         \
  X(LOOM_NODE_CUSTOM, "custom")
typedef enum loom_node_kind {
#define LOOM_NODE_ENUM(enumerator, name) enumerator,
  LOOM_NODE_LIST(LOOM_NODE_ENUM)
#undef LOOM_NODE_ENUM
} loom_node_kind;

/* Nodes are added to a list, outermost first: list 0 is the root, others are branches. */
LOOM_API LOOM_GIVE loom_mapping *loom_mapping_new(loom_ctx *ctx);
LOOM_API void loom_mapping_free(loom_mapping *m);
LOOM_API int loom_mapping_storage(loom_mapping *m, int list, const char *component, bool persistent,
                                  bool may_lower);
LOOM_API int loom_mapping_toll(loom_mapping *m, int list, const char *component, bool may_lower);
/* A holder of a kind of its own: `kind` names the analyzer given to loom_analyze. */
LOOM_API int loom_mapping_custom(loom_mapping *m, int list, const char *kind, const char *component,
                                 bool may_lower);
LOOM_API loom_status loom_mapping_tensor(loom_mapping *m, int holder, const char *tensor);
/* What becomes of the contents of a storage node at the end of a visit: dropped, or kept so that
** only the difference to the next tile moves.  A node that is not told follows loom_options. */
typedef enum loom_lifetime { LOOM_SCOPE, LOOM_RETAIN } loom_lifetime;
LOOM_API loom_status loom_mapping_lifetime(loom_mapping *m, int storage, loom_lifetime lifetime);
/* Tile: extent inside the loop, LOOM_NONE leaves it open (the analysis gives it the symbols of
** loom_loop_symbol); first: extent of the first tile or LOOM_NONE. */
LOOM_API int loom_mapping_temporal(loom_mapping *m, int list, const char *variable, loom_expr tile,
                                   loom_expr first);
LOOM_API int loom_mapping_spatial(loom_mapping *m, int list, const char *variable, loom_expr tile,
                                  loom_expr first, const char *component, const char *dimension);
/* The variable a loop has in one einsum, where it differs. */
LOOM_API loom_status loom_mapping_variable_in(loom_mapping *m, int loop, const char *einsum,
                                              const char *variable);
/* The tiles of a loop start every `step` values where that is less than their extent: what two of
** them share is gone through, and computed, twice.  There are as many as reach the end of the extent
** around the loop; the last is clipped there. */
LOOM_API loom_status loom_mapping_step(loom_mapping *m, int loop, loom_expr step);
/* The tiles of a shared loop in one einsum, after loom_mapping_variable_in; first and step LOOM_NONE:
** none. */
LOOM_API loom_status loom_mapping_tile_in(loom_mapping *m, int loop, const char *einsum,
                                          loom_expr tile, loom_expr first, loom_expr step);
/* Splits: the branches run one after the other in each iteration of the loops above; as the stages of
** a pipeline over the iterations of the loops in the same list; or at the same time.  They differ in
** elapsed time and in what is in memory together, not in reuse. */
LOOM_API int loom_mapping_sequential(loom_mapping *m, int list);
LOOM_API int loom_mapping_pipeline(loom_mapping *m, int list);
LOOM_API int loom_mapping_parallel(loom_mapping *m, int list);
LOOM_API int loom_mapping_branch(loom_mapping *m, int split); /* returns a list */
LOOM_API int loom_mapping_compute(loom_mapping *m, int list, const char *einsum,
                                  const char *component);
/* Where a node was written ("file.loom:3:7"), for messages; without it they give the node's path.
 */
LOOM_API loom_status loom_mapping_where(loom_mapping *m, int node, const char *where);

/* The symbols of an open mapping, named after the position of a loop among the loops of its path:
** stride0 (the open tile shape), initial0 (the first tile), n_iterations0.  Positive integers. */
typedef enum loom_loop_quantity {
  LOOM_LOOP_STRIDE,
  LOOM_LOOP_INITIAL,
  LOOM_LOOP_ITERATIONS
} loom_loop_quantity;
LOOM_API loom_expr loom_loop_symbol(loom_ctx *ctx, loom_loop_quantity which, int loop);

LOOM_C_END

#endif
