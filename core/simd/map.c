/* SPDX-License-Identifier: MIT */
/* Operations in the variables of their kernel, and the width of its indices.
** Invariant: an access of a kernel visits the addresses of its operation's access. */
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/loaded.h"
#include "simd/plan.h"

/* ---- nests -------------------------------------------------------------------------------- */

/* The sizes of the operation's loops in plan->values, followed by a loop over the reduction where the
** operation runs inside it and has none. */
static bool list_loops(loom_plan *plan, const loom_kernel *k, const loom_nest *nest,
                       loom_loops *loops) {
  const loom_tiling *tiling = &k->info.tiling;
  size_t n = nest->n_pointwise + nest->n_reduction;
  plan->values.n = 0;
  if (!loom_vec_reserve(plan->ctx, &plan->values, n + 1)) return false;
  for (size_t i = 0; i < n; i++) plan->values.at[i] = nest->loops[i].size;
  *loops = (loom_loops){plan->values.at, nest->n_pointwise, nest->n_reduction};
  loom_split_options options = {&plan->graph->given, plan->graph->given.strict};
  if (nest->reduction_on && k->kind == LOOM_OP_REDUCTION &&
      loom_loops_lack_reduction(plan->ctx, tiling->n, tiling->extent, loops,
                                k->info.reduction_extent, &options))
    plan->values.at[n + loops->n_reduction++] = k->info.reduction_extent;
  return !loom_base_failed(plan->ctx);
}

static bool map_nest(loom_plan *plan, const loom_kernel *k, const char *name, loom_nest *nest) {
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  size_t n = nest->n_pointwise + nest->n_reduction;
  loom_loops loops;
  loom_mapped mapped;
  if (!list_loops(plan, k, nest, &loops) || loom_ranges_map(ranges, &loops, &mapped) != LOOM_OK)
    return false;
  if (mapped.n_pointwise < nest->n_pointwise || mapped.n_reduction < nest->n_reduction) {
    loom_error_set(plan->ctx, LOOM_ERR_CANNOT_SPLIT,
                   "operation '%s' has more loops than the kernel", name);
    return false;
  }
  nest->n_values_pointwise = mapped.n_pointwise;
  nest->n_values_reduction = mapped.n_reduction;
  nest->values = loom_plan_copy(plan, mapped.n_pointwise + mapped.n_reduction, mapped.values,
                                sizeof *mapped.values);
  loom_expr *variables = loom_arena_array(&plan->arena, n, sizeof *variables);
  for (size_t i = 0; variables && i < n; i++) variables[i] = nest->loops[i].variable;
  nest->variables = variables;
  return nest->values && variables;
}

static bool same_nest(const loom_nest *nest, const loom_op *op, bool on) {
  if (nest->reduction_on != on || nest->n_pointwise != op->n_pointwise ||
      nest->n_reduction != op->n_reduction)
    return false;
  for (size_t i = 0; i < op->n_pointwise + op->n_reduction; i++)
    if (nest->loops[i].variable != op->loops[i].variable ||
        nest->loops[i].size != op->loops[i].size)
      return false;
  return true;
}

ptrdiff_t loom_plan_nest(loom_plan *plan, const loom_kernel *k, const loom_op *op, bool on) {
  for (size_t i = plan->nests.n; i-- > 0;)
    if (same_nest(&plan->nests.at[i], op, on)) return (ptrdiff_t)i;
  loom_nest nest = {.loops = op->loops,
                    .n_pointwise = op->n_pointwise,
                    .n_reduction = op->n_reduction,
                    .reduction_on = on};
  if (!map_nest(plan, k, op->name, &nest) || !loom_vec_push(plan->ctx, &plan->nests, nest))
    return -1;
  return (ptrdiff_t)plan->nests.n - 1;
}

/* ---- indices ------------------------------------------------------------------------------ */

static bool is_indirect(loom_plan *plan, loom_expr index) {
  plan->symbols.n = 0;
  if (!loom_list_symbols(plan->ctx, index, &plan->symbols)) return false;
  for (size_t i = 0; i < plan->symbols.n; i++)
    if (loom_symbol_is_loaded(plan->ctx, plan->symbols.at[i])) return true;
  return false;
}

/* The ranges of the variables in plan->symbols, in plan->extents. */
static bool list_extents(loom_plan *plan, const loom_kernel *k) {
  plan->extents.n = 0;
  if (!loom_vec_reserve(plan->ctx, &plan->extents, plan->symbols.n)) return false;
  for (size_t i = 0; i < plan->symbols.n; i++) {
    const loom_entry *entry = loom_ranges_entry(k->ranges, plan->symbols.at[i]);
    if (entry) plan->extents.at[plan->extents.n++] = (loom_extent){entry->variable, entry->length};
  }
  return true;
}

/* Whether the address can be computed in 32 bits; plan->symbols: those of the index. */
static bool is_narrow(loom_plan *plan, const loom_kernel *k, loom_expr index) {
  if (!list_extents(plan, k)) return false;
  loom_address address = {index, plan->extents.n, plan->extents.at};
  return loom_address_narrow(plan->ctx, &address);
}

/* The same of an address with loaded values, as far as it leads to the buffer. */
static bool is_narrow_gather(loom_plan *plan, const loom_kernel *k, loom_expr index,
                             const loom_buffer *buffer) {
  loom_ctx *ctx = plan->ctx;
  int64_t storage = loom_facts_of(ctx, buffer->storage).hi;
  loom_expr address = loom_add(ctx, index, buffer->offset);
  if (address == LOOM_NONE || storage < 1 || storage == LOOM_PLUS_INF ||
      !is_indirect(plan, address) || !list_extents(plan, k))
    return false;
  address = loom_bound_loaded(ctx, address, storage - 1, plan->extents.n, plan->extents.at);
  if (address == LOOM_NONE) return false;
  loom_address bounded = {address, plan->extents.n, plan->extents.at};
  return loom_address_narrow(ctx, &bounded);
}

static bool rewrite(loom_plan *plan, const loom_kernel *k, const loom_nest *nest, loom_expr index,
                    loom_kernel_access *out) {
  loom_ctx *ctx = plan->ctx;
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  size_t n = nest->n_pointwise + nest->n_reduction;
  out->index = loom_substitute(ctx, index, n, nest->variables, nest->values);
  if (out->index == LOOM_NONE) return false;
  out->simplified = loom_ranges_simplify(ranges, out->index);
  if (out->simplified == LOOM_NONE) return false;
  out->indirect = is_indirect(plan, out->simplified);
  out->narrow = !out->indirect && is_narrow(plan, k, out->simplified);
  out->broadcasted = loom_ranges_broadcasted(ranges, out->index);
  if (!out->indirect && loom_ranges_tile_strides(ranges, out->index, out->strides) != LOOM_OK)
    return false;
  return !loom_base_failed(ctx);
}

ptrdiff_t loom_plan_index(loom_plan *plan, const loom_kernel *k, size_t nest, loom_expr index) {
  uint64_t key = ((uint64_t)nest + 1) << 32 | index;
  uint32_t known = loom_idmap_get(&plan->by_index, key);
  if (known) return (ptrdiff_t)known - 1;
  loom_nest_index item = {.is_flat = false};
  if (!rewrite(plan, k, &plan->nests.at[nest], index, &item.access) ||
      !loom_vec_push(plan->ctx, &plan->indices, item) ||
      !loom_idmap_put(plan->ctx, &plan->by_index, key, (uint32_t)plan->indices.n))
    return -1;
  return (ptrdiff_t)plan->indices.n - 1;
}

/* ---- operations --------------------------------------------------------------------------- */

static bool rewrite_use(loom_plan *plan, const loom_kernel *k, size_t nest, const loom_use *use,
                        loom_kernel_access *out) {
  if (use->mode == LOOM_USE_INDEXED) {
    ptrdiff_t place = loom_plan_index(plan, k, nest, use->index);
    if (place < 0) return false;
    *out = plan->indices.at[place].access;
    const loom_buffer *buffer = &plan->graph->buffers.at[use->buffer];
    loom_expr offset = buffer->offset;
    if (out->indirect) {
      out->narrow = is_narrow_gather(plan, k, out->simplified, buffer);
    } else if (out->narrow && offset != loom_int(plan->ctx, 0)) {
      loom_expr address = loom_add(plan->ctx, out->simplified, offset);
      out->narrow = !is_indirect(plan, address) && is_narrow(plan, k, address);
    }
  }
  out->buffer = use->buffer;
  return true;
}

static bool rewrite_all(loom_plan *plan, const loom_kernel *k, const loom_op *op, size_t nest,
                        loom_kernel_op *out) {
  loom_kernel_access *accesses =
      loom_arena_array(&plan->arena, op->n_reads + op->n_writes, sizeof *accesses);
  if (!accesses) return false;
  for (size_t i = 0; i < op->n_reads + op->n_writes; i++) {
    bool store = i >= op->n_reads;
    const loom_use *use = store ? &op->writes[i - op->n_reads] : &op->reads[i];
    if (use->mode == LOOM_USE_ORDER) continue;
    loom_kernel_access *a = &accesses[out->n_accesses++];
    if (!rewrite_use(plan, k, nest, use, a)) return false;
    a->store = store;
    a->reduced = store && op->kind == LOOM_OP_REDUCTION;
  }
  out->accesses = accesses;
  return true;
}

bool loom_plan_map_op(loom_plan *plan, const loom_kernel *k, loom_kernel_op *out) {
  const loom_op *op = &plan->graph->ops.at[out->op];
  ptrdiff_t place = loom_plan_nest(plan, k, op, out->reduction_on);
  if (place < 0) return false;
  const loom_nest *nest = &plan->nests.at[place];
  out->n_pointwise = nest->n_values_pointwise;
  out->n_reduction = nest->n_values_reduction;
  out->values = nest->values;
  return rewrite_all(plan, k, op, (size_t)place, out);
}

void loom_plan_forget(loom_plan *plan) {
  plan->nests.n = plan->indices.n = 0;
  loom_idmap_clear(plan->ctx, &plan->by_index);
}

bool loom_plan_map(loom_plan *plan, loom_kernel *k) {
  loom_ranges *ranges = (loom_ranges *)(uintptr_t)k->ranges;
  loom_kernel_op *ops = loom_arena_array(&plan->arena, k->n_ops, sizeof *ops);
  bool good = ops != NULL, on = true;
  loom_plan_forget(plan);
  for (size_t i = 0, n = 0; good && i < k->info.n; i++) {
    int step = k->info.schedule[i];
    if (step < 0) {
      on = step == LOOM_REDUCTION_ON;
      loom_ranges_reduction(ranges, on);
    } else {
      ops[n] = (loom_kernel_op){.op = step, .reduction_on = on};
      good = loom_plan_map_op(plan, k, &ops[n++]);
    }
  }
  loom_ranges_reduction(ranges, true);
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
      loom_expr storage = plan->graph->buffers.at[k->ops[i].accesses[j].buffer].storage;
      size_t n = plan->values.n;
      if ((n == 0 || plan->values.at[n - 1] != storage) &&
          !loom_vec_push(ctx, &plan->values, storage))
        return false;
    }
  k->narrow = loom_index_narrow(ctx, extent, plan->values.n, plan->values.at, given);
  loom_given proofs = *given;
  proofs.strict = true;
  k->narrow_proved = all_narrow(k) && loom_index_narrow(ctx, extent, 0, NULL, &proofs);
  return !loom_base_failed(ctx);
}
