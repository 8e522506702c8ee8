/* SPDX-License-Identifier: MIT */
/* Reuse analysis: the statistics of a mapping. */
#ifndef EINLOOM_PUBLIC_REUSE_H
#define EINLOOM_PUBLIC_REUSE_H

#include "einloom/model.h"

LOOM_C_BEGIN

/* Statistics of a buffet: one tensor at one level of one einsum.
** Classes say which loops multiply a field (doc/formulas.md):
** PARENT about traffic to the next outer holder; TOTAL summed over all instances; UNIT of the
** busiest instance; SKIP first touches, not repeated by loops that leave the tile in place; EXACT
** counted by the model `exact` alone: LOOM_NONE in others.
** X(field, classes) */
#define LOOM_BUFFET_FIELD_LIST(X)                                              \
  X(total_reads_to_parent, LOOM_F_PARENT)                                      \
  X(total_writes_to_parent, LOOM_F_PARENT)                                     \
  X(max_per_parent_reads_to_parent, LOOM_F_PARENT)                             \
  X(max_per_parent_writes_to_parent, LOOM_F_PARENT)                            \
  X(total_skipped_first_reads_to_parent, LOOM_F_PARENT | LOOM_F_SKIP)          \
  X(min_per_parent_skipped_first_reads_to_parent, LOOM_F_PARENT | LOOM_F_SKIP) \
  X(total_read_actions, LOOM_F_TOTAL)                                          \
  X(total_write_actions, LOOM_F_TOTAL)                                         \
  X(max_per_unit_read_actions, LOOM_F_UNIT)                                    \
  X(max_per_unit_write_actions, LOOM_F_UNIT)                                   \
  X(total_skipped_first_read_actions, LOOM_F_TOTAL | LOOM_F_SKIP)              \
  X(total_skipped_first_write_actions, LOOM_F_TOTAL | LOOM_F_SKIP)             \
  X(min_per_unit_skipped_first_read_actions, LOOM_F_UNIT | LOOM_F_SKIP)        \
  X(min_per_unit_skipped_first_write_actions, LOOM_F_UNIT | LOOM_F_SKIP)       \
  X(max_occupancy, LOOM_F_OCCUPANCY)                                           \
  X(total_deliveries, LOOM_F_EXACT)                                            \
  X(total_departures, LOOM_F_EXACT)                                            \
  X(total_drains, LOOM_F_EXACT)                                                \
  X(fewest_live, LOOM_F_EXACT)
enum {
  LOOM_F_PARENT = 1,
  LOOM_F_TOTAL = 2,
  LOOM_F_UNIT = 4,
  LOOM_F_SKIP = 8,
  LOOM_F_OCCUPANCY = 16,
  LOOM_F_EXACT = 32
};
typedef enum loom_buffet_field {
#define LOOM_FIELD_ENUM(field, classes) LOOM_BUFFET_##field,
  LOOM_BUFFET_FIELD_LIST(LOOM_FIELD_ENUM)
#undef LOOM_FIELD_ENUM
      LOOM_N_BUFFET_FIELDS
} loom_buffet_field;
LOOM_API const char *loom_buffet_field_name(loom_buffet_field field);

/* reads, writes, occupancy: values, values, bits; *_actions: actions.  Deliveries: values arriving
** at all instances; departures: values leaving them upwards; drains: departures that are reads of
** the holder; fewest_live: bits that must be there at one time at least, LOOM_NONE too where counting
** them takes too long. */
typedef struct loom_buffet {
  const char *tensor, *level;
  loom_expr field[LOOM_N_BUFFET_FIELDS];
  int n_loops_above; /* loops above the reservation in the tensor's nest; -1 persistent */
  bool persistent;
} loom_buffet;

typedef struct loom_compute_stats {
  const char *level;
  loom_expr total_ops, max_per_unit_ops, max_latency; /* operations, operations, steps */
  loom_expr instances; /* units that compute at least once; model `exact`, else LOOM_NONE */
} loom_compute_stats;

typedef struct loom_fanout {
  const char *component, *dim;
  loom_expr used; /* instances */
} loom_fanout;

/* Latency of the first iteration of a loop of the path (by position among its loops). */
typedef struct loom_first_latency {
  int loop;
  loom_expr steps;
} loom_first_latency;

/* One node of a path or of a tensor's nest.  Names are NULL, expressions LOOM_NONE where not used.
** trips: how often a loop runs, in a nest as the tensor sees it; LOOM_NONE where that depends on
** which tile (first or other) of an outer loop over the variable is meant. */
typedef struct loom_node {
  loom_node_kind kind;
  const char *custom, *tensor, *component, *dim, *variable, *einsum;
  loom_expr tile, first, step, trips;
  bool persistent, backing, fused;
  loom_lifetime lifetime; /* of a storage node: its own or that of loom_options */
  int loop;               /* position among the loops of the path, or -1 */
  int source;             /* number of the mapping's node; of a reservation: its holder's */
} loom_node;

/* What a node is analysed from and gives back, innermost buffet first.  Fields are filled in the
** arrays given; the library owns them.  In the result of an einsum the buffets of all its tensors
** stand one tensor after the other. */
typedef struct loom_stats {
  loom_buffet *buffets;
  size_t n_buffets;
  loom_compute_stats compute;
  loom_fanout *fanout;
  size_t n_fanout;
  loom_first_latency *first_latency;
  size_t n_first_latency;
  loom_expr temporal_steps;
} loom_stats;

/* Extents of the tile at a node, by rank variable. */
typedef struct loom_shape {
  size_t n;
  const char *const *variables;
  const loom_expr *extents;
} loom_shape;

/* A user's analyzer for a holder kind: `stats` holds the child's result on entry and the node's on
** return; the node's buffet is the last one, made by its reservation.  `self` serves
** loom_analyze_as.  Buffets are for changing (fields other than n_loops_above and names); compute,
** fanout, first latency and temporal_steps are those of the loops below, for information: what is
** done to them reaches no result.  Any failure: record with loom_error_set and return it. */
typedef struct loom_analysis loom_analysis;
typedef loom_status (*loom_analyzer)(void *data, loom_ctx *ctx, loom_analysis *self,
                                     const loom_node *node, const loom_shape *shape,
                                     loom_stats *stats);
/* Applies a built-in holder analyzer (storage or toll) to stats, as if the node were of that kind.
 */
LOOM_API loom_status loom_analyze_as(loom_analysis *self, loom_node_kind kind, loom_stats *stats);

typedef struct loom_node_analyzer {
  const char *kind;
  loom_analyzer analyze;
  void *data;
} loom_node_analyzer;

/* How is counted: `reference` with averages and bounding boxes, `exact` what the loop nest really
** does (doc/formulas.md). */
typedef enum loom_model { LOOM_EXACT, LOOM_REFERENCE } loom_model;

typedef struct loom_options {
  loom_model model;
  /* Conventions of the model `exact`; the reference has the first of each pair alone: */
  loom_lifetime lifetime;        /* of storage nodes that do not say: LOOM_SCOPE, LOOM_RETAIN */
  bool uncounted_drains;         /* reading values to write them back is an action, or is not */
  bool partial_sums_to_one_unit; /* all units that reduce into an element get its old sum, or one */
  /* Accepted instead of an error: */
  bool allow_unknown_tensors; /* holders may list tensors no einsum of the workload has */
  /* A tile may be larger than the extent it cuts.  The model `exact` takes such numbers as one piece
  ** all the same; its formulas hold for them with this option. */
  bool allow_growing_tiles;
  bool allow_unmapped_einsums; /* einsums without a compute node are left out */
  bool
      round_trips; /* open tiles may leave a part: trips are rounded up where those of numbers would be,
                    ** whichever loop over a variable is its outermost one with several trips
                    ** (doc/formulas.md#trips) */
  const loom_node_analyzer *analyzers;
  size_t n_analyzers;
} loom_options;

/* Analyses every mapped einsum (doc/formulas.md); options NULL: all 0.  NULL and an error when the
** mapping is invalid, or when an error is recorded already.  The result outlives w, a and m. */
LOOM_API LOOM_GIVE loom_result *loom_analyze(const loom_workload *w, const loom_arch *a,
                                             const loom_mapping *m, const loom_options *options);
/* The figures of the model `exact`, counted by walking every point of the loops: numbers only, of
** nests of limited size.  Sizes and tiles are taken where n symbols have their values.  Holders of a
** kind of their own are refused; options->model is not looked at. */
LOOM_API LOOM_GIVE loom_result *loom_simulate(const loom_workload *w, const loom_arch *a,
                                              const loom_mapping *m, const loom_options *options,
                                              size_t n, const loom_expr *symbols,
                                              const loom_expr *values);
LOOM_API void loom_result_free(loom_result *r);
LOOM_API size_t loom_result_einsums(const loom_result *r);
LOOM_API const char *loom_result_einsum(const loom_result *r, size_t einsum);
LOOM_API const loom_stats *loom_result_stats(const loom_result *r, size_t einsum);
/* Symbols of the tile shapes on the einsum's path, by first occurrence. */
LOOM_API size_t loom_result_symbols(const loom_result *r, size_t einsum, const loom_expr **symbols);
/* The path with its reservations; the nest used for one tensor (by access index). */
LOOM_API size_t loom_result_path(const loom_result *r, size_t einsum, const loom_node **nodes);
LOOM_API const char *loom_result_tensor(const loom_result *r, size_t einsum, size_t access);
LOOM_API size_t loom_result_tensors(const loom_result *r, size_t einsum);
LOOM_API size_t loom_result_nest(const loom_result *r, size_t einsum, size_t access,
                                 const loom_node **nodes);

LOOM_C_END

#endif
