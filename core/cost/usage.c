/* SPDX-License-Identifier: MIT */
/* What an einsum occupies of memories and of dimensions: doc/formulas.md#costs-usage. */
#include "cost/cost.h"

static loom_status list_memory(loom_costing *c, loom_cost_part *part) {
  const loom_stats *stats = part->stats;
  loom_memory_usage *rows = loom_arena_array(&c->costs->arena, stats->n_buffets, sizeof *rows);
  if (!rows) return loom_cost_failed(c);
  part->out->memory = rows;
  for (size_t i = 0; i < stats->n_buffets; i++) {
    const loom_buffet *b = &stats->buffets[i];
    int component = loom_arch_find(c->a, b->level);
    if (c->a->components.at[component].class_ != LOOM_MEMORY) continue;
    loom_expr bits = b->field[LOOM_BUFFET_max_occupancy];
    if (b->persistent) bits = loom_mul(c->ctx, bits, part->out->n_instances);
    loom_memory_usage *row = &rows[part->out->n_memory++];
    *row = (loom_memory_usage){c->component_name[component],
                               c->tensor_name[loom_workload_find_tensor(c->w, b->tensor)],
                               b->n_loops_above, bits, loom_cost_fraction(c, component, bits)};
    if (bits == LOOM_NONE || row->fraction == LOOM_NONE) return loom_cost_failed(c);
  }
  return LOOM_OK;
}

/* The smallest depth above `above` at which something is reserved in a memory, or -2. */
static int next_depth(const loom_einsum_costs *e, const char *component, int above) {
  int found = -2;
  for (size_t i = 0; i < e->n_memory; i++) {
    int depth = e->memory[i].n_loops_above;
    if (e->memory[i].component == component && depth > above && (found == -2 || depth < found))
      found = depth;
  }
  return found;
}

/* Running sums of one memory by depth; the last is its usage. */
static bool list_reserved(loom_costing *c, loom_einsum_costs *e, int component) {
  const char *name = c->component_name[component];
  loom_component_cost *of = &e->components[component];
  loom_expr bits = c->zero;
  for (int depth = next_depth(e, name, -2); depth > -2; depth = next_depth(e, name, depth)) {
    for (size_t i = 0; i < e->n_memory; i++)
      if (e->memory[i].component == name && e->memory[i].n_loops_above == depth &&
          !loom_cost_add(c, &bits, e->memory[i].bits))
        return false;
    loom_reserved *row = &e->reserved[e->n_reserved++];
    *row = (loom_reserved){name, depth, bits, loom_cost_fraction(c, component, bits)};
    of->bits = bits;
    of->usage = row->fraction;
    if (of->usage == LOOM_NONE) return false;
  }
  return true;
}

static loom_status list_spatial(loom_costing *c, loom_cost_part *part) {
  loom_arena *arena = &c->costs->arena;
  size_t room = 0;
  for (size_t i = 0; i < c->a->components.n; i++) room += c->a->components.at[i].dimensions.n;
  part->out->spatial = loom_arena_array(arena, room, sizeof *part->out->spatial);
  if (!part->out->spatial) return loom_cost_failed(c);
  for (size_t i = 0; i < c->a->components.n; i++) {
    if (!loom_arch_at_or_above(c->a, (int)i, part->compute)) continue;
    const loom_component *of = &c->a->components.at[i];
    for (size_t d = 0; d < of->dimensions.n; d++) {
      const loom_dimension *dim = &of->dimensions.at[d];
      loom_expr used = loom_cost_used(c, part, (int)i, (int)d);
      loom_expr fraction = loom_mul(c->ctx, loom_div(c->ctx, used, dim->fanout), dim->usage_scale);
      const char *name = loom_arena_string(arena, dim->name);
      if (!name || fraction == LOOM_NONE) return loom_cost_failed(c);
      part->out->spatial[part->out->n_spatial++] =
          (loom_spatial_usage){c->component_name[i], name, used, dim->fanout, fraction};
    }
  }
  return LOOM_OK;
}

loom_status loom_cost_usage(loom_costing *c, loom_cost_part *part) {
  loom_status status = list_memory(c, part);
  if (status != LOOM_OK) return status;
  loom_einsum_costs *e = part->out;
  e->reserved = loom_arena_array(&c->costs->arena, e->n_memory, sizeof *e->reserved);
  if (!e->reserved) return loom_cost_failed(c);
  for (size_t i = 0; i < c->a->components.n; i++)
    if (!list_reserved(c, e, (int)i)) return loom_cost_failed(c);
  return list_spatial(c, part);
}
