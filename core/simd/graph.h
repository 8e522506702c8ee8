/* SPDX-License-Identifier: MIT */
/* A graph of loop nests, for the code in core/simd/.
** Invariant: an operation comes behind all that it depends on; what is derived of buffers and
** operations does not change once they are added, but for the lists of users, `updated_by` and
** `removed` of buffers. */
#ifndef EINLOOM_GRAPH_H
#define EINLOOM_GRAPH_H

#include "expr/node.h"
#include "model/arena.h"
#include "simd/table.h"

/* An address as it was given and in merged form. */
typedef struct loom_merged {
  loom_expr index, merged_index;
  size_t n, n_merged;
  const loom_extent *loops, *merged_loops;
} loom_merged;

/* The candidates of an operation for these extents. */
typedef struct loom_candidates {
  loom_expr extent, reduction_extent; /* LOOM_NONE: not known */
  size_t n;
  const loom_candidate *list;
} loom_candidates;

/* What is known of the operations before one.  A chain is a list of operations each of which needs the
** one before it. */
typedef struct loom_reach {
  int level;     /* needs in a row that lead to it, at most */
  int low;       /* the first of it and those before it */
  int chain;     /* the first operation of its chain */
  bool is_tail;  /* nothing of its chain is behind it */
  uint32_t mark; /* the search that saw it last */
} loom_reach;

struct loom_graph {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  size_t n_holds; /* by plans: each needs a loom_graph_free too */
  loom_given given;
  LOOM_VEC(loom_extent) extents;
  LOOM_VEC(loom_hint) hints;
  LOOM_VEC(loom_buffer) buffers;
  LOOM_VEC(loom_op) ops;
  LOOM_VEC(loom_merged) merged;
  LOOM_VEC(loom_dep *) deps;
  LOOM_VEC(const loom_dep *) found;     /* of the operation that is being added */
  LOOM_VEC(loom_candidates) candidates; /* by operation */
  LOOM_VEC(loom_reach) reach;           /* by operation */
  LOOM_VEC(loom_list) lists;
  LOOM_VEC(int) list_of; /* by operation, as far as one is in a list; + 1, 0: none */
  LOOM_VEC(int) stack;   /* as long as the list of operations */
  LOOM_VEC(int) numbers;
  uint32_t search;           /* the number of searches */
  LOOM_VEC(uint32_t) stamps; /* by buffer: the epoch in which it was last seen */
  uint32_t epoch;
  loom_table buffer_names, op_names, merged_places, dep_places;
};

/* The graph lives until it is freed once more. */
loom_graph *loom_graph_hold(loom_graph *g);
/* Records LOOM_ERR_BAD_GRAPH and returns -1. */
int loom_graph_bad(loom_graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* False with LOOM_ERR_BAD_GRAPH where a size is negative at the hints; what: "operation", "buffer". */
bool loom_graph_check_hinted(loom_graph *g, const char *what, const char *name, loom_expr size);
/* The merged form of an access over these loops.  NULL with an error. */
const loom_dep *loom_graph_dep(loom_graph *g, const loom_use *use, size_t n,
                               const loom_extent *loops);
/* Whether the access runs over all of the buffer, in the order of its storage. */
bool loom_graph_covers(const loom_graph *g, const loom_dep *dep);
/* Of n operations those that the buffer comes from, in their order, to list: how many. */
ptrdiff_t loom_graph_feed(loom_graph *g, size_t n, const int *ops, int buffer, int *list);
/* The place of the template among n operations; n without one. */
size_t loom_graph_template(const loom_graph *g, size_t n, const int *ops);
/* The schedule of a template and those around it, to steps with room for 2 * n: how long; -1 with an
** error. */
ptrdiff_t loom_template_schedule(loom_graph *g, size_t n, const int *ops, int *steps);
/* Forgets which buffers were stamped; there is a stamp for each.  False with an error. */
bool loom_graph_stamp(loom_graph *g);
/* Enters op as a user of the buffer, once; order gives way to any other use. */
bool loom_graph_use(loom_graph *g, int buffer, int op, bool order);
/* Fills op->needs.  False with an error. */
bool loom_graph_find_needs(loom_graph *g, const loom_op_info *info, loom_op *op);
/* Enters the labels of the next operation. */
bool loom_graph_label(loom_graph *g, const loom_op *op);

#endif
