/* SPDX-License-Identifier: MIT */
/* How often loops run and how much a tile holds, by the rules of the model `reference`:
** doc/formulas.md#trips. */
#include "reuse/reuse.h"

static loom_status reference_tiles(loom_ctx *ctx, loom_expr extent, loom_expr tile, loom_expr first,
                                   loom_tiles *out) {
  loom_tiling_mode mode = first == LOOM_NONE ? LOOM_WHOLE_TRIPS : LOOM_FIRST_TILE;
  return loom_tile_sequence(ctx, mode, extent, tile, first, out);
}

static loom_expr rounded_up(loom_ctx *ctx, loom_expr extent, loom_expr tile, loom_expr trips) {
  (void)extent;
  (void)tile;
  return loom_ceil(ctx, trips);
}

static loom_expr bounding_box(loom_analysis *an, const loom_access *access,
                              const loom_expr *extents) {
  return loom_access_occupancy(an->ctx, access, extents);
}

const loom_rules loom_reference_rules = {.name = "reference",
                                         .tiles = reference_tiles,
                                         .reference_trips = rounded_up,
                                         .footprint = bounding_box};

static bool is_number(const loom_analysis *an, loom_expr e) {
  return e == LOOM_NONE || loom_expr_is_num(an->ctx, e);
}

static bool path_is_concrete(const loom_analysis *an) {
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_loop *loop = &an->loops[i];
    if (!is_number(an, loop->tile) || !is_number(an, loop->first) ||
        !is_number(an, an->w->variables.at[loop->variable].size))
      return false;
  }
  return true;
}

static loom_status count_loop(loom_analysis *an, loom_loop *loop) {
  const loom_loop *outer = loop->outer < 0 ? NULL : &an->loops[loop->outer];
  loop->two_kinds = loop->first != LOOM_NONE;
  loop->varies = loop->two_kinds || (outer && outer->two_kinds);
  if (outer && outer->two_kinds) return LOOM_OK;
  loom_expr extent = outer ? outer->tile : an->w->variables.at[loop->variable].size;
  loom_tiles tiles;
  loom_status status = an->rules->tiles(an->ctx, extent, loop->tile, loop->first, &tiles);
  if (status != LOOM_OK) return status;
  if (loop->two_kinds) {
    loom_expr trips = loom_add(an->ctx, tiles.repeats[0], tiles.repeats[1]);
    loop->trips = loop->reference = an->path[loop->at].node.trips = trips;
    return trips == LOOM_NONE ? loom_failed(an) : LOOM_OK;
  }
  loop->trips = loop->reference = tiles.repeats[0];
  if ((an->concrete ? !outer : an->options->round_trips) &&
      loom_is_integer(an->ctx, loop->trips) != LOOM_YES &&
      loom_einsum_used_alone(an->einsum, loop->variable))
    loop->reference = an->rules->reference_trips(an->ctx, extent, loop->tile, loop->trips);
  if (loop->reference == LOOM_NONE) return loom_failed(an);
  an->path[loop->at].node.trips = loop->trips;
  return LOOM_OK;
}

static loom_status list_fanout(loom_analysis *an, loom_loop *loop) {
  const loom_path_node *node = &an->path[loop->at];
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_loop *other = &an->loops[i];
    if (other == loop) break;
    if (other->fanout >= 0 && an->path[other->at].component == node->component &&
        an->path[other->at].dim == node->dim) {
      loop->fanout = other->fanout;
      return LOOM_OK;
    }
  }
  loop->fanout = (int)an->n_fanout;
  an->fanout[an->n_fanout++] =
      (loom_fanout){.component = node->node.component, .dim = node->node.dim, .used = an->one};
  return LOOM_OK;
}

static void list_first_latency(loom_analysis *an, loom_loop *loop) {
  if (loop && loop->first_latency < 0) loop->first_latency = (int)an->n_first_latency++;
}

static const loom_mapping_node *source_of(const loom_analysis *an, const loom_loop *loop) {
  return &an->m->nodes.at[an->path[loop->at].source];
}

/* The innermost temporal loop above each pipeline that the path runs through. */
static void list_pipelined_loops(loom_analysis *an) {
  int leaf = an->path[an->n_path - 1].source;
  int split = an->m->lists.at[an->m->nodes.at[leaf].list].parent;
  for (; split >= 0; split = an->m->lists.at[an->m->nodes.at[split].list].parent) {
    const loom_mapping_node *node = &an->m->nodes.at[split];
    if (node->kind != LOOM_NODE_PIPELINE) continue;
    loom_loop *innermost = NULL;
    for (size_t k = 0; k < an->n_loops && source_of(an, &an->loops[k])->list <= node->list; k++)
      if (!an->loops[k].spatial) innermost = &an->loops[k];
    list_first_latency(an, innermost);
  }
}

/* The innermost temporal loop above the backing reservation of each shared tensor:
** doc/formulas.md#first-latency. */
static void list_first_latencies(loom_analysis *an) {
  if (an->einsum->is_copy) return;
  list_pipelined_loops(an);
  for (size_t i = 0; i < an->n_path; i++) {
    const loom_path_node *node = &an->path[i];
    if (node->node.kind != LOOM_NODE_RESERVATION || !node->node.backing ||
        an->w->tensors.at[loom_access_of(an, node->access)->tensor].n_users < 2)
      continue;
    loom_loop *innermost = NULL;
    for (size_t k = 0; k < an->n_loops && an->loops[k].at < (int)i; k++)
      if (!an->loops[k].spatial) innermost = &an->loops[k];
    list_first_latency(an, innermost);
  }
}

loom_status loom_count_trips(loom_analysis *an) {
  an->concrete = path_is_concrete(an);
  an->fanout = loom_arena_array(&an->scratch, an->n_loops, sizeof *an->fanout);
  an->n_fanout = an->n_first_latency = 0;
  if (!an->fanout) return loom_failed(an);
  for (size_t i = 0; i < an->n_loops; i++) {
    loom_loop *loop = &an->loops[i];
    loom_status status = an->options->model == LOOM_REFERENCE ? count_loop(an, loop) : LOOM_OK;
    if (status == LOOM_OK && loop->spatial) status = list_fanout(an, loop);
    if (status != LOOM_OK) return status;
  }
  list_first_latencies(an);
  return LOOM_OK;
}
