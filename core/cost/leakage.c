/* SPDX-License-Identifier: MIT */
/* Leak energy of each component while an einsum runs: doc/formulas.md#costs-leakage. */
#include "cost/cost.h"

/* The part of a component's instances that is switched on; gated: whether it may be switched off
** at all. */
static loom_expr switched_on(loom_costing *c, const loom_cost_part *part, int component,
                             bool *gated) {
  loom_expr on = c->one;
  *gated = false;
  for (size_t i = 0; i < c->a->components.n; i++) {
    if (!loom_arch_at_or_above(c->a, (int)i, component)) continue;
    const loom_component *above = &c->a->components.at[i];
    for (size_t d = 0; d < above->dimensions.n; d++) {
      const loom_dimension *dim = &above->dimensions.at[d];
      if (!dim->power_gateable) continue;
      *gated = true;
      loom_expr used = loom_cost_used(c, part, (int)i, (int)d);
      on = loom_mul(c->ctx, on, loom_div(c->ctx, used, dim->fanout));
    }
  }
  return *gated && !loom_arch_at_or_above(c->a, component, part->compute) ? c->zero : on;
}

static loom_expr leak(loom_costing *c, const loom_cost_part *part, int component) {
  const loom_component *of = &c->a->components.at[component];
  if (of->number[LOOM_LEAK_POWER] == c->zero) return c->zero;
  bool gated;
  loom_expr factors[6] = {of->number[LOOM_LEAK_POWER], of->number[LOOM_N_PARALLEL_INSTANCES],
                          loom_cost_instances(c, component),
                          switched_on(c, part, component, &gated), part->latency};
  factors[5] = gated ? c->one : part->share;
  return loom_product(c->ctx, 6, factors);
}

loom_status loom_cost_leakage(loom_costing *c, loom_cost_part *part) {
  loom_einsum_costs *e = part->out;
  loom_expr leaked = c->zero, spent = c->zero;
  for (size_t i = 0; i < e->n_components; i++) {
    const loom_component *of = &c->a->components.at[i];
    if (of->class_ == LOOM_CONTAINER && of->number[LOOM_LEAK_POWER] == c->zero) continue;
    e->components[i].leak_energy = leak(c, part, (int)i);
    if (!loom_cost_add(c, &leaked, e->components[i].leak_energy)) return loom_cost_failed(c);
  }
  for (size_t i = 0; i < e->n_actions; i++)
    if (!loom_cost_add(c, &spent, e->actions[i].energy)) return loom_cost_failed(c);
  e->leak_energy = loom_mul(c->ctx, leaked, e->n_instances);
  e->dynamic_energy = loom_mul(c->ctx, spent, e->n_instances);
  return e->leak_energy != LOOM_NONE && e->dynamic_energy != LOOM_NONE ? LOOM_OK
                                                                       : loom_cost_failed(c);
}
