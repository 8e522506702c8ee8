/* SPDX-License-Identifier: MIT */
/* Sums over einsums, and energy broken down: doc/formulas.md#costs-totals.
** Invariant: every breakdown adds up the same rows. */
#include "cost/cost.h"

#include <string.h>

static loom_status sum_einsums(loom_costing *c) {
  loom_total_costs *t = &c->costs->total;
  t->dynamic_energy = t->leak_energy = c->zero;
  for (size_t i = 0; i < c->n_parts; i++)
    if (!loom_cost_add(c, &t->dynamic_energy, c->parts[i].out->dynamic_energy) ||
        !loom_cost_add(c, &t->leak_energy, c->parts[i].out->leak_energy))
      return loom_cost_failed(c);
  t->energy = loom_add(c->ctx, t->dynamic_energy, t->leak_energy);
  t->energy_delay_product = loom_mul(c->ctx, t->energy, t->latency);
  return t->energy_delay_product == LOOM_NONE ? loom_cost_failed(c) : LOOM_OK;
}

/* Energy of one component in one einsum, repeats included. */
static bool add_energy(loom_costing *c, const loom_einsum_costs *e, size_t component,
                       loom_component_total *row) {
  for (size_t i = 0; i < e->n_actions; i++) {
    if (e->actions[i].component != row->component) continue;
    loom_expr energy = loom_mul(c->ctx, e->actions[i].energy, e->n_instances);
    if (!loom_cost_add(c, &row->dynamic_energy, energy)) return false;
  }
  if (e->components[component].leak_energy == LOOM_NONE) return true;
  loom_expr leaked = loom_mul(c->ctx, e->components[component].leak_energy, e->n_instances);
  return loom_cost_add(c, &row->leak_energy, leaked);
}

static loom_expr area_of(loom_costing *c, size_t component) {
  const loom_component *of = &c->a->components.at[component];
  if (of->number[LOOM_AREA] == c->zero) return c->zero;
  loom_expr factors[3] = {of->number[LOOM_AREA], of->number[LOOM_N_PARALLEL_INSTANCES],
                          loom_cost_instances(c, (int)component)};
  return loom_product(c->ctx, 3, factors);
}

static loom_status sum_components(loom_costing *c) {
  loom_total_costs *t = &c->costs->total;
  size_t n = c->a->components.n;
  t->area = c->zero;
  t->components = loom_arena_array(&c->costs->arena, n, sizeof *t->components);
  if (!t->components) return loom_cost_failed(c);
  for (size_t i = 0; i < n; i++) {
    loom_component_total row = {
        .component = c->component_name[i], .dynamic_energy = c->zero, .leak_energy = c->zero};
    for (size_t k = 0; k < c->n_parts; k++)
      if (!add_energy(c, c->parts[k].out, i, &row)) return loom_cost_failed(c);
    row.energy = loom_add(c->ctx, row.dynamic_energy, row.leak_energy);
    row.area = area_of(c, i);
    if (row.energy == LOOM_NONE || row.area == LOOM_NONE || !loom_cost_add(c, &t->area, row.area))
      return loom_cost_failed(c);
    bool container = c->a->components.at[i].class_ == LOOM_CONTAINER;
    if (container && row.energy == c->zero && row.area == c->zero) continue;
    t->components[t->n_components++] = row;
  }
  return LOOM_OK;
}

loom_status loom_cost_totals(loom_costing *c) {
  loom_status status = sum_einsums(c);
  return status == LOOM_OK ? sum_components(c) : status;
}

/* ---- energy broken down ------------------------------------------------------------------- */

typedef struct breakdown {
  loom_ctx *ctx;
  unsigned by;
  loom_energy *rows;
  size_t n, capacity;
} breakdown;

static bool same_name(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool add_row(breakdown *b, loom_energy row) {
  if (!(b->by & LOOM_BY_EINSUM)) row.einsum = NULL;
  if (!(b->by & LOOM_BY_COMPONENT)) row.component = NULL;
  if (!(b->by & LOOM_BY_TENSOR)) row.tensor = NULL;
  if (!(b->by & LOOM_BY_ACTION)) row.action = NULL;
  for (size_t i = 0; i < b->n; i++) {
    loom_energy *into = &b->rows[i];
    if (!same_name(into->einsum, row.einsum) || !same_name(into->component, row.component) ||
        !same_name(into->tensor, row.tensor) || !same_name(into->action, row.action))
      continue;
    into->energy = loom_add(b->ctx, into->energy, row.energy);
    return into->energy != LOOM_NONE;
  }
  b->rows[b->n++] = row;
  return true;
}

static bool add_einsum(breakdown *b, const loom_einsum_costs *e) {
  loom_expr zero = loom_int(b->ctx, 0);
  for (size_t i = 0; i < e->n_actions; i++) {
    const loom_action_cost *a = &e->actions[i];
    if (a->total == zero) continue;
    loom_expr energy = loom_mul(b->ctx, a->energy, e->n_instances);
    if (energy == LOOM_NONE ||
        !add_row(b, (loom_energy){e->einsum, a->component, a->tensor, a->action, energy}))
      return false;
  }
  for (size_t i = 0; i < e->n_components; i++) {
    const loom_component_cost *k = &e->components[i];
    if (k->leak_energy == LOOM_NONE || k->leak_energy == zero) continue;
    loom_expr energy = loom_mul(b->ctx, k->leak_energy, e->n_instances);
    if (energy == LOOM_NONE ||
        !add_row(b, (loom_energy){e->einsum, k->component, NULL, "leak", energy}))
      return false;
  }
  return true;
}

size_t loom_costs_energy(const loom_costs *costs, unsigned by, loom_energy *out, size_t capacity) {
  size_t room = 0;
  for (size_t i = 0; i < costs->n_einsums; i++)
    room += costs->einsums[i].n_actions + costs->einsums[i].n_components;
  breakdown b = {.ctx = costs->ctx, .by = by, .capacity = room};
  b.rows = loom_realloc_array(costs->ctx, NULL, 0, room, sizeof *b.rows);
  if (!b.rows) return 0;
  bool good = true;
  for (size_t i = 0; i < costs->n_einsums && good; i++) good = add_einsum(&b, &costs->einsums[i]);
  for (size_t i = 0; i < b.n && i < capacity && good; i++) out[i] = b.rows[i];
  loom_realloc_array(costs->ctx, b.rows, room, 0, sizeof *b.rows);
  return good ? b.n : 0;
}
