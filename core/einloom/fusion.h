/* SPDX-License-Identifier: MIT */
/* Fusion of a graph's operations into kernels. */
#ifndef EINLOOM_PUBLIC_FUSION_H
#define EINLOOM_PUBLIC_FUSION_H

#include "einloom/kernel.h"

LOOM_C_BEGIN

/* Why two groups of operations do not become one kernel.  X(enumerator, name) */
#define LOOM_FUSE_REASON_LIST(X)                                                                   \
  X(LOOM_FUSE_OK, "ok")                                                                            \
  /* the scheduler's */                                                                            \
  X(LOOM_FUSE_FIRST_OPAQUE, "first_opaque") /* or it launches nothing */                           \
  X(LOOM_FUSE_SECOND_OPAQUE, "second_opaque")                                                      \
  X(LOOM_FUSE_WRONG_ORDER, "wrong_order")               /* the first depends on the second */      \
  X(LOOM_FUSE_UNFIT_FOR_TEMPLATE, "unfit_for_template") /* no pointwise neighbour of its own */    \
  X(LOOM_FUSE_NO_SHARED_DATA, "no_shared_data")         /* no access is common to both */          \
  X(LOOM_FUSE_TOO_MANY_NODES, "too_many_nodes")                                                    \
  X(LOOM_FUSE_MANY_READS, "many_reads")           /* more buffers than allowed */                  \
  X(LOOM_FUSE_PEAK_MEMORY, "peak_memory")         /* inputs that could reuse storage live */       \
  X(LOOM_FUSE_ACCESS_MISMATCH, "access_mismatch") /* reads other elements than are written */      \
  X(LOOM_FUSE_NODE_BETWEEN, "node_between")       /* must run after one and before other */        \
  X(LOOM_FUSE_LITTLE_SHARED_DATA, "little_shared_data") /* less than 10 bytes */                   \
  X(LOOM_FUSE_TOO_FAR, "too_far")                       /* more than 64 operations apart */        \
  X(LOOM_FUSE_LIST_LENGTHS_DIFFER, "list_lengths_differ")                                          \
  X(LOOM_FUSE_LIST_MEMBERS_MIXED, "list_members_mixed") /* they do not go together in pairs */     \
  X(LOOM_FUSE_CYCLE, "cycle")                           /* another kernel would wait for itself */ \
  /* of the loop shapes */                                                                         \
  X(LOOM_FUSE_SPLIT_SCAN, "split_scan") /* with a reduction */                                     \
  X(LOOM_FUSE_REDUCTION_EXTENTS_DIFFER, "reduction_extents_differ")                                \
  X(LOOM_FUSE_EXTENTS_DIFFER, "extents_differ")                                                    \
  X(LOOM_FUSE_TILING_DIFFERS, "tiling_differs")                                                    \
  X(LOOM_FUSE_LOOPS_DO_NOT_SPLIT, "loops_do_not_split")                                            \
  X(LOOM_FUSE_TILING_UNFIT, "tiling_unfit_for_reduction")                                          \
  X(LOOM_FUSE_OUTER_EXTENT_DIFFERS, "outer_extent_differs")                                        \
  X(LOOM_FUSE_ERROR, "error") /* recorded in the context */
typedef enum loom_fuse_reason {
#define LOOM_FUSE_REASON_ENUM(enumerator, name) enumerator,
  LOOM_FUSE_REASON_LIST(LOOM_FUSE_REASON_ENUM)
#undef LOOM_FUSE_REASON_ENUM
      LOOM_N_FUSE_REASONS
} loom_fuse_reason;
LOOM_API const char *loom_fuse_reason_name(loom_fuse_reason reason);

typedef struct loom_fusion_options {
  bool aggressive;    /* pairs of equal extents are asked about too, and pointwise ones that have no
                         access in common are not refused for that; as independent ones they still
                         must share some bytes */
  bool unshared;      /* aggressive, and independent pointwise operations need share nothing */
  size_t max_ops;     /* in one kernel; 0: 64 */
  size_t max_buffers; /* read or written by one kernel; 0: any number */
} loom_fusion_options;

/* The order in which pairs are fused: larger members first, one after the other. */
typedef struct loom_fuse_score {
  int kind;         /* 2: accesses are shared, 1: none are or the first is a template, 0: the second
                      is one */
  bool same_kind;   /* both reduce or neither does, and accesses are shared */
  int64_t bytes;    /* shared */
  int64_t nearness; /* minus the distance in the order of the operations */
} loom_fuse_score;

typedef struct loom_fuse_pair {
  loom_fuse_reason reason; /* of the scheduler */
  loom_fuse_reason shape;  /* of the loop shapes alone; LOOM_FUSE_OK where they are not asked */
  bool depends;            /* the second on the first */
  loom_fuse_score score;
} loom_fuse_pair;

/* Operations that run in one kernel, in order. */
typedef struct loom_fused {
  size_t n;
  const int *ops;
  loom_expr extent, reduction_extent;
  size_t launch; /* its place among what is launched: the same for those of a list, which come in
                    a row */
} loom_fused;

/* Two kernels that use a buffer in common and are not one. */
typedef struct loom_refusal {
  size_t first, second; /* places in the list of kernels */
  loom_fuse_reason reason;
} loom_refusal;

/* The operations of a graph, each a group of its own (and of those there are now). */
LOOM_API LOOM_GIVE loom_fusion *loom_fusion_new(loom_graph *g, const loom_fusion_options *options);
LOOM_API void loom_fusion_free(loom_fusion *f);
LOOM_API const loom_graph *loom_fusion_graph(const loom_fusion *f);
/* What is decided of the groups in which two operations are; LOOM_ERR_ARGUMENT for the same one. */
LOOM_API loom_status loom_fusion_pair(loom_fusion *f, int first, int second, loom_fuse_pair *out);
/* Fuses pairs of groups, the best score first, until nothing changes (ten rounds at most). */
LOOM_API loom_status loom_fusion_run(loom_fusion *f);
/* The groups in an order in which they may run, each behind those it depends on.  The list stays
** until the next call. */
LOOM_API ptrdiff_t loom_fusion_kernels(loom_fusion *f, const loom_fused **kernels);
/* Why kernels that use a common buffer are apart: pairs in order of the first, then of the second;
** at most 64 partners of each.  -1 with an error. */
LOOM_API ptrdiff_t loom_fusion_refusals(loom_fusion *f, const loom_refusal **refusals);

LOOM_C_END

#endif
