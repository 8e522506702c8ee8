/* SPDX-License-Identifier: MIT */
/* Where the tile of each holder is reserved: doc/formulas.md#reservations. */
#include "reuse/reuse.h"

#include <string.h>

/* The path being written and the holders whose reservation may still sink. */
typedef struct placement {
  loom_path_node *out;
  size_t n;
  const loom_path_node **pending;
  size_t n_pending;
} placement;

static void emit(placement *p, const loom_path_node *node) {
  p->out[p->n++] = *node;
}

static void reserve(placement *p, const loom_path_node *holder) {
  loom_path_node *node = &p->out[p->n++];
  *node = *holder;
  node->node = (loom_node){.kind = LOOM_NODE_RESERVATION,
                           .tensor = holder->node.tensor,
                           .component = holder->node.component,
                           .persistent = holder->node.persistent,
                           .backing = holder->node.backing,
                           .loop = -1,
                           .source = holder->source};
  node->analyzer = -1;
}

/* Reserves what is pending unless keep(holder) says it sinks further. */
static void reserve_unless(const loom_analysis *an, placement *p, const loom_path_node *loop,
                           bool (*keep)(const loom_analysis *, const loom_path_node *,
                                        const loom_path_node *)) {
  size_t kept = 0;
  for (size_t i = 0; i < p->n_pending; i++) {
    if (keep && keep(an, loop, p->pending[i])) {
      p->pending[kept++] = p->pending[i];
    } else {
      reserve(p, p->pending[i]);
    }
  }
  p->n_pending = kept;
}

static loom_relevancy relevancy(const loom_analysis *an, const loom_path_node *loop,
                                const loom_path_node *holder) {
  return loom_access_relevancy(loom_access_of(an, holder->access),
                               an->loops[loop->node.loop].variable);
}

static bool sinks_into_temporal(const loom_analysis *an, const loom_path_node *loop,
                                const loom_path_node *holder) {
  return relevancy(an, loop, holder) != LOOM_IRRELEVANT;
}

static bool sinks_past_temporal(const loom_analysis *an, const loom_path_node *loop,
                                const loom_path_node *holder) {
  return relevancy(an, loop, holder) == LOOM_RELEVANT;
}

static bool sinks_into_spatial(const loom_analysis *an, const loom_path_node *loop,
                               const loom_path_node *holder) {
  (void)an;
  return loop->component == holder->component;
}

static void place(const loom_analysis *an, placement *p, const loom_path_node *node) {
  switch (node->node.kind) {
  case LOOM_NODE_TEMPORAL:
    reserve_unless(an, p, node, sinks_into_temporal);
    emit(p, node);
    reserve_unless(an, p, node, sinks_past_temporal);
    break;
  case LOOM_NODE_SPATIAL:
    reserve_unless(an, p, node, sinks_into_spatial);
    emit(p, node);
    break;
  case LOOM_NODE_COMPUTE:
    reserve_unless(an, p, node, NULL);
    emit(p, node);
    break;
  default:
    reserve_unless(an, p, node, NULL);
    emit(p, node);
    if (node->node.backing || !node->may_lower || an->einsum->is_copy ||
        an->options->model == LOOM_EXACT) {
      reserve(p, node);
    } else {
      p->pending[p->n_pending++] = node;
    }
  }
}

loom_status loom_place_reservations(loom_analysis *an) {
  placement p = {0};
  p.out = loom_arena_array(&an->scratch, 2 * an->n_path, sizeof *p.out);
  p.pending = loom_arena_array(&an->scratch, an->n_path, sizeof *p.pending);
  if (!p.out || !p.pending) return loom_failed(an);
  for (size_t i = 0; i < an->n_path; i++) place(an, &p, &an->path[i]);
  an->path = p.out;
  an->n_path = p.n;
  for (size_t i = 0; i < p.n; i++)
    if (p.out[i].node.loop >= 0) an->loops[p.out[i].node.loop].at = (int)i;
  return LOOM_OK;
}
