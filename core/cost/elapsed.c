/* SPDX-License-Identifier: MIT */
/* Time from the first einsum's start to the last one's end, through the tree of splits:
** doc/formulas.md#costs-elapsed.
** Invariant: lists are visited inner before outer, which is from the last to the first. */
#include "cost/cost.h"

#include <string.h>

/* One visit of every list: the times of whole runs, or of the first iteration of one pipeline. */
typedef struct visit {
  loom_costing *c;
  int pipeline;       /* node whose first iteration is timed; -1: whole runs */
  loom_expr *elapsed; /* by list */
  loom_expr *busy;    /* by list and component: time that it works */
  loom_expr *first;   /* by branch of a pipeline: its first iteration, from earlier visits */
} visit;

static const loom_mapping_node *last_node(const loom_costing *c, int list) {
  const loom_mapping_list *l = &c->m->lists.at[list];
  return &c->m->nodes.at[l->nodes.at[l->nodes.n - 1]];
}

/* ---- iterations --------------------------------------------------------------------------- */

/* Tiles that a loop of a part's path makes of what the next outer loop leaves of its variable. */
static loom_expr trips_of(loom_costing *c, const loom_cost_part *part, const loom_node *nodes,
                          size_t at) {
  const loom_node *loop = &nodes[at];
  if (loop->trips != LOOM_NONE) return loop->trips;
  for (size_t i = 0; i < at; i++)
    if (nodes[i].variable && strcmp(nodes[i].variable, loop->variable) == 0) {
      loom_error_set(c->ctx, LOOM_ERR_BAD_MAPPING,
                     "einsum '%s': a pipeline stands below a loop over '%s' that cuts tiles of two "
                     "sizes once more",
                     part->out->einsum, loop->variable);
      return LOOM_NONE;
    }
  loom_tiles tiles;
  loom_expr size = c->w->variables.at[loom_workload_find_variable(c->w, loop->variable)].size;
  if (loom_tile_sequence(c->ctx, LOOM_FIRST_TILE, size, loop->tile, loop->first, &tiles) != LOOM_OK)
    return LOOM_NONE;
  return loom_sum(c->ctx, (size_t)tiles.n, tiles.repeats);
}

/* Iterations of the temporal loops of a path that stand in lists from..to. */
static loom_expr iterations(loom_costing *c, size_t part, int from, int to) {
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, part, &nodes);
  loom_expr product = c->one;
  for (size_t i = 0; i < n && product != LOOM_NONE; i++) {
    if (nodes[i].kind != LOOM_NODE_TEMPORAL) continue;
    int list = c->m->nodes.at[nodes[i].source].list;
    if (list >= from && list <= to)
      product = loom_mul(c->ctx, product, trips_of(c, &c->parts[part], nodes, i));
  }
  return product;
}

static bool below(const loom_costing *c, int list, int above) {
  while (list > above) {
    int split = c->m->lists.at[list].parent;
    if (split < 0) return false;
    list = c->m->nodes.at[split].list;
  }
  return list == above;
}

/* As iterations, for every einsum below list `to`: they must agree. */
static loom_expr common_iterations(loom_costing *c, int from, int to) {
  loom_expr common = LOOM_NONE;
  for (size_t i = 0; i < c->n_parts; i++) {
    if (!below(c, c->parts[i].list, to)) continue;
    loom_expr own = iterations(c, i, from, to);
    if (own == LOOM_NONE) return LOOM_NONE;
    if (common != LOOM_NONE && own != common) {
      loom_error_set(c->ctx, LOOM_ERR_BAD_MAPPING,
                     "einsum '%s' runs another number of iterations of the loops above its "
                     "pipeline than the einsums before it",
                     c->parts[i].out->einsum);
      return LOOM_NONE;
    }
    common = own;
  }
  return common;
}

static bool has_temporal_loop(const loom_costing *c, int list) {
  const loom_mapping_list *l = &c->m->lists.at[list];
  for (size_t i = 0; i < l->nodes.n; i++)
    if (c->m->nodes.at[l->nodes.at[i]].kind == LOOM_NODE_TEMPORAL) return true;
  return false;
}

/* ---- leaves ------------------------------------------------------------------------------- */

/* The part of a run that the first iteration of the innermost loop above a pipeline takes: its
** steps of all steps; of copies, which have none, one iteration of all. */
static loom_expr first_part(loom_costing *c, size_t part, int pipeline) {
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, part, &nodes);
  int list = c->m->nodes.at[pipeline].list, loop = -1;
  for (size_t i = 0; i < n; i++)
    if (nodes[i].kind == LOOM_NODE_TEMPORAL && c->m->nodes.at[nodes[i].source].list <= list)
      loop = nodes[i].loop;
  const loom_stats *stats = c->parts[part].stats;
  for (size_t i = 0; i < stats->n_first_latency; i++)
    if (stats->first_latency[i].loop == loop && stats->temporal_steps != c->zero)
      return loom_div(c->ctx, stats->first_latency[i].steps, stats->temporal_steps);
  return loom_div(c->ctx, c->one, iterations(c, part, 0, list));
}

static bool visit_leaf(visit *v, size_t part, int list) {
  loom_costing *c = v->c;
  const loom_einsum_costs *e = c->parts[part].out;
  loom_expr ratio = c->one;
  if (v->pipeline >= 0) {
    if (!below(c, list, c->m->nodes.at[v->pipeline].list)) return true;
    ratio = first_part(c, part, v->pipeline);
  }
  v->elapsed[list] = loom_mul(c->ctx, e->latency, ratio);
  loom_expr scale = loom_mul(c->ctx, e->n_instances, ratio);
  for (size_t i = 0; i < e->n_components && v->busy; i++) {
    if (e->components[i].latency == LOOM_NONE) continue;
    loom_expr *busy = &v->busy[(size_t)list * e->n_components + i];
    *busy = loom_mul(c->ctx, e->components[i].latency, scale);
    if (*busy == LOOM_NONE) return false;
  }
  return v->elapsed[list] != LOOM_NONE;
}

/* ---- splits ------------------------------------------------------------------------------- */

/* All stages take the same time in each of n iterations: the first iteration goes through every
** stage, then the slowest sets the pace. */
static loom_expr even_pipeline(loom_costing *c, size_t n_stages, const loom_expr *whole,
                               loom_expr n) {
  loom_expr sum = loom_sum(c->ctx, n_stages, whole);
  loom_expr slowest = loom_max(c->ctx, n_stages, whole);
  loom_expr rest = loom_mul(c->ctx, loom_sub(c->ctx, n, c->one), slowest);
  return loom_div(c->ctx, loom_add(c->ctx, sum, rest), n);
}

/* Stage s takes first[s], then rest[s] in each of the other n - 1 iterations: the longest way from
** the first iteration of the first stage to the last of the last, leaving the first iteration in
** stage k. */
static loom_expr uneven_pipeline(loom_costing *c, size_t n_stages, const loom_expr *first,
                                 const loom_expr *rest, loom_expr n) {
  loom_expr *ways = loom_arena_array(&c->scratch, n_stages, sizeof *ways);
  if (!ways) return LOOM_NONE;
  loom_expr two = loom_int(c->ctx, 2);
  for (size_t k = 0; k < n_stages; k++) {
    loom_expr slowest = loom_max(c->ctx, n_stages - k, rest + k);
    loom_expr steps[3] = {loom_sum(c->ctx, k + 1, first), loom_sum(c->ctx, n_stages - k, rest + k),
                          loom_mul(c->ctx, loom_sub(c->ctx, n, two), slowest)};
    ways[k] = loom_sum(c->ctx, 3, steps);
  }
  return loom_max(c->ctx, n_stages, ways);
}

static loom_expr pipeline_time(visit *v, const loom_mapping_node *split, const loom_expr *whole) {
  loom_costing *c = v->c;
  size_t n_stages = split->branches.n;
  if (!has_temporal_loop(c, split->list)) return loom_sum(c->ctx, n_stages, whole);
  int outer = v->pipeline < 0 ? -1 : c->m->nodes.at[v->pipeline].list;
  loom_expr n = common_iterations(c, split->list, split->list);
  loom_expr runs = common_iterations(c, outer + 1, split->list);
  loom_expr *first = loom_arena_array(&c->scratch, n_stages, sizeof *first);
  loom_expr *rest = loom_arena_array(&c->scratch, n_stages, sizeof *rest);
  if (!first || !rest || n == LOOM_NONE || runs == LOOM_NONE) return LOOM_NONE;
  loom_expr others[2] = {loom_sub(c->ctx, n, c->one), c->one};
  loom_expr n_rest = loom_max(c->ctx, 2, others);
  runs = loom_div(c->ctx, runs, n);
  bool even = true;
  for (size_t s = 0; s < n_stages; s++) {
    first[s] = loom_mul(c->ctx, v->first[split->branches.at[s]], runs);
    rest[s] = loom_div(c->ctx, loom_sub(c->ctx, whole[s], first[s]), n_rest);
    even = even && loom_mul(c->ctx, first[s], n) == whole[s];
  }
  return even ? even_pipeline(c, n_stages, whole, n) : uneven_pipeline(c, n_stages, first, rest, n);
}

/* A component that several branches use works for one of them at a time. */
static loom_expr with_shared_components(visit *v, const loom_mapping_node *split, int list,
                                        loom_expr elapsed) {
  loom_costing *c = v->c;
  size_t n_components = c->a->components.n;
  for (size_t i = 0; i < n_components && elapsed != LOOM_NONE; i++) {
    loom_expr *sum = &v->busy[(size_t)list * n_components + i];
    size_t users = 0;
    for (size_t s = 0; s < split->branches.n; s++) {
      loom_expr busy = v->busy[(size_t)split->branches.at[s] * n_components + i];
      if (busy == c->zero) continue;
      users++;
      if (!loom_cost_add(c, sum, busy)) return LOOM_NONE;
    }
    if (users < 2 || split->kind == LOOM_NODE_SEQUENTIAL) continue;
    loom_expr pair[2] = {elapsed, *sum};
    elapsed = loom_max(c->ctx, 2, pair);
  }
  return elapsed;
}

static bool visit_split(visit *v, const loom_mapping_node *split, int list) {
  loom_costing *c = v->c;
  size_t n = split->branches.n;
  if (v->pipeline >= 0 &&
      (split == &c->m->nodes.at[v->pipeline] || !below(c, list, c->m->nodes.at[v->pipeline].list)))
    return true;
  loom_expr *whole = loom_arena_array(&c->scratch, n, sizeof *whole);
  if (!whole) return false;
  for (size_t s = 0; s < n; s++) whole[s] = v->elapsed[split->branches.at[s]];
  loom_expr elapsed = split->kind == LOOM_NODE_PIPELINE   ? pipeline_time(v, split, whole)
                      : split->kind == LOOM_NODE_PARALLEL ? loom_max(c->ctx, n, whole)
                                                          : loom_sum(c->ctx, n, whole);
  if (v->busy && elapsed != LOOM_NONE) elapsed = with_shared_components(v, split, list, elapsed);
  v->elapsed[list] = elapsed;
  return elapsed != LOOM_NONE;
}

static bool visit_lists(visit *v) {
  loom_costing *c = v->c;
  size_t n_lists = c->m->lists.n, n_components = c->a->components.n;
  for (size_t i = 0; i < n_lists; i++) v->elapsed[i] = c->zero;
  for (size_t i = 0; v->busy && i < n_lists * n_components; i++) v->busy[i] = c->zero;
  for (size_t list = n_lists; list-- > 0;) {
    const loom_mapping_node *last = last_node(c, (int)list);
    if (loom_node_is_split(last->kind)) {
      if (!visit_split(v, last, (int)list)) return false;
      continue;
    }
    for (size_t part = 0; part < c->n_parts; part++)
      if (c->parts[part].list == (int)list && !visit_leaf(v, part, (int)list)) return false;
  }
  return true;
}

/* ---- shares ------------------------------------------------------------------------------- */

/* Branches that run together share the elapsed time by their own times. */
static bool share_out(visit *v, loom_expr *shares) {
  loom_costing *c = v->c;
  shares[0] = c->one;
  for (size_t list = 0; list < c->m->lists.n; list++) {
    const loom_mapping_node *last = last_node(c, (int)list);
    if (!loom_node_is_split(last->kind)) {
      for (size_t part = 0; part < c->n_parts; part++)
        if (c->parts[part].list == (int)list) c->parts[part].share = shares[list];
      continue;
    }
    loom_expr share = shares[list], sum = c->zero;
    for (size_t s = 0; s < last->branches.n; s++)
      if (!loom_cost_add(c, &sum, v->elapsed[last->branches.at[s]])) return false;
    if (sum != v->elapsed[list])
      share = loom_mul(c->ctx, share, loom_div(c->ctx, v->elapsed[list], sum));
    for (size_t s = 0; s < last->branches.n; s++) shares[last->branches.at[s]] = share;
    if (share == LOOM_NONE) return false;
  }
  return true;
}

/* A tensor that one of two parts makes and the other uses too, or NULL. */
static const char *handed_over(const loom_costing *c, const loom_cost_part *a,
                               const loom_cost_part *b) {
  for (size_t i = 0; i < a->einsum->accesses.n; i++)
    for (size_t k = 0; k < b->einsum->accesses.n; k++) {
      const loom_access *one = &a->einsum->accesses.at[i], *other = &b->einsum->accesses.at[k];
      if (one->tensor == other->tensor && (one->output || other->output))
        return c->w->tensors.at[one->tensor].name;
    }
  return NULL;
}

/* Branches that run at once do not wait for each other. */
static loom_status check_parallel(const loom_costing *c) {
  for (size_t i = 0; i < c->n_parts; i++)
    for (size_t k = i + 1; k < c->n_parts; k++) {
      int branches[2], split = loom_cost_meeting(c, (int)i, (int)k, branches);
      if (split < 0 || c->m->nodes.at[split].kind != LOOM_NODE_PARALLEL) continue;
      const char *tensor = handed_over(c, &c->parts[i], &c->parts[k]);
      char place[LOOM_WHERE_SIZE];
      if (tensor)
        return loom_error_set(c->ctx, LOOM_ERR_BAD_MAPPING,
                              "%s: einsums '%s' and '%s' run at the same time and hand over '%s'",
                              loom_mapping_place(c->m, split, place), c->parts[i].out->einsum,
                              c->parts[k].out->einsum, tensor);
    }
  return LOOM_OK;
}

/* First iterations of pipelines, inner before outer. */
static bool visit_pipelines(visit *v) {
  for (size_t node = v->c->m->nodes.n; node-- > 0;) {
    const loom_mapping_node *split = &v->c->m->nodes.at[node];
    if (split->kind != LOOM_NODE_PIPELINE || !has_temporal_loop(v->c, split->list)) continue;
    v->pipeline = (int)node;
    if (!visit_lists(v)) return false;
    for (size_t s = 0; s < split->branches.n; s++)
      v->first[split->branches.at[s]] = v->elapsed[split->branches.at[s]];
  }
  v->pipeline = -1;
  return true;
}

loom_status loom_cost_elapsed(loom_costing *c) {
  size_t n_lists = c->m->lists.n;
  bool concurrent = false;
  for (size_t i = 0; i < c->m->nodes.n && !concurrent; i++)
    concurrent = c->m->nodes.at[i].kind == LOOM_NODE_PIPELINE ||
                 c->m->nodes.at[i].kind == LOOM_NODE_PARALLEL;
  if (concurrent && check_parallel(c) != LOOM_OK) return loom_error_status(c->ctx);
  visit v = {.c = c, .pipeline = -1};
  v.elapsed = loom_arena_array(&c->scratch, n_lists, sizeof *v.elapsed);
  v.first = loom_arena_array(&c->scratch, n_lists, sizeof *v.first);
  loom_expr *shares = loom_arena_array(&c->scratch, n_lists, sizeof *shares);
  if (concurrent)
    v.busy = loom_arena_array(&c->scratch, n_lists * c->a->components.n, sizeof *v.busy);
  if (!v.elapsed || !v.first || !shares || (concurrent && !v.busy)) return loom_cost_failed(c);
  if (!visit_pipelines(&v) || !visit_lists(&v) || (concurrent && !share_out(&v, shares)))
    return loom_cost_failed(c);
  c->costs->total.latency = v.elapsed[0];
  return LOOM_OK;
}
