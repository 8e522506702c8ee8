/* SPDX-License-Identifier: MIT */
/* Time from the first einsum's start to the last one's end: doc/formulas.md#costs-elapsed. */
#include "cost/cost.h"

loom_status loom_cost_elapsed(loom_costing *c) {
  loom_expr latency = c->zero;
  for (size_t i = 0; i < c->n_parts; i++)
    if (!loom_cost_add(c, &latency, c->parts[i].out->latency)) return loom_cost_failed(c);
  c->costs->total.latency = latency;
  return LOOM_OK;
}
