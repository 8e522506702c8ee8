/* SPDX-License-Identifier: MIT */
/* Kernels of a graph and what is known of each. */
#ifndef EINLOOM_PUBLIC_KERNEL_H
#define EINLOOM_PUBLIC_KERNEL_H

#include "einloom/graph.h"

LOOM_C_BEGIN

/* What runs in one kernel, in order: numbers of operations, and the ends of its reduction loop: what
** follows LOOM_REDUCTION_OFF runs after the loop, what follows LOOM_REDUCTION_ON in the next one. */
enum { LOOM_REDUCTION_OFF = -1, LOOM_REDUCTION_ON = -2 };

/* The schedule of a kernel of these extents with n operations (1 or more, in an order in which they
** may run; around a template: what its inputs come from, one after the other, the template, the
** others): its length, 0 if some operation runs neither inside its loops nor behind them, -1 with an
** error.  steps has room for 5 * n. */
LOOM_API ptrdiff_t loom_schedule(loom_graph *g, size_t n, const int *ops, loom_expr extent,
                                 loom_expr reduction_extent, int *steps);

typedef struct loom_kernel_info {
  size_t n;
  const int *schedule;
  loom_expr extent, reduction_extent;
  loom_tiling tiling;
  bool one_pass; /* all of a reduction is held at once: loops over it read memory once */
  bool no_x;     /* blocks of values have reduction axes alone */
  int launch; /* kernels of one number, which follow each other, are launched at once; numbers ascend; 0: alone */
} loom_kernel_info;

/* An access in the variables of the kernel's ranges. */
typedef struct loom_kernel_access {
  int buffer;
  bool store;
  bool reduced;         /* the store of a reduction's result, after the loop */
  loom_expr index;      /* LOOM_NONE: the buffer as a whole */
  loom_expr simplified; /* by loom_ranges_simplify */
  bool indirect, broadcasted;
  bool narrow; /* proved: the address can be computed in 32 bits (loom_address_narrow), where values
                  loaded at run time lead to elements of the buffer */
  loom_expr strides[LOOM_N_PREFIXES]; /* along the index of each tree; LOOM_NONE if indirect */
} loom_kernel_access;

typedef struct loom_kernel_op {
  int op;
  bool reduction_on;
  size_t n_pointwise, n_reduction; /* a loop over the reduction is added where a pointwise
                                      operation runs inside */
  const loom_expr *values;         /* what the loops become */
  size_t n_accesses;               /* loads, then stores */
  const loom_kernel_access *accesses;
} loom_kernel_op;

/* Memory traffic by accesses: of a dimension (0: pointwise, 1: reduction) how many step by one
** element, by none, by anything else; and bytes of the buffers with none of the last, and of
** others. */
typedef struct loom_traffic_dim {
  int64_t contiguous, broadcast, other;
  loom_expr bytes_contiguous_or_broadcast, bytes_other;
} loom_traffic_dim;
typedef struct loom_traffic_loop {
  int64_t accesses, bytes; /* per element */
} loom_traffic_loop;
typedef struct loom_traffic {
  int64_t accesses, bytes_per_element;
  loom_expr bytes, bytes_contiguous_or_broadcast, bytes_other; /* the first: in some dimension */
  loom_traffic_dim dims[2];
  size_t n_loops;
  const loom_traffic_loop *loops; /* what is outside is counted in each of them */
} loom_traffic;

typedef enum loom_argument_kind {
  LOOM_ARGUMENT_BUFFER,
  LOOM_ARGUMENT_IN_PLACE, /* read, and overwritten by the last buffer of a group */
  LOOM_ARGUMENT_SIZE      /* a symbol in the indices */
} loom_argument_kind;
typedef struct loom_argument {
  loom_argument_kind kind;
  int buffer; /* of a group the last; of an update in place the buffer updated; -1: a size */
  bool written;
  loom_expr symbol;
} loom_argument;

/* Buffers that share one storage, the first one read and each then overwritten by the next. */
typedef struct loom_in_place {
  size_t n;
  const int *buffers;
} loom_in_place;

/* Two buffers read that have the same sizes and walk two dimensions in opposite orders. */
typedef struct loom_mixed_layout {
  int first, second;
} loom_mixed_layout;

/* What a template takes in before it for one of its inputs, or behind it (its epilogue).  Both run over
** the elements of a buffer by their places in its storage. */
typedef struct loom_template_part {
  int buffer; /* the input that is made; of the epilogue the output of the template */
  loom_tiling tiling;
  const loom_ranges *ranges;
  size_t n_ops;
  const loom_kernel_op *ops; /* of the kernel's; what two inputs come from is in both parts */
  bool keeps_zero;           /* one operation, which is 0 where all it reads is 0 */
  bool
      keeps_type; /* all operations give in the type of the buffer what they give in any wider one */
} loom_template_part;

typedef struct loom_kernel {
  loom_op_kind
      kind; /* LOOM_OP_OPAQUE, LOOM_OP_NOP: of the one operation in it or the template; else
                        pointwise or reduction */
  loom_kernel_info info;     /* the schedule is the kernel's own */
  const loom_ranges *ranges; /* of a template those of its output; NULL for other calls */
  size_t n_ops;
  const loom_kernel_op *ops;
  bool narrow;        /* 32-bit indices by the rule of the reference: extents and storage sizes */
  bool narrow_proved; /* by what is proved of each address and of the extents */
  loom_reduction_hint hint;            /* of a reduction */
  loom_traffic one_pass[2], looped[2]; /* reads, writes; with all of a reduction held, or not */
  loom_expr flops;
  size_t n_groups, n_arguments, n_never_stored, n_mixed;
  const loom_in_place *groups;
  const loom_argument *arguments;
  const int *never_stored;
  const loom_mixed_layout *mixed;
  int template_op; /* the template in it; -1: none */
  size_t n_parts;
  const loom_template_part *parts; /* by inputs in the order of its reads, then the epilogue */
  loom_expr bytes;                 /* moved, at the hints; LOOM_NONE if a size has none */
} loom_kernel;

/* The kernels of a graph in the order in which they run.  Each is planned when it is added, knowing
** those before it. */
LOOM_API LOOM_GIVE loom_plan *loom_plan_new(loom_graph *g);
LOOM_API void loom_plan_free(loom_plan *plan);
/* The number of the kernel; -1 with an error: LOOM_ERR_CANNOT_SPLIT and LOOM_ERR_INCOMPLETE_SPLIT
** where an operation does not run over the tiling, LOOM_ERR_BAD_GRAPH where the schedule is none, or
** holds what the template in it cannot take in. */
LOOM_API int loom_plan_kernel(loom_plan *plan, const loom_kernel_info *info);
LOOM_API size_t loom_plan_kernels(const loom_plan *plan, const loom_kernel *const **kernels);
LOOM_API const loom_graph *loom_plan_graph(const loom_plan *plan);

/* Bytes moved: of each argument what it holds, or (if that is more than the kernel's extents) one
** extent for each different access; twice for as many arguments from the first on as there are in
** place.  Sizes at the hints; LOOM_NONE where one has none. */
typedef struct loom_moved {
  loom_expr elements;
  int bytes;        /* of an item */
  size_t n_indices; /* different indices, and uses as a whole or for ordering */
} loom_moved;
LOOM_API loom_expr loom_moved_bytes(loom_ctx *ctx, const loom_tiling *tiling, size_t n,
                                    const loom_moved *arguments, size_t n_in_place,
                                    const loom_given *given);

/* Partition of independent kernels into groups that are launched together. */
typedef struct loom_launch {
  loom_tiling tiling;
  bool reduction, one_pass, no_x;
  loom_expr reduction_extent;
  size_t n_accesses; /* buffers read and written */
} loom_launch;
typedef struct loom_combine_options {
  bool size_aware; /* large kernels alone, long reductions apart from others */
  int mixed; /* kernels of three tiles with different y together: 0 never, 1 if size_aware, 2 */
  const loom_given *given;
} loom_combine_options;
/* Writes the kernels in order of their groups, and the end of each group in that order (room for
** 2 * n; the first group of a list may be empty).  LOOM_ERR_DOMAIN for more than three tiles that may
** not be mixed. */
LOOM_API loom_status loom_combine(loom_ctx *ctx, size_t n, const loom_launch *kernels,
                                  const loom_combine_options *options, size_t *order, size_t *ends,
                                  size_t *n_groups);

LOOM_C_END

#endif
