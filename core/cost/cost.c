/* SPDX-License-Identifier: MIT */
/* Costs of a mapping: doc/formulas.md#costs.
** Invariant: on every way out the scratch memory is given back; costs that are not complete are
** freed. */
#include "cost/cost.h"

#include <string.h>

/* ---- helpers ------------------------------------------------------------------------------ */

loom_status loom_cost_failed(const loom_costing *c) {
  loom_status status = loom_error_status(c->ctx);
  return status == LOOM_OK ? loom_error_memory(c->ctx) : status;
}

bool loom_cost_add(loom_costing *c, loom_expr *into, loom_expr term) {
  if (term != c->zero) *into = *into == c->zero ? term : loom_add(c->ctx, *into, term);
  return *into != LOOM_NONE;
}

loom_expr loom_cost_instances(loom_costing *c, int component) {
  loom_expr n = c->one;
  for (size_t i = 0; i < c->a->components.n; i++) {
    if (!loom_arch_at_or_above(c->a, (int)i, component)) continue;
    const loom_component *above = &c->a->components.at[i];
    for (size_t d = 0; d < above->dimensions.n; d++)
      n = loom_mul(c->ctx, n, above->dimensions.at[d].fanout);
  }
  return n;
}

loom_expr loom_cost_used(const loom_costing *c, const loom_cost_part *part, int component,
                         int dimension) {
  const loom_component *of = &c->a->components.at[component];
  for (size_t i = 0; i < part->stats->n_fanout; i++) {
    const loom_fanout *f = &part->stats->fanout[i];
    if (strcmp(f->component, of->name) == 0 &&
        strcmp(f->dim, of->dimensions.at[dimension].name) == 0)
      return f->used;
  }
  return c->one;
}

loom_expr loom_cost_fraction(loom_costing *c, int component, loom_expr bits) {
  const loom_component *of = &c->a->components.at[component];
  loom_expr size = of->number[LOOM_SIZE];
  if (size == LOOM_NONE || bits == c->zero) return c->zero;
  if (size != c->zero) return loom_div(c->ctx, bits, size);
  loom_error_set(c->ctx, LOOM_ERR_CAPACITY, "memory '%s' has size 0 and must hold something",
                 of->name);
  return LOOM_NONE;
}

int loom_cost_largest(loom_costing *c, size_t n, const loom_expr *values) {
  if (c->options->leave_undecided) return -1;
  for (size_t i = 0; i < n; i++) {
    bool largest = true;
    for (size_t k = 0; k < n && largest; k++)
      largest = values[k] == values[i] || loom_known_le(c->ctx, values[k], values[i]) == LOOM_YES;
    if (largest) return (int)i;
  }
  return -1;
}

int loom_cost_meeting(const loom_costing *c, int a, int b, int branches[2]) {
  int lists[2] = {c->parts[a].list, c->parts[b].list}, split = -1;
  while (lists[0] != lists[1]) {
    int deeper = lists[0] < lists[1];
    const loom_mapping_list *list = &c->m->lists.at[lists[deeper]];
    split = list->parent;
    branches[deeper] = list->branch;
    lists[deeper] = c->m->nodes.at[split].list;
  }
  return split;
}

/* ---- costs as an object ------------------------------------------------------------------- */

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

static void mark_pair(loom_ctx *ctx, loom_expr a, loom_expr b) {
  mark_one(ctx, a);
  mark_one(ctx, b);
}

static void mark_einsum(loom_ctx *ctx, const loom_einsum_costs *e) {
  mark_pair(ctx, e->n_instances, e->latency);
  mark_pair(ctx, e->dynamic_energy, e->leak_energy);
  for (size_t i = 0; i < e->n_actions; i++) {
    mark_pair(ctx, e->actions[i].total, e->actions[i].max_per_unit);
    mark_one(ctx, e->actions[i].energy);
  }
  for (size_t i = 0; i < e->n_components; i++) {
    mark_pair(ctx, e->components[i].latency, e->components[i].leak_energy);
    mark_pair(ctx, e->components[i].bits, e->components[i].usage);
  }
  for (size_t i = 0; i < e->n_memory; i++) mark_pair(ctx, e->memory[i].bits, e->memory[i].fraction);
  for (size_t i = 0; i < e->n_reserved; i++)
    mark_pair(ctx, e->reserved[i].bits, e->reserved[i].fraction);
  for (size_t i = 0; i < e->n_spatial; i++) {
    mark_pair(ctx, e->spatial[i].used, e->spatial[i].fanout);
    mark_one(ctx, e->spatial[i].fraction);
  }
}

static void mark_total(loom_ctx *ctx, const loom_total_costs *t) {
  mark_pair(ctx, t->latency, t->energy);
  mark_pair(ctx, t->dynamic_energy, t->leak_energy);
  mark_pair(ctx, t->energy_delay_product, t->area);
  for (size_t i = 0; i < t->n_components; i++) {
    mark_pair(ctx, t->components[i].energy, t->components[i].dynamic_energy);
    mark_pair(ctx, t->components[i].leak_energy, t->components[i].area);
  }
  for (size_t i = 0; i < t->n_peaks; i++) mark_pair(ctx, t->peaks[i].bits, t->peaks[i].fraction);
  for (size_t i = 0; i < t->n_steps; i++) mark_pair(ctx, t->steps[i].bits, t->steps[i].fraction);
  for (size_t i = 0; i < t->n_residents; i++)
    mark_pair(ctx, t->residents[i].bits, t->residents[i].fraction);
  for (size_t i = 0; i < t->n_constraints; i++) {
    mark_pair(ctx, t->constraints[i].needed, t->constraints[i].available);
    mark_one(ctx, t->constraints[i].condition);
  }
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const loom_costs *costs = (const loom_costs *)(const void *)owner;
  for (size_t i = 0; i < costs->n_einsums; i++) mark_einsum(ctx, &costs->einsums[i]);
  mark_total(ctx, &costs->total);
  for (size_t i = 0; costs->query && i < costs->query->n_actions; i++)
    mark_pair(ctx, costs->query->actions[i].count, costs->query->actions[i].throughput);
}

static loom_costs *new_costs(loom_ctx *ctx) {
  loom_costs *costs = loom_realloc(ctx, NULL, 0, sizeof *costs);
  if (!costs) return NULL;
  *costs = (loom_costs){.ctx = ctx};
  loom_arena_init(&costs->arena, ctx);
  loom_owner_add(ctx, &costs->owner, mark);
  return costs;
}

void loom_costs_free(loom_costs *costs) {
  if (!costs) return;
  loom_arena_free(&costs->arena);
  loom_owner_remove(&costs->owner);
  loom_realloc(costs->ctx, costs, sizeof *costs, 0);
}

size_t loom_costs_einsums(const loom_costs *costs) {
  return costs->n_einsums;
}

const loom_einsum_costs *loom_costs_einsum(const loom_costs *costs, size_t einsum) {
  if (einsum < costs->n_einsums) return &costs->einsums[einsum];
  loom_error_set(costs->ctx, LOOM_ERR_ARGUMENT, "the costs have no einsum number %zu", einsum);
  return NULL;
}

const loom_total_costs *loom_costs_total(const loom_costs *costs) {
  return &costs->total;
}

/* ---- begin -------------------------------------------------------------------------------- */

static bool is_symbol_free(const loom_ctx *ctx, loom_expr e) {
  return e == LOOM_NONE || loom_expr_is_num(ctx, e);
}

/* A size of the workload or of the architecture, or a tile. */
static bool has_symbols(const loom_costing *c) {
  for (size_t i = 0; i < loom_result_einsums(c->r); i++)
    if (loom_result_symbols(c->r, i, NULL) > 0) return true;
  for (size_t v = 0; v < c->w->variables.n; v++)
    if (!is_symbol_free(c->ctx, c->w->variables.at[v].size)) return true;
  for (size_t i = 0; i < c->a->components.n; i++) {
    const loom_component *component = &c->a->components.at[i];
    if (!is_symbol_free(c->ctx, component->number[LOOM_SIZE])) return true;
    for (size_t d = 0; d < component->dimensions.n; d++)
      if (!is_symbol_free(c->ctx, component->dimensions.at[d].fanout)) return true;
  }
  return false;
}

/* The path is one of the mapping, and all it names is known. */
static bool check_path(const loom_costing *c, const loom_node *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int source = nodes[i].source;
    if (source < 0 || (size_t)source >= c->m->nodes.n) return false;
    loom_node_kind kind = c->m->nodes.at[source].kind;
    if (kind != nodes[i].kind && nodes[i].kind != LOOM_NODE_RESERVATION) return false;
    if ((nodes[i].tensor && loom_workload_find_tensor(c->w, nodes[i].tensor) < 0) ||
        (nodes[i].variable && loom_workload_find_variable(c->w, nodes[i].variable) < 0) ||
        (nodes[i].component && loom_arch_find(c->a, nodes[i].component) < 0))
      return false;
  }
  return n > 0 && nodes[n - 1].kind == LOOM_NODE_COMPUTE;
}

static loom_status check_mapping(const loom_costing *c) {
  bool good = true;
  for (size_t i = 0; i < c->m->lists.n && good; i++) {
    const loom_mapping_list *list = &c->m->lists.at[i];
    good = list->nodes.n > 0;
    if (!good) break;
    const loom_mapping_node *last = &c->m->nodes.at[list->nodes.at[list->nodes.n - 1]];
    good = last->kind == LOOM_NODE_COMPUTE || (loom_node_is_split(last->kind) && last->branches.n);
  }
  for (size_t i = 0; i < loom_result_einsums(c->r) && good; i++) {
    const loom_node *nodes;
    size_t n = loom_result_path(c->r, i, &nodes);
    good = check_path(c, nodes, n);
  }
  if (good) return LOOM_OK;
  return loom_error_set(c->ctx, LOOM_ERR_ARGUMENT,
                        "the result is not of this workload, architecture and mapping");
}

static loom_status begin_part(loom_costing *c, size_t i) {
  loom_cost_part *part = &c->parts[i];
  const char *name = loom_result_einsum(c->r, i);
  int einsum = loom_workload_find_einsum(c->w, name);
  part->stats = loom_result_stats(c->r, i);
  part->compute = loom_arch_find(c->a, part->stats->compute.level);
  if (einsum < 0 || part->compute < 0)
    return loom_error_set(c->ctx, LOOM_ERR_ARGUMENT,
                          "einsum '%s' of the result does not belong to the workload and the "
                          "architecture",
                          name);
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, i, &nodes);
  part->list = c->m->nodes.at[nodes[n - 1].source].list;
  part->einsum = &c->w->einsums.at[einsum];
  part->share = c->one;
  part->out = &c->costs->einsums[i];
  part->out->einsum = loom_arena_string(&c->costs->arena, name);
  part->out->n_instances = loom_mul(c->ctx, c->w->n_instances, part->einsum->n_instances);
  return part->out->einsum && part->out->n_instances != LOOM_NONE ? LOOM_OK : loom_cost_failed(c);
}

static bool copy_names(loom_costing *c) {
  loom_arena *arena = &c->costs->arena;
  size_t n_components = c->a->components.n, n_tensors = c->w->tensors.n;
  c->component_name = loom_arena_array(&c->scratch, n_components, sizeof *c->component_name);
  c->tensor_name = loom_arena_array(&c->scratch, n_tensors, sizeof *c->tensor_name);
  if (!c->component_name || !c->tensor_name) return false;
  for (size_t i = 0; i < n_components; i++)
    if (!(c->component_name[i] = loom_arena_string(arena, c->a->components.at[i].name)))
      return false;
  for (size_t i = 0; i < n_tensors; i++)
    if (!(c->tensor_name[i] = loom_arena_string(arena, c->w->tensors.at[i].name))) return false;
  return true;
}

static loom_status check_options(const loom_costing *c) {
  for (size_t i = 0; i < c->options->n_latencies; i++)
    if (loom_arch_find(c->a, c->options->latencies[i].component) < 0)
      return loom_name_error(c->ctx, LOOM_ERR_UNKNOWN_COMPONENT, "latency formulas",
                             "unknown component", c->options->latencies[i].component,
                             loom_arch_names(c->a));
  return LOOM_OK;
}

static loom_status begin(loom_costing *c) {
  if (check_options(c) != LOOM_OK || check_mapping(c) != LOOM_OK) return loom_error_status(c->ctx);
  size_t n = loom_result_einsums(c->r);
  c->zero = loom_int(c->ctx, 0);
  c->one = loom_int(c->ctx, 1);
  c->symbolic = has_symbols(c);
  c->costs = new_costs(c->ctx);
  if (!c->costs || !copy_names(c)) return loom_cost_failed(c);
  c->costs->einsums = loom_arena_array(&c->costs->arena, n, sizeof *c->costs->einsums);
  c->parts = loom_arena_array(&c->scratch, n, sizeof *c->parts);
  if (!c->costs->einsums || !c->parts) return loom_cost_failed(c);
  c->costs->n_einsums = c->n_parts = n;
  loom_status status = LOOM_OK;
  for (size_t i = 0; i < n && status == LOOM_OK; i++) status = begin_part(c, i);
  return status;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static loom_status run(loom_costing *c) {
  loom_status (*const before[])(loom_costing *, loom_cost_part *) = {
      loom_cost_actions, loom_cost_latency, loom_cost_usage};
  loom_status (*const after[])(loom_costing *) = {loom_cost_lifetimes, loom_cost_totals,
                                                  loom_cost_limits};
  loom_status status = begin(c);
  for (size_t i = 0; i < c->n_parts && status == LOOM_OK; i++)
    for (size_t k = 0; k < sizeof before / sizeof *before && status == LOOM_OK; k++)
      status = before[k](c, &c->parts[i]);
  if (status == LOOM_OK) status = loom_cost_elapsed(c);
  for (size_t i = 0; i < c->n_parts && status == LOOM_OK; i++)
    status = loom_cost_leakage(c, &c->parts[i]);
  for (size_t k = 0; k < sizeof after / sizeof *after && status == LOOM_OK; k++)
    status = after[k](c);
  return status;
}

loom_costs *loom_cost(const loom_result *r, const loom_workload *w, const loom_arch *a,
                      const loom_mapping *m, const loom_cost_options *options) {
  static const loom_cost_options none = {0};
  loom_ctx *ctx = w->ctx;
  if (loom_error_status(ctx) != LOOM_OK) return NULL;
  if (a->ctx != ctx || m->ctx != ctx || r->ctx != ctx) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                   "result, workload, architecture and mapping belong to different contexts");
    return NULL;
  }
  loom_costing c = {
      .ctx = ctx, .r = r, .w = w, .a = a, .m = m, .options = options ? options : &none};
  loom_arena_init(&c.scratch, ctx);
  bool good = run(&c) == LOOM_OK && !loom_base_failed(ctx);
  loom_arena_free(&c.scratch);
  if (good) return c.costs;
  loom_costs_free(c.costs);
  return NULL;
}
