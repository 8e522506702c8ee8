/* SPDX-License-Identifier: MIT */
/* Kernels of a graph, for the code in core/simd/.
** Invariant: kernel_of[op] is the number of the kernel the operation is in, -1 before; while kernel
** number k is being planned its operations have k already. */
#ifndef EINLOOM_PLAN_H
#define EINLOOM_PLAN_H

#include "ranges/ranges.h"
#include "simd/graph.h"

/* A loop nest in a kernel: equal nests of a kernel are one. */
typedef struct loom_nest {
  const loom_extent *loops;
  size_t n_pointwise, n_reduction;
  bool reduction_on;
  const loom_expr *variables; /* of the loops */
  size_t n_values_pointwise, n_values_reduction;
  const loom_expr *values; /* in the variables of the kernel's ranges */
  const loom_expr *flat;   /* in flat variables; NULL until they are needed */
  bool in_pieces[2];       /* a flat variable is taken apart by them */
} loom_nest;

/* An index over one of the nests: what is known of it does not depend on the buffer. */
typedef struct loom_nest_index {
  loom_kernel_access access;
  bool is_flat; /* the rest is known */
  bool joined;  /* a flat variable in the index is put together from pieces */
  loom_expr index, strides[2], elements; /* over flat variables */
} loom_nest_index;

struct loom_plan {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_graph *graph;
  LOOM_VEC(loom_kernel *) kernels;
  int launch; /* the largest number of one */
  LOOM_VEC(int) kernel_of;
  LOOM_VEC(bool) kept; /* by buffer: read from memory in a later loop than it is written in */
  LOOM_VEC(int) place, other_place, last_loop; /* by buffer: 0 but while a step works */
  LOOM_VEC(loom_nest) nests;                   /* of the kernel that is being planned */
  LOOM_VEC(loom_nest_index) indices;           /* of these */
  loom_idmap by_index;                         /* nest and index -> place in indices + 1 */
  /* scratch: */
  LOOM_VEC(loom_expr) values;
  LOOM_VEC(loom_extent) extents;
  LOOM_VEC(int) numbers;
  LOOM_VEC(const loom_dep *) deps;
  loom_expr_list symbols;
  loom_split split;
  loom_table seen;
};

/* The steps of planning: each fills its part of the kernel; false with an error. */
bool loom_plan_map(loom_plan *plan, loom_kernel *k);     /* ops, in variables of k->ranges */
bool loom_plan_width(loom_plan *plan, loom_kernel *k);   /* narrow, narrow_proved */
bool loom_plan_hint(loom_plan *plan, loom_kernel *k);    /* hint */
bool loom_plan_traffic(loom_plan *plan, loom_kernel *k); /* one_pass, looped; plan->kept */
bool loom_plan_storage(loom_plan *plan, loom_kernel *k); /* groups, never_stored, arguments */
bool loom_plan_bytes(loom_plan *plan, loom_kernel *k);   /* bytes */
bool loom_plan_layouts(loom_plan *plan, loom_kernel *k); /* mixed */

/* The steps of a kernel around a template: ops, parts, ranges; bytes. */
bool loom_plan_template(loom_plan *plan, loom_kernel *k);
bool loom_plan_template_bytes(loom_plan *plan, loom_kernel *k);
/* Of the step loom_plan_map: forgets nests and indices; one operation on the ranges of the kernel. */
void loom_plan_forget(loom_plan *plan);
bool loom_plan_map_op(loom_plan *plan, const loom_kernel *k, loom_kernel_op *out);

/* The i-th operation of the kernel. */
static inline const loom_op *loom_plan_op(const loom_plan *plan, const loom_kernel *k, size_t i) {
  return &plan->graph->ops.at[k->ops[i].op];
}
/* Whether a kernel that was planned is launched with the one that is being planned. */
static inline bool loom_plan_at_once(const loom_plan *plan, int kernel, const loom_kernel *k) {
  return k->info.launch > 0 && kernel >= 0 && (size_t)kernel < plan->kernels.n &&
         plan->kernels.at[kernel]->info.launch == k->info.launch;
}
/* Whether nothing outside kernel number `kernel` needs the buffer in memory: it is written there,
** does not leave the graph, updates no other and is not updated, and all who read it are there. */
bool loom_plan_local(const loom_plan *plan, int buffer, int kernel);
/* The nest of the kernel's i-th operation (by place in plan->nests), mapped onto the ranges; -1 with an
** error. */
ptrdiff_t loom_plan_nest(loom_plan *plan, const loom_kernel *k, const loom_op *op, bool on);
/* What is known of an index over it, by place in plan->indices; -1 with an error. */
ptrdiff_t loom_plan_index(loom_plan *plan, const loom_kernel *k, size_t nest, loom_expr index);
/* Sets what the array has for the buffers that the kernel's operations use to 0. */
void loom_plan_clear(const loom_plan *plan, const loom_kernel *k, int *by_buffer);
/* A copy in the plan's memory; NULL with an error. */
void *loom_plan_copy(loom_plan *plan, size_t n, const void *items, size_t item);

#endif
