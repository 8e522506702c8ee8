/* SPDX-License-Identifier: MIT */
/* The analysis of one mapping, for the code inside core/reuse: one path per einsum, one nest per
** tensor, one analyzer per kind of node.
** Invariant: lists run from outermost to innermost; every index is in range; an expression that is
** LOOM_NONE after a step has its error recorded in the context. */
#ifndef EINLOOM_REUSE_H
#define EINLOOM_REUSE_H

#include "model/arch.h"
#include "model/mapping.h"
#include "model/workload.h"

/* A node of a path.  `node` is what the result shows. */
typedef struct loom_path_node {
  loom_node node;
  int source;         /* node of the mapping; of a reservation: its holder's */
  int access;         /* holders and reservations: access of the einsum, else -1 */
  int component, dim; /* in the architecture, or -1 */
  int analyzer;       /* custom holders: in options, else -1 */
  bool may_lower;
} loom_path_node;

/* A loop of a path and how it cuts the extent that the next outer loop over its variable leaves. */
typedef struct loom_loop {
  int at;            /* in the path */
  int variable;      /* of the workload */
  int outer;         /* the next outer loop over the variable, or -1 */
  int fanout;        /* spatial: entry of the fanout list, else -1 */
  int first_latency; /* entry of the list of first latencies, or -1 */
  bool spatial;
  bool two_kinds; /* a first tile, then others */
  bool varies;    /* trips depend on which kinds of tile enclose the loop, or on its own */
  loom_expr tile, first, step; /* step LOOM_NONE: tiles do not overlap */
  /* LOOM_NONE where they depend on the kinds of tile around the loop: */
  loom_expr trips;     /* tiles in the extent */
  loom_expr reference; /* as tensors see them that do not use the variable */
  int kind;            /* while evaluating: kind of tile chosen, or -1 */
  int shared_buffet;   /* while evaluating: buffet whose traffic the units shared, or -1 */
} loom_loop;

/* Counting rules of a model: all that differs between models (doc/formulas.md#rules). */
typedef struct loom_rules {
  const char *name;
  /* Runs of tiles that a loop makes of an extent: `first` LOOM_NONE: one run. */
  loom_status (*tiles)(loom_ctx *ctx, loom_expr extent, loom_expr tile, loom_expr first,
                       loom_tiles *out);
  /* Trips of an outermost loop as seen by tensors that do not use its variable. */
  loom_expr (*reference_trips)(loom_ctx *ctx, loom_expr extent, loom_expr tile, loom_expr trips);
  /* Values of a tensor in a tile with these extents by variable. */
  loom_expr (*footprint)(loom_analysis *an, const loom_access *access, const loom_expr *extents);
} loom_rules;
extern const loom_rules loom_reference_rules;

/* A node in one tensor's nest. */
typedef struct loom_nest_node {
  int at; /* in the path */
  loom_relevancy relevancy;
  bool shared; /* spatial: one access may serve all units */
} loom_nest_node;

/* What evaluating keeps per position of a nest on the way down for the way up. */
typedef struct loom_level {
  loom_expr trips, true_trips; /* as the tensor sees them; as they are */
  loom_expr outside;           /* the variable's extent outside the loop */
} loom_level;

/* Statistics being computed, linked so that a collection finds them. */
typedef struct loom_frame {
  struct loom_frame *next;
  loom_stats *stats;
} loom_frame;

typedef struct loom_result_part loom_result_part;

typedef loom_status (*loom_counter)(loom_analysis *an, loom_result_part *part);

struct loom_analysis {
  loom_owner owner;
  loom_ctx *ctx;
  const loom_workload *w;
  const loom_arch *a;
  const loom_mapping *m;
  const loom_options *options;
  const loom_rules *rules;
  /* The statistics of the einsum at hand, whose path is there: those of compute, then each tensor's
  ** with loom_part_add_tensor. */
  loom_counter count;
  const void *given; /* what count was told */
  loom_result *result;
  loom_arena kept, scratch; /* until the end; until the next einsum */
  loom_expr zero, one;
  const char **tensor_name, **variable_name, **component_name; /* in the result, made when used */

  /* The einsum at hand. */
  const loom_einsum *einsum;
  const char *einsum_name;
  int compute; /* component of the compute unit */
  loom_path_node *path;
  size_t n_path;
  loom_loop *loops;
  size_t n_loops;
  bool concrete;       /* no symbol in any size or tile of the path */
  loom_fanout *fanout; /* dimensions that loops use */
  size_t n_fanout, n_first_latency;

  /* The tensor at hand: -1 and a nest of loops alone for operations and latency. */
  int access;
  loom_nest_node *nest;
  size_t n_nest;
  struct loom_exact *exact; /* of the model `exact` */
  bool with_compute;        /* operations, latency and fanout are evaluated too */
  loom_expr *extents;       /* by variable */
  loom_level *levels;       /* by position in the nest */
  loom_frame *frames;
  const loom_path_node *custom; /* the custom node being analysed */
};

/* One einsum of a result. */
struct loom_result_part {
  const char *name;
  loom_stats stats;
  loom_expr *symbols;
  size_t n_symbols;
  loom_node *path;
  size_t n_path;
  const char **tensors;
  loom_node **nests;
  size_t *n_nests;
  size_t n_tensors;
};

struct loom_result {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_result_part *parts;
  size_t n_parts;
};

/* NULL with a recorded error. */
loom_result *loom_result_new(loom_ctx *ctx);
/* Marks every expression of stats for a collection. */
void loom_stats_mark(loom_ctx *ctx, const loom_stats *stats);

/* As loom_analyze, each einsum counted by `count`, which finds `given` in the analysis. */
loom_result *loom_analyze_by(const loom_workload *w, const loom_arch *a, const loom_mapping *m,
                             const loom_options *options, loom_counter count, const void *given);

/* ---- steps, in order ---------------------------------------------------------------------- */

/* The mapping as a tree: names and classes, one compute node at the end of each list. */
loom_status loom_check_tree(const loom_analysis *an);
/* Fills path, loops and compute from the tree (SEMANTICS 2); `leaf` is the compute node. */
loom_status loom_path_build(loom_analysis *an, int leaf);
/* Marks fused loops and gives open loops their symbols. */
loom_status loom_label_loops(loom_analysis *an);
/* The path is a valid mapping of the einsum. */
loom_status loom_check_path(loom_analysis *an);
/* Inserts the reservations into the path. */
loom_status loom_place_reservations(loom_analysis *an);
/* Trips of every loop, as far as they do not vary, by the rules of the model `reference` (another
** model leaves them LOOM_NONE and counts itself); fanout and first latency lists. */
loom_status loom_count_trips(loom_analysis *an);
/* Fills access, nest and with_compute for one tensor, or (access -1) for operations. */
loom_status loom_nest_build(loom_analysis *an, int access);
/* Statistics of the nest at hand; `stats` has room for its buffets. */
loom_status loom_evaluate(loom_analysis *an, loom_stats *stats);
/* Adds the tensor whose nest is at hand to the part; its buffets stand after those that are there
** already, in part->stats.buffets. */
loom_status loom_part_add_tensor(loom_analysis *an, loom_result_part *part,
                                 const loom_stats *stats);
/* Merges the buffets of a copy einsum level by level. */
loom_status loom_merge_copy(loom_analysis *an, loom_stats *stats);

/* ---- analyzers: the child's statistics become the node's ---------------------------------- */

/* A loop around the nest below. */
typedef struct loom_step {
  loom_loop *loop;
  loom_expr trips, true_trips;
  loom_relevancy relevancy;
  bool shared;
} loom_step;

bool loom_analyze_temporal(loom_analysis *an, const loom_step *step, loom_stats *stats);
bool loom_analyze_spatial(loom_analysis *an, const loom_step *step, loom_stats *stats);
bool loom_analyze_storage(loom_analysis *an, const loom_path_node *node, loom_stats *stats);
bool loom_analyze_toll(loom_analysis *an, const loom_path_node *node, loom_stats *stats);
bool loom_analyze_custom(loom_analysis *an, const loom_path_node *node, loom_stats *stats);
bool loom_analyze_reservation(loom_analysis *an, const loom_path_node *node, loom_stats *stats);
bool loom_analyze_compute(loom_analysis *an, const loom_path_node *node, loom_stats *stats);
/* Statistics of the nest with the second kind of a loop's tiles join those with the first. */
bool loom_combine_kinds(loom_analysis *an, const loom_loop *loop, loom_relevancy relevancy,
                        loom_stats *stats, const loom_stats *second);

/* ---- helpers ------------------------------------------------------------------------------ */

extern const unsigned char loom_buffet_classes[LOOM_N_BUFFET_FIELDS];

const char *loom_name_of_tensor(loom_analysis *an, int tensor);
const char *loom_name_of_variable(loom_analysis *an, int variable);
const char *loom_name_of_component(loom_analysis *an, int component);
const loom_access *loom_access_of(const loom_analysis *an, int access);
/* A buffet with every count zero, appended to stats. */
loom_buffet *loom_buffet_add(const loom_analysis *an, loom_stats *stats, const char *level);
/* *into += term (zero terms cost nothing); false when it failed. */
bool loom_accumulate(const loom_analysis *an, loom_expr *into, loom_expr term);
/* *into *= factor; zero and one cost nothing. */
bool loom_multiply(const loom_analysis *an, loom_expr *into, loom_expr factor);
/* Bits per value of a holder's tensor at its component. */
loom_expr loom_bits_of(const loom_analysis *an, const loom_path_node *node);
/* Adds the actions that the last buffet's own traffic and that of its child cost, for the
** directions of loom_direction; scales are actions per value; `drains`: what is sent up is read. */
bool loom_holder_actions(loom_analysis *an, loom_stats *stats, loom_expr read_scale,
                         loom_expr write_scale, unsigned direction, bool skips, bool drains);
/* Records "PLACE: ..." for a node of the mapping. */
loom_status loom_fail(const loom_analysis *an, loom_status status, int source, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
/* As loom_name_error, at a node of the mapping. */
loom_status loom_fail_name(const loom_analysis *an, loom_status status, int source,
                           const char *what, const char *name, loom_names known);
/* Records that the einsum has no such rank variable, with those it has. */
loom_status loom_fail_variable(const loom_analysis *an, int source, const char *name);
/* The error recorded, or LOOM_ERR_MEMORY where none is. */
loom_status loom_failed(const loom_analysis *an);

#endif
