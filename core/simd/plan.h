/* SPDX-License-Identifier: MIT */
/* Kernels of a graph, for the code in core/simd/.
** Invariant: kernel_of[op] is the number of the kernel the operation is in, -1 before; while kernel
** number k is being planned its operations have k already. */
#ifndef EINLOOM_PLAN_H
#define EINLOOM_PLAN_H

#include "ranges/ranges.h"
#include "simd/graph.h"

struct loom_plan {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_graph *graph;
  LOOM_VEC(loom_kernel *) kernels;
  LOOM_VEC(int) kernel_of;
  LOOM_VEC(bool) kept; /* by buffer: read from memory in a later loop than it is written in */
  LOOM_VEC(int) place, other_place, last_loop; /* by buffer: 0 but while a step works */
  /* scratch: */
  LOOM_VEC(loom_expr) variables, values;
  LOOM_VEC(loom_extent) extents;
  LOOM_VEC(int) numbers;
  loom_split split;
};

/* The steps of planning: each fills its part of the kernel; false with an error. */
bool loom_plan_map(loom_plan *plan, loom_kernel *k);     /* ops, in variables of k->ranges */
bool loom_plan_width(loom_plan *plan, loom_kernel *k);   /* narrow, narrow_proved */
bool loom_plan_hint(loom_plan *plan, loom_kernel *k);    /* hint */
bool loom_plan_traffic(loom_plan *plan, loom_kernel *k); /* one_pass, looped; plan->kept */
bool loom_plan_storage(loom_plan *plan, loom_kernel *k); /* groups, never_stored, arguments */
bool loom_plan_bytes(loom_plan *plan, loom_kernel *k);   /* bytes */
bool loom_plan_layouts(loom_plan *plan, loom_kernel *k); /* mixed */

/* The i-th operation of the kernel. */
static inline const loom_op *loom_plan_op(const loom_plan *plan, const loom_kernel *k, size_t i) {
  return &plan->graph->ops.at[k->ops[i].op];
}
/* Whether nothing outside kernel number `kernel` needs the buffer in memory: it is written there,
** does not leave the graph, updates no other and is not updated, and all who read it are there. */
bool loom_plan_local(const loom_plan *plan, int buffer, int kernel);
/* Sets what the array has for the buffers that the kernel's operations use to 0. */
void loom_plan_clear(const loom_plan *plan, const loom_kernel *k, int *by_buffer);
/* A copy in the plan's memory; NULL with an error. */
void *loom_plan_copy(loom_plan *plan, size_t n, const void *items, size_t item);

#endif
