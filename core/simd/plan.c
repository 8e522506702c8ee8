/* SPDX-License-Identifier: MIT */
/* Plans: the kernels of a graph one after the other.
** Invariant: a kernel is entered when all of it is known; one that fails leaves no trace. */
#include "simd/plan.h"

#include <string.h>

#include "expr/ops.h"
#include "ranges/sizes.h"

/* ---- life --------------------------------------------------------------------------------- */

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

static void mark_traffic(loom_ctx *ctx, const loom_traffic *t) {
  mark_one(ctx, t->bytes);
  mark_one(ctx, t->bytes_contiguous_or_broadcast);
  mark_one(ctx, t->bytes_other);
  for (int i = 0; i < 2; i++) {
    mark_one(ctx, t->dims[i].bytes_contiguous_or_broadcast);
    mark_one(ctx, t->dims[i].bytes_other);
  }
}

static void mark_op(loom_ctx *ctx, const loom_kernel_op *op) {
  for (size_t i = 0; i < op->n_pointwise + op->n_reduction; i++) mark_one(ctx, op->values[i]);
  for (size_t i = 0; i < op->n_accesses; i++) {
    const loom_kernel_access *a = &op->accesses[i];
    mark_one(ctx, a->index);
    mark_one(ctx, a->simplified);
    for (int p = 0; p < LOOM_N_PREFIXES; p++) mark_one(ctx, a->strides[p]);
  }
}

static void mark_kernel(loom_ctx *ctx, const loom_kernel *k) {
  mark_one(ctx, k->info.extent);
  mark_one(ctx, k->info.reduction_extent);
  mark_one(ctx, k->flops);
  mark_one(ctx, k->bytes);
  for (size_t i = 0; i < k->info.tiling.n; i++) mark_one(ctx, k->info.tiling.extent[i]);
  for (size_t i = 0; k->ops && i < k->n_ops; i++) mark_op(ctx, &k->ops[i]);
  for (size_t i = 0; i < k->n_parts; i++) mark_one(ctx, k->parts[i].tiling.extent[0]);
  for (int i = 0; i < 2; i++) {
    mark_traffic(ctx, &k->one_pass[i]);
    mark_traffic(ctx, &k->looped[i]);
  }
  for (size_t i = 0; i < k->n_arguments; i++) mark_one(ctx, k->arguments[i].symbol);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const loom_plan *plan = (const loom_plan *)(const void *)owner;
  for (size_t i = 0; i < plan->kernels.n; i++) mark_kernel(ctx, plan->kernels.at[i]);
}

loom_plan *loom_plan_new(loom_graph *g) {
  loom_plan *plan = loom_realloc(g->ctx, NULL, 0, sizeof *plan);
  if (!plan) return NULL;
  *plan = (loom_plan){.ctx = g->ctx, .graph = loom_graph_hold(g)};
  loom_arena_init(&plan->arena, g->ctx);
  loom_owner_add(g->ctx, &plan->owner, mark);
  return plan;
}

static void free_ranges(const loom_kernel *k) {
  for (size_t i = 0; i < k->n_parts; i++)
    if (k->parts[i].ranges != k->ranges)
      loom_ranges_free((loom_ranges *)(uintptr_t)k->parts[i].ranges);
  loom_ranges_free((loom_ranges *)(uintptr_t)k->ranges);
}

void loom_plan_free(loom_plan *plan) {
  if (!plan) return;
  loom_ctx *ctx = plan->ctx;
  for (size_t i = 0; i < plan->kernels.n; i++) free_ranges(plan->kernels.at[i]);
  loom_vec_free(ctx, &plan->kernels);
  loom_vec_free(ctx, &plan->kernel_of);
  loom_vec_free(ctx, &plan->kept);
  loom_vec_free(ctx, &plan->place);
  loom_vec_free(ctx, &plan->other_place);
  loom_vec_free(ctx, &plan->last_loop);
  loom_vec_free(ctx, &plan->nests);
  loom_vec_free(ctx, &plan->indices);
  loom_idmap_free(ctx, &plan->by_index);
  loom_vec_free(ctx, &plan->deps);
  loom_vec_free(ctx, &plan->symbols);
  loom_table_free(ctx, &plan->seen);
  loom_vec_free(ctx, &plan->values);
  loom_vec_free(ctx, &plan->extents);
  loom_vec_free(ctx, &plan->numbers);
  loom_split_free(ctx, &plan->split);
  loom_arena_free(&plan->arena);
  loom_owner_remove(&plan->owner);
  loom_graph_free(plan->graph);
  loom_realloc(ctx, plan, sizeof *plan, 0);
}

size_t loom_plan_kernels(const loom_plan *plan, const loom_kernel *const **kernels) {
  if (kernels) *kernels = (const loom_kernel *const *)plan->kernels.at;
  return plan->kernels.n;
}

const loom_graph *loom_plan_graph(const loom_plan *plan) {
  return plan->graph;
}

void *loom_plan_copy(loom_plan *plan, size_t n, const void *items, size_t item) {
  void *copy = loom_arena_array(&plan->arena, n, item);
  if (copy && n > 0) memcpy(copy, items, n * item);
  return copy;
}

void loom_plan_clear(const loom_plan *plan, const loom_kernel *k, int *by_buffer) {
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(plan, k, i);
    for (size_t j = 0; j < op->n_dep_reads; j++) by_buffer[op->dep_reads[j]->buffer] = 0;
    for (size_t j = 0; j < op->n_dep_writes; j++) by_buffer[op->dep_writes[j]->buffer] = 0;
  }
}

bool loom_plan_local(const loom_plan *plan, int buffer, int kernel) {
  const loom_buffer *b = &plan->graph->buffers.at[buffer];
  if (b->output || b->updates >= 0 || b->updated_by >= 0 || b->writer < 0 ||
      plan->kernel_of.at[b->writer] != kernel)
    return false;
  for (size_t i = 0; i < b->n_users; i++)
    if (!b->users[i].order && plan->kernel_of.at[b->users[i].op] != kernel) return false;
  return true;
}

/* ---- adding ------------------------------------------------------------------------------- */

static bool has_loops(const loom_op *op) {
  return op->kind != LOOM_OP_OPAQUE && op->kind != LOOM_OP_NOP;
}

/* Whether it is a kernel around a template. */
static bool has_template(const loom_plan *plan, const loom_kernel_info *info) {
  return loom_graph_template(plan->graph, info->n, info->schedule) < info->n &&
         (info->n > 1 || info->tiling.n > 0);
}

static bool check_op(loom_plan *plan, const loom_kernel_info *info, size_t n_ops, int number) {
  loom_graph *g = plan->graph;
  if (number < 0 || (size_t)number >= g->ops.n) {
    loom_graph_bad(g, "there is no operation number %d to be scheduled", number);
    return false;
  }
  const loom_op *op = &g->ops.at[number];
  if (plan->kernel_of.at[number] >= 0)
    loom_graph_bad(g, "operation '%s' is in a kernel already", op->name);
  else if (!has_loops(op) && !op->extensible && (n_ops > 1 || info->n > 1))
    loom_graph_bad(g, "operation '%s' has no loops and must be a kernel of its own", op->name);
  else
    return true;
  return false;
}

/* Whether the schedule is one: known operations that are in no other kernel. */
static bool check(loom_plan *plan, const loom_kernel_info *info, size_t *n_ops) {
  *n_ops = 0;
  for (size_t i = 0; i < info->n; i++) *n_ops += info->schedule[i] >= 0;
  if (*n_ops == 0) {
    loom_graph_bad(plan->graph, "a kernel has at least one operation");
    return false;
  }
  for (size_t i = 0; i < info->n; i++) {
    int step = info->schedule[i];
    if (step == LOOM_REDUCTION_OFF || step == LOOM_REDUCTION_ON) continue;
    if (!check_op(plan, info, *n_ops, step)) return false;
  }
  return true;
}

static bool check_launch(loom_plan *plan, const loom_kernel *k) {
  size_t n = plan->kernels.n;
  int launch = k->info.launch;
  if (launch == 0 || launch > plan->launch ||
      (launch == plan->launch && plan->kernels.at[n - 1]->info.launch == launch))
    return true;
  loom_graph_bad(plan->graph,
                 "kernels that are launched at once must follow each other, and launches have "
                 "ascending numbers: %d comes behind %d",
                 launch, plan->launch);
  return false;
}

/* Whether no operation of the kernel waits for one that is launched with it in another kernel. */
static bool check_waits(loom_plan *plan, const loom_kernel *k) {
  for (size_t i = 0; i < k->info.n; i++) {
    if (k->info.schedule[i] < 0) continue;
    const loom_op *op = &plan->graph->ops.at[k->info.schedule[i]];
    for (size_t j = 0; j < op->n_needs; j++) {
      if (!loom_plan_at_once(plan, plan->kernel_of.at[op->needs[j]], k)) continue;
      loom_graph_bad(plan->graph, "operation '%s' needs '%s', which is launched with it", op->name,
                     plan->graph->ops.at[op->needs[j]].name);
      return false;
    }
  }
  return true;
}

static bool enter_ops(loom_plan *plan, const loom_kernel *k, int number) {
  for (size_t i = 0; i < k->info.n; i++) {
    int step = k->info.schedule[i];
    if (step < 0) continue;
    if (plan->kernel_of.at[step] == number) {
      loom_graph_bad(plan->graph, "operation '%s' is scheduled twice",
                     plan->graph->ops.at[step].name);
      return false;
    }
    plan->kernel_of.at[step] = number;
  }
  return true;
}

static void leave_ops(loom_plan *plan, const loom_kernel *k, int number) {
  for (size_t i = 0; i < k->info.n; i++) {
    int step = k->info.schedule[i];
    if (step >= 0 && plan->kernel_of.at[step] == number) plan->kernel_of.at[step] = -1;
  }
}

/* Room for what is known of the operations and buffers of the graph. */
static bool grow(loom_plan *plan) {
  size_t ops = plan->graph->ops.n, buffers = plan->graph->buffers.n;
  if (!loom_vec_reserve(plan->ctx, &plan->kernel_of, ops - plan->kernel_of.n) ||
      !loom_vec_reserve(plan->ctx, &plan->kept, buffers - plan->kept.n) ||
      !loom_vec_reserve(plan->ctx, &plan->place, buffers - plan->place.n) ||
      !loom_vec_reserve(plan->ctx, &plan->other_place, buffers - plan->other_place.n) ||
      !loom_vec_reserve(plan->ctx, &plan->last_loop, buffers - plan->last_loop.n) ||
      !loom_vec_reserve(plan->ctx, &plan->kernels, 1))
    return false;
  while (plan->kernel_of.n < ops) plan->kernel_of.at[plan->kernel_of.n++] = -1;
  while (plan->kept.n < buffers) plan->kept.at[plan->kept.n++] = false;
  while (plan->place.n < buffers) plan->place.at[plan->place.n++] = 0;
  while (plan->other_place.n < buffers) plan->other_place.at[plan->other_place.n++] = 0;
  while (plan->last_loop.n < buffers) plan->last_loop.at[plan->last_loop.n++] = 0;
  return true;
}

/* A kernel of one operation without loops. */
static void plan_call(loom_kernel *k, const loom_op *op) {
  k->kind = op->kind;
  k->flops = op->flops;
}

/* A template and what it takes in. */
static bool plan_template(loom_plan *plan, loom_kernel *k) {
  k->kind = LOOM_OP_OPAQUE;
  if (!loom_plan_template(plan, k)) return false;
  k->flops = plan->graph->ops.at[k->template_op].flops;
  return loom_plan_width(plan, k) && loom_plan_storage(plan, k) &&
         loom_plan_template_bytes(plan, k) && loom_plan_layouts(plan, k);
}

static bool plan_loops(loom_plan *plan, loom_kernel *k) {
  const loom_kernel_info *info = &k->info;
  const loom_given *given = &plan->graph->given;
  loom_ranges_options options = {
      .split = {given, given->strict}, .one_pass = info->one_pass, .no_x = info->no_x};
  bool reduces = !loom_size_is_one(plan->ctx, info->reduction_extent, given);
  k->kind = reduces ? LOOM_OP_REDUCTION : LOOM_OP_POINTWISE;
  k->flops = loom_int(plan->ctx, 0);
  k->ranges = loom_ranges_new(plan->ctx, &info->tiling, &options);
  return k->ranges && loom_plan_map(plan, k) && loom_plan_width(plan, k) &&
         loom_plan_hint(plan, k) && loom_plan_traffic(plan, k) && loom_plan_storage(plan, k) &&
         loom_plan_bytes(plan, k) && loom_plan_layouts(plan, k);
}

int loom_plan_kernel(loom_plan *plan, const loom_kernel_info *info) {
  size_t n_ops;
  int number = (int)plan->kernels.n;
  if (!loom_size_check(plan->ctx, info->extent, "the extent of a kernel") ||
      !loom_size_check(plan->ctx, info->reduction_extent, "the reduction extent of a kernel") ||
      !grow(plan) || !check(plan, info, &n_ops))
    return -1;
  loom_kernel *k = loom_arena_new(&plan->arena, sizeof *k);
  if (!k) return -1;
  *k = (loom_kernel){.info = *info, .n_ops = n_ops, .template_op = -1};
  k->info.schedule = loom_plan_copy(plan, info->n, info->schedule, sizeof *info->schedule);
  if (!k->info.schedule) return -1;
  bool good = check_launch(plan, k) && check_waits(plan, k) && enter_ops(plan, k, number);
  const loom_op *first = NULL;
  for (size_t i = 0; good && !first; i++)
    if (info->schedule[i] >= 0) first = &plan->graph->ops.at[info->schedule[i]];
  if (good && has_template(plan, info))
    good = plan_template(plan, k);
  else if (good && has_loops(first))
    good = plan_loops(plan, k);
  else if (good)
    plan_call(k, first);
  if (!good || loom_base_failed(plan->ctx)) {
    leave_ops(plan, k, number);
    free_ranges(k);
    return -1;
  }
  plan->kernels.at[plan->kernels.n++] = k;
  if (info->launch > 0) plan->launch = info->launch;
  return number;
}
