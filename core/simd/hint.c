/* SPDX-License-Identifier: MIT */
/* What the accesses of a kernel's operations say together: the hint of its reduction, and mixed
** layouts. */
#include "ranges/sizes.h"
#include "simd/plan.h"

/* ---- reduction hint ----------------------------------------------------------------------- */

static bool all_contiguous(size_t n, const loom_dep *const *deps) {
  for (size_t i = 0; i < n; i++)
    if (deps[i]->mode == LOOM_USE_INDEXED && !deps[i]->contiguous) return false;
  return true;
}

static bool is_reduction(const loom_op *op) {
  return op->kind == LOOM_OP_REDUCTION || op->kind == LOOM_OP_SCAN;
}

static loom_reduction_hint hint_of(const loom_op *op) {
  bool inner = all_contiguous(op->n_dep_reads, op->dep_reads) &&
               all_contiguous(op->n_dep_writes, op->dep_writes);
  return inner ? LOOM_HINT_INNER : op->hint;
}

static bool any_strided(size_t n, const loom_dep *const *deps) {
  for (size_t i = 0; i < n; i++)
    if (deps[i]->mode == LOOM_USE_INDEXED && !deps[i]->contiguous && !deps[i]->stride1_last)
      return true;
  return false;
}

/* Whether a pointwise operation over all points of the reduction strides through memory. */
static bool pointwise_strides(const loom_plan *plan, const loom_kernel *k) {
  loom_expr all = loom_mul(plan->ctx, k->info.extent, k->info.reduction_extent);
  all = loom_simplify(plan->ctx, all);
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(plan, k, i);
    if (is_reduction(op) || !loom_sizes_same(plan->ctx, op->extent, all, &plan->graph->given))
      continue;
    if (any_strided(op->n_dep_reads, op->dep_reads) ||
        any_strided(op->n_dep_writes, op->dep_writes))
      return true;
  }
  return false;
}

bool loom_plan_hint(loom_plan *plan, loom_kernel *k) {
  bool found = false;
  k->hint = LOOM_HINT_DEFAULT;
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(plan, k, i);
    if (!is_reduction(op)) continue;
    loom_reduction_hint hint = hint_of(op);
    if (found && hint != k->hint) {
      k->hint = LOOM_HINT_DEFAULT;
      break;
    }
    k->hint = hint;
    found = true;
  }
  if (k->hint == LOOM_HINT_INNER && pointwise_strides(plan, k)) k->hint = LOOM_HINT_DEFAULT;
  return !loom_base_failed(plan->ctx);
}

/* ---- mixed layouts ------------------------------------------------------------------------ */

static bool same_sizes(const loom_buffer *a, const loom_buffer *b) {
  if (a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; i++)
    if (a->sizes[i] != b->sizes[i]) return false;
  return true;
}

/* The sign of stride i less stride k, 0 where it is not known. */
static int stride_order(loom_ctx *ctx, const loom_buffer *b, size_t i, size_t k) {
  if (b->strides[i] == b->strides[k]) return 0;
  if (loom_known_lt(ctx, b->strides[k], b->strides[i]) == LOOM_YES) return 1;
  return loom_known_lt(ctx, b->strides[i], b->strides[k]) == LOOM_YES ? -1 : 0;
}

/* Whether two dimensions of more than one element are walked in opposite orders. */
static bool opposite(loom_ctx *ctx, const loom_buffer *a, const loom_buffer *b) {
  loom_expr one = loom_int(ctx, 1);
  for (size_t i = 0; i < a->rank; i++)
    for (size_t k = 0; a->sizes[i] != one && k < i; k++) {
      if (a->sizes[k] == one || a->strides[i] == b->strides[i]) continue;
      if (stride_order(ctx, a, i, k) * stride_order(ctx, b, i, k) < 0) return true;
    }
  return false;
}

/* The buffers that are arguments and read, in plan->numbers. */
static bool list_inputs(loom_plan *plan, const loom_kernel *k) {
  plan->numbers.n = 0;
  for (size_t i = 0; i < k->n_arguments; i++)
    if (k->arguments[i].kind == LOOM_ARGUMENT_BUFFER && !k->arguments[i].written &&
        !loom_vec_push(plan->ctx, &plan->numbers, k->arguments[i].buffer))
      return false;
  for (size_t i = 0; i < k->n_groups; i++)
    if (!loom_vec_push(plan->ctx, &plan->numbers, k->groups[i].buffers[0])) return false;
  return true;
}

bool loom_plan_layouts(loom_plan *plan, loom_kernel *k) {
  const loom_buffer *buffers = plan->graph->buffers.at;
  if (!list_inputs(plan, k)) return false;
  size_t n = plan->numbers.n;
  loom_mixed_layout *mixed = loom_arena_array(&plan->arena, n, sizeof *mixed);
  if (!mixed) return false;
  for (size_t i = 0; i < n; i++) {
    int a = plan->numbers.at[i], first = -1;
    for (size_t j = 0; j < i && first < 0; j++) {
      int b = plan->numbers.at[j];
      if (same_sizes(&buffers[a], &buffers[b]) && opposite(plan->ctx, &buffers[a], &buffers[b]))
        first = b;
    }
    if (first >= 0) mixed[k->n_mixed++] = (loom_mixed_layout){first, a};
  }
  k->mixed = mixed;
  return !loom_base_failed(plan->ctx);
}
