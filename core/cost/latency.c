/* SPDX-License-Identifier: MIT */
/* Latency of each component by its rule or by a user's formula, of the einsum as their maximum, and
** what bounds it: doc/formulas.md#costs-latency. */
#include "cost/cost.h"

#include <string.h>

static const loom_component_latency *formula_of(const loom_costing *c, const char *component) {
  for (size_t i = 0; i < c->options->n_latencies; i++)
    if (strcmp(c->options->latencies[i].component, component) == 0)
      return &c->options->latencies[i];
  return NULL;
}

/* What the busiest unit of a component does, by action, in scratch. */
static loom_action_count *count_actions(loom_costing *c, const loom_cost_part *part, int component,
                                        size_t *n) {
  static const char *const of_holder[] = {"read", "write"}, *const of_unit[] = {"compute"};
  const loom_component *of = &c->a->components.at[component];
  const char *const *names = of->class_ == LOOM_COMPUTE ? of_unit : of_holder;
  *n = of->class_ == LOOM_MEMORY ? 2 : 1;
  loom_action_count *counts = loom_arena_array(&c->scratch, *n, sizeof *counts);
  if (!counts) return NULL;
  for (size_t i = 0; i < *n; i++) {
    const loom_action *action = loom_component_find_action(of, names[i]);
    counts[i] = (loom_action_count){names[i], c->zero, action ? action->throughput : LOOM_NONE};
    if (counts[i].throughput != LOOM_NONE)
      counts[i].throughput =
          loom_mul(c->ctx, counts[i].throughput, of->number[LOOM_N_PARALLEL_INSTANCES]);
    for (size_t k = 0; k < part->out->n_actions; k++) {
      const loom_action_cost *row = &part->out->actions[k];
      if (!row->tensor || row->component != c->component_name[component] ||
          strcmp(row->action, names[i]) != 0)
        continue;
      if (!loom_cost_add(c, &counts[i].count, row->max_per_unit)) return NULL;
    }
  }
  if (of->class_ == LOOM_COMPUTE && component == part->compute)
    counts[0].count =
        loom_mul(c->ctx, part->stats->compute.max_latency, of->number[LOOM_ACTIONS_SCALE]);
  return counts;
}

/* Sum or maximum of count / throughput. */
static loom_expr over_throughput(loom_costing *c, const loom_action_count *counts, size_t n,
                                 bool sum) {
  loom_expr times[2];
  for (size_t i = 0; i < n; i++)
    times[i] = counts[i].throughput == LOOM_NONE || counts[i].count == c->zero
                   ? c->zero
                   : loom_div(c->ctx, counts[i].count, counts[i].throughput);
  return sum ? loom_sum(c->ctx, n, times) : loom_max(c->ctx, n, times);
}

static loom_expr sum_of_counts(loom_costing *c, const loom_action_count *counts, size_t n) {
  loom_expr sum = c->zero;
  for (size_t i = 0; i < n; i++)
    if (!loom_cost_add(c, &sum, counts[i].count)) return LOOM_NONE;
  return sum;
}

static loom_expr user_latency(loom_costing *c, const loom_cost_part *part, int component,
                              const loom_component_latency *formula,
                              const loom_action_count *counts, size_t n) {
  loom_latency_query query = {c->component_name[component], part->out->einsum, counts, n};
  c->costs->query = &query;
  loom_expr latency = formula->latency(formula->data, c->ctx, &query);
  c->costs->query = NULL;
  if (latency == LOOM_NONE && loom_error_status(c->ctx) == LOOM_OK)
    loom_error_set(c->ctx, LOOM_ERR_CALLBACK, "the latency formula of '%s' gave nothing",
                   query.component);
  return latency;
}

static loom_expr latency_of(loom_costing *c, const loom_cost_part *part, int component) {
  const loom_component *of = &c->a->components.at[component];
  size_t n;
  loom_action_count *counts = count_actions(c, part, component, &n);
  if (!counts) return LOOM_NONE;
  const loom_component_latency *formula = formula_of(c, of->name);
  if (formula) return user_latency(c, part, component, formula, counts, n);
  switch (of->latency_rule) {
  case LOOM_MAX_COUNT_OVER_THROUGHPUT: return over_throughput(c, counts, n, false);
  case LOOM_SUM_COUNT_OVER: return loom_div(c->ctx, sum_of_counts(c, counts, n), of->latency_value);
  case LOOM_CONSTANT_LATENCY: return of->latency_value;
  default: return over_throughput(c, counts, n, true);
  }
}

static bool is_mapped(const loom_costing *c, const loom_cost_part *part, int component) {
  if (component == part->compute) return true;
  for (size_t i = 0; i < part->stats->n_buffets; i++)
    if (strcmp(part->stats->buffets[i].level, c->a->components.at[component].name) == 0)
      return true;
  return false;
}

/* The slowest component: the compute unit where several are. */
static void find_bound(loom_costing *c, loom_cost_part *part, size_t n, const loom_expr *latencies,
                       const int *components) {
  int at = loom_cost_largest(c, n, latencies);
  if (at < 0 || latencies[at] == c->zero) return;
  for (size_t i = 0; i < n; i++)
    if (latencies[i] == latencies[at] && components[i] == part->compute) at = (int)i;
  part->out->bound_by = c->component_name[components[at]];
  part->out->compute_bound = c->a->components.at[components[at]].class_ == LOOM_COMPUTE;
}

loom_status loom_cost_latency(loom_costing *c, loom_cost_part *part) {
  size_t n_components = c->a->components.n, n = 0;
  loom_component_cost *rows = loom_arena_array(&c->costs->arena, n_components, sizeof *rows);
  loom_expr *latencies = loom_arena_array(&c->scratch, n_components, sizeof *latencies);
  int *components = loom_arena_array(&c->scratch, n_components, sizeof *components);
  if (!rows || !latencies || !components) return loom_cost_failed(c);
  part->out->components = rows;
  for (size_t i = 0; i < n_components; i++) {
    rows[i] = (loom_component_cost){.component = c->component_name[i],
                                    .mapped = is_mapped(c, part, (int)i)};
    part->out->n_components++;
    if (!rows[i].mapped) continue;
    rows[i].latency = latencies[n] = latency_of(c, part, (int)i);
    components[n++] = (int)i;
    if (rows[i].latency == LOOM_NONE) return loom_cost_failed(c);
  }
  part->latency = loom_max(c->ctx, n, latencies);
  part->out->latency = loom_mul(c->ctx, part->latency, part->out->n_instances);
  if (part->out->latency == LOOM_NONE) return loom_cost_failed(c);
  find_bound(c, part, n, latencies, components);
  return LOOM_OK;
}
