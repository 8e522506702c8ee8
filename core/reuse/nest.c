/* SPDX-License-Identifier: MIT */
/* The loop nest of one tensor, with spatial loops where their hardware is: doc/formulas.md#nest. */
#include "reuse/reuse.h"

/* Spatial loops not yet placed are those of the path from `next` on, marked in `placed`. */
typedef struct placing {
  bool *placed; /* by loop of the path */
} placing;

static void push(loom_analysis *an, int at) {
  an->nest[an->n_nest++] = (loom_nest_node){.at = at};
}

/* Spatial loops on components at or above `component`, in path order. */
static void push_spatial(loom_analysis *an, placing *p, int component) {
  for (size_t i = 0; i < an->n_loops; i++) {
    if (!an->loops[i].spatial || p->placed[i] ||
        !loom_arch_at_or_above(an->a, an->path[an->loops[i].at].component, component))
      continue;
    p->placed[i] = true;
    push(an, an->loops[i].at);
  }
}

static bool is_loop(const loom_analysis *an, size_t i) {
  return an->path[an->nest[i].at].node.loop >= 0;
}

/* Insertion sort of every run of adjacent loops by place in the path. */
static void sort_runs(loom_analysis *an) {
  for (size_t i = 1; i < an->n_nest; i++) {
    if (!is_loop(an, i)) continue;
    loom_nest_node moving = an->nest[i];
    size_t k = i;
    for (; k > 0 && is_loop(an, k - 1) && an->nest[k - 1].at > moving.at; k--)
      an->nest[k] = an->nest[k - 1];
    an->nest[k] = moving;
  }
}

static void describe(loom_analysis *an, int access) {
  for (size_t i = 0; i < an->n_nest; i++) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (node->node.loop < 0 || access < 0) continue;
    const loom_access *a = loom_access_of(an, access);
    int variable = an->loops[node->node.loop].variable;
    an->nest[i].relevancy = loom_access_relevancy(a, variable);
    an->nest[i].shared =
        node->node.kind == LOOM_NODE_SPATIAL && an->nest[i].relevancy == LOOM_IRRELEVANT &&
        loom_component_may_reuse(&an->a->components.at[node->component], node->dim,
                                 an->einsum->name, an->w->tensors.at[a->tensor].name);
  }
}

/* Loops over one variable keep the order they have in the path where the tensor uses the variable,
** and where the tiles of the outer one are of two kinds. */
static loom_status check_order(loom_analysis *an, int access) {
  for (size_t i = 0; i < an->n_nest; i++) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (node->node.loop < 0) continue;
    const loom_loop *outer = &an->loops[node->node.loop];
    if (an->nest[i].relevancy == LOOM_IRRELEVANT && !outer->two_kinds) continue;
    for (size_t k = 0; k < i; k++) {
      const loom_path_node *other = &an->path[an->nest[k].at];
      if (other->node.loop <= node->node.loop ||
          an->loops[other->node.loop].variable != outer->variable)
        continue;
      const loom_path_node *spatial = outer->spatial ? node : other;
      return loom_fail(an, LOOM_ERR_SPATIAL_TEMPORAL_ORDER, spatial->source,
                       "for tensor '%s' the loops over '%s' on '%s' and around it would change "
                       "places",
                       an->w->tensors.at[loom_access_of(an, access)->tensor].name,
                       node->node.variable, spatial->node.component);
    }
  }
  return LOOM_OK;
}

static void gather(loom_analysis *an, placing *p, int access) {
  an->n_nest = 0;
  an->with_compute = access < 0;
  for (size_t i = 0; i < an->n_path; i++) {
    const loom_path_node *node = &an->path[i];
    switch (node->node.kind) {
    case LOOM_NODE_TEMPORAL: push(an, (int)i); break;
    case LOOM_NODE_SPATIAL:
      if (access < 0) push(an, (int)i);
      break;
    case LOOM_NODE_COMPUTE:
      if (access >= 0) push_spatial(an, p, node->component);
      push(an, (int)i);
      break;
    case LOOM_NODE_RESERVATION:
      if (node->access == access) push(an, (int)i);
      break;
    default:
      if (access < 0 || node->access != access) break;
      push_spatial(an, p, node->component);
      push(an, (int)i);
      if (node->node.kind == LOOM_NODE_CUSTOM) an->with_compute = true;
    }
  }
}

loom_status loom_nest_build(loom_analysis *an, int access) {
  placing p = {loom_arena_array(&an->scratch, an->n_loops, sizeof *p.placed)};
  if (!p.placed) return loom_failed(an);
  an->access = access;
  gather(an, &p, access);
  sort_runs(an);
  describe(an, access);
  return access < 0 ? LOOM_OK : check_order(an, access);
}
