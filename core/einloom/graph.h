/* SPDX-License-Identifier: MIT */
/* Graphs of loop nests. */
#ifndef EINLOOM_PUBLIC_GRAPH_H
#define EINLOOM_PUBLIC_GRAPH_H

#include "einloom/ranges.h"

LOOM_C_BEGIN

/* A graph is what is scheduled into kernels: buffers, and operations in the order in which they may
** run, each of them a loop nest (or something opaque) that reads and writes buffers.  What is derived
** of a buffer or an operation is computed once, when it is added.  Buffers and operations are
** numbered from 0; the lists of the graph stay where they are until the next one is added. */

/* X(enumerator, name, bytes of an item) */
#define LOOM_DTYPE_LIST(X) \
  X(LOOM_F32, "f32", 4)    \
  X(LOOM_F64, "f64", 8)    \
  X(LOOM_F16, "f16", 2)    \
  X(LOOM_BF16, "bf16", 2)  \
  X(LOOM_I64, "i64", 8)    \
  X(LOOM_I32, "i32", 4)    \
  X(LOOM_I8, "i8", 1)      \
  X(LOOM_BOOL, "bool", 1)
typedef enum loom_dtype {
#define LOOM_DTYPE_ENUM(enumerator, name, bytes) enumerator,
  LOOM_DTYPE_LIST(LOOM_DTYPE_ENUM)
#undef LOOM_DTYPE_ENUM
      LOOM_N_DTYPES
} loom_dtype;
LOOM_API const char *loom_dtype_name(loom_dtype dtype);
LOOM_API int loom_dtype_bytes(loom_dtype dtype);

/* X(enumerator, name) */
#define LOOM_OP_KIND_LIST(X)                                                            \
  X(LOOM_OP_POINTWISE, "pointwise")                                                     \
  X(LOOM_OP_REDUCTION, "reduction")                                                     \
  X(LOOM_OP_SCAN, "scan")       /* a reduction of which every partial result is kept */ \
  X(LOOM_OP_SCATTER, "scatter") /* writes where a loaded value says */                  \
  X(LOOM_OP_OPAQUE, "opaque")   /* no loop nest: a matrix product, a library call */    \
  X(LOOM_OP_NOP, "nop") /* launches nothing: its buffers are other names for parts of storage */
typedef enum loom_op_kind {
#define LOOM_OP_ENUM(enumerator, name) enumerator,
  LOOM_OP_KIND_LIST(LOOM_OP_ENUM)
#undef LOOM_OP_ENUM
      LOOM_N_OP_KINDS
} loom_op_kind;
LOOM_API const char *loom_op_kind_name(loom_op_kind kind);

/* How a reduction is best spread over a machine, chosen before planning.  X(enumerator, name) */
#define LOOM_REDUCTION_HINT_LIST(X) \
  X(LOOM_HINT_DEFAULT, "default")   \
  X(LOOM_HINT_INNER, "inner")       \
  X(LOOM_HINT_OUTER, "outer")       \
  X(LOOM_HINT_OUTER_TINY, "outer_tiny")
typedef enum loom_reduction_hint {
#define LOOM_REDUCTION_HINT_ENUM(enumerator, name) enumerator,
  LOOM_REDUCTION_HINT_LIST(LOOM_REDUCTION_HINT_ENUM)
#undef LOOM_REDUCTION_HINT_ENUM
      LOOM_N_REDUCTION_HINTS
} loom_reduction_hint;
LOOM_API const char *loom_reduction_hint_name(loom_reduction_hint hint);

/* X(enumerator, name) */
#define LOOM_USE_MODE_LIST(X)                                        \
  X(LOOM_USE_INDEXED, "index") /* the element at index */            \
  X(LOOM_USE_WHOLE, "whole")   /* all of the buffer, in any order */ \
  X(LOOM_USE_ORDER, "order")   /* nothing of it, but not before its writer */
typedef enum loom_use_mode {
#define LOOM_USE_MODE_ENUM(enumerator, name) enumerator,
  LOOM_USE_MODE_LIST(LOOM_USE_MODE_ENUM)
#undef LOOM_USE_MODE_ENUM
      LOOM_N_USE_MODES
} loom_use_mode;
LOOM_API const char *loom_use_mode_name(loom_use_mode mode);

typedef struct loom_buffer_info {
  const char *name;
  size_t rank;
  const loom_expr *sizes;
  const loom_expr *strides; /* in elements; NULL: row-major */
  loom_expr offset;         /* elements before the first one; LOOM_NONE: 0 */
  loom_dtype dtype;
  bool output; /* leaves the graph */
} loom_buffer_info;

/* An operation that uses a buffer. */
typedef struct loom_user {
  int op;
  bool order; /* for ordering alone */
} loom_user;

typedef struct loom_buffer {
  const char *name;
  size_t rank;
  const loom_expr *sizes, *strides;
  loom_expr offset;
  loom_dtype dtype;
  bool output;
  bool removed;       /* dropped from the graph: lives within one kernel */
  loom_expr elements; /* product of the sizes */
  loom_expr storage;  /* elements from the start of the storage to the last one */
  int writer;         /* the operation that writes it; -1: an input of the graph */
  int updates;        /* the buffer of which it is the new content, -1: it has its own storage */
  int updated_by;     /* the buffer that is its new content, -1: none */
  const loom_user *users; /* operations that read it, in order, each once */
  size_t n_users;
} loom_buffer;

/* One access of an operation. */
typedef struct loom_use {
  int buffer;
  loom_use_mode mode;
  loom_expr
      index; /* elements from the buffer's offset on, over the loop variables; LOOM_NONE unless
                      indexed */
  bool accumulates; /* a write that adds to what is there */
} loom_use;

/* An access in merged form: loops that the index walks as one are one, called c0, c1, ... from the
** outside, and inner loops that it does not use are left out.  Equal accesses of a graph are one
** loom_dep: they are equal exactly if their addresses are. */
typedef struct loom_dep {
  int id; /* running number in the graph, in order of first occurrence */
  int buffer;
  loom_use_mode mode;
  bool accumulates;
  loom_expr index;
  size_t n;
  const loom_extent *loops;
  bool indirect;      /* a value loaded at run time is in the index */
  bool contiguous;    /* the index is one loop variable, or a number */
  bool stride1_last;  /* as in loom_address_features */
  loom_expr elements; /* touched, counting no repeats: product of the sizes of the loops in the
                         index; all of the buffer for indirect and whole uses; 0 for ordering */
  loom_expr moved;    /* bytes of these at the hints, exactly; LOOM_NONE for sizes without a hint */
  int64_t bytes;      /* the same as a weight: INT64_MAX where there are more, 0 without a hint */
} loom_dep;

/* The sizes of a tensor, outermost first. */
typedef struct loom_sizes {
  size_t rank;
  const loom_expr *sizes;
} loom_sizes;
/* Multiplications and additions of a call on tensors of these sizes: of matrix products (mm, bmm,
** addmm, baddbmm: the last two inputs) and convolutions (conv, convolution: weights last); 0 of
** others. */
LOOM_API loom_expr loom_call_flops(loom_ctx *ctx, const char *call, size_t n_inputs,
                                   const loom_sizes *inputs, const loom_sizes *output);

typedef struct loom_op_info {
  const char *name;
  loom_op_kind kind;
  const char *reduction; /* of reductions and scans: sum, max, argmax, welford_reduce, ... */
  const char *call;      /* of opaque operations, what is called: mm, addmm, bmm, conv, ... */
  size_t n_inputs;
  const loom_sizes *inputs; /* in the shapes it sees; without any: those of the buffers read */
  size_t n_pointwise, n_reduction;
  const loom_extent *loops; /* the pointwise loops, then those that are reduced; outermost first */
  size_t n_reads, n_writes;
  const loom_use *reads, *writes; /* in program order */
  size_t n_mutates;
  const int *mutates; /* buffers updated in place: the i-th one by the buffer of the i-th write */
  size_t n_after;
  const int *after; /* operations that must run before it for other reasons */
  loom_reduction_hint hint;
  bool split; /* a scan over a loop that is too long for one pass */
  bool
      extensible; /* a template: an opaque operation that can take in pointwise neighbours; its loops
                      are those of its one output */
  bool keeps_zero; /* it is 0 where all it reads is 0 */
  bool
      keeps_type; /* it gives in the type of what it reads what it gives, rounded, in any wider one */
} loom_op_info;

typedef struct loom_op {
  const char *name;
  loom_op_kind kind;
  const char *reduction, *call;
  loom_expr flops; /* of an opaque call; 0 of others */
  size_t n_pointwise, n_reduction;
  const loom_extent *loops;
  size_t n_reads, n_writes, n_outputs, n_mutates;
  const loom_use *reads, *writes; /* repeats removed */
  const int *outputs;             /* buffers written, each once */
  const int *mutates;             /* buffers updated in place */
  loom_reduction_hint hint;
  bool split, extensible, keeps_zero, keeps_type;
  loom_expr extent, reduction_extent; /* products of the pointwise and of the reduced loops */
  size_t n_dep_reads, n_dep_writes;
  const loom_dep *const *dep_reads; /* what is read, each once; then, for buffers updated in place,
                                       those as a whole and the ordering behind their readers */
  const loom_dep *const *dep_writes;
  size_t n_needs;
  const int *needs; /* operations that must run before it themselves, ascending */
} loom_op;

/* A graph whose sizes have these extents and hints (NULL: none), which are copied. */
LOOM_API LOOM_GIVE loom_graph *loom_graph_new(loom_ctx *ctx, const loom_given *given);
LOOM_API void loom_graph_free(loom_graph *g);
/* Add a buffer, an operation: its number, -1 with an error (LOOM_ERR_BAD_GRAPH).  An operation comes
** behind those that write what it reads; a buffer is written by one operation. */
LOOM_API int loom_graph_buffer(loom_graph *g, const loom_buffer_info *info);
LOOM_API int loom_graph_op(loom_graph *g, const loom_op_info *info);
/* A list of like operations, which are launched at once, each on blocks of its own. */
typedef struct loom_list {
  size_t n;
  const int *ops;
} loom_list;
/* Makes a list of two or more operations, which have loops, are in no list and do not depend on each
** other: its number, -1 with an error.  Lists may not wait for each other, directly or by others. */
LOOM_API int loom_graph_list(loom_graph *g, size_t n, const int *ops);
LOOM_API size_t loom_graph_lists(const loom_graph *g, const loom_list **lists);
/* The list that the operation is in, NULL: none. */
LOOM_API const loom_list *loom_graph_list_of(const loom_graph *g, int op);
LOOM_API size_t loom_graph_buffers(const loom_graph *g, const loom_buffer **buffers);
LOOM_API size_t loom_graph_ops(const loom_graph *g, const loom_op **ops);
LOOM_API const loom_given *loom_graph_given(const loom_graph *g);
/* The number of the buffer or operation of that name, -1 without one. */
LOOM_API int loom_graph_find_buffer(const loom_graph *g, const char *name);
LOOM_API int loom_graph_find_op(const loom_graph *g, const char *name);
/* Whether op must run after `on`: `on` is an ancestor of it.  Searches backwards from op, past what
** cannot lead there; in time of one step where the two are on one path that was added in a row. */
LOOM_API bool loom_graph_depends(const loom_graph *g, int op, int on);
/* The operations that must run before it, themselves or by others, ascending, to a list with room for
** op numbers: how many. */
LOOM_API size_t loom_graph_ancestors(const loom_graph *g, int op, int *list);
/* The buffer lives within one kernel and is never stored, or (false) it is. */
LOOM_API loom_status loom_graph_remove(loom_graph *g, int buffer, bool removed);

LOOM_C_END

#endif
