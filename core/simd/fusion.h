/* SPDX-License-Identifier: MIT */
/* Groups of operations that become kernels, for the code in core/simd/fuse*.c.
** Invariant: every operation is in one group; the facts of a group are those of its operations
** together, so that a pair is decided without looking at them again.  Every group is in one unit: alone,
** or with the other members of a list.  A unit has a larger label than those it needs. */
#ifndef EINLOOM_FUSION_H
#define EINLOOM_FUSION_H

#include "ranges/ranges.h"
#include "simd/graph.h"
#include "simd/idset.h"

/* A candidate of a group; `name` is the buffer it suits + 1. */
typedef struct loom_fuse_candidate {
  int name;
  loom_expr score;
  int tiling; /* place in f->tilings */
} loom_fuse_candidate;
typedef LOOM_VEC(loom_fuse_candidate) loom_fuse_candidates;

/* How many reads there are of buffers that nobody else reads and that have this type and storage
** size (place in f->storages). */
typedef struct loom_storage_use {
  int storage, count;
} loom_storage_use;

typedef struct loom_group {
  int first, last; /* operations; the others by f->next */
  size_t n;
  int unit;
  int lead; /* the operation whose extents the group has: the template, the first that reduces, else the first */
  bool opaque, reduces, split_scan;
  int template_op; /* the operation that takes in neighbours; -1: none */
  int min_order, max_order;
  loom_id_set deps;  /* accesses, reads and writes alike */
  loom_id_set unmet; /* reads of what operations outside the group write */
  LOOM_VEC(loom_storage_use) storages;
  bool tiled; /* the rest is known; of groups without reductions */
  loom_id_set nests, names;
  loom_fuse_candidates candidates, ranked; /* of ranked each tiling once, the best score first */
  int tiling;                              /* chosen; -1: not yet */
} loom_group;

/* What is launched at once. */
typedef struct loom_unit {
  size_t n;
  int *members;          /* groups; of a list in its order */
  int n_common;          /* in this round: buffers that other units use too */
  int needs, last_need;  /* operations of others that it needs, by place in f->needs; -1: none */
  int64_t label;         /* its place in an order in which units may run */
  int before, behind;    /* units in this order; -1: none */
  uint32_t mark, listed; /* the search that saw it last, as a unit and as one that is needed */
} loom_unit;

/* A pair of units that may be fused, small enough to be sorted in place. */
typedef struct loom_fuse_choice {
  int64_t bytes;      /* of the score */
  int nearness, kind; /* of the score; twice its kind, and 1 for one kind */
  int first, second;  /* operations in them */
  uint32_t place;     /* in the order in which the pairs were found */
} loom_fuse_choice;

/* An operation that a unit needs. */
typedef struct loom_fuse_need {
  int op, next; /* next: place in f->needs; -1: none */
} loom_fuse_need;

/* A unit that is moved in the order by labels. */
typedef struct loom_fuse_move {
  int64_t label;
  int unit;
} loom_fuse_move;

/* How a unit depends on another. */
typedef struct loom_fuse_path {
  bool direct;  /* it needs an operation of it */
  bool between; /* it needs a third one that depends on it */
} loom_fuse_path;

/* A unit that uses a buffer. */
typedef struct loom_buffer_use {
  int unit, next; /* next: place in f->uses; -1: none */
} loom_buffer_use;

struct loom_fusion {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_graph *graph;
  loom_fusion_options options;
  size_t n_ops;
  loom_group *groups;  /* by their number: one of their operations */
  int *parent, *next;  /* by operation: towards its group's number; the next of its group, -1 */
  int *nest_of;        /* by operation: place in nests; -1: not known */
  loom_unit *units;    /* by number: one of their operations */
  LOOM_VEC(int) order; /* numbers of units */
  LOOM_VEC(loom_fuse_need) needs;
  int first;                /* unit by its label */
  uint32_t search, listing; /* numbers of searches, and of the lists of needs looked through */
  LOOM_VEC(int) visited;    /* by a search: units between its ends */
  LOOM_VEC(int) trail;      /* units that it has still to visit */
  LOOM_VEC(loom_fuse_move) moves;
  LOOM_VEC(int) nests; /* operations, one for each list of sizes */
  LOOM_VEC(loom_tiling) tilings;
  loom_table nest_places, tiling_places;
  loom_idmap fits;     /* nest and tiling -> 1: no, 2: yes */
  loom_idmap storages; /* type and storage size -> place + 1 */
  LOOM_VEC(loom_expr) storage_sizes;
  /* of a round: */
  loom_idmap seen; /* pairs */
  LOOM_VEC(loom_fuse_choice) choices;
  LOOM_VEC(loom_buffer_use) uses;
  LOOM_VEC(int) used;                /* buffers in order of first use */
  LOOM_VEC(int) users;               /* units that use one buffer */
  int *first_use, *last_use, *stamp; /* by buffer */
  int epoch;
  loom_fuse_candidates scratch;
  LOOM_VEC(int) stack, numbers;
  /* results: */
  LOOM_VEC(loom_fused) kernels;
  LOOM_VEC(loom_refusal) refusals;
};

/* The number of the group an operation is in. */
int loom_fusion_group(const loom_fusion *f, int op);
static inline bool loom_fusion_in(const loom_fusion *f, int op, const loom_group *g) {
  return loom_fusion_group(f, op) == (int)(g - f->groups);
}
static inline int loom_fusion_unit(const loom_fusion *f, int op) {
  return f->groups[loom_fusion_group(f, op)].unit;
}
/* The first group of a unit. */
static inline loom_group *loom_unit_group(const loom_fusion *f, int unit) {
  return &f->groups[f->units[unit].members[0]];
}
/* A group for every operation, a unit for each group or list.  False with an error. */
bool loom_fusion_begin(loom_fusion *f);
/* Fuses two units, group by group; false with an error. */
bool loom_fusion_join(loom_fusion *f, int first, int second);
/* Whether an operation of group b needs one of a. */
bool loom_group_needs(const loom_fusion *f, const loom_group *b, const loom_group *a);
/* Puts the operations of group b behind those of a: false with an error. */
bool loom_group_join(loom_fusion *f, loom_group *a, loom_group *b);

/* How unit b depends on a.  Leaves in f->visited the units with labels between theirs that b needs,
** unless there is one that depends on a.  False with an error. */
bool loom_fusion_path(loom_fusion *f, int a, int b, loom_fuse_path *out);
/* Gives the units labels by their order in f->order. */
void loom_fusion_label(loom_fusion *f);
/* Unit a takes the place of both in the order by labels, and needs what both do; neither depends on
** the other through a third. */
bool loom_fusion_merge_labels(loom_fusion *f, int a, int b);
/* Enters an operation that the unit needs. */
bool loom_fusion_need(loom_fusion *f, int unit, int op);

/* Groups of two units that are fused with each other. */
typedef struct loom_unit_pair {
  loom_group *a, *b;
} loom_unit_pair;
/* The i-th pair of groups; false behind the last one.  Of a list and a single group: it and the member
** that it needs or that needs it, of which there must be one (loom_units_fit). */
bool loom_units_pair(const loom_fusion *f, int first, int second, size_t i, loom_unit_pair *out);
/* Whether the groups of the units are pairs, and none needs what is in another pair. */
loom_fuse_reason loom_units_fit(const loom_fusion *f, int first, int second);
static inline const loom_op *loom_fusion_op(const loom_fusion *f, int op) {
  return &f->graph->ops.at[op];
}
static inline loom_expr loom_group_extent(const loom_fusion *f, const loom_group *g) {
  return f->graph->ops.at[g->lead].extent;
}
static inline loom_expr loom_group_reduction(const loom_fusion *f, const loom_group *g) {
  return f->graph->ops.at[g->lead].reduction_extent;
}

/* Tilings of groups: b's facts become a's.  False with an error. */
bool loom_group_join_tilings(loom_fusion *f, loom_group *a, loom_group *b);
/* Whether the loops of two groups go together. */
loom_fuse_reason loom_fusion_shape(loom_fusion *f, loom_group *a, loom_group *b);
/* The scheduler's decision about two units; the loop shapes are asked last.  Exact: the reason is that
** of the first rule that refuses, for which the whole graph may be searched; else it may be that of
** a later one. */
loom_fuse_reason loom_fusion_decide(loom_fusion *f, int first, int second, bool exact);
/* Whether an operation of unit b depends on one of a in the graph. */
bool loom_fusion_depends(const loom_fusion *f, int a, int b);
loom_fuse_score loom_fusion_score(const loom_fusion *f, int first, int second);

#endif
