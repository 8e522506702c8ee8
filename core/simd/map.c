/* SPDX-License-Identifier: MIT */
/* Operations in the variables of their kernel, and the width of its indices.
** Invariant: an access of a kernel visits the addresses of its operation's access. */
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/plan.h"

/* ---- loops -------------------------------------------------------------------------------- */

/* The sizes of the operation's loops in plan->values, followed by a loop over the reduction where the
** operation runs inside it and has none. */
static bool list_loops(loom_plan *plan, const loom_kernel *k, const loom_op *op, bool on,
                       loom_loops *loops) {
  const loom_tiling *tiling = &k->info.tiling;
  size_t n = op->n_pointwise + op->n_reduction;
  plan->values.n = 0;
  if (!loom_vec_reserve(plan->ctx, &plan->values, n + 1)) return false;
  for (size_t i = 0; i < n; i++) plan->values.at[i] = op->loops[i].size;
  *loops = (loom_loops){plan->values.at, op->n_pointwise, op->n_reduction};
  loom_split_options options = {&plan->graph->given, plan->graph->given.strict};
  if (on && loom_loops_lack_reduction(plan->ctx, tiling->n, tiling->extent, loops,
                                      k->info.reduction_extent, &options))
    plan->values.at[n + loops->n_reduction++] = k->info.reduction_extent;
  return !loom_base_failed(plan->ctx);
}

static bool map_loops(loom_plan *plan, const loom_kernel *k, const loom_op *op,
                      loom_kernel_op *out) {
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  loom_loops loops;
  loom_mapped mapped;
  if (!list_loops(plan, k, op, out->reduction_on, &loops) ||
      loom_ranges_map(ranges, &loops, &mapped) != LOOM_OK)
    return false;
  if (mapped.n_pointwise < op->n_pointwise || mapped.n_reduction < op->n_reduction) {
    loom_error_set(plan->ctx, LOOM_ERR_CANNOT_SPLIT,
                   "operation '%s' has more loops than the kernel", op->name);
    return false;
  }
  out->n_pointwise = mapped.n_pointwise;
  out->n_reduction = mapped.n_reduction;
  out->values = loom_plan_copy(plan, mapped.n_pointwise + mapped.n_reduction, mapped.values,
                               sizeof *mapped.values);
  return out->values != NULL;
}

/* ---- accesses ----------------------------------------------------------------------------- */

static bool is_indirect(loom_ctx *ctx, loom_expr index, loom_expr_list *symbols) {
  symbols->n = 0;
  if (!loom_list_symbols(ctx, index, symbols)) return false;
  for (size_t i = 0; i < symbols->n; i++)
    if (loom_symbol_is_loaded(ctx, symbols->at[i])) return true;
  return false;
}

/* Whether the address can be computed in 32 bits; symbols: those of the simplified index. */
static bool is_narrow(loom_plan *plan, const loom_kernel *k, const loom_kernel_access *a,
                      const loom_expr_list *symbols) {
  loom_expr offset = plan->graph->buffers.at[a->buffer].offset;
  loom_address address = {loom_add(plan->ctx, a->simplified, offset), 0, NULL};
  plan->extents.n = 0;
  if (!loom_vec_reserve(plan->ctx, &plan->extents, symbols->n)) return false;
  for (size_t i = 0; i < symbols->n; i++) {
    const loom_entry *entry = loom_ranges_entry(k->ranges, symbols->at[i]);
    if (entry) plan->extents.at[plan->extents.n++] = (loom_extent){entry->variable, entry->length};
  }
  address.n = plan->extents.n;
  address.loops = plan->extents.at;
  return loom_address_narrow(plan->ctx, &address);
}

/* An access in the variables that the loops became (plan->variables, out->values). */
static bool rewrite(loom_plan *plan, const loom_kernel *k, const loom_kernel_op *op,
                    const loom_use *use, loom_expr_list *symbols, loom_kernel_access *out) {
  loom_ctx *ctx = plan->ctx;
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  if (use->mode != LOOM_USE_INDEXED) return true;
  out->index = loom_substitute(ctx, use->index, plan->variables.n, plan->variables.at, op->values);
  if (out->index == LOOM_NONE) return false;
  out->simplified = loom_ranges_simplify(ranges, out->index);
  if (out->simplified == LOOM_NONE) return false;
  out->indirect = is_indirect(ctx, out->simplified, symbols);
  out->narrow = !out->indirect && is_narrow(plan, k, out, symbols);
  out->broadcasted = loom_ranges_broadcasted(ranges, out->index);
  if (!out->indirect && loom_ranges_tile_strides(ranges, out->index, out->strides) != LOOM_OK)
    return false;
  return !loom_base_failed(ctx);
}

static bool rewrite_all(loom_plan *plan, const loom_kernel *k, const loom_op *op,
                        loom_expr_list *symbols, loom_kernel_op *out) {
  loom_kernel_access *accesses =
      loom_arena_array(&plan->arena, op->n_reads + op->n_writes, sizeof *accesses);
  if (!accesses) return false;
  for (size_t i = 0; i < op->n_reads + op->n_writes; i++) {
    bool store = i >= op->n_reads;
    const loom_use *use = store ? &op->writes[i - op->n_reads] : &op->reads[i];
    if (use->mode == LOOM_USE_ORDER) continue;
    loom_kernel_access *a = &accesses[out->n_accesses++];
    *a = (loom_kernel_access){
        .buffer = use->buffer, .store = store, .reduced = store && op->kind == LOOM_OP_REDUCTION};
    if (!rewrite(plan, k, out, use, symbols, a)) return false;
  }
  out->accesses = accesses;
  return true;
}

/* The variables of the loops that have got values, in plan->variables. */
static bool list_variables(loom_plan *plan, const loom_op *op) {
  size_t n = op->n_pointwise + op->n_reduction;
  plan->variables.n = 0;
  if (!loom_vec_reserve(plan->ctx, &plan->variables, n)) return false;
  for (size_t i = 0; i < n; i++) plan->variables.at[plan->variables.n++] = op->loops[i].variable;
  return true;
}

static bool map_op(loom_plan *plan, const loom_kernel *k, loom_expr_list *symbols,
                   loom_kernel_op *out) {
  const loom_op *op = &plan->graph->ops.at[out->op];
  return map_loops(plan, k, op, out) && list_variables(plan, op) &&
         rewrite_all(plan, k, op, symbols, out);
}

bool loom_plan_map(loom_plan *plan, loom_kernel *k) {
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  loom_kernel_op *ops = loom_arena_array(&plan->arena, k->n_ops, sizeof *ops);
  loom_expr_list symbols = {0};
  bool good = ops != NULL, on = true;
  for (size_t i = 0, n = 0; good && i < k->info.n; i++) {
    int step = k->info.schedule[i];
    if (step < 0) {
      on = step == LOOM_REDUCTION_ON;
      loom_ranges_reduction(ranges, on);
    } else {
      ops[n] = (loom_kernel_op){.op = step, .reduction_on = on};
      good = map_op(plan, k, &symbols, &ops[n++]);
    }
  }
  loom_ranges_reduction(ranges, true);
  loom_vec_free(plan->ctx, &symbols);
  k->ops = ops;
  return good;
}

/* ---- width -------------------------------------------------------------------------------- */

static bool all_narrow(const loom_kernel *k) {
  for (size_t i = 0; i < k->n_ops; i++)
    for (size_t j = 0; j < k->ops[i].n_accesses; j++)
      if (!k->ops[i].accesses[j].narrow && k->ops[i].accesses[j].index != LOOM_NONE) return false;
  return true;
}

bool loom_plan_width(loom_plan *plan, loom_kernel *k) {
  loom_ctx *ctx = plan->ctx;
  const loom_given *given = &plan->graph->given;
  loom_expr extent = loom_mul(ctx, k->info.extent, k->info.reduction_extent);
  plan->values.n = 0;
  for (size_t i = 0; i < k->n_ops; i++)
    for (size_t j = 0; j < k->ops[i].n_accesses; j++) {
      const loom_buffer *b = &plan->graph->buffers.at[k->ops[i].accesses[j].buffer];
      if (!loom_vec_push(ctx, &plan->values, b->storage)) return false;
    }
  k->narrow = loom_index_narrow(ctx, extent, plan->values.n, plan->values.at, given);
  loom_given proofs = *given;
  proofs.strict = true;
  k->narrow_proved = all_narrow(k) && loom_index_narrow(ctx, extent, 0, NULL, &proofs);
  return !loom_base_failed(ctx);
}
