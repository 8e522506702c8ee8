/* SPDX-License-Identifier: MIT */
/* The model `exact` on one einsum: its operations, then each of its tensors.
** Invariant: what is kept for one einsum lives in the scratch memory of the analysis. */
#include "exact/exact.h"

static loom_status count_operations(loom_analysis *an, loom_result_part *part) {
  loom_arena *arena = &an->result->arena;
  loom_stats *stats = &part->stats;
  loom_status status = loom_nest_build(an, -1);
  if (status != LOOM_OK) return status;
  stats->fanout = loom_arena_array(arena, an->n_fanout, sizeof *stats->fanout);
  stats->first_latency = loom_arena_array(arena, an->n_first_latency, sizeof *stats->first_latency);
  if (!stats->fanout || !stats->first_latency) return loom_failed(an);
  return loom_exact_operations(an, stats);
}

static loom_status count_tensor(loom_analysis *an, loom_result_part *part, int access) {
  loom_status status = loom_nest_build(an, access);
  if (status != LOOM_OK) return status;
  loom_stats stats = {.buffets = part->stats.buffets + part->stats.n_buffets};
  status = loom_exact_traffic(an, &stats);
  return status == LOOM_OK ? loom_part_add_tensor(an, part, &stats) : status;
}

/* What a storage node inside which a visit is looked at takes: the tile of the visit. */
static loom_expr tile_of_visit(loom_analysis *an, const loom_access *access,
                               const loom_expr *extents) {
  (void)access;
  (void)extents;
  loom_asked asked = {.above_holder = an->exact->from, .tile = true};
  return loom_elements(an, &asked);
}

static const loom_rules rules = {.name = "exact", .footprint = tile_of_visit};

loom_status loom_exact_count(loom_analysis *an, loom_result_part *part) {
  an->rules = &rules;
  loom_status status = loom_views_begin(an);
  if (status == LOOM_OK) status = count_operations(an, part);
  for (size_t i = 0; i < part->n_tensors && status == LOOM_OK; i++)
    status = count_tensor(an, part, (int)i);
  return status;
}
