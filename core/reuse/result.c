/* SPDX-License-Identifier: MIT */
/* Results: what an analysis leaves behind, with names and nodes of its own. */
#include "reuse/reuse.h"

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

void loom_stats_mark(loom_ctx *ctx, const loom_stats *stats) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) mark_one(ctx, stats->buffets[i].field[f]);
  mark_one(ctx, stats->compute.total_ops);
  mark_one(ctx, stats->compute.max_per_unit_ops);
  mark_one(ctx, stats->compute.max_latency);
  mark_one(ctx, stats->compute.instances);
  mark_one(ctx, stats->temporal_steps);
  for (size_t i = 0; i < stats->n_fanout; i++) mark_one(ctx, stats->fanout[i].used);
  for (size_t i = 0; i < stats->n_first_latency; i++) mark_one(ctx, stats->first_latency[i].steps);
}

static void mark_nodes(loom_ctx *ctx, const loom_node *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    mark_one(ctx, nodes[i].tile);
    mark_one(ctx, nodes[i].first);
    mark_one(ctx, nodes[i].step);
    mark_one(ctx, nodes[i].trips);
  }
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  loom_result *r = (loom_result *)(void *)owner;
  for (size_t i = 0; i < r->n_parts; i++) {
    const loom_result_part *part = &r->parts[i];
    loom_stats_mark(ctx, &part->stats);
    mark_nodes(ctx, part->path, part->n_path);
    for (size_t k = 0; k < part->n_tensors; k++) mark_nodes(ctx, part->nests[k], part->n_nests[k]);
    for (size_t k = 0; k < part->n_symbols; k++) mark_one(ctx, part->symbols[k]);
  }
}

loom_result *loom_result_new(loom_ctx *ctx) {
  loom_result *r = loom_realloc(ctx, NULL, 0, sizeof *r);
  if (!r) return NULL;
  *r = (loom_result){.ctx = ctx};
  loom_arena_init(&r->arena, ctx);
  loom_owner_add(ctx, &r->owner, mark);
  return r;
}

void loom_result_free(loom_result *r) {
  if (!r) return;
  loom_arena_free(&r->arena);
  loom_owner_remove(&r->owner);
  loom_realloc(r->ctx, r, sizeof *r, 0);
}

/* ---- looking at them ---------------------------------------------------------------------- */

static const loom_result_part *part_at(const loom_result *r, size_t einsum) {
  if (einsum < r->n_parts) return &r->parts[einsum];
  loom_error_set(r->ctx, LOOM_ERR_ARGUMENT, "the result has no einsum number %zu", einsum);
  return NULL;
}

size_t loom_result_einsums(const loom_result *r) {
  return r->n_parts;
}

const char *loom_result_einsum(const loom_result *r, size_t einsum) {
  const loom_result_part *part = part_at(r, einsum);
  return part ? part->name : NULL;
}

const loom_stats *loom_result_stats(const loom_result *r, size_t einsum) {
  const loom_result_part *part = part_at(r, einsum);
  return part ? &part->stats : NULL;
}

size_t loom_result_symbols(const loom_result *r, size_t einsum, const loom_expr **symbols) {
  const loom_result_part *part = part_at(r, einsum);
  if (symbols) *symbols = part ? part->symbols : NULL;
  return part ? part->n_symbols : 0;
}

size_t loom_result_path(const loom_result *r, size_t einsum, const loom_node **nodes) {
  const loom_result_part *part = part_at(r, einsum);
  if (nodes) *nodes = part ? part->path : NULL;
  return part ? part->n_path : 0;
}

size_t loom_result_tensors(const loom_result *r, size_t einsum) {
  const loom_result_part *part = part_at(r, einsum);
  return part ? part->n_tensors : 0;
}

const char *loom_result_tensor(const loom_result *r, size_t einsum, size_t access) {
  const loom_result_part *part = part_at(r, einsum);
  if (!part) return NULL;
  if (access < part->n_tensors) return part->tensors[access];
  loom_error_set(r->ctx, LOOM_ERR_ARGUMENT, "einsum '%s' has no access number %zu", part->name,
                 access);
  return NULL;
}

size_t loom_result_nest(const loom_result *r, size_t einsum, size_t access,
                        const loom_node **nodes) {
  if (nodes) *nodes = NULL;
  if (!loom_result_tensor(r, einsum, access)) return 0;
  const loom_result_part *part = &r->parts[einsum];
  if (nodes) *nodes = part->nests[access];
  return part->n_nests[access];
}
