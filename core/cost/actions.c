/* SPDX-License-Identifier: MIT */
/* Actions of an einsum, net of first accesses that are skipped, and their energy:
** doc/formulas.md#costs-actions. */
#include "cost/cost.h"

#include <string.h>

static loom_expr net(loom_costing *c, const loom_component *of, loom_expr all, loom_expr skipped) {
  loom_expr count = skipped == c->zero ? all : loom_sub(c->ctx, all, skipped);
  return loom_mul(c->ctx, count, of->number[LOOM_ACTIONS_SCALE]);
}

static bool add_row(loom_costing *c, loom_cost_part *part, int component, const char *tensor,
                    const char *action, loom_expr total, loom_expr max_per_unit) {
  const loom_action *found = loom_component_find_action(&c->a->components.at[component], action);
  loom_action_cost *row = &part->out->actions[part->out->n_actions++];
  *row = (loom_action_cost){c->component_name[component],
                            tensor,
                            action,
                            total,
                            max_per_unit,
                            found ? loom_mul(c->ctx, total, found->energy) : c->zero};
  return total != LOOM_NONE && max_per_unit != LOOM_NONE && row->energy != LOOM_NONE;
}

static bool add_buffet(loom_costing *c, loom_cost_part *part, const loom_buffet *b) {
  int component = loom_arch_find(c->a, b->level);
  int tensor = loom_workload_find_tensor(c->w, b->tensor);
  if (component < 0 || tensor < 0) {
    loom_error_set(c->ctx, LOOM_ERR_ARGUMENT,
                   "tensor '%s' in '%s' of the result does not belong to the workload and the "
                   "architecture",
                   b->tensor, b->level);
    return false;
  }
  const loom_component *of = &c->a->components.at[component];
  if (of->class_ != LOOM_MEMORY && of->class_ != LOOM_TOLL) return true;
#define NET(all, skipped) net(c, of, b->field[LOOM_BUFFET_##all], b->field[LOOM_BUFFET_##skipped])
  const char *name = c->tensor_name[tensor];
  return add_row(c, part, component, name, "read",
                 NET(total_read_actions, total_skipped_first_read_actions),
                 NET(max_per_unit_read_actions, min_per_unit_skipped_first_read_actions)) &&
         add_row(c, part, component, name, "write",
                 NET(total_write_actions, total_skipped_first_write_actions),
                 NET(max_per_unit_write_actions, min_per_unit_skipped_first_write_actions));
#undef NET
}

loom_status loom_cost_actions(loom_costing *c, loom_cost_part *part) {
  const loom_stats *stats = part->stats;
  part->out->actions =
      loom_arena_array(&c->costs->arena, 2 * stats->n_buffets + 1, sizeof *part->out->actions);
  if (!part->out->actions) return loom_cost_failed(c);
  for (size_t i = 0; i < stats->n_buffets; i++)
    if (!add_buffet(c, part, &stats->buffets[i])) return loom_cost_failed(c);
  const loom_component *unit = &c->a->components.at[part->compute];
  return add_row(c, part, part->compute, NULL, "compute",
                 net(c, unit, stats->compute.total_ops, c->zero),
                 net(c, unit, stats->compute.max_per_unit_ops, c->zero))
             ? LOOM_OK
             : loom_cost_failed(c);
}
