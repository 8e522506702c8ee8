/* SPDX-License-Identifier: MIT */
/* Limits of the architecture as constraints, and as errors where numbers exceed them:
** doc/formulas.md#costs-limits. */
#include "cost/cost.h"

#include <stdio.h>

static loom_constraint *add_constraint(loom_costing *c, loom_status kind, const char *einsum,
                                       int component, const char *dim, loom_expr needed,
                                       loom_expr available) {
  loom_total_costs *t = &c->costs->total;
  loom_constraint *row = &t->constraints[t->n_constraints++];
  *row = (loom_constraint){kind,   einsum,    c->component_name[component],      dim,
                           needed, available, loom_le(c->ctx, needed, available)};
  return row->condition == LOOM_NONE ? NULL : row;
}

/* The limit is not met, and that is an error. */
static bool is_exceeded(const loom_costing *c, const loom_constraint *row) {
  return !c->symbolic && !c->options->allow_exceeded_limits && row->condition == c->zero;
}

static loom_status exceeded(loom_costing *c, const loom_constraint *row, const char *what,
                            const char *unit) {
  char *needed = loom_print(c->ctx, row->needed, LOOM_INFIX);
  char *available = loom_print(c->ctx, row->available, LOOM_INFIX);
  loom_status status = needed && available
                           ? loom_error_set(c->ctx, row->kind, "%s needs %s %s, %s are available",
                                            what, needed, unit, available)
                           : loom_cost_failed(c);
  loom_free(needed);
  loom_free(available);
  return status;
}

static loom_status check_fanout(loom_costing *c, const loom_cost_part *part) {
  for (size_t i = 0; i < part->out->n_spatial; i++) {
    const loom_spatial_usage *s = &part->out->spatial[i];
    const loom_constraint *row =
        add_constraint(c, LOOM_ERR_FANOUT, part->out->einsum, loom_arch_find(c->a, s->component),
                       s->dim, s->used, s->fanout);
    if (!row) return loom_cost_failed(c);
    if (!is_exceeded(c, row)) continue;
    char what[LOOM_MESSAGE_SIZE];
    snprintf(what, sizeof what, "einsum '%s': dimension '%s' of '%s'", part->out->einsum, s->dim,
             s->component);
    return exceeded(c, row, what, "instances");
  }
  return LOOM_OK;
}

/* The loops above which everything reserved no longer fits. */
static int depth_of_excess(loom_costing *c, const loom_einsum_costs *e, const char *component,
                           loom_expr size) {
  int depth = 0;
  for (size_t i = 0; i < e->n_reserved; i++) {
    if (e->reserved[i].component != component) continue;
    depth = e->reserved[i].n_loops_above;
    if (loom_known_le(c->ctx, e->reserved[i].bits, size) == LOOM_NO) break;
  }
  return depth;
}

static loom_status check_capacity(loom_costing *c, const loom_cost_part *part) {
  for (size_t i = 0; i < part->out->n_components; i++) {
    const loom_component_cost *k = &part->out->components[i];
    loom_expr size = c->a->components.at[i].number[LOOM_SIZE];
    if (k->bits == LOOM_NONE || size == LOOM_NONE) continue;
    const loom_constraint *row =
        add_constraint(c, LOOM_ERR_CAPACITY, part->out->einsum, (int)i, NULL, k->bits, size);
    if (!row) return loom_cost_failed(c);
    if (!is_exceeded(c, row)) continue;
    int depth = depth_of_excess(c, part->out, k->component, size);
    char what[LOOM_MESSAGE_SIZE], where[64] = "persistently";
    if (depth >= 0) snprintf(where, sizeof where, "below %d loop%s", depth, depth == 1 ? "" : "s");
    snprintf(what, sizeof what, "einsum '%s': what is reserved %s in '%s'", part->out->einsum,
             where, k->component);
    return exceeded(c, row, what, "bits");
  }
  return LOOM_OK;
}

static loom_status check_joint(loom_costing *c) {
  const loom_total_costs *t = &c->costs->total;
  for (size_t i = 0; i < t->n_peaks && c->n_parts > 1; i++) {
    int component = loom_arch_find(c->a, t->peaks[i].component);
    loom_expr size = c->a->components.at[component].number[LOOM_SIZE];
    if (size == LOOM_NONE) continue;
    const loom_constraint *row =
        add_constraint(c, LOOM_ERR_CAPACITY_JOINT, NULL, component, NULL, t->peaks[i].bits, size);
    if (!row) return loom_cost_failed(c);
    if (!is_exceeded(c, row)) continue;
    char what[LOOM_MESSAGE_SIZE];
    snprintf(what, sizeof what, "what is in '%s' while einsum '%s' runs", t->peaks[i].component,
             c->parts[t->peaks[i].step].out->einsum);
    return exceeded(c, row, what, "bits");
  }
  return LOOM_OK;
}

loom_status loom_cost_limits(loom_costing *c) {
  if (c->options->leave_undecided) return LOOM_OK;
  size_t room = c->a->components.n;
  for (size_t i = 0; i < c->n_parts; i++)
    room += c->parts[i].out->n_spatial + c->parts[i].out->n_components;
  loom_total_costs *t = &c->costs->total;
  t->constraints = loom_arena_array(&c->costs->arena, room, sizeof *t->constraints);
  if (!t->constraints) return loom_cost_failed(c);
  loom_status status = LOOM_OK;
  for (size_t i = 0; i < c->n_parts && status == LOOM_OK; i++)
    status = check_fanout(c, &c->parts[i]);
  for (size_t i = 0; i < c->n_parts && status == LOOM_OK; i++)
    status = check_capacity(c, &c->parts[i]);
  return status == LOOM_OK ? check_joint(c) : status;
}
