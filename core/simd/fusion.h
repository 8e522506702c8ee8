/* SPDX-License-Identifier: MIT */
/* Groups of operations that become kernels, for the code in core/simd/fuse*.c.
** Invariant: every operation is in one group; the facts of a group are those of its operations
** together, so that a pair is decided without looking at them again.  `above` and `below` are closed:
** they know of paths through groups. */
#ifndef EINLOOM_FUSION_H
#define EINLOOM_FUSION_H

#include "ranges/ranges.h"
#include "simd/graph.h"

/* Numbers below a limit, each once, in order of entry. */
typedef struct loom_id_set {
  int *at;
  size_t n, capacity;
  uint64_t *bits; /* one for each number, once there are many; else NULL */
} loom_id_set;

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
  int lead; /* the operation whose extents the group has: the template, the first that reduces, else the first */
  bool opaque, reduces, split_scan;
  int template; /* the operation that takes in neighbours; -1: none */
  int min_order, max_order;
  uint64_t *members, *ancestors; /* operations, and those they depend on in the graph */
  uint64_t *above, *below;       /* operations of the groups before and behind it */
  loom_id_set deps;              /* accesses, reads and writes alike */
  loom_id_set unmet;             /* reads of what operations outside the group write */
  LOOM_VEC(loom_storage_use) storages;
  bool tiled; /* the rest is known; of groups without reductions */
  loom_id_set nests, names;
  loom_fuse_candidates candidates, ranked; /* of ranked each tiling once, the best score first */
  int tiling;                              /* chosen; -1: not yet */
} loom_group;

/* A pair of groups that may be fused. */
typedef struct loom_fuse_choice {
  int first, second; /* operations in them */
  loom_fuse_score score;
  size_t place; /* in the order in which the pairs were found */
} loom_fuse_choice;

/* A group that uses a buffer. */
typedef struct loom_buffer_use {
  int group, next; /* next: place in f->uses; -1: none */
} loom_buffer_use;

struct loom_fusion {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_graph *graph;
  loom_fusion_options options;
  size_t n_ops, n_words; /* of a set of operations */
  loom_group *groups;    /* by their number: one of their operations */
  int *parent, *next;    /* by operation: towards its group's number; the next of its group, -1 */
  int *nest_of;          /* by operation: place in nests; -1: not known */
  LOOM_VEC(int) order;   /* numbers of groups */
  LOOM_VEC(int) nests;   /* operations, one for each list of sizes */
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
  LOOM_VEC(int) users;               /* groups that use one buffer */
  int *first_use, *last_use, *stamp; /* by buffer */
  int epoch;
  loom_fuse_candidates scratch;
  LOOM_VEC(int) stack, numbers;
  /* results: */
  LOOM_VEC(loom_fused) kernels;
  LOOM_VEC(loom_refusal) refusals;
};

/* The number of the group an operation is in. */
int loom_fusion_group(loom_fusion *f, int op);
/* A group for every operation.  False with an error. */
bool loom_fusion_begin(loom_fusion *f);
/* Puts the operations of b behind those of a: the number of the group, -1 with an error. */
int loom_fusion_join(loom_fusion *f, int a, int b);
/* Whether a group that is neither would have to run between them. */
bool loom_fusion_cycle(const loom_fusion *f, int a, int b);
static inline const loom_op *loom_fusion_op(const loom_fusion *f, int op) {
  return &f->graph->ops.at[op];
}
static inline loom_expr loom_group_extent(const loom_fusion *f, const loom_group *g) {
  return f->graph->ops.at[g->lead].extent;
}
static inline loom_expr loom_group_reduction(const loom_fusion *f, const loom_group *g) {
  return f->graph->ops.at[g->lead].reduction_extent;
}

/* Sets of numbers below a limit, in the arena. */
bool loom_id_set_has(const loom_id_set *set, int id);
bool loom_id_set_add(loom_arena *arena, loom_id_set *set, int id, size_t limit);

/* Tilings of groups: b's facts become a's.  False with an error. */
bool loom_group_join_tilings(loom_fusion *f, loom_group *a, loom_group *b);
/* Whether the loops of two groups go together. */
loom_fuse_reason loom_fusion_shape(loom_fusion *f, int first, int second);
/* The scheduler's decision; the loop shapes are asked last. */
loom_fuse_reason loom_fusion_decide(loom_fusion *f, int first, int second);
/* Bytes of the accesses common to both. */
int64_t loom_fusion_shared(const loom_fusion *f, int first, int second);
loom_fuse_score loom_fusion_score(const loom_fusion *f, int first, int second);
/* The score of a pair of that many shared bytes. */
int loom_fuse_score_order(const loom_fuse_score *a, const loom_fuse_score *b);

#endif
