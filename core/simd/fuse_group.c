/* SPDX-License-Identifier: MIT */
/* Groups of operations: their facts, kept when they are joined.
** Invariant: joining costs as much as the smaller group. */
#include <string.h>

#include "expr/ops.h"
#include "simd/fusion.h"

/* ---- one operation ------------------------------------------------------------------------ */

int loom_fusion_group(const loom_fusion *f, int op) {
  while (f->parent[op] != op) op = f->parent[op] = f->parent[f->parent[op]];
  return op;
}

/* The place of a type and storage size. */
static int storage_of(loom_fusion *f, const loom_buffer *b) {
  uint64_t key = (uint64_t)(b->dtype + 1) << 32 | b->storage;
  uint32_t known = loom_idmap_get(&f->storages, key);
  if (known) return (int)known - 1;
  if (!loom_vec_push(f->ctx, &f->storage_sizes, b->storage) ||
      !loom_idmap_put(f->ctx, &f->storages, key, (uint32_t)f->storage_sizes.n))
    return -1;
  return (int)f->storage_sizes.n - 1;
}

static bool count_storage(loom_fusion *f, loom_group *g, int storage, int more) {
  for (size_t i = 0; i < g->storages.n; i++) {
    if (g->storages.at[i].storage != storage) continue;
    g->storages.at[i].count += more;
    if (g->storages.at[i].count == 0) g->storages.at[i] = g->storages.at[--g->storages.n];
    return true;
  }
  return more <= 0 || loom_vec_push(f->ctx, &g->storages, ((loom_storage_use){storage, more}));
}

/* A buffer made in the graph of which all is read by one operation, and nothing leaves. */
static bool is_used_once(const loom_buffer *b) {
  return b->writer >= 0 && b->n_users + b->output == 1;
}

static bool add_read(loom_fusion *f, loom_group *g, const loom_dep *dep) {
  const loom_buffer *b = &f->graph->buffers.at[dep->buffer];
  if (!loom_id_set_add(&f->arena, &g->deps, dep->id)) return false;
  if (b->writer < 0) return true;
  if (!loom_id_set_add(&f->arena, &g->unmet, dep->id)) return false;
  if (!is_used_once(b)) return true;
  int storage = storage_of(f, b);
  return storage >= 0 && count_storage(f, g, storage, 1);
}

static bool begin_group(loom_fusion *f, int number) {
  const loom_op *op = loom_fusion_op(f, number);
  loom_group *g = &f->groups[number];
  *g = (loom_group){.first = number,
                    .last = number,
                    .n = 1,
                    .lead = number,
                    .template_op = -1,
                    .min_order = number,
                    .max_order = number,
                    .tiling = -1};
  g->opaque = (op->kind == LOOM_OP_OPAQUE && !op->extensible) || op->kind == LOOM_OP_NOP;
  if (op->extensible) g->template_op = number;
  g->split_scan = op->split;
  g->reduces = op->kind == LOOM_OP_REDUCTION || op->kind == LOOM_OP_SCAN;
  g->unit = -1;
  for (size_t i = 0; i < op->n_dep_reads; i++)
    if (!add_read(f, g, op->dep_reads[i])) return false;
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (!loom_id_set_add(&f->arena, &g->deps, op->dep_writes[i]->id)) return false;
  return true;
}

/* A unit of one group or of the members of a list, under the number of the first. */
static bool begin_unit(loom_fusion *f, int number) {
  const loom_list *list = loom_graph_list_of(f->graph, number);
  loom_unit *u = &f->units[number];
  *u = (loom_unit){.n = list ? list->n : 1, .needs = -1, .last_need = -1};
  u->members = loom_arena_array(&f->arena, u->n, sizeof *u->members);
  if (!u->members) return false;
  for (size_t i = 0; i < u->n; i++) {
    u->members[i] = list ? list->ops[i] : number;
    f->groups[u->members[i]].unit = number;
    const loom_op *op = loom_fusion_op(f, u->members[i]);
    for (size_t k = 0; k < op->n_needs; k++)
      if (!loom_fusion_need(f, number, op->needs[k])) return false;
  }
  return loom_vec_push(f->ctx, &f->order, number);
}

bool loom_fusion_begin(loom_fusion *f) {
  for (size_t i = 0; i < f->n_ops; i++) {
    f->parent[i] = (int)i;
    f->next[i] = -1;
    f->nest_of[i] = -1;
    if (!begin_group(f, (int)i)) return false;
  }
  for (size_t i = 0; i < f->n_ops; i++)
    if (f->groups[i].unit < 0 && !begin_unit(f, (int)i)) return false;
  loom_fusion_label(f);
  return true;
}

/* ---- joining ------------------------------------------------------------------------------ */

static bool writes(const loom_op *op, const loom_dep *dep) {
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (op->dep_writes[i] == dep) return true;
  return false;
}

/* Reads of b that a's operations provide are met; one that equals the write is no read any more. */
static bool meet(loom_fusion *f, loom_group *a, loom_group *b) {
  for (size_t i = b->unmet.n; i-- > 0;) {
    const loom_dep *dep = f->graph->deps.at[b->unmet.at[i]];
    const loom_buffer *buffer = &f->graph->buffers.at[dep->buffer];
    if (!loom_fusion_in(f, buffer->writer, a)) continue;
    loom_id_set_drop(&b->unmet, i);
    if (is_used_once(buffer) && writes(loom_fusion_op(f, buffer->writer), dep) &&
        !count_storage(f, b, storage_of(f, buffer), -1))
      return false;
  }
  return true;
}

static bool join_storages(loom_fusion *f, loom_group *a, const loom_group *b) {
  for (size_t i = 0; i < b->storages.n; i++)
    if (!count_storage(f, a, b->storages.at[i].storage, b->storages.at[i].count)) return false;
  return true;
}

static void join_members(loom_fusion *f, loom_group *a, const loom_group *b) {
  f->next[a->last] = b->first;
  a->last = b->last;
  a->n += b->n;
  if (b->template_op >= 0 || (!a->reduces && b->reduces && a->template_op < 0)) a->lead = b->lead;
  a->reduces |= b->reduces;
  a->split_scan |= b->split_scan;
  if (a->template_op < 0) a->template_op = b->template_op;
  if (b->min_order < a->min_order) a->min_order = b->min_order;
  if (b->max_order > a->max_order) a->max_order = b->max_order;
}

bool loom_group_needs(const loom_fusion *f, const loom_group *b, const loom_group *a) {
  for (int op = b->first; op >= 0; op = f->next[op])
    for (size_t i = 0; i < loom_fusion_op(f, op)->n_needs; i++)
      if (loom_fusion_in(f, loom_fusion_op(f, op)->needs[i], a)) return true;
  return false;
}

bool loom_group_join(loom_fusion *f, loom_group *a, loom_group *b) {
  if (!loom_group_join_tilings(f, a, b) || !meet(f, a, b) || !join_storages(f, a, b) ||
      !loom_id_set_join(&f->arena, &a->deps, &b->deps) ||
      !loom_id_set_join(&f->arena, &a->unmet, &b->unmet))
    return false;
  join_members(f, a, b);
  f->parent[b - f->groups] = (int)(a - f->groups);
  loom_vec_free(f->ctx, &b->storages);
  loom_vec_free(f->ctx, &b->candidates);
  loom_vec_free(f->ctx, &b->ranked);
  return true;
}
