/* SPDX-License-Identifier: MIT */
/* Analyses a mapping einsum by einsum: path, checks, reservations, one nest per tensor, statistics.
** Invariant: on every way out the analysis has given back its memory and left the owners' ring. */
#include "exact/exact.h"
#include "reuse/reuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

loom_status loom_failed(const loom_analysis *an) {
  loom_status status = loom_error_status(an->ctx);
  return status == LOOM_OK ? loom_error_memory(an->ctx) : status;
}

loom_status loom_fail(const loom_analysis *an, loom_status status, int source, const char *format,
                      ...) {
  char place[LOOM_WHERE_SIZE], text[LOOM_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return loom_error_set(an->ctx, status, "%s: %s", loom_mapping_place(an->m, source, place), text);
}

loom_status loom_fail_name(const loom_analysis *an, loom_status status, int source,
                           const char *what, const char *name, loom_names known) {
  char place[LOOM_WHERE_SIZE];
  return loom_name_error(an->ctx, status, loom_mapping_place(an->m, source, place), what, name,
                         known);
}

/* NULL for variables that the einsum does not have. */
static const char *einsum_variable(const void *data, size_t i) {
  const loom_analysis *an = data;
  return loom_einsum_has_variable(an->einsum, (int)i) ? an->w->variables.at[i].name : NULL;
}

loom_status loom_fail_variable(const loom_analysis *an, int source, const char *name) {
  char what[LOOM_WHERE_SIZE];
  snprintf(what, sizeof what, "einsum '%s' has no rank variable", an->einsum->name);
  return loom_fail_name(an, LOOM_ERR_UNKNOWN_RANK_VARIABLE, source, what, name,
                        (loom_names){an->w->variables.n, an, einsum_variable});
}

/* ---- names of the result ------------------------------------------------------------------ */

static const char *keep_name(loom_analysis *an, const char **kept, const char *name) {
  if (!*kept) *kept = loom_arena_string(&an->result->arena, name);
  return *kept;
}

const char *loom_name_of_tensor(loom_analysis *an, int tensor) {
  return keep_name(an, &an->tensor_name[tensor], an->w->tensors.at[tensor].name);
}

const char *loom_name_of_variable(loom_analysis *an, int variable) {
  return keep_name(an, &an->variable_name[variable], an->w->variables.at[variable].name);
}

const char *loom_name_of_component(loom_analysis *an, int component) {
  return keep_name(an, &an->component_name[component], an->a->components.at[component].name);
}

const loom_access *loom_access_of(const loom_analysis *an, int access) {
  return &an->einsum->accesses.at[access];
}

/* ---- begin and end ------------------------------------------------------------------------ */

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const loom_analysis *an = (const loom_analysis *)(const void *)owner;
  mark_one(ctx, an->zero);
  mark_one(ctx, an->one);
  for (size_t i = 0; i < an->n_loops; i++) {
    mark_one(ctx, an->loops[i].tile);
    mark_one(ctx, an->loops[i].first);
    mark_one(ctx, an->loops[i].step);
    mark_one(ctx, an->loops[i].trips);
    mark_one(ctx, an->loops[i].reference);
  }
  for (size_t v = 0; an->extents && v < an->w->variables.n; v++) mark_one(ctx, an->extents[v]);
  for (size_t i = 0; an->levels && i < an->n_nest; i++) {
    mark_one(ctx, an->levels[i].trips);
    mark_one(ctx, an->levels[i].true_trips);
    mark_one(ctx, an->levels[i].outside);
  }
  loom_exact_mark(ctx, an->exact, an->w->variables.n);
  for (const loom_frame *f = an->frames; f; f = f->next) loom_stats_mark(ctx, f->stats);
}

static bool begin(loom_analysis *an) {
  an->zero = loom_int(an->ctx, 0);
  an->one = loom_int(an->ctx, 1);
  loom_arena_init(&an->kept, an->ctx);
  loom_arena_init(&an->scratch, an->ctx);
  loom_owner_add(an->ctx, &an->owner, mark);
  an->result = loom_result_new(an->ctx);
  an->tensor_name = loom_arena_array(&an->kept, an->w->tensors.n, sizeof *an->tensor_name);
  an->variable_name = loom_arena_array(&an->kept, an->w->variables.n, sizeof *an->variable_name);
  an->component_name = loom_arena_array(&an->kept, an->a->components.n, sizeof *an->component_name);
  an->extents = loom_arena_array(&an->kept, an->w->variables.n, sizeof *an->extents);
  return an->result && an->tensor_name && an->variable_name && an->component_name && an->extents;
}

static loom_result *finish(loom_analysis *an, bool good) {
  loom_owner_remove(&an->owner);
  loom_arena_free(&an->scratch);
  loom_arena_free(&an->kept);
  if (good && !loom_base_failed(an->ctx)) return an->result;
  loom_result_free(an->result);
  return NULL;
}

/* ---- one einsum --------------------------------------------------------------------------- */

static loom_node *copy_path(loom_analysis *an, size_t *n) {
  loom_node *nodes = loom_arena_array(&an->result->arena, an->n_path, sizeof *nodes);
  if (!nodes) return NULL;
  for (size_t i = 0; i < an->n_path; i++) nodes[i] = an->path[i].node;
  *n = an->n_path;
  return nodes;
}

/* The nest at hand, its loops with the trips that the tensor sees. */
static loom_node *copy_nest(loom_analysis *an, size_t *n) {
  loom_node *nodes = loom_arena_array(&an->result->arena, an->n_nest, sizeof *nodes);
  if (!nodes) return NULL;
  for (size_t i = 0; i < an->n_nest; i++) {
    nodes[i] = an->path[an->nest[i].at].node;
    if (nodes[i].loop >= 0 && an->nest[i].relevancy == LOOM_IRRELEVANT)
      nodes[i].trips = an->loops[nodes[i].loop].reference;
  }
  *n = an->n_nest;
  return nodes;
}

static bool add_symbol(loom_result_part *part, loom_expr symbol) {
  for (size_t i = 0; i < part->n_symbols; i++)
    if (part->symbols[i] == symbol) return false;
  part->symbols[part->n_symbols++] = symbol;
  return true;
}

/* Symbols of first tiles and tiles of the path, loop by loop. */
static loom_status list_symbols(loom_analysis *an, loom_result_part *part) {
  size_t room = 0;
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_expr shapes[3] = {an->loops[i].first, an->loops[i].step, an->loops[i].tile};
    for (int k = 0; k < 3; k++)
      if (shapes[k] != LOOM_NONE && !loom_expr_is_num(an->ctx, shapes[k]))
        room += loom_expr_symbols(an->ctx, shapes[k], NULL, 0);
  }
  part->symbols = loom_arena_array(&an->result->arena, room, sizeof *part->symbols);
  loom_expr *found = loom_arena_array(&an->scratch, room, sizeof *found);
  if (!part->symbols || !found) return loom_failed(an);
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_expr shapes[3] = {an->loops[i].first, an->loops[i].step, an->loops[i].tile};
    for (int k = 0; k < 3; k++) {
      if (shapes[k] == LOOM_NONE || loom_expr_is_num(an->ctx, shapes[k])) continue;
      size_t n = loom_expr_symbols(an->ctx, shapes[k], found, room);
      for (size_t s = 0; s < n && s < room; s++) add_symbol(part, found[s]);
    }
  }
  return LOOM_OK;
}

loom_status loom_part_add_tensor(loom_analysis *an, loom_result_part *part,
                                 const loom_stats *stats) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    if (stats->buffets[i].persistent) stats->buffets[i].n_loops_above = -1;
  part->stats.n_buffets += stats->n_buffets;
  int access = an->access;
  part->tensors[access] = loom_name_of_tensor(an, loom_access_of(an, access)->tensor);
  part->nests[access] = copy_nest(an, &part->n_nests[access]);
  return part->nests[access] ? LOOM_OK : loom_failed(an);
}

/* Buffets of one tensor, after those already there. */
static loom_status analyze_tensor(loom_analysis *an, loom_result_part *part, int access) {
  loom_status status = loom_nest_build(an, access);
  if (status != LOOM_OK) return status;
  loom_stats stats = {.buffets = part->stats.buffets + part->stats.n_buffets};
  stats.fanout = loom_arena_array(&an->scratch, an->n_fanout, sizeof *stats.fanout);
  stats.first_latency =
      loom_arena_array(&an->scratch, an->n_first_latency, sizeof *stats.first_latency);
  if (!stats.fanout || !stats.first_latency) return loom_failed(an);
  status = loom_evaluate(an, &stats);
  return status == LOOM_OK ? loom_part_add_tensor(an, part, &stats) : status;
}

/* Operations, latency, fanout: the loops of the path alone. */
static loom_status analyze_operations(loom_analysis *an, loom_result_part *part) {
  loom_status status = loom_nest_build(an, -1);
  if (status != LOOM_OK) return status;
  loom_arena *arena = &an->result->arena;
  loom_stats stats = {.buffets = part->stats.buffets};
  stats.fanout = loom_arena_array(arena, an->n_fanout, sizeof *stats.fanout);
  stats.first_latency = loom_arena_array(arena, an->n_first_latency, sizeof *stats.first_latency);
  if (!stats.fanout || !stats.first_latency) return loom_failed(an);
  status = loom_evaluate(an, &stats);
  part->stats = stats;
  return status;
}

static loom_status count_by_reference(loom_analysis *an, loom_result_part *part) {
  loom_status status = analyze_operations(an, part);
  for (size_t i = 0; i < part->n_tensors && status == LOOM_OK; i++)
    status = analyze_tensor(an, part, (int)i);
  return status;
}

static bool make_room(loom_analysis *an, loom_result_part *part) {
  loom_arena *arena = &an->result->arena;
  size_t n = an->einsum->accesses.n, reservations = 0;
  for (size_t i = 0; i < an->n_path; i++)
    reservations += an->path[i].node.kind == LOOM_NODE_RESERVATION;
  part->name = an->einsum_name;
  part->stats.buffets = loom_arena_array(arena, reservations + n, sizeof *part->stats.buffets);
  part->tensors = loom_arena_array(arena, n, sizeof *part->tensors);
  part->nests = loom_arena_array(arena, n, sizeof *part->nests);
  part->n_nests = loom_arena_array(arena, n, sizeof *part->n_nests);
  an->nest = loom_arena_array(&an->scratch, an->n_path, sizeof *an->nest);
  an->levels = loom_arena_array(&an->scratch, an->n_path, sizeof *an->levels);
  bool good = part->stats.buffets && part->tensors && part->nests && part->n_nests && an->nest &&
              an->levels;
  if (good) part->n_tensors = n;
  return good;
}

static loom_status build_path(loom_analysis *an, int leaf) {
  loom_status (*const steps[])(loom_analysis *) = {loom_label_loops, loom_check_path,
                                                   loom_place_reservations, loom_count_trips};
  loom_status status = loom_path_build(an, leaf);
  for (size_t i = 0; i < sizeof steps / sizeof *steps && status == LOOM_OK; i++)
    status = steps[i](an);
  return status;
}

static loom_status analyze_einsum(loom_analysis *an, int leaf, loom_result_part *part) {
  const char *name = an->m->nodes.at[leaf].einsum;
  an->einsum = &an->w->einsums.at[loom_workload_find_einsum(an->w, name)];
  an->einsum_name = loom_arena_string(&an->result->arena, name);
  an->n_loops = an->n_nest = 0;
  an->levels = NULL;
  an->exact = NULL;
  loom_arena_reset(&an->scratch);
  if (!an->einsum_name) return loom_failed(an);
  loom_status status = build_path(an, leaf);
  if (status != LOOM_OK) return status;
  if (!make_room(an, part)) return loom_failed(an);
  status = an->count(an, part);
  if (status == LOOM_OK && an->einsum->is_copy) status = loom_merge_copy(an, &part->stats);
  if (status == LOOM_OK) status = list_symbols(an, part);
  if (status != LOOM_OK) return status;
  part->path = copy_path(an, &part->n_path);
  return part->path ? LOOM_OK : loom_failed(an);
}

/* ---- all of them -------------------------------------------------------------------------- */

/* The compute nodes in order of execution, in `kept`. */
static int *list_leaves(loom_analysis *an, size_t *n) {
  int *leaves = loom_arena_array(&an->kept, an->m->lists.n, sizeof *leaves);
  int *stack = loom_arena_array(&an->kept, an->m->lists.n, sizeof *stack);
  if (!leaves || !stack) return NULL;
  size_t top = 1;
  *n = 0;
  while (top > 0) {
    const loom_mapping_list *list = &an->m->lists.at[stack[--top]];
    int last = list->nodes.at[list->nodes.n - 1];
    const loom_mapping_node *node = &an->m->nodes.at[last];
    if (node->kind == LOOM_NODE_COMPUTE) leaves[(*n)++] = last;
    for (size_t i = node->branches.n; i-- > 0;) stack[top++] = node->branches.at[i];
  }
  return leaves;
}

static loom_status analyze_all(loom_analysis *an) {
  loom_status status = loom_check_tree(an);
  if (status != LOOM_OK) return status;
  size_t n;
  int *leaves = list_leaves(an, &n);
  loom_result *r = an->result;
  if (!leaves || !(r->parts = loom_arena_array(&r->arena, n, sizeof *r->parts)))
    return loom_failed(an);
  for (r->n_parts = 0; r->n_parts < n && status == LOOM_OK;) {
    size_t i = r->n_parts++;
    status = analyze_einsum(an, leaves[i], &r->parts[i]);
  }
  return status;
}

loom_result *loom_analyze_by(const loom_workload *w, const loom_arch *a, const loom_mapping *m,
                             const loom_options *options, loom_counter count, const void *given) {
  loom_ctx *ctx = w->ctx;
  if (loom_error_status(ctx) != LOOM_OK) return NULL;
  if (a->ctx != ctx || m->ctx != ctx) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                   "workload, architecture and mapping belong to different contexts");
    return NULL;
  }
  loom_analysis an = {.ctx = ctx,
                      .w = w,
                      .a = a,
                      .m = m,
                      .options = options,
                      .rules = &loom_reference_rules,
                      .count = count,
                      .given = given};
  bool good = begin(&an) && analyze_all(&an) == LOOM_OK;
  return finish(&an, good);
}

loom_result *loom_analyze(const loom_workload *w, const loom_arch *a, const loom_mapping *m,
                          const loom_options *options) {
  static const loom_options strict = {0};
  if (!options) options = &strict;
  bool exact = options->model == LOOM_EXACT;
  return loom_analyze_by(w, a, m, options, exact ? loom_exact_count : count_by_reference, NULL);
}
