/* SPDX-License-Identifier: MIT */
/* What each memory holds while each einsum runs, over fused loops: doc/formulas.md#costs-lifetimes.
** Invariant: a tensor that several einsums use is at most once in the outermost of its memories. */
#include "cost/cost.h"

#include <limits.h>
#include <string.h>

/* One reservation of one einsum. */
typedef struct reservation {
  int part, component, tensor, depth;
  bool persistent, backs; /* the outermost holder of a tensor that several einsums use */
  int next;               /* backs: one of another einsum for the same tensor in the same place, or
                             -1; the first stands for all */
  bool follows;           /* and is not the first */
  loom_expr bits;
} reservation;

/* A tensor that several einsums use: its users and the loops above its outermost holder. */
typedef struct shared_tensor {
  int first, last, depth; /* parts; first -1: no user */
} shared_tensor;

typedef struct timeline {
  loom_costing *c;
  reservation *list;
  size_t n;
  shared_tensor *tensors; /* by tensor of the workload */
  int *shared; /* loops that parts i and j share, by i * n_parts + j; INT_MAX: they run together */
} timeline;

/* ---- reservations ------------------------------------------------------------------------- */

/* The tensor that has its outermost holder on a level, named as shared if one is; of a buffet that
** stands for several tensors of a copy too. */
static int backed_tensor(const loom_costing *c, size_t part, const loom_memory_usage *usage) {
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, part, &nodes);
  bool copy = c->parts[part].einsum->is_copy;
  int found = -1;
  for (size_t i = 0; i < n; i++) {
    if (!nodes[i].backing || !nodes[i].tensor || strcmp(nodes[i].component, usage->component) != 0)
      continue;
    if (!copy && strcmp(nodes[i].tensor, usage->tensor) != 0) continue;
    int tensor = loom_workload_find_tensor(c->w, nodes[i].tensor);
    if (found < 0 || c->w->tensors.at[tensor].n_users > 1) found = tensor;
  }
  return found;
}

/* Notes a user of a shared tensor and finds its reservations in the same place. */
static void link_backing(timeline *t, size_t index) {
  reservation *r = &t->list[index];
  shared_tensor *tensor = &t->tensors[r->tensor];
  if (tensor->first < 0) tensor->first = r->part;
  tensor->last = r->part;
  if (r->depth > tensor->depth) tensor->depth = r->depth;
  for (size_t i = index; i-- > 0 && !r->follows;) {
    reservation *other = &t->list[i];
    if (!other->backs || other->tensor != r->tensor || other->component != r->component) continue;
    other->next = (int)index;
    r->follows = true;
  }
}

static void add_reservation(timeline *t, size_t part, const loom_memory_usage *usage) {
  loom_costing *c = t->c;
  int backed = backed_tensor(c, part, usage);
  bool backs = backed >= 0 && c->w->tensors.at[backed].n_users > 1;
  t->list[t->n++] =
      (reservation){.part = (int)part,
                    .component = loom_arch_find(c->a, usage->component),
                    .tensor = backs ? backed : loom_workload_find_tensor(c->w, usage->tensor),
                    .depth = usage->n_loops_above,
                    .persistent = usage->n_loops_above < 0,
                    .backs = backs,
                    .next = -1,
                    .bits = usage->bits};
  if (backs) link_backing(t, t->n - 1);
}

static bool list_reservations(timeline *t) {
  loom_costing *c = t->c;
  size_t room = 0;
  for (size_t i = 0; i < c->n_parts; i++) room += c->parts[i].out->n_memory;
  t->list = loom_arena_array(&c->scratch, room, sizeof *t->list);
  t->tensors = loom_arena_array(&c->scratch, c->w->tensors.n, sizeof *t->tensors);
  if (!t->list || !t->tensors) return false;
  for (size_t i = 0; i < c->w->tensors.n; i++) t->tensors[i].first = -1;
  for (size_t i = 0; i < c->n_parts; i++)
    for (size_t k = 0; k < c->parts[i].out->n_memory; k++)
      add_reservation(t, i, &c->parts[i].out->memory[k]);
  return true;
}

/* ---- shared loops ------------------------------------------------------------------------- */

/* Per boundary between a part and the next: the deepest outermost holder of a tensor that is used on
** both sides. */
static void find_boundaries(const timeline *t, int *boundaries) {
  for (size_t i = 0; i < t->c->w->tensors.n; i++) {
    const shared_tensor *tensor = &t->tensors[i];
    for (int k = tensor->first; k >= 0 && k < tensor->last; k++)
      if (tensor->depth > boundaries[k]) boundaries[k] = tensor->depth;
  }
}

static bool run_together(const loom_costing *c, int a, int b) {
  int branches[2], split = loom_cost_meeting(c, a, b, branches);
  return split >= 0 && c->m->nodes.at[split].kind != LOOM_NODE_SEQUENTIAL;
}

static bool list_shared(timeline *t) {
  size_t n = t->c->n_parts;
  t->shared = loom_arena_array(&t->c->scratch, n * n, sizeof *t->shared);
  if (!t->shared) return false;
  int *boundaries = loom_arena_array(&t->c->scratch, n, sizeof *boundaries);
  if (!boundaries) return false;
  find_boundaries(t, boundaries);
  for (size_t i = 0; i < n; i++) {
    int least = -1;
    for (size_t j = i + 1; j < n; j++) {
      if (least < 0 || boundaries[j - 1] < least) least = boundaries[j - 1];
      int loops = run_together(t->c, (int)i, (int)j) ? INT_MAX : least;
      t->shared[i * n + j] = t->shared[j * n + i] = loops;
    }
  }
  return true;
}

/* ---- steps -------------------------------------------------------------------------------- */

/* The reservation r is kept while part `step` runs, seen from its own einsum alone. */
static bool is_kept(const timeline *t, const reservation *r, int step) {
  return r->persistent || r->part == step ||
         r->depth < t->shared[(size_t)r->part * t->c->n_parts + (size_t)step];
}

/* The reservation, or those of the same tensor in the same place, are in memory at a step. */
static bool is_resident(const timeline *t, const reservation *r, int step) {
  const shared_tensor *tensor = &t->tensors[r->tensor];
  if (r->backs && tensor->first <= step && step <= tensor->last) return true;
  for (int i = (int)(r - t->list); i >= 0; i = t->list[i].next)
    if (is_kept(t, &t->list[i], step)) return true;
  return false;
}

/* A temporal loop in a list of the mapping stands above the outermost holder of r's tensor. */
static bool is_refilled(const timeline *t, const reservation *r, int list) {
  const loom_costing *c = t->c;
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, (size_t)r->part, &nodes);
  bool loop = false;
  for (size_t i = 0; i < n; i++) {
    if (nodes[i].kind == LOOM_NODE_TEMPORAL && c->m->nodes.at[nodes[i].source].list == list)
      loop = true;
    if (nodes[i].backing && nodes[i].tensor &&
        strcmp(nodes[i].tensor, c->tensor_name[r->tensor]) == 0)
      return loop;
  }
  return loop;
}

/* Tiles of r's tensor that are under way in a pipeline: one for each stage from its first user to
** its last. */
static int64_t tiles_under_way(const timeline *t, const reservation *r) {
  int64_t most = 1;
  for (int i = (int)(r - t->list); i >= 0; i = t->list[i].next)
    for (int k = t->list[i].next; k >= 0; k = t->list[k].next) {
      int branches[2];
      int split = loom_cost_meeting(t->c, t->list[i].part, t->list[k].part, branches);
      if (split < 0) continue;
      const loom_mapping_node *node = &t->c->m->nodes.at[split];
      if (node->kind != LOOM_NODE_PIPELINE || !is_refilled(t, &t->list[i], node->list)) continue;
      int64_t stages = branches[1] - branches[0];
      if (stages < 0) stages = -stages;
      if (stages + 1 > most) most = stages + 1;
    }
  return most;
}

/* The largest of the reservations in the same place, for all tiles under way. */
static loom_expr bits_of(const timeline *t, const reservation *r) {
  loom_ctx *ctx = t->c->ctx;
  loom_expr bits = r->bits;
  for (int i = r->next; i >= 0; i = t->list[i].next) {
    if (t->list[i].bits == bits) continue;
    loom_expr pair[2] = {bits, t->list[i].bits};
    bits = loom_max(ctx, 2, pair);
  }
  if (r->next < 0) return bits;
  return loom_mul(ctx, bits, loom_int(ctx, tiles_under_way(t, r)));
}

static bool add_residents(timeline *t, size_t step, int component, loom_step_usage *usage) {
  loom_costing *c = t->c;
  loom_total_costs *total = &c->costs->total;
  for (size_t i = 0; i < t->n; i++) {
    const reservation *r = &t->list[i];
    if (r->component != component || r->follows || !is_resident(t, r, (int)step)) continue;
    loom_expr bits = bits_of(t, r);
    if (bits == LOOM_NONE) return false;
    loom_expr fraction = loom_cost_fraction(c, component, bits);
    total->residents[total->n_residents++] = (loom_resident){step,
                                                             c->component_name[component],
                                                             c->tensor_name[r->tensor],
                                                             c->parts[r->part].out->einsum,
                                                             bits,
                                                             fraction};
    if (fraction == LOOM_NONE || !loom_cost_add(c, &usage->bits, bits)) return false;
  }
  usage->fraction = loom_cost_fraction(c, component, usage->bits);
  return usage->fraction != LOOM_NONE;
}

/* One memory: its steps and its peak. */
static bool fill_memory(timeline *t, int component) {
  loom_costing *c = t->c;
  loom_total_costs *total = &c->costs->total;
  loom_expr *bits = loom_arena_array(&c->scratch, c->n_parts, sizeof *bits);
  if (!bits) return false;
  for (size_t step = 0; step < c->n_parts; step++) {
    loom_step_usage *usage = &total->steps[total->n_steps++];
    *usage = (loom_step_usage){step, c->component_name[component], c->zero, c->zero};
    if (!add_residents(t, step, component, usage)) return false;
    bits[step] = usage->bits;
  }
  loom_peak *peak = &total->peaks[total->n_peaks++];
  *peak = (loom_peak){.component = c->component_name[component],
                      .step = loom_cost_largest(c, c->n_parts, bits),
                      .bits = loom_max(c->ctx, c->n_parts, bits)};
  if (peak->bits == LOOM_NONE) return false;
  peak->fraction = loom_cost_fraction(c, component, peak->bits);
  return peak->fraction != LOOM_NONE;
}

static bool holds_something(const timeline *t, int component) {
  for (size_t i = 0; i < t->n; i++)
    if (t->list[i].component == component) return true;
  return false;
}

loom_status loom_cost_lifetimes(loom_costing *c) {
  timeline t = {.c = c};
  loom_arena *arena = &c->costs->arena;
  loom_total_costs *total = &c->costs->total;
  size_t n = c->a->components.n;
  if (!list_reservations(&t) || !list_shared(&t)) return loom_cost_failed(c);
  total->peaks = loom_arena_array(arena, n, sizeof *total->peaks);
  total->steps = loom_arena_array(arena, n * c->n_parts, sizeof *total->steps);
  total->residents = loom_arena_array(arena, t.n * c->n_parts, sizeof *total->residents);
  if (!total->peaks || !total->steps || !total->residents) return loom_cost_failed(c);
  for (size_t i = 0; i < n; i++)
    if (holds_something(&t, (int)i) && !fill_memory(&t, (int)i)) return loom_cost_failed(c);
  return LOOM_OK;
}
