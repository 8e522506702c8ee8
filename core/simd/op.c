/* SPDX-License-Identifier: MIT */
/* Adds operations to a graph, and derives what is known of each.
** Invariant: buffers are entered into (their writer, users and updates) only when nothing can fail
** but memory. */
#include <string.h>

#include "expr/ops.h"
#include "simd/graph.h"

/* ---- checks ------------------------------------------------------------------------------- */

static bool check_loops(loom_graph *g, const loom_op_info *info) {
  size_t n = info->n_pointwise + info->n_reduction;
  for (size_t i = 0; i < n; i++) {
    if (!loom_symbol_check(g->ctx, info->loops[i].variable) ||
        !loom_expr_check(g->ctx, info->loops[i].size))
      return false;
    loom_facts size = loom_facts_of(g->ctx, info->loops[i].size);
    const char *variable = loom_symbol_name(g->ctx, info->loops[i].variable);
    if (!loom_facts_integer(size) || loom_facts_negative(size)) {
      loom_graph_bad(g, "operation '%s': loop '%s' must have an integer size", info->name,
                     variable);
      return false;
    }
    if (!loom_graph_check_hinted(g, "operation", info->name, info->loops[i].size)) return false;
    for (size_t k = 0; k < i; k++)
      if (info->loops[k].variable == info->loops[i].variable) {
        loom_graph_bad(g, "operation '%s' has loop '%s' twice", info->name, variable);
        return false;
      }
  }
  if (info->n_reduction == 0 || (info->kind == LOOM_OP_REDUCTION || info->kind == LOOM_OP_SCAN))
    return true;
  loom_graph_bad(g, "operation '%s' is no reduction, but has loops of one", info->name);
  return false;
}

static bool check_flags(loom_graph *g, const loom_op_info *info) {
  if (info->split && info->kind != LOOM_OP_SCAN)
    loom_graph_bad(g, "operation '%s' is split, but no scan", info->name);
  else if (info->extensible &&
           (info->kind != LOOM_OP_OPAQUE || info->n_writes != 1 || info->n_mutates > 0))
    loom_graph_bad(g, "operation '%s' takes in neighbours, but is not opaque with one new output",
                   info->name);
  else
    return true;
  return false;
}

static const loom_buffer *check_use(loom_graph *g, const char *op, const loom_use *use) {
  if (use->buffer < 0 || (size_t)use->buffer >= g->buffers.n) {
    loom_graph_bad(g, "operation '%s' uses buffer number %d: there is none", op, use->buffer);
    return NULL;
  }
  const loom_buffer *b = &g->buffers.at[use->buffer];
  if ((unsigned)use->mode >= LOOM_N_USE_MODES) {
    loom_graph_bad(g, "operation '%s' uses '%s' in no known mode", op, b->name);
    return NULL;
  }
  if (use->mode != LOOM_USE_INDEXED) return b;
  if (!loom_expr_check(g->ctx, use->index)) return NULL;
  if (loom_is_integer(g->ctx, use->index) == LOOM_YES) return b;
  loom_graph_bad(g, "operation '%s': an index of '%s' must be an integer", op, b->name);
  return NULL;
}

static bool check_read(loom_graph *g, const char *op, const loom_use *use) {
  const loom_buffer *b = check_use(g, op, use);
  if (!b) return false;
  if (b->updated_by < 0) return true;
  loom_graph_bad(g, "operation '%s' reads '%s' behind its update: its content is then called '%s'",
                 op, b->name, g->buffers.at[b->updated_by].name);
  return false;
}

static bool check_write(loom_graph *g, const char *op, const loom_use *use) {
  const loom_buffer *b = check_use(g, op, use);
  if (!b) return false;
  if (b->writer >= 0)
    loom_graph_bad(g, "operation '%s' writes '%s', which '%s' wrote", op, b->name,
                   g->ops.at[b->writer].name);
  else if (b->n_users > 0)
    loom_graph_bad(g, "operation '%s' writes '%s' behind '%s', which reads it", op, b->name,
                   g->ops.at[b->users[0].op].name);
  else if (use->mode == LOOM_USE_ORDER)
    loom_graph_bad(g, "operation '%s' writes '%s' for ordering alone", op, b->name);
  else
    return true;
  return false;
}

static bool writes(const loom_op_info *info, int buffer) {
  for (size_t i = 0; i < info->n_writes; i++)
    if (info->writes[i].buffer == buffer) return true;
  return false;
}

static bool check_mutates(loom_graph *g, const loom_op_info *info) {
  if (info->n_mutates > info->n_writes) {
    loom_graph_bad(g, "operation '%s' updates more buffers than it writes", info->name);
    return false;
  }
  for (size_t i = 0; i < info->n_mutates; i++) {
    if (!check_read(g, info->name, &(loom_use){info->mutates[i], LOOM_USE_WHOLE, 0, false}))
      return false;
    if (writes(info, info->mutates[i])) {
      loom_graph_bad(g, "operation '%s' updates '%s' under its own name: it needs another one",
                     info->name, g->buffers.at[info->mutates[i]].name);
      return false;
    }
  }
  return true;
}

static bool check(loom_graph *g, const loom_op_info *info) {
  if ((unsigned)info->kind >= LOOM_N_OP_KINDS || (unsigned)info->hint >= LOOM_N_REDUCTION_HINTS) {
    loom_graph_bad(g, "operation '%s' is of no known kind", info->name);
    return false;
  }
  if (loom_graph_find_op(g, info->name) >= 0) {
    loom_graph_bad(g, "operation '%s' is given twice", info->name);
    return false;
  }
  if (!check_loops(g, info) || !check_flags(g, info)) return false;
  for (size_t i = 0; i < info->n_reads; i++) {
    if (!check_read(g, info->name, &info->reads[i])) return false;
    if (!writes(info, info->reads[i].buffer)) continue;
    loom_graph_bad(g, "operation '%s' reads and writes '%s'", info->name,
                   g->buffers.at[info->reads[i].buffer].name);
    return false;
  }
  for (size_t i = 0; i < info->n_writes; i++)
    if (!check_write(g, info->name, &info->writes[i])) return false;
  for (size_t i = 0; i < info->n_after; i++)
    if (info->after[i] < 0 || (size_t)info->after[i] >= g->ops.n) {
      loom_graph_bad(g, "operation '%s' comes behind number %d: there is none", info->name,
                     info->after[i]);
      return false;
    }
  return check_mutates(g, info);
}

/* ---- copies ------------------------------------------------------------------------------- */

static bool same_use(const loom_use *a, const loom_use *b) {
  return a->buffer == b->buffer && a->mode == b->mode && a->index == b->index &&
         a->accumulates == b->accumulates;
}

/* The uses without repeats; *kept of them.  NULL with an error. */
static loom_use *copy_uses(loom_graph *g, size_t n, const loom_use *uses, size_t *kept) {
  loom_use *copy = loom_arena_array(&g->arena, n, sizeof *copy);
  *kept = 0;
  for (size_t i = 0; copy && i < n; i++) {
    loom_use use = uses[i];
    if (use.mode != LOOM_USE_INDEXED) use.index = LOOM_NONE;
    size_t k = 0;
    while (k < *kept && !same_use(&copy[k], &use)) k++;
    if (k == *kept) copy[(*kept)++] = use;
  }
  return copy;
}

static int *copy_outputs(loom_graph *g, const loom_op *op, size_t *n) {
  int *outputs = loom_arena_array(&g->arena, op->n_writes, sizeof *outputs);
  *n = 0;
  for (size_t i = 0; outputs && i < op->n_writes; i++) {
    size_t k = 0;
    while (k < *n && outputs[k] != op->writes[i].buffer) k++;
    if (k == *n) outputs[(*n)++] = op->writes[i].buffer;
  }
  return outputs;
}

static void *copy_block(loom_graph *g, size_t n, const void *items, size_t item) {
  void *copy = loom_arena_array(&g->arena, n, item);
  if (copy && n > 0) memcpy(copy, items, n * item);
  return copy;
}

static bool copy(loom_graph *g, const loom_op_info *info, loom_op *op) {
  size_t n = info->n_pointwise + info->n_reduction;
  *op = (loom_op){.kind = info->kind,
                  .n_pointwise = info->n_pointwise,
                  .n_reduction = info->n_reduction,
                  .n_mutates = info->n_mutates,
                  .hint = info->hint,
                  .split = info->split,
                  .extensible = info->extensible,
                  .keeps_zero = info->keeps_zero,
                  .keeps_type = info->keeps_type};
  op->name = loom_arena_string(&g->arena, info->name);
  if (info->reduction) op->reduction = loom_arena_string(&g->arena, info->reduction);
  if (info->call) op->call = loom_arena_string(&g->arena, info->call);
  op->loops = copy_block(g, n, info->loops, sizeof *op->loops);
  op->mutates = copy_block(g, info->n_mutates, info->mutates, sizeof *op->mutates);
  op->reads = copy_uses(g, info->n_reads, info->reads, &op->n_reads);
  op->writes = copy_uses(g, info->n_writes, info->writes, &op->n_writes);
  if (!op->writes) return false;
  op->outputs = copy_outputs(g, op, &op->n_outputs);
  return !loom_base_failed(g->ctx);
}

/* ---- derivation --------------------------------------------------------------------------- */

static loom_expr product(loom_ctx *ctx, size_t n, const loom_extent *loops) {
  loom_expr all = loom_int(ctx, 1);
  for (size_t i = 0; i < n; i++) all = loom_mul(ctx, all, loops[i].size);
  return loom_simplify(ctx, all);
}

/* Adds the use to g->found in merged form unless it is there from `first` on. */
static bool find_dep(loom_graph *g, const loom_op *op, const loom_use *use, size_t first) {
  const loom_dep *dep = loom_graph_dep(g, use, op->n_pointwise + op->n_reduction, op->loops);
  if (!dep) return false;
  for (size_t i = first; i < g->found.n; i++)
    if (g->found.at[i] == dep) return true;
  return loom_vec_push(g->ctx, &g->found, dep);
}

/* An update in place comes behind everything that reads the old content. */
static bool find_update_deps(loom_graph *g, const loom_op *op, int buffer) {
  if (!find_dep(g, op, &(loom_use){.buffer = buffer, .mode = LOOM_USE_WHOLE}, 0)) return false;
  for (size_t i = 0; i < g->buffers.at[buffer].n_users; i++) {
    const loom_op *reader = &g->ops.at[g->buffers.at[buffer].users[i].op];
    for (size_t k = 0; k < reader->n_outputs; k++)
      if (!find_dep(g, op, &(loom_use){.buffer = reader->outputs[k], .mode = LOOM_USE_ORDER}, 0))
        return false;
  }
  return true;
}

static bool find_deps(loom_graph *g, loom_op *op) {
  g->found.n = 0;
  for (size_t i = 0; i < op->n_reads; i++)
    if (!find_dep(g, op, &op->reads[i], 0)) return false;
  for (size_t i = 0; i < op->n_mutates; i++)
    if (!find_update_deps(g, op, op->mutates[i])) return false;
  op->n_dep_reads = g->found.n;
  for (size_t i = 0; i < op->n_writes; i++)
    if (!find_dep(g, op, &op->writes[i], op->n_dep_reads)) return false;
  op->n_dep_writes = g->found.n - op->n_dep_reads;
  const loom_dep **deps = copy_block(g, g->found.n, g->found.at, sizeof *deps);
  if (!deps) return false;
  op->dep_reads = deps;
  op->dep_writes = deps + op->n_dep_reads;
  return true;
}

static loom_sizes sizes_of(const loom_graph *g, int buffer) {
  const loom_buffer *b = &g->buffers.at[buffer];
  return (loom_sizes){b->rank, b->sizes};
}

static loom_expr find_flops(loom_graph *g, const loom_op_info *info, const loom_op *op) {
  if (op->kind != LOOM_OP_OPAQUE || !op->call || op->n_outputs == 0) return loom_int(g->ctx, 0);
  loom_sizes output = sizes_of(g, op->outputs[0]);
  if (info->n_inputs > 0)
    return loom_call_flops(g->ctx, op->call, info->n_inputs, info->inputs, &output);
  loom_sizes *inputs = loom_arena_array(&g->arena, op->n_reads, sizeof *inputs);
  if (!inputs) return LOOM_NONE;
  for (size_t i = 0; i < op->n_reads; i++) inputs[i] = sizes_of(g, op->reads[i].buffer);
  return loom_call_flops(g->ctx, op->call, op->n_reads, inputs, &output);
}

static bool derive(loom_graph *g, const loom_op_info *info, loom_op *op) {
  op->flops = find_flops(g, info, op);
  if (op->flops == LOOM_NONE) return false;
  op->extent = product(g->ctx, op->n_pointwise, op->loops);
  op->reduction_extent = product(g->ctx, op->n_reduction, op->loops + op->n_pointwise);
  return op->extent != LOOM_NONE && op->reduction_extent != LOOM_NONE && find_deps(g, op) &&
         loom_graph_find_needs(g, info, op);
}

/* ---- adding ------------------------------------------------------------------------------- */

static bool enter(loom_graph *g, const loom_op *op, int number) {
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    const loom_dep *dep = op->dep_reads[i];
    if (!loom_graph_use(g, dep->buffer, number, dep->mode == LOOM_USE_ORDER)) return false;
  }
  for (size_t i = 0; i < op->n_outputs; i++) g->buffers.at[op->outputs[i]].writer = number;
  for (size_t i = 0; i < op->n_mutates; i++) {
    g->buffers.at[op->mutates[i]].updated_by = op->writes[i].buffer;
    g->buffers.at[op->writes[i].buffer].updates = op->mutates[i];
  }
  return true;
}

int loom_graph_op(loom_graph *g, const loom_op_info *info) {
  loom_op op;
  int number = (int)g->ops.n;
  if (!check(g, info) || !copy(g, info, &op) || !derive(g, info, &op) || loom_base_failed(g->ctx) ||
      !loom_vec_reserve(g->ctx, &g->ops, 1) || !loom_graph_label(g, &op) ||
      !enter(g, &op, number) ||
      !loom_table_add(g->ctx, &g->op_names, loom_table_hash_text(op.name), (uint32_t)number))
    return -1;
  g->ops.at[g->ops.n++] = op;
  return number;
}
